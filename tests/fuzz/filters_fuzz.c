/*
 * Fuzzes filters of contacts: reading and compiling without the database, with
 * one custom field of each type. The first byte chooses the logic of a bare
 * array, the rest is JSON. Besides not crashing: the SQL consists of the words
 * and marks of the source, so nothing of the caller is in it; its brackets and
 * quotes are balanced; it names every parameter; equal values share one; and
 * compiling again gives the same.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/filters/filter_tree.h"
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 32 * 1024, WORD_MAX_CHARS = 32 };

static void check_error(const struct error *err)
{
    require(err->code == ERR_INVALID_REQUEST || err->code == ERR_PAYLOAD_TOO_LARGE);
    require(err->message[0] != '\0' && utf8_is_valid(err->message, strlen(err->message)));
    require(utf8_is_valid(err->param, strlen(err->param)));
}

/* ---- The SQL ---- */

/* Every word that the fragments of the compiler have, outside of quotes and inside. */
static const char *const words[] = {
    "a",       "activity",   "and",           "any",        "at",
    "b",       "between",    "bigint",        "brand_id",   "brands",
    "by",      "c",          "case",          "collate",    "contact_activity",
    "count",   "created_at", "custom_fields", "d",          "date",
    "day",     "else",       "email_key",     "end",        "event_type",
    "exists",  "false",      "first_name",    "from",       "group",
    "having",  "id",         "int",           "is",         "last_name",
    "length",  "like",       "lower",         "not",        "null",
    "or",      "select",     "source",        "subscribed", "subscription_groups",
    "sum",     "then",       "time",          "time_zone",  "timestamp",
    "to_char", "true",       "updated_at",    "user_id",    "when",
    "where",   "zone",
};
static const char *const quoted[] = {
    "''", "'UTC'", "'YYYY-MM-DD'", "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'", "\"C\"", "\"und-x-icu\"",
};

static bool is_one_of(const char *text, size_t size, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == size && memcmp(list[i], text, size) == 0)
            return true;
    return false;
}

/* The end of the word, number, parameter or quoted text at `at`, or of one mark. */
static const char *check_piece(const char *at, bool *is_named, size_t param_count)
{
    if (*at == '\'' || *at == '"') {
        const char *end = strchr(at + 1, *at);
        require(end != NULL && is_one_of(at, (size_t)(end + 1 - at), quoted, ARRAY_COUNT(quoted)));
        return end + 1;
    }
    if (*at == '$') {
        char *end;
        unsigned long number = strtoul(at + 1, &end, 10);
        require(end > at + 1 && number >= 1 && number <= param_count);
        is_named[number - 1] = true;
        return end;
    }
    size_t size = 0;
    while (isalpha((unsigned char)at[size]) || at[size] == '_')
        size++;
    require(size == 0 || is_one_of(at, size, words, ARRAY_COUNT(words)));
    return at + (size > 0 ? size : 1);
}

static void check_sql(struct arena *arena, const struct search_sql *sql)
{
    bool *is_named = arena_array(arena, sql->count, sizeof(*is_named));
    size_t open = 0;
    for (const char *at = buf_text(sql->text); *at != '\0';) {
        open += *at == '(';
        require(*at != ')' || open-- > 0);
        require(strchr(" ()$.,:<>=-+\"'", *at) != NULL || isalnum((unsigned char)*at) || *at == '_');
        at = check_piece(at, is_named, sql->count);
    }
    require(open == 0);
    for (size_t i = 0; i < sql->count; i++)
        require(is_named[i]);
}

/* ---- The parameters ---- */

static void check_json_number(struct arena *arena, const char *text)
{
    const json_t *json;
    struct error err = { .code = ERR_NONE };
    require(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = strlen(text) }, &json, &err));
    require(json_is_number(json));
}

static void check_texts(struct arena *arena, enum db_type type, struct text_list texts)
{
    for (size_t i = 0; i < texts.count; i++) {
        require(texts.items[i] != NULL && utf8_is_valid(texts.items[i], strlen(texts.items[i])));
        if (type == DB_JSONB || type == DB_JSONB_ARRAY)
            check_json_number(arena, texts.items[i]);
    }
}

static void check_params(struct arena *arena, const struct search_sql *sql)
{
    for (size_t i = 0; i < sql->count; i++) {
        enum db_type type = sql->fields[i].type;
        const union search_value *value = &sql->values[i];
        require(sql->fields[i].offset == i * sizeof(*value));
        if (type == DB_TEXT || type == DB_JSONB)
            check_texts(arena, type, (struct text_list){ &value->text, 1 });
        else if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY)
            check_texts(arena, type, value->list);
        for (size_t j = 0; j < i && type == DB_TEXT; j++)
            require(sql->fields[j].type != DB_TEXT || strcmp(sql->values[j].text, value->text) != 0);
    }
}

/* ---- One filter ---- */

static struct filter_scope make_scope(const struct work *work)
{
    json_t *types = json_in_arena(work->arena, json_object());
    json_object_set_new(types, "word", json_integer(FIELD_STRING));
    json_object_set_new(types, "size", json_integer(FIELD_NUMBER));
    json_object_set_new(types, "born", json_integer(FIELD_DATE));
    json_object_set_new(types, "flag", json_integer(FIELD_BOOL));
    return (struct filter_scope){ .work = work, .field_types = types };
}

static void compile(const struct work *work, const struct filter *filter)
{
    struct filter_scope scope = make_scope(work);
    struct search_sql sql;
    struct search_sql again;
    struct error err = { .code = ERR_NONE };
    search_sql_init(&sql, work->arena);
    search_sql_init(&again, work->arena);
    bool ok = filter_compile(filter, &scope, &sql, &err) && search_sql_fits(&sql, "filters", &err);
    if (!ok) {
        check_error(&err);
        require(strncmp(err.param, "filters", strlen("filters")) == 0);
        return;
    }
    require(sql.conditions <= FILTER_MAX_COMPILED && sql.count <= DB_MAX_PARAMS);
    check_sql(work->arena, &sql);
    check_params(work->arena, &sql);
    require(filter_compile(filter, &scope, &again, &err));
    require(strcmp(buf_text(sql.text), buf_text(again.text)) == 0 && sql.count == again.count);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct engine engine = { .ids = { .key = "fuzzed filters.." } };
    static const char *const logics[] = { NULL, "and", "or", "xor" };
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = { .engine = &engine, .arena = arena, .brand_id = 7, .now_us = 1795253400 * US_PER_S };
    struct json_bounds bounds = { .max_bytes = TEXT_MAX_BYTES };
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    const struct filter *filter;
    if (!json_read(arena, (const char *)data + 1, size - 1, bounds, &json, &err) ||
        !filter_read(&work, json, "filters", logics[data[0] % ARRAY_COUNT(logics)], &filter, &err))
        check_error(&err);
    else
        compile(&work, filter);
    return 0;
}
