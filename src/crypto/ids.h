/*
 * Public ids: a type prefix and the base32 of a keyed 64-bit permutation of the
 * bigint key, tweaked per type. An id is opaque and cannot be guessed, and a row
 * always has the same id. The permutation key is in the database, so that a dump
 * preserves every id. An id of another installation or type decodes to a number
 * without a row.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum id_kind {
    ID_NONE,
    ID_ORG,
    ID_BRAND,
    ID_KEY,
    ID_EMAIL,
    ID_VERSION,
    ID_SEND,
    ID_CONTACT,
    ID_DOMAIN,
    ID_AUDIENCE,
    ID_GROUP,
    ID_RUN,
    ID_JOB,
    ID_EVENT,
    ID_TRIGGER,
    ID_INSTANCE,
    ID_AUTOMATION,
    ID_AUDIENCE_RUN,
    ID_INSIGHT,
    ID_FIELD,
    ID_AUDIT,
    ID_PREVIEW,
    ID_TEST,
    ID_USER,
    ID_SESSION,
    ID_RECIPIENT,
    ID_IMPORT,
    ID_ASSET,
    ID_REPORT_SOURCE,
    ID_INTEGRATION,
    ID_GENERATION,
    ID_KIND_COUNT,
};

enum { ID_KEY_BYTES = 16, ID_MAX_CHARS = 24 };

/* The key of the permutation. Every database has its own key. Read-only after init; any thread. */
struct id_codec {
    unsigned char key[ID_KEY_BYTES];
};

void id_codec_init(struct id_codec *codec, const unsigned char key[ID_KEY_BYTES]) NONNULL(1, 2);

/* The public form, such as eml_0f5j8x2m4qk7t. */
void id_encode(const struct id_codec *codec, enum id_kind kind, int64_t id, char ret_text[ID_MAX_CHARS]) NONNULL(1, 4);
char *id_text(const struct id_codec *codec, struct arena *arena, enum id_kind kind, int64_t id) NONNULL(1, 2) RETURNS_NONNULL;

/* Whether the text has the form of an id of this kind. An id of another installation has it, although half of them decode to 0. */
bool id_has_form(enum id_kind kind, const char *text) NONNULL(2);

/* The bigint key of the row that a public id names; 0 when the text is not an id of this kind. */
int64_t id_decode(const struct id_codec *codec, enum id_kind kind, const char *text) NONNULL(1, 3);
