/*
 * For unit tests of writes: operations that insert one item, and what a test
 * wants their handler to do besides. A test program includes this once.
 */
#pragma once

#include "api_world.h"

struct item {
    int64_t id;
    const char *note;
};
static const struct arg_field item_fields[] = {
    { .name = "id",
      .kind = ARG_INTEGER,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct item, id),
      .required = true,
      .minimum = 0,
      .maximum = 1e9 },
    { .name = "note", .kind = ARG_TEXT, .place = ARG_IN_BODY, .offset = offsetof(struct item, note), .max_size = 100 },
};
static const struct arg_shape item_args = { item_fields, ARRAY_COUNT(item_fields), sizeof(struct item), NULL };

/* What the handler does besides; set by a test before its calls, read by the threads. */
static struct {
    _Atomic int runs;
    int fail_times; /* the first runs fail with fail_state */
    const char *fail_state;
    int64_t items; /* reply->item_count */
    bool charge_nothing;
    bool keep_no_key;
    int subjects;
    bool enqueue;
    int sleep_ms;
} plan;

static inline int fresh_plan(void **state)
{
    int failed = world_setup(state);
    memset(&plan, 0, sizeof(plan));
    plan.items = 1;
    return failed;
}

static inline bool add_one_item(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    const struct item *item = args;
    int run = ++plan.runs;
    if (plan.sleep_ms > 0)
        usleep((useconds_t)plan.sleep_ms * 1000);
    if (!db_run(rq->work.conn, rq->work.arena, &add_item, &(struct number){ item->id }, NULL, err))
        return false;
    /* Written before the failure, so that a second try would double it. */
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "id", item->id);
    json_member_int(&reply->json, "run", run);
    json_object_end(&reply->json);
    if (run <= plan.fail_times)
        return db_script(rq->work.conn, arena_printf(rq->work.arena, "do $$ begin raise sqlstate '%s'; end $$", plan.fail_state),
                         err);
    for (int i = 0; i < plan.subjects; i++)
        request_subject(rq, arena_printf(rq->work.arena, "itm_%d", i));
    reply->item_count = plan.items;
    reply->charge_nothing = plan.charge_nothing;
    reply->keep_no_key = plan.keep_no_key;
    if (plan.enqueue)
        return request_enqueue(rq, reply, "test.kind", "{\"item\":5}", rq->work.now_us, err);
    return true;
}

#define WRITE                                                                                                                      \
    .id = "items.add", .index = -1, .mode = OP_WRITE, .reach = REACH_BRAND, .status = 201, .query_budget = 10, .built = true,      \
    .idempotent_key = true, .args = &item_args, .handler = add_one_item

static const struct operation write_op = { WRITE };
static const struct operation fixed_op = { WRITE, .price = { PRICE_FIXED, 5, "adding" } };
static const struct operation per_item_op = { WRITE, .price = { PRICE_PER_ITEM, 2, "adding" } };
static const struct operation metered_op = { WRITE, .price = { PRICE_METERED, 3, "adding" } };

static inline struct visit *adding(const struct operation *op, int id)
{
    return visit_new(op, arena_printf(arena, "{\"id\":%d}", id));
}

static inline struct visit *with_idempotency(struct visit *visit, const char *key)
{
    visit->call.idempotency_key = key;
    return visit;
}

static inline int64_t audit_rows(void)
{
    return number_of("select count(*) from audit_log");
}

static inline int64_t charged(void)
{
    return number_of("select coalesce(sum(used), 0)::bigint from credit_usage");
}

static inline int64_t kept_keys(void)
{
    return number_of("select count(*) from idempotency_keys");
}

#define PLAN_TEST(function) cmocka_unit_test_setup_teardown(function, fresh_plan, world_teardown)
