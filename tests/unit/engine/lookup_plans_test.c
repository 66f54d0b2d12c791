/*
 * Lookups under statistics that mislead the planner, or without any. Two indexes of contacts begin with the brand and serve any
 * lookup of one contact, at the cost of reading all contacts of the brand for each; so do the keys of the other tables. The tests
 * count the rows that were read: a few for each lookup, however many the brand has.
 */
#include "fixtures/import_steps.h"
#include "fixtures/row_reads.h"

#include "engine/audiences/audiences.h"
#include "engine/contacts/contacts.h"
#include "engine/events/recipient_events.h"
#include "engine/preferences/preferences.h"
#include "engine/runs/launch_target.h"
#include "engine/runs/start.h"
#include "engine/subscriptions/subscriptions.h"
#include "engine/validation/validation.h"
#include "sql/audiences.h"
#include "sql/contacts.h"
#include "sql/delivery.h"
#include "sql/recipient_events.h"
#include "sql/reports.h"
#include "sql/sends.h"

static int leave(void **state)
{
    run_sql("alter table contacts reset (autovacuum_enabled)");
    return world_leave(state);
}

static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from imports; delete from validations; delete from audiences; truncate contacts cascade; alter table contacts "
            "set (autovacuum_enabled = "
            "off)");
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

/* The rows of contacts and of its indexes that were read. */
static int64_t rows_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of(
        "select (select (sum(idx_tup_read) + sum(idx_tup_fetch))::bigint from pg_stat_user_indexes where relname = 'contacts')"
        " + (select seq_tup_read from pg_stat_user_tables where relname = 'contacts')");
}

static void assert_few_reads(const char *what, int64_t before, int64_t lookups)
{
    int64_t reads = rows_read() - before;
    if (reads > lookups * READS_PER_LOOKUP)
        fail_msg("%s read %lld rows for %lld lookups", what, (long long)reads, (long long)lookups);
}

/* Analyzes contacts beside a transaction that has written contacts and has not committed: the table has pages and no rows. */
static void take_for_empty(void)
{
    struct error err;
    struct db_conn *other;
    assert_ok(installation_connect(installation, &other, &err), &err);
    assert_ok(db_script(other, "begin", &err), &err);
    assert_ok(db_script(other, arena_printf(arena, people, (long long)work.brand_id, PEOPLE), &err), &err);
    run_sql("analyze contacts");
    assert_ok(db_script(other, "commit", &err), &err);
    db_disconnect(other);
    assert_int_equal(number_of("select count(*) from pg_class where oid = 'contacts'::regclass and relpages > 0 and reltuples = 0"),
                     1);
}

/* ---- Imports ---- */

static const char *csv_of(const char *name, int count)
{
    struct buf *out = buf_in_arena(arena, 1 << 20);
    buf_add_text(out, "email,firstName,plan\n");
    for (int i = 1; i <= count; i++)
        buf_printf(out, "p%d@example.com,%s%d,free\n", i, name, i % 2);
    return buf_text(out);
}

/* Every row is a known contact: an import that changes all and validates them, one that changes half, and a preview. */
static void import_known(void)
{
    struct error err;
    int64_t before = rows_read();
    const json_t *summary =
        json_object_get(import_all(&(struct import_request){ .csv = csv_of("Ada", PEOPLE), .validate = true }), "summary");
    assert_int_equal(json_get_int(summary, "updated", -1), PEOPLE);
    assert_int_equal(number_of("select count(*) from validation_targets"), PEOPLE);
    assert_few_reads("the first import", before, PEOPLE);

    run_sql("update contacts set first_name = 'Bob' where first_name = 'Ada0'");
    before = rows_read();
    summary = json_object_get(import_all(&(struct import_request){ .csv = csv_of("Ada", PEOPLE) }), "summary");
    assert_int_equal(json_get_int(summary, "updated", -1), PEOPLE / 2);
    assert_int_equal(json_get_int(summary, "unchanged", -1), PEOPLE / 2);
    assert_few_reads("the second import", before, PEOPLE);

    struct json_writer json;
    json_writer_init(&json, buf_in_arena(arena, 1 << 20));
    before = rows_read();
    assert_ok(import_preview(&work, &(struct import_request){ .csv = csv_of("Cyd", PEOPLE) }, &json, &err), &err);
    assert_few_reads("the preview", before, PEOPLE);
}

/* the cost of an import grows with its rows, also when the server has analyzed contacts before the first commit. */
static void test_an_import_into_a_table_taken_for_empty(void **state)
{
    (void)state;
    take_for_empty();
    import_known();
}

static void test_an_import_into_a_brand_without_statistics(void **state)
{
    (void)state;
    take_for_strange();
    import_known();
}

/* the statistics know a new brand when its import has ended. A brand that they do not know is taken for empty, and a search
 * in a cohort compares all of its contacts with all members. */
static void test_an_import_makes_the_brand_known(void **state)
{
    (void)state;
    take_for_strange();
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    assert_int_equal(number_of("select array_length(most_common_vals::text::bigint[], 1)::bigint from pg_stats"
                               " where tablename = 'contacts' and attname = 'brand_id'"),
                     1);
    import_all(&(struct import_request){ .csv = csv_of("Ada", 2 * PEOPLE) });
    assert_int_equal(number_of("select array_length(most_common_vals::text::bigint[], 1)::bigint from pg_stats"
                               " where tablename = 'contacts' and attname = 'brand_id'"),
                     2);
}

/* ---- Other statements ---- */

static const char **keys_of(size_t count)
{
    const char **keys = arena_array(arena, count, sizeof(*keys));
    for (size_t i = 0; i < count; i++)
        keys[i] = arena_printf(arena, "p%zu@example.com", i + 1);
    return keys;
}

static void save_known(size_t count)
{
    struct error err;
    struct contact_batch batch;
    struct contact_change *changes = arena_array(arena, count, sizeof(*changes));
    const char **keys = keys_of(count);
    for (size_t i = 0; i < count; i++)
        changes[i] = (struct contact_change){ .email = keys[i], .source = "fair" };
    int64_t before = rows_read();
    assert_ok(contact_save_batch(&work, changes, count, &batch, &err), &err);
    assert_int_equal(batch.updated, count);
    assert_few_reads("contacts_save", before, (int64_t)count);
}

static void remove_known(size_t count)
{
    struct error err;
    struct contact_removal removal;
    int64_t before = rows_read();
    assert_ok(contact_remove(&work, (struct text_list){ keys_of(count), count }, &removal, &err), &err);
    assert_int_equal(removal.ids.count, count);
    assert_few_reads("contacts_delete", before, (int64_t)count);
}

enum { SEND = 7 };

static void expand_inline(size_t count)
{
    struct error err;
    const char **keys = keys_of(count);
    struct delivery_expand_inline_params params = {
        .brand_id = work.brand_id, .send_id = SEND, .emails = { keys, count }, .keys = { keys, count }
    };
    struct delivery_expand_inline_row *expanded;
    int64_t before = rows_read();
    assert_ok(sql_delivery_expand_inline(conn, arena, &params, &expanded, &err), &err);
    assert_int_equal(expanded->count, count);
    assert_few_reads("delivery_expand_inline", before, (int64_t)count);
}

static void look_at_inline(size_t count)
{
    struct error err;
    const char **hashes = arena_array(arena, count, sizeof(*hashes));
    for (size_t i = 0; i < count; i++)
        hashes[i] = "00";
    struct send_inline_special_params params = {
        .brand_id = work.brand_id, .keys = { keys_of(count), count }, .hashes = { hashes, count }, .now = work.now_us
    };
    struct send_inline_special_row *rows;
    size_t found;
    int64_t before = rows_read();
    assert_ok(sql_send_inline_special(conn, arena, &params, &rows, &found, &err), &err);
    assert_int_equal(found, 0);
    assert_few_reads("send_inline_special", before, (int64_t)count);
}

static void read_recipients(size_t count)
{
    struct error err;
    int64_t *ordinals = arena_array(arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++)
        ordinals[i] = (int64_t)i + 1;
    struct delivery_recipients_params params = {
        .brand_id = work.brand_id, .send_id = SEND, .ordinals = { ordinals, count }, .owner = "me", .max_bytes = 1 << 20
    };
    struct delivery_recipients_row *rows;
    size_t found;
    int64_t before = rows_read();
    assert_ok(sql_delivery_recipients(conn, arena, &params, &rows, &found, &err), &err);
    assert_int_equal(found, count);
    assert_few_reads("delivery_recipients", before, (int64_t)count);
}

static void add_sent_events(int64_t count)
{
    run_sql("insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key)"
            " select %lld, timestamptz '2026-03-01 00:00Z' + n * interval '1 second', 'email', 'sent', 'p' || n || '@example.com',"
            "        'p' || n || '@example.com' from generate_series(1, %lld) as n",
            (long long)work.brand_id, (long long)count);
}

static void build_audience(int64_t count)
{
    struct error err;
    static const char *const types[] = { "sent" };
    add_sent_events(count);
    struct audience_build_step_params params = {
        .brand_id = work.brand_id, .id = 1, .event_types = { types, 1 }, .to = INT64_MAX / 2, .limit = 20000
    };
    struct audience_build_step_row *step;
    int64_t before = rows_read();
    assert_ok(sql_audience_build_step(conn, arena, &params, &step, &err), &err);
    assert_int_equal(step->stamped, count);
    assert_few_reads("audience_build_step", before, count);
}

static void test_statements_on_a_brand_without_statistics(void **state)
{
    (void)state;
    enum { LOOKUPS = 20 }; /* much fewer than the contacts: a plan that reads all of them shows */
    take_for_strange();
    save_known(LOOKUPS);
    look_at_inline(LOOKUPS);
    expand_inline(LOOKUPS);
    read_recipients(LOOKUPS);
    build_audience(LOOKUPS);
    remove_known(LOOKUPS);
}

/* The statistics know neither the contacts nor the members of the brand when its cohort is built. */
static int64_t build_strange_cohort(void)
{
    struct error err;
    bool done;
    take_for_strange();
    run_sql("alter table audience_members set (autovacuum_enabled = off); truncate audience_members;"
            "insert into audience_members (brand_id, audience_id, contact_id) select brand_id, 1, id from contacts where brand_id "
            "= %lld;"
            "analyze audience_members",
            1LL << 40);
    add_sent_events(PEOPLE);
    run_sql("insert into audiences (brand_id, name, kind, filters, selection, materialization_status, created_at, updated_at)"
            " values (%lld, 'c', 'cohort', '{}', '{\"eventTypes\":[\"sent\"],\"toUs\":4000000000000000}', 'pending', now(), now())",
            (long long)work.brand_id);
    int64_t id = number_of("select max(id) from audiences");
    assert_ok(audience_build_step(&work, id, &done, &err), &err);
    assert_true(done);
    return id;
}

/* A launch on a new cohort looks each contact up among the members: it does not compare all with all. */
static void test_a_launch_on_a_cohort_without_statistics(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    struct launch_target target = { .audience_id = build_strange_cohort(), .is_accepted = true };
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    int64_t before = number_of(READS_OF("^audience_members$"));
    assert_ok(launch_target_count(&work, target, &count, &err), &err);
    assert_int_equal(count, PEOPLE);
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    int64_t reads = number_of(READS_OF("^audience_members$")) - before;
    if (reads > PEOPLE * READS_PER_LOOKUP)
        fail_msg("a launch read %lld members for %d contacts", (long long)reads, PEOPLE);
    run_sql("truncate audience_members; alter table audience_members reset (autovacuum_enabled)");
}

/* ---- Events of recipients ---- */

/* Nothing has analyzed these tables. Every contact has got a message of the send, and its result is known. */
static void deliver_to_all(void)
{
    run_sql(
        "truncate send_recipients, send_results, recipient_events, contact_activity, event_counts, event_rollups;"
        "alter table send_recipients set (autovacuum_enabled = off); alter table send_results set (autovacuum_enabled = off);"
        "alter table recipient_events set (autovacuum_enabled = off); alter table contact_activity set (autovacuum_enabled = off)");
    run_sql("insert into sends (brand_id, id, kind, message_class, email_id, email_version_id, status, subject, subject_code,"
            "                   from_address, domain_id, target, target_hash, created_at, updated_at) overriding system value"
            " values (%lld, %d, 'campaign', 'marketing', 1, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now())",
            (long long)work.brand_id, SEND);
    run_sql("insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            " select %1$lld, %2$d, n, 'p' || n || '@example.com', 'p' || n || '@example.com' from generate_series(1, %3$d) as n;"
            "insert into send_results (brand_id, send_id, ordinal, outcome, occurred_at)"
            " select %1$lld, %2$d, n, 'delivered', '2026-01-01' from generate_series(1, %3$d) as n;"
            "insert into send_stats (brand_id, send_id) values (%1$lld, %2$d)",
            (long long)work.brand_id, SEND, PEOPLE);
}

static void change_events(const char *what, enum recipient_event_change change, int64_t first, size_t count)
{
    static const int64_t at_us = INT64_C(1767225600) * US_PER_S; /* 2026-01-01 */
    struct error err;
    struct recipient_event *events = arena_array(arena, count, sizeof(*events));
    bool *any_new = arena_array(arena, count, sizeof(*any_new));
    for (size_t i = 0; i < count; i++) {
        int64_t ordinal = first + (int64_t)i;
        int64_t recorded_at_us = at_us + ordinal * US_PER_S;
        events[i] = (struct recipient_event){
            .send_id = SEND,
            .ordinal = ordinal,
            .type = "opened",
            .at_us = recorded_at_us + (change == RECIPIENT_EVENT_MOVE ? US_PER_S / 2 : 0),
            .change = change,
            .recorded_at_us = recorded_at_us,
        };
    }
    note_reads();
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, events, count, any_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_few_reads_of_all(what, (int64_t)count);
}

static void read_reported(size_t count)
{
    struct error err;
    int64_t *send_ids = arena_array(arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(arena, count, sizeof(*ordinals));
    const char **types = arena_array(arena, count, sizeof(*types));
    const char **diagnostics = arena_array(arena, count, sizeof(*diagnostics));
    for (size_t i = 0; i < count; i++) {
        send_ids[i] = SEND;
        ordinals[i] = (int64_t)i + 1;
        types[i] = "opened";
        diagnostics[i] = "";
    }
    struct report_recipients_params params = {
        .brand_id = work.brand_id,
        .send_ids = { send_ids, count },
        .ordinals = { ordinals, count },
        .event_types = { types, count },
        .diagnostics = { diagnostics, count },
    };
    struct report_recipients_row *rows;
    size_t found;
    note_reads();
    assert_ok(sql_report_recipients(conn, arena, &params, &rows, &found, &err), &err);
    assert_int_equal(found, count);
    assert_few_reads_of_all("report_recipients", (int64_t)count);
}

static void test_events_without_statistics(void **state)
{
    (void)state;
    take_for_strange();
    deliver_to_all();
    for (int64_t first = 1; first < PEOPLE; first += RECIPIENT_EVENTS_MAX)
        change_events("adding", RECIPIENT_EVENT_ADD, first, RECIPIENT_EVENTS_MAX);
    assert_int_equal(number_of("select count(*) from recipient_events"), PEOPLE);
    read_reported(500);
    change_events("moving", RECIPIENT_EVENT_MOVE, 1, 200);
    assert_int_equal(
        number_of("select count(*) from recipient_events where date_part('milliseconds', occurred_at) ::int % 1000 = 500"), 200);
    change_events("removing", RECIPIENT_EVENT_REMOVE, 1001, 200);
    assert_int_equal(number_of("select count(*) from recipient_events"), PEOPLE - 200);
}

/* ---- Links of messages ---- */

/* Of the recipient of a message, and of the contact that asked for the link. */
static struct unsubscribe_link link_of(int64_t number, int64_t first_contact_id)
{
    if (number % 2 == 0)
        return (struct unsubscribe_link){ .brand_id = work.brand_id, .send_id = SEND, .ordinal = number };
    return (
        struct unsubscribe_link){ .brand_id = work.brand_id, .was_asked_for = true, .contact_id = first_contact_id + number - 1 };
}

static void choose_group(const struct unsubscribe_link *link)
{
    static const char *const groups[] = { "news" };
    struct preference_choice choice = { .groups = { groups, ARRAY_COUNT(groups) } };
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(preferences_choose(&work, link, &choice, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static void leave_by(const struct unsubscribe_link *link)
{
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(subscription_leave(&work, link, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

/* A few people follow their links. Choosing looks the contact up for the groups, for its address and for its change. */
static void test_links_without_statistics(void **state)
{
    (void)state;
    enum { LOOKUPS = 20 };
    struct unsubscribe_link links[LOOKUPS];
    struct error err;
    take_for_strange();
    deliver_to_all();
    assert_ok(public_group_set(&work, "news", NULL, &err), &err);
    int64_t first_id = number_of("select max(id) from contacts where email_key = 'p1@example.com'");
    for (int i = 0; i < LOOKUPS; i++)
        links[i] = link_of(i + 1, first_id);
    note_reads();
    for (int i = 0; i < LOOKUPS; i++)
        choose_group(&links[i]);
    assert_few_reads_of_all("choosing", (int64_t)LOOKUPS * 3);
    assert_int_equal(number_of("select count(*) from contacts where subscription_groups ? 'news'"), LOOKUPS);
    note_reads();
    for (int i = 0; i < LOOKUPS; i++)
        leave_by(&links[i]);
    assert_few_reads_of_all("leaving", LOOKUPS);
    assert_int_equal(number_of("select count(*) from contacts where not subscribed"), LOOKUPS);
    run_sql("delete from public_groups; truncate suppressions");
}

static void test_runs_are_woken_without_statistics(void **state)
{
    (void)state;
    struct error err;
    int64_t ids[200];
    run_sql("truncate automation_runs; alter table automation_runs set (autovacuum_enabled = off)");
    run_sql(
        "insert into automation_runs (brand_id, automation_id, version_id, email, email_key, node_id, started_at, waits_message)"
        " select %lld, 1, 1, 'p' || n || '@example.com', 'p' || n || '@example.com', 'n', now(), n from generate_series(1, %d) as "
        "n",
        (long long)work.brand_id, PEOPLE);
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++)
        ids[i] = (int64_t)i + 1;
    note_reads();
    assert_ok(runs_wake_by_messages(&work, (struct int_list){ ids, ARRAY_COUNT(ids) }, &err), &err);
    assert_few_reads_of_all("run_wake_by_messages", (int64_t)ARRAY_COUNT(ids));
    assert_int_equal(number_of("select count(*) from automation_runs where due_at is not null"), ARRAY_COUNT(ids));
    run_sql("truncate automation_runs");
}

/* ---- Suppressions ---- */

/* The brand has suppressed all people, of which the statistics do not know: every second has unsubscribed by a link. */
static void suppress_all(void)
{
    run_sql("truncate suppressions; alter table suppressions set (autovacuum_enabled = off)");
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " select organization_id, 'Other', 'completed', now(), now() from brands where id = %1$lld;"
            "insert into suppressions (brand_id, address_hash, reason, created_at)"
            " select b.id, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'bounced', now()"
            "   from brands b, generate_series(1, %2$d) as n where b.name = 'Other'",
            (long long)work.brand_id, OTHER_PEOPLE);
    run_sql("analyze suppressions");
    run_sql("insert into suppressions (brand_id, address_hash, reason, created_at)"
            " select %lld, decode(lpad(to_hex(n), 64, '0'), 'hex'),"
            "        case n %% 2 when 0 then 'unsubscribe' else 'unsubscribed' end, '2026-01-01' from generate_series(1, %d) as n",
            (long long)work.brand_id, PEOPLE);
}

static int64_t suppressions_left(void)
{
    return number_of("select count(*) from suppressions where reason <> 'bounced'");
}

static int64_t suppressions_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of(READS_OF("^suppressions$"));
}

static void assert_few_reads_of_suppressions(const char *what, int64_t before, int64_t lookups)
{
    int64_t reads = suppressions_read() - before;
    if (reads > lookups * READS_PER_LOOKUP)
        fail_msg("%s read %lld suppressions for %lld lookups", what, (long long)reads, (long long)lookups);
}

/* a few addresses are looked up among many suppressions. A join would compare each suppression with each address. */
static void test_unsubscribes_are_lifted_without_statistics(void **state)
{
    (void)state;
    enum { LOOKUPS = 20 };
    struct error err;
    const char *hashes[LOOKUPS];
    int64_t agreed[LOOKUPS];
    suppress_all();
    for (int i = 0; i < LOOKUPS; i++) {
        hashes[i] = arena_printf(arena, "%064x", (unsigned)i + 1);
        agreed[i] = INT64_C(1767225600) * US_PER_S + (i < LOOKUPS / 2 ? -1 : 1); /* 2026-01-01: half of them before it */
    }
    int64_t affected;
    int64_t before = suppressions_read();
    struct contact_unsubscribes_lift_params lift = { .brand_id = work.brand_id, .address_hashes = { hashes, LOOKUPS } };
    assert_ok(sql_contact_unsubscribes_lift(conn, arena, &lift, &affected, &err), &err);
    assert_few_reads_of_suppressions("contact_unsubscribes_lift", before, LOOKUPS);
    assert_int_equal(suppressions_left(), PEOPLE - LOOKUPS / 2); /* those of the brand */

    before = suppressions_read();
    struct contact_unsubscribes_release_params release = { .brand_id = work.brand_id,
                                                           .address_hashes = { hashes, LOOKUPS },
                                                           .agreed = { agreed, LOOKUPS } };
    assert_ok(sql_contact_unsubscribes_release(conn, arena, &release, &affected, &err), &err);
    assert_few_reads_of_suppressions("contact_unsubscribes_release", before, LOOKUPS);
    assert_int_equal(suppressions_left(), PEOPLE - LOOKUPS / 2 - LOOKUPS / 4); /* those of people that have agreed since */
    run_sql("truncate suppressions; alter table suppressions reset (autovacuum_enabled); delete from brands where name = 'Other'");
}

/* a brand with bounces only. An import looks for those that it can delete: among the addresses that it subscribes. */
static void test_an_import_beside_bounces(void **state)
{
    (void)state;
    enum { LOOKUPS = 20 };
    struct buf *subscribing = buf_in_arena(arena, 1 << 16);
    take_for_strange();
    suppress_all();
    run_sql("update suppressions set reason = 'bounced'");
    int64_t before = suppressions_read();
    import_all(&(struct import_request){ .csv = csv_of("Ada", PEOPLE) });
    assert_few_reads_of_suppressions("an import that subscribes nobody", before, LOOKUPS);

    buf_add_text(subscribing, "email,subscribed\n");
    for (int i = 1; i <= LOOKUPS; i++)
        buf_printf(subscribing, "p%d@example.com,yes\n", i);
    before = suppressions_read();
    import_all(&(struct import_request){ .csv = buf_text(subscribing) });
    assert_few_reads_of_suppressions("an import that subscribes", before, LOOKUPS);
    run_sql("truncate suppressions; alter table suppressions reset (autovacuum_enabled); delete from brands where name = 'Other'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_import_into_a_table_taken_for_empty),
        TEST(test_an_import_into_a_brand_without_statistics),
        TEST(test_an_import_makes_the_brand_known),
        TEST(test_statements_on_a_brand_without_statistics),
        TEST(test_a_launch_on_a_cohort_without_statistics),
        TEST(test_events_without_statistics),
        TEST(test_links_without_statistics),
        TEST(test_runs_are_woken_without_statistics),
        TEST(test_unsubscribes_are_lifted_without_statistics),
        TEST(test_an_import_beside_bounces),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
