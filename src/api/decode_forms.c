#include "api/decode_forms.h"

#include "api/decode.h"
#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORM_MAX_BYTES = 100, /* of a value that a suggestion shows */
    NAMES_MAX = 64,       /* of a shape, for a suggestion */
};

/* ---- Coercion: text that is exactly a value of the wanted type becomes that value ---- */

static const json_t *number_in_text(const struct decoder *decoder, const json_t *value)
{
    const char *text = json_string_value(value);
    char *end;
    double number = strtod(text, &end);
    bool plain = *text != '\0' && *end == '\0' && strspn(text, "0123456789+-.eE") == strlen(text) && isfinite(number);
    if (!plain)
        return value;
    int64_t whole;
    json_t *coerced = int64_parse(text, &whole) ? json_integer(whole) : json_real(number);
    return json_in_arena(decoder->arena, coerced);
}

/* The arguments are counted when a first text is read; most calls have none. */
static bool claim_inner_tree(void *context, size_t tree_bytes, struct error *err)
{
    struct inner_trees *inner = context;
    const json_t *arguments = TAKE_PTR(inner->arguments);
    if (arguments != NULL)
        inner->bytes += json_tree_bytes(arguments);
    size_t left = inner->bytes < JSON_CALLER_TREE_MAX_BYTES ? JSON_CALLER_TREE_MAX_BYTES - inner->bytes : 0;
    if (tree_bytes > left) {
        inner->exceeded = true;
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "The JSON in a text has too many values.");
    }
    inner->bytes += tree_bytes;
    return true;
}

static const json_t *json_in_text(const struct decoder *decoder, const json_t *value)
{
    struct json_bounds bounds = {
        .max_bytes = json_string_length(value),
        .claim = claim_inner_tree,
        .claim_context = decoder->inner,
    };
    struct error ignored = { .code = ERR_NONE };
    const json_t *parsed;
    if (!json_read(decoder->arena, json_string_value(value), json_string_length(value), bounds, &parsed, &ignored))
        return value;
    return json_is_object(parsed) || json_is_array(parsed) ? parsed : value;
}

static const json_t *coerce(const struct decoder *decoder, const struct arg_field *field, const json_t *value)
{
    switch (field->kind) {
    case ARG_INTEGER:
    case ARG_NUMBER:
        return json_is_string(value) ? number_in_text(decoder, value) : value;
    case ARG_BOOLEAN:
        if (text_equal(json_string_value(value), "true"))
            return json_true();
        return text_equal(json_string_value(value), "false") ? json_false() : value;
    case ARG_TEXT_LIST:
    case ARG_OBJECT:
    case ARG_OBJECT_LIST:
    case ARG_JSON:
        return json_is_string(value) ? json_in_text(decoder, value) : value;
    case ARG_TEXT:
    case ARG_ENUM:
        if (json_is_integer(value) || (field->single && json_is_boolean(value)))
            return json_in_arena(decoder->arena, json_string(json_compact(decoder->arena, value)));
        return value;
    case ARG_TOKENS:
        return decoder->root != NULL && json_is_string(value) ? json_in_text(decoder, value) : value;
    case ARG_ID:
    case ARG_TIME:
        return value;
    }
    return value;
}

/* One item where a list is declared is a list of one. */
static const json_t *list_of_one(const struct decoder *decoder, const struct arg_field *field, const json_t *value)
{
    bool is_item =
        (field->kind == ARG_TEXT_LIST && json_is_string(value)) || (field->kind == ARG_OBJECT_LIST && json_is_object(value));
    if (!is_item || field->single)
        return value;
    json_t *list = json_in_arena(decoder->arena, json_array());
    json_array_append(list, json_for_iteration(value));
    return list;
}

const json_t *decode_form(const struct decoder *decoder, const struct arg_field *field, const json_t *value)
{
    if (decoder->coerces)
        value = coerce(decoder, field, value);
    return decoder->heals ? list_of_one(decoder, field, value) : value;
}

/* The parts of a text that lists several, such as "a, b; c", or more of them than a suggestion shows. White space separates
 * addresses only, because a name may have it. */
static const json_t *parts_of_text(const struct decoder *decoder, const json_t *value)
{
    const char *text = json_string_value(value);
    const char *separators = strchr(text, '@') != NULL ? ",; \t\r\n" : ",;\r\n";
    json_t *list = json_in_arena(decoder->arena, json_array());
    size_t shown_bytes = 0;
    while (shown_bytes <= FORM_MAX_BYTES && *(text += strspn(text, ",; \t\r\n")) != '\0') {
        size_t size = strcspn(text, separators);
        json_array_append_new(list, json_stringn(text, size));
        text += size;
        shown_bytes += size + strlen("\"\",");
    }
    return list;
}

static const json_t *meant_form(const struct decoder *decoder, const struct arg_field *field, const json_t *value)
{
    const json_t *meant = coerce(decoder, field, value);
    bool is_text = field->kind == ARG_TEXT_LIST && json_is_string(meant) && !field->single;
    const json_t *parts = is_text ? parts_of_text(decoder, meant) : NULL;
    return json_array_size(parts) > 0 ? parts : list_of_one(decoder, field, meant);
}

/* Shows the declared form, unless it is long. */
bool decode_suggest_form(const struct decoder *decoder, const struct arg_field *field, const json_t *value, struct error *err)
{
    if (err->suggestion[0] != '\0' || field->kind == ARG_ENUM)
        return false;
    const json_t *meant = meant_form(decoder, field, value);
    if (meant == value)
        return false;
    const char *shown = json_compact(decoder->arena, meant);
    if (strlen(shown) <= FORM_MAX_BYTES)
        return error_suggest(err, "Send %s as %s.", field->name, shown);
    return error_suggest(err, "Send %s as %s.", field->name,
                         json_is_array(meant) ? "a list, not as text" : "an object, not as text");
}

/* ---- Names ---- */

const struct arg_field *arg_field_named(const struct arg_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static bool is_shown(const struct decoder *decoder, const struct arg_shape *shape, const char *name)
{
    if (shape != decoder->root || decoder->shown == NULL)
        return true;
    for (const char *const *shown = decoder->shown; *shown != NULL; shown++)
        if (strcmp(*shown, name) == 0)
            return true;
    return false;
}

/* The names that may be healed to. */
static size_t names_of(const struct decoder *decoder, const struct arg_shape *shape, const char *names[NAMES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < shape->count && count < NAMES_MAX; i++)
        if (is_shown(decoder, shape, shape->fields[i].name))
            names[count++] = shape->fields[i].name;
    return count;
}

/* The names that may be suggested. Arguments that choose another operation come first, because a long list is cut. */
static size_t suggested_names(const struct decoder *decoder, const struct arg_shape *shape, const char *names[NAMES_MAX])
{
    size_t count = 0;
    for (const char *const *name = shape->choosing; name != NULL && *name != NULL && count < NAMES_MAX; name++)
        if (is_shown(decoder, shape, *name))
            names[count++] = *name;
    const char *own[NAMES_MAX];
    size_t own_count = names_of(decoder, shape, own);
    for (size_t i = 0; i < own_count && count < NAMES_MAX; i++)
        names[count++] = own[i];
    return count;
}

const json_t *decode_spelling(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object)
{
    json_t *healed = NULL;
    const char *names[NAMES_MAX];
    const char *name;
    json_t *value;
    size_t count = decoder->heals ? names_of(decoder, shape, names) : 0;
    json_object_foreach (json_for_iteration(decoder->heals ? object : NULL), name, value) {
        const char *meant = arg_field_named(shape, name) == NULL ? name_respelt(name, names, count) : NULL;
        if (meant == NULL || json_object_get(healed != NULL ? healed : object, meant) != NULL)
            continue;
        if (healed == NULL)
            healed = json_in_arena(decoder->arena, json_copy(json_for_iteration(object)));
        json_object_set(healed, meant, value);
        json_object_del(healed, name);
    }
    return healed != NULL ? healed : object;
}

/* The member for names of the caller's own, NULL when there is none. */
static const char *own_names_of(const struct arg_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].own_names)
            return shape->fields[i].name;
    return NULL;
}

static bool suggest_own_name(const char *own_names, const char *name, const char *const *names, size_t count, struct error *err)
{
    const char *nearest = name_nearest(name, names, count);
    if (nearest != NULL && name_is_respelt(name, nearest))
        return error_suggest(err, "Use %s.", nearest);
    if (nearest != NULL)
        return error_suggest(err, "Use %s, or put a field of your own into %s.", nearest, own_names);
    return error_suggest(err, "Put a field of your own into %s: {\"%s\": {\"%.60s\": …}}.", own_names, own_names, name);
}

bool decode_suggest_name(const struct arg_shape *shape, const char *given, const char *const *names, size_t count,
                         struct error *err)
{
    const char *own_names = own_names_of(shape);
    return own_names != NULL ? suggest_own_name(own_names, given, names, count, err) : error_suggest_name(err, given, names, count);
}

bool decode_refuse_name(const struct decoder *decoder, const struct arg_shape *shape, const char *name, struct error *err)
{
    for (const struct key_elsewhere *key = shape->elsewhere; key != NULL && key->name != NULL; key++)
        if (strcmp(key->name, name) == 0)
            return fail(err, ERR_INVALID_REQUEST, name, "%s", key->message) || error_suggest(err, "Leave out %s.", name);
    if (strcmp(name, "brandId") == 0)
        return fail(err, ERR_INVALID_REQUEST, name,
                    "brandId is not accepted here; the credential or the connection chooses the brand.") ||
               error_suggest(err, "Leave out brandId.");
    fail(err, ERR_INVALID_REQUEST, name, "%.80s is not a known key%s.", name,
         strchr(name, '_') != NULL ? "; keys are camelCase" : "");
    const char *names[NAMES_MAX];
    size_t count = suggested_names(decoder, shape, names);
    return decode_suggest_name(shape, name, names, count, err);
}

/* ---- Values of an enum ---- */

bool decode_refuse_value(const struct arg_field *field, const char *text, size_t size, struct error *err)
{
    char allowed[ERROR_MESSAGE_MAX_BYTES] = "";
    char given[NEAREST_MAX_BYTES + 2];
    size_t used = 0;
    size_t count = 0;
    for (; field->enum_values[count] != NULL; count++)
        if (used < sizeof(allowed))
            used +=
                (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", count > 0 ? ", " : "", field->enum_values[count]);
    fail(err, ERR_INVALID_REQUEST, field->name, "%s must be one of: %.400s.", field->name, allowed);
    snprintf(given, sizeof(given), "%.*s", (int)(size < sizeof(given) ? size : sizeof(given)), text);
    const char *nearest = name_nearest(given, field->enum_values, count);
    return nearest != NULL && error_suggest(err, "Use %s.", nearest);
}
