/*
 * LMTP listener (RFC 2033): receives reports of other mail systems from the mail server of the operator. Each recipient of a
 * message gets its own reply, 250 only after the report is committed. A peer that disconnects before its reply may deliver the
 * message again, which changes nothing twice.
 *
 * Recipients are the return paths and unsubscribe addresses of this installation, and abuse, bounces, fbl and postmaster at a host
 * that begins with "bounce."; any other gets 550 5.1.1.
 *
 * One thread serves all connections (lmtp_server.c); a session (lmtp_session.c) has no thread. Calls run in the pools of the api.
 */
#pragma once

#include "api/service.h"

enum {
    LMTP_MAX_SESSIONS = 32,
    LMTP_MAX_RECIPIENTS = 50,
    LMTP_IDLE_S = 300,
};

struct lmtp_server;

/* Listens on ADDRESS:PORT or, if it begins with a slash, on a unix socket. `name` is the name of this host in the greeting.
 * Errors: INVALID_REQUEST (param --lmtp), SERVICE_UNAVAILABLE when it cannot listen. */
MUST_CHECK bool lmtp_server_start(struct api *api, const char *address, const char *name, struct lmtp_server **ret_server,
                                  struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The TCP port; 0 for a unix socket. */
unsigned lmtp_server_port(const struct lmtp_server *server) NONNULL(1);

/* Closes all connections and waits for the calls in progress. NULL is allowed. */
void lmtp_server_stop(struct lmtp_server *server);
