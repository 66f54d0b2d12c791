/*
 * Model of the SQL generator: the named queries of a .sql file with their
 * parameters, columns and text. Everything lives in one arena until the program
 * ends. An error in a source file ends the program with file, line and reason,
 * which is enough for a build step. Single-threaded.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>

enum {
    SQL_MAX_FIELDS = 128,
    SQL_MAX_QUERIES = 512,
    SQL_MAX_FILE_BYTES = 1024 * 1024,
    /* PostgreSQL truncates names of prepared statements at NAMEDATALEN - 1 = 63 bytes. */
    SQL_MAX_NAME_BYTES = 60,
};

struct sql_type {
    const char *sql_name;
    const char *enum_name;
    const char *c_type;
    const char *c_type_nullable;
};

struct sql_field {
    const char *name;
    const struct sql_type *type;
    bool nullable;
};

struct sql_field_list {
    struct sql_field items[SQL_MAX_FIELDS];
    size_t count;
};

enum sql_kind { SQL_ONE, SQL_MANY, SQL_PAGE, SQL_EXEC };

struct sql_query {
    const char *path;
    int line;
    const char *name;
    enum sql_kind kind;
    const char *row;     /* the row struct is struct <row>_row */
    bool row_is_shared;  /* an earlier query declared the same row */
    const char *comment; /* the paragraph above the query, lines */
    struct sql_field_list params;
    struct sql_field_list columns;
    const char *text; /* with $1 … $n */
};

struct sql_file {
    const char *path;
    const char *stem; /* contacts of src/engine/contacts/contacts.sql */
    struct sql_query *queries[SQL_MAX_QUERIES];
    size_t count;
};

/* Reads and checks one .sql file. */
struct sql_file *sql_read(struct arena *arena, const char *path) NONNULL(1, 2) RETURNS_NONNULL;

/* Writes the header and the source of one file's queries. */
void sql_emit_header(struct buf *out, const struct sql_file *file) NONNULL(1, 2);
void sql_emit_source(struct buf *out, const struct sql_file *file) NONNULL(1, 2);

/* Writes the list of all statements for the drift test. */
void sql_emit_all_header(struct buf *out) NONNULL(1);
void sql_emit_all_source(struct buf *out, struct sql_file *const files[], size_t count) NONNULL(1, 2);

/* Ends the program with "path:line: reason"; line 0 is omitted. */
NORETURN void generator_fail(const char *path, int line, const char *format, ...) NONNULL(1, 3) PRINTF_LIKE(3, 4);

/* Reads a whole text file. */
char *generator_read_file(struct arena *arena, const char *path, size_t max_bytes) NONNULL(1, 2) RETURNS_NONNULL;

/* Writes a file unless it already has this content, so that unchanged files are not compiled again. */
void generator_write_file(const char *path, const struct buf *content) NONNULL(1, 2);

/* Writes `text` as C string literals, one per line. */
void generator_emit_literal(struct buf *out, const char *text, const char *indent) NONNULL(1, 2, 3);
