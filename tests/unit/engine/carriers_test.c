/*
 * Carriers and payloads: the mail of a node is prepared once, each message has a
 * row of its own, and a payload stays sealed until nothing reads it.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/analytics/analytics.h"
#include "engine/delivery/carriers.h"
#include "engine/events/recipient_events.h"
#include "engine/payloads/payloads.h"
#include "engine/sends/explain.h"
#include "engine/sends/sends.h"

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql(
        "delete from automation_sends; delete from automation_carriers; delete from automation_runs; delete from trigger_payloads;"
        "delete from audience_run_nodes; delete from recipient_events; delete from contact_activity; delete from event_rollups");
    return failed;
}

#define CARRIER_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

static int64_t sandbox_id(void)
{
    return number_of("select min(id) from domains where kind = 'sandbox'");
}

/* ---- Payloads ---- */

static const json_t *object_of(const char *text)
{
    const json_t *json;
    struct error err;
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 65536 }, &json, &err), &err);
    return json;
}

static int64_t store(const char *payload, const char *fallbacks)
{
    int64_t id;
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(payload_store(&work, object_of(payload), object_of(fallbacks), &id, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    return id;
}

struct sealed {
    struct bytes value;
};

static struct bytes sealed_row(int64_t id)
{
    static const struct db_field field = { .name = "value", .type = DB_BYTEA, .offset = offsetof(struct sealed, value) };
    const struct db_statement statement = {
        .name = "",
        .result = DB_ONE,
        .sql = arena_printf(arena, "select sealed from trigger_payloads where id = %lld", (long long)id),
        .columns = &field,
        .column_count = 1,
        .row_size = sizeof(struct sealed),
    };
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    return ((struct sealed *)rows.rows)->value;
}

static void assert_opens(int64_t id, bool is_for_mail, const char *expected)
{
    const json_t *payload;
    struct error err;
    assert_ok(payload_open(&work, id, sealed_row(id), is_for_mail, &payload, &err), &err);
    assert_string_equal(json_canonical(arena, payload), expected);
}

static void test_payload_opens_for_its_row(void **state)
{
    (void)state;
    int64_t first =
        store("{\"code\":\"MARKER\",\"order\":{\"id\":7}}", "{\"code\":\"none\",\"order\":{\"note\":\"-\"},\"extra\":1}");
    int64_t second = store("{\"code\":\"other\"}", "{}");
    assert_true(second > first);
    assert_opens(first, false, "{\"code\":\"MARKER\",\"order\":{\"id\":7}}");
    assert_opens(first, true, "{\"code\":\"MARKER\",\"extra\":1,\"order\":{\"id\":7,\"note\":\"-\"}}");
    assert_int_equal(number_of("select count(*) from trigger_payloads where position('MARKER'::bytea in sealed) > 0"), 0);

    const json_t *payload;
    struct error err = { .code = ERR_NONE };
    assert_false(payload_open(&work, second, sealed_row(first), false, &payload, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

static void erase(int64_t id)
{
    struct error err;
    assert_ok(payload_erase_unread(&work, (struct int_list){ &id, 1 }, &err), &err);
}

static void test_payload_stays_while_it_is_read(void **state)
{
    (void)state;
    int64_t id = store("{}", "{}");
    run_sql("insert into automation_runs (brand_id, automation_id, version_id, payload_id, email, email_key, node_id, started_at)"
            "values (%1$lld, 1, 1, %2$lld, 'a@x.example', 'a@x.example', 't', now());"
            "insert into automation_sends (brand_id, id, carrier_id, ordinal, automation_id, run_id, visit, node_id, payload_id, "
            "created_at)"
            "values (%1$lld, 1, 1, 1, 1, 1, 1, 'm', %2$lld, now())",
            (long long)work.brand_id, (long long)id);
    erase(id);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 1);
    run_sql("update automation_runs set payload_id = null");
    erase(id);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 1);
    run_sql("update automation_sends set payload_id = null");
    erase(id);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
}

/* ---- Carriers ---- */

static struct carrier_design node_design(int64_t email_id)
{
    return (struct carrier_design){
        .automation_id = 5,
        .version_id = 50,
        .node_id = "welcome",
        .email_id = email_id,
        .email_version_id = number_of("select max(id) from email_versions"),
        .domain_id = sandbox_id(),
        .subject = "Welcome, {{ payload.name | default: 'you' }}",
    };
}

static int64_t ensure(const struct carrier_design *design)
{
    int64_t id;
    struct error err;
    assert_ok(carrier_ensure(&work, design, &id, &err), &err);
    return id;
}

static void assert_fails(const struct carrier_design *design, enum error_code code)
{
    int64_t id;
    struct error err = { .code = ERR_NONE };
    assert_false(carrier_ensure(&work, design, &id, &err));
    assert_int_equal(err.code, code);
}

static int64_t welcome_design(void)
{
    return design_of("<p>Code {{ payload.code }}</p>", "Code {{ payload.code }}\n");
}

/* D-104: the class of the mail is that of its domain. */
static void test_carrier_is_made_once(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t id = ensure(&design);
    assert_int_equal(ensure(&design), id);
    assert_int_equal(number_of("select count(*) from sends where is_carrier and status = 'running' and kind = 'automation'"
                               " and message_class = 'marketing' and target = 'inline'"),
                     1);
    assert_int_equal(number_of("select count(*) from send_stats"), 1);
    design.node_id = "second";
    run_sql("update domains set sending_purpose = 'transactional'");
    assert_int_not_equal(ensure(&design), id);
    assert_int_equal(number_of("select count(*) from sends where message_class = 'transactional'"), 1);

    run_sql("update emails set deleted_at = now()");
    assert_fails(&design, ERR_EMAIL_NOT_FOUND);
    run_sql("update emails set deleted_at = null; update domains set status = 'pending'");
    assert_fails(&design, ERR_DOMAIN_NOT_READY);
    design.domain_id = 987654;
    assert_fails(&design, ERR_DOMAIN_NOT_FOUND);
}

static void test_design_is_checked(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    design.subject = "Broken {{ payload.";
    assert_fails(&design, ERR_INVALID_REQUEST);
    design.subject = "Fine";
    design.from_address = "me@elsewhere.example";
    assert_fails(&design, ERR_INVALID_REQUEST);
    assert_int_equal(number_of("select count(*) from sends"), 0);
    assert_int_equal(number_of("select count(*) from automation_carriers"), 0);
}

static void append(int64_t carrier_id, const struct carrier_message *messages, size_t count, bool *ret_has_room,
                   struct int_list *ret_ids)
{
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(carrier_append(&work, carrier_id, "welcome", 5, messages, count, ret_has_room, ret_ids, &err), &err);
    assert_ok(carriers_notify(&work, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static struct carrier_message message_to(int64_t run_id, const char *address)
{
    return (struct carrier_message){ .run_id = run_id, .visit = 2, .email = address, .email_key = address };
}

/* The same person may be a recipient of one carrier again: for another run. */
static void test_messages_are_appended(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct carrier_message first[] = { message_to(1, "ada@x.example"), message_to(2, "bob@x.example"),
                                       message_to(3, "ada@x.example") };
    first[1].instance_id = 9;
    struct int_list ids;
    bool has_room;
    append(carrier_id, first, ARRAY_COUNT(first), &has_room, &ids);
    assert_true(has_room);
    assert_int_equal(ids.count, 3);
    assert_true(ids.items[0] > carrier_id && ids.items[1] > ids.items[0] && ids.items[2] > ids.items[1]);

    struct carrier_message *many = arena_array(arena, 700, sizeof(*many));
    for (int64_t i = 0; i < 700; i++)
        many[i] = message_to(10 + i, arena_printf(arena, "r%lld@x.example", (long long)i));
    append(carrier_id, many, 700, &has_room, &ids);
    assert_int_equal(ids.count, 700);
    assert_int_equal(number_of("select next_ordinal from automation_carriers"), 704);
    assert_int_equal(
        number_of("select count(*) from send_ranges where (from_ordinal, to_ordinal) in ((1, 3), (4, 503), (504, 703))"), 3);
    assert_int_equal(number_of("select count(*) from automation_sends m join send_recipients r on r.brand_id = m.brand_id"
                               " and r.send_id = m.carrier_id and r.ordinal = m.ordinal and r.automation_send_id = m.id"),
                     703);
    assert_int_equal(number_of("select count(*) from automation_sends where trigger_instance_id = 9 and run_id = 2"), 1);
    assert_int_equal(number_of("select sent from email_usage"), 703);

    struct error err = { .code = ERR_NONE };
    assert_false(carrier_append(&work, carrier_id, "welcome", 5, first, 1, &has_room, &ids, &err));
    assert_int_equal(number_of("select next_ordinal from automation_carriers"), 704);
}

static void test_allowance_has_no_room(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    run_sql("update organizations set plan = 'free';"
            "insert into email_usage (organization_id, period_start, sent)"
            "values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 100000000)",
            (long long)work.organization_id);
    struct carrier_message message = message_to(1, "ada@x.example");
    struct int_list ids;
    bool has_room;
    append(carrier_id, &message, 1, &has_room, &ids);
    assert_false(has_room);
    assert_int_equal(ids.count, 0);
    assert_int_equal(number_of("select count(*) from send_recipients"), 0);
    assert_int_equal(number_of("select sent from email_usage"), 100000000);
}

/* ---- Delivery ---- */

static void deliver(const char *until, int64_t wanted)
{
    run_until((struct job_services){ .outbox = outbox }, until, wanted);
}

static char *outbox_read(const char *name)
{
    FILE *file = fopen(arena_printf(arena, "%s/new/%s", outbox_path, name), "r");
    assert_non_null(file);
    char *bytes = arena_alloc(arena, 65536);
    bytes[fread(bytes, 1, 65535, file)] = '\0';
    fclose(file);
    return bytes;
}

static void make_contact(const char *address, bool is_subscribed)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "values (%lld, '%s', '%s', 'API', %s, now(), now())",
            (long long)work.brand_id, address, address, is_subscribed ? "true" : "false");
}

/* A run that waits for the message of another run, as one behind a filter of engagement does. */
static int64_t make_waiting_run(int64_t message_id, int64_t payload_id)
{
    run_sql(
        "insert into automation_runs (brand_id, automation_id, version_id, payload_id, email, email_key, node_id, waits_message,"
        "                             started_at)"
        "values (%lld, 5, 50, nullif(%lld, 0), 'ada@x.example', 'ada@x.example', 'filter', %lld, now())",
        (long long)work.brand_id, (long long)payload_id, (long long)message_id);
    return number_of("select max(id) from automation_runs");
}

/* the message has a value of the payload, and afterwards nothing has it. */
static void test_messages_are_delivered(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    int64_t payload_id = store("{\"code\":\"MARKER\",\"name\":\"Ada\"}", "{}");
    make_contact("bob@x.example", false);
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "bob@x.example"),
                                          message_to(3, "ada@x.example") };
    for (size_t i = 0; i < ARRAY_COUNT(messages); i++) {
        messages[i].payload_id = payload_id;
        messages[i].audience_run_id = 7;
        messages[i].instance_id = 8;
    }
    messages[1].contact_id = number_of("select max(id) from contacts");
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    make_waiting_run(ids.items[0], 0);
    make_waiting_run(carrier_id, 0);
    deliver("select count(*) from send_results", 3);

    const char *mail = outbox_read(arena_printf(arena, "%s.1", work_id(&work, ID_SEND, ids.items[0])));
    assert_non_null(strstr(mail, "Subject: Welcome, Ada\r\n"));
    assert_non_null(strstr(mail, "Code MARKER"));
    assert_int_equal(number_of("select count(*) from sends where status = 'running' and is_carrier"), 1);
    assert_int_equal(
        number_of("select count(*) from events e join automation_sends m on m.brand_id = e.brand_id and m.id = e.send_id"
                  " where e.automation_id = 5 and e.node_id = 'welcome' and e.automation_run_id = m.run_id"
                  "   and e.audience_run_id = 7 and e.trigger_instance_id = 8 and e.event_type in ('sent', 'delivered')"),
        4);
    assert_int_equal(number_of("select count(*) from events where not (event_type in ('sent', 'delivered'))"), 0);
    assert_int_equal(number_of("select count(*) from event_rollups where node_id = 'welcome' and event_type = 'sent'"), 1);
    assert_int_equal(number_of("select sent * 100 + skipped * 10 + failed from audience_run_nodes"
                               " where audience_run_id = 7 and node_id = 'welcome'"),
                     210);
    assert_int_equal(number_of("select count(*) from automation_runs where due_at is not null"), 1);
    assert_int_equal(number_of("select count(*) from automation_sends where payload_id is null"), 3);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
    assert_int_equal(number_of("select sent from email_usage"), 2);
    assert_int_equal(number_of("select count(*) from send_ranges where next_ordinal <= to_ordinal"), 0);

    /* The carrier rests, and goes on. */
    struct carrier_message later = message_to(4, "cyd@x.example");
    append(carrier_id, &later, 1, &has_room, &ids);
    deliver("select count(*) from send_results where outcome = 'delivered'", 3);
    mail = outbox_read(arena_printf(arena, "%s.1", work_id(&work, ID_SEND, ids.items[0])));
    assert_non_null(strstr(mail, "Subject: Welcome, you\r\n"));
}

/* What the recipient does later belongs to the message of the run, and wakes the run that waits for it. */
static void test_engagement_belongs_to_the_message(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "ada@x.example") };
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    deliver("select count(*) from send_results", 2);
    make_waiting_run(ids.items[0], 0);
    make_waiting_run(ids.items[1], 0);
    struct recipient_event events[] = {
        { .send_id = carrier_id, .ordinal = 2, .type = "opened", .at_us = work.now_us, .actor = "human" },
        { .send_id = carrier_id, .ordinal = 1, .type = "bounced", .at_us = work.now_us },
    };
    bool is_new[ARRAY_COUNT(events)];
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, events, ARRAY_COUNT(events), is_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(number_of("select count(*) from automation_runs r where r.due_at is not null"), 1);
    assert_int_equal(number_of("select count(*) from automation_runs r join automation_sends m on m.id = r.waits_message"
                               " where r.due_at is not null and m.ordinal = 2"),
                     1);
    assert_int_equal(number_of("select count(*) from events e join automation_sends m on m.id = e.send_id and m.ordinal = 2"
                               " where e.event_type = 'opened' and e.automation_run_id = 2 and e.node_id = 'welcome'"),
                     1);
    assert_int_equal(number_of("select sum(count)::bigint from event_rollups where node_id = 'welcome' and event_type = 'opened'"),
                     1);
    assert_int_equal(number_of("select opened * 10 + bounced_later from send_stats"), 11);

    events[0].change = RECIPIENT_EVENT_REMOVE;
    events[0].recorded_at_us = work.now_us;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, events, 1, is_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(number_of("select count(*) from events where event_type = 'opened'"), 0);
    assert_int_equal(number_of("select count(*) from event_rollups where event_type = 'opened'"), 0);
}

/* ---- Reading ---- */

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
    run_sql("insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, started_at)"
            "overriding system value values (%lld, 1, 5, 50, 'ada@x.example', 'ada@x.example', 'welcome', now())"
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

/* D-104: transactional mail needs no consent, but an address that bounces or complains gets none. */
static void test_transactional_mail_needs_no_consent(void **state)
{
    (void)state;
    run_sql("update domains set sending_purpose = 'transactional'");
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    static const char *const addresses[] = { "left@x.example", "bounced@x.example", "complained@x.example" };
    static const char *const reasons[] = { "unsubscribe", "bounce", "complaint" };
    struct carrier_message messages[ARRAY_COUNT(addresses)];
    for (size_t i = 0; i < ARRAY_COUNT(addresses); i++) {
        unsigned char hash[SECRET_HASH_BYTES];
        char hex[2 * sizeof(hash) + 1];
        make_contact(addresses[i], false);
        address_hash(work.engine->address_key, addresses[i], hash);
        hex_encode(hash, sizeof(hash), hex);
        run_sql("insert into suppressions (brand_id, address_hash, reason, created_at) values (%lld, '\\x%s', '%s', now())",
                (long long)work.brand_id, hex, reasons[i]);
        messages[i] = message_to((int64_t)i + 1, addresses[i]);
        messages[i].contact_id = number_of("select max(id) from contacts");
    }
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    deliver("select count(*) from send_results", 3);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 1 and outcome = 'delivered'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'skipped' and reason = 'suppressed'"), 2);
}

static void test_payload_that_does_not_open(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "bob@x.example"),
                                          message_to(3, "cyd@x.example") };
    messages[0].payload_id = store("{\"code\":\"one\"}", "{}");
    messages[1].payload_id = store("{\"code\":\"two\"}", "{}");
    messages[2].payload_id = 987654;
    run_sql("update trigger_payloads set sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) where id = %lld",
            (long long)messages[1].payload_id);
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    deliver("select count(*) from send_results", 3);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 1 and outcome = 'delivered'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 2 and outcome = 'failed'"
                               " and reason = 'The payload of this message cannot be opened.'"),
                     1);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 3 and outcome = 'failed'"), 1);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
    assert_int_equal(number_of("select sent from email_usage"), 1);
}

/* Payloads that are too many for one batch are delivered in parts. */
static void test_large_payloads_are_read_in_parts(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    char *text = arena_alloc(arena, 60001);
    memset(text, 'x', 60000);
    int64_t payload_id = store(arena_printf(arena, "{\"code\":\"one\",\"filler\":\"%s\"}", text), "{}");
    struct carrier_message messages[120];
    for (int64_t i = 0; i < 120; i++) {
        messages[i] = message_to(i + 1, arena_printf(arena, "r%lld@x.example", (long long)i));
        messages[i].payload_id = payload_id;
    }
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, 120, &has_room, &ids);
    deliver("select count(*) from send_results where outcome = 'delivered'", 120);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CARRIER_TEST(test_payload_opens_for_its_row),
        CARRIER_TEST(test_payload_stays_while_it_is_read),
        CARRIER_TEST(test_carrier_is_made_once),
        CARRIER_TEST(test_design_is_checked),
        CARRIER_TEST(test_messages_are_appended),
        CARRIER_TEST(test_allowance_has_no_room),
        CARRIER_TEST(test_messages_are_delivered),
        CARRIER_TEST(test_engagement_belongs_to_the_message),
        CARRIER_TEST(test_messages_are_sends),
        CARRIER_TEST(test_why_tells_of_runs),
        CARRIER_TEST(test_transactional_mail_needs_no_consent),
        CARRIER_TEST(test_payload_that_does_not_open),
        CARRIER_TEST(test_large_payloads_are_read_in_parts),
    };
    return cmocka_run_group_tests_name("carriers", tests, world_begin, world_end);
}
