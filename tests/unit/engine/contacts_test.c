/* Saving contacts on a real PostgreSQL: merging, custom fields, subscription, and concurrent batches. */
#include "fixtures/contacts_brand.h"

#include "base/text.h"

#include <pthread.h>
#include <string.h>

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

/* ---- Field names ---- */

static void test_names_converge(void **state) /* */
{
    (void)state;
    static const struct {
        const char *given;
        const char *name;
    } cases[] = {
        { "favoriteColor", "favoriteColor" },
        { "favorite_color", "favoriteColor" },
        { "favorite-color", "favoriteColor" },
        { "favorite color", "favoriteColor" },
        { "Favorite Color", "favoriteColor" },
        { "FAVORITE_COLOR", "favoriteColor" },
        { "FavoriteColor", "favoriteColor" },
        { "_favorite__color_", "favoriteColor" },
        { "plan", "plan" },
        { "VIP", "vip" },
        { "orders 2024", "orders2024" },
        { "2024_q1", "2024Q1" },
        { "2024Q1", "2024Q1" },
        { "2FA code", "2FACode" },
        { "ma\xc3\x9f_stab", "ma\xc3\x9fStab" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err;
        const char *name;
        assert_ok(field_name_normalize(arena, cases[i].given, &name, &err), &err);
        assert_string_equal(name, cases[i].name);
        /* The name of a field is a name of it, too. */
        assert_ok(field_name_normalize(arena, name, &name, &err), &err);
        assert_string_equal(name, cases[i].name);
    }
}

static void test_names_refused(void **state) /* R-364, D-147 */
{
    (void)state;
    static const char *const refused[] = {
        "",
        "_",
        "a.b",
        "a{b",
        "email",
        "first_name",
        "First Name",
        "lastName",
        "user-id",
        "source",
        "subscribed",
        "subscription_groups",
        "createdAt",
        "updated_at",
        "ID",
        "audience",
        "zero\xe2\x80\x8bwidth",
        "0123456789012345678901234567890123456789012345678901234567890123x",
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

static void test_defaults(void **state) /* */
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

static void test_merging_keeps_what_is_not_given(void **state) /* */
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
        .proof = { .source = "form",
                   .captured_at = { true, INT64_C(1767225600000000) },
                   .policy_version = "2",
                   .evidence = "tick" },
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

/* `count` letters of two bytes. */
static const char *long_word(size_t count)
{
    char *word = arena_alloc(arena, 2 * count + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(word + 2 * i, "\xc3\xa9", 2);
    return word;
}

static void assert_cut_between_characters(const struct contact_change *change)
{
    struct error err = { .code = ERR_NONE };
    struct contact_saved saved;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_false(contact_save(&work, change, &saved, &err));
    assert_true(utf8_is_valid(err.param, strlen(err.param)));
    assert_in_range(strlen(err.param), ERROR_PARAM_MAX_BYTES - 2, ERROR_PARAM_MAX_BYTES - 1);
}

/* Half a character would make the JSON of the answer invalid. */
static void test_a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    const char *name = long_word(150);
    static const char *const prefixes[] = { "", "x", "xy" };
    for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
        const char *group = arena_printf(arena, "{\"%s%s\":1}", prefixes[i], name);
        struct contact_change change = { .email = "ann@example.com", .subscription_groups = json_of(group) };
        assert_cut_between_characters(&change);
        change = (struct contact_change){ .email = "ann@example.com", .custom_fields = json_of(group) };
        assert_cut_between_characters(&change);
    }
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
    struct contact_change change = { .email = "ann@example.com",
                                     .subscribed = is_bool(true),
                                     .custom_fields = json_of("{\"code\":\"y\",\"n\":1}") };
    uint64_t before = db_round_trips(conn);
    save(&change);
    assert_int_equal(db_round_trips(conn) - before, 1);
    change.custom_fields = json_of("{\"code\":\"2026-01-05\"}");
    before = db_round_trips(conn);
    assert_string_equal(save(&change).contact->custom_fields, "{\"n\": 1, \"code\": \"2026-01-05\"}");
    assert_int_equal(db_round_trips(conn) - before, 2);
}

/* ---- Custom fields ---- */

static void test_first_value_gives_the_type(void **state) /* */
{
    (void)state;
    struct contact_saved saved =
        save_fields("ann@example.com", "{\"plan\":\"gold\",\"visits\":1.5,\"vip\":true,\"born\":\"2001-02-03\"}");
    assert_int_equal(saved.registry.created.count, 4);
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
    assert_true(
        json_is(save_fields("ann@example.com", "{\"seen\":\"2026-02-28\"}").contact->custom_fields, "{\"seen\":\"2026-02-28\"}"));
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
    assert_int_equal(json_object_size(saved.registry.renamed), 1);
    assert_int_equal(saved.registry.created.count, 0);
}

static void test_clearing_defines_nothing(void **state)
{
    (void)state;
    struct contact_saved saved = save_fields("ann@example.com", "{\"ghost\":null}");
    assert_int_equal(saved.registry.created.count, 0);
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

/* ---- Subscription ---- */

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
    assert_int_equal(
        number_of(arena_printf(arena, "select count(*) from suppressions where brand_id = %lld", (long long)work.brand_id)), 1);
}

/* ---- Batches ---- */

static void test_rows_fail_alone(void **state) /* */
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
    assert_int_equal(batch.registry.created.count, 1);
    assert_int_equal(json_object_size(batch.registry.renamed), 2);
    static const struct {
        size_t index;
        enum error_code code;
        const char *field;
    } expected[] = {
        { 1, ERR_MISSING_EMAIL, "email" },
        { 2, ERR_INVALID_EMAIL, "email" },
        { 4, ERR_FIELD_TYPE_MISMATCH, "customFields.visits" },
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
        { .email = "ann@example.com",
          .first_name = is_text("Ann"),
          .subscribed = is_bool(false),
          .source = "one",
          .custom_fields = json_of("{\"a\":1,\"b\":1}"),
          .subscription_groups = json_of("{\"x\":true,\"y\":true}") },
        { .email = "bob@example.com" },
        { .email = "ANN@example.com",
          .last_name = is_text("Smith"),
          .subscribed = is_bool(true),
          .custom_fields = json_of("{\"b\":2,\"c\":3}"),
          .subscription_groups = json_of("{\"y\":false}") },
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
    struct contact_change leaving[] = { { .email = "a@example.com", .subscribed = is_bool(false) },
                                        { .email = "b@example.com", .subscribed = is_bool(false) } };
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
        writer->ok = db_tx_begin(mine, &tx, &err) &&
                     contact_save_batch(&own, writer->rows, CONTACTS_MAX_BATCH_ROWS, &batch, &err) && db_tx_commit(&tx, &err);
        writer->inserted += writer->ok ? batch.inserted : 0;
    }
    if (!writer->ok)
        fprintf(stderr, "%s [%s] %s\n", err.message, err.sqlstate, err.cause);
    return NULL;
}

/* Several threads write the same 1,000 people into five empty brands: each person is inserted once, there is no deadlock, and
 * no row is lost. */
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

static void *save_first_name(void *data)
{
    struct writer *writer = data;
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE mine = NULL;
    ARENA_SCOPE scratch = arena_new(0);
    struct work own = work;
    struct contact_batch batch;
    writer->ok = db_connect(db, 1000, &mine, &err);
    own.arena = scratch;
    own.conn = mine;
    writer->ok = writer->ok && contact_save_batch(&own, writer->rows, 1, &batch, &err) && batch.updated == 1;
    return NULL;
}

static bool somebody_waits(void)
{
    return number_of("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'unit_test'") > 0;
}

/* A batch that waits for another's change of the same contact builds on that change. */
static void test_no_change_is_lost(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct contact_change last_name = { .email = "ann@example.com",
                                        .last_name = is_text("Smith"),
                                        .custom_fields = json_of("{\"a\":1}") };
    struct contact_change first_name = { .email = "ann@example.com", .first_name = is_text("Ann") };
    struct writer writer = { .rows = &first_name };
    pthread_t thread;
    DB_CONN_SCOPE watching = NULL;
    struct db_conn *own = conn;
    assert_ok(db_connect(db, 1000, &watching, &err), &err);
    save_email("ann@example.com");
    {
        DB_TX tx;
        assert_ok(db_tx_begin(own, &tx, &err), &err);
        save(&last_name);
        assert_int_equal(pthread_create(&thread, NULL, save_first_name, &writer), 0);
        conn = watching;
        for (int waited_ms = 0; !somebody_waits() && waited_ms < 10000; waited_ms += 5)
            usleep(5000);
        conn = own;
        assert_ok(db_tx_commit(&tx, &err), &err);
    }
    pthread_join(thread, NULL);
    assert_true(writer.ok);
    const struct contact_row *ann = save_email("ann@example.com").contact;
    assert_string_equal(ann->first_name, "Ann");
    assert_string_equal(ann->last_name, "Smith");
    assert_true(json_is(ann->custom_fields, "{\"a\":1}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_names_converge),
        CONTACTS_TEST(test_names_refused),
        CONTACTS_TEST(test_defaults),
        CONTACTS_TEST(test_merging_keeps_what_is_not_given),
        CONTACTS_TEST(test_a_long_name_is_cut_between_characters),
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
        CONTACTS_TEST(test_no_change_is_lost),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
