/*
 * The target of a campaign that is no short list: all subscribed contacts, or
 * the subscribed members of an audience. Statements are made for the target,
 * since an audience brings its conditions.
 */
#pragma once

#include "engine/core/work.h"

struct send_target {
    bool is_all; /* every subscribed contact; audience_id means nothing */
    int64_t audience_id;
    bool is_accepted; /* the send waits already, so its audience counts even when it was deleted since */
};

/* Adds to the batch the question whether anybody is in the target. For send_target_is_any.
 * Errors: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool send_target_add_any(const struct work *work, struct send_target target, struct db_batch *batch, size_t *ret_at,
                                    struct error *err) NONNULL(1, 3, 4, 5);
bool send_target_is_any(const struct db_rows *rows) NONNULL(1) PURE;

/* How many are in the target now. Errors: as above. */
MUST_CHECK bool send_target_count(const struct work *work, struct send_target target, int64_t *ret_count, struct error *err)
    NONNULL(1, 3, 4);

/* Makes a recipient with a dense ordinal of everyone in the target, cut into ranges, and counts them on the send.
 * Errors: as above. */
MUST_CHECK bool send_target_expand(const struct work *work, int64_t send_id, struct send_target target, int64_t range_size,
                                   int64_t *ret_count, struct error *err) NONNULL(1, 5, 6);

/* ---- A look before sending ---- */

enum { TARGET_STATS_MAX_FIELDS = 8 };

/* Of whom the names are counted: everyone in the target, or those who have these merge keys. */
struct target_stats_query {
    struct send_target target;
    struct text_list keys;   /* items NULL: the target */
    struct text_list fields; /* custom fields, at most TARGET_STATS_MAX_FIELDS */
};

struct target_stats {
    int64_t count;
    const char *sample_key; /* the merge key of one of them; NULL when there is nobody */
    int64_t without_first_name;
    int64_t without_last_name;
    struct int_list without_field; /* beside the fields asked for */
};

/* Errors: as above. */
MUST_CHECK bool send_target_stats(const struct work *work, const struct target_stats_query *question,
                                  struct target_stats *ret_stats, struct error *err) NONNULL(1, 2, 3, 4);
