/* Suggestions for misspelt names, by edit distance. */ #include "cli/command_line.h"

#include <string.h>

    enum {
        NAME_MAX_BYTES = 60,
        NOT_ALIKE = 1000
    };

static size_t min_size(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The number of letters to add, remove or change (Levenshtein distance), computed by rows. */
static size_t edit_distance(const char *left, const char *right)
{
    size_t left_size = strlen(left);
    size_t right_size = strlen(right);
    if (left_size > NAME_MAX_BYTES || right_size > NAME_MAX_BYTES)
        return NOT_ALIKE;
    size_t row[NAME_MAX_BYTES + 1];
    for (size_t i = 0; i <= right_size; i++)
        row[i] = i;
    for (size_t i = 1; i <= left_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= right_size; j++) {
            size_t changed = diagonal + (left[i - 1] != right[j - 1]);
            diagonal = row[j];
            row[j] = min_size(changed, min_size(row[j], row[j - 1]) + 1);
        }
    }
    return row[right_size];
}

const char *suggest_name(const char *name, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2; /* a greater distance means another word */
    for (size_t i = 0; i < count; i++) {
        size_t apart = edit_distance(name, candidates[i]);
        if (apart < best) {
            best = apart;
            nearest = candidates[i];
        }
    }
    return nearest;
}
