/*
 * SQL generator: turns the .sql files of the service into typed C functions
 * over prepared statements.
 *
 *     posthorn-sql OUT_DIR FILE.sql …
 *
 * A file holds named queries. The comment above a query is its description:
 *
 *     -- One contact by its merge key.
 *     -- name: contact_by_email :one
 *     -- params: brand_id bigint, email_key text
 *     -- columns: id bigint, first_name text null
 *     select id, first_name from contacts where brand_id = :brand_id and email_key = :email_key;
 *
 * `:one` returns one row or none, `:many` returns rows, `:page` returns rows up
 * to a bound of bytes and whether that cut them, `:exec` returns the number of
 * changed rows. With `-- row: contact`, queries of one file with the
 * same columns share struct contact_row. The output is OUT_DIR/sql/<stem>.h and
 * .c for each file, and OUT_DIR/sql/all_statements.h and .c for the drift test.
 * One call takes all files, because names must be unique among them.
 */
#include "sql_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_FILES = 128,
    MAX_INPUT_BYTES = 64 * 1024 * 1024, /* of the read queries; each has room for the most parameters and columns */
    MAX_OUTPUT_BYTES = 32 * 1024 * 1024,
};

static void check_unique_pair(const struct sql_query *query, const struct sql_query *earlier, bool same_file)
{
    if (strcmp(query->name, earlier->name) == 0)
        generator_fail(query->path, query->line, "the name %s is already used by %s:%d", query->name, earlier->path, earlier->line);
    bool both_have_rows = query->kind != SQL_EXEC && earlier->kind != SQL_EXEC;
    if (both_have_rows && !same_file && strcmp(query->row, earlier->row) == 0)
        generator_fail(query->path, query->line,
                       "the row %s is already declared by %s:%d; only queries of one file may share a row", query->row,
                       earlier->path, earlier->line);
}

static void check_unique_names(struct sql_file *const files[], size_t count)
{
    for (size_t f = 0; f < count; f++) {
        for (size_t i = 0; i < files[f]->count; i++) {
            for (size_t g = 0; g <= f; g++) {
                size_t end = g == f ? i : files[g]->count;
                for (size_t k = 0; k < end; k++)
                    check_unique_pair(files[f]->queries[i], files[g]->queries[k], f == g);
            }
        }
        for (size_t g = 0; g < f; g++) {
            if (strcmp(files[f]->stem, files[g]->stem) == 0)
                generator_fail(files[f]->path, 0, "has the same name as %s", files[g]->path);
        }
    }
}

static void write_output(struct arena *arena, const char *out_dir, const char *stem, const char *extension, struct buf *content)
{
    generator_write_file(arena_printf(arena, "%s/sql/%s%s", out_dir, stem, extension), content);
    buf_clear(content);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc - 2 > MAX_FILES) {
        fprintf(stderr, "usage: %s OUT_DIR FILE.sql …\n", argv[0]);
        return 2;
    }
    ARENA_SCOPE arena = arena_new(MAX_INPUT_BYTES);
    const char *out_dir = argv[1];
    size_t count = (size_t)argc - 2;
    struct sql_file *files[MAX_FILES];
    for (size_t f = 0; f < count; f++)
        files[f] = sql_read(arena, argv[2 + f]);
    check_unique_names(files, count);

    const char *folder = arena_printf(arena, "%s/sql", out_dir);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        generator_fail(folder, 0, "cannot be created");
    BUF_SCOPE out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    for (size_t f = 0; f < count; f++) {
        sql_emit_header(&out, files[f]);
        write_output(arena, out_dir, files[f]->stem, ".h", &out);
        sql_emit_source(&out, files[f]);
        write_output(arena, out_dir, files[f]->stem, ".c", &out);
    }
    sql_emit_all_header(&out);
    write_output(arena, out_dir, "all_statements", ".h", &out);
    sql_emit_all_source(&out, files, count);
    write_output(arena, out_dir, "all_statements", ".c", &out);
    return 0;
}
