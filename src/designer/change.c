#include "designer/change.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"
#include "designer/document_read.h"

#include <string.h>

struct changing {
    struct arena *arena;
    struct error *err;
    enum block_ids ids;
    int64_t *serial;
    json_t *document; /* a copy; blocks that are not changed are shared with the first document */
    json_t *done;     /* canonical operations */
    json_t *inverse;  /* of the operations so far, the last one first */
};

static json_t *own(const struct changing *changing, json_t *json)
{
    return json_in_arena(changing->arena, json);
}

static json_t *blocks_of(const struct changing *changing)
{
    return json_object_get(changing->document, "blocks");
}

static bool refuse(const struct changing *changing, const char *param, const char *message)
{
    return fail(changing->err, ERR_INVALID_REQUEST, param, "%s", message);
}

static void record(struct changing *changing, json_t *done, json_t *inverse)
{
    json_array_append_new(changing->done, done);
    json_array_insert_new(changing->inverse, 0, inverse);
}

/* ---- Places ---- */

static bool find_named(const struct changing *changing, const json_t *operation, const char *member, size_t *ret_index)
{
    const char *id = json_get_text(operation, member);
    if (id != NULL && document_find_block(changing->document, id, ret_index))
        return true;
    return refuse(changing, member, id != NULL ? "The design has no block with this id." : "Name a block by its id.");
}

/* The index behind the block that `after` names; 0 for null. */
static bool find_place(const struct changing *changing, const json_t *operation, size_t *ret_index)
{
    const json_t *after = json_object_get(operation, "after");
    *ret_index = 0;
    if (after == NULL || json_is_null(after))
        return true;
    if (!find_named(changing, operation, "after", ret_index))
        return false;
    ++*ret_index;
    return true;
}

/* The id of the block before an index, or null. */
static json_t *id_before(const struct changing *changing, size_t index)
{
    if (index == 0)
        return json_null();
    return json_string(json_get_text(json_array_get(blocks_of(changing), index - 1), "id"));
}

/* ---- Members ---- */

/* `object` with the values in place; a null removes a member. */
static json_t *with_values(const struct changing *changing, const json_t *object, const json_t *values)
{
    json_t *copy = own(changing, json_copy(json_for_iteration(object)));
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(values), name, value) {
        if (json_is_null(value))
            json_object_del(copy, name);
        else
            json_object_set(copy, name, value);
    }
    return copy;
}

/* The values of the same members in `object`; null for those that it has not. */
static json_t *values_before(const json_t *object, const json_t *values)
{
    json_t *before = json_object();
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(values), name, value) {
        json_t *old = object != NULL ? json_object_get(object, name) : NULL;
        json_object_set(before, name, old != NULL ? old : json_null());
    }
    return before;
}

/* The values as they are in the changed object, so that a recorded operation is canonical. */
static const json_t *values_of(const struct changing *changing, const json_t *operation)
{
    const json_t *values = json_object_get(operation, "values");
    if (json_is_object(values) && json_object_size(values) > 0)
        return values;
    refuse(changing, "values", "Give the members with their new values.");
    return NULL;
}

/* ---- The operations ---- */

static bool is_fixed(const char *name)
{
    return text_equal(name, "id") || text_equal(name, "type");
}

static bool check_set(const struct changing *changing, const json_t *values)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(values), name, value) {
        if (is_fixed(name)) {
            refuse(changing, NULL, "The id and the type of a block do not change. Remove it and insert another one.");
            return error_set_param(changing->err, "values.%s", name);
        }
    }
    return true;
}

static bool apply_set(struct changing *changing, const json_t *operation)
{
    size_t index;
    const json_t *values = values_of(changing, operation);
    if (values == NULL || !check_set(changing, values) || !find_named(changing, operation, "block", &index))
        return false;
    const json_t *block = json_array_get(blocks_of(changing), index);
    json_t *changed =
        document_read_block(changing->arena, with_values(changing, block, values), BLOCK_IDS_KEPT, changing->serial, changing->err);
    if (changed == NULL) {
        error_param_prefix(changing->err, "values");
        return false;
    }
    const char *id = json_get_text(block, "id");
    record(changing, json_pack("{ss ss so}", "op", "set", "block", id, "values", values_before(changed, values)),
           json_pack("{ss ss so}", "op", "set", "block", id, "values", values_before(block, values)));
    return json_array_set(blocks_of(changing), index, changed) == 0;
}

static bool has_used_id(const struct changing *changing, const json_t *block)
{
    size_t index;
    const char *id = json_get_text(block, "id");
    return changing->ids == BLOCK_IDS_KEPT && id != NULL && document_find_block(changing->document, id, &index);
}

static bool apply_insert(struct changing *changing, const json_t *operation)
{
    size_t index;
    const json_t *value = json_object_get(operation, "value");
    if (json_array_size(blocks_of(changing)) >= DOCUMENT_BLOCKS_MAX)
        return refuse(changing, NULL, "A design has at most 60 blocks.");
    if (!find_place(changing, operation, &index))
        return false;
    if (has_used_id(changing, value))
        return refuse(changing, "value.id", "Another block has this id.");
    json_t *block = document_read_block(changing->arena, value, changing->ids, changing->serial, changing->err);
    if (block == NULL) {
        error_param_prefix(changing->err, "value");
        return false;
    }
    record(changing, json_pack("{ss so sO}", "op", "insert", "after", id_before(changing, index), "value", block),
           json_pack("{ss ss}", "op", "remove", "block", json_get_text(block, "id")));
    return json_array_insert(blocks_of(changing), index, block) == 0;
}

static bool apply_remove(struct changing *changing, const json_t *operation)
{
    size_t index;
    if (!find_named(changing, operation, "block", &index))
        return false;
    json_t *block = json_array_get(blocks_of(changing), index);
    record(changing, json_pack("{ss ss}", "op", "remove", "block", json_get_text(block, "id")),
           json_pack("{ss so sO}", "op", "insert", "after", id_before(changing, index), "value", block));
    return json_array_remove(blocks_of(changing), index) == 0;
}

static bool apply_move(struct changing *changing, const json_t *operation)
{
    size_t from;
    size_t to;
    if (!find_named(changing, operation, "block", &from) || !find_place(changing, operation, &to))
        return false;
    if (to == from + 1)
        return refuse(changing, "after", "The block already stands there.");
    json_t *block = own(changing, json_incref(json_array_get(blocks_of(changing), from)));
    const char *id = json_get_text(block, "id");
    json_t *after = id_before(changing, to);
    json_t *before = id_before(changing, from);
    if (text_equal(json_string_value(after), id)) {
        json_decref(after);
        json_decref(before);
        return refuse(changing, "after", "Name another block than the one that is moved.");
    }
    record(changing, json_pack("{ss ss so}", "op", "move", "block", id, "after", after),
           json_pack("{ss ss so}", "op", "move", "block", id, "after", before));
    json_array_remove(blocks_of(changing), from);
    return json_array_insert(blocks_of(changing), to > from ? to - 1 : to, block) == 0;
}

static bool apply_theme(struct changing *changing, const json_t *operation)
{
    static const char name[] = "theme";
    const json_t *values = values_of(changing, operation);
    const json_t *theme = json_object_get(changing->document, name);
    if (values == NULL)
        return false;
    const json_t *first = theme != NULL ? theme : own(changing, json_object());
    json_t *changed = document_read_theme(changing->arena, with_values(changing, first, values), changing->err);
    if (changed == NULL) {
        error_param_prefix(changing->err, "values");
        return false;
    }
    record(changing, json_pack("{ss so}", "op", name, "values", values_before(changed, values)),
           json_pack("{ss so}", "op", name, "values", values_before(theme, values)));
    if (json_object_size(changed) == 0)
        return json_object_del(changing->document, name) == 0 || theme == NULL;
    json_t *document = with_values(changing, changing->document, own(changing, json_pack("{sO}", name, changed)));
    changing->document = document_read_members(changing->arena, document, changing->err);
    return changing->document != NULL;
}

static bool is_meta(const char *name)
{
    static const char *const names[] = { "title", "subjectLine", "previewText", "lang", "dir", "category" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (text_equal(name, names[i]))
            return true;
    return false;
}

static bool check_meta(const struct changing *changing, const json_t *values)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(values), name, value) {
        if (!is_meta(name)) {
            refuse(changing, NULL, "The operation changes title, subjectLine, previewText, lang, dir and category only.");
            return error_set_param(changing->err, "values.%s", name);
        }
    }
    return true;
}

static bool apply_meta(struct changing *changing, const json_t *operation)
{
    const json_t *values = values_of(changing, operation);
    if (values == NULL || !check_meta(changing, values))
        return false;
    const json_t *before = changing->document;
    json_t *changed = document_read_members(changing->arena, with_values(changing, before, values), changing->err);
    if (changed == NULL) {
        error_param_prefix(changing->err, "values");
        return false;
    }
    record(changing, json_pack("{ss so}", "op", "meta", "values", values_before(changed, values)),
           json_pack("{ss so}", "op", "meta", "values", values_before(before, values)));
    changing->document = changed;
    return true;
}

static const struct {
    const char *op;
    const char *const members[4]; /* with a NULL behind */
    bool (*apply)(struct changing *changing, const json_t *operation);
} operations[] = {
    { "set", { "block", "values" }, apply_set }, { "insert", { "after", "value" }, apply_insert },
    { "remove", { "block" }, apply_remove },     { "move", { "block", "after" }, apply_move },
    { "theme", { "values" }, apply_theme },      { "meta", { "values" }, apply_meta },
};

enum { OPERATION_COUNT = sizeof(operations) / sizeof(operations[0]) };

static bool is_member(const char *const *members, const char *name)
{
    for (; *members != NULL; members++)
        if (text_equal(*members, name))
            return true;
    return text_equal(name, "op");
}

static bool apply_known(struct changing *changing, size_t kind, const json_t *operation)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(operation), name, value) {
        if (!is_member(operations[kind].members, name))
            return refuse(changing, name, "The operation has no such member.");
    }
    return operations[kind].apply(changing, operation);
}

static bool apply(struct changing *changing, const json_t *operation)
{
    const char *names[OPERATION_COUNT];
    const char *op = json_get_text(operation, "op");
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        names[i] = operations[i].op;
        if (text_equal(op, operations[i].op))
            return apply_known(changing, i, operation);
    }
    refuse(changing, "op", "There is no such operation.");
    return error_suggest_name(changing->err, op != NULL ? op : "", names, OPERATION_COUNT);
}

/* ---- A list of operations ---- */

static bool apply_all(struct changing *changing, const json_t *list)
{
    size_t count = json_array_size(list);
    if (count < 1 || count > DOCUMENT_OPERATIONS_MAX)
        return fail(changing->err, ERR_INVALID_REQUEST, "operations", "Give 1 to %d operations.", DOCUMENT_OPERATIONS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!apply(changing, json_array_get(list, i))) {
            error_param_prefix(changing->err, arena_printf(changing->arena, "operations.%zu", i));
            return false;
        }
    if (json_array_size(blocks_of(changing)) == 0)
        return fail(changing->err, ERR_INVALID_REQUEST, "operations", "A design keeps at least one block.");
    if (strlen(json_compact(changing->arena, changing->document)) > DOCUMENT_MAX_BYTES)
        return fail(changing->err, ERR_PAYLOAD_TOO_LARGE, "operations", "A document has at most %d bytes.", DOCUMENT_MAX_BYTES);
    return true;
}

static struct changing begin(struct arena *arena, const json_t *document, enum block_ids ids, int64_t *serial, struct error *err)
{
    struct changing changing = { .arena = arena, .err = err, .ids = ids, .serial = serial };
    json_t *blocks = json_in_arena(arena, json_copy(json_object_get(document, "blocks")));
    changing.document = own(&changing, json_copy(json_for_iteration(document)));
    json_object_set(changing.document, "blocks", blocks);
    changing.done = own(&changing, json_array());
    changing.inverse = own(&changing, json_array());
    return changing;
}

bool document_change(struct arena *arena, const json_t *document, const json_t *list, int64_t *serial,
                     struct document_change *ret_change, struct error *err)
{
    struct changing changing = begin(arena, document, BLOCK_IDS_NEW, serial, err);
    if (!apply_all(&changing, list))
        return false;
    *ret_change =
        (struct document_change){ .document = changing.document, .operations = changing.done, .inverse = changing.inverse };
    return true;
}

bool document_undo(struct arena *arena, const json_t *document, const json_t *inverse, const json_t **ret_document,
                   struct error *err)
{
    int64_t serial = 0;
    struct changing changing = begin(arena, document, BLOCK_IDS_KEPT, &serial, err);
    if (!apply_all(&changing, inverse))
        return false;
    *ret_document = changing.document;
    return true;
}
