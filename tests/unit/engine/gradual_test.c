/*
 * Gradual sends: the shares and times of tranches, the order of the recipients, the
 * release of tranches by the job, the guard and the allowance. The clock is the time of
 * the work.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/delivery/delivery.h"
#include "engine/delivery/tranches.h"
#include "engine/ledger/ledger.h"
#include "engine/sends/confirm.h"
#include "engine/sends/explain.h"
#include "engine/sends/gradual.h"
#include "engine/sends/sends.h"

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body><p>Hello</p></body></html>";
static const int64_t hour_us = 3600 * US_PER_S;
static const int64_t day_us = 86400 * US_PER_S;

static struct gradual_plan plan_of(double start, double increment, int64_t interval, bool is_daily, const char *zone)
{
    struct gradual_plan plan = {
        .starting_percentage = start,
        .increment_percentage = increment,
        .interval_value = interval,
        .is_daily = is_daily,
        .time_zone = zone,
    };
    gradual_plan_load(arena, &plan);
    return plan;
}

/* ---- Shares ---- */

static void test_tranches_end_at_the_shares(void **state) /* D-121 */
{
    (void)state;
    static const struct {
        double start, increment;
        int64_t recipients;
        int64_t count;
        int64_t ends[5];
    } plans[] = {
        { 10, 30, 1000, 4, { 100, 400, 700, 1000 } },
        { 100, 0, 7, 1, { 7 } },
        { 100, 50, 7, 1, { 7 } },
        { 0.1, 99.9, 1000, 2, { 1, 1000 } },
        { 33.3, 33.3, 1000, 4, { 333, 666, 999, 1000 } },
        { 33.3, 33.35, 1000, 3, { 333, 667, 1000 } },
        { 50, 25, 3, 3, { 2, 3, 3 } }, /* rounded up to whole recipients */
        { 25, 25, 1, 4, { 1, 1, 1, 1 } },
        { 60, 60, 10, 2, { 6, 10 } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++) {
        struct gradual_plan plan = plan_of(plans[i].start, plans[i].increment, 1, true, "UTC");
        assert_int_equal(gradual_tranche_count(&plan), plans[i].count);
        for (int64_t tranche = 1; tranche <= plans[i].count; tranche++)
            assert_int_equal(gradual_tranche_end(&plan, plans[i].recipients, tranche), plans[i].ends[tranche - 1]);
    }
}

/* Any plan that is accepted reaches each recipient in exactly one tranche. */
static void test_tranches_are_a_partition(void **state) /* D-121 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int accepted = 0;
    srand(20261122);
    for (int round = 0; round < 20000; round++) {
        int decimals = rand() % 4;
        double unit = decimals == 0 ? 1 : decimals == 1 ? 10 : decimals == 2 ? 100 : 7;
        struct gradual_plan plan = plan_of((rand() % 1000 + 1) / unit, rand() % 1000 / unit, 1, false, "UTC");
        int64_t recipients = rand() % (round % 2 == 0 ? 40 : 5000000);
        err.code = ERR_NONE;
        if (plan.starting_percentage > 100 || plan.increment_percentage > 100 || !gradual_plan_check(&work, &plan, &err))
            continue;
        accepted++;
        int64_t count = gradual_tranche_count(&plan);
        assert_in_range(count, 1, GRADUAL_TRANCHES_MAX);
        int64_t before = 0;
        for (int64_t tranche = 1; tranche <= count; tranche++) {
            int64_t end = gradual_tranche_end(&plan, recipients, tranche);
            assert_true(end >= before && end <= recipients);
            if (end > before) {
                assert_int_equal(gradual_tranche_of(&plan, recipients, before + 1), tranche);
                assert_int_equal(gradual_tranche_of(&plan, recipients, end), tranche);
            }
            before = end;
        }
        assert_int_equal(before, recipients);
        assert_true(count == 1 || gradual_tranche_end(&plan, 100000000, count - 1) < 100000000);
        assert_true(recipients == 0 || gradual_tranche_end(&plan, recipients, 1) > 0);
    }
    assert_true(accepted > 5000);
}

static void test_plans_are_checked(void **state) /* D-47, D-121 */
{
    (void)state;
    static const struct {
        struct gradual_plan plan;
        const char *param;   /* NULL: accepted */
        const char *message; /* a part of it */
    } plans[] = {
        { { 10, 10, 24, false, "Europe/Lisbon", NULL }, NULL, NULL },
        { { 10, 10, 25, false, "UTC", NULL }, "gradualSend.interval.value", "1 to 24 hours" },
        { { 50, 50, 30, true, "UTC", NULL }, NULL, NULL },
        { { 50, 25, 30, true, "UTC", NULL }, "gradualSend.interval.value", "60 days after the first" },
        { { 100, 0, 30, true, "UTC", NULL }, NULL, NULL },
        { { 99.9, 0, 1, true, "UTC", NULL }, "gradualSend.incrementPercentage", "stays at 99.9 percent" },
        { { 50, 0.0000001, 1, true, "UTC", NULL }, "gradualSend.incrementPercentage", "stays at 50 percent" },
        { { 1, 1, 1, false, "UTC", NULL }, "gradualSend.incrementPercentage", "100 tranches, and at most 30" },
        { { 1, 3.41, 1, false, "UTC", NULL }, "gradualSend.incrementPercentage", "at least 3.42" },
        { { 1, 3.42, 1, false, "UTC", NULL }, NULL, NULL },
        { { 1, 3.42, 1, true, "UTC", NULL }, NULL, NULL },
        { { 10, 90, 1, true, "Europe/Atlantis", NULL }, "gradualSend.timeZone", "Europe/Atlantis is not an IANA time zone" },
        { { 10, 90, 1, true, "../../../etc/passwd", NULL }, "gradualSend.timeZone", "is not an IANA time zone" },
        { { 10, 90, 1, true, "", NULL }, "gradualSend.timeZone", "is not an IANA time zone" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++) {
        struct error err = { .code = ERR_NONE };
        struct gradual_plan plan = plans[i].plan;
        assert_int_equal(gradual_plan_check(&work, &plan, &err), plans[i].param == NULL);
        if (plans[i].param == NULL)
            continue;
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, plans[i].param);
        assert_non_null(strstr(err.message, plans[i].message));
    }
}

/* ---- Times ---- */

static int64_t utc(const char *iso)
{
    int64_t at_us;
    assert_true(clock_parse_iso(iso, &at_us));
    return at_us;
}

static void assert_slots(const char *zone, const char *anchor, int64_t days, const char *const expected[], size_t count)
{
    struct gradual_plan plan = plan_of(10, 10, days, true, zone);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(clock_iso(arena, gradual_slot_us(&plan, utc(anchor), (int64_t)i)), expected[i]);
}

static void test_days_keep_the_local_time(void **state) /* D-121 */
{
    (void)state;
    /* 09:00 in Berlin, over the change of 2027-03-28 (+1 h) and of 2026-10-25 (-1 h). */
    static const char *const spring[] = { "2027-03-27T08:00:00.000Z", "2027-03-28T07:00:00.000Z", "2027-03-29T07:00:00.000Z" };
    static const char *const autumn[] = { "2026-10-24T07:00:00.000Z", "2026-10-25T08:00:00.000Z", "2026-10-26T08:00:00.000Z" };
    assert_slots("Europe/Berlin", spring[0], 1, spring, ARRAY_COUNT(spring));
    assert_slots("Europe/Berlin", autumn[0], 1, autumn, ARRAY_COUNT(autumn));
    /* 02:30 does not exist on one day, which is 03:30 then; on another it occurs twice, and the first counts. */
    static const char *const gap[] = { "2027-03-27T01:30:00.000Z", "2027-03-28T01:30:00.000Z", "2027-03-29T00:30:00.000Z" };
    static const char *const twice[] = { "2026-10-24T00:30:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z" };
    assert_slots("Europe/Berlin", gap[0], 1, gap, ARRAY_COUNT(gap));
    assert_slots("Europe/Berlin", twice[0], 1, twice, ARRAY_COUNT(twice));
    /* West of Greenwich, and a zone without changes. */
    static const char *const west[] = { "2027-03-13T14:00:00.000Z", "2027-03-14T13:00:00.000Z", "2027-03-15T13:00:00.000Z" };
    static const char *const fixed[] = { "2027-03-13T03:45:00.000Z", "2027-03-20T03:45:00.000Z", "2027-03-27T03:45:00.000Z" };
    assert_slots("America/New_York", west[0], 1, west, ARRAY_COUNT(west));
    assert_slots("Asia/Kathmandu", fixed[0], 7, fixed, ARRAY_COUNT(fixed));
}

static void test_hours_are_hours(void **state) /* D-121 */
{
    (void)state;
    struct gradual_plan plan = plan_of(10, 10, 12, false, "Europe/Berlin");
    int64_t anchor = utc("2026-10-24T20:00:00.000Z");
    for (int64_t slot = 0; slot < 5; slot++)
        assert_int_equal(gradual_slot_us(&plan, anchor, slot), anchor + slot * 12 * hour_us);
}

static void test_a_late_tranche_keeps_its_distance(void **state)
{
    (void)state;
    struct gradual_plan plan = plan_of(10, 10, 1, true, "Europe/Berlin");
    int64_t anchor = utc("2026-10-23T07:00:00.000Z");
    /* 13 hours late: the next slot is less than half an interval away, so it is left out. */
    static const char *const nexts[][2] = {
        { "2026-10-23T07:00:00.000Z", "2026-10-24T07:00:00.000Z" }, { "2026-10-23T07:00:01.000Z", "2026-10-24T07:00:00.000Z" },
        { "2026-10-24T10:00:00.000Z", "2026-10-25T08:00:00.000Z" }, { "2026-10-24T21:00:00.000Z", "2026-10-26T08:00:00.000Z" },
        { "2027-08-01T07:00:00.000Z", "2027-08-02T07:00:00.000Z" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(nexts); i++)
        assert_string_equal(clock_iso(arena, gradual_next_tranche_us(&plan, anchor, utc(nexts[i][0]))), nexts[i][1]);
    /* The tranches after the next one. */
    int64_t next = utc("2026-10-24T07:00:00.000Z");
    assert_int_equal(gradual_tranche_due_us(&plan, anchor, next, 0), next);
    assert_string_equal(clock_iso(arena, gradual_tranche_due_us(&plan, anchor, next, 1)), "2026-10-25T08:00:00.000Z");
    assert_string_equal(clock_iso(arena, gradual_tranche_due_us(&plan, anchor, next, 2)), "2026-10-26T08:00:00.000Z");
}

/* ---- Sends ---- */

static int64_t sandbox_id(void)
{
    return number_of("select min(id) from domains where kind = 'sandbox'");
}

static void make_contacts(int count)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "select %lld, 'reader' || lpad(n::text, 6, '0') || '@example.com', 'reader' || lpad(n::text, 6, '0') || '@example.com',"
            "       'API', true, now(), now() from generate_series(1, %d) n",
            (long long)work.brand_id, count);
}

struct begun {
    int64_t id;
    int64_t job_id;
};

static struct begun create_at(const struct gradual_plan *plan, struct opt_int scheduled_at_us)
{
    struct error err;
    struct send_accepted accepted;
    struct begun send;
    struct send_request request = {
        .email_id = design_of(html, "Hello"),
        .domain_id = sandbox_id(),
        .audience = "all",
        .subject = "News",
        .scheduled_at_us = scheduled_at_us,
        .gradual = plan,
    };
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    send.id = accepted.id;
    struct campaign_payload payload = { .send_id = accepted.id };
    assert_ok(ledger_enqueue(&work, campaign_job(arena, &payload), work.now_us, NULL, &send.job_id, &err), &err);
    assert_ok(send_set_job(&work, accepted.id, send.job_id, &err), &err);
    return send;
}

static struct begun create(const struct gradual_plan *plan)
{
    return create_at(plan, (struct opt_int){ .set = false });
}

static bool begin(struct begun send)
{
    struct error err;
    bool begun;
    assert_ok(delivery_begin(&work, send.id, &begun, &err), &err);
    return begun;
}

/* As a round of the job does it. */
static struct opt_int go_on(struct begun send)
{
    struct error err;
    struct opt_int next_us;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(delivery_continue(&work, send.id, send.job_id, &next_us, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    return next_us;
}

/* Delivers everything that can be leased. Of each range the first `bounces` recipients bounce. Returns the messages. */
static int64_t deliver(size_t bounces)
{
    struct error err;
    static const int64_t captured[] = { DELIVERY_CAPTURED };
    static const int64_t none[1];
    struct delivery_lease_request wish = { .owner = "me", .places = { captured, 1 }, .full = { none, 0 }, .put_off = { none, 0 } };
    int64_t messages = 0;
    for (;;) {
        struct delivery_batch batch;
        bool found;
        assert_ok(delivery_take_range(&work, &wish, &batch, &found, &err), &err);
        if (!found)
            return messages;
        assert_ok(delivery_fetch(&work, &batch, &err), &err);
        for (size_t i = 0; i < batch.count; i++) {
            if (batch.results[i].outcome == DELIVERY_SKIPPED)
                continue;
            batch.results[i].outcome = i < bounces ? DELIVERY_BOUNCED : DELIVERY_DELIVERED;
            batch.results[i].reason = i < bounces ? "refused" : NULL;
            batch.results[i].attempts = 1;
            messages++;
        }
        assert_ok(delivery_settle(&work, &batch, &err), &err);
    }
}

static const struct send_row *row_of(struct begun send)
{
    struct error err;
    struct send_find_params find = { .brand_id = work.brand_id, .id = send.id };
    struct send_row *row;
    assert_ok(sql_send_find(conn, arena, &find, &row, &err), &err);
    return row;
}

static void assert_state(struct begun send, const char *status, int64_t tranche, int64_t released)
{
    assert_string_equal(row_of(send)->status, status);
    assert_int_equal(row_of(send)->gradual_tranche.value, tranche);
    assert_int_equal(number_of("select released from gradual_sends"), released);
    assert_int_equal(number_of("select coalesce(sum(to_ordinal - from_ordinal + 1), 0)::bigint from send_ranges"), released);
}

static void test_tranches_go_out_one_by_one(void **state) /* R-278, D-121 */
{
    (void)state;
    make_contacts(1203);
    struct gradual_plan plan = plan_of(10, 45, 1, true, "UTC");
    int64_t start_us = work.now_us;
    struct begun send = create(&plan);
    assert_true(begin(send));
    assert_state(send, "running", 1, 121);
    assert_int_equal(number_of("select count(*) from send_recipients"), 1203);
    assert_int_equal(number_of("select sent from email_usage"), 121);
    assert_int_equal(deliver(0), 121);
    assert_string_equal(row_of(send)->status, "running"); /* the others wait for their tranche */

    work.now_us = start_us + day_us - 1;
    assert_int_equal(go_on(send).value, start_us + day_us);
    assert_state(send, "running", 1, 121);
    work.now_us = start_us + day_us;
    assert_true(go_on(send).set);
    go_on(send); /* it is released once */
    begin(send);
    assert_state(send, "running", 2, 662);
    assert_int_equal(deliver(0), 541);
    work.now_us = start_us + 2 * day_us + hour_us;
    go_on(send);
    assert_state(send, "running", 3, 1203);
    assert_false(row_of(send)->next_tranche_at.set);
    assert_int_equal(deliver(0), 541);
    assert_string_equal(row_of(send)->status, "completed");
    assert_false(go_on(send).set);
    assert_int_equal(number_of("select count(distinct email)::bigint from send_recipients r join send_results t using (brand_id, "
                               "send_id, ordinal) where t.outcome = 'delivered'"),
                     1203);
    assert_int_equal(number_of("select sum(sent)::bigint from email_usage"), 1203);
}

/* The next tranches have the scheduled time of the day, although the first was late. */
static void test_a_schedule_is_the_first_slot(void **state) /* D-121 */
{
    (void)state;
    make_contacts(10);
    struct gradual_plan plan = plan_of(10, 45, 1, true, "Europe/Berlin");
    work.now_us = utc("2026-10-20T12:00:00.000Z");
    struct begun send = create_at(&plan, (struct opt_int){ .set = true, .value = utc("2026-10-24T07:00:00.000Z") });
    assert_string_equal(row_of(send)->status, "scheduled");
    work.now_us = utc("2026-10-24T07:20:00.000Z");
    assert_true(begin(send));
    assert_string_equal(clock_iso(arena, row_of(send)->next_tranche_at.value), "2026-10-25T08:00:00.000Z");
}

static void test_nobody_is_an_end(void **state)
{
    (void)state;
    make_contacts(3);
    struct gradual_plan plan = plan_of(10, 45, 1, true, "UTC");
    struct begun send = create(&plan);
    run_sql("update contacts set subscribed = false");
    assert_true(begin(send));
    assert_string_equal(row_of(send)->status, "completed");
    assert_false(go_on(send).set);
}

/* One tranche of three people is everybody: there is nothing to wait for. */
static void test_everybody_may_be_in_an_early_tranche(void **state)
{
    (void)state;
    make_contacts(1);
    struct gradual_plan plan = plan_of(1, 50, 1, true, "UTC");
    struct begun send = create(&plan);
    assert_true(begin(send));
    assert_state(send, "running", 1, 1);
    assert_int_equal(deliver(0), 1);
    assert_string_equal(row_of(send)->status, "completed");
}

static void test_a_tranche_is_a_fair_sample(void **state) /* D-121 */
{
    (void)state;
    make_contacts(4000);
    struct gradual_plan plan = plan_of(25, 25, 1, true, "UTC");
    begin(create(&plan));
    begin(create(&plan));
    assert_int_equal(number_of("select count(*) from send_recipients"), 8000);
    assert_int_equal(number_of("select count(distinct (send_id, ordinal))::bigint from send_recipients"), 8000);
    /* Of each quarter of the addresses about 250 are in the first tranche: 4 standard deviations are 54. */
    assert_in_range(
        number_of("select min(people) from (select count(*) as people from send_recipients where ordinal <= 1000 group by "
                  "send_id, (substr(email, 7, 6)::int - 1) / 1000) q"),
        190, 250);
    assert_in_range(
        number_of("select max(people) from (select count(*) as people from send_recipients where ordinal <= 1000 group by "
                  "send_id, (substr(email, 7, 6)::int - 1) / 1000) q"),
        250, 310);
    /* Two sends do not begin with the same people: about 250 of 1000 are in both first tranches. */
    assert_in_range(number_of("select count(*) from send_recipients a join send_recipients b on b.email_key = a.email_key and "
                              "b.send_id > a.send_id where a.ordinal <= 1000 and b.ordinal <= 1000"),
                    190, 310);
}

static void test_lists_go_out_in_tranches(void **state) /* */
{
    (void)state;
    struct error err;
    struct send_accepted accepted;
    static const char *const to[] = { "a@example.com", "b@example.com", "c@example.com", "d@example.com" };
    struct gradual_plan plan = plan_of(50, 50, 1, false, "UTC");
    struct send_request request = {
        .email_id = design_of(html, "Hello"),
        .domain_id = sandbox_id(),
        .to = { to, ARRAY_COUNT(to) },
        .subject = "News",
        .gradual = &plan,
    };
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    struct begun send = { .id = accepted.id };
    assert_true(begin(send));
    assert_state(send, "running", 1, 2);
    assert_int_equal(number_of("select count(distinct ordinal)::bigint from send_recipients where ordinal between 1 and 4"), 4);
    assert_int_equal(number_of("select count(*) from send_recipients r join gradual_sends g using (send_id) where (select count(*) "
                               "from send_recipients b where sha256(g.sample_key || convert_to(b.email_key, 'UTF8')) <= "
                               "sha256(g.sample_key || convert_to(r.email_key, 'UTF8'))) = r.ordinal"),
                     4);
}

/* ---- Pause, resume, cancel ---- */

static void pause_send(struct begun send)
{
    struct error err;
    struct send_row *row;
    assert_ok(send_pause(&work, send.id, &row, &err), &err);
    assert_string_equal(row->status, "paused");
    assert_string_equal(row->pause_reason, "manual");
}

static struct begun resume(struct begun send)
{
    struct error err;
    struct send_row *row;
    assert_ok(send_resume(&work, send.id, &row, &err), &err);
    assert_string_equal(row->status, "running");
    assert_true(row->resumed_at.set && row->resumed_at.value == work.now_us);
    assert_null(row->error);
    assert_true(gradual_is_running(row));
    struct campaign_payload payload = { .send_id = send.id };
    struct begun again = { .id = send.id };
    assert_ok(ledger_enqueue(&work, campaign_job(arena, &payload), work.now_us, NULL, &again.job_id, &err), &err);
    assert_ok(send_set_job(&work, send.id, again.job_id, &err), &err);
    return again;
}

static void test_a_pause_holds_the_tranches(void **state) /* */
{
    (void)state;
    make_contacts(100);
    struct gradual_plan plan = plan_of(20, 40, 1, true, "UTC");
    int64_t start_us = work.now_us;
    struct begun send = create(&plan);
    begin(send);
    assert_int_equal(deliver(0), 20);
    pause_send(send);
    int64_t paused_us = work.now_us;
    pause_send(send); /* again: nothing changes */
    assert_int_equal(row_of(send)->paused_at.value, paused_us);
    assert_int_equal(number_of("select count(*) from jobs where state = 'canceled'"), 1);
    work.now_us = start_us + 2 * day_us + hour_us;
    assert_false(go_on(send).set);
    assert_state(send, "paused", 1, 20);

    struct begun again = resume(send);
    assert_int_equal(row_of(send)->next_tranche_at.value, start_us + 3 * day_us); /* at its local time */
    assert_false(go_on(send).set);                                                /* the job of before the pause */
    work.now_us = start_us + 3 * day_us;
    assert_false(go_on(send).set);
    assert_true(go_on(again).set);
    assert_state(send, "running", 2, 60);
    assert_int_equal(deliver(0), 40);
    pause_send(again);
    struct begun third = resume(again); /* before the time of the next tranche: it does not move */
    assert_int_equal(row_of(send)->next_tranche_at.value, start_us + 4 * day_us);
    work.now_us = start_us + 4 * day_us;
    go_on(third);
    assert_int_equal(deliver(0), 40);
    assert_string_equal(row_of(send)->status, "completed");
}

static void test_a_canceled_send_returns_what_it_used(void **state) /* */
{
    (void)state;
    make_contacts(100);
    struct error err = { .code = ERR_NONE };
    struct send_row *row;
    struct gradual_plan plan = plan_of(20, 40, 1, true, "UTC");
    struct begun send = create(&plan);
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 200)",
            (long long)work.organization_id);
    begin(send);
    assert_int_equal(number_of("select sent from email_usage"), 220);
    assert_false(send_cancel(&work, send.id, &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_CANCELLABLE);
    assert_non_null(strstr(err.message, "Pause it first"));
    assert_state(send, "running", 1, 20);
    pause_send(send);
    assert_ok(send_cancel(&work, send.id, &row, &err), &err);
    assert_string_equal(row->status, "canceled");
    assert_int_equal(number_of("select sent from email_usage"), 200); /* not less: the others were not counted */
    assert_int_equal(deliver(0), 0);
    work.now_us += 2 * day_us;
    assert_false(go_on(send).set);
    assert_state(send, "canceled", 1, 20);
    err.code = ERR_NONE;
    assert_false(send_pause(&work, send.id, &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_PAUSABLE);
}

static void test_giving_up_returns_what_it_used(void **state)
{
    (void)state;
    make_contacts(100);
    struct error err;
    struct gradual_plan plan = plan_of(20, 40, 1, true, "UTC");
    struct begun send = create(&plan);
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 200)",
            (long long)work.organization_id);
    begin(send);
    assert_int_equal(number_of("select sent from email_usage"), 220);
    assert_ok(delivery_give_up(&work, send.id, "Delivery stopped.", &err), &err);
    assert_int_equal(number_of("select sent from email_usage"), 200);
    assert_false(go_on(send).set);
}

static void test_the_operator_pauses_a_gradual_send(void **state)
{
    (void)state;
    make_contacts(100);
    struct error err;
    struct gradual_plan plan = plan_of(20, 40, 1, true, "UTC");
    struct begun send = create(&plan);
    begin(send);
    assert_ok(send_pause_running(&work, send.id, &err), &err);
    assert_true(row_of(send)->paused_at.set);
    assert_false(go_on(send).set);
    struct begun again = resume(send);
    work.now_us += day_us;
    assert_true(go_on(again).set);
    assert_state(send, "running", 2, 60);
}

/* ---- What is told ---- */

static const json_t *why(const char *email)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    struct json_writer writer;
    json_writer_init(&writer, out);
    assert_ok(send_why(&work, email, 0, &writer, &err), &err);
    const json_t *answer;
    struct json_bounds bounds = { .max_bytes = out->size };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &answer, &err), &err);
    return json_array_get(json_object_get(answer, "sends"), 0);
}

static void assert_told(const char *email, int64_t tranche, const char *due, const char *summary)
{
    const json_t *send = why(email);
    assert_int_equal(json_integer_value(json_object_get(send, "tranche")), tranche);
    assert_int_equal(json_integer_value(json_object_get(send, "tranches")), 3);
    assert_int_equal(json_object_get(send, "trancheDueAt") != NULL, due != NULL);
    if (due != NULL)
        assert_string_equal(json_string_value(json_object_get(send, "trancheDueAt")), due);
    assert_string_equal(json_string_value(json_object_get(send, "summary")), summary);
}

static void test_why_tells_the_tranche(void **state)
{
    (void)state;
    make_contacts(10);
    work.now_us = utc("2026-10-24T07:00:00.000Z");
    struct gradual_plan plan = plan_of(20, 40, 1, true, "Europe/Berlin");
    struct begun send = create(&plan);
    begin(send);
    for (int i = 1; i <= 10; i++) /* the ordinal is part of the address */
        run_sql("update send_recipients set email_key = 'n%d@example.com' where ordinal = %d", i, i);
    assert_told("n2@example.com", 1, NULL, "Queued in the running send.");
    assert_told("n3@example.com", 2, "2026-10-25T08:00:00.000Z",
                "Not mailed yet: waits for tranche 2 of 3, due at 2026-10-25T08:00:00.000Z.");
    assert_told("n10@example.com", 3, "2026-10-26T08:00:00.000Z",
                "Not mailed yet: waits for tranche 3 of 3, due at 2026-10-26T08:00:00.000Z.");
    pause_send(send);
    assert_told("n7@example.com", 3, NULL, "Not mailed yet: waits for tranche 3 of 3; the send is paused.");
    run_sql("update sends set error = 'A guard.'");
    assert_told("n7@example.com", 3, NULL, "Not mailed yet: waits for tranche 3 of 3; the send is paused. A guard.");
    run_sql("update sends set error = null, pause_reason = 'plan_limit'");
    assert_told("n7@example.com", 3, NULL,
                "Not mailed yet: waits for tranche 3 of 3; the send is paused until the plan's allowance suffices.");
    run_sql("update sends set status = 'canceled', pause_reason = null");
    assert_told("n7@example.com", 3, NULL, "Not mailed: the send is canceled. ");
}

static void test_a_preview_tells_the_tranches(void **state)
{
    (void)state;
    struct error err;
    struct send_accepted accepted;
    make_contacts(30);
    work.now_us = utc("2026-10-24T07:00:00.000Z");
    struct gradual_plan plan = plan_of(10, 45, 1, true, "Europe/Berlin");
    struct send_request request = {
        .email_id = design_of(html, "Hello"),
        .domain_id = sandbox_id(),
        .audience = "all",
        .subject = "News",
        .gradual = &plan,
        .confirm_above = { .set = true, .value = 20 },
    };
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_non_null(accepted.preview);
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    struct json_writer writer;
    json_writer_init(&writer, out);
    send_write_preview(accepted.preview, &writer);
    assert_non_null(strstr(buf_text(out), "\"tranches\":[{\"at\":\"2026-10-24T07:00:00.000Z\",\"recipients\":3},"
                                          "{\"at\":\"2026-10-25T08:00:00.000Z\",\"recipients\":14},"
                                          "{\"at\":\"2026-10-26T08:00:00.000Z\",\"recipients\":13}]"));
    assert_non_null(strstr(send_preview_question(arena, accepted.preview),
                           "In 3 tranches: 3 recipients at the start, everybody by 2026-10-26T08:00:00.000Z."));
    /* The token confirms this plan only. */
    struct gradual_plan other = plan_of(10, 90, 1, true, "Europe/Berlin");
    request.confirmation = accepted.preview->token;
    request.gradual = &other;
    assert_false(send_create(&work, &request, &accepted, &err));
    assert_string_equal(err.param, "confirmationToken");
    request.gradual = NULL;
    assert_false(send_create(&work, &request, &accepted, &err));
    request.gradual = &plan;
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_null(accepted.preview);
}

/* ---- The guard ---- */

static void test_bounces_stop_a_send(void **state) /* D-120 */
{
    (void)state;
    make_contacts(1000);
    struct gradual_plan plan = plan_of(10, 45, 1, true, "UTC");
    int64_t start_us = work.now_us;
    struct begun send = create(&plan);
    begin(send);
    assert_int_equal(deliver(5), 100);
    assert_false(go_on(send).set);
    assert_state(send, "paused", 1, 100);
    assert_string_equal(row_of(send)->pause_reason, "manual");
    assert_true(row_of(send)->paused_at.set);
    assert_string_equal(row_of(send)->error, "The bounce guard paused this send: 5 of 100 messages (5.0 %); the limit is 5.0 %. A "
                                             "resume continues it and counts anew.");
    struct begun again = resume(send); /* the same figures do not stop it again */
    work.now_us = start_us + day_us;
    assert_true(go_on(again).set);
    assert_state(send, "running", 2, 550);
    assert_int_equal(deliver(22), 450);
    assert_true(go_on(again).set); /* 22 of 450 are below 5 percent; 27 of 550 are not looked at */
    work.now_us = start_us + 2 * day_us;
    run_sql(
        "update send_stats set bounced = bounced + 1, sent = sent - 1, delivered = delivered - 1"); /* a report of a late bounce */
    assert_false(go_on(again).set);
    assert_state(send, "paused", 2, 550); /* the tranche that is due is not released */
}

static void test_complaints_stop_a_send(void **state) /* D-120 */
{
    (void)state;
    make_contacts(1000);
    struct gradual_plan plan = plan_of(90, 10, 1, true, "UTC");
    struct begun send = create(&plan);
    begin(send);
    assert_int_equal(deliver(0), 900);
    run_sql("update send_stats set complained = 2");
    assert_true(go_on(send).set);
    run_sql("update send_stats set complained = 3");
    assert_false(go_on(send).set);
    assert_state(send, "paused", 1, 900);
    assert_non_null(
        strstr(row_of(send)->error, "The complaint guard paused this send: 3 of 900 messages (0.3 %); the limit is 0.3 %."));
}

static void test_few_messages_prove_nothing(void **state) /* D-120 */
{
    (void)state;
    make_contacts(198);
    struct gradual_plan plan = plan_of(50, 50, 1, true, "UTC");
    struct begun send = create(&plan);
    begin(send);
    assert_int_equal(deliver(99), 99);
    run_sql("update send_stats set complained = 3, delivered = 99");
    assert_true(go_on(send).set);
    assert_string_equal(row_of(send)->status, "running");
}

/* ---- The allowance ---- */

static void test_each_tranche_needs_room(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct send_accepted accepted;
    make_contacts(1000);
    work.now_us = utc("2026-12-30T10:00:00.000Z");
    run_sql("update organizations set plan = 'trial'"); /* 500 a month */
    struct gradual_plan large = plan_of(60, 40, 1, true, "UTC");
    struct send_request request = {
        .email_id = design_of(html, "Hello"), .domain_id = sandbox_id(), .audience = "all", .subject = "News", .gradual = &large
    };
    assert_false(send_create(&work, &request, &accepted, &err));
    assert_int_equal(err.code, ERR_SEND_QUOTA_EXCEEDED);

    struct gradual_plan plan = plan_of(40, 30, 1, true, "UTC");
    struct begun send = create(&plan);
    assert_true(begin(send));
    assert_int_equal(deliver(0), 400);
    work.now_us += day_us;
    struct opt_int next = go_on(send);
    assert_true(next.set && next.value == work.now_us + 900 * US_PER_S);
    assert_state(send, "paused", 1, 400);
    assert_string_equal(row_of(send)->pause_reason, "plan_limit");
    struct send_row *row;
    err.code = ERR_NONE;
    assert_false(send_resume(&work, send.id, &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_RESUMABLE);
    err.code = ERR_NONE;
    assert_false(send_pause(&work, send.id, &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_PAUSABLE);
    assert_true(go_on(send).set);
    assert_state(send, "paused", 1, 400);

    work.now_us = utc("2027-01-01T00:05:00.000Z"); /* the next period */
    run_sql("update contacts set subscribed = false where id = (select contact_id from send_recipients where ordinal = 500)");
    go_on(send);
    assert_state(send, "running", 2, 700);
    assert_string_equal(clock_iso(arena, row_of(send)->next_tranche_at.value), "2027-01-02T10:00:00.000Z");
    assert_int_equal(deliver(0), 299);
    assert_int_equal(number_of("select sent from email_usage where period_start = '2026-12-01'"), 400);
    assert_int_equal(number_of("select sent from email_usage where period_start = '2027-01-01'"), 299);
    work.now_us = utc("2027-01-02T10:00:00.000Z");
    go_on(send);
    assert_state(send, "paused", 2, 700);
    assert_ok(send_cancel(&work, send.id, &row, &err), &err);
    assert_int_equal(number_of("select sent from email_usage where period_start = '2027-01-01'"), 299);
}

static void test_the_first_tranche_waits_for_room(void **state) /* */
{
    (void)state;
    make_contacts(1000);
    struct gradual_plan plan = plan_of(40, 30, 1, true, "UTC");
    struct begun send = create(&plan);
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 101)",
            (long long)work.organization_id);
    assert_false(begin(send));
    assert_string_equal(row_of(send)->pause_reason, "plan_limit");
    assert_false(row_of(send)->started_at.set);
    run_sql("update email_usage set sent = 100");
    assert_true(begin(send));
    assert_state(send, "running", 1, 400);
}

int main(void)
{
    if (getenv("ONLY") != NULL)
        cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        TEST(test_tranches_end_at_the_shares),
        TEST(test_tranches_are_a_partition),
        TEST(test_plans_are_checked),
        TEST(test_days_keep_the_local_time),
        TEST(test_hours_are_hours),
        TEST(test_a_late_tranche_keeps_its_distance),
        TEST(test_tranches_go_out_one_by_one),
        TEST(test_a_schedule_is_the_first_slot),
        TEST(test_nobody_is_an_end),
        TEST(test_everybody_may_be_in_an_early_tranche),
        TEST(test_a_tranche_is_a_fair_sample),
        TEST(test_lists_go_out_in_tranches),
        TEST(test_a_pause_holds_the_tranches),
        TEST(test_a_canceled_send_returns_what_it_used),
        TEST(test_giving_up_returns_what_it_used),
        TEST(test_the_operator_pauses_a_gradual_send),
        TEST(test_why_tells_the_tranche),
        TEST(test_a_preview_tells_the_tranches),
        TEST(test_bounces_stop_a_send),
        TEST(test_complaints_stop_a_send),
        TEST(test_few_messages_prove_nothing),
        TEST(test_each_tranche_needs_room),
        TEST(test_the_first_tranche_waits_for_room),
    };
    return cmocka_run_group_tests_name("engine_gradual", tests, world_begin, world_end);
}
