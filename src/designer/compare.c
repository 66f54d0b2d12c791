#include "designer/compare.h"

#include "base/json_read.h"
#include "base/text.h"

static const json_t *blocks_of(const json_t *document)
{
    return json_object_get(document, "blocks");
}

/* ---- Members ---- */

static json_t *value_or_null(const json_t *object, const char *name)
{
    json_t *value = object != NULL ? json_object_get(object, name) : NULL;
    return value != NULL ? json_incref(value) : json_null();
}

static void add_change(json_t *changes, const char *name, const json_t *before, const json_t *after)
{
    json_array_append_new(changes, json_pack("{ss so so}", "member", name, "before", value_or_null(before, name), "after",
                                             value_or_null(after, name)));
}

static bool is_compared(const char *name, const char *const *others)
{
    for (; *others != NULL; others++)
        if (text_equal(name, *others))
            return false;
    return true;
}

/* The members that differ, except `others`: those of `before` first. */
static json_t *compare_members(const json_t *before, const json_t *after, const char *const *others)
{
    const char *name;
    json_t *value;
    json_t *changes = json_array();
    json_object_foreach (json_for_iteration(before), name, value) {
        const json_t *new_value = after != NULL ? json_object_get(after, name) : NULL;
        if (is_compared(name, others) && (new_value == NULL || !json_equal(value, new_value)))
            add_change(changes, name, before, after);
    }
    json_object_foreach (json_for_iteration(after), name, value) {
        if (is_compared(name, others) && (before == NULL || json_object_get(before, name) == NULL))
            add_change(changes, name, before, after);
    }
    return changes;
}

/* ---- Blocks ---- */

/* A block of both documents, with its places. */
struct pair {
    size_t before;
    size_t after;
    size_t run;      /* length of the longest run of kept blocks that ends here */
    size_t previous; /* the pair before it in that run; its own index: none */
    bool is_kept;
};

struct comparison {
    const json_t *before;
    const json_t *after;
    struct pair pairs[DOCUMENT_BLOCKS_MAX]; /* in the order of `after` */
    size_t count;
};

/* The blocks of `document` that `other` has not. */
static json_t *blocks_without(const json_t *document, const json_t *other)
{
    json_t *found = json_array();
    for (size_t i = 0; i < json_array_size(blocks_of(document)); i++) {
        size_t index;
        json_t *block = json_array_get(blocks_of(document), i);
        const char *id = json_get_text(block, "id");
        if (!document_find_block(other, id, &index))
            json_array_append_new(found, json_pack("{ss ss sI sO}", "id", id, "type", json_get_text(block, "type"), "index",
                                                   (json_int_t)i, "value", block));
    }
    return found;
}

static void find_pairs(struct comparison *comparison)
{
    const json_t *blocks = blocks_of(comparison->after);
    for (size_t i = 0; i < json_array_size(blocks) && i < DOCUMENT_BLOCKS_MAX; i++) {
        struct pair *pair = &comparison->pairs[comparison->count];
        if (document_find_block(comparison->before, json_get_text(json_array_get(blocks, i), "id"), &pair->before)) {
            pair->after = i;
            comparison->count++;
        }
    }
}

/* Extends the longest run before a pair by it. */
static void extend_run(struct comparison *comparison, size_t index)
{
    struct pair *pair = &comparison->pairs[index];
    pair->run = 1;
    pair->previous = index;
    for (size_t i = 0; i < index; i++) {
        const struct pair *earlier = &comparison->pairs[i];
        if (earlier->before < pair->before && earlier->run >= pair->run) {
            pair->run = earlier->run + 1;
            pair->previous = i;
        }
    }
}

/* Marks the most blocks that keep their order: the longest increasing subsequence. */
static void keep_longest_run(struct comparison *comparison)
{
    size_t last = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        extend_run(comparison, i);
        if (comparison->pairs[i].run > comparison->pairs[last].run)
            last = i;
    }
    for (size_t left = comparison->count > 0 ? comparison->pairs[last].run : 0; left > 0; left--) {
        comparison->pairs[last].is_kept = true;
        last = comparison->pairs[last].previous;
    }
}

static json_t *moved_blocks(const struct comparison *comparison)
{
    json_t *moved = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        const struct pair *pair = &comparison->pairs[i];
        const json_t *block = json_array_get(blocks_of(comparison->after), pair->after);
        if (!pair->is_kept)
            json_array_append_new(moved,
                                  json_pack("{ss ss sI sI}", "id", json_get_text(block, "id"), "type", json_get_text(block, "type"),
                                            "before", (json_int_t)pair->before, "after", (json_int_t)pair->after));
    }
    return moved;
}

static json_t *changed_blocks(const struct comparison *comparison)
{
    static const char *const others[] = { "id", NULL };
    json_t *changed = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        const json_t *before = json_array_get(blocks_of(comparison->before), comparison->pairs[i].before);
        const json_t *after = json_array_get(blocks_of(comparison->after), comparison->pairs[i].after);
        json_t *members = compare_members(before, after, others);
        if (json_array_size(members) > 0)
            json_array_append_new(changed, json_pack("{ss ss sO}", "id", json_get_text(after, "id"), "type",
                                                     json_get_text(after, "type"), "members", members));
        json_decref(members);
    }
    return changed;
}

/* ---- The whole ---- */

static bool has_entries(const json_t *result)
{
    const char *name;
    json_t *list;
    json_object_foreach (json_for_iteration(result), name, list) {
        if (json_array_size(list) > 0)
            return true;
    }
    return false;
}

const json_t *document_compare(struct arena *arena, const json_t *before, const json_t *after)
{
    static const char *const others[] = { "theme", "blocks", NULL };
    static const char *const none[] = { NULL };
    struct comparison *comparison = arena_alloc(arena, sizeof(*comparison));
    comparison->before = before;
    comparison->after = after;
    find_pairs(comparison);
    keep_longest_run(comparison);
    json_t *result = json_in_arena(arena, json_object());
    json_object_set_new(result, "members", compare_members(before, after, others));
    json_object_set_new(result, "theme", compare_members(json_object_get(before, "theme"), json_object_get(after, "theme"), none));
    json_object_set_new(result, "added", blocks_without(after, before));
    json_object_set_new(result, "removed", blocks_without(before, after));
    json_object_set_new(result, "moved", moved_blocks(comparison));
    json_object_set_new(result, "changed", changed_blocks(comparison));
    json_object_set_new(result, "isEqual", json_boolean(!has_entries(result)));
    return result;
}
