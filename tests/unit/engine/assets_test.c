/* Rows of a brand's assets: inserted once, counted, and limited. */
#include "fixtures/engine_fixture.h"

#include "engine/assets/asset_search.h"
#include "engine/emails/preview_images.h"

#include <math.h>

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

static int64_t add_brand(const char *name)
{
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " values (%lld, '%s', 'completed', now(), now())",
            (long long)work.organization_id, name);
    return number_of("select max(id) from brands");
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
    struct work other = work;
    other.brand_id = add_brand("Other");
    assert_ok(assets_keep(&other, &asset, 1, &err), &err);
    assert_int_equal(number_of("select count(*) from assets"), 2);
    assert_int_equal(room_left().count, ASSETS_MAX_COUNT - 1);
    run_sql("delete from assets; delete from brands where name = 'Other'");
}

/* the note that the image was about to be stored; notes of other images and of other brands stay. */
static void test_a_kept_image_is_not_spare(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets; delete from spare_pictures");
    struct asset assets[] = { asset_of("one", 100), asset_of("two", 50) };
    for (size_t i = 0; i < ARRAY_COUNT(assets); i++) {
        struct asset_name name = asset_name_of(assets[i].hash, assets[i].type);
        assert_ok(spare_picture_note(&work, name.text, &err), &err);
    }
    struct work other = work;
    other.brand_id = add_brand("Other");
    struct asset_name name = asset_name_of(assets[0].hash, assets[0].type);
    assert_ok(spare_picture_note(&other, name.text, &err), &err);
    assert_ok(assets_keep(&work, &assets[0], 1, &err), &err);
    assert_int_equal(number_of("select count(*) from spare_pictures"), 2);
    assert_ok(assets_keep(&work, assets, ARRAY_COUNT(assets), &err), &err);
    assert_int_equal(number_of("select count(*) from spare_pictures s join brands b on b.id = s.brand_id and b.name = 'Other'"), 1);
    run_sql("delete from assets; delete from spare_pictures; delete from brands where name = 'Other'");
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

enum { VECTOR_DIMENSIONS = 3 };

/* `vector` NULL: by words; otherwise the images have vectors of the model "m". */
static const json_t *searched_with(const float *vector, const char *query, struct asset_filter filter, int64_t limit,
                                   const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 256 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    struct asset_search search = { .query = query, .filter = filter, .limit = limit, .cursor = cursor };
    struct asset_nearest nearest;
    if (!asset_search_begin(&work, &search, &err)) {
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, "cursor");
        return NULL;
    }
    struct asset_scan scan = {
        .model = "m",
        .query = { vector, VECTOR_DIMENSIONS },
        .filter = &search.filter,
        .shape = search.shape,
        .until_image = search.start.set ? search.start.id : INT64_MAX,
        .until_vector = search.until_vector,
    };
    if (vector != NULL)
        assert_ok(asset_vectors_nearest(&work, &scan, &nearest, &err), &err);
    assert_ok(asset_search_write(&work, &search, vector != NULL ? &nearest : NULL, &json, &err), &err);
    const json_t *answer;
    assert_ok(json_read(arena, buf_text(out), out->size, (struct json_bounds){ .max_bytes = out->size }, &answer, &err), &err);
    return answer;
}

static const json_t *searched(const char *query, struct asset_filter filter, int64_t limit, const char *cursor)
{
    return searched_with(NULL, query, filter, limit, cursor);
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
    asset.kind = texts.kind;
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
    assert_string_equal(numbers("cherry bowl"), "2 1 3 "); /* the rarer word counts more */
    assert_string_equal(numbers("chery bowl"), "2 1 3 ");  /* a wrong spelling */
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

/* Images without colours wait for the job of the brand; their colours are searched from then on, once. */
static void test_colours_are_taken_later(void **state)
{
    (void)state;
    struct error err;
    struct assets_without_colours_row *rows;
    size_t count;
    run_sql("delete from jobs; delete from assets");
    keep_described(1, (struct asset){ .colours = "#1e5fc8" });
    assert_int_equal(number_of("select count(*) from jobs where kind = 'colour_images'"), 0);
    keep_described(2, (struct asset){ .alt = "A barn" });
    keep_described(3, (struct asset){ .alt = "A shed" });
    assert_int_equal(number_of("select count(*) from jobs where kind = 'colour_images' and pool = 'work'"), 1);
    assert_ok(assets_without_colours(&work, 10, &rows, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_ok(asset_colours_save(&work, rows[1].id, "#c81428,#faf0d2", &err), &err);
    assert_ok(asset_colours_save(&work, rows[1].id, "#1e5fc8", &err), &err);
    assert_ok(asset_colours_save(&work, rows[0].id, "", &err), &err);
    assert_string_equal(numbers("rouge"), "3 ");
    assert_string_equal(numbers("shed"), "3 ");
    assert_string_equal(numbers("blue"), "1 ");
    assert_int_equal(number_of("select count(*) from assets where colours = '{}'"), 1);
    assert_ok(assets_without_colours(&work, 10, &rows, &count, &err), &err);
    assert_int_equal(count, 0);
    run_sql("delete from jobs");
}

/* ---- Searching by meaning ---- */

static double width_of(int64_t id)
{
    struct error err;
    struct assets_of_ids_params params = { .brand_id = work.brand_id, .ids = { &id, 1 } };
    struct asset_row *row;
    size_t count;
    assert_ok(sql_assets_of_ids(work.conn, arena, &params, &row, &count, &err), &err);
    assert_int_equal(count, 1);
    return (double)row->width;
}

/* Gives each image that needs one a vector: its width on one axis and 3 on the other, of length one. */
static int64_t keep_vectors(size_t dimensions)
{
    struct error err;
    struct asset_vectors_missing_row *rows;
    size_t count;
    assert_ok(asset_vectors_missing(&work, "m", INT64_MAX, &rows, &count, &err), &err);
    if (count == 0)
        return 0;
    float *vectors = arena_array(arena, count * dimensions + 1, sizeof(*vectors));
    for (size_t i = 0; i < count; i++) {
        double width = width_of(rows[i].id);
        double length = sqrt(width * width + 9);
        vectors[i * dimensions] = (float)(width / length);
        vectors[i * dimensions + 1] = (float)(3 / length);
    }
    assert_ok(asset_vectors_save(&work, "m", rows, count, (struct asset_vector){ vectors, dimensions }, &err), &err);
    return (int64_t)count;
}

static const char *numbers_near(const float *vector, const char *query, struct asset_filter filter)
{
    const json_t *answer = searched_with(vector, query, filter, 100, NULL);
    const char *all = "";
    for (size_t i = 0; width_at(answer, i) >= 0; i++)
        all = arena_printf(arena, "%s%lld ", all, (long long)width_at(answer, i));
    return all;
}

static const float along_width[VECTOR_DIMENSIONS] = { 1, 0, 0 };
static const float along_other[VECTOR_DIMENSIONS] = { 0, 1, 0 };
static const float along_none[VECTOR_DIMENSIONS] = { 0, 0, 1 };

/* The nearest images come first; a word lifts an image; images far away and those that have no texts are not found. */
static void test_images_by_meaning(void **state)
{
    (void)state;
    struct asset_filter all = { .type = NULL };
    run_sql("delete from asset_vectors; delete from assets");
    keep_described(1, (struct asset){ .alt = "A barn" });
    keep_described(3, (struct asset){ .description = "A shed" });
    keep_described(9, (struct asset){ .heading = "Stables", .kind = "logo" });
    keep_described(20, (struct asset){ .source_url = "https://x.example/a.png" });
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 3);
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 0);
    assert_string_equal(numbers_near(along_width, "farm buildings", all), "9 "); /* 3 has 0.71 of it, 9 has 0.95 */
    assert_string_equal(numbers_near(along_other, "farm buildings", all), "1 ");
    assert_string_equal(numbers_near(along_none, "farm buildings", all), "");
    assert_string_equal(numbers_near(along_width, "shed", all), "9 3 "); /* of equal places the newer image comes first */
    assert_string_equal(numbers_near(along_other, "a barn or shed", all), "1 3 ");
    assert_string_equal(numbers_near(along_width, "🦊", (struct asset_filter){ .kind = "brand" }), "3 ");
    assert_string_equal(numbers_near(along_width, "farm", (struct asset_filter){ .aspect_ratio = "1:1" }), "");
    assert_string_equal(numbers_near(NULL, "farm buildings", all), "");
}

/* Other texts and vectors of another size are vectors that are missing. */
static void test_vectors_are_made_again(void **state)
{
    (void)state;
    run_sql("delete from asset_vectors; delete from assets");
    for (int64_t i = 1; i <= 40; i++)
        keep_described(i, (struct asset){ .alt = "A barn" });
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 32);
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 8);
    keep_described(7, (struct asset){ .description = "With a roof of copper" });
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 1);
    assert_int_equal(number_of("select count(distinct id) from asset_vectors"), 40);
    keep_described(41, (struct asset){ .alt = "A shed" });
    assert_int_equal(keep_vectors(2), 1);
    assert_int_equal(number_of("select count(*) from asset_vectors"), 1);
    assert_int_equal(number_of("select count(*) from asset_vectors where octet_length(vector) = 8"), 1);
    assert_int_equal(keep_vectors(2), 32);
    assert_string_equal(numbers_near(along_width, "xylophone", (struct asset_filter){ .type = NULL }), "");
}

/* The rows of vectors and of their indexes that were read. */
static int64_t vectors_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of("select (select (sum(idx_tup_read) + sum(idx_tup_fetch))::bigint from pg_stat_user_indexes"
                     "         where relname = 'asset_vectors')"
                     " + (select seq_tup_read from pg_stat_user_tables where relname = 'asset_vectors')");
}

/* The cost of a step does not grow with the vectors that the brand has. */
static void test_a_step_reads_few_vectors(void **state)
{
    (void)state;
    run_sql("delete from asset_vectors; delete from assets");
    run_sql("insert into asset_vectors (brand_id, model, hash, text_hash, vector)"
            " select %lld, 'm', sha256(n::text::bytea), '', '\\x000000000000000000000000' from generate_series(1, 3000) as n",
            (long long)work.brand_id);
    keep_described(1, (struct asset){ .alt = "A barn" });
    int64_t before = vectors_read();
    assert_int_equal(keep_vectors(VECTOR_DIMENSIONS), 1);
    assert_in_range(vectors_read() - before, 0, 20);
    assert_int_equal(number_of("select count(*) from asset_vectors"), 3001);
    run_sql("delete from asset_vectors");
}

/* Images and vectors that are added after the first page are on no following page. */
static void test_pages_by_meaning(void **state)
{
    (void)state;
    struct asset_filter all = { .type = NULL };
    run_sql("delete from asset_vectors; delete from assets");
    for (int64_t i = 11; i <= 15; i++)
        keep_described(i, (struct asset){ .alt = "A barn" });
    keep_vectors(VECTOR_DIMENSIONS);
    keep_described(30, (struct asset){ .alt = "A shed" });
    const json_t *page = searched_with(along_width, "farm", all, 2, NULL);
    assert_int_equal(width_at(page, 0), 15);
    assert_int_equal(width_at(page, 1), 14);
    keep_described(31, (struct asset){ .alt = "A shed" });
    keep_vectors(VECTOR_DIMENSIONS);
    page = searched_with(along_width, "farm", all, 2, cursor_of(page));
    assert_int_equal(width_at(page, 0), 13);
    assert_int_equal(width_at(page, 1), 12);
    page = searched_with(along_width, "farm", all, 2, cursor_of(page));
    assert_int_equal(width_at(page, 0), 11);
    assert_null(cursor_of(page));

    /* Without its vector, a following page is refused; it is not one by words. */
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    page = searched_with(along_width, "farm", all, 2, NULL);
    struct asset_search search = { .query = "farm", .limit = 2, .cursor = cursor_of(page) };
    assert_ok(asset_search_begin(&work, &search, &err), &err);
    assert_false(search.is_by_words);
    assert_false(asset_search_write(&work, &search, NULL, &json, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

/* The vectors of the latest queries are kept, those of one brand and model apart. */
static void test_vectors_of_queries(void **state)
{
    (void)state;
    struct error err;
    struct asset_vector kept;
    struct asset_vector vector = { along_other, VECTOR_DIMENSIONS };
    run_sql("insert into query_vectors (brand_id, model, hash, vector, made_at)"
            " select %lld, 'm', sha256(convert_to(n::text, 'UTF8')), '\\x00', to_timestamp(n) from generate_series(1, 600) n",
            (long long)work.brand_id);
    assert_ok(query_vector_save(&work, "m", "a barn", vector, &err), &err);
    assert_ok(query_vector_save(&work, "m", "a barn", vector, &err), &err);
    assert_in_range(number_of("select count(*) from query_vectors"), 499, 500);
    assert_int_equal(number_of("select count(*) from query_vectors where made_at = to_timestamp(600)"), 1);
    assert_ok(query_vector_find(&work, "m", "a barn", &kept, &err), &err);
    assert_int_equal(kept.dimensions, VECTOR_DIMENSIONS);
    assert_memory_equal(kept.numbers, along_other, sizeof(along_other));
    assert_ok(query_vector_find(&work, "n", "a barn", &kept, &err), &err);
    assert_null(kept.numbers);
}

/* A brand has one job that makes vectors, and none without a model. */
static void test_images_enqueue_the_job_of_vectors(void **state)
{
    (void)state;
    run_sql("delete from assets");
    keep_described(1, (struct asset){ .alt = "A barn" });
    assert_int_equal(number_of("select count(*) from jobs where kind = 'embed_images'"), 0);
    work.engine->has_embeddings = true;
    keep_described(2, (struct asset){ .alt = "A barn" });
    keep_described(3, (struct asset){ .alt = "A barn" });
    work.engine->has_embeddings = false;
    assert_int_equal(number_of("select count(*) from jobs where kind = 'embed_images' and pool = 'network'"), 1);
    run_sql("delete from jobs");
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

static int64_t images_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of("select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'assets'");
}

/* Twelve words that no image has cost no more passes over the library than one of them. Kept rows would hide a further pass. */
static void test_a_search_reads_the_library_a_few_times(void **state)
{
    (void)state;
    run_sql("delete from assets;"
            "insert into assets (brand_id, hash, type, bytes, width, height, frames, words, created_at)"
            " select %lld, sha256(n::text::bytea), 'png', 9, 1, 1, 1, 'shed:1A', now() from generate_series(1, 300) n;"
            "analyze assets; set enable_material = off; set plan_cache_mode = force_custom_plan",
            (long long)work.brand_id);
    int64_t before = images_read();
    assert_string_equal(numbers("barn farm field stable meadow orchard river bridge tower castle harbour island"), "");
    assert_in_range(images_read() - before, 300, 4 * 300 + 10);
    run_sql("delete from assets; reset enable_material; reset plan_cache_mode");
}

/* A word that the newest images do not have is found in older ones; only its wrong spelling is not corrected. */
static void test_wrong_spellings_in_a_large_library(void **state)
{
    (void)state;
    run_sql("delete from assets");
    keep_described(1, (struct asset){ .alt = "A xylophone" });
    assert_string_equal(numbers("xylofhone"), "1 ");
    run_sql("insert into assets (brand_id, hash, type, bytes, width, height, frames, words, created_at)"
            " select %lld, sha256(n::text::bytea), 'png', 9, 1, 1, 1, 'shed:1A', now() from generate_series(1, 2000) n",
            (long long)work.brand_id);
    assert_string_equal(numbers("xylophone"), "1 ");
    assert_string_equal(numbers("xylophone barn"), "1 ");
    assert_string_equal(numbers("xylofhone"), "");
    keep_described(2, (struct asset){ .alt = "A xylophone" });
    assert_string_equal(numbers("xylofhone"), "2 1 ");
    run_sql("delete from assets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_brand_notes_an_image_once),
        TEST(test_a_generated_image_joins_the_library),
        TEST(test_brands_are_apart),
        TEST(test_a_kept_image_is_not_spare),
        TEST(test_address_of_a_copy),
        TEST(test_browsing),
        TEST(test_addresses_of_images),
        TEST(test_words_of_images),
        TEST(test_names_of_colours),
        TEST(test_texts_are_added_later),
        TEST(test_pages_of_a_search),
        TEST(test_colours_are_taken_later),
        TEST(test_images_by_meaning),
        TEST(test_vectors_are_made_again),
        TEST(test_a_step_reads_few_vectors),
        TEST(test_pages_by_meaning),
        TEST(test_vectors_of_queries),
        TEST(test_images_enqueue_the_job_of_vectors),
        TEST(test_a_search_reads_one_brand),
        TEST(test_a_search_reads_the_library_a_few_times),
        TEST(test_wrong_spellings_in_a_large_library),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
