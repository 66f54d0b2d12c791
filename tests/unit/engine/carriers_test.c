/*
 * Carriers and payloads: the mail of a node is prepared once, each message has a
 * row of its own, and a payload stays sealed until nothing reads it.
 */
#include "fixtures/automation_mail.h"

#include "base/text.h"
#include "crypto/key_file.h"
#include "engine/core/restore_holds.h"
#include "engine/events/recipient_events.h"
#include "engine/operator/operator.h"
#include "engine/runs/cancel.h"
#include "engine/sends/sends.h"

/* ---- Payloads ---- */

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

/* A new master key seals the payloads that the old one sealed. */
static void test_payloads_are_sealed_anew(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t first = store("{\"code\":\"MARKER\"}", "{}");
    for (int i = 0; i < 100; i++)
        store("{}", "{}");
    int key_id;
    int64_t count;
    assert_ok(operator_add_master_key(&work, &key_id, &err), &err);
    int64_t last = store("{\"code\":\"new\"}", "{}");
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_true(count >= 101);
    assert_int_equal(number_of("select count(distinct get_byte(sealed, 1)) from trigger_payloads"), 1);
    assert_int_equal(number_of("select max(get_byte(sealed, 1))::bigint from trigger_payloads"), key_id);
    assert_opens(first, false, "{\"code\":\"MARKER\"}");
    assert_opens(last, false, "{\"code\":\"new\"}");
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 0);
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

static void assert_fails(const struct carrier_design *design, enum error_code code)
{
    int64_t id;
    struct error err = { .code = ERR_NONE };
    assert_false(carrier_ensure(&work, design, &id, &err));
    assert_int_equal(err.code, code);
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

static char *outbox_read(const char *id)
{
    FILE *file = outbox_open(id);
    char *bytes = arena_alloc(arena, 65536);
    bytes[fread(bytes, 1, 65535, file)] = '\0';
    fclose(file);
    return bytes;
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

/* A stepper that appends holds the row of the allowance until its commit. Results with nothing to correct do not wait for it. */
static void test_results_do_not_wait_for_the_allowance(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct carrier_message message = message_to(1, "ada@x.example");
    struct error err = { .code = ERR_NONE };
    struct int_list ids;
    bool has_room;
    DB_TX tx = { .conn = NULL };
    append(carrier_id, &message, 1, &has_room, &ids);
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_int_equal(number_of("select count(*) from (select 1 from email_usage for update) u"), 1);
    deliver("select count(*) from send_results where outcome = 'delivered'", 1);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(number_of("select sent from email_usage"), 1);
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

/* A restored database may have sent what it believes to be open: that waits for the operator. A carrier that rests is not held. */
static void test_a_restore_holds_open_carriers(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct restore_hold_params hold = { .now = work.now_us };
    struct error err;
    assert_ok(sql_restore_hold(conn, arena, &hold, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from sends where held_at is not null"), 0);
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "bob@x.example") };
    bool has_room;
    struct int_list ids;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    assert_ok(sql_restore_hold(conn, arena, &hold, NULL, &err), &err);
    struct restore_list_params list = { .limit = 10 };
    struct restore_list_row *rows;
    size_t count;
    assert_ok(sql_restore_list(conn, arena, &list, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].recipient_count.value, 2);
    int64_t released;
    assert_ok(restore_release_holds(&work, NULL, &released, &err), &err);
    assert_int_equal(released, 1);
    deliver("select count(*) from send_results where outcome = 'delivered'", 2);
}

/* The mail of a canceled run, and a canceled message, are skipped when their turn comes; the payload is gone then. */
static void test_canceled_messages_are_skipped(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    int64_t payload_id = store("{\"code\":\"MARKER\",\"name\":\"Ada\"}", "{}");
    int64_t run_id = make_waiting_run(0, 0);
    struct carrier_message messages[] = { message_to(run_id, "ada@x.example"), message_to(run_id + 1, "bob@x.example"),
                                          message_to(run_id + 2, "cyd@x.example") };
    struct send_row *send;
    struct error err;
    struct int_list ids;
    bool has_room;
    int64_t canceled;
    messages[0].payload_id = payload_id;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    assert_ok(runs_cancel(&work, (struct runs_to_cancel){ .run_id = run_id }, &canceled, &err), &err);
    assert_int_equal(canceled, 1);
    assert_ok(send_cancel(&work, ids.items[1], &send, &err), &err);
    assert_string_equal(send->status, "canceled");
    deliver("select count(*) from send_results", 3);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 1 and reason = 'run canceled'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 2 and reason = 'canceled'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'skipped'"), 2);
    assert_int_equal(number_of("select count(*) from send_results where ordinal = 3 and outcome = 'delivered'"), 1);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
    assert_int_equal(number_of("select sent from email_usage"), 1);
    assert_ok(send_cancel(&work, ids.items[1], &send, &err), &err);
    assert_string_equal(send->status, "canceled");
    assert_false(send_cancel(&work, ids.items[2], &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_CANCELLABLE);
}

/* The operator cancels what a restored database holds of an automation; later messages are sent.
 * By a pause, the operator pauses campaigns, not what carries mail of automations. */
static void test_a_held_carrier_is_canceled(void **state)
{
    (void)state;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    const char *wire_id = work_id(&work, ID_SEND, carrier_id);
    struct restore_hold_params hold = { .now = work.now_us };
    struct operator_canceled canceled;
    struct carrier_message messages[] = { message_to(1, "ada@x.example"), message_to(2, "bob@x.example") };
    struct carrier_message later = message_to(3, "cyd@x.example");
    struct error err;
    struct int_list ids;
    bool has_room;
    append(carrier_id, messages, ARRAY_COUNT(messages), &has_room, &ids);
    run_sql("update send_ranges set started_at = now()");
    assert_false(operator_cancel_send(&work, wire_id, &canceled, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_CANCELLABLE);
    assert_false(operator_pause_send(&work, wire_id, &canceled.status, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "Pause or stop the automation"));
    assert_ok(sql_restore_hold(conn, arena, &hold, NULL, &err), &err);
    assert_ok(operator_cancel_send(&work, wire_id, &canceled, &err), &err);
    assert_int_equal(canceled.messages.value, 2);
    assert_int_equal(number_of("select count(*) from sends where held_at is not null"), 0);
    append(carrier_id, &later, 1, &has_room, &ids);
    deliver("select count(*) from send_results", 3);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'skipped' and reason = 'canceled'"), 2);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered'"), 1);
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

/* The batch waits, and nothing fails, until the right file is back. */
static void test_payloads_wait_for_the_key_file_that_sealed_them(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct seal_ring *ring;
    struct carrier_design design = node_design(welcome_design());
    int64_t carrier_id = ensure(&design);
    struct carrier_message message = message_to(1, "ada@x.example");
    message.payload_id = store("{\"code\":\"one\"}", "{}");
    bool has_room;
    struct int_list ids;
    append(carrier_id, &message, 1, &has_room, &ids);
    const char *path = work.engine->key_file;
    const char *aside = arena_printf(arena, "%s.aside", path);
    int64_t ordinals[] = { 1 };
    struct delivery_batch batch = { .owner = "nobody",
                                    .brand_id = work.brand_id,
                                    .send_id = carrier_id,
                                    .from_ordinal = 1,
                                    .ordinals = ordinals,
                                    .ordinal_count = 1 };
    run_sql("update send_ranges set lease_owner = 'nobody', lease_until = now() + interval '1 hour'");
    assert_int_equal(rename(path, aside), 0);
    assert_false(delivery_fetch(&work, &batch, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    err.code = ERR_NONE;
    assert_ok(key_file_make(arena, path, &ring, &err), &err);
    assert_false(delivery_fetch(&work, &batch, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(rename(aside, path), 0);
    run_sql("update send_ranges set lease_owner = null, lease_until = null");
    deliver("select count(*) from send_results where outcome = 'delivered'", 1);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
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
        CARRIER_TEST(test_payloads_are_sealed_anew),
        CARRIER_TEST(test_payload_stays_while_it_is_read),
        CARRIER_TEST(test_carrier_is_made_once),
        CARRIER_TEST(test_design_is_checked),
        CARRIER_TEST(test_messages_are_appended),
        CARRIER_TEST(test_allowance_has_no_room),
        CARRIER_TEST(test_messages_are_delivered),
        CARRIER_TEST(test_results_do_not_wait_for_the_allowance),
        CARRIER_TEST(test_engagement_belongs_to_the_message),
        CARRIER_TEST(test_a_restore_holds_open_carriers),
        CARRIER_TEST(test_canceled_messages_are_skipped),
        CARRIER_TEST(test_a_held_carrier_is_canceled),
        CARRIER_TEST(test_transactional_mail_needs_no_consent),
        CARRIER_TEST(test_payload_that_does_not_open),
        CARRIER_TEST(test_payloads_wait_for_the_key_file_that_sealed_them),
        CARRIER_TEST(test_large_payloads_are_read_in_parts),
    };
    return cmocka_run_group_tests_name("carriers", tests, world_begin, world_end);
}
