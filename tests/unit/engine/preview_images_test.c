/* Preview images: which designs are drawn and when, which brands get a job, and what reads of designs show. */
#include "fixtures/engine_fixture.h"

#include "engine/assets/assets.h"
#include "engine/emails/preview_images.h"

enum { BRANDS = 4, MANY = 2000 };

static const char html[] = "<html><body><p>Hello</p></body></html>";
static const char text[] = "Hello\n";
static const char name[] = "0000000000000000000000000000000000000000000000000000.png";
static const char url[] = "https://mail.example/ph/assets/0000000000000000000000000000000000000000000000000000.png";
static const char jobs[] =
    "select count(*) from jobs where kind = 'draw_preview_images' and pool = 'network' and state in ('queued', 'running')";
static const int64_t hour_us = INT64_C(3600) * US_PER_S;

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from spare_pictures; delete from assets");
    work.engine->public_url = "https://mail.example/ph";
    return failed;
}

static int leave(void **state)
{
    work.engine->public_url = NULL;
    return world_leave(state);
}

static void enqueue(int64_t now_us, int64_t own)
{
    struct error err = { .code = ERR_NONE };
    assert_ok(preview_images_enqueue(work.engine, conn, arena, now_us, own, &err), &err);
}

/* The next design to draw `seconds` from now. */
static struct undrawn_email next_after(int64_t seconds)
{
    struct error err = { .code = ERR_NONE };
    struct work later = work;
    struct undrawn_email email;
    later.now_us += seconds * US_PER_S;
    assert_ok(preview_image_next(&later, &email, &err), &err);
    return email;
}

static void set(struct undrawn_email email, const char *image)
{
    struct error err = { .code = ERR_NONE };
    assert_ok(preview_image_set(&work, &email, image, &err), &err);
}

/* The address that the list of designs shows for the only design, or the newest one; NULL: none. */
static const char *shown(void)
{
    struct error err = { .code = ERR_NONE };
    struct email_filter filter = { .group_id = NULL };
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    assert_ok(email_list(&work, &filter, 10, NULL, &json, &err), &err);
    const json_t *page;
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &page, &err), &err);
    return json_get_text(json_array_get(json_object_get(page, "data"), 0), "previewImage");
}

static int64_t add_version(int64_t email_id)
{
    struct error err = { .code = ERR_NONE };
    struct email_content content;
    struct email_find_row *email;
    const struct email_version version = { .content = &content, .made_by = "caller" };
    assert_ok(email_prepare(arena, prepared(html, text), &content, &err), &err);
    assert_ok(email_append_version(&work, email_id, &version, &email, &err), &err);
    return email->version_id.value;
}

static void test_a_new_version_is_drawn_when_it_has_settled(void **state)
{
    (void)state;
    int64_t email_id = design_of(html, text);
    enqueue(work.now_us + 19 * US_PER_S, 0);
    assert_int_equal(number_of(jobs), 0);
    assert_int_equal(next_after(19).id, 0);
    enqueue(work.now_us + 20 * US_PER_S, 0);
    enqueue(work.now_us + 20 * US_PER_S, 0);
    assert_int_equal(number_of(jobs), 1);
    assert_int_equal(next_after(20).id, email_id);
    assert_null(shown());
    set(next_after(20), name);
    assert_string_equal(shown(), url);
    assert_int_equal(next_after(20).id, 0);
    run_sql("delete from jobs");
    enqueue(work.now_us + hour_us, 0);
    assert_int_equal(number_of(jobs), 0);
}

static void test_an_edit_keeps_the_picture_until_the_next_one(void **state)
{
    (void)state;
    int64_t email_id = design_of(html, text);
    struct undrawn_email first = next_after(20);
    int64_t version_id = add_version(email_id);
    set(first, name); /* was drawn while the design was edited */
    assert_null(shown());
    assert_int_equal(next_after(20).version_id, version_id);
    set(next_after(20), name);
    add_version(email_id);
    assert_string_equal(shown(), url);
    set(next_after(20), NULL);
    assert_null(shown());
    assert_int_equal(next_after(20).id, 0);
}

/* The pictures that are spare some days from now, as "used", "unused", or NULL when there is none; at most one. */
static const char *spare_after(int64_t days)
{
    struct error err = { .code = ERR_NONE };
    struct spare_picture *pictures;
    size_t count;
    assert_ok(spare_pictures_read(conn, arena, work.now_us + days * 24 * hour_us, 10, &pictures, &count, &err), &err);
    assert_in_range(count, 0, 1);
    if (count == 1)
        assert_string_equal(pictures[0].name.text, name);
    return count == 0 ? NULL : pictures[0].is_used ? "used" : "unused";
}

static void test_a_picture_is_spare_when_no_design_shows_it(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t email_id = design_of(html, text);
    int64_t other_id = design_of(html, text);
    set(next_after(20), name);
    set(next_after(20), name);
    assert_null(spare_after(SPARE_PICTURE_DAYS));
    add_version(email_id);
    set(next_after(20), NULL);
    assert_null(spare_after(SPARE_PICTURE_DAYS - 1));
    assert_string_equal(spare_after(SPARE_PICTURE_DAYS), "used");
    struct email_deletion deletion;
    assert_ok(email_delete(&work, other_id, &deletion, &err), &err);
    assert_string_equal(spare_after(SPARE_PICTURE_DAYS), "unused");

    struct asset library = { .type = ASSET_PNG, .bytes = 1, .width = 1, .height = 1, .frames = 1 };
    struct asset_name parsed;
    assert_true(asset_name_read(name, &parsed, &library.type));
    asset_name_hash(&parsed, library.hash);
    assert_ok(assets_keep(&work, &library, 1, &err), &err);
    assert_null(spare_after(SPARE_PICTURE_DAYS));
    assert_ok(spare_picture_note(&work, name, &err), &err); /* it is about to be stored again */
    assert_string_equal(spare_after(SPARE_PICTURE_DAYS), "used");
}

static void test_a_stored_picture_that_no_design_gets_is_spare(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    const struct spare_picture picture = { .brand_id = work.brand_id, .image = name };
    assert_ok(spare_picture_note(&work, name, &err), &err);
    assert_string_equal(spare_after(SPARE_PICTURE_DAYS), "unused");
    /* It was noted again after it had been read. */
    assert_ok(spare_pictures_forget(conn, arena, work.now_us, &picture, 1, &err), &err);
    assert_string_equal(spare_after(SPARE_PICTURE_DAYS), "unused");
    assert_ok(spare_pictures_forget(conn, arena, work.now_us + SPARE_PICTURE_DAYS * 24 * hour_us, &picture, 1, &err), &err);
    assert_null(spare_after(SPARE_PICTURE_DAYS));
}

static void test_nothing_is_drawn_without_a_public_url(void **state)
{
    (void)state;
    design_of(html, text);
    set(next_after(20), name);
    design_of(html, text);
    work.engine->public_url = NULL;
    enqueue(work.now_us + hour_us, 0);
    assert_int_equal(number_of(jobs), 0);
    run_sql("delete from emails where preview_image is null");
    assert_null(shown());
}

static void test_designs_that_are_not_ready_are_not_drawn(void **state)
{
    (void)state;
    design_of(html, text);
    run_sql("update emails set deleted_at = now()");
    assert_int_equal(next_after(20).id, 0);
    run_sql("update emails set deleted_at = null, status = 'generating'");
    assert_int_equal(next_after(20).id, 0);
    enqueue(work.now_us + hour_us, 0);
    assert_int_equal(number_of(jobs), 0);
}

static void test_a_design_that_is_put_off_waits_an_hour(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t first = design_of(html, text);
    int64_t second = design_of(html, text);
    struct undrawn_email email = next_after(20);
    assert_int_equal(email.id, first);
    assert_ok(preview_image_put_off(&work, &email, &err), &err);
    enqueue(work.now_us + hour_us - US_PER_S, 0);
    assert_int_equal(number_of(jobs), 0);
    enqueue(work.now_us + hour_us, 0);
    assert_int_equal(number_of(jobs), 1);
    assert_int_equal(next_after(3600).id, second);
    set(next_after(3600), name);
    assert_int_equal(next_after(3600).id, first);
    set(next_after(3600), name);
    assert_int_equal(number_of("select count(*) from emails where preview_tried_at is not null"), 0);
}

static void test_a_clone_shares_the_picture_of_its_version(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t email_id = design_of(html, text);
    struct undrawn_email first = next_after(20);
    set(first, name);
    struct email_copy copy = { .email_id = work_id(&work, ID_EMAIL, email_id) };
    struct email_find_row *clone;
    assert_ok(email_clone(&work, &copy, &clone, &err), &err);
    assert_string_equal(clone->preview_image, name);
    assert_int_equal(next_after(20).id, 0);
    add_version(email_id);
    assert_ok(email_clone(&work, &copy, &clone, &err), &err);
    assert_null(clone->preview_image);
    copy.version_id = first.version_id;
    assert_ok(email_clone(&work, &copy, &clone, &err), &err);
    assert_string_equal(clone->preview_image, name);
}

static void test_two_brands_at_a_time(void **state)
{
    (void)state;
    int64_t brand_id = work.brand_id;
    for (int i = 0; i < BRANDS; i++) {
        run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
                "values (%lld, 'Other', 'completed', now(), now())",
                (long long)work.organization_id);
        work.brand_id = number_of("select max(id) from brands");
        design_of(html, text);
    }
    work.brand_id = brand_id;
    run_sql("update brands set status = 'deleting' where id = (select max(id) from brands)");
    enqueue(work.now_us + hour_us, 0);
    enqueue(work.now_us + hour_us, 0);
    assert_int_equal(number_of(jobs), 2);
    enqueue(work.now_us + hour_us, 2); /* both end */
    assert_int_equal(number_of(jobs), 3);
    run_sql("update jobs set state = 'done'");
    enqueue(work.now_us + hour_us, 9);
    assert_int_equal(number_of(jobs), 3); /* none for a brand that is being deleted */
}

/* The rows of the brands and of the designs, and of their indexes, that were read. */
static int64_t rows_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of("select (select (sum(idx_tup_read) + sum(idx_tup_fetch))::bigint from pg_stat_user_indexes"
                     "         where relname in ('brands', 'emails', 'email_versions'))"
                     " + (select sum(seq_tup_read)::bigint from pg_stat_user_tables"
                     "     where relname in ('brands', 'emails', 'email_versions'))");
}

/* The cost grows with the brands that have designs to draw, neither with the others nor with the designs. */
static void test_brands_without_undrawn_designs_cost_nothing(void **state)
{
    (void)state;
    design_of(html, text);
    run_sql("with b as (insert into brands (organization_id, name, status, created_at, updated_at)"
            "           select %lld, 'Drawn', 'completed', now(), now() from generate_series(1, %d) returning id)"
            " insert into emails (brand_id, title, status, latest_version_id, preview_version, created_at, updated_at)"
            " select id, 'Drawn', 'ready', 1, 1, now(), now() from b",
            (long long)work.organization_id, MANY);
    run_sql("insert into emails (brand_id, title, status, latest_version_id, created_at, updated_at)"
            " select brand_id, title, status, latest_version_id, created_at, updated_at from emails, generate_series(1, %d)"
            "  where brand_id = %lld",
            MANY, (long long)work.brand_id);
    run_sql("analyze brands, emails, email_versions");
    int64_t before = rows_read();
    enqueue(work.now_us + hour_us, 0);
    assert_in_range(rows_read() - before, 1, 50);
    assert_int_equal(number_of(jobs), 1);
    run_sql("delete from emails; delete from brands where name = 'Drawn'");
}

#define PREVIEW_TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREVIEW_TEST(test_a_new_version_is_drawn_when_it_has_settled),
        PREVIEW_TEST(test_an_edit_keeps_the_picture_until_the_next_one),
        PREVIEW_TEST(test_a_picture_is_spare_when_no_design_shows_it),
        PREVIEW_TEST(test_a_stored_picture_that_no_design_gets_is_spare),
        PREVIEW_TEST(test_nothing_is_drawn_without_a_public_url),
        PREVIEW_TEST(test_designs_that_are_not_ready_are_not_drawn),
        PREVIEW_TEST(test_a_design_that_is_put_off_waits_an_hour),
        PREVIEW_TEST(test_a_clone_shares_the_picture_of_its_version),
        PREVIEW_TEST(test_two_brands_at_a_time),
        PREVIEW_TEST(test_brands_without_undrawn_designs_cost_nothing),
    };
    return cmocka_run_group_tests_name("engine_preview_images", tests, world_begin, world_end);
}
