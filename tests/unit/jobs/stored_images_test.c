/* Images that a job has stored: the upkeep removes those of a job that failed, and keeps those that a library has. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"
#include "fixtures/image_program.h"
#include "fixtures/sidecar_bench.h"

#include "catalogue/jobs.h"
#include "engine/emails/preview_images.h"
#include "engine/ledger/ledger.h"
#include "jobs/spare_pictures.h"

#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

static const char prepare[] =
    "{ html: '<img src=\"data:1\">', text: '', title: 'A title', previewText: null, links: [], images: [],"
    "  report: { removed: [], warnings: [], htmlBytes: 1 },"
    "  assets: { urls: ['data:1'], embedded: { 'data:1': '" PNG "' } } }";

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from spare_pictures; delete from assets");
    return failed;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

/* A renderer that prepares a mail with an embedded image, and then gives this answer. */
static struct renderer *renderer_that_answers(const char *answer)
{
    struct bench bench = { .arena = arena };
    snprintf(bench.folder, sizeof(bench.folder), "%s", folder);
    const char *on = arena_printf(arena, "if (request.op === 'prepare') ok(request, %s); else reply({ id: request.id, ...%s });",
                                  prepare, answer);
    return renderer_new(&(struct renderer_config){ .node_path = "node", .script_path = write_script(&bench, on) });
}

/* Imports the mail, and runs the upkeep some days later. */
static void import_and_tidy(const char *answer, int64_t days)
{
    struct error err;
    int64_t job_id;
    const struct import_email_payload payload = { .content = "x", .format = "html", .public_url = "https://mail.example" };
    struct renderer *renderer = renderer_that_answers(answer);
    struct asset_store *store = asset_folder_new(folder);
    assert_ok(ledger_enqueue(&work, import_email_job(arena, &payload), work.now_us, NULL, &job_id, &err), &err);
    run_until((struct job_services){ .renderer = renderer, .assets = store, .image_program = image_program_path() }, nothing_to_do,
              0);
    assert_ok(spare_pictures_remove(conn, store, clock_now_us() + days * 86400 * US_PER_S, &err), &err);
    asset_store_free(store);
    renderer_free(renderer);
}

static size_t stored_files(void)
{
    glob_t found = { .gl_pathc = 0 };
    (void)glob(arena_printf(arena, "%s/assets/*/*.png", folder), 0, NULL, &found);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* what a failed import has stored is removed; no row counts it. */
static void test_a_failed_import_leaves_no_image(void **state)
{
    static const char fails[] = "{ ok: false, error: { code: 'EMAIL_IMPORT_FAILED', param: 'source.content', message: 'No.' } }";
    (void)state;
    import_and_tidy(fails, SPARE_PICTURE_DAYS - 1);
    assert_int_equal(number_of("select count(*) from jobs where state = 'failed'"), 1);
    assert_int_equal(number_of("select count(*) from assets"), 0);
    assert_int_equal(stored_files(), 1);
    run_sql("delete from jobs");
    import_and_tidy(fails, SPARE_PICTURE_DAYS + 1);
    assert_int_equal(number_of("select count(*) from spare_pictures"), 0);
    assert_int_equal(stored_files(), 0);
}

/* an image of the library is not noted any more, and stays. */
static void test_an_import_keeps_its_image(void **state)
{
    (void)state;
    import_and_tidy("{ ok: true, result: { html: '<p>Hello</p>' } }", 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'done' and kind = 'import_email'"), 1);
    assert_int_equal(number_of("select count(*) from assets"), 1);
    assert_int_equal(number_of("select count(*) from spare_pictures"), 0);
    assert_int_equal(stored_files(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_import_leaves_no_image),
        TEST(test_an_import_keeps_its_image),
    };
    return cmocka_run_group_tests_name("jobs: stored images", tests, world_begin, world_end);
}
