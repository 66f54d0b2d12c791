/*
 * The command line of an operation: posthorn DOMAIN VERB [OPERANDS] [--flags].
 *
 * Everything comes from the tables of the catalogue: which commands there are,
 * which operands and flags they take. Reading a line only takes it apart, and
 * refuses what it does not know; no file is read and nothing is asked yet.
 */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"

enum { FLAG_MAX_DEPTH = 4 };

/* A flag, and the argument it stands for: fields[0], or a member of that object. */
struct flag {
    const char *written; /* as it was given, for messages */
    const struct arg_field *fields[FLAG_MAX_DEPTH];
    size_t depth;
    const char *value; /* NULL: none was given, which is true for a boolean */
    bool negated;      /* --no-NAME: false, or null */
};

struct command_line {
    const char *domain;
    const struct operation *op; /* NULL: only help for the domain is asked for */
    bool help;
    const char **operands;
    size_t operand_count;
    struct flag *flags;
    size_t flag_count;
    char **options; /* those of options.h, in their order */
    int option_count;
};

/* Whether an operation has this domain. `help` alone is the help of the program. */
bool command_line_is_domain(const char *name) NONNULL(1) PURE;

/* Whether the operation is a command; what only a signed-in administrator may do is not. */
bool command_line_reaches(const struct operation *op) NONNULL(1) PURE;

/* Takes DOMAIN and what follows apart. The strings are borrowed from `argv`. Errors: INVALID_REQUEST with a sentence. */
MUST_CHECK bool command_line_read(struct arena *arena, int argc, char **argv, struct command_line *ret_line, struct error *err)
    NONNULL(1, 3, 4, 5);

/* The name of an operation's argument as a flag: "limit", or "body.url" where an option has that name. */
const char *command_line_flag_name(struct arena *arena, const struct arg_field *field) NONNULL(1, 2) RETURNS_NONNULL;

/* The candidate that `name` is most like; NULL when it is like none. */
const char *suggest_name(const char *name, const char *const *candidates, size_t count) NONNULL(1);
