/*
 * Carriers and payloads: the mail of a node is prepared once, each message has a
 * row of its own, and a payload stays sealed until nothing reads it.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/delivery/carriers.h"
#include "engine/payloads/payloads.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CARRIER_TEST(test_payload_opens_for_its_row), CARRIER_TEST(test_payload_stays_while_it_is_read),
        CARRIER_TEST(test_carrier_is_made_once),      CARRIER_TEST(test_design_is_checked),
        CARRIER_TEST(test_messages_are_appended),     CARRIER_TEST(test_allowance_has_no_room),
    };
    return cmocka_run_group_tests_name("carriers", tests, world_begin, world_end);
}
