/* Gallery: search, pages and JSON, with a gallery of the test in place of the compiled one. It needs no database. */
#include "fixtures/temp_folder.h"

#include "base/json_read.h"
#include "engine/core/page.h"
#include "engine/templates/gallery.h"

#include <string.h>

static const struct gallery_picture picture = { "gallery-1.png", "image/png", "\211PNG", 4 };

const struct gallery_template gallery_templates[] = {
    { .id = "tpl_a",
      .title = "Warm Welcome",
      .category = "welcome",
      .brand = "Fernhill",
      .subject_line = "Hello",
      .preview_text = "Soon",
      .html = "<p>a</p>",
      .text = "a",
      .links_json = "[]",
      .updated_at_us = 1 },
    { .id = "tpl_b", .title = "Cold welcome", .category = "welcome", .html = "<p>b</p>", .text = "b", .links_json = "[]" },
    { .id = "tpl_welcome",
      .title = "Letter",
      .category = "newsletter",
      .brand = "Harbour",
      .picture = &picture,
      .html = "<p>c</p>",
      .text = "c",
      .links_json = "[]" },
    { .id = "tpl_d",
      .title = "Last",
      .category = "general",
      .brand = "fernhill",
      .html = "<p>d</p>",
      .text = "d",
      .links_json = "[]" },
};
const size_t gallery_template_count = 4;

static const struct gallery_step steps[] = {
    { 1, 0, "Hello", NULL, &gallery_templates[0] },
    { 2, 3, "Still there?", "We are", &gallery_templates[3] },
};
const struct gallery_flow gallery_flows[] = {
    { .slug = "one",
      .title = "One",
      .brand = "Fernhill",
      .type = "signup",
      .category = "welcome",
      .steps = steps,
      .step_count = 2 },
    { .slug = "two", .title = "Two", .brand = "Harbour", .steps = steps, .step_count = 1 },
    { .slug = "three", .title = "Three", .brand = "Harbour", .steps = steps, .step_count = 2 },
};
const size_t gallery_flow_count = 3;

static struct engine engine; /* keys of zeros will do */
static struct arena *arena;  /* one per test */
static struct work work;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    work = (struct work){ .engine = &engine, .arena = arena, .now_us = 1000 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct json_writer *writer(struct buf **ret_out)
{
    struct json_writer *json = arena_alloc(arena, sizeof(*json));
    *ret_out = buf_in_arena(arena, 1 << 16);
    json_writer_init(json, *ret_out);
    return json;
}

static const json_t *read_back(const struct buf *out)
{
    struct error err = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = 1 << 16 };
    const json_t *json;
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &json, &err), &err);
    return json;
}

static const json_t *search(const struct gallery_filter *filter, int64_t limit, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out;
    struct json_writer *json = writer(&out);
    assert_ok(gallery_list_templates(&work, filter, GALLERY_HTML, limit, cursor, json, &err), &err);
    return read_back(out);
}

/* The ids (or slugs) of a page in one text. */
static const char *names(const json_t *page, const char *member)
{
    const char *all = "";
    size_t i;
    const json_t *row;
    json_array_foreach (json_for_iteration(json_object_get(page, "data")), i, row)
        all = arena_printf(arena, "%s%s ", all, json_get_text(row, member));
    return all;
}

static const char *found(const char *query, const char *category, const char *brand)
{
    struct gallery_filter filter = { .query = query, .category = category, .brand = brand };
    return names(search(&filter, 100, NULL), "emailId");
}

static const char *cursor_of(const json_t *page)
{
    return json_get_text(json_object_get(page, "pagination"), "cursor");
}

static void test_search(void **state) /* */
{
    (void)state;
    assert_string_equal(found(NULL, NULL, NULL), "tpl_a tpl_b tpl_welcome tpl_d ");
    assert_string_equal(found("WELCOME", NULL, NULL), "tpl_a tpl_b ");
    assert_string_equal(found("arm wel", NULL, NULL), "tpl_a ");
    assert_string_equal(found("tpl_welcome", NULL, NULL), "tpl_welcome "); /* an id is found whole only */
    assert_string_equal(found("tpl_", NULL, NULL), "");
    assert_string_equal(found("TPL_A", NULL, NULL), "");
    assert_string_equal(found(NULL, "welcome", NULL), "tpl_a tpl_b ");
    assert_string_equal(found(NULL, NULL, "FERNHILL"), "tpl_a tpl_d ");
    assert_string_equal(found("l", "welcome", "fernhill"), "tpl_a ");
    assert_string_equal(found("%", NULL, NULL), "");
}

static const json_t *search_words(const struct gallery_filter *filter, int64_t limit, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out;
    struct json_writer *json = writer(&out);
    assert_ok(gallery_list_templates(&work, filter, GALLERY_SUBJECT, limit, cursor, json, &err), &err);
    return read_back(out);
}

static const char *found_by_words(const char *query, const char *category, const char *brand)
{
    struct gallery_filter filter = {
        .query = query, .category = category, .brand = brand, .is_ranked = true, .brand_is_part = true
    };
    return names(search_words(&filter, 100, NULL), "emailId");
}

static void test_search_by_words(void **state)
{
    (void)state;
    assert_string_equal(found_by_words(NULL, NULL, NULL), "tpl_a tpl_b tpl_welcome tpl_d ");
    assert_string_equal(found_by_words("newsletters", NULL, NULL), "tpl_welcome "); /* by its category */
    assert_string_equal(found_by_words("HARBOUR", NULL, NULL), "tpl_welcome ");
    assert_string_equal(found_by_words("soon", NULL, NULL), "tpl_a ");
    assert_string_equal(found_by_words("welcome, warm!", NULL, NULL), "tpl_a tpl_b "); /* the one with both words first */
    assert_string_equal(found_by_words("cold welcome with snow", NULL, NULL), "tpl_b tpl_a ");
    /* The rarer word counts more; equal ones keep the order of the gallery. */
    assert_string_equal(found_by_words("fernhill last", NULL, NULL), "tpl_d tpl_a ");
    assert_string_equal(found_by_words("onboarding", NULL, NULL), "tpl_a tpl_b "); /* a concept */
    assert_string_equal(found_by_words("harbuor", NULL, NULL), "tpl_welcome ");    /* a wrong spelling */
    assert_string_equal(found_by_words("snow", NULL, NULL), "");
    assert_string_equal(found_by_words(" ?", NULL, NULL), "");
    assert_string_equal(found_by_words("tpl_welcome", NULL, NULL), "tpl_welcome ");
    assert_string_equal(found_by_words(NULL, "welcome", "fern"), "tpl_a ");
}

static void test_pages_of_a_search_by_words(void **state)
{
    (void)state;
    struct gallery_filter filter = { .query = "welcome", .is_ranked = true };
    const json_t *first = search_words(&filter, 1, NULL);
    assert_string_equal(names(first, "emailId"), "tpl_a ");
    assert_string_equal(names(search_words(&filter, 1, cursor_of(first)), "emailId"), "tpl_b ");
    struct gallery_filter other = { .query = "cold", .is_ranked = true };
    struct error err = { .code = ERR_NONE };
    struct buf *out;
    struct json_writer *json = writer(&out);
    assert_false(gallery_list_templates(&work, &other, GALLERY_SUBJECT, 1, cursor_of(first), json, &err));
    assert_string_equal(err.param, "cursor");
}

static void test_pages_of_a_search(void **state) /* */
{
    (void)state;
    struct gallery_filter filter = { .brand = "fernhill" };
    const json_t *first = search(&filter, 1, NULL);
    assert_string_equal(names(first, "emailId"), "tpl_a ");
    const json_t *second = search(&filter, 1, cursor_of(first));
    assert_string_equal(names(second, "emailId"), "tpl_d ");
    assert_null(cursor_of(second));
    assert_null(cursor_of(search(&filter, 2, NULL)));

    struct gallery_filter all = { .query = NULL };
    assert_string_equal(names(search(&all, 3, cursor_of(search(&all, 2, NULL))), "emailId"), "tpl_welcome tpl_d ");
    struct error err = { .code = ERR_NONE };
    struct buf *out;
    struct json_writer *json = writer(&out);
    assert_false(gallery_list_templates(&work, &all, GALLERY_HTML, 1, cursor_of(first), json, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "cursor");
}

static const json_t *written(const struct gallery_template *template, unsigned parts)
{
    struct buf *out;
    struct json_writer *json = writer(&out);
    gallery_write_template(&work, template, parts, json);
    return read_back(out);
}

static void test_what_a_template_says(void **state) /* */
{
    (void)state;
    const json_t *whole = written(&gallery_templates[0], GALLERY_SUBJECT | GALLERY_HTML);
    assert_string_equal(json_canonical(arena, whole),
                        "{\"brand\":\"Fernhill\",\"category\":\"welcome\",\"emailId\":\"tpl_a\",\"html\":\"<p>a</p>\","
                        "\"previewText\":\"Soon\",\"subjectLine\":\"Hello\",\"title\":\"Warm Welcome\","
                        "\"updatedAt\":\"1970-01-01T00:00:00.000Z\"}");
    assert_null(json_object_get(written(&gallery_templates[0], 0), "html"));
    assert_string_equal(json_get_text(written(&gallery_templates[1], GALLERY_TEXT), "text"), "b");
    assert_null(json_object_get(written(&gallery_templates[2], 0), "previewImage")); /* without a public URL */
    engine.public_url = "https://mail.example.com";
    assert_string_equal(json_get_text(written(&gallery_templates[2], 0), "previewImage"),
                        "https://mail.example.com/assets/gallery-1.png");
    assert_null(json_object_get(written(&gallery_templates[0], 0), "previewImage"));
    engine.public_url = NULL;
    assert_ptr_equal(gallery_find_picture("gallery-1.png"), &picture);
    assert_null(gallery_find_picture("gallery-2.png"));
    assert_null(gallery_find_template("tpl_x"));
}

static const json_t *list_flows(int64_t limit, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out;
    struct json_writer *json = writer(&out);
    assert_ok(gallery_list_flows(&work, limit, cursor, json, &err), &err);
    return read_back(out);
}

static void test_sequences(void **state) /* */
{
    (void)state;
    const json_t *first = list_flows(2, NULL);
    assert_string_equal(names(first, "slug"), "one two ");
    const json_t *second = list_flows(2, cursor_of(first));
    assert_string_equal(names(second, "slug"), "three ");
    assert_null(cursor_of(second));
    assert_null(cursor_of(list_flows(3, NULL)));
    assert_null(gallery_find_flow("four"));

    struct buf *out;
    struct json_writer *json = writer(&out);
    gallery_write_flow(gallery_find_flow("one"), true, json);
    assert_string_equal(json_canonical(arena, read_back(out)),
                        "{\"brand\":{\"name\":\"Fernhill\"},\"category\":\"welcome\",\"emailCount\":2,\"slug\":\"one\",\"steps\":["
                        "{\"dayOffset\":0,\"emailId\":\"tpl_a\",\"html\":\"<p>a</p>\",\"order\":1,\"subject\":\"Hello\"},"
                        "{\"dayOffset\":3,\"emailId\":\"tpl_d\",\"html\":\"<p>d</p>\",\"order\":2,\"previewText\":\"We are\","
                        "\"subject\":\"Still there?\"}],\"title\":\"One\",\"type\":\"signup\"}");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_search),
        TEST(test_search_by_words),
        TEST(test_pages_of_a_search_by_words),
        TEST(test_pages_of_a_search),
        TEST(test_what_a_template_says),
        TEST(test_sequences),
    };
    crypto_start();
    return cmocka_run_group_tests_name("engine: gallery", tests, NULL, NULL);
}
