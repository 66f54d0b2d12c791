/*
 * Results, hits, judgements, reports, unsubscribes and releases in random order,
 * each cut at times before its commit and repeated, or repeated after it. All
 * events, figures and suppressions must equal those of a reference ledger that
 * counts anew from the facts. The seed is printed. POSTHORN_TEST_SEED repeats it;
 * POSTHORN_LEDGER_SEEDS is the number of seeds.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/delivery/delivery.h"
#include "engine/hits/judge_hits.h"
#include "engine/operator/operator_suppressions.h"
#include "engine/sends/sends.h"
#include "engine/subscriptions/subscriptions.h"
#include "engine/suppressions/suppress.h"
#include "fixtures/reference_ledger.h"
#include "fixtures/stored_ledger.h"
#include "sql/suppress.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SEEDS = 30, STEPS = 120, STEPS_BETWEEN_COMPARISONS = 8 };
enum { CROWDED = 3 }; /* recipients of a send to whom most happens */

static const int64_t begun_us = INT64_C(1767225600) * US_PER_S; /* 2026-01-01 */
static const int64_t tick_us = 250 * 1000;
static const int64_t hour_us = INT64_C(3600) * US_PER_S;
static const int64_t day_us = INT64_C(86400) * US_PER_S;

static uint64_t seed;
static uint64_t random_state;
static struct reference_ledger *ledger;
static struct delivery_batch batches[LEDGER_SENDS]; /* leased; count 0: none */

/* xorshift64*: the same course for the same seed on every machine. */
static unsigned draw(unsigned below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717)) >> 33) % below;
}

/* ---- Comparing ---- */

static void compare(void)
{
    struct text_list expected = reference_lines(ledger, arena);
    struct text_list stored;
    struct error err;
    assert_ok(stored_ledger_lines(conn, arena, work.now_us, &stored, &err), &err);
    for (size_t i = 0; i < expected.count || i < stored.count; i++) {
        const char *line = i < expected.count ? expected.items[i] : "nothing";
        const char *found = i < stored.count ? stored.items[i] : "nothing";
        if (strcmp(line, found) != 0)
            fail_msg("POSTHORN_TEST_SEED=%" PRIu64 ": expected %s, found %s", seed, line, found);
    }
}

/* ---- Steps ---- */

/* Runs a step in a transaction. A cut one is rolled back at its end, as by a kill, and repeated. */
static void carry_out(void (*step)(const void *order), const void *order)
{
    bool is_committed = false;
    for (bool is_cut = draw(4) == 0; !is_committed; is_cut = false) {
        struct error err;
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        step(order);
        is_committed = !is_cut;
        if (is_committed)
            assert_ok(db_tx_commit(&tx, &err), &err);
    }
}

/* Lets the commits of functions with a transaction of their own fail: those that write results or end suppressions. */
static void set_cut(bool is_cut)
{
    run_sql("set ledger.cut = '%s'", is_cut ? "on" : "off");
}

static void make_functions(void)
{
    run_sql(STORED_LEDGER_FUNCTION
            "create or replace function cut_commit() returns trigger language plpgsql as $$ begin raise exception 'cut'; end $$;"
            "drop trigger if exists cut_commit on send_results; drop trigger if exists cut_commit on suppressions;"
            "create constraint trigger cut_commit after insert on send_results deferrable initially deferred for each row"
            " when (coalesce(current_setting('ledger.cut', true), '') = 'on') execute function cut_commit();"
            "create constraint trigger cut_commit after update or delete on suppressions deferrable initially deferred for each row"
            " when (coalesce(current_setting('ledger.cut', true), '') = 'on') execute function cut_commit()");
}

static void move_to(int64_t now_us)
{
    work.now_us = now_us;
    ledger->now_us = now_us;
}

static void advance(void)
{
    unsigned how = draw(20);
    int64_t step_us = how < 14 ? (1 + draw(80)) * tick_us : how < 18 ? (1 + draw(30)) * hour_us / 4 : (1 + draw(9)) * day_us;
    move_to(work.now_us + step_us);
}

static struct reference_contact *any_contact(void)
{
    return ledger->recipients[0][1 + draw(draw(3) == 0 ? LEDGER_CONTACTS : CROWDED)].contact;
}

/* A recipient whose message may have left. NULL when the first look finds none. */
static struct reference_recipient *any_mailed(int64_t *ret_send_id, int64_t *ret_ordinal)
{
    size_t send = draw(LEDGER_SENDS);
    *ret_send_id = ledger->send_ids[send];
    *ret_ordinal = 1 + draw(draw(3) == 0 ? LEDGER_CONTACTS : CROWDED);
    struct reference_recipient *recipient = &ledger->recipients[send][*ret_ordinal];
    return recipient->is_mailed ? recipient : NULL;
}

/* ---- Delivery ---- */

/* The suppressed and the unsubscribed get no message. */
static void note_batch(const struct delivery_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct reference_recipient *recipient = reference_recipient_of(ledger, batch->send_id, batch->recipients[i].ordinal);
        bool is_skipped = !recipient->contact->is_subscribed || reference_is_suppressed(ledger, recipient->contact);
        assert_int_equal(batch->results[i].outcome == DELIVERY_SKIPPED, is_skipped);
        recipient->is_mailed |= !is_skipped;
        recipient->source = recipient->contact->source;
    }
}

static bool take_batch(void)
{
    static const int64_t none[1];
    static const int64_t captured[] = { DELIVERY_CAPTURED };
    const struct delivery_lease_request request = {
        .owner = "me", .places = { captured, 1 }, .full = { none, 0 }, .put_off = { none, 0 }
    };
    struct error err;
    struct delivery_batch *batch = &batches[0];
    bool found;
    while (batch < batches + LEDGER_SENDS && batch->count > 0)
        batch++;
    if (batch == batches + LEDGER_SENDS)
        return false;
    assert_ok(delivery_take_range(&work, &request, batch, &found, &err), &err);
    if (!found)
        assert_ok(delivery_take_retries(&work, &request, batch, &found, &err), &err);
    batch->count = 0;
    if (!found)
        return false;
    assert_ok(delivery_fetch(&work, batch, &err), &err);
    assert_true(batch->count > 0);
    note_batch(batch);
    return true;
}

static struct delivery_result any_result(int64_t attempts)
{
    static const struct delivery_result results[] = {
        { .outcome = DELIVERY_DELIVERED },
        { .outcome = DELIVERY_DELIVERED },
        { .outcome = DELIVERY_DELIVERED },
        { .outcome = DELIVERY_DELIVERED },
        { .outcome = DELIVERY_BOUNCED, .reason = "hard", .reply = "550 5.1.1 No" },
        { .outcome = DELIVERY_BOUNCED, .reason = "block", .reply = "554 5.7.1 No" },
        { .outcome = DELIVERY_BOUNCED, .reason = "expired", .reply = "452 4.2.2 Full", .mailbox_full = true },
        { .outcome = DELIVERY_HELD, .reason = "the final reply never came", .uncertain = true },
        { .outcome = DELIVERY_FAILED, .reason = "The subject is too long." },
        { .outcome = DELIVERY_LATER, .reply = "451 4.0.0 Later" },
        { .outcome = DELIVERY_LATER, .reply = "451 4.0.0 Later" },
    };
    struct delivery_result result = results[draw(ARRAY_COUNT(results))];
    result.attempts = attempts + 1;
    result.due_us = work.now_us - US_PER_S;
    return result;
}

static void note_result(struct reference_recipient *recipient, const struct delivery_result *result)
{
    static const char *const names[DELIVERY_LATER + 1] = {
        [DELIVERY_DELIVERED] = "delivered", [DELIVERY_BOUNCED] = "bounced", [DELIVERY_SKIPPED] = "skipped",
        [DELIVERY_FAILED] = "failed",       [DELIVERY_HELD] = "held",
    };
    if (result->outcome == DELIVERY_LATER)
        return;
    recipient->outcome = names[result->outcome];
    recipient->decided_us = work.now_us;
    if (text_equal(result->reason, "hard"))
        reference_suppress(ledger, recipient->contact, "bounce", "result", 0);
    else if (result->mailbox_full)
        reference_suppress(ledger, recipient->contact, "bounce", "result", work.now_us + 14 * day_us);
}

/* A commit whose answer is lost is repeated, too. */
static void settle(struct delivery_batch *batch)
{
    struct error err;
    set_cut(draw(4) == 0);
    bool is_settled = delivery_settle(&work, batch, &err);
    set_cut(false);
    if (!is_settled || draw(6) == 0) {
        batch->is_unsure = true;
        for (size_t i = 0; i < batch->count; i++)
            batch->results[i].is_settled = false;
        assert_ok(delivery_settle(&work, batch, &err), &err);
    }
}

/* Decides some recipients of a batch, or all. */
static void settle_some(bool all)
{
    struct delivery_batch *batch = &batches[draw(LEDGER_SENDS)];
    bool any_open = false;
    if (batch->count == 0)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        struct delivery_result *result = &batch->results[i];
        bool is_decided = !result->is_settled && (result->outcome != DELIVERY_OPEN || all || draw(3) == 0);
        if (is_decided && result->outcome == DELIVERY_OPEN)
            *result = any_result(result->attempts);
        if (is_decided)
            note_result(reference_recipient_of(ledger, batch->send_id, batch->recipients[i].ordinal), result);
        any_open |= result->outcome == DELIVERY_OPEN;
    }
    settle(batch);
    if (!any_open)
        batch->count = 0;
}

/* ---- Hits ---- */

struct hits_order {
    struct hit hits[4];
    size_t count;
};

static void store_hits(const void *order)
{
    const struct hits_order *hits = order;
    struct error err;
    struct db_batch *batch = db_batch_new(conn, arena);
    hits_add(&work, batch, hits->hits, hits->count);
    assert_ok(db_batch_run(batch, &err), &err);
}

static struct hit any_hit(int64_t send_id, int64_t ordinal)
{
    static const char firefox[] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    static const char *const agents[] = { firefox,         firefox,         firefox, firefox, "Mozilla/5.0", "GoogleImageProxy",
                                          "Barracuda/1.0", "Something/1.0", "" };
    static const char *const addresses[] = {
        "203.0.113.77", "203.0.113.77", "203.0.113.77", "54.145.1.2", "17.1.1.1", "40.93.1.1"
    };
    bool is_open = draw(3) == 0;
    return (struct hit){
        .id = 1 + (int64_t)draw(1U << 30),
        .brand_id = work.brand_id,
        .send_id = send_id,
        .ordinal = ordinal,
        .kind = is_open ? HIT_OPEN : HIT_CLICK,
        .link = is_open         ? HIT_LINK_OPEN
                : draw(15) == 0 ? HIT_LINK_HIDDEN
                                : (int64_t)draw(5),
        .method = draw(10) == 0 ? "HEAD" : "GET",
        .agent = agents[draw(ARRAY_COUNT(agents))],
        .address = addresses[draw(ARRAY_COUNT(addresses))],
        .url = is_open ? NULL : "https://shop.example/",
        .at_us = work.now_us - draw(120) * tick_us,
    };
}

/* Moves hits beside an earlier one, as late hits come from the spool: they may change its judgement. */
static void come_late(struct hits_order *order)
{
    const struct hit *early = &ledger->hits[draw((unsigned)ledger->hit_count)];
    int64_t begin_us = early->at_us - (int64_t)draw(30) * tick_us;
    for (size_t i = 0; i < order->count; i++) {
        order->hits[i].send_id = early->send_id;
        order->hits[i].ordinal = early->ordinal;
        order->hits[i].at_us = begin_us + (int64_t)i * tick_us;
    }
}

/* One hit, a burst, or a sweep. An earlier hit may be stored again, as from the spool. */
static void add_hits(void)
{
    int64_t send_id;
    int64_t ordinal;
    struct hits_order order = { .count = draw(2) == 0 ? 1 : 1 + draw(4) };
    bool is_sweep = draw(4) == 0;
    any_mailed(&send_id, &ordinal);
    for (size_t i = 0; i < order.count; i++) {
        order.hits[i] = any_hit(send_id, ordinal);
        if (is_sweep && order.hits[i].kind == HIT_CLICK) {
            order.hits[i].link = (int64_t)i;
            order.hits[i].at_us = order.hits[0].at_us + (int64_t)i * 2 * tick_us;
        }
    }
    if (ledger->hit_count > 0 && draw(2) == 0)
        come_late(&order);
    carry_out(store_hits, &order);
    for (size_t i = 0; i < order.count; i++)
        reference_add_hit(ledger, &order.hits[i]);
    if (draw(3) == 0) {
        struct hits_order again = { .hits = { ledger->hits[draw((unsigned)ledger->hit_count)] }, .count = 1 };
        carry_out(store_hits, &again);
    }
}

static void judge_once(const void *order)
{
    (void)order;
    struct error err;
    struct judge_left left;
    assert_ok(hits_judge(&work, &hit_rules_built_in, &left, &err), &err);
}

static void judge(void)
{
    carry_out(judge_once, NULL);
    reference_judge(ledger, &hit_rules_built_in);
}

/* ---- Reports ---- */

struct report_order {
    struct report report;
    enum report_outcome outcome;
};

static void record_report(const void *order)
{
    const struct report_order *wanted = order;
    struct error err;
    enum report_outcome outcome;
    assert_ok(report_record(&work, &wanted->report, &outcome, &err), &err);
    if (outcome != wanted->outcome)
        fail_msg("POSTHORN_TEST_SEED=%" PRIu64 ": expected %s, found %s", seed, report_outcome_name(wanted->outcome),
                 report_outcome_name(outcome));
}

/* The ledger decides first, because the outcome is compared with its own. */
static void receive_report(const struct report *report)
{
    struct report_order order = { .report = *report, .outcome = reference_report(ledger, report) };
    carry_out(record_report, &order);
}

/* A report of any kind: of now, older, or too late; of a message of ours, of a stranger, or not matched. Some come twice. */
static void report(void)
{
    static const enum report_kind kinds[] = { REPORT_BOUNCE,      REPORT_BOUNCE,     REPORT_BOUNCE, REPORT_COMPLAINT,
                                              REPORT_UNSUBSCRIBE, REPORT_AUTO_REPLY, REPORT_DELAY,  REPORT_OTHER };
    struct report report = { .kind = kinds[draw(ARRAY_COUNT(kinds))],
                             .bounce = (enum bounce_class)draw(BOUNCE_REFUSED + 1),
                             .is_matched = draw(12) != 0,
                             .origin = { .brand_id = work.brand_id },
                             .source = "command",
                             .at_us = work.now_us - draw(4) * hour_us };
    const struct reference_recipient *recipient = any_mailed(&report.origin.send_id, &report.origin.ordinal);
    if (recipient == NULL)
        return;
    if (draw(8) == 0)
        report.at_us = work.now_us + (25 + draw(10)) * day_us;
    if (draw(12) == 0)
        report.origin.ordinal += 100;
    receive_report(&report);
    if (draw(4) == 0)
        receive_report(&report);
}

/* ---- Unsubscribes, suppressions, contacts ---- */

static void leave_once(const void *order)
{
    struct error err;
    assert_ok(subscription_leave(&work, order, &err), &err);
}

static void leave(void)
{
    struct unsubscribe_link link = { .brand_id = work.brand_id };
    struct reference_recipient *recipient = any_mailed(&link.send_id, &link.ordinal);
    if (recipient == NULL)
        return;
    address_hash(work.engine->address_key, recipient->contact->key, link.address_hash);
    carry_out(leave_once, &link);
    reference_leave(ledger, recipient);
}

struct suppress_order {
    const struct reference_contact *contact;
    const char *reason;
    const char *source;
};

static void suppress_once(const void *order)
{
    const struct suppress_order *wanted = order;
    struct error err;
    unsigned char hash[SECRET_HASH_BYTES];
    address_hash(work.engine->address_key, wanted->contact->key, hash);
    const struct suppression suppression = { .address_hash = hash, .reason = wanted->reason, .source = wanted->source };
    assert_ok(suppression_add(&work, &suppression, &err), &err);
}

/* A program unsubscribes an address, or the operator suppresses it. */
static void suppress(void)
{
    struct reference_contact *contact = any_contact();
    bool is_program = draw(2) == 0;
    const struct suppress_order order = { contact, is_program ? "unsubscribed" : "operator", is_program ? "api" : "operator" };
    carry_out(suppress_once, &order);
    reference_suppress(ledger, contact, order.reason, order.source, 0);
}

static bool release_once(const struct reference_contact *contact, bool unsubscribed)
{
    struct error err;
    struct json_writer json;
    json_writer_init(&json, buf_in_arena(arena, 1024 * 1024));
    bool is_done = operator_release_suppression(&work, contact->key, unsubscribed, &json, &err);
    if (db_in_transaction(conn))
        run_sql("rollback");
    return is_done;
}

static void release(void)
{
    struct reference_contact *contact = any_contact();
    bool unsubscribed = draw(2) == 0;
    set_cut(draw(4) == 0);
    bool is_done = release_once(contact, unsubscribed);
    set_cut(false);
    is_done = is_done || release_once(contact, unsubscribed);
    assert_int_equal(is_done, reference_release(ledger, contact, unsubscribed));
}

static void forget_once(const void *order)
{
    (void)order;
    struct error err;
    struct suppressions_forget_params params = { .now = work.now_us, .limit = 100 };
    assert_ok(sql_suppressions_forget(conn, arena, &params, NULL, &err), &err);
}

/* A contact was deleted and made anew by another way. */
static void change_source(void)
{
    struct reference_contact *contact = any_contact();
    contact->source = text_equal(contact->source, "s0") ? "s1" : "s0";
    run_sql("update contacts set source = '%s' where email_key = '%s'", contact->source, contact->key);
}

static void any_step(void)
{
    unsigned which = draw(100);
    if (which < 20)
        advance();
    else if (which < 27)
        take_batch();
    else if (which < 40)
        settle_some(draw(4) == 0);
    else if (which < 60)
        add_hits();
    else if (which < 70)
        judge();
    else if (which < 82)
        report();
    else if (which < 87)
        leave();
    else if (which < 91)
        suppress();
    else if (which < 94)
        release();
    else if (which < 95)
        carry_out(forget_once, NULL);
    else
        change_source();
}

/* ---- Rounds ---- */

static void make_contacts(void)
{
    for (int i = 0; i < LEDGER_CONTACTS; i++) {
        struct reference_contact *contact = &ledger->contacts[i];
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(arena, 2 * sizeof(hash) + 1);
        contact->key = arena_printf(arena, "r%d@d%d.example", i, i % 3);
        address_hash(work.engine->address_key, contact->key, hash);
        hex_encode(hash, sizeof(hash), hex);
        contact->hash = hex;
        contact->source = i % 2 == 0 ? "s0" : "s1";
        contact->is_subscribed = true;
        run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
                " values (%lld, '%s', '%s', '%s', true, now(), now())",
                (long long)work.brand_id, contact->key, contact->key, contact->source);
    }
}

static void make_send(size_t send)
{
    struct error err;
    struct send_accepted accepted;
    bool begun;
    struct send_request request = {
        .email_id = design_of("<p>Hi</p>", "Hi\n"),
        .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
        .audience = "all",
        .subject = "News",
    };
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_ok(delivery_begin(&work, accepted.id, &begun, &err), &err);
    assert_true(begun);
    ledger->send_ids[send] = accepted.id;
}

/* Learns which contact has which ordinal. */
static void read_recipients(size_t send)
{
    struct error err;
    struct text_list keys;
    assert_ok(stored_recipient_keys(conn, arena, ledger->send_ids[send], &keys, &err), &err);
    assert_int_equal(keys.count, LEDGER_CONTACTS);
    for (size_t i = 0; i < keys.count; i++)
        for (size_t j = 0; j < LEDGER_CONTACTS; j++)
            if (strcmp(keys.items[i], ledger->contacts[j].key) == 0)
                ledger->recipients[send][i + 1].contact = &ledger->contacts[j];
}

static void begin_round(void)
{
    run_sql("delete from recipient_events; delete from contact_activity; delete from event_rollups; delete from report_counts;"
            "delete from hits; delete from hit_judgements");
    random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    random_state += random_state == 0;
    ledger = arena_alloc(arena, sizeof(*ledger));
    *ledger = (struct reference_ledger){ 0 };
    memset(batches, 0, sizeof(batches));
    move_to(begun_us + 20 * hour_us);
    make_contacts();
    for (size_t i = 0; i < LEDGER_SENDS; i++)
        make_send(i);
    for (size_t i = 0; i < LEDGER_SENDS; i++)
        read_recipients(i);
}

static void run_round(void)
{
    begin_round();
    for (int step = 1; step <= STEPS; step++) {
        any_step();
        if (step % STEPS_BETWEEN_COMPARISONS == 0)
            compare();
    }
    while (!reference_is_decided(ledger)) {
        take_batch();
        settle_some(true);
    }
    move_to(work.now_us + day_us);
    judge();
    compare();
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 0);
}

/* R-288, D-116, D-117, D-118 */
static void test_figures_are_those_of_the_ledger(void **state)
{
    const char *given = getenv("POSTHORN_TEST_SEED");
    const char *seeds = getenv("POSTHORN_LEDGER_SEEDS");
    unsigned long rounds = seeds != NULL ? strtoul(seeds, NULL, 10) : SEEDS;
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_now_us();
    print_message("POSTHORN_TEST_SEED=%" PRIu64 "\n", seed);
    make_functions();
    for (unsigned long round = 0; round < rounds; round++, seed++) {
        world_leave(state);
        world_reset(state);
        run_round();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_figures_are_those_of_the_ledger) };
    return cmocka_run_group_tests_name("engine_ledger_property", tests, world_begin, world_end);
}
