#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    NOT_ALIKE = 1000,
    PART_MIN_BYTES = 2,  /* of a given name that is part of an accepted one: id */
    WHOLE_MIN_BYTES = 4, /* of an accepted name that is part of a given one */
};

/* A name without case and separators. */
struct folded {
    char text[NEAREST_MAX_BYTES + 1];
    size_t size; /* 0: empty, or too long */
};

static struct folded fold(const char *name)
{
    struct folded folded = { .size = 0 };
    if (strlen(name) > NEAREST_MAX_BYTES)
        return folded;
    for (const char *p = name; *p != '\0'; p++)
        if (*p != '_' && *p != '-' && *p != ' ')
            folded.text[folded.size++] = (char)tolower((unsigned char)*p);
    return folded;
}

static bool folded_equal(const struct folded *one, const struct folded *other)
{
    return one->size > 0 && one->size == other->size && memcmp(one->text, other->text, one->size) == 0;
}

bool name_is_respelt(const char *one, const char *other)
{
    struct folded left = fold(one);
    struct folded right = fold(other);
    return folded_equal(&left, &right);
}

const char *name_respelt(const char *given, const char *const *names, size_t count)
{
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!name_is_respelt(given, names[i]))
            continue;
        if (found != NULL)
            return NULL;
        found = names[i];
    }
    return found;
}

static size_t min_size(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The number of letters to add, remove, change, or swap with their neighbour (optimal string alignment), computed by rows. */
static size_t edit_distance(const struct folded *left, const struct folded *right)
{
    if (left->size == 0 || right->size == 0)
        return NOT_ALIKE;
    size_t rows[3][NEAREST_MAX_BYTES + 1];
    for (size_t j = 0; j <= right->size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= left->size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *second = rows[(i + 1) % 3]; /* two above */
        row[0] = i;
        for (size_t j = 1; j <= right->size; j++) {
            bool same = left->text[i - 1] == right->text[j - 1];
            row[j] = min_size(above[j - 1] + !same, min_size(above[j], row[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && left->text[i - 1] == right->text[j - 2] && left->text[i - 2] == right->text[j - 1];
            if (swapped)
                row[j] = min_size(row[j], second[j - 2] + 1);
        }
    }
    return rows[left->size % 3][right->size];
}

static const char *find_few_other_letters(const struct folded *given, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = (given->size + 1) / 3 + 1; /* a greater distance means another word */
    for (size_t i = 0; i < count; i++) {
        struct folded name = fold(names[i]);
        size_t apart = edit_distance(given, &name);
        if (apart < best) {
            best = apart;
            nearest = names[i];
        }
    }
    return nearest;
}

/* True when `whole` begins or ends with `part`. */
static bool has_at_an_end(const struct folded *whole, const struct folded *part)
{
    return part->size < whole->size && (memcmp(whole->text, part->text, part->size) == 0 ||
                                        memcmp(whole->text + whole->size - part->size, part->text, part->size) == 0);
}

static const char *find_only_part(const struct folded *given, const char *const *names, size_t count)
{
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        struct folded name = fold(names[i]);
        bool is_part = given->size >= PART_MIN_BYTES && has_at_an_end(&name, given);
        bool is_whole = name.size >= WHOLE_MIN_BYTES && has_at_an_end(given, &name);
        if (!is_part && !is_whole)
            continue;
        if (found != NULL)
            return NULL;
        found = names[i];
    }
    return found;
}

const char *name_nearest(const char *given, const char *const *names, size_t count)
{
    struct folded folded = fold(given);
    if (folded.size == 0)
        return NULL;
    const char *nearest = find_few_other_letters(&folded, names, count);
    return nearest != NULL ? nearest : find_only_part(&folded, names, count);
}

/* ---- Suggestions ---- */

enum { MORE_MAX_BYTES = sizeof(" and 12345 more.") };

/* Appends "a, b, c." or "a, b and 12 more.", without the name that was named already. */
static void add_list(char *text, size_t size, size_t max_size, const char *const *names, size_t count, const char *named)
{
    size_t listed = 0;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool fits = size + strlen(names[i]) + MORE_MAX_BYTES < max_size;
        if (names[i] == named)
            continue;
        if (left == 0 && fits)
            size += (size_t)snprintf(text + size, max_size - size, "%s%s", listed++ > 0 ? ", " : "", names[i]);
        else
            left++;
    }
    if (left > 0)
        snprintf(text + size, max_size - size, " and %zu more.", left);
    else
        snprintf(text + size, max_size - size, ".");
}

bool error_suggest_name(struct error *err, const char *given, const char *const *names, size_t count)
{
    const char *nearest = name_nearest(given, names, count);
    if (count == 0)
        return error_suggest(err, "Leave it out.");
    if (nearest != NULL && (count == 1 || name_is_respelt(given, nearest)))
        return error_suggest(err, "Use %s.", nearest);
    char text[ERROR_SUGGESTION_MAX_BYTES] = "";
    int size = nearest != NULL ? snprintf(text, sizeof(text), "Use %s, or one of: ", nearest)
               : count == 1    ? snprintf(text, sizeof(text), "Use ")
                               : snprintf(text, sizeof(text), "Use one of: ");
    add_list(text, (size_t)size, sizeof(text), names, count, nearest);
    return error_suggest(err, "%s", text);
}
