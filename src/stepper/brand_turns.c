#include "stepper/brand_turns.h"

#include "base/clock.h"
#include "base/panic.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16, FAILURES_MAX = 3 };

/* A run may be committed this much later than its due time without being behind the mark. Later ones are found by a look. */
static const int64_t mark_lag_us = INT64_C(2) * US_PER_S;
static const int64_t left_pause_us = INT64_C(20) * 1000;
/* Notifications that come meanwhile share the next transaction. The run after a quiet time does not wait. */
static const int64_t gathering_us = INT64_C(10) * 1000;
static const int64_t failure_pause_us = INT64_C(200) * 1000;
static const struct step_mark first_mark = { .due_us = DB_TIME_MINUS_INFINITY };

void brand_turns_done(struct brand_turns *turns)
{
    free(turns->items);
    *turns = (struct brand_turns){ .items = NULL };
}

static void grow(struct brand_turns *turns)
{
    size_t capacity = turns->capacity > 0 ? 2 * turns->capacity : FIRST_CAPACITY;
    struct brand_turn *items = reallocarray(turns->items, capacity, sizeof(*items));
    if (items == NULL)
        panic(PANIC_NO_MEMORY);
    turns->items = items;
    turns->capacity = capacity;
}

struct brand_turn *brand_turns_find(struct brand_turns *turns, int64_t brand_id)
{
    for (size_t i = 0; i < turns->count; i++)
        if (turns->items[i].brand_id == brand_id)
            return &turns->items[i];
    if (turns->count == turns->capacity)
        grow(turns);
    struct brand_turn *turn = &turns->items[turns->count++];
    *turn = (struct brand_turn){ .brand_id = brand_id, .mark = first_mark, .limit = STEP_BATCH_MAX };
    return turn;
}

void brand_turns_note(struct brand_turns *turns, int64_t brand_id, int64_t due_us, int64_t now_us)
{
    struct brand_turn *turn = brand_turns_find(turns, brand_id);
    turn->next_us = (struct opt_int){ true, due_us };
    turn->is_due |= due_us <= now_us;
    if (due_us <= turn->mark.due_us)
        turn->mark = (struct step_mark){ .due_us = due_us - 1 };
}

void brand_turns_note_suspects(struct brand_turns *turns, struct int_list brand_ids)
{
    for (size_t i = 0; i < turns->count; i++)
        turns->items[i].has_suspects = false;
    for (size_t i = 0; i < brand_ids.count; i++)
        brand_turns_find(turns, brand_ids.items[i])->has_suspects = true;
}

static bool is_ready(const struct brand_turn *turn, int64_t now_us, int64_t monotonic_us)
{
    bool is_due = turn->is_due || (turn->next_us.set && turn->next_us.value <= now_us);
    return is_due && turn->paused_until_us <= monotonic_us;
}

struct brand_turn *brand_turns_next(struct brand_turns *turns, int64_t now_us, int64_t monotonic_us)
{
    for (size_t i = 1; i <= turns->count; i++) {
        size_t at = (turns->last + i) % turns->count;
        if (is_ready(&turns->items[at], now_us, monotonic_us)) {
            turns->last = at;
            return &turns->items[at];
        }
    }
    return NULL;
}

/* The mark lags, because a run may be committed a little later than the time at which it is due. It moves back with the clock only.
 */
static void move_mark(struct brand_turn *turn, const struct step_batch_result *result, int64_t now_us)
{
    struct step_mark lagging = { .due_us = now_us - mark_lag_us };
    bool has_all = result->is_last && result->left == 0;
    struct step_mark mark = has_all || result->last.due_us > lagging.due_us ? lagging : result->last;
    bool is_forward = mark.due_us > turn->mark.due_us || (mark.due_us == turn->mark.due_us && mark.id > turn->mark.id);
    if (is_forward || turn->mark.due_us > lagging.due_us)
        turn->mark = mark;
}

void brand_turn_stepped(struct brand_turn *turn, const struct step_batch_result *result, int64_t now_us, int64_t monotonic_us)
{
    move_mark(turn, result, now_us);
    turn->failures = 0;
    turn->limit = turn->limit < STEP_BATCH_MAX / 2 ? 2 * turn->limit : STEP_BATCH_MAX;
    turn->is_due = !result->is_last || result->left > 0;
    bool is_stale = turn->next_us.set && turn->next_us.value <= now_us;
    bool is_sooner = !turn->next_us.set || is_stale || (result->next_us.set && result->next_us.value < turn->next_us.value);
    if (is_sooner)
        turn->next_us = result->next_us;
    /* Another transaction has what these runs wait for. */
    if (result->taken > 0 && result->left == result->taken)
        turn->paused_until_us = monotonic_us + left_pause_us;
    else if (result->taken > 0 && !turn->is_due)
        turn->paused_until_us = monotonic_us + gathering_us;
}

void brand_turn_rest(struct brand_turn *turn, int64_t monotonic_us)
{
    turn->is_due = true;
    turn->paused_until_us = monotonic_us + failure_pause_us;
}

bool brand_turn_failed(struct brand_turn *turn, bool is_passing, int64_t monotonic_us)
{
    bool was_single = turn->limit == 1;
    turn->is_due = true;
    turn->limit = was_single ? 1 : turn->limit / 2;
    turn->failures += was_single && !is_passing;
    turn->paused_until_us = monotonic_us + failure_pause_us;
    return turn->failures >= FAILURES_MAX;
}

static int64_t wait_of(const struct brand_turn *turn, int64_t now_us, int64_t monotonic_us, int64_t max_us)
{
    int64_t pause_us = turn->paused_until_us > monotonic_us ? turn->paused_until_us - monotonic_us : 0;
    int64_t due_us = max_us;
    if (turn->is_due)
        due_us = 0;
    else if (turn->next_us.set && turn->next_us.value - now_us < max_us)
        due_us = turn->next_us.value > now_us ? turn->next_us.value - now_us : 0;
    return due_us > pause_us ? due_us : pause_us;
}

int64_t brand_turns_wait_us(const struct brand_turns *turns, int64_t now_us, int64_t monotonic_us, int64_t max_us)
{
    int64_t least_us = max_us;
    for (size_t i = 0; i < turns->count; i++) {
        int64_t wait_us = wait_of(&turns->items[i], now_us, monotonic_us, max_us);
        if (wait_us < least_us)
            least_us = wait_us;
    }
    return least_us > 0 ? least_us : 0;
}
