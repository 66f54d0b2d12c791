/* Several independent saves of contacts in one statement: each has the result that it would have alone. */
#include "fixtures/contacts_brand.h"

enum { MOST = 8 };

/* Saves the changes together, in the order of their keys; `ret_saved` is in the order of the changes. */
static void save_together(const struct contact_change *changes, size_t count, struct contact_saved *ret_saved)
{
    struct error err;
    struct contact_saving *savings[MOST];
    struct contact_saving *sorted[MOST];
    for (size_t i = 0; i < count; i++) {
        assert_ok(contact_save_check(&work, &changes[i], &savings[i], &err), &err);
        size_t at = i;
        for (; at > 0 && strcmp(contact_saving_key(sorted[at - 1]), contact_saving_key(savings[i])) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = savings[i];
    }
    struct db_batch *batch = db_batch_new(conn, arena);
    contact_save_ask(&work, sorted, count, batch);
    assert_ok(db_batch_run(batch, &err), &err);
    for (size_t i = 0; i < count; i++)
        assert_ok(contact_save_take(&work, savings[i], batch, &ret_saved[i], &err), &err);
}

/* new ones beside known ones; of each only what it gives is changed. */
static void test_each_changes_what_it_gives(void **state)
{
    (void)state;
    struct contact_change known = {
        .email = "bob@example.com",
        .first_name = is_text("Bob"),
        .last_name = is_text("Old"),
        .user_id = is_text("u1"),
        .source = "fair",
        .subscription_groups = json_of("{\"news\":true,\"offers\":true}"),
        .custom_fields = json_of("{\"plan\":\"pro\",\"seats\":3}"),
    };
    int64_t known_id = save(&known).contact->id;
    struct contact_change changes[] = {
        { .email = "Zoe@Example.com", .first_name = is_text("Zoe") },
        { .email = "Bob@example.com",
          .last_name = is_text("New"),
          .user_id = is_text(NULL),
          .subscription_groups = json_of("{\"offers\":false}"),
          .custom_fields = json_of("{\"seats\":null,\"city\":\"Bonn\"}") },
        { .email = "ann@example.com", .source = "shop", .custom_fields = json_of("{\"plan\":\"free\",\"gone\":null}") },
    };
    struct contact_saved saved[3];
    save_together(changes, 3, saved);

    assert_true(saved[0].inserted);
    assert_string_equal(saved[0].contact->email, "Zoe@example.com");
    assert_string_equal(saved[0].contact->first_name, "Zoe");
    assert_null(saved[0].contact->last_name);
    assert_string_equal(saved[0].contact->source, "API");
    assert_true(saved[0].contact->subscribed);

    assert_false(saved[1].inserted);
    assert_int_equal(saved[1].contact->id, known_id);
    assert_string_equal(saved[1].contact->email, "Bob@example.com");
    assert_string_equal(saved[1].contact->first_name, "Bob");
    assert_string_equal(saved[1].contact->last_name, "New");
    assert_null(saved[1].contact->user_id);
    assert_string_equal(saved[1].contact->source, "fair");
    assert_true(json_is(saved[1].contact->subscription_groups, "{\"news\":true,\"offers\":false}"));
    assert_true(json_is(saved[1].contact->custom_fields, "{\"plan\":\"pro\",\"city\":\"Bonn\"}"));

    assert_true(saved[2].inserted);
    assert_string_equal(saved[2].contact->source, "shop");
    assert_true(json_is(saved[2].contact->custom_fields, "{\"plan\":\"free\"}"));
}

/* a suppressed or unsubscribed contact stays so, unless the change names that contact and says otherwise. */
static void test_each_keeps_its_own_subscription(void **state)
{
    (void)state;
    struct contact_change leaving = { .email = "gone@example.com", .subscribed = is_bool(false) };
    save(&leaving);
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    struct contact_change changes[] = {
        { .email = "gone@example.com" },
        { .email = "back@example.com", .subscribed = is_bool(true) },
        { .email = "leaves@example.com", .subscribed = is_bool(false) },
        { .email = "plain@example.com" },
    };
    struct contact_saved saved[4];
    save_together(changes, 4, saved);
    static const bool expected[] = { false, true, false, true };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(saved[i].contact->subscribed, expected[i]);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld", (long long)work.brand_id)), 2);
    /* And again, when they are known: a save that does not speak of it changes nothing. */
    struct contact_change again[] = { { .email = "gone@example.com" },
                                      { .email = "leaves@example.com", .subscribed = is_bool(true) } };
    save_together(again, 2, saved);
    assert_false(saved[0].contact->subscribed);
    assert_true(saved[1].contact->subscribed);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld", (long long)work.brand_id)), 1);
}

/* a field gets its type once; what looks like a date is a text in a field of texts. What does not fit is refused to its
 * own caller only. */
static void test_a_field_that_two_define(void **state)
{
    (void)state;
    struct contact_change changes[] = {
        { .email = "a@example.com", .custom_fields = json_of("{\"code\":\"x1\",\"own\":true}") },
        { .email = "b@example.com", .custom_fields = json_of("{\"code\":\"2024-05-01\"}") },
        { .email = "c@example.com" },
    };
    struct contact_saved saved[3];
    save_together(changes, 3, saved);
    assert_true(json_is(saved[0].contact->custom_fields, "{\"code\":\"x1\",\"own\":true}"));
    assert_true(json_is(saved[1].contact->custom_fields, "{\"code\":\"2024-05-01\"}"));
    assert_true(json_is(saved[2].contact->custom_fields, "{}"));
    assert_true(saved[0].inserted && saved[1].inserted && saved[2].inserted);

    struct error err = { .code = ERR_NONE };
    struct contact_saving *savings[2];
    struct contact_change later[] = {
        { .email = "d@example.com", .custom_fields = json_of("{\"own\":false}") },
        { .email = "e@example.com", .custom_fields = json_of("{\"own\":\"perhaps\"}") },
    };
    for (size_t i = 0; i < 2; i++)
        assert_ok(contact_save_check(&work, &later[i], &savings[i], &err), &err);
    for (int again = 0; again < 2; again++) {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        struct db_batch *batch = db_batch_new(conn, arena);
        contact_save_ask(&work, savings, 2, batch);
        assert_ok(db_batch_run(batch, &err), &err);
        assert_ok(contact_save_take(&work, savings[0], batch, &saved[0], &err), &err);
        assert_true(json_is(saved[0].contact->custom_fields, "{\"own\":false}"));
        error_clear(&err);
        assert_false(contact_save_take(&work, savings[1], batch, &saved[1], &err));
        assert_int_equal(err.code, ERR_FIELD_TYPE_MISMATCH);
        assert_string_equal(err.param, "customFields.own");
        error_clear(&err);
        /* The same save can be repeated in another transaction. */
    }
}

/* Each save reports only its own field names. */
static void test_warnings_are_ones_own(void **state)
{
    (void)state;
    struct contact_change changes[] = {
        { .email = "a@example.com", .custom_fields = json_of("{\"first_seen\":\"x\"}") },
        { .email = "b@example.com", .custom_fields = json_of("{\"plan\":\"x\"}") },
    };
    struct contact_saved saved[2];
    save_together(changes, 2, saved);
    assert_int_equal(json_object_size(saved[0].registry.renamed), 1);
    assert_int_equal(json_object_size(saved[1].registry.renamed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_each_changes_what_it_gives),
        CONTACTS_TEST(test_each_keeps_its_own_subscription),
        CONTACTS_TEST(test_a_field_that_two_define),
        CONTACTS_TEST(test_warnings_are_ones_own),
    };
    return cmocka_run_group_tests_name("engine: several saves at once", tests, contacts_group_setup, group_teardown);
}
