/*
 * The mail of automations as callers see it: each message is a send of its own,
 * its events carry the ids of the run, and one call tells why it was sent.
 */
#include "fixtures/automation_mail.h"

#include "base/text.h"
#include "engine/analytics/analytics.h"
#include "engine/sends/explain.h"
#include "engine/sends/sends.h"

static const char *written(bool (*write)(struct json_writer *json, struct error *err))
{
    struct buf *out = buf_in_arena(arena, 65536);
    struct json_writer json;
    struct error err = { .code = ERR_NONE };
    json_writer_init(&json, out);
    assert_ok(write(&json, &err), &err);
    return buf_text(out);
}

static int64_t wanted_id;
static struct send_filter wanted;
static struct event_filter wanted_events;

static bool write_one(struct json_writer *json, struct error *err)
{
    return send_get(&work, wanted_id, true, NULL, json, err);
}

static bool write_list(struct json_writer *json, struct error *err)
{
    return send_list(&work, &wanted, 10, NULL, json, err);
}

static bool write_events(struct json_writer *json, struct error *err)
{
    return analytics_events(&work, &wanted_events, 10, NULL, json, err);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void assert_list(struct send_filter filter, size_t count)
{
    wanted = filter;
    assert_int_equal(occurrences(written(write_list), "\"sendId\""), count);
}

static void assert_events(struct event_filter filter, size_t count)
{
    wanted_events = filter;
    wanted_events.window = (struct window){ .from_us = work.now_us - 86400 * US_PER_S, .to_us = work.now_us + 86400 * US_PER_S };
    assert_int_equal(occurrences(written(write_events), "\"eventType\""), count);
}

/* D-105: a message is a send of its own, and its carrier is none. */
static void test_messages_are_sends(void **state)
{
    (void)state;
    run_sql("insert into automations (brand_id, id, name, latest_version_id, created_at, updated_at)"
            "overriding system value values (%1$lld, 5, 'Welcome series', 50, now(), now()) on conflict do nothing;"
            "insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, started_at)"
            "overriding system value values (%1$lld, 1, 5, 50, 'ada@x.example', 'ada@x.example', 'welcome', now())"
            " on conflict do nothing",
            (long long)work.brand_id);
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    make_contact("left@x.example", false);
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "left@x.example"),
                                          message_to(3, "cyd@x.example") };
    messages[0].instance_id = 9;
    messages[1].contact_id = number_of("select max(id) from contacts");
    messages[2].payload_id = 987654;
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    wanted_id = ids.items[0];
    assert_non_null(strstr(written(write_one), "\"status\":\"queued\""));
    deliver("select count(*) from send_results", 3);

    const char *send = written(write_one);
    assert_non_null(strstr(send, "\"kind\":\"automation\""));
    assert_non_null(strstr(send, "\"status\":\"completed\""));
    assert_non_null(strstr(send, "\"recipientCount\":1"));
    assert_non_null(strstr(send, arena_printf(arena, "\"automationRunId\":\"%s\"", work_id(&work, ID_RUN, 1))));
    assert_non_null(strstr(send, arena_printf(arena, "\"triggerInstanceId\":\"%s\"", work_id(&work, ID_INSTANCE, 9))));
    assert_non_null(strstr(send, "\"nodeId\":\"welcome\""));
    assert_int_equal(occurrences(send, "\"eventType\""), 2);
    wanted_id = ids.items[1];
    send = written(write_one);
    assert_non_null(strstr(send, "\"status\":\"completed\""));
    assert_non_null(strstr(send, "\"error\":\"Skipped: unsubscribed\""));
    wanted_id = ids.items[2];
    assert_non_null(strstr(written(write_one), "\"status\":\"failed\""));

    struct error err = { .code = ERR_NONE };
    struct json_writer json;
    json_writer_init(&json, buf_in_arena(arena, 4096));
    assert_false(send_get(&work, carrier_id, false, NULL, &json, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
    struct send_row *row;
    assert_false(send_cancel(&work, carrier_id, &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
    assert_false(send_cancel(&work, ids.items[0], &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_CANCELLABLE);
    assert_false(send_pause(&work, ids.items[0], &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_PAUSABLE);
    assert_false(send_resume(&work, ids.items[0], &row, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_RESUMABLE);

    assert_list((struct send_filter){ .email_id = 0 }, 0);
    assert_list((struct send_filter){ .automation_id = 5 }, 3);
    assert_list((struct send_filter){ .automation_id = 5, .status = "failed" }, 1);
    assert_list((struct send_filter){ .run_id = 1 }, 1);
    assert_list((struct send_filter){ .run_id = 1, .automation_id = 6 }, 0);
    assert_list((struct send_filter){ .instance_id = 9 }, 1);
    wanted = (struct send_filter){ .run_id = 98765 };
    json_writer_init(&json, buf_in_arena(arena, 4096));
    assert_false(write_list(&json, &err));
    assert_int_equal(err.code, ERR_AUTOMATION_RUN_NOT_FOUND);
    wanted = (struct send_filter){ .audience_run_id = 98765 };
    assert_false(write_list(&json, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_RUN_NOT_FOUND);

    assert_events((struct event_filter){ .automation_id = 5 }, 2);
    assert_int_equal(occurrences(written(write_events), "\"automationName\":\"Welcome series\""), 2);
    assert_events((struct event_filter){ .automation_id = 6 }, 0);
    assert_events((struct event_filter){ .run_id = 1 }, 2);
    assert_events((struct event_filter){ .run_id = 2 }, 0);
    assert_events((struct event_filter){ .send_id = ids.items[0], .automation_id = 5 }, 2);
    assert_events((struct event_filter){ .recipient = "ada@x.example", .automation_id = 5, .event_type = "sent" }, 1);
}

static bool write_why(struct json_writer *json, struct error *err)
{
    return send_why(&work, "Ada@x.example", 0, json, err);
}

static int64_t carrier_of_message;

static bool write_why_of_message(struct json_writer *json, struct error *err)
{
    return send_why_message(&work, &(struct message_origin){ work.brand_id, carrier_of_message, 1 }, json, err);
}

/* One call tells why somebody got a message of an automation, or why nothing started. */
static void test_why_tells_of_runs(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    carrier_of_message = ensure(&design);
    run_sql("delete from trigger_instances; delete from triggers;"
            "insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, due_at, started_at)"
            "overriding system value values (%1$lld, 1, 5, 50, 'ada@x.example', 'ada@x.example', 'later', '2027-02-03', now());"
            "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, branch, facts, started_at)"
            "values (%1$lld, 1, 1, 'vip', 'filter', 'completed', 'true', '{\"field\": \"plan\"}', now());"
            "insert into triggers (brand_id, title, created_at, updated_at) values (%1$lld, 'Signed up', now(), now());"
            "insert into trigger_instances (brand_id, occurred_at, trigger_id, source, state, email_key, runs, not_started)"
            "select %1$lld, now(), id, 'api', 'fired', 'ada@x.example', '{1}'::bigint[], '[]'::jsonb from triggers"
            " union all "
            "select %1$lld, now(), id, 'api', 'matched', 'ada@x.example', '{}',"
            "       '[{\"automation\": 6, \"reason\": \"a run of the contact is open\"}]' from triggers",
            (long long)work.brand_id);
    struct carrier_message message = message_to(1, "ada@x.example");
    bool has_room;
    struct int_list ids;
    append(carrier_of_message, &message, 1, &has_room, &ids);
    const char *why = written(write_why);
    assert_non_null(strstr(why, "Queued in the running send."));
    deliver("select count(*) from send_results", 1);
    why = written(write_why);
    assert_non_null(strstr(why, "\"summary\":\"At node later; next step at 2027-02-03T00:00:00.000Z.\""));
    assert_non_null(strstr(why, "\"branch\": \"true\""));
    assert_non_null(strstr(why, "\"summary\":\"Started 1 run.\""));
    assert_non_null(strstr(why, "did not start: a run of the contact is open."));
    assert_non_null(strstr(why, arena_printf(arena, "\"sendId\":\"%s\"", work_id(&work, ID_SEND, ids.items[0]))));
    assert_null(strstr(why, work_id(&work, ID_SEND, carrier_of_message)));
    assert_non_null(strstr(why, "Captured in the outbox"));
    assert_non_null(strstr(written(write_why_of_message), "\"outcome\":\"delivered\""));
    run_sql("delete from automation_steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CARRIER_TEST(test_messages_are_sends),
        CARRIER_TEST(test_why_tells_of_runs),
    };
    return cmocka_run_group_tests_name("automation sends", tests, world_begin, world_end);
}
