#include "designer/replace.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/change.h"
#include "designer/texts.h"

#include <string.h>

enum replaced_place { REPLACED_SUBJECT, REPLACED_PREVIEW, REPLACED_TEXT, REPLACED_ALT, REPLACED_LINK, REPLACED_PLACES };

static const char *const place_names[REPLACED_PLACES] = { "subject", "preview", "text", "alt", "link" };

/* One replacement. */
struct exact {
    struct arena *arena;
    const char *find;
    const char *with;
    bool in_links; /* addresses are searched, too */
    size_t counts[REPLACED_PLACES];
};

static size_t total_of(const struct exact *exact)
{
    size_t total = 0;
    for (size_t i = 0; i < REPLACED_PLACES; i++)
        total += exact->counts[i];
    return total;
}

/* ---- One text ---- */

/* Writes a part of a text with the replacement; returns its end. The address of a link ends the part. */
static const char *replace_part(struct exact *exact, const char *at, bool is_inline, enum replaced_place place, struct buf *out)
{
    while (*at != '\0' && !(is_inline && text_starts_with(at, "]("))) {
        if (text_starts_with(at, exact->find)) {
            buf_add_text(out, exact->with);
            at += strlen(exact->find);
            exact->counts[place]++;
            continue;
        }
        size_t size = merge_tag_size(at);
        buf_add(out, at, size > 0 ? size : 1);
        at += size > 0 ? size : 1;
    }
    return at;
}

/* Writes "](address)"; returns its end. */
static const char *replace_address(struct exact *exact, const char *at, struct buf *out)
{
    size_t size = link_end_size(at);
    const char *address = arena_dup_bytes(exact->arena, at, size > 0 ? size : strlen(at));
    if (exact->in_links)
        replace_part(exact, address, false, REPLACED_LINK, out);
    else
        buf_add_text(out, address);
    return at + strlen(address);
}

/* The text with the replacement, a new reference; NULL: the text stays. */
static json_t *replace_text(struct exact *exact, const char *text, bool is_inline, enum replaced_place place)
{
    size_t before = total_of(exact);
    struct buf *out = buf_in_arena(exact->arena, DOCUMENT_MAX_BYTES);
    while (*text != '\0') {
        text = replace_part(exact, text, is_inline, place, out);
        if (*text != '\0')
            text = replace_address(exact, text, out);
    }
    return total_of(exact) > before ? text_value(buf_text(out)) : NULL;
}

/* ---- The document ---- */

static enum replaced_place place_of(const struct document_field *field)
{
    if (text_equal(field->name, "subjectLine"))
        return REPLACED_SUBJECT;
    if (text_equal(field->name, "previewText"))
        return REPLACED_PREVIEW;
    return text_equal(field->name, "alt") ? REPLACED_ALT : REPLACED_TEXT;
}

static json_t *replace_value(void *context, const struct document_field *field, const char *text)
{
    struct exact *exact = context;
    switch (field->kind) {
    case DOCUMENT_INLINE:
        return replace_text(exact, text, true, place_of(field));
    case DOCUMENT_PLAIN:
        return replace_text(exact, text, false, place_of(field));
    case DOCUMENT_NAME:
        return field->pattern == DOCUMENT_PATTERN_NONE ? replace_text(exact, text, false, place_of(field)) : NULL;
    case DOCUMENT_LINK:
        return exact->in_links ? replace_text(exact, text, false, REPLACED_LINK) : NULL;
    case DOCUMENT_SOURCE:
    case DOCUMENT_ENUM:
    case DOCUMENT_INTEGER:
    case DOCUMENT_COLOUR:
    case DOCUMENT_MOMENT:
    case DOCUMENT_HTML:
    case DOCUMENT_CONDITION:
    case DOCUMENT_PATH:
    case DOCUMENT_ID:
    case DOCUMENT_GROUP:
    case DOCUMENT_LIST:
        return NULL;
    }
    return NULL;
}

/* The operations of one replacement, whose counts are set. */
static json_t *replace_everywhere(struct exact *exact, const json_t *document, bool in_links)
{
    const json_t *blocks = json_object_get(document, "blocks");
    json_t *operations = json_in_arena(exact->arena, json_array());
    const struct text_map map = { .new_value = replace_value, .context = exact };
    *exact = (struct exact){ .arena = exact->arena, .find = exact->find, .with = exact->with, .in_links = in_links };
    texts_change_members(&map, document, operations);
    for (size_t i = 0; i < json_array_size(blocks); i++)
        texts_change_block(&map, json_array_get(blocks, i), operations);
    return operations;
}

/* ---- One replacement ---- */

static json_t *outcome_of(const struct exact *exact)
{
    json_t *places = json_object();
    for (size_t i = 0; i < REPLACED_PLACES; i++)
        if (exact->counts[i] > 0)
            json_object_set_new(places, place_names[i], json_integer((json_int_t)exact->counts[i]));
    return json_pack("{sI so}", "count", (json_int_t)total_of(exact), "places", places);
}

static bool check_texts(const struct exact *exact, struct error *err)
{
    if (*exact->find == '\0' || text_equal(exact->find, exact->with))
        return fail(err, ERR_INVALID_REQUEST, "find", "Give a text to find, and another one in its place.");
    if (!text_has_whole_tags(exact->find))
        return fail(err, ERR_INVALID_REQUEST, "find", "A merge tag is found as a whole only.");
    return text_has_whole_tags(exact->with) || fail(err, ERR_INVALID_REQUEST, "with", "A merge tag is not complete.");
}

static bool check_count(const struct exact *exact, bool all, struct error *err)
{
    size_t total = total_of(exact);
    if (total == 0)
        return fail(
            err, ERR_INVALID_REQUEST, "find",
            "Found 0 times. Texts are found as the document has them, with marks such as **; get_email with include document "
            "shows them.");
    return all || total == 1 ||
           fail(err, ERR_INVALID_REQUEST, "find", "Found %zu times. Set all to true to replace every one, or give a longer text.",
                total);
}

static bool replace_one(struct exact *exact, bool all, struct document_replaced *replaced, struct error *err)
{
    int64_t serial = 0;
    struct document_change change;
    if (!check_texts(exact, err))
        return false;
    const json_t *operations = replace_everywhere(exact, replaced->document, text_is_address_like(exact->find));
    if (total_of(exact) == 0)
        operations = replace_everywhere(exact, replaced->document, true);
    if (!check_count(exact, all, err))
        return false;
    if (!document_change(exact->arena, replaced->document, operations, &serial, &change, err))
        return error_set_param(err, "with");
    replaced->document = change.document;
    json_array_extend(json_for_iteration(replaced->operations), json_for_iteration(change.operations));
    json_array_append_new(json_for_iteration(replaced->replaced), outcome_of(exact));
    return true;
}

bool document_replace(struct arena *arena, const json_t *document, const json_t *replacements,
                      struct document_replaced *ret_replaced, struct error *err)
{
    *ret_replaced = (struct document_replaced){
        .document = document,
        .operations = json_in_arena(arena, json_array()),
        .replaced = json_in_arena(arena, json_array()),
    };
    for (size_t i = 0; i < json_array_size(replacements); i++) {
        const json_t *replacement = json_array_get(replacements, i);
        struct exact exact = {
            .arena = arena,
            .find = json_get_text(replacement, "find"),
            .with = json_get_text(replacement, "with"),
        };
        if (!replace_one(&exact, json_get_bool(replacement, "all", false), ret_replaced, err)) {
            error_param_prefix(err, arena_printf(arena, "replacements.%zu", i));
            return false;
        }
    }
    return true;
}
