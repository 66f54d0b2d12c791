/*
 * Installation: one data folder and one database, opened for use by this
 * process. The default database is the private cluster of the data folder;
 * opening it ensures that a runner serves it.
 *
 * installation_new does no input or output, so a process that only lists its
 * tools never accesses the disk. installation_open is expensive. Thread-safe.
 */
#pragma once

#include "engine/core/work.h"

enum { INSTALLATION_OPEN_WAIT_MS = 30000 };

struct installation;

struct installation_config {
    const char *data_dir;
    const char *database_url;       /* NULL: the private cluster */
    const char *const *runner_argv; /* command of the runner, NULL-terminated; NULL: this process is the runner */
    const char *application_name;
    const char *public_url;       /* NULL: none */
    bool tracking_off;            /* no links and no opens are tracked */
    const char *design_engine;    /* writes designs: a provider and its model; NULL: the composer */
    bool has_embeddings;          /* an embedding model of the operator makes vectors for searches */
    const char *import_root;      /* absolute path of a folder; NULL: none */
    const char *key_file;         /* file with the master keys; NULL: master.key in the data folder */
    struct opt_int confirm_above; /* an assistant's send to more recipients needs a confirmation; unset: never needed */
    bool fetch_allow_loopback;    /* DANGEROUS, for tests */
    int statement_timeout_ms;
};

/* Describes an installation; strings are borrowed for its life. */
struct installation *installation_new(const struct installation_config *config) NONNULL(1) RETURNS_NONNULL;
void installation_free(struct installation *installation);

/* Connects to the database (and joins its cluster), migrates it and loads the engine. The first caller does the work; after a
 * failure the next caller retries. Errors: SERVICE_UNAVAILABLE, INTERNAL_ERROR. */
MUST_CHECK bool installation_open(struct installation *installation, struct error *err) NONNULL(1, 2);

bool installation_is_open(const struct installation *installation) NONNULL(1);

/* Returns a new connection. Opens the installation first when needed. */
MUST_CHECK bool installation_connect(struct installation *installation, struct db_conn **ret_conn, struct error *err)
    NONNULL(1, 2, 3);

/* The application name of its connections. */
const char *installation_name(const struct installation *installation) NONNULL(1) RETURNS_NONNULL;

/* The engine; complete once installation_open succeeded. */
struct engine *installation_engine(struct installation *installation) NONNULL(1) RETURNS_NONNULL;
