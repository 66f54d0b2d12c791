#include "db/cluster_programs.h"

#include "db/cluster_process.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Debian and its derivatives; Fedora and its derivatives; builds from source. */
static const char *const folder_patterns[] = { "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin" };

/* The first line of a program's output; NULL when it fails. */
static char *first_line(struct arena *arena, const char *program, const char *argument)
{
    const char *const argv[] = { program, argument, NULL };
    char *output;
    if (!process_output(arena, argv, &output))
        return NULL;
    output[strcspn(output, "\n")] = '\0';
    return output;
}

/* "postgres (PostgreSQL) 15.14 (Debian …)" → 15 */
static int major_of(struct arena *arena, const char *postgres)
{
    const char *line = first_line(arena, postgres, "--version");
    const char *number = line != NULL ? strstr(line, "PostgreSQL) ") : NULL;
    return number != NULL ? (int)strtol(number + strlen("PostgreSQL) "), NULL, 10) : 0;
}

/* Reads the programs of one folder. False when it has no server. */
static bool read_bin_dir(struct arena *arena, const char *bin_dir, struct cluster_programs *ret_programs)
{
    struct cluster_programs found = {
        .bin_dir = bin_dir,
        .initdb = arena_printf(arena, "%s/initdb", bin_dir),
        .postgres = arena_printf(arena, "%s/postgres", bin_dir),
    };
    if (access(found.initdb, X_OK) != 0 || access(found.postgres, X_OK) != 0)
        return false;
    found.major = major_of(arena, found.postgres);
    *ret_programs = found;
    return found.major > 0;
}

struct candidates {
    struct cluster_programs items[32];
    size_t count;
};

static void add_candidate(struct arena *arena, const char *bin_dir, struct candidates *candidates)
{
    if (bin_dir == NULL || candidates->count == ARRAY_COUNT(candidates->items))
        return;
    for (size_t i = 0; i < candidates->count; i++) {
        if (strcmp(candidates->items[i].bin_dir, bin_dir) == 0)
            return;
    }
    if (read_bin_dir(arena, bin_dir, &candidates->items[candidates->count]))
        candidates->count++;
}

static void add_installed(struct arena *arena, struct candidates *candidates)
{
    add_candidate(arena, first_line(arena, "pg_config", "--bindir"), candidates);
    for (size_t i = 0; i < ARRAY_COUNT(folder_patterns); i++) {
        glob_t folders;
        if (glob(folder_patterns[i], 0, NULL, &folders) != 0)
            continue;
        for (size_t f = 0; f < folders.gl_pathc; f++)
            add_candidate(arena, arena_dup(arena, folders.gl_pathv[f]), candidates);
        globfree(&folders);
    }
}

static bool choose_programs(const struct candidates *candidates, int major, struct cluster_programs *ret_programs,
                            struct error *err)
{
    const struct cluster_programs *best = NULL;
    for (size_t i = 0; i < candidates->count; i++) {
        const struct cluster_programs *candidate = &candidates->items[i];
        bool fits = major == 0 || candidate->major == major;
        if (fits && (best == NULL || candidate->major > best->major))
            best = candidate;
    }
    if (best == NULL && candidates->count > 0)
        return fail(
            err, ERR_INTERNAL_ERROR, "data",
            "The data folder was created by PostgreSQL %d, but only version %d is installed. Install PostgreSQL %d, or use it to "
            "dump the database and restore the dump into a new data folder.",
            major, candidates->items[candidates->count - 1].major, major);
    if (best == NULL)
        return fail(
            err, ERR_INTERNAL_ERROR, "data",
            "No PostgreSQL server was found. Install it (Debian: apt-get install postgresql), set POSTHORN_PG_BINDIR to the "
            "folder of initdb and postgres, or name a database with --database.");
    if (best->major < CLUSTER_OLDEST_MAJOR)
        return fail(err, ERR_INTERNAL_ERROR, "data", "PostgreSQL %d is too old. Install version %d or newer.", best->major,
                    CLUSTER_OLDEST_MAJOR);
    *ret_programs = *best;
    return true;
}

bool cluster_find_programs(struct arena *arena, int major, struct cluster_programs *ret_programs, struct error *err)
{
    struct candidates candidates = { .count = 0 };
    const char *configured = getenv("POSTHORN_PG_BINDIR");
    if (configured != NULL && configured[0] != '\0') {
        add_candidate(arena, configured, &candidates);
        if (candidates.count == 0)
            return fail(err, ERR_INTERNAL_ERROR, "POSTHORN_PG_BINDIR",
                        "POSTHORN_PG_BINDIR must be a folder that contains initdb and postgres.");
    } else {
        add_installed(arena, &candidates);
    }
    return choose_programs(&candidates, major, ret_programs, err);
}
