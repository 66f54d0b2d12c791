/* Rows of a brand's assets: inserted once, counted, and limited. */
#include "fixtures/engine_fixture.h"

#include "engine/assets/asset_search.h"

static struct asset asset_of(const char *bytes_text, int64_t bytes)
{
    struct asset asset = { .type = ASSET_PNG, .bytes = bytes, .width = 3, .height = 2, .frames = 1 };
    sha256(bytes_text, strlen(bytes_text), asset.hash);
    return asset;
}

static struct asset_quota room_left(void)
{
    struct error err;
    struct asset_quota room;
    assert_ok(asset_quota_left(&work, &room, &err), &err);
    return room;
}

static void test_a_brand_notes_an_image_once(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset assets[] = { asset_of("one", 100), asset_of("two", 50), asset_of("one", 100) };
    assets[0].source_url = "https://x.example/one.png";
    assert_ok(assets_keep(&work, assets, ARRAY_COUNT(assets), &err), &err);
    assert_ok(assets_keep(&work, assets, 1, &err), &err);
    assert_ok(assets_keep(&work, NULL, 0, &err), &err);
    assert_int_equal(number_of("select count(*) from assets"), 2);
    assert_int_equal(number_of("select count(*) from assets where source_url = 'https://x.example/one.png' and width = 3"), 1);
    assert_int_equal(number_of("select count(*) from assets where hash = sha256('two') and source_url is null"), 1);
    struct asset_quota room = room_left();
    assert_int_equal(room.count, ASSETS_MAX_COUNT - 2);
    assert_int_equal(room.bytes, ASSETS_MAX_BYTES - 150);
}

static void test_a_generated_image_joins_the_library(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset asset = asset_of("one", 100);
    asset.kind = "generated";
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    assert_int_equal(number_of("select count(*) from assets where kind = 'generated'"), 1);
    asset.kind = NULL;
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    asset.kind = "generated";
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    assert_int_equal(number_of("select count(*) from assets where kind = 'brand'"), 1);
}

static void test_brands_are_apart(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset asset = asset_of("one", 100);
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " values (%lld, 'Other', 'completed', now(), now())",
            (long long)work.organization_id);
    struct work other = work;
    other.brand_id = number_of("select max(id) from brands");
    assert_ok(assets_keep(&other, &asset, 1, &err), &err);
    assert_int_equal(number_of("select count(*) from assets"), 2);
    assert_int_equal(room_left().count, ASSETS_MAX_COUNT - 1);
    run_sql("delete from assets; delete from brands where name = 'Other'");
}

static void test_address_of_a_copy(void **state)
{
    (void)state;
    struct asset asset = asset_of("one", 100);
    struct asset_name name = asset_name_of(asset.hash, asset.type);
    const char *url = asset_url(arena, "https://mail.example/p", &name);
    assert_string_equal(url, arena_printf(arena, "https://mail.example/p/assets/%s", name.text));
}

/* The answer of a list; NULL when it was refused for its cursor. */
static const json_t *listed(const struct work *by, struct asset_filter filter, int64_t limit, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    if (!asset_list(by, &filter, limit, cursor, &json, &err)) {
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, "cursor");
        return NULL;
    }
    const json_t *answer;
    assert_ok(json_read(arena, buf_text(out), out->size, (struct json_bounds){ .max_bytes = out->size }, &answer, &err), &err);
    return answer;
}

static const char *cursor_of(const json_t *answer)
{
    return json_get_text(json_object_get(answer, "pagination"), "cursor");
}

static int64_t width_at(const json_t *answer, size_t row)
{
    return json_get_int(json_array_get(json_object_get(answer, "data"), row), "width", -1);
}

/* the newest come first, a page ends at an image, not at a number, and its cursor is good for this order
 * and these filters. */
static void test_browsing(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    static const char *const names[] = { "one", "two", "three", "four", "five" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct asset asset = asset_of(names[i], 100);
        asset.width = (int64_t)i + 1;
        assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    }
    struct asset_filter newest = { .type = NULL };
    const json_t *page = listed(&work, newest, 2, NULL);
    assert_int_equal(width_at(page, 0), 5);
    assert_int_equal(width_at(page, 1), 4);
    assert_int_equal(width_at(page, 2), -1);
    const char *cursor = cursor_of(page);
    assert_non_null(cursor);

    run_sql("delete from assets where width >= 4");
    page = listed(&work, newest, 3, cursor);
    assert_int_equal(width_at(page, 0), 3);
    assert_int_equal(width_at(page, 2), 1);
    assert_null(cursor_of(page));

    struct asset_filter others[] = {
        { .oldest_first = true }, { .kind = "brand" }, { .type = "png" }, { .aspect_ratio = "square" }
    };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        assert_null(listed(&work, others[i], 2, cursor));
    struct work other = work;
    other.brand_id++;
    assert_null(listed(&other, newest, 2, cursor));

    struct asset_filter oldest_landscapes = { .oldest_first = true, .aspect_ratio = "landscape" };
    page = listed(&work, oldest_landscapes, 100, NULL);
    assert_int_equal(width_at(page, 0), 3);
    assert_int_equal(width_at(page, 1), -1);
}

/* An image has an address where the installation has one. */
static void test_addresses_of_images(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset asset = asset_of("one", 100);
    asset.type = ASSET_WEBP;
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    struct engine engine = *work.engine;
    struct work here = work;
    here.engine = &engine;
    engine.public_url = NULL;
    const json_t *row = json_array_get(json_object_get(listed(&here, (struct asset_filter){ .type = "webp" }, 1, NULL), "data"), 0);
    assert_null(json_get_text(row, "url"));
    assert_string_equal(json_get_text(row, "type"), "webp");

    engine.public_url = "https://mail.example";
    row = json_array_get(json_object_get(listed(&here, (struct asset_filter){ .type = "webp" }, 1, NULL), "data"), 0);
    struct asset_name name = asset_name_of(asset.hash, ASSET_WEBP);
    assert_string_equal(json_get_text(row, "url"), asset_url(arena, "https://mail.example", &name));
}

/* ---- Searching ---- */

static const json_t *searched(const char *query, struct asset_filter filter, int64_t limit, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 256 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    if (!asset_search(&work, query, &filter, limit, cursor, &json, &err)) {
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, "cursor");
        return NULL;
    }
    const json_t *answer;
    assert_ok(json_read(arena, buf_text(out), out->size, (struct json_bounds){ .max_bytes = out->size }, &answer, &err), &err);
    return answer;
}

/* The widths of the found images, which are their numbers here. */
static const char *numbers(const char *query)
{
    const json_t *answer = searched(query, (struct asset_filter){ .type = NULL }, 100, NULL);
    const char *all = "";
    for (size_t i = 0; width_at(answer, i) >= 0; i++)
        all = arena_printf(arena, "%s%lld ", all, (long long)width_at(answer, i));
    return all;
}

static void keep_described(int64_t number, struct asset texts)
{
    struct error err;
    struct asset asset = asset_of(arena_printf(arena, "picture %lld", (long long)number), 10);
    asset.width = number;
    asset.alt = texts.alt;
    asset.description = texts.description;
    asset.heading = texts.heading;
    asset.page_title = texts.page_title;
    asset.source_url = texts.source_url;
    asset.colours = texts.colours;
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
}

/* what is known of an image is searched, the alternative text before the text beside it, and that before the page. */
static void test_words_of_images(void **state)
{
    (void)state;
    run_sql("delete from assets");
    keep_described(1, (struct asset){ .alt = "Crème brûlée in a bowl" });
    keep_described(2, (struct asset){ .description = "A bowl of cherries" });
    keep_described(3, (struct asset){ .heading = "Bowls", .page_title = "Straßenküche" });
    keep_described(4, (struct asset){ .source_url = "https://x.example/img/wooden-spoon%20small.jpg?v=7" });
    keep_described(5, (struct asset){ .colours = "#b01e1e,#ffffff" });
    keep_described(6, (struct asset){ .alt = "" });
    assert_string_equal(numbers("bowl"), "1 2 3 ");
    assert_string_equal(numbers("CREME BRULEE"), "1 ");
    assert_string_equal(numbers("strassenkuche"), "3 ");
    assert_string_equal(numbers("Straßenküche"), "3 ");
    assert_string_equal(numbers("spoons"), "4 ");
    assert_string_equal(numbers("small wooden thing"), "4 ");
    assert_string_equal(numbers("jpg"), ""); /* the kind of file is not a word of the image */
    assert_string_equal(numbers("rot"), "5 ");
    assert_string_equal(numbers("white"), "5 ");
    assert_string_equal(numbers("cherry bowl"), "2 1 3 ");  /* the rarer word counts more */
    assert_string_equal(numbers("chery bowl"), "2 1 3 "); /* a wrong spelling */
    assert_string_equal(numbers("brülee"), "1 ");
    assert_string_equal(numbers("xylophone"), "");
    assert_string_equal(numbers("🦊"), "");
    assert_int_equal(number_of("select count(*) from assets where alt = ''"), 0);
}

static void test_names_of_colours(void **state)
{
    (void)state;
    static const struct {
        const char *colour;
        const char *name;
    } names[] = {
        { "#000000", "black" },     { "#ffffff", "white" },  { "#808080", "grey" },  { "#e02020", "red" },
        { "#ff8c00", "orange" },    { "#ffd700", "yellow" }, { "#2e8b57", "green" }, { "#1e5fc8", "blue" },
        { "#20b2aa", "turquoise" }, { "#7030a0", "purple" }, { "#ff69b4", "pink" },  { "#6b4226", "brown" },
        { "#0a1f44", "blue" },      { "#ffc0cb", "pink" },   { "#8b0000", "red" },   { "#3cb043", "green" },
        { "#f5f5f5", "white" },     { "#1a1a1a", "black" },  { "#c0c0c0", "grey" },  { "#ffff00", "yellow" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        run_sql("delete from assets");
        keep_described(1, (struct asset){ .colours = names[i].colour });
        if (strcmp(numbers(names[i].name), "1 ") != 0)
            fail_msg("%s is not %s", names[i].colour, names[i].name);
    }
    run_sql("delete from assets");
    keep_described(1, (struct asset){ .colours = "no colour" });
    assert_string_equal(numbers("no colour"), "");
}

/* An image that is recorded again keeps its texts, and gets those that it has not had. */
static void test_texts_are_added_later(void **state)
{
    (void)state;
    run_sql("delete from assets");
    keep_described(1, (struct asset){ .source_url = "https://x.example/a.png" });
    assert_string_equal(numbers("harbour"), "");
    keep_described(1, (struct asset){ .alt = "The harbour" });
    keep_described(1, (struct asset){ .alt = "Another text" });
    assert_string_equal(numbers("harbour"), "1 ");
    assert_int_equal(number_of("select count(*) from assets where alt = 'The harbour'"), 1);
}

/* the pages of a search have each image once, and none that was added later. */
static void test_pages_of_a_search(void **state)
{
    (void)state;
    run_sql("delete from assets");
    for (int64_t i = 1; i <= 5; i++)
        keep_described(i, (struct asset){ .alt = "A barn" });
    struct asset_filter all = { .type = NULL };
    const json_t *page = searched("barn", all, 2, NULL);
    assert_int_equal(width_at(page, 0), 5);
    assert_int_equal(width_at(page, 1), 4);
    keep_described(6, (struct asset){ .alt = "A barn" });
    page = searched("barn", all, 2, cursor_of(page));
    assert_int_equal(width_at(page, 0), 3);
    assert_int_equal(width_at(page, 1), 2);
    const char *last = cursor_of(page);
    page = searched("barn", all, 2, last);
    assert_int_equal(width_at(page, 0), 1);
    assert_int_equal(width_at(page, 1), -1);
    assert_null(cursor_of(page));
    assert_null(searched("a barn", all, 2, last));
    assert_null(searched("barn", (struct asset_filter){ .kind = "brand" }, 2, last));
    assert_null(searched("barn", (struct asset_filter){ .oldest_first = true }, 2, last));
}

/* The search reads the rows of its brand by an index, however many other brands have. */
static void test_a_search_reads_one_brand(void **state)
{
    (void)state;
    run_sql("delete from assets;"
            "insert into brands (organization_id, name, status, created_at, updated_at)"
            " select %lld, 'Many', 'completed', now(), now() from generate_series(1, 20);"
            "insert into assets (brand_id, hash, type, bytes, width, height, frames, words, created_at)"
            " select b.id, sha256((b.id * 1000 + n)::text::bytea), 'png', 9, 1, 1, 1, 'barn:1A', now()"
            "   from brands b, generate_series(1, 100) n where b.name = 'Many';"
            "analyze assets",
            (long long)work.organization_id);
    keep_described(7, (struct asset){ .alt = "A barn" });
    assert_string_equal(numbers("barn"), "7 ");
    run_sql("create temp table plan (line text);"
            "do $$ declare line text; begin"
            " for line in execute 'explain (costs off) select id from assets where brand_id = %lld and id <= 1000000000"
            " and words @@ ''barn''::tsquery' loop insert into plan values (line); end loop; end $$",
            (long long)work.brand_id);
    assert_int_equal(number_of("select count(*) from plan where line like '%Index Cond%brand_id = %'"), 1);
    assert_int_equal(number_of("select count(*) from plan where line like '%Seq Scan%'"), 0);
    run_sql("drop table plan; delete from assets; delete from brands where name = 'Many'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_brand_notes_an_image_once),
        TEST(test_a_generated_image_joins_the_library),
        TEST(test_brands_are_apart),
        TEST(test_address_of_a_copy),
        TEST(test_browsing),
        TEST(test_addresses_of_images),
        TEST(test_words_of_images),
        TEST(test_names_of_colours),
        TEST(test_texts_are_added_later),
        TEST(test_pages_of_a_search),
        TEST(test_a_search_reads_one_brand),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
