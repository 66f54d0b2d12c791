#include "sql_model.h"

#include <stdio.h>
#include <string.h>

static void emit_struct(struct buf *out, const char *name, const char *suffix, const struct sql_field_list *fields)
{
    buf_printf(out, "struct %s_%s {\n", name, suffix);
    for (size_t i = 0; i < fields->count; i++) {
        const struct sql_field *field = &fields->items[i];
        buf_printf(out, "    %s%s;", field->nullable ? field->type->c_type_nullable : field->type->c_type, field->name);
        if (strcmp(field->type->enum_name, "DB_TIMESTAMPTZ") == 0)
            buf_add_text(out, " /* microseconds since the epoch */");
        buf_add_char(out, '\n');
    }
    buf_add_text(out, "};\n");
}

static void emit_comment(struct buf *out, const char *comment)
{
    buf_add_text(out, "/* ");
    for (const char *at = comment; *at != '\0'; at++) {
        buf_add_char(out, *at);
        if (*at == '\n')
            buf_add_text(out, " * ");
    }
    buf_add_text(out, " */\n");
}

static void emit_signature(struct buf *out, const struct sql_query *query)
{
    buf_printf(out, "bool sql_%s(struct db_conn *conn, struct arena *arena, ", query->name);
    if (query->params.count > 0)
        buf_printf(out, "const struct %s_params *params, ", query->name);
    switch (query->kind) {
    case SQL_ONE:
        buf_printf(out, "struct %s_row **ret_row, ", query->row);
        break;
    case SQL_MANY:
        buf_printf(out, "struct %s_row **ret_rows, size_t *ret_count, ", query->row);
        break;
    case SQL_PAGE:
        buf_printf(out, "struct %s_row **ret_rows, struct db_page *ret_page, ", query->row);
        break;
    case SQL_EXEC:
        buf_add_text(out, "int64_t *ret_affected, ");
        break;
    }
    buf_add_text(out, "struct error *err)");
}

/* The caller must give every pointer except ret_affected. */
static void emit_nonnull(struct buf *out, const struct sql_query *query)
{
    unsigned next = 3;
    buf_add_text(out, "\n    NONNULL(1, 2");
    if (query->params.count > 0)
        buf_printf(out, ", %u", next++);
    if (query->kind == SQL_EXEC)
        next++;
    else
        buf_printf(out, ", %u", next++);
    if (query->kind == SQL_MANY || query->kind == SQL_PAGE)
        buf_printf(out, ", %u", next++);
    buf_printf(out, ", %u);\n", next);
}

void sql_emit_header(struct buf *out, const struct sql_file *file)
{
    buf_printf(out,
               "/* Generated from %s.sql by src/codegen/sql.c. */\n"
               "#pragma once\n"
               "\n"
               "#include \"db/db.h\"\n",
               file->stem);
    for (size_t i = 0; i < file->count; i++) {
        const struct sql_query *query = file->queries[i];
        buf_add_char(out, '\n');
        if (query->params.count > 0)
            emit_struct(out, query->name, "params", &query->params);
        if (query->columns.count > 0 && !query->row_is_shared)
            emit_struct(out, query->row, "row", &query->columns);
        buf_printf(out, "extern const struct db_statement %s_statement;\n", query->name);
        emit_comment(out, query->comment);
        buf_add_text(out, "MUST_CHECK ");
        emit_signature(out, query);
        emit_nonnull(out, query);
    }
}

static void emit_fields(struct buf *out, const char *table, const char *struct_name, const char *suffix,
                        const struct sql_field_list *fields)
{
    if (fields->count == 0)
        return;
    buf_printf(out, "static const struct db_field %s[] = {\n", table);
    for (size_t i = 0; i < fields->count; i++) {
        const struct sql_field *field = &fields->items[i];
        buf_printf(out, "    { \"%s\", %s, %s, offsetof(struct %s_%s, %s) },\n", field->name, field->type->enum_name,
                   field->nullable ? "true" : "false", struct_name, suffix, field->name);
    }
    buf_add_text(out, "};\n");
}

static void emit_statement(struct buf *out, const struct sql_query *query)
{
    static const char *const results[] = {
        [SQL_ONE] = "DB_ONE", [SQL_MANY] = "DB_MANY", [SQL_PAGE] = "DB_PAGE", [SQL_EXEC] = "DB_EXEC"
    };
    buf_printf(out,
               "const struct db_statement %s_statement = {\n"
               "    .name = \"%s\",\n"
               "    .result = %s,\n"
               "    .sql =",
               query->name, query->name, results[query->kind]);
    generator_emit_literal(out, query->text, "        ");
    buf_add_text(out, ",\n");
    if (query->params.count > 0)
        buf_printf(out,
                   "    .params = %s_params,\n"
                   "    .param_count = ARRAY_COUNT(%s_params),\n",
                   query->name, query->name);
    if (query->columns.count > 0)
        buf_printf(out,
                   "    .columns = %s_columns,\n"
                   "    .column_count = ARRAY_COUNT(%s_columns),\n"
                   "    .row_size = sizeof(struct %s_row),\n",
                   query->name, query->name, query->row);
    buf_add_text(out, "};\n");
}

static void emit_function(struct buf *out, const struct sql_query *query)
{
    emit_signature(out, query);
    buf_printf(out,
               "\n{\n"
               "    struct db_rows rows;\n"
               "    if (!db_run(conn, arena, &%s_statement, %s, &rows, err))\n"
               "        return false;\n",
               query->name, query->params.count > 0 ? "params" : "NULL");
    switch (query->kind) {
    case SQL_ONE:
        buf_add_text(out, "    *ret_row = rows.rows;\n");
        break;
    case SQL_MANY:
        buf_add_text(out, "    *ret_rows = rows.rows;\n"
                          "    *ret_count = rows.count;\n");
        break;
    case SQL_PAGE:
        buf_add_text(out, "    *ret_rows = rows.rows;\n"
                          "    *ret_page = (struct db_page){ rows.count, rows.is_cut };\n");
        break;
    case SQL_EXEC:
        buf_add_text(out, "    if (ret_affected != NULL)\n"
                          "        *ret_affected = rows.affected;\n");
        break;
    }
    buf_add_text(out, "    return true;\n}\n");
}

void sql_emit_source(struct buf *out, const struct sql_file *file)
{
    buf_printf(out,
               "/* Generated from %s.sql by src/codegen/sql.c. */\n"
               "#include \"sql/%s.h\"\n",
               file->stem, file->stem);
    for (size_t i = 0; i < file->count; i++) {
        const struct sql_query *query = file->queries[i];
        char table[SQL_MAX_NAME_BYTES + 16];
        buf_add_char(out, '\n');
        snprintf(table, sizeof(table), "%s_params", query->name);
        emit_fields(out, table, query->name, "params", &query->params);
        snprintf(table, sizeof(table), "%s_columns", query->name);
        emit_fields(out, table, query->row, "row", &query->columns);
        emit_statement(out, query);
        buf_add_char(out, '\n');
        emit_function(out, query);
    }
}

void sql_emit_all_header(struct buf *out)
{
    buf_add_text(out, "/* Generated by src/codegen/sql.c: every statement of the program. */\n"
                      "#pragma once\n"
                      "\n"
                      "#include \"db/db.h\"\n"
                      "\n"
                      "extern const struct db_statement *const all_statements[];\n"
                      "extern const size_t all_statement_count;\n");
}

void sql_emit_all_source(struct buf *out, struct sql_file *const files[], size_t count)
{
    buf_add_text(out, "/* Generated by src/codegen/sql.c: every statement of the program. */\n"
                      "#include \"sql/all_statements.h\"\n"
                      "\n");
    for (size_t f = 0; f < count; f++)
        buf_printf(out, "#include \"sql/%s.h\"\n", files[f]->stem);
    buf_add_text(out, "\nconst struct db_statement *const all_statements[] = {\n");
    for (size_t f = 0; f < count; f++) {
        for (size_t i = 0; i < files[f]->count; i++)
            buf_printf(out, "    &%s_statement,\n", files[f]->queries[i]->name);
    }
    buf_add_text(out, "};\n"
                      "const size_t all_statement_count = ARRAY_COUNT(all_statements);\n");
}
