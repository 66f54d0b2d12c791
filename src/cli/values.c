#include "cli/values.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_input_file(int *file)
{
    if (*file > STDERR_FILENO)
        close(*file);
}

static bool read_whole(struct value_source *source, const char *flag, int file, const char *name, const char **ret_text,
                       struct error *err)
{
    struct buf *text = buf_in_arena(source->arena, source->max_bytes);
    char chunk[16384];
    ssize_t size = 0;
    while (!text->overflowed && (size = read(file, chunk, sizeof(chunk))) > 0)
        buf_add(text, chunk, (size_t)size);
    if (!text->overflowed && size < 0)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %.200s cannot be read: %s.", flag, name, strerror(errno));
    if (text->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %.200s is larger than %zu bytes.", flag, name, source->max_bytes);
    if (!utf8_is_valid(buf_text(text), text->size))
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %.200s is not UTF-8 text.", flag, name);
    *ret_text = buf_text(text);
    return true;
}

bool value_text(struct value_source *source, const char *flag, const char *given, const char **ret_text, struct error *err)
{
    *ret_text = given;
    if (strcmp(given, "-") == 0) {
        if (source->took_input)
            return fail(err, ERR_INVALID_REQUEST, NULL, "%s: standard input was read already.", flag);
        source->took_input = true;
        return read_whole(source, flag, STDIN_FILENO, "standard input", ret_text, err);
    }
    if (given[0] != '@') {
        return utf8_is_valid(given, strlen(given)) || fail(err, ERR_INVALID_REQUEST, NULL, "%s: this is not UTF-8 text.", flag);
    }
    *ret_text = given + 1;
    if (given[1] == '@')
        return true;
    CLEANUP(close_input_file) int file = open(given + 1, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %.200s cannot be opened: %s.", flag, given + 1, strerror(errno));
    return read_whole(source, flag, file, given + 1, ret_text, err);
}

bool value_json(struct value_source *source, const char *flag, const char *given, const json_t **ret_json, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = source->max_bytes };
    const char *text;
    if (!value_text(source, flag, given, &text, err))
        return false;
    if (json_read(source->arena, text, strlen(text), bounds, ret_json, err))
        return true;
    char reason[ERROR_MESSAGE_MAX_BYTES];
    memcpy(reason, err->message, sizeof(reason));
    error_clear(err);
    return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %.400s", flag, reason);
}

/* ---- By kind ---- */

static bool make_number(const struct arg_field *field, const char *flag, const char *given, json_t **ret_json, struct error *err)
{
    int64_t whole;
    if (int64_parse(given, &whole)) {
        *ret_json = json_integer(whole);
        return true;
    }
    if (field->kind == ARG_INTEGER)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s takes a whole number, not %.60s.", flag, given);
    char *end;
    double number = strtod(given, &end);
    bool is_plain = end != given && *end == '\0' && strspn(given, "0123456789+-.eE") == strlen(given) && isfinite(number);
    if (!is_plain)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s takes a number, not %.60s.", flag, given);
    *ret_json = json_real(number);
    return true;
}

static bool make_boolean(const char *flag, const char *given, json_t **ret_json, struct error *err)
{
    bool is_true = strcmp(given, "true") == 0;
    if (!is_true && strcmp(given, "false") != 0)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s must be true or false.", flag);
    *ret_json = json_boolean(is_true);
    return true;
}

static bool is_value(const struct arg_field *field, const char *word, size_t size)
{
    for (const char *const *value = field->enum_values; *value != NULL; value++)
        if (strlen(*value) == size && memcmp(*value, word, size) == 0)
            return true;
    return false;
}

static bool check_word(struct arena *arena, const struct arg_field *field, const char *flag, const char *word, size_t size,
                       struct error *err)
{
    if (is_value(field, word, size))
        return true;
    const char *list = "";
    for (const char *const *value = field->enum_values; *value != NULL; value++)
        list = arena_printf(arena, "%s%s%s", list, *list != '\0' ? ", " : "", *value);
    return fail(err, ERR_INVALID_REQUEST, NULL, "%s takes %s, not %.*s.", flag, list, size < 60 ? (int)size : 60, word);
}

static bool make_tokens(struct arena *arena, const struct arg_field *field, const char *flag, const char *given,
                        const json_t *earlier, json_t **ret_json, struct error *err)
{
    for (const char *word = given;; word++) {
        size_t size = strcspn(word, ",");
        if (!check_word(arena, field, flag, word, size, err))
            return false;
        word += size;
        if (*word == '\0')
            break;
    }
    const char *before = json_string_value(earlier);
    *ret_json = json_string(before != NULL ? arena_printf(arena, "%s,%s", before, given) : given);
    return true;
}

/* A list as JSON, or texts separated by commas. */
static bool make_list(struct value_source *source, const char *flag, const char *given, json_t *earlier, json_t **ret_json,
                      struct error *err)
{
    const char *text;
    const json_t *list = NULL;
    if (!value_text(source, flag, given, &text, err))
        return false;
    bool is_json = text[strspn(text, " \t\r\n")] == '[';
    struct json_bounds bounds = { .max_bytes = source->max_bytes };
    if (is_json && !json_read(source->arena, text, strlen(text), bounds, &list, err))
        return false;
    *ret_json = earlier != NULL ? json_incref(earlier) : json_array();
    if (is_json)
        return json_array_extend(*ret_json, json_for_iteration(list)) == 0;
    while (*text != '\0') {
        size_t size = strcspn(text, ",\r\n");
        const char *item = text_trim(source->arena, arena_dup_bytes(source->arena, text, size));
        if (*item != '\0')
            json_array_append_new(*ret_json, json_string(item));
        text += size + (text[size] != '\0');
    }
    return true;
}

bool value_make(struct value_source *source, const struct arg_field *field, const char *flag, const char *given, json_t *earlier,
                json_t **ret_json, struct error *err)
{
    const json_t *json;
    const char *text = given;
    *ret_json = NULL;
    switch (field->kind) {
    case ARG_TEXT:
        if (!value_text(source, flag, given, &text, err))
            return false;
        *ret_json = json_string(text);
        return true;
    case ARG_ENUM:
        if (!check_word(source->arena, field, flag, given, strlen(given), err))
            return false;
        *ret_json = json_string(given);
        return true;
    case ARG_ID:
    case ARG_TIME:
        *ret_json = json_string(given);
        return *ret_json != NULL || fail(err, ERR_INVALID_REQUEST, NULL, "%s: this is not UTF-8 text.", flag);
    case ARG_TOKENS:
        return make_tokens(source->arena, field, flag, given, earlier, ret_json, err);
    case ARG_INTEGER:
    case ARG_NUMBER:
        return make_number(field, flag, given, ret_json, err);
    case ARG_BOOLEAN:
        return make_boolean(flag, given, ret_json, err);
    case ARG_TEXT_LIST:
        return make_list(source, flag, given, earlier, ret_json, err);
    case ARG_OBJECT:
    case ARG_OBJECT_LIST:
    case ARG_JSON:
        if (!value_json(source, flag, given, &json, err))
            return false;
        *ret_json = json_deep_copy(json);
        return true;
    }
    return false;
}
