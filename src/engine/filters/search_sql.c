#include "engine/filters/search_sql.h"

#include "base/text.h"

#include <string.h>

enum { SQL_MAX_BYTES = 512 * 1024, FIRST_CAPACITY = 16 };

void search_sql_init(struct search_sql *sql, struct arena *arena)
{
    *sql = (struct search_sql){
        .arena = arena,
        .text = buf_in_arena(arena, SQL_MAX_BYTES),
    };
}

void search_sql_add(struct search_sql *sql, const char *fragment)
{
    buf_add_text(sql->text, fragment);
}

static bool is_same_value(enum db_type type, const union search_value *left, const union search_value *right)
{
    if (type == DB_TEXT || type == DB_JSONB)
        return strcmp(left->text, right->text) == 0;
    if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY)
        return left->list.items == right->list.items;
    return type == DB_BOOLEAN ? left->boolean == right->boolean : left->number == right->number;
}

static void grow(struct search_sql *sql)
{
    size_t capacity = sql->capacity > 0 ? 2 * sql->capacity : FIRST_CAPACITY;
    struct db_field *fields = arena_array(sql->arena, capacity, sizeof(*fields));
    union search_value *values = arena_array(sql->arena, capacity, sizeof(*values));
    if (sql->count > 0) {
        memcpy(fields, sql->fields, sql->count * sizeof(*fields));
        memcpy(values, sql->values, sql->count * sizeof(*values));
    }
    sql->fields = fields;
    sql->values = values;
    sql->capacity = capacity;
}

static void add_param(struct search_sql *sql, enum db_type type, union search_value value)
{
    size_t at = 0;
    while (at < sql->count && !(sql->fields[at].type == type && is_same_value(type, &sql->values[at], &value)))
        at++;
    if (at == DB_MAX_PARAMS) {
        sql->lacks_params = true;
        return;
    }
    if (at == sql->capacity)
        grow(sql);
    if (at == sql->count) {
        sql->values[at] = value;
        sql->fields[at] = (struct db_field){ .name = "value", .type = type, .offset = at * sizeof(value) };
        sql->count++;
    }
    buf_printf(sql->text, "$%zu", at + 1);
}

void search_sql_number(struct search_sql *sql, int64_t value)
{
    add_param(sql, DB_BIGINT, (union search_value){ .number = value });
}

void search_sql_time(struct search_sql *sql, int64_t time_us)
{
    add_param(sql, DB_TIMESTAMPTZ, (union search_value){ .number = time_us });
}

void search_sql_boolean(struct search_sql *sql, bool value)
{
    add_param(sql, DB_BOOLEAN, (union search_value){ .boolean = value });
}

void search_sql_text(struct search_sql *sql, const char *value)
{
    add_param(sql, DB_TEXT, (union search_value){ .text = value });
}

void search_sql_jsonb(struct search_sql *sql, const char *value)
{
    add_param(sql, DB_JSONB, (union search_value){ .text = value });
}

void search_sql_texts(struct search_sql *sql, struct text_list values)
{
    add_param(sql, DB_TEXT_ARRAY, (union search_value){ .list = values });
}

void search_sql_jsonbs(struct search_sql *sql, struct text_list values)
{
    add_param(sql, DB_JSONB_ARRAY, (union search_value){ .list = values });
}

bool search_sql_fits(const struct search_sql *sql, const char *param, struct error *err)
{
    if (sql->lacks_params)
        return fail(err, ERR_INVALID_REQUEST, param,
                    "These conditions have too many values, including those of their audiences; a search can have %d. Use fewer.",
                    DB_MAX_PARAMS);
    return !sql->text->overflowed || fail(err, ERR_INVALID_REQUEST, param, "These conditions are too large. Use fewer.");
}

/* ---- Case-insensitive texts ---- */

struct search_fold search_fold_for(struct text_list parts)
{
    for (size_t i = 0; i < parts.count; i++)
        if (!text_is_ascii(parts.items[i]))
            return (struct search_fold){ "lower(", " collate \"und-x-icu\")" };
    return (struct search_fold){ "lower(", ")" };
}

static const char *like_pattern(struct arena *arena, const char *text, bool any_before, bool any_after)
{
    const char *lowered = text_lower_unicode(arena, text);
    char *pattern = arena_alloc(arena, 2 * strlen(lowered) + 3);
    size_t size = 0;
    if (any_before)
        pattern[size++] = '%';
    for (const char *at = lowered; *at != '\0'; at++) {
        if (*at == '%' || *at == '_' || *at == '\\')
            pattern[size++] = '\\';
        pattern[size++] = *at;
    }
    if (any_after)
        pattern[size++] = '%';
    return pattern;
}

void search_sql_patterns(struct search_sql *sql, struct text_list parts, bool any_before, bool any_after)
{
    const char **patterns = arena_array(sql->arena, parts.count, sizeof(*patterns));
    for (size_t i = 0; i < parts.count; i++)
        patterns[i] = like_pattern(sql->arena, parts.items[i], any_before, any_after);
    search_sql_texts(sql, (struct text_list){ patterns, parts.count });
}

/* ---- Running ---- */

bool search_sql_run(const struct search_sql *sql, struct db_conn *conn, const struct db_statement *shape, struct db_rows *ret_rows,
                    struct error *err)
{
    struct db_statement statement = *shape;
    statement.name = "";
    statement.sql = buf_text(sql->text);
    statement.params = sql->fields;
    statement.param_count = sql->count;
    return search_sql_fits(sql, "filters", err) && db_run(conn, sql->arena, &statement, sql->values, ret_rows, err);
}
