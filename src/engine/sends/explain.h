/*
 * Why somebody got a message, or did not: for one address, every decision from
 * the audience to the last reply of a relay, as rows that delivery leaves
 * behind anyway. One statement; nothing is recorded for it.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/explain.h"

enum { EXPLAIN_SENDS_MAX = 50 };

/* Writes one object: what is known of the person, and the newest sends of the brand with what became of theirs; with `send_id`
 * not 0 only that one. An address that nothing is known of is told so. Errors: INVALID_REQUEST (email), SEND_NOT_FOUND. */
MUST_CHECK bool send_why(const struct work *work, const char *email, int64_t send_id, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 4, 5);

/* One sentence on what a send did about the person, in the arena of the work (why_words.c). */
char *explain_sentence(const struct work *work, const struct explain_decisions_row *row) NONNULL(1, 2) RETURNS_NONNULL;

/* One sentence on whether mail may be sent to them now. */
char *explain_person_sentence(const struct work *work, const struct explain_decisions_row *row) NONNULL(1, 2) RETURNS_NONNULL;
