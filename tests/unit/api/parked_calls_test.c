/*
 * Parked calls: callers that wait for a job. No worker runs here. The test writes the
 * state of the job's row, so that it can check every step in between.
 */
#include "fixtures/api_fixture.h"

/* What the handler does besides; set by a test before its calls. */
static struct {
    _Atomic int runs;
    bool settles_itself;
    bool breaks_the_commit;
} plan;

static int fresh_plan(void **state)
{
    memset(&plan, 0, sizeof(plan));
    return world_setup(state);
}

static const struct job_declaration test_work = { .name = "test.work", .pool = "work" };

static bool ask_for_work(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    plan.runs++;
    if (plan.settles_itself) {
        json_raw(&reply->json, "{\"by\":\"handler\"}");
        return true;
    }
    if (plan.breaks_the_commit && !db_run(ctx->work.conn, ctx->work.arena, &add_item, &(struct number){ 1 }, NULL, err))
        return false;
    return op_context_enqueue(ctx, reply, (struct new_job){ &test_work, "{}" }, ctx->work.now_us, err);
}

static const struct operation job_op = { .id = "work.do",
                                         .index = -1,
                                         .mode = OP_JOB,
                                         .reach = REACH_BRAND,
                                         .status = 200,
                                         .query_budget = 10,
                                         .built = true,
                                         .idempotent_key = true,
                                         .job = &test_work,
                                         .args = &no_args,
                                         .handler = ask_for_work,
                                         .price = { PRICE_FIXED, 10, "work" } };

/* ---- Being the worker ---- */

static void tell(void)
{
    run_sql("select pg_notify('posthorn_jobs', '')");
}

/* The newest job settles with an answer, as a worker's transaction would do it. */
static void settle_job(int64_t id, const char *body)
{
    run_sql("update jobs set state = 'done', result_status = 202, result_body = '%s', settled_at = now() where id = %lld", body,
            (long long)id);
    tell();
}

static void fail_job(int64_t id, const char *error_json)
{
    run_sql("update jobs set state = 'failed', result_error = %s, settled_at = now() where id = %lld", error_json, (long long)id);
    tell();
}

static int64_t newest_job(void)
{
    await_number("select least(count(*), 1) from jobs where state = 'queued'", 1);
    return number_of("select max(id) from jobs");
}

static struct visit *begin(const char *idempotency_key)
{
    struct visit *visit = visit_new(&job_op, NULL);
    visit->call.idempotency_key = idempotency_key;
    visit->call.on_progress = visit_progress;
    start(visit);
    return visit;
}

static bool parked(struct visit *visit)
{
    pthread_mutex_lock(&api->calls_lock);
    bool is_parked = visit->call.state->phase == CALL_PARKED;
    pthread_mutex_unlock(&api->calls_lock);
    return is_parked;
}

static void await_parked(struct visit *visit)
{
    for (int i = 0; i < 2000 && !parked(visit); i++)
        usleep(5000);
    assert_true(parked(visit));
}

static void with_config(struct api_config config)
{
    config.quick_threads = 4;
    api_free(api, 1000);
    api = service_new(config);
    open_service();
}

/* ---- Settling ---- */

static void test_a_job_answers_its_caller(void **state)
{
    (void)state;
    enum { HOUR_MS = 3600 * 1000 };
    with_config((struct api_config){ .job_poll_ms = HOUR_MS }); /* so that the answer comes from the notification */
    struct visit *visit = begin(NULL);
    int64_t id = newest_job();
    await_parked(visit);
    assert_false(is_answered(visit));
    /* Everything its settling needs is in the row. */
    assert_string_equal(
        text_of("select concat_ws('|', kind, organization_id, brand_id, call->>'operation', call->>'door', call->>'client',"
                " call->>'credits', call->>'creditCost', call->>'writesAudit', call->>'idempotencyKey') from jobs"),
        "test.work|1|1|work.do|rest|test/1|10|10|true");
    assert_string_equal(text_of("select call->>'requestId' from jobs"), visit->call.request_id);
    /* Charge and audit row are the settling transaction's. */
    assert_int_equal(number_of("select count(*) from audit_log") + number_of("select count(*) from credit_usage"), 0);
    usleep(300000); /* so that the poll at the beginning has mostly passed */
    settle_job(id, "{\"made\":1}");
    finish(visit);
    assert_answer(visit, 202, "{\"made\":1}");
    assert_int_equal(visit->call.credit_cost, 10);
    assert_false(visit->call.replayed);
    assert_int_equal(visit->progress_count, 0);
}

static void test_a_notification_is_not_waited_for(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    int64_t id = newest_job();
    run_sql("update jobs set state = 'done', result_status = 200, result_body = '{}' where id = %lld", (long long)id);
    finish(visit);
    assert_answer(visit, 200, "{}");
}

/* A fault of the job reaches the caller as the job wrote it. */
static void test_a_failed_job(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    fail_job(newest_job(), "'{\"code\":\"EMAIL_NOT_READY\",\"message\":\"Not yet.\",\"param\":\"emailId\",\"retryAfter\":7}'");
    finish(visit);
    assert_refusal(visit, ERR_EMAIL_NOT_READY, "emailId", "Not yet.");
    assert_int_equal(visit->call.error.retry_after_s, 7);
    assert_int_equal(visit->call.credit_cost, -1);
}

static void test_failures_that_say_little(void **state)
{
    (void)state;
    static const char *const errors[] = { "null", "'{}'", "'[]'", "'\"x\"'", "'{\"code\":\"NO_SUCH_CODE\",\"message\":5}'" };
    for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
        run_sql("delete from jobs");
        struct visit *visit = begin(NULL);
        fail_job(newest_job(), errors[i]);
        finish(visit);
        assert_refusal(visit, ERR_INTERNAL_ERROR, "", "The job failed.");
    }
    /* Done without an answer is a fault, too. */
    run_sql("delete from jobs");
    struct visit *visit = begin(NULL);
    run_sql("update jobs set state = 'done' where id = %lld", (long long)newest_job());
    tell();
    finish(visit);
    assert_refusal(visit, ERR_INTERNAL_ERROR, "", "The job failed.");
    run_sql("delete from jobs");
    visit = begin(NULL);
    run_sql("update jobs set state = 'canceled', result_error = '{\"code\":\"SERVICE_UNAVAILABLE\",\"message\":\"Cancelled.\"}' "
            "where id = %lld",
            (long long)newest_job());
    tell();
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "Cancelled.");
    assert_int_equal(visit->call.error.retry_after_s, 1);
}

/* A handler may find that there is nothing to wait for. */
static void test_an_answer_without_a_job(void **state)
{
    (void)state;
    plan.settles_itself = true;
    struct visit *visit = begin("k");
    finish(visit);
    assert_answer(visit, 200, "{\"by\":\"handler\"}");
    assert_int_equal(visit->call.credit_cost, 10);
    assert_int_equal(number_of("select count(*) from audit_log"), 1);
    assert_int_equal(number_of("select sum(used)::bigint from credit_usage"), 10);
    visit = begin("k");
    finish(visit);
    assert_true(visit->call.replayed);
    assert_int_equal(plan.runs, 1);
}

/* ---- Progress ---- */

static void progress(int64_t id, double done, const char *note)
{
    run_sql("update jobs set state = 'running', progress = %f, progress_total = 8, progress_note = %s where id = %lld", done, note,
            (long long)id);
    tell();
}

static void await_progress(struct visit *visit, int count)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ANSWER_WAIT_S;
    pthread_mutex_lock(&visit->lock);
    int waited = 0;
    while (visit->progress_count < count && waited == 0)
        waited = pthread_cond_timedwait(&visit->moved, &visit->lock, &until);
    pthread_mutex_unlock(&visit->lock);
    assert_int_equal(waited, 0);
}

static void test_progress_only_rises(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    struct visit *silent = visit_new(&job_op, NULL);
    int64_t id = newest_job();
    start(silent);
    await_number("select count(*) from jobs", 2);
    progress(id, 1, "'reading'");
    await_progress(visit, 1);
    assert_string_equal(visit->note, "reading");
    progress(id, 4, "null");
    await_progress(visit, 2);
    assert_null(visit->note);
    /* Progress is not reported twice and does not decrease. */
    progress(id, 4, "'again'");
    progress(id, 2, "'back'");
    await_number("select count(*) from jobs where progress = 2", 1);
    usleep(100000);
    progress(id, 6, "'on'");
    await_progress(visit, 3);
    settle_job(id, "{}");
    finish(visit);
    assert_int_equal(visit->progress_count, 3);
    assert_true(visit->progress[0] == 1.0 / 8 && visit->progress[1] == 4.0 / 8 && visit->progress[2] == 6.0 / 8);
    /* A caller that does not want progress has none. */
    int64_t other = number_of("select max(id) from jobs");
    progress(other, 3, "null");
    settle_job(other, "{}");
    finish(silent);
    assert_true(silent->call.ok);
}

/* ---- Credits ---- */

/* a job holds its credits from the beginning, so the next one is refused before the first has ended. */
static void test_jobs_at_once_do_not_overdraw(void **state)
{
    (void)state;
    open_service();
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into credit_usage values (1, date_trunc('month', now() at time zone 'UTC')::date, 85)");
    struct visit *first = begin(NULL);
    await_parked(first);
    assert_int_equal(number_of("select sum(credits)::bigint from credit_holds"), 10);
    struct visit *second = visit_run(visit_new(&job_op, NULL));
    assert_refusal(second, ERR_INSUFFICIENT_CREDITS, "", "needs 10 credits, but 5 are left");
    assert_int_equal(number_of("select count(*) from jobs"), 1);
    settle_job(newest_job(), "{}");
    finish(first);
    run_sql("delete from credit_holds");
}

/* ---- Ending early ---- */

/* After the deadline the caller gets a reply, the job continues, and a call with the same idempotency key finds it. */
static void test_a_deadline(void **state)
{
    (void)state;
    with_config((struct api_config){ .job_deadline_ms = 300 });
    int64_t start_us = clock_monotonic_us();
    struct visit *visit = begin("k");
    finish(visit);
    assert_true(clock_monotonic_us() - start_us >= 300 * US_PER_MS);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "same idempotency key");
    assert_int_equal(visit->call.error.retry_after_s, 5);
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued' and not cancel_asked"), 1);

    with_config((struct api_config){ .job_deadline_ms = 0 }); /* the usual one, which this test does not reach */
    struct visit *again = begin("k");
    await_parked(again);
    settle_job(newest_job(), "{\"made\":1}");
    finish(again);
    assert_answer(again, 202, "{\"made\":1}");
    assert_int_equal(plan.runs, 1);
}

static void test_a_cancelled_caller_asks_its_job_to_stop(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    int64_t id = newest_job();
    await_parked(visit);
    api_cancel(api, &visit->call);
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_int_equal(number_of("select count(*) from jobs where cancel_asked"), 1);
    settle_job(id, "{}");
}

/* A job that is already settled gets no request to cancel. */
static void test_cancelling_too_late(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    int64_t id = newest_job();
    await_parked(visit);
    run_sql("update jobs set state = 'done', result_status = 200, result_body = '{}' where id = %lld", (long long)id);
    api_cancel(api, &visit->call);
    finish(visit);
    assert_int_equal(number_of("select count(*) from jobs where cancel_asked"), 0);
}

/* The answers of several jobs together need more memory than an arena may have. */
static void test_large_answers_at_once(void **state)
{
    (void)state;
    enum { CALLS = 5, ANSWER_BYTES = 20 * 1000 * 1000 };
    struct visit *visits[CALLS];
    for (int i = 0; i < CALLS; i++) {
        visits[i] = begin(NULL);
        await_parked(visits[i]);
    }
    run_sql("update jobs set state = 'done', result_status = 200, result_body = repeat('x', %d), settled_at = now()",
            (int)ANSWER_BYTES);
    for (int i = 0; i < CALLS; i++) {
        finish(visits[i]);
        assert_true(visits[i]->call.ok);
        assert_int_equal(visits[i]->call.reply.body->size, ANSWER_BYTES);
    }
}

/* ---- Joining a job by its key ---- */

static void test_duplicates_share_a_job(void **state)
{
    (void)state;
    struct visit *visits[5];
    for (int i = 0; i < 5; i++)
        visits[i] = begin("k");
    int64_t id = newest_job();
    for (int i = 0; i < 5; i++)
        await_parked(visits[i]);
    assert_int_equal(number_of("select count(*) from jobs"), 1);
    assert_int_equal(number_of("select job_id from idempotency_keys"), id);
    settle_job(id, "{\"made\":1}");
    for (int i = 0; i < 5; i++) {
        finish(visits[i]);
        assert_answer(visits[i], 202, "{\"made\":1}");
    }
    assert_int_equal(plan.runs, 1);
}

/* As the workers read it. */
static const char cancelled_jobs[] = "select count(*) from jobs where cancel_asked and not job_has_caller(organization_id, id)";

static void test_one_of_several_callers_leaves(void **state)
{
    (void)state;
    struct visit *first = begin("k");
    await_parked(first);
    struct visit *second = begin("k");
    await_parked(second);
    api_cancel(api, &first->call);
    finish(first);
    assert_refusal(first, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    /* The other still wants the work. */
    assert_int_equal(number_of(cancelled_jobs), 0);
    api_cancel(api, &second->call);
    finish(second);
    assert_int_equal(number_of(cancelled_jobs), 1);
}

/* a caller that leaves does not cancel the job of a caller of another server. Callers of a server that has ended do not
 * count. */
static void test_a_caller_of_another_server_waits(void **state)
{
    (void)state;
    struct visit *here = begin("k");
    await_parked(here);
    struct api *first = api;
    struct api_config config = { .quick_threads = 4, .installation.application_name = "posthorn other server" };
    config.installation.data_dir = folder;
    config.installation.database_url = cluster_url(arena, folder);
    api = api_new(&config);
    struct visit *there = begin("k");
    await_parked(there);
    assert_int_equal(number_of("select count(distinct process) from job_waiters"), 2);
    api_cancel(first, &here->call);
    finish(here);
    assert_refusal(here, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_int_equal(number_of("select count(*) from job_waiters"), 1);
    assert_int_equal(number_of("select count(*) from jobs where cancel_asked"), 1);
    assert_int_equal(number_of(cancelled_jobs), 0);
    api_free(api, 1000);
    api = first;
    finish(there);
    await_number(cancelled_jobs, 1);
}

/* A caller whose deadline has passed does not wait any more, and does not cancel. */
static void test_a_late_caller_does_not_count(void **state)
{
    (void)state;
    with_config((struct api_config){ .job_deadline_ms = 300 });
    struct visit *late = begin("k");
    finish(late);
    assert_refusal(late, ERR_SERVICE_UNAVAILABLE, "", "same idempotency key");
    assert_int_equal(number_of("select count(*) from job_waiters"), 0);
    assert_int_equal(number_of("select count(*) from jobs where cancel_asked"), 0);
}

/* R-146 holds for a key whose job is still at work. */
static void test_a_job_in_progress_conflicts_with_other_arguments(void **state)
{
    (void)state;
    struct visit *first = begin("k");
    await_parked(first);
    struct operation other_op = job_op;
    other_op.id = "work.other";
    struct visit *other = visit_new(&other_op, NULL);
    other->call.idempotency_key = "k";
    assert_refusal(visit_run(other), ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    settle_job(newest_job(), "{}");
    finish(first);
}

/* ---- Transactions that fail after all ---- */

/* A settled job may be joined. Its caller is not ended before its own transaction has, and not at all when that fails. */
static void test_only_committed_calls_are_ended(void **state)
{
    (void)state;
    open_service();
    int64_t id = number_of("insert into jobs (kind, state, payload, run_after, created_at, result_status, result_body)"
                           " values ('test.work', 'done', '{}', now(), now(), 200, '{}') returning id");
    struct visit *committed = visit_new(&job_op, NULL);
    struct visit *failed = visit_new(&job_op, NULL);
    assert_false(api_is_immediate(api, &committed->call));
    assert_false(api_is_immediate(api, &failed->call));
    parked_calls_add(api->parked, committed->call.state, id);
    parked_calls_add(api->parked, failed->call.state, id);
    tell();
    usleep(300000);
    assert_false(is_answered(committed));
    parked_calls_remove(api->parked, failed->call.state);
    parked_calls_committed(api->parked, committed->call.state);
    finish(committed);
    assert_answer(committed, 200, "{}");
    usleep(100000);
    assert_false(is_answered(failed));
}

static void test_a_commit_that_fails(void **state)
{
    (void)state;
    plan.breaks_the_commit = true;
    run_sql("drop table items; create table items (id bigint references brands (id) deferrable initially deferred);"
            "alter table items add constraint never check (true); create or replace function refuse() returns trigger language "
            "plpgsql as"
            " 'begin raise sqlstate ''22023''; end'; create constraint trigger refuse after insert on items deferrable initially "
            "deferred"
            " for each row execute function refuse()");
    struct visit *visit = begin("k");
    finish(visit);
    assert_false(visit->call.ok);
    assert_int_equal(visit->call.error.code, ERR_INTERNAL_ERROR);
    assert_int_equal(number_of("select count(*) from jobs") + number_of("select count(*) from idempotency_keys"), 0);
    plan.breaks_the_commit = false;
    visit = begin("k");
    settle_job(newest_job(), "{}");
    finish(visit);
    assert_true(visit->call.ok);
}

/* A conflict seen at the commit is tried again, and the caller waits for the second job. */
static void test_a_commit_that_conflicts(void **state)
{
    (void)state;
    plan.breaks_the_commit = true;
    run_sql("drop table items; create table items (id bigint); create sequence if not exists tries; alter sequence tries restart;"
            "create or replace function refuse() returns trigger language plpgsql as"
            " 'begin if nextval(''tries'') < 3 then raise sqlstate ''40001''; end if; return null; end';"
            "create constraint trigger refuse after insert on items deferrable initially deferred for each row execute function "
            "refuse()");
    struct visit *visit = begin("k");
    await_parked(visit);
    assert_int_equal(number_of("select count(*) from jobs"), 1);
    settle_job(newest_job(), "{}");
    finish(visit);
    assert_answer(visit, 202, "{}");
    assert_int_equal(plan.runs, 3);
    assert_int_equal(item_count(), 1);
}

/* ---- The thread and its connection ---- */

static void test_a_lost_connection_is_made_again(void **state)
{
    (void)state;
    struct visit *visit = begin(NULL);
    int64_t id = newest_job();
    await_parked(visit);
    usleep(200000);
    /* It waits for their end: a call on a connection that is just ending would fail. */
    run_sql(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = 'posthorn unit test' and pid <> "
        "pg_backend_pid()");
    run_sql("update jobs set state = 'done', result_status = 200, result_body = '{}' where id = %lld", (long long)id);
    finish(visit);
    assert_answer(visit, 200, "{}");
    /* The next one is told as quickly as ever. */
    visit = begin(NULL);
    id = newest_job();
    await_parked(visit);
    settle_job(id, "{}");
    finish(visit);
    assert_true(visit->call.ok);
}

static void test_stopping_ends_parked_calls(void **state)
{
    (void)state;
    struct visit *visits[3];
    for (int i = 0; i < 3; i++) {
        visits[i] = begin(NULL);
        await_parked(visits[i]);
    }
    enum { NEVER_MS = 600 * 1000 }; /* a stop that waited for it would not end within the limit of a test */
    api_free(api, NEVER_MS);
    for (int i = 0; i < 3; i++)
        assert_refusal(visits[i], ERR_SERVICE_UNAVAILABLE, "", "stopping; the job continues");
    /* It continues, because no call asked the job to stop. */
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued' and not cancel_asked"), 3);
    api = service_new((struct api_config){ .quick_threads = 1 });
}

enum { CROWD = 60 };

static _Atomic bool settles; /* until all calls of the crowd are answered */

static void *settle_many(void *unused)
{
    (void)unused;
    struct error err = { .code = ERR_NONE };
    struct db_conn *mine = NULL;
    bool ok = db_connect(db, 1000, &mine, &err);
    while (ok && atomic_load(&settles)) {
        ok = db_script(
            mine,
            "update jobs set progress = progress + 1, progress_total = 9, state = 'running' where state in ('queued', 'running');"
            "update jobs set state = 'done', result_status = 200, result_body = '{\"id\":' || id || '}'"
            " where id in (select id from jobs where state = 'running' order by random() limit 3 for update);"
            "select pg_notify('posthorn_jobs', '')",
            &err);
        usleep(5000);
    }
    db_disconnect(mine);
    return NULL;
}

/* Parking, settling, progress, cancelling and duplicates, all at once. */
static void test_a_crowd(void **state)
{
    (void)state;
    open_service();
    pthread_t settling;
    atomic_store(&settles, true);
    assert_int_equal(pthread_create(&settling, NULL, settle_many, NULL), 0);
    struct visit *visits[CROWD];
    for (int i = 0; i < CROWD; i++) {
        visits[i] = begin(i % 4 == 0 ? arena_printf(arena, "k%d", i % 8) : NULL);
        if (i % 7 == 0)
            api_cancel(api, &visits[i]->call);
        usleep(2000);
    }
    for (int i = 0; i < CROWD; i++)
        finish(visits[i]);
    atomic_store(&settles, false);
    pthread_join(settling, NULL);
    for (int i = 0; i < CROWD; i++) {
        if (visits[i]->call.ok)
            assert_int_equal(strncmp(buf_text(visits[i]->call.reply.body), "{\"id\":", 6), 0);
        else
            assert_refusal(visits[i], ERR_SERVICE_UNAVAILABLE, "", "");
        assert_true(visits[i]->call.ok || i % 7 == 0);
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(visits[i]->answers, 1);
}

#define PLAN_TEST(function) cmocka_unit_test_setup_teardown(function, fresh_plan, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_a_job_answers_its_caller),
        PLAN_TEST(test_a_notification_is_not_waited_for),
        PLAN_TEST(test_a_failed_job),
        PLAN_TEST(test_failures_that_say_little),
        PLAN_TEST(test_an_answer_without_a_job),
        PLAN_TEST(test_progress_only_rises),
        PLAN_TEST(test_a_deadline),
        PLAN_TEST(test_a_cancelled_caller_asks_its_job_to_stop),
        PLAN_TEST(test_cancelling_too_late),
        PLAN_TEST(test_large_answers_at_once),
        PLAN_TEST(test_duplicates_share_a_job),
        PLAN_TEST(test_one_of_several_callers_leaves),
        PLAN_TEST(test_a_caller_of_another_server_waits),
        PLAN_TEST(test_a_late_caller_does_not_count),
        PLAN_TEST(test_jobs_at_once_do_not_overdraw),
        PLAN_TEST(test_a_job_in_progress_conflicts_with_other_arguments),
        PLAN_TEST(test_only_committed_calls_are_ended),
        PLAN_TEST(test_a_commit_that_fails),
        PLAN_TEST(test_a_commit_that_conflicts),
        PLAN_TEST(test_a_lost_connection_is_made_again),
        PLAN_TEST(test_stopping_ends_parked_calls),
        PLAN_TEST(test_a_crowd),
    };
    return cmocka_run_group_tests_name("api: parked calls", tests, world_begin, group_teardown);
}
