#include "engine/contacts/search_sql.h"

#include <stdlib.h>

enum { SQL_MAX_BYTES = 64 * 1024 };

void search_sql_init(struct search_sql *sql, struct arena *arena)
{
    *sql = (struct search_sql){ .arena = arena, .text = buf_in_arena(arena, SQL_MAX_BYTES) };
}

void search_sql_add(struct search_sql *sql, const char *fragment)
{
    buf_add_text(sql->text, fragment);
}

static void add_param(struct search_sql *sql, enum db_type type, union search_value value)
{
    if (sql->count == DB_MAX_PARAMS)
        abort();
    sql->values[sql->count] = value;
    sql->fields[sql->count] = (struct db_field){ .name = "value", .type = type, .offset = sql->count * sizeof(value) };
    sql->count++;
    buf_printf(sql->text, "$%zu", sql->count);
}

void search_sql_number(struct search_sql *sql, int64_t value)
{
    add_param(sql, DB_BIGINT, (union search_value){ .number = value });
}

void search_sql_time(struct search_sql *sql, int64_t time_us)
{
    add_param(sql, DB_TIMESTAMPTZ, (union search_value){ .number = time_us });
}

void search_sql_truth(struct search_sql *sql, bool value)
{
    add_param(sql, DB_BOOLEAN, (union search_value){ .truth = value });
}

void search_sql_text(struct search_sql *sql, const char *value)
{
    add_param(sql, DB_TEXT, (union search_value){ .text = value });
}

void search_sql_jsonb(struct search_sql *sql, const char *value)
{
    add_param(sql, DB_JSONB, (union search_value){ .text = value });
}
