/*
 * Webhooks: requests in which another service tells something, at an address that
 * names a connection. The service proves itself by a signature or a secret, which
 * the operation checks, so no API key is needed. Errors have the envelope of /v1;
 * there are no rate headers. Requests without proof cost tokens of the address
 * gate, so that a stranger cannot guess connections or secrets.
 */
#pragma once

#include "crypto/ids.h"
#include "http/server_state.h"

#include <jansson.h>

struct operation;

enum { WEBHOOK_PATH_MAX_BYTES = 80 };

struct webhook_kind {
    const struct operation *const *candidates;
    enum id_kind connection; /* what the path names */
    int threads_max;         /* see struct call_connection */
    size_t quick_max_bytes;  /* a call with a larger body runs in the pool of slow calls */
    const char *challenge;   /* the header WWW-Authenticate of a 401; NULL: none */
    /* Adds the arguments that path and headers give; `content` is added behind it. False: the path names no connection. */
    bool (*read)(const struct http_exchange *exchange, json_t *body);
};

/* The functions of an endpoint; `begin` of the endpoint calls webhook_begin with its kind. */
void webhook_begin(struct http_exchange *exchange, const struct webhook_kind *kind) NONNULL(1, 2);
void webhook_admit(struct http_exchange *exchange) NONNULL(1);
void webhook_run(struct http_exchange *exchange) NONNULL(1);
void webhook_give_up(struct http_exchange *exchange, enum give_up_reason reason) NONNULL(1);

/* Sets a text that is given and valid UTF-8. */
void webhook_set_text(json_t *object, const char *name, const char *text) NONNULL(1, 2);

/* The path behind a prefix, which the caller may change; NULL when it is too long. */
char *webhook_path_rest(const struct http_exchange *exchange, const char *prefix) NONNULL(1, 2);

/* Whether a text can be the id of a connection. */
bool webhook_id_is_well_formed(const char *id) NONNULL(1) PURE;
