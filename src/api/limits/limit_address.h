/*
 * Addresses of limit stores, as an operator writes them:
 *
 *     redis://[[user]:password@]host[:port][/database]
 *     unix://[[user]:password@]/path/of/the/socket[?db=database]
 *
 * Special characters of user and password stand as %XX. Strings are owned.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

struct limit_address {
    char *name; /* for people: without user and password */
    char *host; /* NULL: a socket */
    int port;
    char *socket_path;
    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no log-in */
    int database;
};

/* False, with a sentence that repeats nothing of the text, when it is no such address. */
MUST_CHECK bool limit_address_read(const char *text, struct limit_address *ret_address, const char **ret_why) NONNULL(1, 2, 3);
void limit_address_done(struct limit_address *address) NONNULL(1);
