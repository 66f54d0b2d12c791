/*
 * What the tests of the HTTP room share: a server over the stand-ins on a port
 * of its own, and questions to it.
 */
#pragma once

#include "http/server.h"
#include "http_client.h"
#include "http_standin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PATIENCE_MS = 10000 };

extern struct http_server *server; /* NULL once a test has stopped it */
extern unsigned port;
extern struct answer answer; /* to the last question */
extern struct client client;

/* With the stand-ins behind it; fails the test when it does not start. */
void start_with(const struct http_server_config *config);

/* Set-up and tear-down. The end fails when an exchange of the agent protocol was not released. */
int start_server(void **state);
int stop_server(void **state);

void pause_ms(long ms);

/* One request on a connection of its own. */
void ask(const char *method, const char *target, const char *lines, const char *body);

void assert_status(int status);
void assert_has(const char *text);

#define WAIT_UNTIL(condition)                                                                                                      \
    do {                                                                                                                           \
        for (int waited = 0; !(condition); waited += 5) {                                                                          \
            if (waited > PATIENCE_MS)                                                                                              \
                fail_msg("did not come about: %s", #condition);                                                                    \
            pause_ms(5);                                                                                                           \
        }                                                                                                                          \
    } while (0)

#define WITH_SERVER(test)     cmocka_unit_test_setup_teardown(test, start_server, stop_server)
#define WITH_OWN_SERVER(test) cmocka_unit_test_teardown(test, stop_server)
