/*
 * Edits by a model: operations on a document, or new texts and addresses of an
 * imported design.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/change.h"
#include "designer/fragments.h"
#include "models/conversation.h"
#include "models/prompts.h"
#include "models/schemas.h"

#include <stdio.h>
#include <string.h>

enum { WARNINGS_MAX = 100, REASON_MAX_CHARS = 300, SHOWN_FRAGMENT_BYTES = 120 };

struct editing {
    struct arena *arena;
    const struct model_edit *edit;
    enum absence absence;
    const json_t *touches;
    const json_t *document; /* with the operations so far; of a document */
    int64_t serial;
    json_t *operations;
    const char *warnings[WARNINGS_MAX];
    size_t warning_count;
};

static void warn(struct editing *editing, const char *warning)
{
    if (editing->warning_count < WARNINGS_MAX)
        editing->warnings[editing->warning_count++] = warning;
}

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_string_value(json_array_get(list, i)), text))
            return true;
    return false;
}

static bool refuse(struct error *err, const char *param, const char *message)
{
    return fail(err, ERR_INVALID_REQUEST, param, "%s", message);
}

/* ---- What an edit must keep ---- */

static bool is_shorter_list(const json_t *before, const json_t *after)
{
    return json_is_array(before) && json_array_size(after) < json_array_size(before);
}

/* Whether the loss of a merge tag or an address follows from the instruction. */
static bool may_lose(const struct editing *editing, const char *fragment)
{
    const char *prompt = editing->edit->brief->prompt;
    bool names_address =
        strstr(prompt, "http://") != NULL || strstr(prompt, "https://") != NULL || strstr(prompt, "mailto:") != NULL;
    return strstr(prompt, fragment) != NULL || (fragment_is_address(fragment) && names_address);
}

/* Checks that a member keeps its merge tags and addresses. A member or an entry that is taken away takes them with it; that is a
 * warning. */
static bool check_member(struct editing *editing, const char *name, const json_t *before, const json_t *after, const json_t *block,
                         struct error *err)
{
    const char *fragment;
    json_t *value;
    json_t *old = json_in_arena(editing->arena, json_object());
    json_t *new = json_in_arena(editing->arena, json_object());
    bool is_taken_away = after == NULL || json_is_null(after) || is_shorter_list(before, after);
    fragments_collect(editing->arena, before, true, old);
    fragments_collect(editing->arena, block, true, new);
    json_object_foreach (old, fragment, value) {
        if (json_object_get(new, fragment) != NULL || may_lose(editing, fragment))
            continue;
        const char *shown = arena_printf(editing->arena, "%.*s", SHOWN_FRAGMENT_BYTES, fragment);
        if (!is_taken_away)
            return fail(err, ERR_INVALID_REQUEST, name, "The new value loses %s. Keep it.", shown);
        warn(editing, arena_printf(editing->arena, "The edit took %s away with its part of the design.", shown));
    }
    return true;
}

/* Checks an operation that was applied, by its inverse. */
static bool check_kept(struct editing *editing, const json_t *operation, const json_t *inverse, struct error *err)
{
    const char *name;
    json_t *before;
    size_t index = 0;
    if (!text_equal(json_get_text(operation, "op"), "set"))
        return true;
    document_find_block(editing->document, json_get_text(operation, "block"), &index);
    const json_t *block = json_array_get(json_object_get(editing->document, "blocks"), index);
    json_object_foreach (json_for_iteration(json_object_get(inverse, "values")), name, before) {
        if (!check_member(editing, name, before, json_object_get(json_object_get(operation, "values"), name), block, err))
            return false;
    }
    return true;
}

/* ---- Operations of documents ---- */

static const json_t *block_named(const struct editing *editing, const char *id)
{
    size_t index;
    if (id == NULL || !document_find_block(editing->document, id, &index))
        return NULL;
    return json_array_get(json_object_get(editing->document, "blocks"), index);
}

static bool is_footer(const json_t *block)
{
    return text_equal(json_get_text(block, "type"), "footer");
}

/* Adds the members that differ, and nulls for those that are cleared. */
static void add_values(json_t *values, const json_t *now, const json_t *given, const json_t *clear)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(given), name, value) {
        if (!json_equal(value, json_object_get(now, name)) && !text_equal(name, "type"))
            json_object_set(values, name, value);
    }
    for (size_t i = 0; i < json_array_size(clear); i++) {
        name = json_string_value(json_array_get(clear, i));
        if (name != NULL && json_object_get(now, name) != NULL)
            json_object_set_new(values, name, json_null());
    }
}

/* Whether the model declared what an operation touches. */
static bool check_touch(const struct editing *editing, const char *op, const json_t *given, struct error *err)
{
    const char *id = json_get_text(given, "block");
    if (text_equal(op, "theme") || text_equal(op, "meta"))
        return json_get_bool(editing->touches, op, false) || refuse(err, "op", "The part is not in touches.");
    if (text_equal(op, "insert"))
        return true;
    return (id != NULL && has_text(json_object_get(editing->touches, "blocks"), id)) ||
           refuse(err, "block", "The block is not in touches.");
}

/* The values of a set as document_change takes them. A block that was cleared of its address would not tell its sender. */
static bool set_values(struct editing *editing, const json_t *given, json_t *operation, struct error *err)
{
    const json_t *block = block_named(editing, json_get_text(given, "block"));
    const json_t *value = json_object_get(given, "value");
    const json_t *clear = json_object_get(given, "clear");
    const char *type = json_get_text(value, "type");
    json_t *values = json_object();
    json_object_set_new(operation, "values", values);
    if (block == NULL)
        return refuse(err, "block", "The design has no block with this id.");
    if (type != NULL && !text_equal(type, json_get_text(block, "type")))
        return refuse(err, "value.type", "The type of a block does not change. Remove it and insert another one.");
    if (is_footer(block) && (has_text(clear, "address") || has_text(clear, "unsubscribe")))
        return refuse(err, "clear", "The footer keeps its address and its link to unsubscribe.");
    add_values(values, block, value, clear);
    return true;
}

static void group_values(struct editing *editing, const char *op, const json_t *given, json_t *operation)
{
    const json_t *now = text_equal(op, "theme") ? json_object_get(editing->document, "theme") : editing->document;
    json_t *values = json_object();
    add_values(values, now, json_object_get(given, op), json_object_get(given, "clear"));
    json_object_set_new(operation, "values", values);
}

static bool check_insert(const json_t *given, struct error *err)
{
    if (text_equal(json_get_text(json_object_get(given, "value"), "type"), "html"))
        return refuse(err, "value.type", "Blocks of the type html are not allowed here. Use another type.");
    return true;
}

static bool check_remove(const struct editing *editing, const json_t *given, struct error *err)
{
    return !is_footer(block_named(editing, json_get_text(given, "block"))) || refuse(err, "block", "The footer stays.");
}

static void copy_member(json_t *operation, const json_t *given, const char *name)
{
    json_t *value = json_object_get(given, name);
    if (value != NULL)
        json_object_set(operation, name, value);
}

/* The operation as document_change takes it. */
static bool convert(struct editing *editing, const json_t *given, json_t *operation, struct error *err)
{
    const char *op = json_get_text(given, "op");
    if (op == NULL)
        return refuse(err, "op", "Name the operation.");
    json_object_set_new(operation, "op", json_string(op));
    if (!check_touch(editing, op, given, err))
        return false;
    if (text_equal(op, "theme") || text_equal(op, "meta")) {
        group_values(editing, op, given, operation);
        return true;
    }
    if (!text_equal(op, "insert"))
        copy_member(operation, given, "block");
    if (text_equal(op, "insert") || text_equal(op, "move"))
        json_object_set_new(operation, "after", json_null());
    if (text_equal(op, "insert") || text_equal(op, "move"))
        copy_member(operation, given, "after");
    if (text_equal(op, "insert"))
        copy_member(operation, given, "value");
    return text_equal(op, "set")      ? set_values(editing, given, operation, err)
           : text_equal(op, "insert") ? check_insert(given, err)
           : text_equal(op, "remove") ? check_remove(editing, given, err)
                                      : true;
}

/* A set whose values are those that the design has already. */
static bool changes_nothing(const json_t *operation)
{
    const json_t *values = json_object_get(operation, "values");
    return values != NULL && json_object_size(values) == 0;
}

/* The list that was applied had one operation; its path means nothing to the model. */
static bool name_own_member(struct error *err)
{
    static const char prefix[] = "operations.0.";
    char param[ERROR_PARAM_MAX_BYTES];
    snprintf(param, sizeof(param), "%s", err->param);
    if (text_starts_with(param, prefix))
        error_set_param(err, "%s", param + strlen(prefix));
    return false;
}

static bool apply(struct editing *editing, const json_t *given, struct error *err)
{
    struct document_change change;
    json_t *operation = json_in_arena(editing->arena, json_object());
    json_t *list = json_in_arena(editing->arena, json_array());
    if (!convert(editing, given, operation, err))
        return false;
    if (changes_nothing(operation))
        return true;
    json_array_append(list, operation);
    if (!document_change(editing->arena, editing->document, list, &editing->serial, &change, err))
        return name_own_member(err);
    editing->document = change.document;
    json_array_append(editing->operations, operation);
    return check_kept(editing, operation, json_array_get(change.inverse, 0), err);
}

/* ---- Both kinds of edits ---- */

/* The model says that it cannot make the edit: that is final, and the caller is told. */
static bool check_possible(struct editing *editing, const json_t *answer, struct error *err)
{
    const char *why = json_get_text(answer, "impossible");
    if (json_array_size(json_object_get(answer, "operations")) > 0)
        return true;
    if (why == NULL)
        return refuse(err, "operations", "Give operations, or say in impossible why there are none.");
    return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model did not make the edit: %s",
                text_visible(editing->arena, why, REASON_MAX_CHARS));
}

static bool take_each(struct editing *editing, const json_t *operations,
                      bool (*take)(struct editing *editing, const json_t *given, struct error *err), struct error *err)
{
    if (json_array_size(operations) > DOCUMENT_OPERATIONS_MAX)
        return refuse(err, "operations", "There are too many operations.");
    for (size_t i = 0; i < json_array_size(operations); i++)
        if (!take(editing, json_array_get(operations, i), err)) {
            error_param_prefix(err, arena_printf(editing->arena, "operations.%zu", i));
            return false;
        }
    if (json_array_size(editing->operations) == 0)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model changed nothing: the design is so already.");
    return editing->edit->check == NULL || editing->edit->check(editing->edit->context, editing->operations, err);
}

static void begin_taking(struct editing *editing, const json_t *answer)
{
    editing->touches = json_object_get(answer, "touches");
    editing->document = editing->edit->document;
    editing->serial = editing->edit->serial;
    editing->operations = json_in_arena(editing->arena, json_array());
    editing->warning_count = 0;
}

static bool take_operations(void *context, const json_t *object, struct error *err)
{
    struct editing *editing = context;
    const json_t *answer = answer_without_absent(editing->arena, object, editing->absence);
    begin_taking(editing, answer);
    return check_possible(editing, answer, err) && take_each(editing, json_object_get(answer, "operations"), apply, err);
}

/* ---- Imported designs ---- */

static const json_t *entry_with(const json_t *list, const char *member, const char *id)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_get_text(json_array_get(list, i), member), id))
            return json_array_get(list, i);
    return NULL;
}

/* The text or address that an id names; NULL: there is none, or it must stay. */
static const char *outline_value(const json_t *outline, const char *id)
{
    const json_t *text = entry_with(json_object_get(outline, "texts"), "id", id);
    const json_t *link = entry_with(json_object_get(outline, "links"), "id", id);
    const json_t *image = entry_with(json_object_get(outline, "images"), "id", id);
    const json_t *alt = entry_with(json_object_get(outline, "images"), "altId", id);
    if (link != NULL && json_get_bool(link, "isProtected", false))
        return NULL;
    return text != NULL    ? json_get_text(text, "text")
           : link != NULL  ? json_get_text(link, "href")
           : image != NULL ? json_get_text(image, "src")
                           : json_get_text(alt, "alt");
}

static bool check_tags(struct editing *editing, const char *before, const char *after, struct error *err)
{
    const char *tag;
    json_t *value;
    json_t *old = json_in_arena(editing->arena, json_object());
    fragments_collect_text(editing->arena, before, false, old);
    json_object_foreach (old, tag, value) {
        if (strstr(after, tag) == NULL)
            return fail(err, ERR_INVALID_REQUEST, "with", "The new text loses %.*s. Keep it.", SHOWN_FRAGMENT_BYTES, tag);
    }
    return true;
}

static bool take_splice(struct editing *editing, const json_t *given, struct error *err)
{
    const char *id = json_get_text(given, "id");
    const char *with = json_get_text(given, "with");
    const char *before = id != NULL ? outline_value(editing->edit->outline, id) : NULL;
    if (before == NULL)
        return refuse(err, "id", "No text, link or image that can change has this id.");
    if (!has_text(editing->touches, id))
        return refuse(err, "id", "The id is not in touches.");
    if (with == NULL)
        return refuse(err, "with", "Give the new text or address.");
    if (!check_tags(editing, before, with, err))
        return false;
    if (!text_equal(before, with)) {
        json_t *splice = json_object();
        json_object_set_new(splice, "id", json_string(id));
        json_object_set_new(splice, "with", json_string(with));
        json_array_append_new(editing->operations, splice);
    }
    return true;
}

static bool take_splices(void *context, const json_t *object, struct error *err)
{
    struct editing *editing = context;
    const json_t *answer = answer_without_absent(editing->arena, object, editing->absence);
    begin_taking(editing, answer);
    return check_possible(editing, answer, err) && take_each(editing, json_object_get(answer, "operations"), take_splice, err);
}

/* ---- The call ---- */

/* What the edited document says that neither the design nor the brief did. */
static void warn_of_inventions(struct editing *editing)
{
    struct brief brief = *editing->edit->brief;
    brief.reference = editing->edit->document;
    struct text_list found = document_find_inventions(editing->arena, editing->document, &brief);
    for (size_t i = 0; i < found.count; i++)
        warn(editing, found.items[i]);
}

bool model_write_operations(struct arena *arena, const struct model *model, const struct model_edit *edit,
                            struct model_operations *ret_operations, struct model_usage *ret_usage, struct error *err)
{
    bool is_document = edit->document != NULL;
    struct editing *editing = arena_alloc(arena, sizeof(*editing));
    *editing = (struct editing){ .arena = arena, .edit = edit, .absence = model->provider->absence };
    struct conversation conversation = {
        .model = model,
        .schema_name = is_document ? "email_edit" : "import_edit",
        .schema = is_document ? schema_of_operations(arena, editing->absence) : schema_of_splices(),
        .rules = is_document ? prompt_for_operations : prompt_for_splices,
        .prompt = prompt_edit(arena, edit),
        .take = is_document ? take_operations : take_splices,
        .context = editing,
        .usage = ret_usage,
    };
    if (!conversation_hold(arena, &conversation, err))
        return false;
    if (is_document)
        warn_of_inventions(editing);
    ret_operations->operations = editing->operations;
    ret_operations->warnings = (struct text_list){ .items = editing->warnings, .count = editing->warning_count };
    return true;
}
