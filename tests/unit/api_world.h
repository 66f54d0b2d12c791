/*
 * For unit tests of dispatch: a service over a migrated database of its own,
 * calls that a test makes and waits for, and keys to make them with. The
 * operations are the test's own tables. A test program includes this once.
 */
#pragma once

#include "own_fail.h"
#include "private_db.h"

#include "api/dispatch/dispatch.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/text.h"
#include "catalogue/policies.h"

#include <pthread.h>
#include <string.h>

static struct api *api; /* one a test */

static inline struct api *service_new(struct api_config config)
{
    config.installation.data_dir = folder;
    config.installation.database_url = cluster_url(arena, folder);
    config.installation.application_name = "posthorn unit test";
    return api_new(&config);
}

static inline int world_begin(void **state)
{
    crypto_start();
    /* The refusals of these tests are wanted; the lines about them are not. */
    log_set_level((enum log_level)(LOG_ERROR + 1));
    if (group_setup(state) != 0)
        return -1;
    /* Migrated before the tests count rows. */
    arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct api *first = service_new((struct api_config){ .quick_threads = 1 });
    bool ok = installation_open(api_installation(first), &err);
    api_free(first, 1000);
    arena_free(arena);
    return ok ? 0 : -1;
}

static inline int world_setup(void **state)
{
    if (setup(state) != 0)
        return -1;
    struct error err = { .code = ERR_NONE };
    assert_ok(db_script(conn,
                        "drop table if exists items; create table items (id bigint primary key);"
                        "delete from audit_log; delete from credit_usage; delete from idempotency_keys; delete from jobs;"
                        "delete from api_keys; delete from session_brands; delete from sessions; delete from contacts; delete from "
                        "domains where brand_id > 1; delete from brands where id > 1;"
                        "delete from organizations where id > 1; update organizations set plan = 'self_hosted', bonus_credits = 0",
                        &err),
              &err);
    api = service_new((struct api_config){ .quick_threads = 4 });
    return 0;
}

static inline int world_teardown(void **state)
{
    /* A test that failed may hold locks that its calls wait for. */
    struct error ignored = { .code = ERR_NONE };
    if (!db_script(conn, "rollback", &ignored))
        error_clear(&ignored);
    clock_set_offset_us(0);
    api_free(api, 10000);
    return teardown(state);
}

#define WORLD_TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)

/* ---- SQL by hand ---- */

static inline void run_sql(const char *format, ...) PRINTF_LIKE(1, 2);
static inline void run_sql(const char *format, ...)
{
    struct error err;
    va_list arguments;
    va_start(arguments, format);
    const char *sql = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    assert_ok(db_script(conn, sql, &err), &err);
}

/* Statements of one number or one text; "" keeps none of them prepared. */
static inline int64_t number_of(const char *sql)
{
    struct db_statement statement = {
        .name = "", .result = DB_ONE, .sql = sql, .columns = number_fields, .column_count = 1, .row_size = sizeof(struct number)
    };
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    return ((struct number *)rows.rows)->value;
}

static inline const char *text_of(const char *sql)
{
    struct db_statement statement = {
        .name = "", .result = DB_ONE, .sql = sql, .columns = words_fields, .column_count = 1, .row_size = sizeof(struct words)
    };
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    return ((struct words *)rows.rows)->value;
}

/* Waits until the query gives the number. */
static inline void await_number(const char *sql, int64_t wanted)
{
    int64_t deadline_us = clock_monotonic_us() + 10 * US_PER_S;
    while (number_of(sql) != wanted) {
        if (clock_monotonic_us() > deadline_us)
            fail_msg("'%s' does not become %lld", sql, (long long)wanted);
        usleep(5000);
    }
}

/* ---- Calls ---- */

/* What the door of a test keeps of its call; the call's arena is its own, since other threads use it. */
struct visit {
    struct call call;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int answers; /* how often `done` was called */
    pthread_t answered_by;
    double progress[16];
    const char *note;
    int progress_count;
};

static inline void visit_done(struct call *call)
{
    struct visit *visit = call->door_data;
    pthread_mutex_lock(&visit->lock);
    visit->answers++;
    visit->answered_by = pthread_self();
    pthread_cond_broadcast(&visit->moved);
    pthread_mutex_unlock(&visit->lock);
}

static inline void visit_progress(struct call *call, double progress, double total, const char *message)
{
    struct visit *visit = call->door_data;
    pthread_mutex_lock(&visit->lock);
    if (visit->progress_count < (int)ARRAY_COUNT(visit->progress))
        visit->progress[visit->progress_count++] = total > 0 ? progress / total : progress;
    visit->note = message != NULL ? arena_dup(call->arena, message) : NULL;
    pthread_cond_broadcast(&visit->moved);
    pthread_mutex_unlock(&visit->lock);
}

static inline void visit_free(void *object)
{
    struct visit *visit = object;
    struct arena *own = visit->call.arena;
    pthread_cond_destroy(&visit->moved);
    pthread_mutex_destroy(&visit->lock);
    arena_free(own);
}

/* A call of the local owner over REST; the caller changes what it wants otherwise. `body` is JSON text or NULL. */
static inline struct visit *visit_new(const struct operation *op, const char *body)
{
    struct arena *own = arena_new(0);
    struct visit *visit = arena_alloc(own, sizeof(*visit));
    pthread_mutex_init(&visit->lock, NULL);
    pthread_cond_init(&visit->moved, NULL);
    const struct operation **candidates = arena_array(own, 2, sizeof(*candidates));
    candidates[0] = op;
    visit->call = (struct call){
        .arena = own,
        .door = DOOR_REST,
        .candidates = candidates,
        .credentials = { .kind = CREDENTIAL_LOCAL_OWNER },
        .request_id = api_request_id(own),
        .client = "test/1",
        .done = visit_done,
        .door_data = visit,
    };
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    struct error err = { .code = ERR_NONE };
    if (body != NULL && !json_read(own, body, strlen(body), bounds, &visit->call.input.body, &err))
        fail_msg("%s: %s", body, err.message);
    arena_defer(arena, visit_free, visit);
    return visit;
}

static inline struct visit *with_key(struct visit *visit, const char *secret)
{
    visit->call.credentials.kind = CREDENTIAL_API_KEY;
    visit->call.credentials.secret = secret;
    return visit;
}

static inline bool is_answered(struct visit *visit)
{
    pthread_mutex_lock(&visit->lock);
    bool answered = visit->answers > 0;
    pthread_mutex_unlock(&visit->lock);
    return answered;
}

static inline void start(struct visit *visit)
{
    api_submit(api, &visit->call);
}

static inline void finish(struct visit *visit)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&visit->lock);
    int waited = 0;
    while (visit->answers == 0 && waited == 0)
        waited = pthread_cond_timedwait(&visit->moved, &visit->lock, &until);
    int answers = visit->answers;
    pthread_mutex_unlock(&visit->lock);
    assert_int_equal(answers, 1);
}

static inline struct visit *visit_run(struct visit *visit)
{
    start(visit);
    finish(visit);
    return visit;
}

static inline void assert_answer(struct visit *visit, int status, const char *body)
{
    if (!visit->call.ok)
        fail_msg("%s: %s (%s)", error_info(visit->call.error.code)->name, visit->call.error.message, visit->call.error.cause);
    assert_int_equal(visit->call.reply.status, status);
    assert_string_equal(buf_text(visit->call.reply.body), body);
}

static inline void assert_refusal(struct visit *visit, enum error_code code, const char *param, const char *words)
{
    if (visit->call.ok)
        fail_msg("answered %s", buf_text(visit->call.reply.body));
    if (visit->call.error.code != code)
        fail_msg("%s: %s (%s)", error_info(visit->call.error.code)->name, visit->call.error.message, visit->call.error.cause);
    assert_string_equal(visit->call.error.param, param);
    if (strstr(visit->call.error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", visit->call.error.message, words);
}

/* ---- Operations that answer where they were run ---- */

static const struct arg_shape no_args = { NULL, 0, 0, NULL };
static _Atomic int handled; /* how often one of them ran */

static inline bool answer_place(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    handled++;
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "organization", rq->work.organization_id);
    json_member_int(&reply->json, "brand", rq->work.brand_id);
    json_object_end(&reply->json);
    return true;
}

#define OPERATION(operation_mode, operation_reach)                                                                                 \
    .id = "test.op", .index = -1, .mode = (operation_mode), .reach = (operation_reach), .status = 200, .query_budget = 5,          \
    .built = true, .args = &no_args, .handler = answer_place

static const struct operation public_op = { OPERATION(OP_MEMORY, REACH_PUBLIC) };
static const struct operation memory_op = { OPERATION(OP_MEMORY, REACH_ORGANIZATION) };
static const struct operation organization_op = { OPERATION(OP_READ, REACH_ORGANIZATION) };
static const struct operation brand_op = { OPERATION(OP_READ, REACH_BRAND) };

/* ---- Keys, brands, organizations ---- */

static inline int64_t organization_new(const char *plan)
{
    return number_of(
        arena_printf(arena, "insert into organizations (name, plan, created_at) values ('Other', '%s', now()) returning id", plan));
}

static inline int64_t brand_new(int64_t organization_id)
{
    return number_of(arena_printf(arena,
                                  "insert into brands (organization_id, name, status, created_at, updated_at)"
                                  " values (%lld, 'Other', 'completed', now(), now()) returning id",
                                  (long long)organization_id));
}

/* A fresh key; `brand_id` 0 for one of the organization. */
static inline const char *key_new(int64_t organization_id, int64_t brand_id, uint32_t held, double multiplier)
{
    const char *secret = api_key_new(arena);
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    secret_hash(secret, hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("insert into api_keys (organization_id, brand_id, name, secret_hash, preview, scopes, rate_multiplier, created_at)"
            " values (%lld, nullif(%lld, 0), 'key', '\\x%s', 'ph_', %u, %f, now())",
            (long long)organization_id, (long long)brand_id, hex, held, multiplier);
    return secret;
}

static inline const char *brand_wire_id(int64_t brand_id)
{
    return id_text(&installation_engine(api_installation(api))->ids, arena, ID_BRAND, brand_id);
}

/* The wire form of ids is known once the installation is open. */
static inline void open_service(void)
{
    struct error err;
    assert_ok(installation_open(api_installation(api), &err), &err);
}
