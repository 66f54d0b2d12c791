/*
 * Brand turns: what a stepper knows about the due runs of each brand, and which
 * brand is next. Times are of the business clock, pauses of the monotonic clock.
 * One thread owns it.
 */
#pragma once

#include "engine/runs/step_batch.h"

struct brand_turn {
    int64_t brand_id;
    bool is_due;
    struct opt_int next_us; /* the earliest time of a further step, as far as it is known */
    struct step_mark mark;  /* no due run is expected up to here */
    int limit;              /* runs of the next transaction */
    int failures;           /* in a row, of a transaction with one run */
    int64_t paused_until_us;
    bool has_suspects;      /* there may be suspect runs (stepper/suspect_runs.h) */
    bool suspects_are_next; /* the next transaction is one of suspect runs, when there are any */
};

struct brand_turns {
    struct brand_turn *items;
    size_t count;
    size_t capacity;
    size_t last; /* the index of the brand that was stepped last */
};

void brand_turns_done(struct brand_turns *turns) NONNULL(1);

/* The brand; it is added when it is new. Valid until the next call. */
struct brand_turn *brand_turns_find(struct brand_turns *turns, int64_t brand_id) NONNULL(1) RETURNS_NONNULL;

/* A look at the database found a run of this brand that is due at this time. */
void brand_turns_note(struct brand_turns *turns, int64_t brand_id, int64_t due_us, int64_t now_us) NONNULL(1);

/* A look at the database found suspect runs of these brands, and of no others. */
void brand_turns_note_suspects(struct brand_turns *turns, struct int_list brand_ids) NONNULL(1);

/* The brand that is stepped next; NULL: none is due now. */
struct brand_turn *brand_turns_next(struct brand_turns *turns, int64_t now_us, int64_t monotonic_us) NONNULL(1);

/* Records that no run of the brand could be taken: it rests for a moment. */
void brand_turn_rest(struct brand_turn *turn, int64_t monotonic_us) NONNULL(1);

/* Records the result of a transaction. A brand without more due runs rests for some milliseconds, to gather those that come. */
void brand_turn_stepped(struct brand_turn *turn, const struct step_batch_result *result, int64_t now_us, int64_t monotonic_us)
    NONNULL(1, 2);

/* Records that a transaction failed: it is tried with half as many runs. `is_passing`: the cause has nothing to do with the runs.
 * True when the transaction has one run, which made it fail three times. */
MUST_CHECK bool brand_turn_failed(struct brand_turn *turn, bool is_passing, int64_t monotonic_us) NONNULL(1);

/* The microseconds until a brand is due or its pause ends; at most `max_us`. */
int64_t brand_turns_wait_us(const struct brand_turns *turns, int64_t now_us, int64_t monotonic_us, int64_t max_us) NONNULL(1) PURE;
