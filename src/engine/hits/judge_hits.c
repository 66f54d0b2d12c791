#include "engine/hits/judge_hits.h"

#include "base/clock.h"
#include "db/advisory_locks.h"
#include "engine/events/recipient_events.h"
#include "engine/hits/hits.h"
#include "sql/hits.h"
#include "sql/judge_hits.h"

#include <assert.h>

enum {
    ERASED_A_CALL = 20000,
    WAIT_FOR_NEWER_S = 60, /* while a newer program judges by newer rules */
};
static const int64_t day_us = INT64_C(86400) * US_PER_S;

static_assert(2 * JUDGE_RECIPIENTS <= RECIPIENT_EVENTS_MAX, "the events of a pass are recorded in one statement");

/* ---- Rules as parameters ---- */

struct decided {
    size_t count;
    const char **facts;
    const char **classes;
    const char **kinds;
    const char **actors;
};

static void decide(struct decided *decided, const char *fact, const char *class_name, const char *kind, const char *actor)
{
    if (actor == NULL)
        return;
    size_t at = decided->count++;
    decided->facts[at] = fact;
    decided->classes[at] = class_name;
    decided->kinds[at] = kind;
    decided->actors[at] = actor;
}

static void decide_classes(struct decided *decided, const char *fact, const struct hit_class *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        decide(decided, fact, classes[i].name, "open", classes[i].open);
        decide(decided, fact, classes[i].name, "click", classes[i].click);
    }
}

static struct decided decided_by(struct arena *arena, const struct hit_rules *rules)
{
    size_t most = 2 * (rules->agent_count + rules->network_count);
    struct decided decided = {
        .facts = arena_array(arena, most, sizeof(char *)),
        .classes = arena_array(arena, most, sizeof(char *)),
        .kinds = arena_array(arena, most, sizeof(char *)),
        .actors = arena_array(arena, most, sizeof(char *)),
    };
    decide_classes(&decided, "agent", rules->agents, rules->agent_count);
    decide_classes(&decided, "network", rules->networks, rules->network_count);
    return decided;
}

static struct text_list suspects_of(struct arena *arena, const struct hit_class *classes, size_t count)
{
    const char **names = arena_array(arena, count, sizeof(*names));
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (classes[i].is_suspect)
            names[found++] = classes[i].name;
    return (struct text_list){ names, found };
}

/* ---- A pass ---- */

static struct recipient_event event_of(const struct judge_hits_row *row)
{
    return (struct recipient_event){
        .send_id = row->send_id,
        .ordinal = row->ordinal,
        .type = row->event_type,
        .at_us = row->occurred_at.value,
        .url = row->url,
        .actor = "human",
        .change = !row->recorded_at.set  ? RECIPIENT_EVENT_ADD
                  : row->occurred_at.set ? RECIPIENT_EVENT_MOVE
                                         : RECIPIENT_EVENT_REMOVE,
        .recorded_at_us = row->recorded_at.value,
    };
}

static bool record_changes(const struct work *work, const struct judge_hits_row *rows, size_t count, struct error *err)
{
    struct recipient_event *events = arena_array(work->arena, count, sizeof(*events));
    bool *is_new = arena_array(work->arena, count, sizeof(*is_new));
    for (size_t i = 0; i < count; i++)
        events[i] = event_of(&rows[i]);
    return recipient_events_record(work, events, count, is_new, err);
}

static struct judge_hits_addresses_params keys_of(const struct work *work, const struct judged_recipient_row *recipients,
                                                  size_t count)
{
    int64_t *send_ids = arena_array(work->arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++) {
        send_ids[i] = recipients[i].send_id;
        ordinals[i] = recipients[i].ordinal;
    }
    return (struct judge_hits_addresses_params){ work->brand_id, { send_ids, count }, { ordinals, count } };
}

/* Finds the operator's ranges around the addresses that are left, and saves those that differ. */
static bool find_ranges(const struct work *work, const struct hit_matcher *matcher, const struct judge_hits_addresses_params *keys,
                        struct error *err)
{
    struct judge_hits_addresses_row *rows;
    size_t row_count;
    if (!sql_judge_hits_addresses(work->conn, work->arena, keys, &rows, &row_count, err))
        return false;
    int64_t *ats = arena_array(work->arena, row_count, sizeof(*ats));
    int64_t *ids = arena_array(work->arena, row_count, sizeof(*ids));
    int64_t *range_ids = arena_array(work->arena, row_count, sizeof(*range_ids));
    size_t changed = 0;
    for (size_t i = 0; i < row_count; i++) {
        ats[changed] = rows[i].occurred_at;
        ids[changed] = rows[i].id;
        range_ids[changed] = hit_matcher_truncated(matcher, rows[i].address, rows[i].range_id);
        changed += range_ids[changed] != rows[i].range_id;
    }
    struct judge_hits_save_ranges_params save = {
        .brand_id = work->brand_id,
        .ats = { ats, changed },
        .ids = { ids, changed },
        .range_ids = { range_ids, changed },
    };
    return changed == 0 || sql_judge_hits_save_ranges(work->conn, work->arena, &save, NULL, err);
}

static bool judge_recipients(const struct work *work, const struct hit_rules *rules, int64_t until_us,
                             const struct judged_recipient_row *recipients, size_t count, struct error *err)
{
    struct judge_hits_addresses_params keys = keys_of(work, recipients, count);
    struct decided decided = decided_by(work->arena, rules);
    struct judge_hits_params params = {
        .brand_id = work->brand_id,
        .send_ids = keys.send_ids,
        .ordinals = keys.ordinals,
        .until = until_us,
        .rules_version = rules->version,
        .decided_facts = { decided.facts, decided.count },
        .decided_classes = { decided.classes, decided.count },
        .decided_kinds = { decided.kinds, decided.count },
        .decided_actors = { decided.actors, decided.count },
        .suspect_agents = suspects_of(work->arena, rules->agents, rules->agent_count),
        .suspect_networks = suspects_of(work->arena, rules->networks, rules->network_count),
        .burst_s = rules->burst_s,
        .sweep_s = rules->sweep_s,
        .sweep_links = rules->sweep_links,
        .fast_ms = rules->fast_s * INT64_C(1000),
    };
    struct judge_hits_row *rows;
    size_t row_count;
    if (rules->matcher != NULL && hit_matcher_has_ranges(rules->matcher) && !find_ranges(work, rules->matcher, &keys, err))
        return false;
    return sql_judge_hits(work->conn, work->arena, &params, &rows, &row_count, err) && record_changes(work, rows, row_count, err);
}

static bool judge_new(const struct work *work, const struct hit_rules *rules, int64_t until_us, struct error *err)
{
    struct judge_hits_new_params params = { .brand_id = work->brand_id, .until = until_us, .limit = JUDGE_RECIPIENTS };
    struct judged_recipient_row *recipients;
    size_t count;
    return sql_judge_hits_new(work->conn, work->arena, &params, &recipients, &count, err) &&
           judge_recipients(work, rules, until_us, recipients, count, err);
}

/* Judges the next recipients by newer rules. */
static bool judge_again(const struct work *work, const struct hit_rules *rules, int64_t until_us,
                        const struct judge_hits_state_row *state, bool *ret_all, struct error *err)
{
    struct judge_hits_next_params params = {
        .brand_id = work->brand_id,
        .after_send_id = state->send_id,
        .after_ordinal = state->ordinal,
        .hit_limit = JUDGE_HITS,
        .limit = JUDGE_RECIPIENTS,
    };
    struct judged_recipient_row *recipients;
    size_t count;
    if (!sql_judge_hits_next(work->conn, work->arena, &params, &recipients, &count, err) ||
        !judge_recipients(work, rules, until_us, recipients, count, err))
        return false;
    *ret_all = count == 0;
    struct judge_hits_advance_params advance = {
        .brand_id = work->brand_id,
        .send_id = count > 0 ? recipients[count - 1].send_id : 0,
        .ordinal = count > 0 ? recipients[count - 1].ordinal : 0,
        .all_recipients = *ret_all,
        .rules_version = rules->version,
    };
    return sql_judge_hits_advance(work->conn, work->arena, &advance, NULL, err);
}

/* Whether the job may end: no hit is left or being stored, and none is until the job has ended, so hits that come then get a new
 * job. */
static bool may_end(const struct work *work, bool *ret_may, struct error *err)
{
    struct judge_hits_hold_params hold = { .lock = ADVISORY_LOCK_HITS, .brand_id = work->brand_id };
    struct judge_hits_any_new_params any_new = { .brand_id = work->brand_id };
    struct judge_hits_hold_row *held;
    struct judge_hits_any_new_row *found;
    if (!sql_judge_hits_hold(work->conn, work->arena, &hold, &held, err) ||
        !sql_judge_hits_any_new(work->conn, work->arena, &any_new, &found, err))
        return false;
    *ret_may = held->held && !found->any;
    return true;
}

bool hits_judge(const struct work *work, const struct hit_rules *rules, struct judge_left *ret_left, struct error *err)
{
    int64_t hold_us = (rules->hold_s + HITS_LATE_S) * US_PER_S;
    int64_t until_us = work->now_us - hold_us;
    struct judge_hits_state_params params = { .brand_id = work->brand_id, .rules_version = rules->version };
    struct judge_hits_state_row *state;
    bool has_judged_again = true;
    *ret_left = (struct judge_left){ .next_due_us = work->now_us };
    if (!sql_judge_hits_state(work->conn, work->arena, &params, &state, err))
        return false;
    if (state == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The judgement of the brand's hits has no state.");
    if (state->rules_version > rules->version) {
        ret_left->next_due_us = work->now_us + WAIT_FOR_NEWER_S * US_PER_S;
        return true;
    }
    if (state->oldest.set && state->oldest.value <= until_us)
        return judge_new(work, rules, until_us, err);
    if (state->rules_version < rules->version && !judge_again(work, rules, until_us, state, &has_judged_again, err))
        return false;
    if (has_judged_again && state->oldest.set)
        ret_left->next_due_us = state->oldest.value + hold_us;
    if (!has_judged_again || state->oldest.set)
        return true;
    ret_left->next_due_us = work->now_us + hold_us;
    return may_end(work, &ret_left->is_done, err);
}

/* ---- Upkeep ---- */

bool hits_tend(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
{
    struct judge_hits_wake_params wake = { .rules_version = hit_rules_built_in.version, .now = now_us };
    struct hits_erase_addresses_params erase = { .before = now_us - HITS_KEEP_ADDRESS_DAYS * day_us, .limit = ERASED_A_CALL };
    struct db_batch *batch = db_batch_new(conn, arena);
    db_batch_add(batch, &judge_hits_wake_statement, &wake);
    db_batch_add(batch, &hits_erase_addresses_statement, &erase);
    return db_batch_run(batch, err);
}
