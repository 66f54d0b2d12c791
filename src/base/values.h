/*
 * Values: optional values, borrowed byte ranges and lists, shared by all modules.
 * The arguments of operations and the rows of queries use them. They do not own
 * their memory; the arena of the request does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Absent (or SQL NULL) when not set. */
struct opt_int {
    bool set;
    int64_t value;
};
struct opt_number {
    bool set;
    double value;
};
struct opt_bool {
    bool set;
    bool value;
};

/* Three states for a nullable member: absent, set to null (value NULL), set to a text. */
struct opt_text {
    bool set;
    const char *value;
};

struct bytes {
    const unsigned char *data; /* NULL for SQL NULL */
    size_t size;
};

struct int_list {
    const int64_t *items;
    size_t count;
};
struct text_list {
    const char *const *items; /* an item may be NULL: SQL NULL */
    size_t count;
};
struct bool_list {
    const bool *items;
    size_t count;
};
