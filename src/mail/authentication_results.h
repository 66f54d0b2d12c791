/*
 * Authentication results: what the receiver of a message found out about its
 * sender (RFC 8601). Only the fields of the receiver count: the first field of
 * the message, and those that follow it with the same name of a server. Fields
 * below them may come from anywhere.
 *
 * Any thread. Texts are constants.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

/* NULL: the receiver told nothing about the method, or a word that RFC 8601 does not know. */
struct authentication_results {
    const char *spf;
    const char *dkim; /* pass, when one of several signatures passed */
    const char *dmarc;
};

/* Reads the header block of a message, with its memory in the arena. */
struct authentication_results authentication_results_read(struct arena *arena, struct bytes headers) NONNULL(1);
