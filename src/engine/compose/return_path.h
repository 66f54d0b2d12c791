/*
 * Return path of our mail: b<TOKEN>@bounce.DOMAIN, the envelope sender to which other mail systems report. u<TOKEN>@bounce.DOMAIN
 * is the address of List-Unsubscribe, which unsubscribes the recipient who writes to it. The token names brand, send and recipient.
 * It is sealed, so its readers learn nothing and cannot make one. It is base32 (RFC 4648 §6), because other systems change the case
 * of a local part, and fits the 64 octets of RFC 5321 §4.5.3.1.1.
 *
 * Plain values; any thread.
 */
#pragma once

#include "engine/compose/message_id.h"

#define RETURN_PATH_HOST "bounce." /* in front of the domain of the sender */

enum return_path_kind {
    RETURN_PATH_NONE, /* not an address of this installation */
    RETURN_PATH_BOUNCE,
    RETURN_PATH_UNSUBSCRIBE,
};

enum { RETURN_PATH_LOCAL_CHARS = 54 };

/* The address for a recipient. `kind` is not RETURN_PATH_NONE. */
char *return_path_address(const struct engine *engine, struct arena *arena, enum return_path_kind kind,
                          const struct message_origin *origin, const char *domain) NONNULL(1, 2, 4, 5) RETURNS_NONNULL;

/* Finds the origin of a message by an address in any case, with or without angle brackets. */
enum return_path_kind return_path_open(const struct engine *engine, struct arena *arena, const char *address,
                                       struct message_origin *ret_origin) NONNULL(1, 2, 3, 4);
