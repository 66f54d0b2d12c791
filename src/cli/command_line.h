/*
 * Command line parser for operations: posthorn DOMAIN VERB [OPERANDS]
 * [--flags].
 *
 * The tables of the catalogue define the commands, operands and flags. The
 * parser only splits the line and refuses unknown parts. It reads no file and
 * makes no call.
 */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"

enum { FLAG_MAX_DEPTH = 4 };

/* A flag, and the argument it sets: fields[0], or a member of that object. */
struct flag {
    const char *written; /* as given, for messages */
    const struct arg_field *fields[FLAG_MAX_DEPTH];
    size_t depth;
    const char *value; /* NULL: no value, which means true for a boolean */
    bool negated;      /* --no-NAME: false, or null */
};

struct command_line {
    const char *domain;
    const struct operation *op; /* NULL: help for the domain only */
    bool help;
    const char **operands;
    size_t operand_count;
    struct flag *flags;
    size_t flag_count;
    char **options; /* the options of options.h, in their order */
    int option_count;
};

/* True when an operation has this domain. */
bool command_line_is_domain(const char *name) NONNULL(1) PURE;

/* True when the operation is a command. Operations of signed-in administrators are not. */
bool command_line_reaches(const struct operation *op) NONNULL(1) PURE;

/* Parses DOMAIN and the arguments after it. The strings are borrowed from `argv`. Errors: INVALID_REQUEST with a sentence. */
MUST_CHECK bool command_line_read(struct arena *arena, int argc, char **argv, struct command_line *ret_line, struct error *err)
    NONNULL(1, 3, 4, 5);

/* The flag of an operation's argument: "limit", or "body.url" when an option has the same name. */
const char *command_line_flag_name(struct arena *arena, const struct arg_field *field) NONNULL(1, 2) RETURNS_NONNULL;
