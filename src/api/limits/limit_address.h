/*
 * Limit store addresses (--limit-store):
 *
 *     redis://[[user]:password@]host[:port][/database]
 *     unix://[[user]:password@]/path/of/the/socket[?db=database]
 *
 * Special characters of user and password are written as %XX. Strings are
 * owned.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

struct limit_address {
    char *name; /* for messages: without user and password */
    char *host; /* NULL: a socket */
    int port;
    char *socket_path;
    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no login */
    int database;
};

/* False, with the reason in *ret_why, when the text is not such an address. The reason repeats nothing of the text. */
MUST_CHECK bool limit_address_read(const char *text, struct limit_address *ret_address, const char **ret_why) NONNULL(1, 2, 3);
void limit_address_done(struct limit_address *address) NONNULL(1);
