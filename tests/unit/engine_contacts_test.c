/*
 * Contacts against a real PostgreSQL: merging, custom fields, who is
 * subscribed, batches beside each other, and searching.
 */
#include "private_db.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "db/migrate.h"
#include "engine/brands/brands.h"
#include "engine/contacts/search.h"

#include <pthread.h>
#include <string.h>

static struct engine engine = { .sandbox_domain = "sandbox.test" };
static struct work work; /* in a brand of its own */

static int contacts_group_setup(void **state)
{
    struct error err = { .code = ERR_NONE };
    int version;
    crypto_start();
    if (group_setup(state) != 0)
        return -1;
    DB_CONN_SCOPE first = NULL;
    bool ok = db_connect(db, 1000, &first, &err) && db_migrate(first, &version, &err) && engine_load(first, &engine, &err);
    if (!ok)
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    return ok ? 0 : -1;
}

static int64_t new_brand(void)
{
    struct error err;
    struct brand_fields fields = { .name = "Test" };
    struct brand_row *brand;
    assert_ok(brand_create(&work, &fields, &brand, &err), &err);
    return brand->id;
}

static int contacts_setup(void **state)
{
    if (setup(state) != 0)
        return -1;
    work = (struct work){
        .engine = &engine,
        .arena = arena,
        .conn = conn,
        .organization_id = engine.default_organization_id,
        .now_us = clock_now_us(),
    };
    work.brand_id = new_brand();
    return 0;
}

#define CONTACTS_TEST(function) cmocka_unit_test_setup_teardown(function, contacts_setup, teardown)

/* ---- In few words ---- */

static const json_t *json_of(const char *text)
{
    struct error err;
    const json_t *json;
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err), &err);
    return json;
}

static struct opt_text is_text(const char *value)
{
    return (struct opt_text){ .set = true, .value = value };
}

static struct opt_bool is_bool(bool value)
{
    return (struct opt_bool){ .set = true, .value = value };
}

static struct contact_saved save(const struct contact_change *change)
{
    struct error err;
    struct contact_saved saved;
    assert_ok(contact_save(&work, change, &saved, &err), &err);
    return saved;
}

static struct contact_saved save_email(const char *email)
{
    struct contact_change change = { .email = email };
    return save(&change);
}

static struct contact_saved save_fields(const char *email, const char *custom_fields)
{
    struct contact_change change = { .email = email, .custom_fields = json_of(custom_fields) };
    return save(&change);
}

static void assert_refused(const struct contact_change *change, enum error_code code, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct contact_saved saved;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_false(contact_save(&work, change, &saved, &err));
    assert_string_equal(error_info(err.code)->name, error_info(code)->name);
    assert_string_equal(err.param, param);
}

static void assert_field_refused(const char *custom_fields, enum error_code code, const char *param)
{
    struct contact_change change = { .email = "ann@example.com", .custom_fields = json_of(custom_fields) };
    assert_refused(&change, code, param);
}

static struct contact_batch save_batch(const struct contact_change *changes, size_t count)
{
    struct error err;
    struct contact_batch batch;
    assert_ok(contact_save_batch(&work, changes, count, &batch, &err), &err);
    return batch;
}

static void run_sql(const char *format, ...) PRINTF_LIKE(1, 2);
static void run_sql(const char *format, ...)
{
    struct error err;
    va_list arguments;
    va_start(arguments, format);
    const char *sql = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    assert_ok(db_script(conn, sql, &err), &err);
}

static int64_t number_of(const char *sql)
{
    struct error err;
    struct db_rows rows;
    struct db_statement statement = {
        .name = "", .result = DB_ONE, .sql = sql, .columns = number_fields, .column_count = 1, .row_size = sizeof(struct number)
    };
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static bool json_is(const char *text, const char *expected)
{
    return json_equal(json_for_iteration(json_of(text)), json_for_iteration(json_of(expected))) == 1;
}

/* ---- Field names ---- */

static void test_names_converge(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        const char *name;
    } cases[] = {
        { "favoriteColor", "favoriteColor" }, { "favorite_color", "favoriteColor" }, { "favorite-color", "favoriteColor" },
        { "favorite color", "favoriteColor" }, { "Favorite Color", "favoriteColor" }, { "FAVORITE_COLOR", "favoriteColor" },
        { "FavoriteColor", "favoriteColor" }, { "_favorite__color_", "favoriteColor" }, { "plan", "plan" }, { "VIP", "vip" },
        { "orders 2024", "orders2024" }, { "ma\xc3\x9f_stab", "ma\xc3\x9fStab" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err;
        const char *name;
        assert_ok(field_name_normalize(arena, cases[i].given, &name, &err), &err);
        assert_string_equal(name, cases[i].name);
    }
}

static void test_names_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "", "_", "a.b", "a{b", "email", "first_name", "First Name", "lastName", "user-id", "source", "subscribed", "subscription_groups",
        "zero\xe2\x80\x8bwidth", "0123456789012345678901234567890123456789012345678901234567890123x",
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        struct error err = { .code = ERR_NONE };
        const char *name;
        if (field_name_normalize(arena, refused[i], &name, &err))
            fail_msg("%s was taken for %s", refused[i], name);
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
    }
}

/* ---- One contact ---- */

static void test_defaults(void **state)
{
    (void)state;
    struct contact_saved saved = save_email(" Ann@Example.COM ");
    assert_true(saved.inserted);
    assert_string_equal(saved.contact->email, "Ann@example.com");
    assert_string_equal(saved.contact->source, "API");
    assert_true(saved.contact->subscribed);
    assert_null(saved.contact->first_name);
    assert_null(saved.contact->consent);
    assert_string_equal(saved.contact->custom_fields, "{}");
    assert_int_equal(saved.contact->created_at, work.now_us);
}

static void test_merging_keeps_what_is_not_given(void **state)
{
    (void)state;
    struct contact_change first = {
        .email = "ann@example.com",
        .first_name = is_text("Ann"),
        .last_name = is_text("Smith"),
        .user_id = is_text("u-1"),
        .source = "shop",
        .subscribed = is_bool(false),
        .subscription_groups = json_of("{\"news\":true,\"offers\":true}"),
        .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":3}"),
        .has_proof = true,
        .proof = { .source = "form", .captured_at = { true, INT64_C(1767225600000000) }, .policy_version = "2", .evidence = "tick" },
    };
    struct contact_saved created = save(&first);
    work.now_us += US_PER_S;
    struct contact_change second = {
        .email = "ANN@example.com",
        .last_name = is_text(NULL),
        .user_id = is_text(""),
        .subscription_groups = json_of("{\"offers\":false}"),
        .custom_fields = json_of("{\"plan\":null,\"visits\":4}"),
    };
    struct contact_saved merged = save(&second);
    assert_false(merged.inserted);
    assert_int_equal(merged.contact->id, created.contact->id);
    assert_string_equal(merged.contact->email, "ANN@example.com");
    assert_string_equal(merged.contact->first_name, "Ann");
    assert_null(merged.contact->last_name);
    assert_null(merged.contact->user_id);
    assert_string_equal(merged.contact->source, "shop");
    assert_false(merged.contact->subscribed);
    assert_true(json_is(merged.contact->subscription_groups, "{\"news\":true,\"offers\":false}"));
    assert_true(json_is(merged.contact->custom_fields, "{\"visits\":4}"));
    assert_true(json_is(merged.contact->consent, "{\"source\":\"form\",\"capturedAt\":\"2026-01-01T00:00:00.000Z\","
                                                 "\"policyVersion\":\"2\",\"evidence\":\"tick\"}"));
    assert_int_equal(merged.contact->created_at, work.now_us - US_PER_S);
    assert_int_equal(merged.contact->updated_at, work.now_us);
}

static void test_refusals_name_the_field(void **state)
{
    (void)state;
    struct contact_change change = { .email = "not an address" };
    assert_refused(&change, ERR_INVALID_REQUEST, "email");
    change.email = "   ";
    assert_refused(&change, ERR_INVALID_REQUEST, "email");
    change.email = "ann@example.com";
    change.subscription_groups = json_of("{\"news\":\"yes\"}");
    assert_refused(&change, ERR_INVALID_REQUEST, "subscriptionGroups.news");
    assert_field_refused("{\"first_name\":\"Ann\"}", ERR_INVALID_REQUEST, "customFields.first_name");
    assert_field_refused("{\"tags\":[1]}", ERR_INVALID_REQUEST, "customFields.tags");
    assert_field_refused("{\"tags\":{}}", ERR_INVALID_REQUEST, "customFields.tags");
    char *long_text = arena_printf(arena, "{\"note\":\"%0*d\"}", FIELD_TEXT_MAX_CHARS + 1, 0);
    assert_field_refused(long_text, ERR_INVALID_REQUEST, "customFields.note");
    assert_int_equal(number_of("select count(*) from contact_fields where name in ('tags', 'note', 'firstName')"), 0);
}

static void test_brands_are_apart(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"plan\":\"gold\"}");
    work.brand_id = new_brand();
    assert_true(save_fields("ann@example.com", "{\"plan\":7}").inserted);
}

/* Definitions and row travel together; only a field whose type differs from its value's first look takes a second trip. */
static void test_round_trips_of_one(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"code\":\"x\"}");
    struct contact_change change = { .email = "ann@example.com", .subscribed = is_bool(true), .custom_fields = json_of("{\"code\":\"y\",\"n\":1}") };
    uint64_t before = db_round_trips(conn);
    save(&change);
    assert_int_equal(db_round_trips(conn) - before, 1);
    change.custom_fields = json_of("{\"code\":\"2026-01-05\"}");
    before = db_round_trips(conn);
    assert_string_equal(save(&change).contact->custom_fields, "{\"n\": 1, \"code\": \"2026-01-05\"}");
    assert_int_equal(db_round_trips(conn) - before, 2);
}

/* ---- Custom fields ---- */

static void test_first_value_gives_the_type(void **state)
{
    (void)state;
    struct contact_saved saved = save_fields("ann@example.com", "{\"plan\":\"gold\",\"visits\":1.5,\"vip\":true,\"born\":\"2001-02-03\"}");
    assert_int_equal(saved.book.created.count, 4);
    assert_field_refused("{\"plan\":1}", ERR_FIELD_TYPE_MISMATCH, "customFields.plan");
    assert_field_refused("{\"visits\":\"1\"}", ERR_FIELD_TYPE_MISMATCH, "customFields.visits");
    assert_field_refused("{\"vip\":\"true\"}", ERR_FIELD_TYPE_MISMATCH, "customFields.vip");
    assert_field_refused("{\"born\":\"long ago\"}", ERR_FIELD_TYPE_MISMATCH, "customFields.born");
    assert_field_refused("{\"born\":true}", ERR_FIELD_TYPE_MISMATCH, "customFields.born");
    assert_true(json_is(save_email("ann@example.com").contact->custom_fields,
                        "{\"plan\":\"gold\",\"visits\":1.5,\"vip\":true,\"born\":\"2001-02-03\"}"));
}

static void test_dates_are_kept_in_one_form(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"seen\":\"2026-01-01T12:30:00+02:00\"}");
    assert_true(json_is(save_email("ann@example.com").contact->custom_fields, "{\"seen\":\"2026-01-01T10:30:00.000Z\"}"));
    assert_true(json_is(save_fields("ann@example.com", "{\"seen\":1767225600}").contact->custom_fields,
                        "{\"seen\":\"2026-01-01T00:00:00.000Z\"}"));
    assert_true(json_is(save_fields("ann@example.com", "{\"seen\":\"2026-02-28\"}").contact->custom_fields, "{\"seen\":\"2026-02-28\"}"));
    assert_field_refused("{\"seen\":\"2026-02-30\"}", ERR_FIELD_TYPE_MISMATCH, "customFields.seen");
    assert_field_refused("{\"seen\":-1}", ERR_FIELD_TYPE_MISMATCH, "customFields.seen");
    assert_field_refused("{\"seen\":1e18}", ERR_FIELD_TYPE_MISMATCH, "customFields.seen");
}

static void test_spellings_of_one_field_meet(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"favorite_color\":\"red\"}");
    struct contact_saved saved = save_fields("ann@example.com", "{\"favoriteColor\":\"green\",\"Favorite Color\":\"blue\"}");
    assert_true(json_is(saved.contact->custom_fields, "{\"favoriteColor\":\"blue\"}"));
    assert_int_equal(json_object_size(saved.book.renamed), 1);
    assert_int_equal(saved.book.created.count, 0);
}

static void test_clearing_defines_nothing(void **state)
{
    (void)state;
    struct contact_saved saved = save_fields("ann@example.com", "{\"ghost\":null}");
    assert_int_equal(saved.book.created.count, 0);
    assert_string_equal(saved.contact->custom_fields, "{}");
    assert_int_equal(number_of("select count(*) from contact_fields where name = 'ghost'"), 0);
}

static void test_fields_of_a_brand_are_bounded(void **state)
{
    (void)state;
    run_sql("insert into contact_fields (brand_id, name, type, created_at) "
            "select %lld, 'f' || n, 'string', now() from generate_series(1, %d) n",
            (long long)work.brand_id, FIELDS_MAX_PER_BRAND - 1);
    assert_field_refused("{\"last\":\"x\",\"more\":\"x\"}", ERR_INVALID_REQUEST, "customFields.more");
    save_fields("ann@example.com", "{\"last\":\"x\",\"f1\":\"y\"}");
    assert_field_refused("{\"more\":\"x\"}", ERR_INVALID_REQUEST, "customFields.more");
}

/* ---- Who is subscribed ---- */

static void test_nobody_comes_back_silently(void **state)
{
    (void)state;
    struct contact_change leaves = { .email = "ann@example.com", .subscribed = is_bool(false) };
    struct contact_change returns = { .email = "ann@example.com", .subscribed = is_bool(true) };
    assert_false(save(&leaves).contact->subscribed);
    assert_false(save_email("ann@example.com").contact->subscribed);
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    assert_false(save_email("Ann@Example.com").contact->subscribed);
    assert_true(save(&returns).contact->subscribed);
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    assert_true(save_email("ann@example.com").contact->subscribed);
}

static void test_a_bounce_outlives_a_wish(void **state)
{
    (void)state;
    struct contact_change returns = { .email = "ann@example.com", .subscribed = is_bool(true) };
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    address_hash(engine.address_key, "ann@example.com", hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("insert into suppressions values (%lld, decode('%s', 'hex'), 'bounced', now())", (long long)work.brand_id, hex);
    assert_false(save_email("ann@example.com").contact->subscribed);
    assert_true(save(&returns).contact->subscribed);
    assert_int_equal(number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld", (long long)work.brand_id)), 1);
}

/* ---- Batches ---- */

static void test_rows_fail_alone(void **state)
{
    (void)state;
    save_fields("old@example.com", "{\"visits\":1}");
    struct contact_change rows[] = {
        { .email = "a@example.com", .first_name = is_text("A") },
        { .email = NULL },
        { .email = "no-address" },
        { .email = "old@example.com", .custom_fields = json_of("{\"visits\":2,\"plan_name\":\"gold\"}") },
        { .email = "b@example.com", .custom_fields = json_of("{\"visits\":\"two\"}") },
        { .email = "c@example.com", .custom_fields = json_of("{\"email\":\"x\"}") },
        { .email = "d@example.com", .custom_fields = json_of("{\"plan-name\":\"silver\"}") },
    };
    struct contact_batch batch = save_batch(rows, ARRAY_COUNT(rows));
    assert_int_equal(batch.inserted, 2);
    assert_int_equal(batch.updated, 1);
    assert_int_equal(batch.ids.count, 3);
    assert_int_equal(batch.book.created.count, 1);
    assert_int_equal(json_object_size(batch.book.renamed), 2);
    static const struct {
        size_t index;
        enum error_code code;
        const char *field;
    } expected[] = {
        { 1, ERR_MISSING_EMAIL, "email" }, { 2, ERR_INVALID_EMAIL, "email" }, { 4, ERR_FIELD_TYPE_MISMATCH, "customFields.visits" },
        { 5, ERR_INVALID_REQUEST, "customFields.email" },
    };
    assert_int_equal(batch.refusal_count, ARRAY_COUNT(expected));
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
        assert_int_equal(batch.refusals[i].index, expected[i].index);
        assert_int_equal(batch.refusals[i].code, expected[i].code);
        assert_string_equal(batch.refusals[i].field, expected[i].field);
    }
    assert_true(json_is(save_email("old@example.com").contact->custom_fields, "{\"visits\":2,\"planName\":\"gold\"}"));
}

/* A batch leaves what saving its rows one by one would leave. */
static void test_rows_of_one_person_follow_each_other(void **state)
{
    (void)state;
    struct contact_change rows[] = {
        { .email = "ann@example.com", .first_name = is_text("Ann"), .subscribed = is_bool(false), .source = "one",
          .custom_fields = json_of("{\"a\":1,\"b\":1}"), .subscription_groups = json_of("{\"x\":true,\"y\":true}") },
        { .email = "bob@example.com" },
        { .email = "ANN@example.com", .last_name = is_text("Smith"), .subscribed = is_bool(true),
          .custom_fields = json_of("{\"b\":2,\"c\":3}"), .subscription_groups = json_of("{\"y\":false}") },
        { .email = "Ann@example.com", .first_name = is_text(NULL), .custom_fields = json_of("{\"a\":null}") },
    };
    struct contact_batch batch = save_batch(rows, ARRAY_COUNT(rows));
    assert_int_equal(batch.inserted, 2);
    assert_int_equal(batch.updated, 2);
    const struct contact_row *ann = save_email("Ann@example.com").contact;
    assert_null(ann->first_name);
    assert_string_equal(ann->last_name, "Smith");
    assert_string_equal(ann->source, "one");
    assert_true(ann->subscribed);
    assert_true(json_is(ann->custom_fields, "{\"b\":2,\"c\":3}"));
    assert_true(json_is(ann->subscription_groups, "{\"x\":true,\"y\":false}"));
}

static void test_batch_keeps_unsubscribes(void **state)
{
    (void)state;
    struct contact_change leaving[] = {
        { .email = "a@example.com", .subscribed = is_bool(false) }, { .email = "b@example.com", .subscribed = is_bool(false) }
    };
    struct contact_change again[] = { { .email = "a@example.com" }, { .email = "b@example.com", .subscribed = is_bool(true) } };
    save_batch(leaving, 2);
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    save_batch(again, 2);
    assert_false(save_email("a@example.com").contact->subscribed);
    assert_true(save_email("b@example.com").contact->subscribed);
}

static void test_nothing_good_in_a_batch(void **state)
{
    (void)state;
    struct contact_change rows[] = { { .email = "x" }, { .email = "" } };
    struct contact_batch batch = save_batch(rows, 2);
    assert_int_equal(batch.inserted + batch.updated, 0);
    assert_int_equal(batch.refusal_count, 2);
}

static struct contact_change *thousand_rows(struct arena *in, const char *custom_fields)
{
    struct contact_change *rows = arena_array(in, CONTACTS_MAX_BATCH_ROWS, sizeof(*rows));
    for (int i = 0; i < CONTACTS_MAX_BATCH_ROWS; i++)
        rows[i] = (struct contact_change){
            .email = arena_printf(in, "p%d@example.com", (i * 7919) % CONTACTS_MAX_BATCH_ROWS),
            .first_name = is_text(arena_printf(in, "P%d", i)),
            .custom_fields = custom_fields != NULL ? json_of(custom_fields) : NULL,
        };
    return rows;
}

static void test_a_thousand_in_two_round_trips(void **state)
{
    (void)state;
    struct contact_change *rows = thousand_rows(arena, "{\"plan\":\"gold\",\"visits\":3}");
    uint64_t before = db_round_trips(conn);
    struct contact_batch batch = save_batch(rows, CONTACTS_MAX_BATCH_ROWS);
    assert_int_equal(db_round_trips(conn) - before, 2);
    assert_int_equal(batch.inserted, CONTACTS_MAX_BATCH_ROWS);
    batch = save_batch(rows, CONTACTS_MAX_BATCH_ROWS);
    assert_int_equal(batch.inserted, 0);
    assert_int_equal(batch.updated, CONTACTS_MAX_BATCH_ROWS);
}

struct writer {
    const struct contact_change *rows;
    int64_t brand_id;
    bool ok;
    int64_t inserted;
};

static void *write_batches(void *data)
{
    struct writer *writer = data;
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE mine = NULL;
    writer->ok = db_connect(db, 1000, &mine, &err);
    for (int round = 0; round < 5 && writer->ok; round++) {
        ARENA_SCOPE scratch = arena_new(0);
        struct work own = work;
        own.arena = scratch;
        own.conn = mine;
        own.brand_id = writer->brand_id + round;
        struct contact_batch batch;
        DB_TX tx;
        writer->ok = db_tx_begin(mine, &tx, &err) && contact_save_batch(&own, writer->rows, CONTACTS_MAX_BATCH_ROWS, &batch, &err) &&
                     db_tx_commit(&tx, &err);
        writer->inserted += writer->ok ? batch.inserted : 0;
    }
    if (!writer->ok)
        fprintf(stderr, "%s [%s] %s\n", err.message, err.sqlstate, err.cause);
    return NULL;
}

/* The same thousand people, written by several at once, into five empty brands: each person is inserted once, nobody
 * deadlocks, and no row is lost. */
static void test_batches_beside_each_other(void **state)
{
    (void)state;
    enum { WRITERS = 4, ROUNDS = 5 };
    /* Without custom fields, whose definition would make the first writer's turn everybody's wait. */
    struct contact_change *rows = thousand_rows(arena, NULL);
    struct contact_change *backwards = arena_array(arena, CONTACTS_MAX_BATCH_ROWS, sizeof(*backwards));
    for (int i = 0; i < CONTACTS_MAX_BATCH_ROWS; i++)
        backwards[i] = rows[CONTACTS_MAX_BATCH_ROWS - 1 - i];
    int64_t first_brand = new_brand();
    for (int i = 1; i < ROUNDS; i++)
        assert_int_equal(new_brand(), first_brand + i);
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ .rows = i % 2 == 0 ? rows : backwards, .brand_id = first_brand };
        assert_int_equal(pthread_create(&threads[i], NULL, write_batches, &writers[i]), 0);
    }
    int64_t inserted = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(writers[i].ok);
        inserted += writers[i].inserted;
    }
    assert_int_equal(inserted, CONTACTS_MAX_BATCH_ROWS * ROUNDS);
    assert_int_equal(number_of(arena_printf(arena, "select count(*) from contacts where brand_id between %lld and %lld",
                                            (long long)first_brand, (long long)first_brand + ROUNDS - 1)),
                     CONTACTS_MAX_BATCH_ROWS * ROUNDS);
}

/* ---- Searching ---- */

static struct contact_page find(const struct contact_search *search)
{
    struct error err;
    struct contact_page page;
    assert_ok(contact_find(&work, search, &page, &err), &err);
    return page;
}

/* The first letters of the addresses found, in the order found: "abc". */
static const char *letters_of(struct contact_page page)
{
    char *letters = arena_alloc(arena, page.count + 1);
    for (size_t i = 0; i < page.count; i++)
        letters[i] = page.contacts[i].email[0];
    return letters;
}

static const char *letters_for(const char *filters)
{
    struct contact_search search = { .filters = json_of(filters), .order_by = CONTACT_BY_EMAIL, .limit = 100 };
    return letters_of(find(&search));
}

static void assert_filter_refused(const char *filters, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct contact_search search = { .filters = json_of(filters), .limit = 10 };
    struct contact_page page;
    assert_false(contact_find(&work, &search, &page, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

static void make_people(void)
{
    struct contact_change people[] = {
        { .email = "a@one.com", .first_name = is_text("Zoe"), .last_name = is_text("Smith"), .source = "shop",
          .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":3,\"vip\":true,\"born\":\"2001-02-03\"}") },
        { .email = "b@one.com", .first_name = is_text("Bob"), .user_id = is_text("u-2"), .subscribed = is_bool(false),
          .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":4,\"vip\":false}") },
        { .email = "c@two.com", .custom_fields = json_of("{\"plan\":\"free\"}") },
        { .email = "d_x@two.com", .first_name = is_text("Bob"), .last_name = is_text("100% O'Brien") },
        { .email = "e@two.com" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(people); i++) {
        save(&people[i]);
        work.now_us += US_PER_S;
    }
}

static void test_filters(void **state)
{
    (void)state;
    make_people();
    assert_string_equal(letters_for("[]"), "abcde");
    assert_string_equal(letters_for("{\"logic\":\"or\",\"filters\":[]}"), "abcde");
    assert_string_equal(letters_for("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\" A@ONE.com\"}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Bob\"}]"), "bd");
    assert_string_equal(letters_for("[{\"field\":\"lastName\",\"operator\":\"equals\",\"value\":\"100% O'Brien\"}]"), "d");
    assert_string_equal(letters_for("[{\"field\":\"userId\",\"operator\":\"equals\",\"value\":\"u-2\"}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"shop\"}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":false}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":\"true\"}]"), "acde");
    assert_string_equal(letters_for("[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}]"), "ab");
    assert_string_equal(letters_for("[{\"field\":\"customFields.plan\",\"operator\":\"equals\",\"value\":\"free\"}]"), "c");
    assert_string_equal(letters_for("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":3.0}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"vip\",\"operator\":\"equals\",\"value\":\"false\"}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"born\",\"operator\":\"equals\",\"value\":\"2001-02-03\"}]"), "a");
    assert_string_equal(letters_for("{\"logic\":\"and\",\"filters\":[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"},"
                                    "{\"field\":\"visits\",\"operator\":\"equals\",\"value\":4}]}"),
                        "b");
    assert_string_equal(letters_for("{\"logic\":\"or\",\"filters\":[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"e@two.com\"},"
                                    "{\"filters\":[{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Bob\"},"
                                    "{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":true}]}]}"),
                        "de");
}

static void test_times_equal_what_is_shown(void **state)
{
    (void)state;
    work.now_us = INT64_C(1767225600123456);
    save_email("ann@example.com");
    assert_string_equal(letters_for("[{\"field\":\"createdAt\",\"operator\":\"equals\",\"value\":\"2026-01-01T00:00:00.123Z\"}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"updatedAt\",\"operator\":\"equals\",\"value\":\"2026-01-01T00:00:00.124Z\"}]"), "");
}

static void test_filters_refused(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"visits\":1}");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"matches\",\"value\":\"x\"}]", "filters.0.operator");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"x\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"value\":1}]", "filters.0.operator");
    assert_filter_refused("[{\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"nobodyKnows\",\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"a.b\",\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":\"1\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":null}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":1}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"createdAt\",\"operator\":\"equals\",\"value\":\"today\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"a@b.com\",\"not\":true}]", "filters.0.not");
    assert_filter_refused("[7]", "filters.0");
    assert_filter_refused("{\"filters\":[{\"field\":\"email\",\"operator\":\"x\",\"value\":1}]}", "filters.filters.0.operator");
    assert_filter_refused("{\"filters\":7}", "filters.filters");
    assert_filter_refused("{}", "filters.filters");
    assert_filter_refused("{\"logic\":\"xor\",\"filters\":[]}", "filters.logic");
    assert_filter_refused("{\"logic\":1,\"filters\":[]}", "filters.logic");
    assert_filter_refused("{\"filters\":[],\"more\":1}", "filters.more");
    assert_filter_refused("{\"filters\":[{\"filters\":[{\"filters\":[{\"filters\":[{\"filters\":[]}]}]}]}]}",
                          "filters.filters.0.filters.0.filters.0.filters.0.filters");
}

static void test_conditions_are_bounded(void **state)
{
    (void)state;
    struct buf *text = buf_in_arena(arena, 1 << 20);
    for (int group = 0; group < 3; group++) {
        buf_printf(text, "%s{\"logic\":\"or\",\"filters\":[", group > 0 ? "," : "[");
        for (int i = 0; i < 17; i++)
            buf_printf(text, "%s{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"s%d\"}", i > 0 ? "," : "", i);
        buf_add_text(text, "]}");
    }
    buf_add_text(text, "]");
    assert_filter_refused(buf_text(text), "filters.2.filters.16");
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *letters;
    } cases[] = { { "ONE.com", "ab" }, { "zoe sm", "a" }, { "_", "d" }, { "%", "d" }, { "o'br", "d" }, { "\\", "" }, { "bob", "bd" } };
    make_people();
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct contact_search search = { .text = cases[i].text, .order_by = CONTACT_BY_EMAIL, .limit = 10 };
        assert_string_equal(letters_of(find(&search)), cases[i].letters);
    }
}

static void test_orders(void **state)
{
    (void)state;
    static const struct {
        enum contact_order_field by;
        const char *ascending;
        const char *descending;
    } cases[] = {
        { CONTACT_BY_CREATED, "abcde", "edcba" },    { CONTACT_BY_UPDATED, "bcdea", "aedcb" },
        { CONTACT_BY_EMAIL, "abcde", "edcba" },      { CONTACT_BY_FIRST_NAME, "bdace", "adbec" },
        { CONTACT_BY_LAST_NAME, "dabce", "adecb" },
    };
    make_people();
    save_email("a@one.com");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        for (int descending = 0; descending <= 1; descending++) {
            /* One row a page, so that every place is behind a row. */
            struct contact_search search = { .order_by = cases[i].by, .descending = descending == 1, .limit = 1 };
            char letters[8] = "";
            size_t count = 0;
            do {
                struct contact_page page = find(&search);
                assert_int_equal(page.count, 1);
                letters[count++] = page.contacts[0].email[0];
                search.cursor = page.next;
            } while (search.cursor != NULL && count < 7);
            assert_string_equal(letters, descending ? cases[i].descending : cases[i].ascending);
        }
    }
}

/* Names that begin alike for longer than a cursor can carry. */
static void test_long_names_page(void **state)
{
    (void)state;
    enum { PEOPLE = 5 };
    char *name = arena_alloc(arena, 2 * 200 + 1);
    for (int i = 0; i < 200; i++)
        memcpy(name + 2 * i, "\xc3\xa9", 2);
    for (int i = 0; i < PEOPLE; i++) {
        struct contact_change change = { .email = arena_printf(arena, "p%d@example.com", i), .first_name = is_text(name) };
        save(&change);
    }
    struct contact_search search = { .order_by = CONTACT_BY_FIRST_NAME, .limit = 2 };
    size_t seen = 0;
    do {
        struct contact_page page = find(&search);
        seen += page.count;
        search.cursor = page.next;
        assert_true(search.cursor == NULL || strlen(search.cursor) <= 512);
    } while (search.cursor != NULL && seen < 2 * PEOPLE);
    assert_int_equal(seen, PEOPLE);
}

static void test_cursors_are_bound(void **state)
{
    (void)state;
    make_people();
    struct contact_search search = { .order_by = CONTACT_BY_EMAIL, .limit = 2 };
    search.cursor = find(&search).next;
    assert_string_equal(letters_of(find(&search)), "cd");
    struct contact_search others[] = { search, search, search, search };
    others[0].descending = true;
    others[1].text = "one";
    others[2].filters = json_of("[]");
    others[3].order_by = CONTACT_BY_CREATED;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        struct error err = { .code = ERR_NONE };
        struct contact_page page;
        assert_false(contact_find(&work, &others[i], &page, &err));
        assert_string_equal(err.param, "cursor");
    }
}

static void test_count(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    make_people();
    struct contact_search search = { .filters = json_of("[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}]"), .limit = 1 };
    uint64_t before = db_round_trips(conn);
    assert_ok(contact_count(&work, &search, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(db_round_trips(conn) - before, 2);
    work.brand_id = new_brand();
    search.filters = NULL;
    assert_ok(contact_count(&work, &search, &count, &err), &err);
    assert_int_equal(count, 0);
}

static void test_audiences(void **state)
{
    (void)state;
    make_people();
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'Gold', "
            "'{\"filters\":[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}]}', now(), now())",
            (long long)work.brand_id);
    int64_t audience_id = number_of("select max(id) from audiences");
    struct contact_search search = { .audience_id = audience_id, .order_by = CONTACT_BY_EMAIL, .limit = 10 };
    assert_string_equal(letters_of(find(&search)), "ab");
    search.filters = json_of("[{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Bob\"}]");
    assert_string_equal(letters_of(find(&search)), "b");

    struct error err = { .code = ERR_NONE };
    struct contact_page page;
    search.audience_id = -1;
    assert_false(contact_find(&work, &search, &page, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_NOT_FOUND);
    work.brand_id = new_brand();
    search.audience_id = audience_id;
    error_clear(&err);
    assert_false(contact_find(&work, &search, &page, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_names_converge),
        CONTACTS_TEST(test_names_refused),
        CONTACTS_TEST(test_defaults),
        CONTACTS_TEST(test_merging_keeps_what_is_not_given),
        CONTACTS_TEST(test_refusals_name_the_field),
        CONTACTS_TEST(test_brands_are_apart),
        CONTACTS_TEST(test_round_trips_of_one),
        CONTACTS_TEST(test_first_value_gives_the_type),
        CONTACTS_TEST(test_dates_are_kept_in_one_form),
        CONTACTS_TEST(test_spellings_of_one_field_meet),
        CONTACTS_TEST(test_clearing_defines_nothing),
        CONTACTS_TEST(test_fields_of_a_brand_are_bounded),
        CONTACTS_TEST(test_nobody_comes_back_silently),
        CONTACTS_TEST(test_a_bounce_outlives_a_wish),
        CONTACTS_TEST(test_rows_fail_alone),
        CONTACTS_TEST(test_rows_of_one_person_follow_each_other),
        CONTACTS_TEST(test_batch_keeps_unsubscribes),
        CONTACTS_TEST(test_nothing_good_in_a_batch),
        CONTACTS_TEST(test_a_thousand_in_two_round_trips),
        CONTACTS_TEST(test_batches_beside_each_other),
        CONTACTS_TEST(test_filters),
        CONTACTS_TEST(test_times_equal_what_is_shown),
        CONTACTS_TEST(test_filters_refused),
        CONTACTS_TEST(test_conditions_are_bounded),
        CONTACTS_TEST(test_text),
        CONTACTS_TEST(test_orders),
        CONTACTS_TEST(test_long_names_page),
        CONTACTS_TEST(test_cursors_are_bound),
        CONTACTS_TEST(test_count),
        CONTACTS_TEST(test_audiences),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
