/*
 * Target of a campaign without an inline list: all subscribed contacts, or the
 * subscribed members of an audience. The SQL statements are generated, because
 * they contain the filters of the audience.
 */
#pragma once

#include "engine/core/work.h"

struct send_target {
    bool is_all; /* every subscribed contact; audience_id is ignored */
    int64_t audience_id;
    bool is_accepted; /* the send is accepted already, so a deleted audience is used, too */
};

/* Adds a query to the batch: does the target have any recipient? send_target_is_any reads the answer.
 * Errors: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool send_target_add_any(const struct work *work, struct send_target target, struct db_batch *batch, size_t *ret_at,
                                    struct error *err) NONNULL(1, 3, 4, 5);
bool send_target_is_any(const struct db_rows *rows) NONNULL(1) PURE;

/* Adds a query to the batch: how many recipients has the target? send_target_counted reads the answer. Errors: as above. */
MUST_CHECK bool send_target_add_count(const struct work *work, struct send_target target, struct db_batch *batch, size_t *ret_at,
                                      struct error *err) NONNULL(1, 3, 4, 5);
int64_t send_target_counted(const struct db_rows *rows) NONNULL(1) PURE;

/* Counts the recipients in the target now. Errors: as above. */
MUST_CHECK bool send_target_count(const struct work *work, struct send_target target, int64_t *ret_count, struct error *err)
    NONNULL(1, 3, 4);

/* Inserts the recipients of the target with consecutive ordinals, in the order of addresses, or with `sample_key` (data NULL: none)
 * in the order of their keyed hashes. Stores their number in the send. Errors: as above. */
MUST_CHECK bool send_target_expand(const struct work *work, int64_t send_id, struct send_target target, struct bytes sample_key,
                                   int64_t *ret_count, struct error *err) NONNULL(1, 5, 6);

/* ---- Statistics for a preview ---- */

enum { TARGET_STATS_MAX_FIELDS = 8 };

/* The recipients to count: the target, or an inline list of merge keys. */
struct target_stats_query {
    struct send_target target;
    struct text_list keys;   /* items NULL: the target */
    struct text_list fields; /* custom fields, at most TARGET_STATS_MAX_FIELDS */
};

struct target_stats {
    int64_t count;
    const char *sample_key; /* the merge key of one recipient; NULL without recipients */
    int64_t without_first_name;
    int64_t without_last_name;
    struct int_list without_field; /* in the order of the query's fields */
};

/* Errors: as above. */
MUST_CHECK bool send_target_stats(const struct work *work, const struct target_stats_query *query, struct target_stats *ret_stats,
                                  struct error *err) NONNULL(1, 2, 3, 4);
