/* The images of a page that this installation hosts: large ones take no memory of the job. An image that a request has no room for
 * is left out. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"
#include "fixtures/image_program.h"
#include "fixtures/sidecar_bench.h"

#include "base/guard.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "engine/assets/assets.h"
#include "engine/ledger/ledger.h"
#include "jobs/types/page_files.h"

enum { PAGE_CHARS = 2000000, IMAGE_BYTES = 3 * 1000 * 1000 };
enum { LARGE_COUNT = 5, LARGE_BYTES = 13 * 1000 * 1000, JOB_BYTES = 16 * 1000 * 1000, PAGE_BYTES = 5 * 1000 * 1000, WIDTH = 600 };

static const char public_url[] = "https://mail.example";
static const unsigned char png[] = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x07\0\0\0\x05\x08\0\0\0\0\0\0\0\0\0\0\0\0IDAT\0\0\0";

struct collection {
    struct job job;
    struct image_checker *checker;
    struct page_files_request request;
    struct page_files files;
};

/* The address of a stored PNG of this size; its last byte tells it from others. */
static const char *stored_image(struct asset_store *store, size_t size, unsigned char last)
{
    struct error err;
    unsigned char hash[SECRET_HASH_BYTES];
    unsigned char *bytes = arena_alloc(arena, size);
    memcpy(bytes, png, sizeof(png));
    bytes[size - 1] = last;
    sha256(bytes, size, hash);
    struct asset_name name = asset_name_of(hash, ASSET_PNG);
    assert_ok(asset_put(store, &name, bytes, size, &err), &err);
    return asset_url(arena, public_url, &name);
}

static bool collect(void *context, struct error *err)
{
    struct collection *collection = context;
    return page_files_collect(&collection->job, collection->checker, &collection->request, &collection->files, err);
}

static size_t members_of(const char *json_text)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_ok(json_read(arena, json_text, strlen(json_text), (struct json_bounds){ .max_bytes = PAGE_BYTES }, &json, &err), &err);
    return json_object_size(json);
}

/* The fifth large image is not read, and so has no facts. */
static void test_large_images_are_taken_one_at_a_time(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    const char *urls[LARGE_COUNT + 1];
    struct asset_store *store = asset_folder_new(folder);
    ARENA_SCOPE of_job = arena_new(JOB_BYTES);
    IMAGE_CHECKER_SCOPE checker = image_checker_new(image_program_path());
    urls[0] = stored_image(store, 1000, 1);
    for (unsigned char i = 1; i <= LARGE_COUNT; i++)
        urls[i] = stored_image(store, LARGE_BYTES, i);
    struct job_services services = { .assets = store };
    struct collection collection = {
        .job = { .work = work, .services = &services },
        .checker = checker,
        .request = { .urls = { urls, ARRAY_COUNT(urls) }, .public_url = public_url, .width = WIDTH, .max_bytes = PAGE_BYTES },
    };
    collection.job.work.arena = of_job;
    assert_ok(guard_run(collect, &collection, "job", &err), &err);
    assert_int_equal(collection.files.count, 1);
    assert_int_equal(members_of(collection.files.json), 1);
    assert_int_equal(members_of(collection.files.facts), LARGE_COUNT);
    assert_int_equal(collection.files.notes.count, LARGE_COUNT);
    for (size_t i = 0; i < LARGE_COUNT; i++)
        assert_non_null(strstr(collection.files.notes.items[i], "are too large together"));
    asset_store_free(store);
}

/* A renderer whose picture of a page has these bytes, and whose page names this image. */
static struct renderer *renderer_that_draws(struct bytes picture, const char *url)
{
    struct bench bench = { .arena = arena };
    snprintf(bench.folder, sizeof(bench.folder), "%s", folder);
    const char *missing = url != NULL ? arena_printf(arena, "'%s'", url) : "";
    const char *on = arena_printf(arena, "ok(request, { png: '%s', width: 7, height: 5, isCut: false, missing: [%s] });",
                                  base64_encode(arena, picture.data, picture.size), missing);
    return renderer_new(&(struct renderer_config){ .node_path = "node", .script_path = write_script(&bench, on) });
}

/* A page of as many characters as content.htmlToPng takes, each of three bytes. */
static char *large_page(void)
{
    char *html = arena_alloc(arena, 3 * PAGE_CHARS + 1);
    for (size_t i = 0; i < PAGE_CHARS; i++)
        memcpy(html + 3 * i, "\u20AC", 3);
    return html;
}

static char *repeated(char byte, size_t size)
{
    char *text = arena_alloc(arena, size + 1);
    memset(text, byte, size);
    text[size] = '\0';
    return text;
}

/* A page counts as often as the request has it, once, and by what its own escapes take. */
static void test_the_room_beside_a_page(void **state)
{
    (void)state;
    enum { LARGE = 5000000, MOST = RENDERER_MAX_REQUEST_BYTES };
    assert_in_range(page_files_room(repeated('a', LARGE), NULL), MOST - LARGE - 100000, MOST - LARGE);
    assert_int_equal(page_files_room(repeated('"', LARGE), NULL), 0);
    assert_in_range(page_files_room(repeated('"', LARGE / 2), NULL), MOST - LARGE - 100000, MOST - LARGE);
    assert_in_range(page_files_room(repeated('a', LARGE / 2), repeated('a', LARGE / 2)), MOST - LARGE - 100000, MOST - LARGE);
    assert_int_equal(page_files_room("", NULL), PAGE_BYTES);
}

/* the page is drawn without the images that its request has no room for. */
static void test_a_large_page_leaves_images_out(void **state)
{
    (void)state;
    struct error err;
    int64_t job_id;
    struct asset_store *store = asset_folder_new(folder);
    struct renderer *renderer = renderer_that_draws((struct bytes){ png, sizeof(png) }, stored_image(store, IMAGE_BYTES, 1));
    const struct draw_page_payload payload = {
        .html = large_page(), .width = WIDTH, .max_height = WIDTH, .public_url = public_url
    };
    work.engine->public_url = public_url;
    assert_ok(ledger_enqueue(&work, draw_page_job(arena, &payload), work.now_us, NULL, &job_id, &err), &err);
    run_until((struct job_services){ .renderer = renderer, .assets = store, .image_program = image_program_path() }, nothing_to_do,
              0);
    work.engine->public_url = NULL;
    assert_int_equal(number_of("select count(*) from jobs where kind = 'draw_page' and state = 'done'"), 1);
    renderer_free(renderer);
    asset_store_free(store);
}

static int64_t failed_with(const char *kind, const char *param)
{
    return number_of(arena_printf(
        arena, "select count(*) from jobs where kind = '%s' and state = 'failed' and result_error->>'param' = '%s'", kind, param));
}

/* The page of an animation is made of the prompt; its caller has given no html. */
static void test_a_picture_that_cannot_be_used_names_the_argument(void **state)
{
    (void)state;
    struct error err;
    int64_t job_id;
    static const unsigned char nothing[] = "no picture";
    struct asset_store *store = asset_folder_new(folder);
    struct renderer *renderer = renderer_that_draws((struct bytes){ nothing, sizeof(nothing) }, NULL);
    const struct draw_page_payload page = { .html = "<p>Hi", .width = WIDTH, .max_height = WIDTH, .public_url = public_url };
    const struct make_gif_payload animation = { .prompt = "\"Hi\"", .width = WIDTH, .public_url = public_url };
    assert_ok(ledger_enqueue(&work, draw_page_job(arena, &page), work.now_us, NULL, &job_id, &err), &err);
    assert_ok(ledger_enqueue(&work, make_gif_job(arena, &animation), work.now_us, NULL, &job_id, &err), &err);
    run_until((struct job_services){ .renderer = renderer, .assets = store, .image_program = image_program_path() }, nothing_to_do,
              0);
    assert_int_equal(failed_with("draw_page", "html"), 1);
    assert_int_equal(failed_with("make_gif", "prompt"), 1);
    renderer_free(renderer);
    asset_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_large_images_are_taken_one_at_a_time),
        TEST(test_the_room_beside_a_page),
        TEST(test_a_large_page_leaves_images_out),
        TEST(test_a_picture_that_cannot_be_used_names_the_argument),
    };
    return cmocka_run_group_tests_name("jobs: page files", tests, world_begin, world_end);
}
