/*
 * Unsubscribing by the link of a message, and resubscribing: the effects on the
 * contact, on the address of a deleted contact, on events and figures, and on the
 * recipients of the next send.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/contacts/contacts.h"
#include "engine/subscriptions/subscriptions.h"
#include "sql/delivery.h"

static const char other_brand[] = "Another brand";

static struct unsubscribe_link link_of(int64_t send_id, int64_t ordinal, const char *email)
{
    struct unsubscribe_link link = { .brand_id = work.brand_id, .send_id = send_id, .ordinal = ordinal };
    address_hash(work.engine->address_key, email, link.address_hash);
    return link;
}

static void leave(const struct unsubscribe_link *link)
{
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(subscription_leave(&work, link, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static void save(const char *email, struct opt_bool subscribed, struct opt_int agreed_at)
{
    struct error err;
    struct contact_saved saved;
    struct contact_change change = { .email = email, .subscribed = subscribed };
    if (agreed_at.set) {
        change.has_proof = true;
        change.proof = (struct contact_proof){ .source = "form", .captured_at = agreed_at };
    }
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(contact_save(&work, &change, &saved, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static const struct opt_bool unsaid = { .set = false };
static const struct opt_bool yes = { .set = true, .value = true };
static const struct opt_int never = { .set = false };

/* A send that went to two contacts. Gives its id. */
static int64_t make_send(void)
{
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    int64_t send_id = number_of("select max(id) from sends");
    run_sql("insert into send_stats (brand_id, send_id) values (%lld, %lld);"
            "insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            "values (%lld, %lld, 1, 'Ada@example.com', 'ada@example.com'), (%lld, %lld, 2, 'bob@example.com', 'bob@example.com')",
            (long long)work.brand_id, (long long)send_id, (long long)work.brand_id, (long long)send_id, (long long)work.brand_id,
            (long long)send_id);
    return send_id;
}

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from contact_activity");
    save("Ada@example.com", unsaid, never);
    save("bob@example.com", unsaid, never);
    return failed;
}

static bool is_suppressed(const char *email_key)
{
    struct error err;
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    const char *const hashes[] = { hex };
    address_hash(work.engine->address_key, email_key, hash);
    hex_encode(hash, sizeof(hash), hex);
    struct delivery_suppressed_params params = { .brand_id = work.brand_id, .hashes = { hashes, 1 }, .is_marketing = true };
    struct delivery_suppressed_row *rows;
    size_t count;
    assert_ok(sql_delivery_suppressed(conn, arena, &params, &rows, &count, &err), &err);
    return count > 0;
}

/* how many a campaign to all would mail, by the query that delivery asks. */
static int64_t reached(void)
{
    bool ada = number_of("select count(*) from contacts where subscribed and email_key = 'ada@example.com'") > 0;
    bool bob = number_of("select count(*) from contacts where subscribed and email_key = 'bob@example.com'") > 0;
    return (ada && !is_suppressed("ada@example.com")) + (bob && !is_suppressed("bob@example.com"));
}

/* the contact, the address, the event and every figure, at once. */
static void test_leaving(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    assert_int_equal(reached(), 2);
    leave(&link);
    assert_int_equal(number_of("select count(*) from contacts where email_key = 'ada@example.com' and not subscribed"), 1);
    assert_int_equal(number_of("select count(*) from contacts where subscribed"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    assert_int_equal(
        number_of("select count(*) from events where event_type = 'unsubscribed' and recipient_email = 'Ada@example.com'"
                  " and recipient_key = 'ada@example.com' and email_id = (select max(id) from emails)"
                  " and send_id = (select max(id) from sends) and mode = 'live'"),
        1);
    assert_int_equal(number_of("select unsubscribed from send_stats"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type = 'unsubscribed'"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from contact_activity where event_type = 'unsubscribed'"), 1);
    assert_int_equal(reached(), 1);
}

static void test_leaving_twice_is_once(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    struct unsubscribe_link link = link_of(send_id, 1, "ada@example.com");
    leave(&link);
    leave(&link);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 1);
    assert_int_equal(number_of("select unsubscribed from send_stats"), 1);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    /* The link of another send is told for itself. */
    struct unsubscribe_link other = link_of(make_send(), 1, "ada@example.com");
    leave(&other);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 2);
    assert_int_equal(number_of("select sum(unsubscribed)::bigint from send_stats"), 2);
}

/* A suppression outlives the contact: a contact that comes back by a save or an import is not mailed. */
static void test_a_deleted_contact_can_leave(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    run_sql("delete from contacts where email_key = 'ada@example.com'");
    leave(&link);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 1);
    save("ada@example.com", unsaid, never);
    assert_int_equal(number_of("select count(*) from contacts where subscribed"), 1);
    save("ada@example.com", yes, never);
    assert_int_equal(number_of("select count(*) from contacts where subscribed"), 2);
    assert_int_equal(reached(), 1);
}

/* Also when nothing is known of the send any more: the link has the hash of the address. */
static void test_a_forgotten_send(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(987654, 1, "ada@example.com");
    leave(&link);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 0);
    assert_int_equal(reached(), 1);
}

static void test_a_test_message_unsubscribes_nobody(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(0, 0, "ada@example.com");
    leave(&link);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(reached(), 2);
}

/* such a link belongs to no send, so it records no event. */
static void test_a_link_that_was_asked_for(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(0, 0, "ada@example.com");
    link.was_asked_for = true;
    link.contact_id = number_of("select id from contacts where email_key = 'ada@example.com'");
    struct unsubscribe_link opened;
    const char *token = unsubscribe_token(work.engine, work.arena, &link);
    assert_true(unsubscribe_token_open(work.engine, work.arena, token, &opened));
    assert_true(opened.was_asked_for);
    assert_int_equal(opened.contact_id, link.contact_id);
    assert_int_equal(opened.ordinal, 0);
    assert_memory_equal(opened.address_hash, link.address_hash, sizeof(link.address_hash));
    leave(&opened);
    assert_int_equal(number_of("select count(*) from contacts where email_key = 'ada@example.com' and not subscribed"), 1);
    assert_int_equal(number_of("select count(*) from contacts where subscribed"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 0);
}

/* ---- Coming back ---- */

/* Only a consent given after the leaving counts: a nightly copy of old records is none. */
static void test_coming_back(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    leave(&link);
    struct opt_int before = { .set = true, .value = work.now_us - US_PER_S };
    struct opt_int later = { .set = true, .value = work.now_us + US_PER_S };
    save("ada@example.com", yes, never);
    assert_int_equal(reached(), 1);
    save("ada@example.com", yes, before);
    assert_int_equal(reached(), 1);
    save("ada@example.com", unsaid, later);
    assert_int_equal(reached(), 1);
    save("ada@example.com", yes, later);
    assert_int_equal(reached(), 2);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    /* And out again, by the same link; the event was told. */
    leave(&link);
    assert_int_equal(reached(), 1);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 1);
}

/* A change of a contact and a row of a batch lift it as saving one contact does. */
static void test_coming_back_by_other_ways(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    struct unsubscribe_link links[] = { link_of(send_id, 1, "ada@example.com"), link_of(send_id, 2, "bob@example.com") };
    leave(&links[0]);
    leave(&links[1]);
    assert_int_equal(reached(), 0);
    struct contact_change change = {
        .email = "ada@example.com",
        .subscribed = yes,
        .has_proof = true,
        .proof = { .captured_at = { .set = true, .value = work.now_us + US_PER_S } },
    };
    struct error err;
    struct contact_saved saved;
    struct contact_batch batch;
    run_sql("begin");
    assert_ok(contact_update(&work, &change, &saved, &err), &err);
    change.email = "bob@example.com";
    assert_ok(contact_save_batch(&work, &change, 1, &batch, &err), &err);
    run_sql("commit");
    assert_int_equal(reached(), 2);
}

static void test_bounces_stay(void **state)
{
    (void)state;
    static const char *const reasons[] = { "bounce", "complaint" };
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    struct opt_int later = { .set = true, .value = work.now_us + US_PER_S };
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++) {
        leave(&link);
        run_sql("update suppressions set reason = '%s'", reasons[i]);
        leave(&link);
        save("ada@example.com", yes, later);
        assert_int_equal(number_of("select count(*) from suppressions where reason in ('bounce', 'complaint')"), 1);
        assert_int_equal(reached(), 1);
    }
}

/* An operator can undo an unsubscription by an operator, but not one by the person. */
static void test_an_own_wish_outranks(void **state)
{
    (void)state;
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    save("ada@example.com", (struct opt_bool){ .set = true, .value = false }, never);
    save("ada@example.com", yes, never);
    assert_int_equal(reached(), 2);
    save("ada@example.com", (struct opt_bool){ .set = true, .value = false }, never);
    leave(&link);
    save("ada@example.com", yes, never);
    assert_int_equal(reached(), 1);
}

/* ---- Whose it is ---- */

static void test_what_a_link_leads_to(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    struct subscription found;
    assert_ok(subscription_find(&work, &link, &found, &err), &err);
    assert_false(found.has_left);
    assert_int_equal(found.organization_id, work.organization_id);
    leave(&link);
    assert_ok(subscription_find(&work, &link, &found, &err), &err);
    assert_true(found.has_left);
    struct unsubscribe_link nobody = link;
    nobody.brand_id = 987654;
    assert_false(subscription_find(&work, &nobody, &found, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* An address that leaves one brand still belongs to the others. */
static void test_brands_are_apart(void **state)
{
    (void)state;
    run_sql(
        "insert into brands (organization_id, name, status, created_at, updated_at) values (%lld, '%s', 'completed', now(), now())",
        (long long)work.organization_id, other_brand);
    struct unsubscribe_link link = link_of(make_send(), 1, "ada@example.com");
    link.brand_id = number_of("select max(id) from brands");
    leave(&link);
    assert_int_equal(reached(), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'unsubscribed'"), 0);
    run_sql("delete from suppressions; delete from brands where name = '%s'", other_brand);
}

#define LEAVING_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEAVING_TEST(test_leaving),
        LEAVING_TEST(test_leaving_twice_is_once),
        LEAVING_TEST(test_a_deleted_contact_can_leave),
        LEAVING_TEST(test_a_forgotten_send),
        LEAVING_TEST(test_a_test_message_unsubscribes_nobody),
        LEAVING_TEST(test_a_link_that_was_asked_for),
        LEAVING_TEST(test_coming_back),
        LEAVING_TEST(test_coming_back_by_other_ways),
        LEAVING_TEST(test_bounces_stay),
        LEAVING_TEST(test_an_own_wish_outranks),
        LEAVING_TEST(test_what_a_link_leads_to),
        LEAVING_TEST(test_brands_are_apart),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
