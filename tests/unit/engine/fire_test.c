/* Fires of triggers: their checks and their order, the contact, the rules of re-entry, and what is recorded. */
#include "fixtures/engine_fixture.h"

#include "engine/runs/start.h"
#include "engine/triggers/fire.h"
#include "engine/triggers/instances.h"

#include <pthread.h>

enum { TRIGGER = 3, OTHER_TRIGGER = 4, FIRST = 11, SECOND = 12 };

static const char declared_fields[] =
    "[{\"key\":\"email\",\"type\":\"string\",\"required\":true},{\"key\":\"first_name\",\"type\":\"string\",\"required\":false},"
    "{\"key\":\"lastName\",\"type\":\"string\",\"required\":false},{\"key\":\"subscribed\",\"type\":\"boolean\",\"required\":false}"
    ","
    "{\"key\":\"plan\",\"type\":\"string\",\"required\":false,\"fallbackValue\":\"free\"},"
    "{\"key\":\"total\",\"type\":\"float\",\"required\":false},{\"key\":\"order\",\"type\":\"object\",\"required\":false},"
    "{\"key\":\"createdAt\",\"type\":\"string\",\"required\":false}]";

static int reset(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from automation_runs; delete from automation_versions; delete from automations; delete from triggers;"
            "delete from trigger_instances; delete from trigger_payloads; delete from contact_fields");
    return 0;
}

static void add_trigger(int id, const char *fields, const char *enforcement)
{
    run_sql("insert into triggers (brand_id, id, title, schema, enforcement, created_at, updated_at) overriding system value"
            " values (%lld, %d, 'Order placed', '%s', '%s', now(), now())",
            (long long)work.brand_id, id, fields, enforcement);
}

/* An automation whose version has the number of the automation. `reentry`: the rule, NULL: none. */
static void add_automation(int id, int trigger, const char *reentry)
{
    run_sql(
        "insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)"
        " overriding system value values (%1$lld, %2$d, 'Welcome', %2$d, %2$d, now(), now());"
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, trigger_id, "
        "created_at) overriding system value values (%1$lld, %2$d, %2$d, 1,"
        " '[{\"id\":\"mail\",\"type\":\"sendEmail\",\"config\":{}},"
        "{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":\"event\"%4$s}}]', '[]', '\\x00', %3$d, now())",
        (long long)work.brand_id, id, trigger, reentry == NULL ? "" : arena_printf(arena, ",\"reentry\":%s", reentry));
}

static void add_usual(void)
{
    add_trigger(TRIGGER, declared_fields, "off");
    add_automation(FIRST, TRIGGER, NULL);
}

static const json_t *json_of(const char *text)
{
    const json_t *json;
    struct error err = { .code = ERR_NONE };
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err), &err);
    return json;
}

static bool try_fire(int trigger, const char *payload, struct fire_result *ret_result, struct error *err)
{
    struct fire_request request = { .trigger_id = trigger, .payload = json_of(payload) };
    DB_TX tx = { .conn = NULL };
    *err = (struct error){ .code = ERR_NONE };
    return db_tx_begin(conn, &tx, err) && trigger_fire(&work, &request, ret_result, err) && db_tx_commit(&tx, err);
}

static struct fire_result fire(const char *payload)
{
    struct error err;
    struct fire_result result;
    assert_ok(try_fire(TRIGGER, payload, &result, &err), &err);
    return result;
}

static int64_t written_rows(void)
{
    return number_of("select (select count(*) from contacts) + (select count(*) from trigger_instances)"
                     " + (select count(*) from automation_runs) + (select count(*) from trigger_payloads)"
                     " + (select count(*) from contact_fields) + (select count(*) from events)");
}

static void refused(int trigger, const char *payload, enum error_code code, const char *param, const char *details)
{
    struct error err;
    struct fire_result result;
    assert_false(try_fire(trigger, payload, &result, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.param, param);
    if (details != NULL && (err.details_json == NULL || strstr(err.details_json, details) == NULL))
        fail_msg("%s is not in %s", details, err.details_json != NULL ? err.details_json : "nothing");
    assert_int_equal(written_rows(), 0);
}

/* ---- Round trips ---- */

/* BEGIN goes with the first statements. The first payload under a master key needs more. */
static void test_a_fire_takes_three_round_trips_and_its_commit(void **state)
{
    (void)state;
    enum { ROUND_TRIPS = 4 };
    add_usual();
    fire("{\"email\":\"ada@example.com\"}");
    uint64_t before = db_round_trips(conn);
    struct fire_result result = fire("{\"email\":\"bob@example.com\",\"plan\":\"gold\",\"first_name\":\"Bob\"}");
    assert_int_equal(result.run_ids.count, 1);
    uint64_t with_field = db_round_trips(conn) - before;
    assert_int_equal(with_field, ROUND_TRIPS + 1); /* it defines the field */
    before = db_round_trips(conn);
    fire("{\"email\":\"cyd@example.com\",\"plan\":\"free\"}");
    assert_int_equal(db_round_trips(conn) - before, ROUND_TRIPS);
    assert_int_equal(number_of("select count(*) from trigger_payloads p join automation_runs r on r.payload_id = p.id"
                               " and r.trigger_instance_id is not null"),
                     3);
}

/* ---- Order and refusals ---- */

/* the trigger, the payload, the automations; a refusal writes nothing. */
static void test_the_checks_have_an_order(void **state)
{
    (void)state;
    refused(TRIGGER, "[]", ERR_TRIGGER_EVENT_NOT_FOUND, "triggerEventId", NULL);
    add_trigger(TRIGGER, declared_fields, "off");
    refused(TRIGGER, "[]", ERR_INVALID_PAYLOAD, "payload", "payload_not_object");
    refused(TRIGGER, "{\"email\":\"ada@example.com\"}", ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId", NULL);
    add_automation(FIRST, OTHER_TRIGGER, NULL);
    refused(TRIGGER, "{\"email\":\"ada@example.com\"}", ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId", NULL);
    run_sql("update automation_versions set trigger_id = %d; update automations set live_version_id = null", TRIGGER);
    refused(TRIGGER, "{\"email\":\"ada@example.com\"}", ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId", NULL);
    run_sql("update automations set live_version_id = id, deleted_at = now()");
    refused(TRIGGER, "{\"email\":\"ada@example.com\"}", ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId", NULL);
    run_sql("update automations set deleted_at = null, is_paused = true");
    assert_int_equal(fire("{\"email\":\"ada@example.com\"}").run_ids.count, 1);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held"), 1);
}

static void test_bad_payloads_are_refused(void **state)
{
    (void)state;
    add_usual();
    refused(TRIGGER, "5", ERR_INVALID_PAYLOAD, "payload", "payload_not_object");
    refused(TRIGGER, "null", ERR_INVALID_PAYLOAD, "payload", "payload_not_object");
    refused(TRIGGER, "{}", ERR_INVALID_PAYLOAD, "payload.email", "missing_required");
    refused(TRIGGER, "{\"email\":7}", ERR_INVALID_PAYLOAD, "payload.email", "invalid_type");
    refused(TRIGGER, "{\"email\":\"ada\"}", ERR_INVALID_PAYLOAD, "payload.email", "invalid_email");
    refused(TRIGGER, "{\"email\":\"ada@example.com\\r\\n\"}", ERR_INVALID_PAYLOAD, "payload.email", "invalid_email");
    refused(TRIGGER, "{\"email\":\"ada@example.com\\n\"}", ERR_INVALID_PAYLOAD, "payload.email", "invalid_email");
    refused(TRIGGER, "{\"email\":\"ada@example.com\\nBcc: eve@example.com\"}", ERR_INVALID_PAYLOAD, "payload.email", "line break");
    /* All faults at once. */
    refused(TRIGGER, "{\"email\":\"ada\",\"total\":\"much\",\"subscribed\":1}", ERR_INVALID_PAYLOAD, "payload.total",
            "\"field\":\"subscribed\"");
    refused(TRIGGER, "{\"email\":\"ada\",\"total\":\"much\"}", ERR_INVALID_PAYLOAD, "payload.total", "invalid_email");
    char *large = arena_alloc(arena, 70000);
    memset(large, 'x', 69999);
    large[69999] = '\0';
    refused(TRIGGER, arena_printf(arena, "{\"email\":\"ada@example.com\",\"plan\":\"%s\"}", large), ERR_INVALID_PAYLOAD, "payload",
            "payload_too_large");
    /* strict refuses undeclared keys. */
    run_sql("update triggers set enforcement = 'strict'");
    refused(TRIGGER, "{\"email\":\"ada@example.com\",\"extra\":1}", ERR_INVALID_PAYLOAD, "payload.extra", "unexpected_key");
}

/* ---- The contact ---- */

/* */
static void test_a_fire_saves_declared_scalars(void **state)
{
    (void)state;
    add_usual();
    struct fire_result result =
        fire("{\"email\":\" Ada@Example.com \",\"first_name\":\"Ada\",\"lastName\":\"Byron\",\"subscribed\":false,"
             "\"total\":12.5,\"order\":{\"id\":7},\"secret\":\"kept out\"}");
    assert_int_equal(result.contact_id, number_of("select id from contacts where email_key = 'ada@example.com'"));
    assert_int_equal(number_of("select count(*) from contacts where first_name = 'Ada' and last_name = 'Byron' and not subscribed"
                               " and custom_fields = '{\"total\": 12.5}'"),
                     1);
    assert_int_equal(number_of("select count(*) from contact_fields where name = 'total' and type = 'number'"), 1);
    assert_int_equal(number_of("select count(*) from contact_fields"), 1);
    /* The fallback of plan is for mail only. The unsubscribed contact gets its run all the same. */
    assert_int_equal(result.run_ids.count, 1);
    assert_int_equal(result.warning_count, 2);
    assert_string_equal(result.warnings[0].code, "unexpected_key");
    /* D-122: the instance remembers that the payload did not fit. A key that the contact does not keep is no finding. */
    assert_int_equal(number_of("select count(*) from trigger_instances where has_findings"), 1);
    fire("{\"email\":\"ada@example.com\",\"order\":{\"id\":7}}");
    assert_int_equal(number_of("select count(*) from trigger_instances where has_findings"), 1);
    assert_int_equal(number_of("select count(*) from trigger_instances where not has_findings"), 1);
    assert_string_equal(result.warnings[1].code, "FIELD_NAME_NORMALIZED");
    assert_string_equal(result.warnings[1].field, "first_name");
}

/* The declared type counts for a new field, not the form of its first value. */
static void test_a_new_field_has_the_declared_type(void **state)
{
    (void)state;
    add_usual();
    fire("{\"email\":\"ada@example.com\",\"plan\":\"2026-11-21\"}");
    assert_int_equal(number_of("select count(*) from contact_fields where name = 'plan' and type = 'string'"), 1);
    fire("{\"email\":\"ada@example.com\",\"plan\":\"pro\"}");
    assert_int_equal(number_of("select count(*) from contacts where custom_fields = '{\"plan\": \"pro\"}'"), 1);
}

static void test_values_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    add_usual();
    run_sql("insert into contact_fields (brand_id, name, type, created_at) values (%lld, 'plan', 'number', now())",
            (long long)work.brand_id);
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)"
            " values (%lld, 'ada@example.com', 'ada@example.com', 'API', true, '{\"plan\": 5}', now(), now())",
            (long long)work.brand_id);
    struct fire_result result = fire("{\"email\":\"ada@example.com\",\"plan\":\"pro\",\"total\":3,\"createdAt\":\"x\"}");
    assert_int_equal(result.run_ids.count, 1);
    assert_int_equal(number_of("select count(*) from contacts where custom_fields = '{\"plan\": 5, \"total\": 3}'"), 1);
    assert_int_equal(result.warning_count, 2);
    assert_string_equal(result.warnings[0].code, "FIELD_NOT_STORED");
    assert_string_equal(result.warnings[0].field, "createdAt");
    assert_string_equal(result.warnings[1].code, "FIELD_TYPE_MISMATCH");
    assert_string_equal(result.warnings[1].field, "plan");
    assert_string_equal(result.warnings[1].expected_type, "number");
    assert_string_equal(result.warnings[1].actual_type, "string");
}

static void test_bounds_of_the_contact_are_warnings(void **state)
{
    (void)state;
    add_usual();
    run_sql("insert into contact_fields (brand_id, name, type, created_at)"
            " select %lld, 'field' || n, 'string', now() from generate_series(1, 500) n",
            (long long)work.brand_id);
    char *name = arena_alloc(arena, 202);
    memset(name, 'x', 201);
    name[201] = '\0';
    struct fire_result result = fire(arena_printf(arena, "{\"email\":\"ada@example.com\",\"lastName\":\"%s\",\"total\":3}", name));
    assert_int_equal(result.run_ids.count, 1);
    assert_int_equal(result.warning_count, 2);
    assert_string_equal(result.warnings[0].field, "lastName");
    assert_string_equal(result.warnings[1].field, "total");
    assert_non_null(strstr(result.warnings[1].message, "500"));
    assert_int_equal(number_of("select count(*) from contacts where last_name is null and custom_fields = '{}'"), 1);
}

/* ---- Re-entry ---- */

/* D-110, D-131 */
static void test_reentry(void **state)
{
    (void)state;
    static const char ada[] = "{\"email\":\"ada@example.com\"}";
    add_trigger(TRIGGER, declared_fields, "off");
    add_automation(FIRST, TRIGGER, "{\"mode\":\"once\"}");
    add_automation(SECOND, TRIGGER, "{\"mode\":\"after\",\"duration\":7,\"unit\":\"days\"}");
    assert_int_equal(fire(ada).run_ids.count, 2);
    struct fire_result again = fire(ada);
    assert_int_equal(again.run_ids.count, 0);
    assert_int_equal(again.automation_ids.count, 2);
    assert_int_equal(again.refusal_count, 2);
    assert_int_equal(again.refusals[0].automation_id, FIRST);
    assert_non_null(strstr(again.refusals[1].reason, "7 days"));
    assert_int_equal(number_of("select count(*) from trigger_instances where runs = '{}' and jsonb_array_length(not_started) = 2"
                               " and state = 'fired'"),
                     1);
    /* A fire that starts nothing stores no payload. */
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 1);
    work.now_us += INT64_C(7) * 24 * 3600 * US_PER_S;
    struct fire_result later = fire(ada);
    assert_int_equal(later.run_ids.count, 1);
    assert_int_equal(later.refusals[0].automation_id, FIRST);
    assert_int_equal(fire("{\"email\":\"bob@example.com\"}").run_ids.count, 2);
    /* Runs of tests do not count. */
    run_sql("update automation_runs set mode = 'test'");
    assert_int_equal(fire(ada).run_ids.count, 2);
}

/* ---- Fires at once ---- */

enum { FIRES = 20 };

static void *fire_alone(void *started)
{
    struct error err = { .code = ERR_NONE };
    ARENA_SCOPE own = arena_new(0);
    DB_CONN_SCOPE link = NULL;
    DB_TX tx = { .conn = NULL };
    struct work mine = work;
    struct fire_result result;
    const json_t *payload;
    static const char text[] = "{\"email\":\"ada@example.com\"}";
    if (!json_read(own, text, strlen(text), (struct json_bounds){ .max_bytes = 100 }, &payload, &err) ||
        !installation_connect(installation, &link, &err))
        return NULL;
    mine.arena = own;
    mine.conn = link;
    struct fire_request request = { .trigger_id = TRIGGER, .payload = payload };
    if (db_tx_begin(link, &tx, &err) && trigger_fire(&mine, &request, &result, &err) && db_tx_commit(&tx, &err))
        *(size_t *)started = result.run_ids.count;
    return NULL;
}

static void test_of_fires_at_once_one_starts(void **state)
{
    (void)state;
    pthread_t threads[FIRES];
    size_t started[FIRES];
    size_t all = 0;
    add_trigger(TRIGGER, declared_fields, "off");
    add_automation(FIRST, TRIGGER, "{\"mode\":\"once\"}");
    for (size_t i = 0; i < FIRES; i++) {
        started[i] = SIZE_MAX;
        assert_int_equal(pthread_create(&threads[i], NULL, fire_alone, &started[i]), 0);
    }
    for (size_t i = 0; i < FIRES; i++) {
        pthread_join(threads[i], NULL);
        assert_true(started[i] <= 1);
        all += started[i];
    }
    assert_int_equal(all, 1);
    assert_int_equal(number_of("select count(*) from automation_runs"), 1);
    assert_int_equal(number_of("select count(*) from trigger_instances"), FIRES);
}

static void add_listeners(int count)
{
    add_trigger(TRIGGER, declared_fields, "off");
    add_automation(FIRST, TRIGGER, NULL);
    run_sql("insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)"
            " overriding system value select brand_id, id + n, name, id + n, id + n, created_at, updated_at"
            " from automations, generate_series(1, %d) n",
            count - 1);
    run_sql(
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, trigger_id,"
        " created_at) overriding system value select brand_id, id + n, id + n, 1, nodes, connections, definition_hash, trigger_id,"
        " created_at from automation_versions, generate_series(1, %d) n",
        count - 1);
}

/* Automations that were published before there was a bound all start. */
static void test_a_fire_starts_more_runs_than_a_statement_takes(void **state)
{
    (void)state;
    enum { MORE = RUN_STARTS_MAX + 1 };
    add_listeners(MORE);
    struct fire_result result = fire("{\"email\":\"ada@example.com\"}");
    assert_int_equal(result.run_ids.count, MORE);
    assert_int_equal(number_of("select count(distinct automation_id) from automation_runs"), MORE);
    assert_int_equal(number_of("select cardinality(runs)::bigint from trigger_instances"), MORE);
}

/* ---- Fires that share a transaction ---- */

enum { GROUP_MAX = 8 };

struct shared_fire {
    int trigger;
    const char *payload;
    bool ok;
    struct fire_result result;
    struct error err;
};

static void fire_together(struct shared_fire *shared, size_t count)
{
    struct error err = { .code = ERR_NONE };
    struct fire *fires[GROUP_MAX];
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    struct db_batch *batch = db_batch_new(conn, arena);
    for (size_t i = 0; i < count; i++)
        fires[i] =
            fire_new(&work, &(struct fire_request){ .trigger_id = shared[i].trigger, .payload = json_of(shared[i].payload) });
    fires_ask(&work, fires, count, batch);
    assert_ok(db_batch_run(batch, &err) && fires_finish(fires, batch, &err), &err);
    for (size_t i = 0; i < count; i++)
        shared[i].ok = fire_take(fires[i], &shared[i].result, &shared[i].err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static bool is_large(void)
{
    struct error err = { .code = ERR_NONE };
    struct fire *one =
        fire_new(&work, &(struct fire_request){ .trigger_id = TRIGGER, .payload = json_of("{\"email\":\"a@b.example\"}") });
    struct db_batch *batch = db_batch_new(conn, arena);
    fires_ask(&work, &one, 1, batch);
    assert_ok(db_batch_run(batch, &err), &err);
    return fire_is_large(one, batch);
}

static void test_a_fire_that_starts_more_than_fifty_runs_is_large(void **state)
{
    (void)state;
    enum { SHARED = 50 };
    add_listeners(SHARED);
    assert_false(is_large());
    add_automation(FIRST + SHARED, TRIGGER, NULL);
    assert_true(is_large());
}

/* A group has the round trips of one fire. A refused fire leaves nothing, and the others have what they would have alone. */
static void test_a_bad_fire_of_a_group_fails_alone(void **state)
{
    (void)state;
    enum { ROUND_TRIPS = 4, UNHEARD = 5 };
    struct shared_fire shared[] = {
        { .trigger = TRIGGER, .payload = "{\"email\":\"ada@example.com\",\"lastName\":\"A\"}" },
        { .trigger = TRIGGER, .payload = "{\"email\":\"bob@example.com\",\"total\":\"much\"}" },
        { .trigger = OTHER_TRIGGER, .payload = "{\"email\":\"cyd@example.com\",\"lastName\":\"C\"}" },
        { .trigger = UNHEARD, .payload = "{\"email\":\"dan@example.com\"}" },
        { .trigger = 999, .payload = "{\"email\":\"eve@example.com\"}" },
        { .trigger = TRIGGER, .payload = "{\"email\":\"fay@example.com\",\"lastName\":\"F\"}" },
    };
    add_usual();
    add_trigger(OTHER_TRIGGER, declared_fields, "off");
    add_trigger(UNHEARD, declared_fields, "off");
    add_automation(SECOND, OTHER_TRIGGER, NULL);
    fire("{\"email\":\"old@example.com\"}"); /* the first payload under a master key needs more round trips */
    uint64_t before = db_round_trips(conn);
    fire_together(shared, ARRAY_COUNT(shared));
    assert_int_equal(db_round_trips(conn) - before, ROUND_TRIPS + 1); /* looks whether automations wait for UNHEARD */
    assert_true(shared[0].ok && shared[2].ok && shared[5].ok);
    assert_int_equal(shared[1].err.code, ERR_INVALID_PAYLOAD);
    assert_int_equal(shared[3].err.code, ERR_NO_PUBLISHED_AUTOMATION);
    assert_int_equal(shared[4].err.code, ERR_TRIGGER_EVENT_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from contacts"), 4);
    assert_int_equal(number_of("select count(*) from automation_runs r join contacts c on c.id = r.contact_id"
                               " join trigger_instances i on i.id = r.trigger_instance_id and i.runs = array[r.id]"
                               " join trigger_payloads p on p.id = r.payload_id"
                               " where c.email_key = r.email_key and i.contact_id = c.id and i.email_key = r.email_key"
                               " and i.trigger_id = r.trigger_id and i.matched = array[r.automation_id]"
                               " and upper(left(c.email, 1)) = coalesce(c.last_name, 'O')"),
                     4);
    assert_int_equal(number_of("select automation_id from automation_runs where email_key = 'cyd@example.com'"), SECOND);
    assert_int_equal(shared[5].result.run_ids.items[0],
                     number_of("select id from automation_runs where email_key = 'fay@example.com'"));
}

/* Each fire has its own earlier runs, whichever rules the automations of the others have. */
static void test_a_group_keeps_rules_of_reentry_apart(void **state)
{
    (void)state;
    struct shared_fire shared[] = {
        { .trigger = TRIGGER, .payload = "{\"email\":\"ada@example.com\"}" },
        { .trigger = OTHER_TRIGGER, .payload = "{\"email\":\"bob@example.com\"}" },
        { .trigger = TRIGGER, .payload = "{\"email\":\"cyd@example.com\"}" },
        { .trigger = TRIGGER, .payload = "{\"email\":\"dan@example.com\"}" },
    };
    add_trigger(TRIGGER, declared_fields, "off");
    add_trigger(OTHER_TRIGGER, declared_fields, "off");
    add_automation(FIRST, TRIGGER, NULL);
    add_automation(SECOND, TRIGGER, "{\"mode\":\"once\"}");
    add_automation(SECOND + 1, OTHER_TRIGGER, "{\"mode\":\"once\"}");
    add_automation(SECOND + 2, TRIGGER, NULL);
    fire("{\"email\":\"cyd@example.com\"}");
    fire_together(shared, ARRAY_COUNT(shared));
    static const size_t started[] = { 3, 1, 2, 3 };
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++) {
        assert_true(shared[i].ok);
        assert_int_equal(shared[i].result.run_ids.count, started[i]);
    }
    assert_int_equal(shared[2].result.refusals[0].automation_id, SECOND);
    assert_int_equal(number_of("select count(*) from automation_runs where email_key = 'cyd@example.com' and automation_id = 12"),
                     1);
    assert_int_equal(number_of("select count(*) from automation_runs r join trigger_instances i on i.id = r.trigger_instance_id"
                               " and r.id = any (i.runs) and i.email_key = r.email_key"),
                     12);
}

/* Two triggers declare one new field with different types: the first one in the order of the addresses defines it. */
static void test_a_group_defines_a_field_once(void **state)
{
    (void)state;
    struct shared_fire shared[] = {
        { .trigger = TRIGGER, .payload = "{\"email\":\"ada@example.com\",\"plan\":\"pro\"}" },
        { .trigger = OTHER_TRIGGER, .payload = "{\"email\":\"bob@example.com\",\"plan\":5}" },
    };
    add_usual();
    add_trigger(
        OTHER_TRIGGER,
        "[{\"key\":\"email\",\"type\":\"string\",\"required\":true},{\"key\":\"plan\",\"type\":\"float\",\"required\":false}]",
        "off");
    add_automation(SECOND, OTHER_TRIGGER, NULL);
    fire_together(shared, ARRAY_COUNT(shared));
    assert_true(shared[0].ok && shared[1].ok);
    assert_int_equal(number_of("select count(*) from contact_fields where name = 'plan' and type = 'string'"), 1);
    assert_int_equal(shared[0].result.warning_count, 0);
    assert_int_equal(shared[1].result.warning_count, 1);
    assert_string_equal(shared[1].result.warnings[0].code, "FIELD_TYPE_MISMATCH");
    assert_int_equal(number_of("select count(*) from contacts where email_key = 'bob@example.com' and custom_fields = '{}'"), 1);
}

/* ---- What is recorded ---- */

/* */
static void test_a_fire_is_recorded_without_its_payload(void **state)
{
    (void)state;
    add_usual();
    add_automation(SECOND, TRIGGER, NULL);
    struct fire_result result = fire("{\"email\":\"ada@example.com\",\"order\":{\"code\":\"MARKER-7\"}}");
    assert_int_equal(result.run_ids.count, 2);
    assert_int_equal(number_of("select count(*) from automation_runs r join trigger_instances i on i.id = r.trigger_instance_id"
                               " where r.id = any (i.runs) and r.automation_id = any (i.matched) and r.node_id = 'start'"
                               " and r.payload_id is not null and r.contact_id = i.contact_id and i.email_key = r.email_key"
                               " and i.state = 'fired' and i.source = 'api' and i.provider is null"),
                     2);
    assert_int_equal(number_of("select count(*) from events e join trigger_instances i on i.id = e.trigger_instance_id"
                               " where e.domain = 'trigger' and e.event_type = 'fired' and e.recipient_key = 'ada@example.com'"),
                     1);
    assert_int_equal(number_of("select (select count(*) from trigger_instances i where i::text like '%MARKER%')"
                               " + (select count(*) from events e where e::text like '%MARKER%')"
                               " + (select count(*) from contacts c where c::text like '%MARKER%')"
                               " + (select count(*) from automation_runs r where r::text like '%MARKER%')"
                               " + (select count(*) from trigger_payloads p where position('MARKER'::bytea in p.sealed) > 0)"),
                     0);
    struct buf *body = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    struct error err = { .code = ERR_NONE };
    json_writer_init(&json, body);
    assert_ok(trigger_instance_write(&work, result.instance_id, &json, &err), &err);
    assert_non_null(strstr(buf_text(body), "\"state\":\"fired\",\"matchedAutomationIds\":[\"aut_"));
    assert_null(strstr(buf_text(body), "MARKER"));
}

static void test_a_fire_wakes_runs_that_wait_for_it(void **state)
{
    (void)state;
    add_usual();
    fire("{\"email\":\"ada@example.com\"}");
    run_sql("update automation_runs set due_at = now() + interval '1 day', waits_trigger = %d", TRIGGER);
    fire("{\"email\":\"bob@example.com\"}");
    assert_int_equal(number_of("select count(*) from automation_runs where due_at > now()"), 1);
    fire("{\"email\":\"ada@example.com\"}");
    assert_int_equal(number_of("select count(*) from automation_runs where due_at > now()"), 0);
}

static void test_an_integration_is_named(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct fire_result result;
    add_usual();
    struct fire_request request = { .trigger_id = TRIGGER,
                                    .payload = json_of("{\"email\":\"ada@example.com\"}"),
                                    .provider = "stripe" };
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err) && trigger_fire(&work, &request, &result, &err) && db_tx_commit(&tx, &err), &err);
    assert_int_equal(number_of("select count(*) from trigger_instances where source = 'integration' and provider = 'stripe'"), 1);
}

/* An automation that is published anew while a fire waits for its row starts with the new version. */
static void test_publishing_during_a_fire(void **state)
{
    (void)state;
    pthread_t thread;
    size_t started = SIZE_MAX;
    struct error err = { .code = ERR_NONE };
    add_usual();
    run_sql(
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, trigger_id, "
        "created_at) overriding system value select brand_id, 99, automation_id, 2, nodes, '[]', '\\x00', trigger_id, now()"
        " from automation_versions");
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_sql("update automations set live_version_id = 99");
    assert_int_equal(pthread_create(&thread, NULL, fire_alone, &started), 0);
    while (number_of("select count(*) from pg_locks where not granted") == 0)
        usleep(5000);
    assert_ok(db_tx_commit(&tx, &err), &err);
    pthread_join(thread, NULL);
    assert_int_equal(started, 1);
    assert_int_equal(number_of("select version_id from automation_runs"), 99);
}

#define FIRE_TEST(function) cmocka_unit_test_setup_teardown(function, reset, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIRE_TEST(test_a_fire_takes_three_round_trips_and_its_commit),
        FIRE_TEST(test_the_checks_have_an_order),
        FIRE_TEST(test_bad_payloads_are_refused),
        FIRE_TEST(test_a_fire_saves_declared_scalars),
        FIRE_TEST(test_a_new_field_has_the_declared_type),
        FIRE_TEST(test_values_that_do_not_fit_are_left_out),
        FIRE_TEST(test_bounds_of_the_contact_are_warnings),
        FIRE_TEST(test_reentry),
        FIRE_TEST(test_a_fire_starts_more_runs_than_a_statement_takes),
        FIRE_TEST(test_a_fire_that_starts_more_than_fifty_runs_is_large),
        FIRE_TEST(test_of_fires_at_once_one_starts),
        FIRE_TEST(test_a_bad_fire_of_a_group_fails_alone),
        FIRE_TEST(test_a_group_keeps_rules_of_reentry_apart),
        FIRE_TEST(test_a_group_defines_a_field_once),
        FIRE_TEST(test_a_fire_is_recorded_without_its_payload),
        FIRE_TEST(test_a_fire_wakes_runs_that_wait_for_it),
        FIRE_TEST(test_an_integration_is_named),
        FIRE_TEST(test_publishing_during_a_fire),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
