/*
 * Changing and deleting contacts, and the definitions of their fields, on a
 * real PostgreSQL.
 */
#include "fixtures/contacts_brand.h"

#include "engine/contacts/search.h"
#include "engine/fields/fields.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static int64_t count_where(const char *condition)
{
    return number_of(
        arena_printf(arena, "select count(*) from contacts where brand_id = %lld and %s", (long long)work.brand_id, condition));
}

static int64_t suppressions(void)
{
    return number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld", (long long)work.brand_id));
}

static struct contact_saved change(const struct contact_change *given)
{
    struct error err;
    struct contact_saved saved;
    assert_ok(contact_update(&work, given, &saved, &err), &err);
    return saved;
}

static struct contact_removal remove_listed(const char *const *emails, size_t count)
{
    struct error err;
    struct contact_removal removal;
    assert_ok(contact_remove(&work, (struct text_list){ emails, count }, &removal, &err), &err);
    return removal;
}

/* ---- Changing (R-369) ---- */

static void test_a_change_keeps_the_rest(void **state)
{
    (void)state;
    struct contact_change first = { .email = "Ann@Example.com",
                                    .first_name = is_text("Ann"),
                                    .last_name = is_text("Smith"),
                                    .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":1}") };
    save(&first);
    work.now_us += US_PER_S;
    struct contact_change second = { .email = "ann@example.COM",
                                     .last_name = is_text(NULL),
                                     .custom_fields = json_of("{\"visits\":2,\"plan\":null}") };
    uint64_t before = db_round_trips(conn);
    struct contact_saved saved = change(&second);
    assert_int_equal(db_round_trips(conn) - before, 1);
    assert_string_equal(saved.contact->email, "Ann@example.com");
    assert_string_equal(saved.contact->first_name, "Ann");
    assert_null(saved.contact->last_name);
    assert_true(json_is(saved.contact->custom_fields, "{\"visits\":2}"));
    assert_int_equal(saved.contact->updated_at - saved.contact->created_at, US_PER_S);
}

static void test_a_change_of_nobody_leaves_nothing(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct contact_saved saved;
    struct contact_change given = { .email = "nobody@example.com",
                                    .subscribed = is_bool(false),
                                    .custom_fields = json_of("{\"plan\":\"gold\"}") };
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_false(contact_update(&work, &given, &saved, &err));
    }
    assert_int_equal(err.code, ERR_CONTACT_NOT_FOUND);
    assert_int_equal(suppressions(), 0);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from contact_fields where brand_id = %lld", (long long)work.brand_id)), 0);
}

/* The value suggests another type than the field has: looked at again, and kept or refused. */
static void test_a_change_fits_the_types(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct contact_saved saved;
    save_fields("ann@example.com", "{\"note\":\"none\",\"born\":\"2001-02-03\"}");
    struct contact_change text = { .email = "ann@example.com", .custom_fields = json_of("{\"note\":\"2026-01-01\"}") };
    assert_true(json_is(change(&text).contact->custom_fields, "{\"note\":\"2026-01-01\",\"born\":\"2001-02-03\"}"));
    struct contact_change seconds = { .email = "ann@example.com", .custom_fields = json_of("{\"born\":1767225600}") };
    assert_true(
        json_is(change(&seconds).contact->custom_fields, "{\"note\":\"2026-01-01\",\"born\":\"2026-01-01T00:00:00.000Z\"}"));
    struct contact_change wrong = { .email = "ann@example.com", .custom_fields = json_of("{\"note\":5}") };
    assert_false(contact_update(&work, &wrong, &saved, &err));
    assert_int_equal(err.code, ERR_FIELD_TYPE_MISMATCH);
    assert_string_equal(err.param, "customFields.note");
}

/* ---- Deleting (R-369, R-370) ---- */

static void test_unsubscribes_outlive_contacts(void **state)
{
    (void)state;
    static const char *const both[] = { "ann@example.com", "bob@example.com" };
    struct contact_change ann = { .email = "ann@example.com", .subscribed = is_bool(false) };
    save(&ann);
    save_email("bob@example.com");
    /* As if only the row knew of it. */
    run_sql("delete from suppressions where brand_id = %lld", (long long)work.brand_id);
    assert_int_equal(remove_listed(both, 2).ids.count, 2);
    assert_int_equal(suppressions(), 1);
    assert_false(save_email("ann@example.com").contact->subscribed);
    assert_true(save_email("bob@example.com").contact->subscribed);
}

static void test_a_stronger_reason_stays(void **state)
{
    (void)state;
    static const char *const one[] = { "ann@example.com" };
    struct contact_change ann = { .email = "ann@example.com", .subscribed = is_bool(false) };
    save(&ann);
    run_sql("update suppressions set reason = 'complained' where brand_id = %lld", (long long)work.brand_id);
    remove_listed(one, 1);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld and reason = 'complained'",
                               (long long)work.brand_id)),
        1);
}

static void test_a_list_may_hold_anything(void **state)
{
    (void)state;
    static const char *const listed[] = { "ann@example.com",    " ANN@example.com",   "no address",     "",
                                          "nobody@example.com", "Nobody@Example.com", "bob@example.com" };
    save_email("ann@example.com");
    save_email("bob@example.com");
    save_email("cyd@example.com");
    struct contact_removal removal = remove_listed(listed, ARRAY_COUNT(listed));
    assert_int_equal(removal.ids.count, 2);
    assert_int_equal(removal.not_found.count, 3);
    assert_string_equal(removal.not_found.items[0], "no address");
    assert_string_equal(removal.not_found.items[1], "");
    assert_string_equal(removal.not_found.items[2], "nobody@example.com");
    assert_int_equal(count_where("true"), 1);
    removal = remove_listed(listed, 1);
    assert_int_equal(removal.ids.count, 0);
    assert_int_equal(removal.not_found.count, 1);
}

static void test_other_brands_keep_theirs(void **state)
{
    (void)state;
    static const char *const one[] = { "ann@example.com" };
    int64_t first = work.brand_id;
    save_email("ann@example.com");
    work.brand_id = new_brand();
    save_email("ann@example.com");
    assert_int_equal(remove_listed(one, 1).ids.count, 1);
    assert_int_equal(count_where("true"), 0);
    work.brand_id = first;
    assert_int_equal(count_where("true"), 1);
}

static void test_activity_goes_with_the_contact(void **state)
{
    (void)state;
    static const char *const one[] = { "ann@example.com" };
    save_email("ann@example.com");
    run_sql("insert into contact_activity values (%lld, 'opened', 'ann@example.com', '2026-01-01', 1), (%lld, 'opened', "
            "'bob@example.com', '2026-01-01', 1)",
            (long long)work.brand_id, (long long)work.brand_id);
    remove_listed(one, 1);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from contact_activity where brand_id = %lld", (long long)work.brand_id)), 1);
}

/* ---- Fields (R-374, R-375) ---- */

static struct field_created create(const char *name, const char *type)
{
    struct error err;
    struct field_created created;
    assert_ok(field_create(&work, name, type, &created, &err), &err);
    return created;
}

static void test_fields_are_typed_once(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct field_created created;
    assert_true(create("favorite_color", "string").is_new);
    assert_string_equal(create("Favorite Color", "string").name, "favoriteColor");
    assert_false(create("favoriteColor", "string").is_new);
    assert_false(field_create(&work, "favorite-color", "number", &created, &err));
    assert_int_equal(err.code, ERR_FIELD_TYPE_MISMATCH);
    assert_string_equal(err.param, "fieldType");
}

static void test_fields_are_bounded(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct field_created created;
    run_sql("insert into contact_fields select %lld, 'f' || n, 'string', now() from generate_series(1, %d) n",
            (long long)work.brand_id, FIELDS_MAX_PER_BRAND);
    assert_false(field_create(&work, "oneMore", "string", &created, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "fieldName");
    assert_false(create("f1", "string").is_new);
}

static void test_core_fields_cannot_be_deleted(void **state)
{
    (void)state;
    static const char *const core[] = { "email", "firstName", "lastName", "userId", "source", "subscribed", "subscriptionGroups" };
    const char *name;
    bool exists;
    for (size_t i = 0; i < ARRAY_COUNT(core); i++) {
        struct error err = { .code = ERR_NONE };
        assert_false(field_find_for_deletion(&work, core[i], &name, &exists, &err));
        assert_int_equal(err.code, ERR_CORE_FIELD_IMMUTABLE);
    }
    struct error err;
    assert_ok(field_find_for_deletion(&work, "nothing", &name, &exists, &err), &err);
    assert_false(exists);
}

static void assert_leaving(const char *name)
{
    struct error err = { .code = ERR_NONE };
    struct field_created created;
    struct contact_saved saved;
    struct contact_change late = { .email = "late@example.com", .custom_fields = json_of("{\"plan\":\"late\"}") };
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_false(contact_save(&work, &late, &saved, &err));
    db_tx_rollback(&tx);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "customFields.plan");
    assert_non_null(strstr(err.message, "being deleted"));
    err = (struct error){ .code = ERR_NONE };
    assert_false(field_create(&work, name, "string", &created, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "being deleted"));
}

static int64_t clear_plan(void)
{
    struct error err;
    int64_t seen;
    bool exists;
    /* A round begins so, also after a killed one. */
    assert_ok(field_leave(&work, "plan", &exists, &err), &err);
    assert_true(exists);
    assert_ok(field_clear_step(&work, "plan", &seen, &err), &err);
    return seen;
}

/* A deletion goes on where it was interrupted, and nothing writes the field meanwhile. */
static void test_values_go_in_steps(void **state)
{
    (void)state;
    struct error err;
    bool deleted;
    int64_t seen;
    save_fields("types@example.com", "{\"plan\":\"gold\",\"visits\":1}");
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at) select "
            "%lld, n || "
            "'@example.com', n || '@example.com', 'API', true, case n %% 2 when 0 then '{\"plan\":\"gold\",\"visits\":1}' else "
            "'{\"visits\":2}' end::jsonb, now(), now() from generate_series(1, %d) n",
            (long long)work.brand_id, FIELD_CLEAR_STEP + 10);
    assert_int_equal(clear_plan(), FIELD_CLEAR_STEP);
    assert_int_equal(count_where("custom_fields ? 'plan'"), 6);
    assert_leaving("plan");
    assert_int_equal(clear_plan(), 11);
    assert_int_equal(clear_plan(), 0);
    assert_int_equal(count_where("custom_fields ? 'plan'"), 0);
    assert_ok(field_delete(&work, "plan", &deleted, &err), &err);
    assert_true(deleted);
    assert_int_equal(count_where("custom_fields ? 'visits'"), FIELD_CLEAR_STEP + 11);
    assert_ok(field_delete(&work, "plan", &deleted, &err), &err);
    assert_false(deleted);
    /* The name is free for another type, and another deletion of the old field leaves the new one alone. */
    save_fields("late@example.com", "{\"plan\":5}");
    assert_ok(field_clear_step(&work, "plan", &seen, &err), &err);
    assert_ok(field_delete(&work, "plan", &deleted, &err), &err);
    assert_false(deleted);
    assert_int_equal(count_where("custom_fields ? 'plan'"), 1);
}

static void test_a_failed_deletion_leaves_the_field_in_use(void **state)
{
    (void)state;
    struct error err;
    save_fields("types@example.com", "{\"plan\":\"gold\"}");
    clear_plan();
    assert_ok(field_stay(&work, "plan", &err), &err);
    save_fields("types@example.com", "{\"plan\":\"free\"}");
    assert_int_equal(clear_plan(), 1);
    assert_int_equal(count_where("custom_fields ? 'plan'"), 0);
}

/* ---- Beside another transaction ---- */

/* A call of another thread, with a connection of its own. */
struct rival {
    struct work work;
    bool (*act)(struct rival *rival, struct error *err);
    bool ok;
    atomic_bool is_done;
    struct error err;
};

static bool create_second(struct rival *rival, struct error *err)
{
    struct field_created created;
    return field_create(&rival->work, "second", "string", &created, err);
}

static bool leave_plan(struct rival *rival, struct error *err)
{
    bool exists;
    return field_leave(&rival->work, "plan", &exists, err);
}

static void *act_as_rival(void *data)
{
    struct rival *rival = data;
    ARENA_SCOPE own = arena_new(0);
    DB_CONN_SCOPE other = NULL;
    rival->work = work;
    rival->work.arena = own;
    rival->ok = db_connect(db, 1000, &other, &rival->err);
    rival->work.conn = other;
    rival->ok = rival->ok && rival->act(rival, &rival->err);
    rival->is_done = true;
    return NULL;
}

/* Commits the transaction of this thread when the rival waits for it. False: it did not wait. */
static bool commit_beside(struct rival *rival, struct db_tx *tx)
{
    struct error err;
    pthread_t thread;
    bool waits = false;
    assert_int_equal(pthread_create(&thread, NULL, act_as_rival, rival), 0);
    while (!rival->is_done && !waits)
        waits = number_of("select count(*) from pg_locks where locktype = 'advisory' and not granted") > 0;
    assert_ok(db_tx_commit(tx, &err), &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return waits;
}

static void test_fields_are_bounded_between_transactions(void **state)
{
    (void)state;
    struct error err;
    struct rival rival = { .act = create_second };
    DB_TX tx;
    run_sql("insert into contact_fields select %lld, 'f' || n, 'string', now() from generate_series(1, %d) n",
            (long long)work.brand_id, FIELDS_MAX_PER_BRAND - 1);
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_true(create("first", "string").is_new);
    assert_true(commit_beside(&rival, &tx));
    assert_false(rival.ok);
    assert_int_equal(rival.err.code, ERR_INVALID_REQUEST);
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from contact_fields where brand_id = %lld", (long long)work.brand_id)),
        FIELDS_MAX_PER_BRAND);
}

/* A transaction that has seen the field writes its values before the deletion begins. */
static void test_a_deletion_waits_for_writers(void **state)
{
    (void)state;
    struct error err;
    struct rival rival = { .act = leave_plan };
    DB_TX tx;
    save_fields("types@example.com", "{\"plan\":\"gold\"}");
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    save_fields("types@example.com", "{\"plan\":\"free\"}");
    assert_true(commit_beside(&rival, &tx));
    assert_ok(rival.ok, &rival.err);
    assert_leaving("plan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_a_change_keeps_the_rest),
        CONTACTS_TEST(test_a_change_of_nobody_leaves_nothing),
        CONTACTS_TEST(test_a_change_fits_the_types),
        CONTACTS_TEST(test_unsubscribes_outlive_contacts),
        CONTACTS_TEST(test_a_stronger_reason_stays),
        CONTACTS_TEST(test_a_list_may_hold_anything),
        CONTACTS_TEST(test_other_brands_keep_theirs),
        CONTACTS_TEST(test_activity_goes_with_the_contact),
        CONTACTS_TEST(test_fields_are_typed_once),
        CONTACTS_TEST(test_fields_are_bounded),
        CONTACTS_TEST(test_core_fields_cannot_be_deleted),
        CONTACTS_TEST(test_values_go_in_steps),
        CONTACTS_TEST(test_a_failed_deletion_leaves_the_field_in_use),
        CONTACTS_TEST(test_fields_are_bounded_between_transactions),
        CONTACTS_TEST(test_a_deletion_waits_for_writers),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
