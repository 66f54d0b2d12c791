/*
 * An installation: one data folder and one database, opened for use by this
 * process. With no database named, it is the private cluster of the data
 * folder, and opening it makes sure that a runner serves it.
 *
 * Opening is what costs; making the description costs nothing, so that a
 * process which is only asked for its tools never touches a disk. Thread-safe.
 */
#pragma once

#include "engine/core/work.h"

enum { INSTALLATION_OPEN_WAIT_MS = 30000 };

struct installation;

struct installation_config {
    const char *data_dir;
    const char *database_url;       /* NULL: the private cluster */
    const char *const *runner_argv; /* how to start the runner, NULL-ended; NULL: this process is the runner */
    const char *application_name;
    const char *public_url;  /* NULL: none */
    const char *import_root; /* whole path of a folder; NULL: none */
    const char *key_file;    /* with the master keys; NULL: master.key in the data folder */
    struct opt_int confirm_above; /* recipients that an assistant may send to without confirming; unset: any number */
    int statement_timeout_ms;
};

/* Describes an installation; strings are borrowed for its life. */
struct installation *installation_new(const struct installation_config *config) NONNULL(1) RETURNS_NONNULL;
void installation_free(struct installation *installation);

/* Joins or reaches the database, migrates it and loads the engine; the first caller does the work, a failure is
 * tried again by the next. Errors: SERVICE_UNAVAILABLE, INTERNAL_ERROR. */
MUST_CHECK bool installation_open(struct installation *installation, struct error *err) NONNULL(1, 2);

bool installation_is_open(const struct installation *installation) NONNULL(1);

/* A connection of one's own, opening the installation first when needed. */
MUST_CHECK bool installation_connect(struct installation *installation, struct db_conn **ret_conn, struct error *err)
    NONNULL(1, 2, 3);

/* The application name of its connections. */
const char *installation_name(const struct installation *installation) NONNULL(1) RETURNS_NONNULL;

/* The engine; complete once installation_open succeeded. */
struct engine *installation_engine(struct installation *installation) NONNULL(1) RETURNS_NONNULL;
