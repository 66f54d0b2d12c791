/*
 * Approvals of sends: which sends wait, what a decision does, and that a decision
 * that is repeated, contradicted or rolled back leaves one job or none.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/approval.h"
#include "engine/sends/confirm.h"
#include "engine/sends/explain.h"

static const char *const listed[] = { "reader1@example.com", "reader2@example.com" };

static void set_approvals(struct opt_int above)
{
    struct error err;
    assert_ok(approval_set(&work, above, &err), &err);
}

static const struct opt_int off = { .set = false };
static const struct opt_int all = { .set = true, .value = 0 };

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "select %lld, 'reader' || n || '@example.com', 'reader' || n || '@example.com', 'API', true, now(), now()"
            "  from generate_series(1, 3) n",
            (long long)work.brand_id);
    set_approvals(all);
    return failed;
}

static int leave(void **state)
{
    if (db_in_transaction(conn))
        run_sql("rollback");
    set_approvals(off);
    return world_leave(state);
}

static struct send_request request_to_all(void)
{
    return (struct send_request){
        .email_id = design_of("<p>Hi</p>", "Hi\n"),
        .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
        .audience = "all",
        .subject = "News",
    };
}

static struct send_accepted create(const struct send_request *request)
{
    struct error err;
    struct send_accepted accepted;
    run_sql("begin");
    assert_ok(send_create(&work, request, &accepted, &err), &err);
    run_sql("commit");
    return accepted;
}

static int64_t pending_send(void)
{
    struct send_request request = request_to_all();
    struct send_accepted accepted = create(&request);
    assert_true(accepted.needs_approval);
    assert_string_equal(accepted.status, "pending_approval");
    return accepted.id;
}

static bool decide(int64_t send_id, bool approves, struct send_row **ret_send, struct error *err)
{
    struct approval_decision decision = { .approves = approves, .note = "Because" };
    DB_TX tx;
    *err = (struct error){ .code = ERR_NONE };
    assert_ok(db_tx_begin(conn, &tx, err), err);
    return send_decide(&work, send_id, &decision, ret_send, err) && db_tx_commit(&tx, err);
}

static void assert_decided(int64_t send_id, bool approves, const char *status, const char *approval_state)
{
    struct error err;
    struct send_row *send;
    assert_ok(decide(send_id, approves, &send, &err), &err);
    assert_string_equal(send->status, status);
    assert_string_equal(send->approval_state, approval_state);
}

static void assert_refused(int64_t send_id, bool approves, enum error_code code)
{
    struct error err;
    struct send_row *send;
    assert_false(decide(send_id, approves, &send, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.param, "sendId");
}

/* ---- Which sends wait ---- */

static void test_the_number_of_recipients_decides(void **state)
{
    (void)state;
    struct checked_request to_all = { .target = "all" };
    struct checked_request to_list = { .target = "inline", .list = { .count = 2 } };
    const struct opt_int unknown = { .set = false };
    const struct opt_int two = { .set = true, .value = 2 };
    const struct opt_int three = { .set = true, .value = 3 };
    assert_false(approval_is_needed(off, &to_all, three));
    assert_true(approval_is_needed(all, &to_list, unknown));
    assert_true(approval_is_needed(two, &to_all, three));
    assert_false(approval_is_needed(three, &to_all, three));
    assert_true(approval_is_needed(three, &to_all, unknown));
    assert_false(approval_is_needed(two, &to_list, unknown));
}

static void test_a_small_send_and_a_test_wait_for_nobody(void **state)
{
    (void)state;
    set_approvals((struct opt_int){ .set = true, .value = 2 });
    struct send_request request = request_to_all();
    request.audience = NULL;
    request.to = (struct text_list){ listed, ARRAY_COUNT(listed) };
    struct send_accepted accepted = create(&request);
    assert_false(accepted.needs_approval);
    assert_string_equal(accepted.status, "queued");
    assert_refused(accepted.id, true, ERR_SEND_NOT_PENDING_APPROVAL);
    assert_int_equal(number_of("select count(*) from sends where approval_state = 'approved'"), 1);
}

/* ---- The decision ---- */

static void test_nothing_begins_before_the_approval(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    struct error err;
    bool begun;
    assert_int_equal(number_of("select count(*) from jobs"), 0);
    run_sql("begin");
    assert_ok(delivery_begin(&work, send_id, &begun, &err), &err);
    run_sql("commit");
    assert_int_equal(number_of("select count(*) from sends where status = 'queued' and approval_state = 'pending'"), 1);
    assert_int_equal(number_of("select count(*) from send_recipients"), 0);
}

static void test_an_approval_enqueues_once(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    assert_decided(send_id, true, "queued", "approved");
    assert_decided(send_id, true, "queued", "approved");
    assert_refused(send_id, false, ERR_SEND_NOT_PENDING_APPROVAL);
    assert_int_equal(number_of("select count(*) from jobs where kind = 'campaign'"), 1);
    assert_int_equal(number_of("select count(*) from sends s join jobs j on j.id = s.job_id where approval_note = 'Because'"), 1);
    run_until((struct job_services){ .outbox = outbox }, nothing_to_do, 0);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered'"), 3);
    assert_decided(send_id, true, "completed", "approved");
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued'"), 0);
}

static void test_a_rejected_send_stays_so(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    assert_decided(send_id, false, "canceled", "rejected");
    assert_decided(send_id, false, "canceled", "rejected");
    assert_refused(send_id, true, ERR_SEND_NOT_PENDING_APPROVAL);
    assert_int_equal(number_of("select count(*) from jobs"), 0);
    assert_int_equal(number_of("select count(*) from sends where error = 'An administrator rejected this send: Because'"), 1);
}

static void test_a_send_that_was_canceled_is_not_decided(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    struct send_row *send;
    struct error err;
    assert_ok(send_cancel(&work, send_id, &send, &err), &err);
    assert_string_equal(send->status, "canceled");
    assert_refused(send_id, true, ERR_SEND_NOT_PENDING_APPROVAL);
    assert_refused(send_id, false, ERR_SEND_NOT_PENDING_APPROVAL);
    assert_refused(send_id + 1, true, ERR_SEND_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from jobs"), 0);
}

/* A process that ends before the commit has decided nothing. */
static void test_a_decision_that_is_rolled_back_leaves_nothing(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    struct approval_decision decision = { .approves = true };
    struct send_row *send;
    struct error err;
    run_sql("begin");
    assert_ok(send_decide(&work, send_id, &decision, &send, &err), &err);
    run_sql("rollback");
    assert_int_equal(number_of("select count(*) from jobs"), 0);
    assert_int_equal(number_of("select count(*) from sends where approval_state = 'pending' and job_id is null"), 1);
    assert_decided(send_id, true, "queued", "approved");
}

static void test_a_scheduled_send_keeps_its_time_until_it_has_passed(void **state)
{
    (void)state;
    struct send_request request = request_to_all();
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + 3600 * US_PER_S };
    int64_t later = create(&request).id;
    request.email_id = design_of("<p>Ho</p>", "Ho\n");
    int64_t passed = create(&request).id;
    assert_decided(later, true, "scheduled", "approved");
    assert_int_equal(number_of("select count(*) from jobs j join sends s on s.job_id = j.id where j.run_after = s.scheduled_at"),
                     1);
    work.now_us += 7200 * US_PER_S;
    assert_decided(passed, true, "scheduled", "approved");
    assert_int_equal(number_of("select count(*) from jobs j join sends s on s.job_id = j.id where j.run_after > s.scheduled_at"),
                     1);
}

/* The plan is asked when the send begins. */
static void test_the_allowance_is_judged_at_the_beginning(void **state)
{
    (void)state;
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 499)",
            (long long)work.organization_id);
    int64_t send_id = pending_send();
    struct error err;
    bool begun;
    assert_decided(send_id, true, "queued", "approved");
    run_sql("begin");
    assert_ok(delivery_begin(&work, send_id, &begun, &err), &err);
    run_sql("commit");
    assert_false(begun);
    assert_int_equal(number_of("select count(*) from sends where status = 'paused' and pause_reason = 'plan_limit'"), 1);
}

static void test_a_note_is_bounded(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    char note[APPROVAL_NOTE_MAX_CHARS + 2];
    memset(note, 'a', sizeof(note) - 1);
    note[sizeof(note) - 1] = '\0';
    struct approval_decision decision = { .approves = true, .note = note };
    struct send_row *send;
    struct error err = { .code = ERR_NONE };
    assert_false(send_decide(&work, send_id, &decision, &send, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "note");
}

static void test_another_organization_does_not_find_it(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    struct work other = work;
    other.organization_id = 987654;
    struct error err = { .code = ERR_NONE };
    int64_t brand_id;
    assert_ok(send_find_brand(&work, send_id, &brand_id, &err), &err);
    assert_int_equal(brand_id, work.brand_id);
    assert_false(send_find_brand(&other, send_id, &brand_id, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
}

/* ---- What people are told ---- */

static const char *why(int64_t send_id)
{
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    json_writer_init(&json, out);
    assert_ok(send_why(&work, "reader1@example.com", send_id, &json, &err), &err);
    return buf_text(out);
}

static void test_why_says_that_it_waits(void **state)
{
    (void)state;
    int64_t send_id = pending_send();
    assert_non_null(strstr(why(send_id), "the send waits for the approval of an administrator"));
    assert_non_null(strstr(why(send_id), "\"approvalState\":\"pending\""));
    assert_decided(send_id, false, "canceled", "rejected");
    assert_non_null(strstr(why(send_id), "Not mailed: An administrator rejected this send: Because"));
}

static void test_a_preview_says_that_an_approval_follows(void **state)
{
    (void)state;
    struct send_request request = request_to_all();
    request.confirm_above = (struct opt_int){ .set = true, .value = 1 };
    struct error err;
    struct send_accepted accepted;
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_non_null(accepted.preview);
    assert_non_null(strstr(send_preview_question(arena, accepted.preview), "an administrator of the organization must approve"));
    set_approvals(off);
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_null(strstr(send_preview_question(arena, accepted.preview), "administrator"));
}

#define APPROVAL_TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        APPROVAL_TEST(test_the_number_of_recipients_decides),
        APPROVAL_TEST(test_a_small_send_and_a_test_wait_for_nobody),
        APPROVAL_TEST(test_nothing_begins_before_the_approval),
        APPROVAL_TEST(test_an_approval_enqueues_once),
        APPROVAL_TEST(test_a_rejected_send_stays_so),
        APPROVAL_TEST(test_a_send_that_was_canceled_is_not_decided),
        APPROVAL_TEST(test_a_decision_that_is_rolled_back_leaves_nothing),
        APPROVAL_TEST(test_a_scheduled_send_keeps_its_time_until_it_has_passed),
        APPROVAL_TEST(test_the_allowance_is_judged_at_the_beginning),
        APPROVAL_TEST(test_a_note_is_bounded),
        APPROVAL_TEST(test_another_organization_does_not_find_it),
        APPROVAL_TEST(test_why_says_that_it_waits),
        APPROVAL_TEST(test_a_preview_says_that_an_approval_follows),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
