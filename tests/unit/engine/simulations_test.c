/*
 * Test runs of automations: the path and the times in simulated time, the rows, the
 * mail to the test recipient, and what a test leaves untouched.
 */
#include "fixtures/engine_fixture.h"

#include "base/buf.h"
#include "base/text.h"
#include "engine/ledger/ledger.h"
#include "engine/simulations/audience_simulation.h"
#include "engine/simulations/branch_sample.h"
#include "engine/simulations/test_run.h"

#include <dirent.h>

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body><p>Plan {{ payload.plan }}, code "
                           "{{ payload.order.code }}</p></body></html>";
static int64_t automation_id;
static int64_t now_us;

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from automation_steps; delete from automation_runs; delete from automation_versions; delete from automations;"
            "delete from trigger_payloads; delete from test_sends");
    clock_parse_iso("2026-03-28T10:00:00Z", &now_us);
    work.now_us = now_us;
    return failed;
}

#define SIMULATION_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

static const json_t *object_of(const char *text)
{
    const json_t *json;
    struct error err;
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 65536 }, &json, &err), &err);
    return json;
}

/* ---- An automation ---- */

static void make_automation(const char *nodes, const char *connections)
{
    automation_id = number_of("select coalesce(max(id), 0) + 1 from automations");
    run_sql(
        "insert into automations (brand_id, id, name, latest_version_id, created_at, updated_at) overriding system value "
        "values (%1$lld, %2$lld, 'Test', %2$lld, now(), now());"
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, created_at) "
        "overriding system value values (%1$lld, %2$lld, %2$lld, 1, '[{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":"
        "\"event\"}},%3$s]', '%4$s', '', now())",
        (long long)work.brand_id, (long long)automation_id, nodes, connections);
}

static const char *mail_node(const char *id, int64_t email_id)
{
    char email[ID_MAX_CHARS];
    char version[ID_MAX_CHARS];
    id_encode(&work.engine->ids, ID_EMAIL, email_id, email);
    id_encode(&work.engine->ids, ID_VERSION, number_of("select max(id) from email_versions"), version);
    return arena_printf(arena,
                        "{\"id\":\"%s\",\"type\":\"sendEmail\",\"config\":{\"emailId\":\"%s\",\"emailVersionId\":\"%s\","
                        "\"subject\":\"For {{ payload.plan }}\"}}",
                        id, email, version);
}

/* start → fork –right→ pause (a day) → letter → seen –clicked→ thanks */
static void make_series(void)
{
    int64_t email_id = design_of(html, "Plan {{ payload.plan }}, code {{ payload.order.code }}");
    make_automation(arena_printf(arena,
                                 "{\"id\":\"fork\",\"type\":\"split\",\"config\":{\"leftPercentage\":100}},"
                                 "{\"id\":\"pause\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"days\"}},%s,"
                                 "{\"id\":\"seen\",\"type\":\"filter\",\"config\":{\"sourceNodeId\":\"letter\",\"window\":"
                                 "{\"duration\":2,\"unit\":\"days\"}}},%s",
                                 mail_node("letter", email_id), mail_node("thanks", email_id)),
                    "[{\"from\":\"start\",\"to\":\"fork\"},{\"from\":\"fork\",\"to\":\"pause\",\"branch\":\"right\"},"
                    "{\"from\":\"pause\",\"to\":\"letter\"},{\"from\":\"letter\",\"to\":\"seen\"},"
                    "{\"from\":\"seen\",\"to\":\"thanks\",\"branch\":\"clicked\"}]");
}

static const struct scenario_split right = { "fork", "right" };
static const struct scenario_event clicked[] = {
    { "letter", 0, false, 3600 * US_PER_S },
    { "letter", 0, true, 7200 * US_PER_S },
};

static struct test_run_request request_of(const char *recipient, const char *payload)
{
    return (struct test_run_request){
        .automation_id = automation_id,
        .recipient = recipient,
        .payload = payload != NULL ? object_of(payload) : NULL,
        .scenario = { .splits = &right, .split_count = 1, .events = clicked, .event_count = ARRAY_COUNT(clicked) },
    };
}

static struct test_run store_test(const struct test_run_request *request)
{
    struct test_run run;
    struct error err;
    int64_t job_id;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(test_run_store(&work, request, &run, &err), &err);
    for (size_t i = 0; i < run.message_count; i++)
        assert_ok(ledger_enqueue(&work, test_send_job(arena, &run.messages[i]), 0, NULL, &job_id, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    return run;
}

/* ---- What it leaves ---- */

#define STEPS(condition) number_of("select count(*) from automation_steps where " condition)

static void test_a_test_run_has_its_path_in_simulated_time(void **state) /* R-305 R-306 D-112 */
{
    (void)state;
    make_series();
    struct test_run_request request = request_of(NULL, "{\"plan\":\"pro\"}");
    assert_int_equal(store_test(&request).message_count, 0); /* R-304: nothing is sent without a recipient */
    assert_int_equal(
        number_of("select count(*) from automation_runs where mode = 'test' and status = 'completed' and visit = 6 and "
                  "due_at is null and trigger_instance_id is null and completed_at = '2026-03-29T12:00:00Z'"),
        1);
    assert_int_equal(STEPS("visit = 2 and node_id = 'fork' and branch = 'right' and facts ->> 'forced' = 'right'"), 1);
    assert_int_equal(STEPS("visit = 3 and node_id = 'pause' and started_at = '2026-03-28T10:00:00Z' and completed_at = "
                           "'2026-03-29T10:00:00Z'"),
                     1);
    assert_int_equal(STEPS("visit = 4 and node_id = 'letter' and node_type = 'sendEmail' and status = 'completed'"), 1);
    assert_int_equal(STEPS("visit = 5 and branch = 'clicked' and completed_at = '2026-03-29T12:00:00Z'"), 1);
    assert_int_equal(number_of("select count(*) from automation_counts"), 0);
    assert_int_equal(number_of("select count(*) from events"), 0);
    assert_int_equal(number_of("select count(*) from contacts"), 0);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
}

static void test_an_open_takes_the_end_of_the_window(void **state) /* R-305 */
{
    (void)state;
    make_series();
    struct test_run_request request = request_of(NULL, NULL);
    request.scenario.event_count = 1;
    store_test(&request);
    assert_int_equal(STEPS("visit = 5 and branch = 'opened' and completed_at = '2026-03-31T10:00:00Z'"), 1);
    assert_int_equal(STEPS("visit > 5"), 0); /* nothing follows the branch */
    request.scenario.split_count = 0;
    store_test(&request);
    assert_int_equal(STEPS("visit = 2 and branch = 'left'"), 1);
}

/* ---- Mail ---- */

/* The text of all messages in the outbox. */
static const char *captured_mail(void)
{
    struct buf *all = buf_in_arena(arena, 1 << 20);
    const char *folder_path = arena_printf(arena, "%s/new", outbox_path);
    DIR *open = opendir(folder_path);
    assert_non_null(open);
    for (struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        if (entry->d_name[0] == '.')
            continue;
        FILE *file = fopen(arena_printf(arena, "%s/%s", folder_path, entry->d_name), "r");
        assert_non_null(file);
        char *room = buf_room(all, 65536);
        buf_grown(all, fread(room, 1, 65535, file));
        fclose(file);
    }
    closedir(open);
    return buf_text(all);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void test_mail_goes_to_the_recipient_with_the_payload(void **state) /* R-304 R-328 D-112 */
{
    (void)state;
    make_series();
    struct test_run_request request = request_of(
        "tester@example.com", "{\"plan\":\"MARKER-plan\",\"email\":\"ada@example.com\",\"order\":{\"code\":\"MARKER-7\"}}");
    assert_int_equal(store_test(&request).message_count, 2);
    assert_int_equal(number_of("select count(*) from jobs where payload::text like '%MARKER%'"), 0);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 2);
    run_until((struct job_services){ 0 }, nothing_to_do, 0);
    const char *mail = captured_mail();
    assert_int_equal(count_of(mail, "Subject: For MARKER-plan"), 2);
    assert_true(count_of(mail, "code MARKER-7") >= 2);
    assert_true(count_of(mail, "\r\nTo: tester@example.com") == 2 || count_of(mail, "\nTo: tester@example.com") == 2);
    assert_int_equal(count_of(mail, "ada@example.com"), 0);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
    assert_int_equal(number_of("select count(*) from sends"), 0);
    assert_int_equal(number_of("select count(*) from email_usage"), 0);
    assert_int_equal(number_of("select count(*) from automation_steps where facts::text like '%MARKER%'"), 0);
}

static void test_mail_has_the_fallbacks_of_the_contract(void **state) /* R-304 */
{
    (void)state;
    make_series();
    run_sql("insert into triggers (brand_id, title, contract, contract_version, contract_hash, created_at, updated_at) values "
            "(%lld, 'Paid',"
            " '[{\"key\":\"plan\",\"type\":\"string\",\"required\":false,\"fallbackValue\":\"free\"},"
            "{\"key\":\"email\",\"type\":\"string\",\"required\":true}]', 1, '', now(), now())",
            (long long)work.brand_id);
    const char *trigger_id = work_id(&work, ID_TRIGGER, number_of("select max(id) from triggers"));
    run_sql("update automation_versions set nodes = jsonb_set(nodes, '{0,config,triggerEventId}', '\"%s\"')", trigger_id);
    struct test_run_request request = request_of("tester@example.com", "{\"order\":{\"code\":\"MARKER-7\"}}");
    assert_int_equal(store_test(&request).message_count, 2);
    run_until((struct job_services){ 0 }, nothing_to_do, 0);
    assert_int_equal(count_of(captured_mail(), "Subject: For free"), 2);
    run_sql("delete from triggers");
    assert_int_equal(store_test(&request).message_count, 2);
}

static void test_a_refused_message_fails_its_step(void **state) /* R-304 */
{
    (void)state;
    make_series();
    run_sql("update emails set status = 'failed'");
    struct test_run_request request = request_of("tester@example.com", NULL);
    assert_int_equal(store_test(&request).message_count, 0);
    assert_int_equal(STEPS("visit = 4 and status = 'failed' and error is not null"), 1);
    assert_int_equal(STEPS("visit > 4"), 0);
    assert_int_equal(
        number_of("select count(*) from automation_runs where status = 'failed' and node_id = 'letter' and error is not "
                  "null and completed_at = '2026-03-29T10:00:00Z'"),
        1);
}

/* ---- Bounds and errors ---- */

static void test_a_loop_ends(void **state) /* D-106 */
{
    (void)state;
    make_automation("{\"id\":\"again\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"hours\"}}",
                    "[{\"from\":\"start\",\"to\":\"again\"},{\"from\":\"again\",\"to\":\"again\"}]");
    struct test_run_request request = { .automation_id = automation_id };
    store_test(&request);
    assert_int_equal(number_of("select visit::bigint from automation_runs where status = 'failed'"), STEP_VISITS_MAX + 1);
}

static void assert_refused(struct test_run_request request, enum error_code code, const char *param)
{
    struct test_run run;
    struct error err = { 0 };
    assert_false(test_run_store(&work, &request, &run, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.param, param);
    assert_int_equal(number_of("select count(*) from automation_runs"), 0);
}

static void test_faulty_requests_are_refused(void **state) /* R-305 */
{
    (void)state;
    static const struct scenario_split not_a_split = { "letter", "left" };
    static const struct scenario_event not_mail = { "fork", 3, true, 1 };
    make_series();
    struct test_run_request request = request_of(NULL, NULL);
    request.scenario.splits = &not_a_split;
    assert_refused(request, ERR_INVALID_REQUEST, "scenario.splits.0.nodeId");
    request = request_of(NULL, NULL);
    request.scenario.events = &not_mail;
    request.scenario.event_count = 1;
    assert_refused(request, ERR_INVALID_REQUEST, "scenario.engagement.3.nodeId");
    request = request_of("nobody", NULL);
    assert_refused(request, ERR_INVALID_REQUEST, "testRecipient");
    char *large = arena_alloc(arena, 70000);
    memset(large, 'x', 69999);
    request = request_of(NULL, NULL);
    request.payload = json_in_arena(arena, json_pack("{s:s}", "note", large));
    assert_refused(request, ERR_INVALID_REQUEST, "payload");
    request = request_of(NULL, NULL);
    request.automation_id = 4711;
    assert_refused(request, ERR_AUTOMATION_NOT_FOUND, "automationId");
}

static void test_conditions_read_payload_and_contact(void **state) /* R-305 D-108 */
{
    (void)state;
    run_sql("insert into contacts (brand_id, email, email_key, custom_fields, source, subscribed, created_at, updated_at) values "
            "(%lld, "
            "'ada@example.com', 'ada@example.com', '{\"level\":7}', 'api', true, now(), now())",
            (long long)work.brand_id);
    make_automation("{\"id\":\"f\",\"type\":\"filter\",\"config\":{\"logicalOperator\":\"AND\",\"conditions\":[{\"field\":"
                    "\"payload.plan\",\"operator\":\"equals\",\"value\":\"pro\"},{\"field\":\"contact.level\",\"operator\":\"gt\","
                    "\"value\":6}]}}",
                    "[{\"from\":\"start\",\"to\":\"f\"}]");
    struct test_run_request request = request_of(NULL, "{\"plan\":\"pro\",\"email\":\"Ada@Example.com\"}");
    request.scenario = (struct scenario){ 0 };
    store_test(&request);
    assert_int_equal(STEPS("node_id = 'f' and branch = 'true' and facts = '{\"conditions\":[true,true]}'"), 1);
    request.payload = object_of("{\"plan\":\"pro\",\"email\":\"bob@example.com\"}");
    store_test(&request);
    assert_int_equal(STEPS("node_id = 'f' and branch = 'false' and facts = '{\"conditions\":[true,false]}'"), 1);
    assert_int_equal(number_of("select count(*) from contacts"), 1);
}

/* ---- Audiences ---- */

static int64_t taken(const struct audience_simulation *simulation, const char *node, const char *branch, bool *ret_unused)
{
    for (size_t i = 0; i < simulation->branches.count; i++) {
        const struct branch_count *count = &simulation->branches.items[i];
        *ret_unused = branch_is_unused(count);
        if (strcmp(count->node->id, node) == 0 && text_equal(count->branch, branch))
            return count->count;
    }
    fail_msg("%s has no branch %s", node, branch);
    return -1;
}

static void test_an_audience_is_simulated(void **state)
{
    (void)state;
    struct error err;
    struct audience_simulation simulation;
    bool is_unused;
    make_automation("{\"id\":\"f\",\"type\":\"filter\",\"config\":{\"logicalOperator\":\"AND\",\"conditions\":[{\"field\":"
                    "\"contact.level\",\"operator\":\"gte\",\"value\":8}]}},"
                    "{\"id\":\"w\",\"type\":\"wait\",\"config\":{\"localTime\":\"09:00\"}},"
                    "{\"id\":\"never\",\"type\":\"split\",\"config\":{\"leftPercentage\":0}},"
                    "{\"id\":\"seen\",\"type\":\"filter\",\"config\":{\"sourceNodeId\":\"x\",\"window\":{\"duration\":1,"
                    "\"unit\":\"days\"}}}",
                    "[{\"from\":\"start\",\"to\":\"f\"},{\"from\":\"f\",\"to\":\"w\",\"branch\":\"true\"},"
                    "{\"from\":\"w\",\"to\":\"never\"},{\"from\":\"never\",\"to\":\"seen\",\"branch\":\"right\"}]");
    run_sql("update brands set time_zone = 'Europe/Lisbon'; insert into audiences (brand_id, id, name, filters, created_at, "
            "updated_at) overriding system value values (%1$lld, 77, 'All', '[]', now(), now()); insert into contacts "
            "(brand_id, email, email_key, custom_fields, source, subscribed, created_at, updated_at) select %1$lld, format('c%%s@"
            "example.com', n), format('c%%s@example.com', n), jsonb_build_object('level', n), 'api', true, now(), now() from "
            "generate_series(1, 10) n",
            (long long)work.brand_id);
    assert_ok(audience_simulate(&work, automation_id, 77, SIMULATED_CONTACTS_MAX, &simulation, &err), &err);
    assert_int_equal(simulation.contact_count, 10);
    assert_int_equal(taken(&simulation, "f", "true", &is_unused), 3);
    assert_int_equal(taken(&simulation, "f", "false", &is_unused), 7);
    assert_int_equal(taken(&simulation, "w", NULL, &is_unused), 3);
    assert_int_equal(taken(&simulation, "never", "left", &is_unused), 0);
    assert_true(is_unused);
    assert_int_equal(taken(&simulation, "seen", "clicked", &is_unused), 0);
    assert_false(is_unused); /* people decide it */
    /* c10 is the first in the order of addresses. Clocks change in Lisbon in the night of the 29th. */
    const struct simulation *ten = &simulation.contacts[0].simulation;
    assert_string_equal(simulation.contacts[0].email, "c10@example.com");
    assert_int_equal(ten->count, 5);
    assert_string_equal(clock_iso(arena, ten->visits[2].left_us), "2026-03-29T08:00:00.000Z");
    assert_int_equal(number_of("select count(*) from automation_runs"), 0);
    run_sql("delete from audiences; update brands set time_zone = 'UTC'");
}

/* ---- Samples ---- */

static const struct graph *graph_of(const char *nodes, const char *connections)
{
    struct graph *graph;
    struct error err;
    nodes = arena_printf(arena, "[{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":\"manualAudience\"}},%s]", nodes);
    assert_ok(graph_read(arena, &work.engine->ids, object_of(nodes), object_of(connections), &graph, &err), &err);
    return graph;
}

static void make_audience(const char *filters)
{
    run_sql(
        "insert into audiences (brand_id, id, name, filters, created_at, updated_at) overriding system value values (%1$lld, 77, "
        "'All', '%2$s', now(), now()); insert into contacts (brand_id, email, email_key, custom_fields, source, subscribed, "
        "created_at, updated_at) select %1$lld, format('c%%s@example.com', n), format('c%%s@example.com', n), '{}', 'api', true, "
        "now(), now() from generate_series(1, 150) n",
        (long long)work.brand_id, filters);
}

/* A loop makes 1,000 visits in each run, so the sample ends with the contact that reaches its bound. */
static void test_a_sample_is_bounded(void **state)
{
    (void)state;
    struct error err;
    struct branch_sample sample;
    struct branch_sample_of of = { .audience_id = 77 };
    make_audience("[]");
    of.graph = graph_of("{\"id\":\"w\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"minutes\"}},"
                        "{\"id\":\"f\",\"type\":\"split\",\"config\":{\"leftPercentage\":100}}",
                        "[{\"from\":\"start\",\"to\":\"w\"},{\"from\":\"w\",\"to\":\"f\"},"
                        "{\"from\":\"f\",\"to\":\"w\",\"branch\":\"left\"}]");
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(branch_sample_take(&work, &of, &sample, &err), &err);
    assert_int_equal(sample.contact_count, 20);
    of.graph =
        graph_of("{\"id\":\"f\",\"type\":\"split\",\"config\":{\"leftPercentage\":100}}", "[{\"from\":\"start\",\"to\":\"f\"}]");
    assert_ok(branch_sample_take(&work, &of, &sample, &err), &err);
    assert_int_equal(sample.contact_count, BRANCH_SAMPLE_MAX);
    assert_false(branch_is_unused(&sample.branches.items[1]));
    assert_true(branch_is_unused(&sample.branches.items[2]));
}

/* A loop whose filter compares a text with 200 others at each visit. */
static const char *comparing_loop(const char *field)
{
    struct buf *out = buf_in_arena(arena, 1 << 20);
    buf_printf(
        out,
        "{\"id\":\"w\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"minutes\"}},{\"id\":\"f\",\"type\":\"filter\","
        "\"config\":{\"logicalOperator\":\"AND\",\"conditions\":[{\"field\":\"%s\",\"operator\":\"not_contains_any\",\"value\":"
        "[\"absent0\"",
        field);
    for (int i = 1; i < 200; i++)
        buf_printf(out, ",\"absent%d\"", i);
    buf_add_text(out, "]}]}}");
    return buf_text(out);
}

static const char loop_back[] = "[{\"from\":\"start\",\"to\":\"w\"},{\"from\":\"w\",\"to\":\"f\"},"
                                "{\"from\":\"f\",\"to\":\"w\",\"branch\":\"true\"}]";

/* The first contact compares about as much as a sample may. The second one does not come to its end, and is not counted. */
static void test_a_sample_compares_a_bounded_amount_of_text(void **state)
{
    (void)state;
    struct error err;
    struct branch_sample sample;
    struct branch_sample_of of = { .audience_id = 77, .graph = graph_of(comparing_loop("contact.note"), loop_back) };
    make_audience("[]");
    run_sql("update contacts set custom_fields = jsonb_build_object('note', repeat('x', 7800))");
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(branch_sample_take(&work, &of, &sample, &err), &err);
    assert_int_equal(sample.contact_count, 1);
    for (size_t i = 0; i < sample.branches.count; i++)
        if (text_equal(sample.branches.items[i].branch, "true"))
            assert_int_equal(sample.branches.items[i].count, 499);
}

static void test_a_test_run_compares_a_bounded_amount_of_text(void **state) /* R-305 */
{
    (void)state;
    make_automation(comparing_loop("payload.note"), loop_back);
    char *note = arena_alloc(arena, 60001);
    memset(note, 'x', 60000);
    struct test_run_request request = request_of(NULL, arena_printf(arena, "{\"note\":\"%s\"}", note));
    request.scenario = (struct scenario){ 0 };
    store_test(&request);
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'failed' and error like '%more text%'"), 1);
    assert_true(number_of("select count(*) from automation_steps where node_id = 'f'") < 100);
}

/* A sample that cannot be taken leaves the transaction usable, with its own time limit. */
static void test_a_refused_sample_fails_nothing(void **state)
{
    (void)state;
    struct error err;
    struct branch_sample sample;
    struct branch_sample_of of = { .graph = graph_of("{\"id\":\"f\",\"type\":\"split\",\"config\":{\"leftPercentage\":50}}",
                                                     "[{\"from\":\"start\",\"to\":\"f\"}]"),
                                   .audience_id = 77 };
    make_audience("[]");
    DB_CONN_SCOPE other = NULL;
    assert_ok(installation_connect(installation, &other, &err), &err);
    DB_TX locking = { .conn = NULL };
    assert_ok(db_tx_begin(other, &locking, &err), &err);
    assert_ok(db_script(other, "lock table contacts in access exclusive mode", &err), &err);
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_sql("set local statement_timeout = 45678; update brands set name = 'Kept'");
    assert_ok(branch_sample_take(&work, &of, &sample, &err), &err);
    assert_true(sample.is_refused);
    assert_int_equal(sample.contact_count, 0);
    assert_int_equal(number_of("select setting::bigint from pg_settings where name = 'statement_timeout'"), 45678);
    db_tx_rollback(&locking);
    assert_ok(branch_sample_take(&work, &of, &sample, &err), &err);
    assert_false(sample.is_refused);
    assert_int_equal(number_of("select count(*) from brands where name = 'Kept'"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIMULATION_TEST(test_a_test_run_has_its_path_in_simulated_time),
        SIMULATION_TEST(test_an_open_takes_the_end_of_the_window),
        SIMULATION_TEST(test_mail_goes_to_the_recipient_with_the_payload),
        SIMULATION_TEST(test_a_refused_message_fails_its_step),
        SIMULATION_TEST(test_a_loop_ends),
        SIMULATION_TEST(test_faulty_requests_are_refused),
        SIMULATION_TEST(test_conditions_read_payload_and_contact),
        SIMULATION_TEST(test_an_audience_is_simulated),
        SIMULATION_TEST(test_a_sample_is_bounded),
        SIMULATION_TEST(test_a_sample_compares_a_bounded_amount_of_text),
        SIMULATION_TEST(test_a_test_run_compares_a_bounded_amount_of_text),
        SIMULATION_TEST(test_a_refused_sample_fails_nothing),
        SIMULATION_TEST(test_mail_has_the_fallbacks_of_the_contract),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
