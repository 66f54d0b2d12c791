/*
 * Client previews: pictures of a design as mail clients show it. Previews belong
 * to one version of a design and expire after seven days; the pictures are rows
 * of the database, so that they are deleted with the rows.
 *
 * A call begins a round: it asks for clients that the previews do not have, or
 * that have failed. The job draw_previews takes clients one by one and saves each
 * picture at once; answer_previews answers the call and settles its charge.
 * Several jobs can draw the same previews: a client is drawn by one at a time.
 *
 * Texts live in the arena of the work. Previews of another brand are not found.
 */
#pragma once

#include "catalogue/mail_clients.h"
#include "engine/core/work.h"
#include "sql/previews.h"

enum { PREVIEW_MAX_CLIENTS = 12, PREVIEW_PICTURE_MAX_BYTES = 10 * 1000 * 1000 };

/* The client with this id, or NULL. */
const struct mail_client *mail_client_find(const char *id) NONNULL(1) PURE;

struct preview_request {
    int64_t email_id;
    int64_t preview_id;       /* 0: new previews, or those in which all clients are running */
    struct text_list clients; /* none: the default clients, or those of `preview_id` that have failed */
};

/* A round of clients to draw. */
struct preview_round {
    int64_t preview_id;
    int64_t round;
    bool has_new_clients; /* the round is charged when it has a picture */
};

/* Begins a round in the open transaction. Errors: INVALID_REQUEST (clients), EMAIL_NOT_FOUND, EMAIL_NOT_READY,
 * PREVIEW_NOT_FOUND. */
MUST_CHECK bool preview_begin(const struct work *work, const struct preview_request *request, struct preview_round *ret_round,
                              struct error *err) NONNULL(1, 2, 3, 4);

/* Writes the previews with the state of each client, or of `client` only, with its small picture; NULL: all of them. Errors:
 * PREVIEW_NOT_FOUND. */
MUST_CHECK bool preview_write(const struct work *work, int64_t preview_id, const char *client, struct json_writer *json,
                              struct error *err) NONNULL(1, 4, 5);

/* ---- Pictures ---- */

struct preview_picture {
    struct bytes png;
    int64_t width; /* in pixels */
    int64_t height;
};

/* Reads the picture of a client. Errors: PREVIEW_NOT_FOUND: no previews, another client, or no picture yet. */
MUST_CHECK bool preview_picture_read(const struct work *work, int64_t preview_id, const char *client,
                                     struct preview_picture *ret_picture, struct error *err) NONNULL(1, 3, 4, 5);

/* The address of a picture, which is the credential of its readers; NULL without a public address. */
const char *preview_picture_url(const struct work *work, int64_t preview_id, const char *client) NONNULL(1, 3);

/* Opens the last part of such an address: the brand, the previews and the client. False for any other text. */
bool preview_link_open(const struct work *work, const char *token, int64_t *ret_brand_id, int64_t *ret_preview_id,
                       const char **ret_client) NONNULL(1, 2, 3, 4, 5);
