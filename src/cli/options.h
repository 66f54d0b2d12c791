/*
 * Options of the command line: one table with the flag, environment variable,
 * commands and help line of each. A flag overrides its variable. Unknown flags,
 * and flags of other commands, are refused.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum command_bit {
    COMMAND_MCP = 1 << 0,
    COMMAND_SERVE = 1 << 1,
    COMMAND_WORKER = 1 << 2,
    COMMAND_RUNNER = 1 << 3,
    COMMAND_CALL = 1 << 4,
    COMMAND_TOOLS = 1 << 5,
    COMMAND_ADMIN = 1 << 6,
    COMMAND_DOCTOR = 1 << 7,
    COMMAND_STOP = 1 << 8,
    COMMAND_WHY = 1 << 9,
    COMMAND_OPERATION = 1 << 10,
    COMMAND_OPERATION_FIRST = 1 << 11, /* of those, the options in the help of an operation */
    COMMAND_BOUNCE = 1 << 12,
};

enum { OPTIONS_MAX = 128 }; /* flags in the table */

struct options {
    const char *data_dir;
    const char *database_url;
    const char *brand;
    const char *listen;
    const char *metrics_listen;
    const char *limit_store; /* address, which may hold a password */
    const char *toolsets;
    const char *tools;
    bool read_only;
    int64_t response_budget_chars;
    int64_t picture_budget_chars;
    const char *allowed_hosts;
    const char *allowed_origins;
    const char *trusted_proxies;
    int64_t max_per_peer;    /* 0: the default */
    int64_t body_memory_mib; /* 0: the default */
    const char *url;
    const char *key;
    const char *idempotency_key;
    const char *log_level;
    int64_t threads;
    int64_t idle_s;
    int64_t confirm_above; /* -1: off */
    const char *public_url;
    const char *docs_url;    /* NULL: of the server itself */
    const char *import_root; /* absolute path */
    bool fetch_allow_loopback;
    const char *render_dir;
    const char *node;
    const char *dns_servers;
    int64_t outbox_max_mib;
    const char *relays; /* addresses, comma-separated */
    const char *uncertain;
    int64_t retry_after_s;
    const char *helo_name;
    const char *dkim;
    const char *tracking; /* on or off; NULL: on */
    const char *model;    /* anthropic, openai or compatible; NULL: none */
    const char *model_url;
    const char *model_name;
    const char *model_key;
    const char *model_key_file;
    const char *embeddings; /* openai or an address; NULL: none */
    const char *embeddings_model;
    const char *embeddings_key;
    const char *embeddings_key_file;
    const char *spam; /* spam filter; NULL: none */
    const char *key_file;
    const char *scopes;
    const char *name;
    const char *role;
    int64_t expires_s; /* 0: not given */
    const char *organization;
    double rate_multiplier;
    bool trust;
    const char *purpose;
    const char *note;
    const char *send;
    const char *reason;
    bool unsubscribed;
    const char *to;
    bool dry_run;
    const char *topic;
    const char *public_key;
    const char *secret_file; /* - is standard input */
    const char *tables;      /* comma-separated */
    const char *columns;     /* comma-separated */
    bool batch;
    const char *output; /* table, json or jsonl; NULL: chosen by the kind of standard output */
    const char *fields; /* columns, comma-separated */
    const char *body;   /* JSON, @FILE or - */
    bool all;
    bool yes;
    bool wait;
    const char *imap;        /* addresses with passwords, comma-separated; NULL: none */
    const char *lmtp;        /* listening address; NULL: none */
    const char *return_path; /* of a report on standard input; NULL: not given */
    bool unmatched;
    const char *words[8];    /* arguments that are not options: subcommands, a tool, its JSON; NULL-terminated */
    bool given[OPTIONS_MAX]; /* the given flags, as in the table; other values come from the environment or are defaults */
    bool help;
};

/* Reads the environment, then the arguments after the command. Strings are borrowed or in the arena. Errors: INVALID_REQUEST with
 * a sentence for the user. */
MUST_CHECK bool options_read(struct arena *arena, enum command_bit command, int argc, char **argv, struct options *ret_options,
                             struct error *err) NONNULL(1, 4, 5, 6);

/* True when --tracking is off. job_runner_start refuses other values than on and off. */
bool options_tracking_off(const struct options *options) NONNULL(1);

/* The number of arguments from argv[0] on that form an option of this command with its value: 0, 1 or 2. */
int options_match(enum command_bit command, int argc, char *const *argv) NONNULL(3);

/* The flag of a command at an index; NULL after the last. */
const char *options_flag_at(enum command_bit command, size_t at);

/* The environment variable of an option; NULL when there is none. */
const char *options_variable(const char *flag) NONNULL(1);

/* Prints the options of one command with their variables. */
void options_print_help(enum command_bit command);

/* "a,b" as a NULL-terminated list; NULL for NULL. */
const char *const *options_list(struct arena *arena, const char *text) NONNULL(1);
