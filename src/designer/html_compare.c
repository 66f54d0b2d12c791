#include "designer/html_compare.h"

#include "base/json_read.h"
#include "designer/html_parts.h"

#include <stdlib.h>
#include <string.h>

/* A part with its place in its document. */
struct placed {
    const struct html_part *part;
    size_t index;
};

/* A part of `after` that `before` has, too. */
struct match {
    size_t before;
    size_t after;
    size_t previous; /* the match before it in the longest run that ends here; its own index: none */
    bool is_kept;
};

struct sequences {
    struct arena *arena;
    struct html_part_list before;
    struct html_part_list after;
    struct match *matches; /* in the order of `after` */
    size_t count;
};

/* ---- Matches ---- */

static int compare_parts(const struct html_part *left, const struct html_part *right)
{
    int order = strcmp(left->text, right->text);
    if (order != 0 || left->address == NULL || right->address == NULL)
        return order;
    return strcmp(left->address, right->address);
}

static int compare_placed(const void *left_item, const void *right_item)
{
    const struct placed *left = left_item;
    const struct placed *right = right_item;
    int order = compare_parts(left->part, right->part);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

static struct placed *sorted(struct arena *arena, const struct html_part_list *list)
{
    struct placed *items = arena_array(arena, list->count + 1, sizeof(*items));
    for (size_t i = 0; i < list->count; i++)
        items[i] = (struct placed){ .part = &list->items[i], .index = i };
    qsort(items, list->count, sizeof(*items), compare_placed);
    return items;
}

static int compare_matches(const void *left_item, const void *right_item)
{
    const struct match *left = left_item;
    const struct match *right = right_item;
    return (left->after > right->after) - (left->after < right->after);
}

/* Matches equal parts: the first with the first, the second with the second. */
static void find_matches(struct sequences *sequences)
{
    const struct placed *before = sorted(sequences->arena, &sequences->before);
    const struct placed *after = sorted(sequences->arena, &sequences->after);
    size_t i = 0;
    size_t j = 0;
    sequences->matches = arena_array(sequences->arena, sequences->after.count + 1, sizeof(*sequences->matches));
    while (i < sequences->before.count && j < sequences->after.count) {
        int order = compare_parts(before[i].part, after[j].part);
        if (order == 0)
            sequences->matches[sequences->count++] = (struct match){ .before = before[i].index, .after = after[j].index };
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    qsort(sequences->matches, sequences->count, sizeof(*sequences->matches), compare_matches);
}

/* ---- The parts that stay ---- */

/* The number of runs whose last part is before this one. `ends` has the last match of the best run of each length. */
static size_t runs_below(const struct sequences *sequences, const size_t *ends, size_t count, size_t before)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (sequences->matches[ends[middle]].before < before)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Marks the most matches that keep their order: the longest increasing subsequence, by patience sorting. */
static void keep_longest_run(struct sequences *sequences)
{
    size_t length = 0;
    size_t *ends = arena_array(sequences->arena, sequences->count + 1, sizeof(*ends));
    for (size_t i = 0; i < sequences->count; i++) {
        struct match *match = &sequences->matches[i];
        size_t run = runs_below(sequences, ends, length, match->before);
        match->previous = run > 0 ? ends[run - 1] : i;
        ends[run] = i;
        if (run == length)
            length++;
    }
    size_t at = length > 0 ? ends[length - 1] : 0;
    for (size_t left = length; left > 0; left--) {
        sequences->matches[at].is_kept = true;
        at = sequences->matches[at].previous;
    }
}

/* ---- The differences ---- */

static json_t *part_json(const struct html_part_list *list, size_t index, const char *text_name, const char *address_name)
{
    const struct html_part *part = &list->items[index];
    if (part->address == NULL)
        return json_string(part->text);
    return json_pack("{ss ss}", text_name, part->text, address_name, part->address);
}

/* The places of both documents up to which the differences are told. */
struct told {
    size_t before;
    size_t after;
};

/* Tells the parts up to a kept one, in pairs. */
static void tell_until(const struct sequences *sequences, struct told *told, struct told end, const char *const names[2],
                       json_t *changes)
{
    while (told->before < end.before || told->after < end.after) {
        json_t *before = told->before < end.before ? part_json(&sequences->before, told->before, names[0], names[1]) : json_null();
        json_t *after = told->after < end.after ? part_json(&sequences->after, told->after, names[0], names[1]) : json_null();
        json_array_append_new(changes, json_pack("{so so}", "before", before, "after", after));
        told->before += told->before < end.before ? 1 : 0;
        told->after += told->after < end.after ? 1 : 0;
    }
}

static json_t *compare_lists(struct arena *arena, const struct html_part_list *before, const struct html_part_list *after,
                             const char *const names[2])
{
    struct sequences sequences = { .arena = arena, .before = *before, .after = *after };
    struct told told = { .before = 0 };
    json_t *changes = json_array();
    find_matches(&sequences);
    keep_longest_run(&sequences);
    for (size_t i = 0; i < sequences.count; i++) {
        const struct match *match = &sequences.matches[i];
        if (!match->is_kept)
            continue;
        tell_until(&sequences, &told, (struct told){ match->before, match->after }, names, changes);
        told = (struct told){ match->before + 1, match->after + 1 };
    }
    tell_until(&sequences, &told, (struct told){ before->count, after->count }, names, changes);
    return changes;
}

const json_t *html_compare(struct arena *arena, const char *before, const char *after)
{
    static const char *const of_links[] = { "text", "href" };
    static const char *const of_images[] = { "alt", "src" };
    const struct html_parts *old = html_parts_read(arena, before);
    const struct html_parts *new = html_parts_read(arena, after);
    json_t *texts = compare_lists(arena, &old->texts, &new->texts, of_links);
    json_t *links = compare_lists(arena, &old->links, &new->links, of_links);
    json_t *images = compare_lists(arena, &old->images, &new->images, of_images);
    bool is_equal = json_array_size(texts) + json_array_size(links) + json_array_size(images) == 0;
    return json_in_arena(arena, json_pack("{so so so sb}", "texts", texts, "links", links, "images", images, "isEqual", is_equal));
}
