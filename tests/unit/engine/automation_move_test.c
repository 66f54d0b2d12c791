/*
 * Moving the runs of an automation to another version: a preview counts what a move
 * does, for random pairs of versions, and a move is done once. The environment
 * variable POSTHORN_MOVE_PAIRS is the number of pairs.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/automations/automations.h"
#include "engine/automations/move.h"

#include <stdlib.h>

enum { VERSIONS = 3, NODES_MAX = 8, RUNS = 40, PAIRS_BY_DEFAULT = 30 };

static const char everybody[] = "delete from automation_runs; delete from automation_steps; delete from automation_versions;"
                                "delete from automations; delete from automation_counts; delete from trigger_payloads;";

/* A chain behind the trigger of waits and, where `mails`, of messages that read the payload. Nodes are left out at random. */
static const json_t *random_graph(const json_t **ret_connections, const char *audience_id)
{
    json_t *nodes = json_in_arena(arena, json_array());
    json_t *connections = json_in_arena(arena, json_array());
    const char *before = "start";
    json_array_append_new(nodes, json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", before, "type", "trigger", "config", "mode",
                                           "manualAudience", "audienceId", audience_id));
    for (int i = 0; i < NODES_MAX; i++) {
        const char *id = arena_printf(arena, "n%d", i);
        if (rand() % 3 == 0)
            continue;
        bool is_split = rand() % 4 == 0;
        json_array_append_new(nodes,
                              is_split ? json_pack("{s:s, s:s, s:{s:i}}", "id", id, "type", "split", "config", "leftPercentage", 50)
                                       : json_pack("{s:s, s:s, s:{s:i, s:s}}", "id", id, "type", "wait", "config", "duration",
                                                   rand() % 9 + 1, "unit", "days"));
        json_t *connection = json_pack("{s:s, s:s}", "from", before, "to", id);
        const json_t *last = json_array_get(nodes, json_array_size(nodes) - 2);
        if (strcmp(json_get_text(last, "type"), "split") == 0)
            json_object_set_new(connection, "branch", json_string("left"));
        json_array_append_new(connections, connection);
        before = id;
    }
    const json_t *last = json_array_get(nodes, json_array_size(nodes) - 1);
    if (strcmp(json_get_text(last, "type"), "split") == 0) { /* a split needs a way out */
        json_array_append_new(
            nodes, json_pack("{s:s, s:s, s:{s:i, s:s}}", "id", "end", "type", "wait", "config", "duration", 1, "unit", "days"));
        json_array_append_new(connections, json_pack("{s:s, s:s, s:s}", "from", before, "to", "end", "branch", "right"));
    }
    *ret_connections = connections;
    return nodes;
}

static int64_t make_automation(const char *audience_id)
{
    struct error err;
    struct automation_saved saved;
    BUF_SCOPE out;
    buf_init(&out, 1024 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    struct automation_edit edit = { .name = "Moving" };
    edit.nodes = random_graph(&edit.connections, audience_id);
    assert_ok(automation_create(&work, &edit, &json, &saved, &err), &err);
    int64_t id = saved.row->id;
    for (int version = 2; version <= VERSIONS; version++) {
        edit.nodes = random_graph(&edit.connections, audience_id);
        /* The description of a node makes equal graphs different versions. */
        json_object_set_new(json_array_get(json_for_iteration(edit.nodes), 0), "description", json_integer(0));
        json_object_set_new(json_array_get(json_for_iteration(edit.nodes), 0), "description",
                            json_string(arena_printf(arena, "%d", version)));
        assert_ok(automation_update(&work, id, &edit, &json, &saved, &err), &err);
        assert_int_equal(saved.row->version, version);
    }
    return id;
}

/* Runs at random nodes of random versions; some have ended, some have not begun, some are tests. */
static void make_runs(int64_t id)
{
    run_sql("insert into automation_runs (brand_id, automation_id, version_id, trigger_instance_id, email, email_key, mode, "
            "status, node_id,"
            " visit, due_at, started_at)"
            " select v.brand_id, v.automation_id, v.id, case when random() < 0.5 then 7 end, 'a@example.com', 'a@example.com',"
            " case when random() < 0.1 then 'test' else 'live' end, case when random() < 0.1 then 'completed' else 'running' end,"
            " n.node ->> 'id', case when n.node ->> 'type' = 'trigger' then 0 else 2 end, now() + interval '1 day', now()"
            " from generate_series(1, %d) g cross join lateral (select * from automation_versions w where w.automation_id = %lld "
            "and g > 0"
            " order by random() limit 1) v cross join lateral (select node from jsonb_array_elements(v.nodes) e (node) where g > 0"
            " order by random() limit 1) n",
            RUNS, (long long)id);
}

static const json_t *move(int64_t id, int version, bool is_dry_run)
{
    struct error err;
    BUF_SCOPE out;
    buf_init(&out, 1024 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    const json_t *result;
    assert_ok(automation_move(&work, id, arena_printf(arena, "%d", version), is_dry_run, &json, &err), &err);
    assert_ok(
        json_read(arena, buf_text(&out), strlen(buf_text(&out)), (struct json_bounds){ .max_bytes = SIZE_MAX }, &result, &err),
        &err);
    return result;
}

static int pair_count(void)
{
    const char *text = getenv("POSTHORN_MOVE_PAIRS");
    return text != NULL ? atoi(text) : PAIRS_BY_DEFAULT;
}

static int64_t open_on(const char *condition)
{
    struct error err;
    struct db_rows rows;
    static char text[512];
    static const struct db_field field = { .name = "value", .type = DB_BIGINT, .offset = offsetof(struct number, value) };
    snprintf(text, sizeof(text),
             "select count(*) from automation_runs r join automation_versions v using (brand_id) where v.id = "
             "r.version_id and (%s)",
             condition);
    struct db_statement statement = {
        .name = "", .result = DB_ONE, .sql = text, .columns = &field, .column_count = 1, .row_size = sizeof(struct number)
    };
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static void test_a_move_does_what_its_preview_says(void **state) /* */
{
    (void)state;
    int64_t moved = 0, left = 0;
    int pairs = pair_count();
    srand(20261123);
    for (int pair = 0; pair < pairs; pair++) {
        run_sql("%s", everybody);
        run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'All', '{}', now(), now())",
                (long long)work.brand_id);
        int64_t audience = number_of("select max(id) from audiences");
        int64_t id = make_automation(work_id(&work, ID_AUDIENCE, audience));
        make_runs(id);
        int version = rand() % VERSIONS + 1;
        const char *on_target = arena_printf(arena, "v.version = %d and r.status = 'running' and r.mode = 'live'", version);
        int64_t before = open_on(on_target);
        int64_t open = open_on("r.status = 'running' and r.mode = 'live'");
        int64_t others = open_on("r.status <> 'running' or r.mode <> 'live'");
        const json_t *preview = move(id, version, true);
        assert_int_equal(open_on(on_target), before); /* nothing was changed */
        const json_t *done = move(id, version, false);
        json_object_set_new(json_for_iteration(done), "dryRun", json_true());
        assert_true(json_equal(json_for_iteration(preview), json_for_iteration(done)));
        assert_int_equal(open_on(on_target), before + json_get_int(preview, "moves", -1));
        assert_int_equal(open_on("r.status = 'canceled' and r.error like 'The node % is not in version %'"),
                         json_get_int(preview, "leaves", -1));
        assert_int_equal(open, before + json_get_int(preview, "moves", -1) + json_get_int(preview, "leaves", -1));
        assert_int_equal(open_on("(r.status = 'completed' or r.mode <> 'live')"), others);
        /* Every open run is at a node of its version. */
        assert_int_equal(
            open_on("r.status = 'running' and r.mode = 'live' and not exists (select 1 from jsonb_array_elements(v.nodes) e "
                    "where e ->> 'id' = r.node_id)"),
            0);
        const json_t *again = move(id, version, false);
        assert_int_equal(json_array_size(json_object_get(again, "nodes")), 0);
        moved += json_get_int(preview, "moves", 0);
        left += json_get_int(preview, "leaves", 0);
        arena_reset(arena);
    }
    assert_true(pairs > 0 && moved > pairs && left > pairs);
}

static void test_a_version_must_exist(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    BUF_SCOPE out;
    buf_init(&out, 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    run_sql("%s", everybody);
    assert_false(automation_move(&work, 1, "1", true, &json, &err));
    assert_int_equal(err.code, ERR_AUTOMATION_NOT_FOUND);
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'All', '{}', now(), now())",
            (long long)work.brand_id);
    int64_t id = make_automation(work_id(&work, ID_AUDIENCE, number_of("select max(id) from audiences")));
    static const char *const names[] = { "4", "ver_0000000000000", "latest" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        error_clear(&err);
        assert_false(automation_move(&work, id, names[i], true, &json, &err));
        assert_int_equal(err.code, ERR_AUTOMATION_VERSION_NOT_FOUND);
        assert_string_equal(err.param, "to");
    }
}

/* A run whose payload was erased stays where it is when the version would read the payload. */
static void test_an_erased_payload_keeps_a_run(void **state)
{
    (void)state;
    struct error err;
    struct automation_saved saved;
    BUF_SCOPE out;
    buf_init(&out, 1024 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    json_error_t why;
    run_sql("%s delete from triggers;"
            "insert into triggers (brand_id, title, schema, created_at, updated_at) values (%lld, 'Order',"
            " '[{\"key\": \"email\", \"type\": \"string\", \"required\": true}, {\"key\": \"total\", \"type\": \"int\", "
            "\"required\": true}]',"
            " now(), now())",
            everybody, (long long)work.brand_id);
    const char *trigger_id = work_id(&work, ID_TRIGGER, number_of("select max(id) from triggers"));
    struct automation_edit edit = { .name = "Order" };
    edit.nodes = json_in_arena(arena, json_pack_ex(&why, 0, "[{s:s, s:s, s:{s:s, s:s}}, {s:s, s:s, s:{s:i, s:s}}]", "id", "start",
                                                   "type", "trigger", "config", "mode", "event", "triggerEventId", trigger_id, "id",
                                                   "pause", "type", "wait", "config", "duration", 1, "unit", "days"));
    edit.connections = json_in_arena(arena, json_pack("[{s:s, s:s}]", "from", "start", "to", "pause"));
    assert_ok(automation_create(&work, &edit, &json, &saved, &err), &err);
    json_array_append_new(json_for_iteration(edit.nodes), json_pack("{s:s, s:s, s:{s:s, s:[{s:s, s:s, s:i}]}}", "id", "big", "type",
                                                                    "filter", "config", "logicalOperator", "AND", "conditions",
                                                                    "field", "payload.total", "operator", "gt", "value", 9));
    json_array_append_new(json_for_iteration(edit.nodes), json_pack("{s:s, s:s, s:{s:i, s:s}}", "id", "end", "type", "wait",
                                                                    "config", "duration", 1, "unit", "days"));
    json_array_append_new(json_for_iteration(edit.connections), json_pack("{s:s, s:s}", "from", "pause", "to", "big"));
    json_array_append_new(json_for_iteration(edit.connections),
                          json_pack("{s:s, s:s, s:s}", "from", "big", "to", "end", "branch", "true"));
    assert_ok(automation_update(&work, saved.row->id, &edit, &json, &saved, &err), &err);
    run_sql("insert into automation_runs (brand_id, automation_id, version_id, trigger_instance_id, payload_id, email, email_key, "
            "node_id,"
            " visit, due_at, started_at) select brand_id, automation_id, id, 1, p, 'a@example.com', 'a@example.com', 'pause', 2, "
            "now(), now()"
            " from automation_versions, (values (null), (5)) p (p) where version = 1");
    const json_t *done = move(saved.row->id, 2, false);
    assert_int_equal(json_get_int(done, "stays", -1), 1);
    assert_int_equal(json_get_int(done, "moves", -1), 1);
    assert_int_equal(open_on("r.payload_id is null and v.version = 1 and r.status = 'running'"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_move_does_what_its_preview_says),
        TEST(test_a_version_must_exist),
        TEST(test_an_erased_payload_keeps_a_run),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
