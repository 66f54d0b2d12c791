/*
 * Preferences by the link of a message: only public groups are shown and changed,
 * and only the person's own wish subscribes again.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/operator/operator.h"
#include "engine/preferences/preferences.h"
#include "engine/subscriptions/subscriptions.h"

static struct unsubscribe_link ada_link; /* of ada@example.com */

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from contact_activity; delete from public_groups");
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, subscription_groups, created_at, updated_at)"
            "values (%lld, 'Ada@example.com', 'ada@example.com', 'API', true, '{\"news\": true, \"secret\": true}', now(), now())",
            (long long)work.brand_id);
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    ada_link =
        (struct unsubscribe_link){ .brand_id = work.brand_id, .send_id = number_of("select max(id) from sends"), .ordinal = 1 };
    address_hash(work.engine->address_key, "ada@example.com", ada_link.address_hash);
    run_sql("insert into send_stats (brand_id, send_id) values (%lld, %lld);"
            "insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            "values (%lld, %lld, 1, 'Ada@example.com', 'ada@example.com')",
            (long long)work.brand_id, (long long)ada_link.send_id, (long long)work.brand_id, (long long)ada_link.send_id);
    struct error err;
    assert_ok(operator_set_public_group(&work, "news", "The news", &err), &err);
    assert_ok(operator_set_public_group(&work, "offers", NULL, &err), &err);
    return failed;
}

static void choose(const char *const *groups, size_t count, bool subscribes)
{
    struct error err;
    struct preference_choice choice = { .groups = { groups, count }, .subscribes = subscribes };
    DB_TX tx;
    work.now_us += US_PER_S;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(preferences_choose(&work, &ada_link, &choice, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static void leave(void)
{
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(subscription_leave(&work, &ada_link, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static const char *const offers[] = { "offers", "secret", "unknown" };

static void test_public_groups_are_shown(void **state)
{
    (void)state;
    struct error err;
    struct preference_row *groups;
    size_t count;
    assert_ok(preferences_find(&work, &ada_link, &groups, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(groups[0].name, "news");
    assert_string_equal(groups[0].title, "The news");
    assert_true(groups[0].is_chosen);
    assert_string_equal(groups[1].title, "offers");
    assert_false(groups[1].is_chosen);
    struct unsubscribe_link test = { .brand_id = work.brand_id };
    assert_ok(preferences_find(&work, &test, &groups, &count, &err), &err);
    assert_int_equal(count, 0);
}

static void test_a_choice_changes_public_groups_only(void **state)
{
    (void)state;
    choose(offers, ARRAY_COUNT(offers), false);
    assert_int_equal(number_of("select count(*) from contacts where subscribed and consent is null"
                               " and subscription_groups = '{\"news\": false, \"offers\": true, \"secret\": true}'"),
                     1);
}

static void test_a_choice_subscribes_nobody_again(void **state)
{
    (void)state;
    leave();
    choose(offers, 1, false);
    assert_int_equal(number_of("select count(*) from contacts where not subscribed"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    assert_int_equal(number_of("select count(*) from contacts where subscription_groups ->> 'offers' = 'true'"), 1);
}

static void test_the_own_wish_subscribes_with_a_consent(void **state)
{
    (void)state;
    leave();
    choose(offers, 1, true);
    assert_int_equal(number_of("select count(*) from contacts where subscribed and consent ->> 'source' = 'preferences page'"
                               " and consent ->> 'capturedAt' is not null"),
                     1);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
}

static void test_a_bounce_stays(void **state)
{
    (void)state;
    leave();
    run_sql("update suppressions set reason = 'bounce'");
    choose(offers, 1, true);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce'"), 1);
}

static void test_a_deleted_contact_stays_deleted(void **state)
{
    (void)state;
    run_sql("delete from contacts");
    choose(offers, 1, true);
    assert_int_equal(number_of("select count(*) from contacts"), 0);
}

static void test_without_public_groups_nothing_changes(void **state)
{
    (void)state;
    struct error err;
    bool changed;
    assert_ok(operator_remove_public_group(&work, "news", &changed, &err), &err);
    assert_true(changed);
    assert_ok(operator_remove_public_group(&work, "offers", &changed, &err), &err);
    assert_ok(operator_remove_public_group(&work, "offers", &changed, &err), &err);
    assert_false(changed);
    leave();
    choose(offers, 1, true);
    assert_int_equal(number_of("select count(*) from contacts where not subscribed"), 1);
}

static void test_public_groups_are_bounded(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    for (int i = 2; i < PUBLIC_GROUPS_MAX; i++)
        assert_ok(operator_set_public_group(&work, arena_printf(arena, "group %d", i), NULL, &err), &err);
    assert_false(operator_set_public_group(&work, "one more", NULL, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "group");
    err = (struct error){ .code = ERR_NONE };
    assert_ok(operator_set_public_group(&work, "news", "Another title", &err), &err);
    assert_false(operator_set_public_group(&work, "", NULL, &err));
    assert_string_equal(err.param, "group");
    err = (struct error){ .code = ERR_NONE };
    assert_false(operator_set_public_group(&work, "news", "", &err));
    assert_string_equal(err.param, "name");
    run_sql("delete from public_groups");
}

#define PREFERENCE_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREFERENCE_TEST(test_public_groups_are_shown),
        PREFERENCE_TEST(test_a_choice_changes_public_groups_only),
        PREFERENCE_TEST(test_a_choice_subscribes_nobody_again),
        PREFERENCE_TEST(test_the_own_wish_subscribes_with_a_consent),
        PREFERENCE_TEST(test_a_bounce_stays),
        PREFERENCE_TEST(test_a_deleted_contact_stays_deleted),
        PREFERENCE_TEST(test_without_public_groups_nothing_changes),
        PREFERENCE_TEST(test_public_groups_are_bounded),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
