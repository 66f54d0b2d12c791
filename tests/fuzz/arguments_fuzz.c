/*
 * Fuzzes the arguments of calls. The first byte says whether the call is flat
 * (f) or by REST; the rest of the first line is the id of the operation, the
 * second line is a query, and the remaining bytes are the body. A text that is no
 * id chooses one of the operations by its hash. Besides not crashing: accepted
 * arguments keep every bound of their declaration, a second decoding gives the
 * same, and an error has a code of callers and texts of valid UTF-8.
 */
#include "api/decode.h"
#include "base/json_read.h"
#include "base/text.h"
#include "fuzz.h"
#include "http/endpoints/query.h"

#include <string.h>

enum { TEXT_MAX_BYTES = 32 * 1024 };

static const struct id_codec ids = { .key = "fuzzed arguments" };

static void check_error(const struct error *err)
{
    require(err->code == ERR_INVALID_REQUEST || err->code == ERR_PAYLOAD_TOO_LARGE);
    require(err->message[0] != '\0' && utf8_is_valid(err->message, strlen(err->message)));
    require(utf8_is_valid(err->param, strlen(err->param)));
}

/* ---- The bounds of accepted arguments ---- */

static void check_object(const struct arg_shape *shape, const char *args);

static void check_text(const struct arg_field *field, const char *text, size_t max_size)
{
    if (text == NULL) {
        require(!field->required && !field->has_default);
        return;
    }
    size_t points = utf8_length(text);
    require(utf8_is_valid(text, strlen(text)) && points <= max_size);
    require(points >= field->min_size || text == field->default_text);
}

static void check_number(const struct arg_field *field, bool is_set, double value)
{
    require(is_set || !field->required);
    require(!is_set || (value >= field->minimum && value <= field->maximum));
}

static size_t count_names(const struct arg_field *field)
{
    size_t count = 0;
    while (field->enum_values[count] != NULL)
        count++;
    return count;
}

static void check_texts(const struct arg_field *field, const struct text_list *texts)
{
    require(texts->items != NULL || !field->required);
    require(texts->items == NULL || (texts->count >= field->min_size && texts->count <= field->max_size));
    for (size_t i = 0; i < texts->count; i++)
        check_text(&(struct arg_field){ .required = true, .min_size = 1 }, texts->items[i], field->max_item_size);
}

static void check_objects(const struct arg_field *field, const struct arg_list *list)
{
    require(list->items != NULL || !field->required);
    require(list->items == NULL || (list->count >= field->min_size && list->count <= field->max_size));
    for (size_t i = 0; i < list->count; i++)
        check_object(field->object, (const char *)list->items + i * field->object->size);
}

static void check_json(const struct arg_field *field, const json_t *json)
{
    require(json != NULL || !field->required);
    size_t size = json_is_array(json) ? json_array_size(json) : json_object_size(json);
    require(json == NULL || (size >= field->min_size && size <= field->max_size));
}

static void check_scalar(const struct arg_field *field, const void *at)
{
    bool is_plain = field->required || field->has_default;
    const struct opt_int *integer = at;
    const struct opt_number *number = at;
    if (field->kind == ARG_INTEGER)
        check_number(field, is_plain || integer->set, (double)(is_plain ? *(const int64_t *)at : integer->value));
    else
        check_number(field, is_plain || number->set, is_plain ? *(const double *)at : number->value);
}

static void check_field(const struct arg_field *field, const void *at)
{
    switch (field->kind) {
    case ARG_TEXT:
        if (!field->nullable)
            check_text(field, *(const char *const *)at, field->max_size);
        else if (((const struct opt_text *)at)->value != NULL)
            check_text(field, ((const struct opt_text *)at)->value, field->max_size);
        break;
    case ARG_ID:
        require(*(const int64_t *)at != 0 || !field->required);
        break;
    case ARG_INTEGER:
    case ARG_NUMBER:
        check_scalar(field, at);
        break;
    case ARG_BOOLEAN:
    case ARG_TIME:
        break;
    case ARG_ENUM:
        require(*(const int *)at >= (field->required ? 1 : 0) && *(const int *)at <= (int)count_names(field));
        break;
    case ARG_TOKENS:
        require(*(const uint32_t *)at < UINT64_C(1) << count_names(field));
        break;
    case ARG_TEXT_LIST:
        check_texts(field, at);
        break;
    case ARG_OBJECT:
        require(*(const char *const *)at != NULL || !field->required);
        if (*(const char *const *)at != NULL)
            check_object(field->object, *(const char *const *)at);
        break;
    case ARG_OBJECT_LIST:
        check_objects(field, at);
        break;
    case ARG_JSON:
        check_json(field, *(const json_t *const *)at);
        break;
    }
}

static void check_object(const struct arg_shape *shape, const char *args)
{
    for (size_t i = 0; i < shape->count; i++)
        check_field(&shape->fields[i], args + shape->fields[i].offset);
}

/* ---- One call ---- */

static bool is_path_parameter(const struct arg_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].place == ARG_IN_PATH && strcmp(shape->fields[i].name, name) == 0)
            return true;
    return false;
}

/* A pair whose name is a parameter of the path is one of the path. */
static void place_pairs(struct arena *arena, const struct arg_shape *shape, struct name_value_list pairs, struct call_input *input)
{
    struct name_value *path = arena_array(arena, pairs.count, sizeof(*path));
    struct name_value *query = arena_array(arena, pairs.count, sizeof(*query));
    input->path.items = path;
    input->query.items = query;
    for (size_t i = 0; i < pairs.count; i++) {
        if (is_path_parameter(shape, pairs.items[i].name))
            path[input->path.count++] = pairs.items[i];
        else
            query[input->query.count++] = pairs.items[i];
    }
}

/* Takes the bytes before the next line end, or all. */
static const char *take_line(struct arena *arena, const char **at, const char *end)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    const char *line = arena_dup_bytes(arena, *at, (size_t)((stop != NULL ? stop : end) - *at));
    *at = stop != NULL ? stop + 1 : end;
    return line;
}

static bool read_input(struct arena *arena, const struct arg_shape *shape, const char *at, const char *end,
                       struct call_input *input, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = TEXT_MAX_BYTES, .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    struct name_value_list pairs = { NULL, 0 };
    const char *query = take_line(arena, &at, end);
    if (!input->flat && !query_read(arena, query, &pairs, err))
        return false;
    place_pairs(arena, shape, pairs, input);
    return at == end || json_read(arena, at, (size_t)(end - at), bounds, &input->body, err);
}

static void decode_call(struct arena *arena, const struct operation *op, struct call_input *input, const char *at, const char *end)
{
    struct error err = { .code = ERR_NONE };
    struct error again = { .code = ERR_NONE };
    if (!read_input(arena, op->args, at, end, input, &err)) {
        check_error(&err);
        return;
    }
    char *args = arena_alloc(arena, op->args->size);
    (void)decode_when_holds(&op->when, input);
    bool ok = decode_arguments(arena, &ids, op->args, input, args, &err);
    require(decode_arguments(arena, &ids, op->args, input, arena_alloc(arena, op->args->size), &again) == ok);
    if (ok)
        check_object(op->args, args);
    else
        check_error(&err);
    require(strcmp(err.param, again.param) == 0 && strcmp(err.message, again.message) == 0);
}

static const struct operation *operation_of(const char *id)
{
    size_t sum = 0;
    for (size_t i = 0; i < operation_count; i++)
        if (strcmp(operations[i].id, id) == 0)
            return &operations[i];
    for (; *id != '\0'; id++)
        sum = sum * 31 + (unsigned char)*id;
    return &operations[sum % operation_count];
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    struct call_input input = { .flat = data[0] == 'f' };
    const char *at = (const char *)data + 1;
    const char *end = (const char *)data + size;
    const struct operation *op = operation_of(take_line(arena, &at, end));
    if (op->args != NULL)
        decode_call(arena, op, &input, at, end);
    return 0;
}
