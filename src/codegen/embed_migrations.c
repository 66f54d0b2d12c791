/*
 * Embeds the database migrations as C strings:
 *
 *     posthorn-embed-migrations OUT_DIR src/db/migrations/0001_first.sql …
 *
 * writes OUT_DIR/sql/migrations.c, which defines db_migrations of db/migrate.h.
 * The files are numbered from 0001 without a gap.
 */
#include "sql_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_MIGRATION_BYTES = 1024 * 1024, MAX_OUTPUT_BYTES = 32 * 1024 * 1024 };

static int compare_paths(const void *left, const void *right)
{
    const char *const *left_path = left;
    const char *const *right_path = right;
    const char *left_slash = strrchr(*left_path, '/');
    const char *right_slash = strrchr(*right_path, '/');
    return strcmp(left_slash != NULL ? left_slash : *left_path, right_slash != NULL ? right_slash : *right_path);
}

/* The title of a migration: "first" of 0001_first.sql. */
static const char *checked_title(struct arena *arena, const char *path, int number)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *prefix = arena_printf(arena, "%04d_", number);
    size_t size = strlen(base);
    if (strncmp(base, prefix, strlen(prefix)) != 0 || size < 10 || strcmp(base + size - 4, ".sql") != 0)
        generator_fail(path, 0, "must be named %sTITLE.sql: migrations are numbered without a gap", prefix);
    const char *title = arena_dup_bytes(arena, base + 5, size - 9);
    if (strspn(title, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(title))
        generator_fail(path, 0, "must have a title of lower-case letters, digits and underscores");
    return title;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s OUT_DIR NNNN_TITLE.sql …\n", argv[0]);
        return 2;
    }
    ARENA_SCOPE arena = arena_new(0);
    qsort(argv + 2, (size_t)argc - 2, sizeof(*argv), compare_paths);

    BUF_SCOPE out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    buf_add_text(&out, "/* Generated from src/db/migrations by src/codegen/embed_migrations.c. */\n"
                       "#include \"db/migrate.h\"\n"
                       "\n"
                       "const struct db_migration db_migrations[] = {\n");
    for (int i = 2; i < argc; i++) {
        int number = i - 1;
        buf_printf(&out, "    {\n        .number = %d,\n        .title = \"%s\",\n        .sql =", number,
                   checked_title(arena, argv[i], number));
        generator_emit_literal(&out, generator_read_file(arena, argv[i], MAX_MIGRATION_BYTES), "            ");
        buf_add_text(&out, ",\n    },\n");
    }
    buf_add_text(&out, "};\n"
                       "const size_t db_migration_count = ARRAY_COUNT(db_migrations);\n");

    const char *folder = arena_printf(arena, "%s/sql", argv[1]);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        generator_fail(folder, 0, "cannot be created");
    generator_write_file(arena_printf(arena, "%s/migrations.c", folder), &out);
    return 0;
}
