/* A job of pictures for lists that fails for good puts its design off, so that the other designs of the brand are drawn. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "catalogue/jobs.h"
#include "engine/emails/preview_images.h"
#include "engine/ledger/ledger.h"

/* a design whose drawing ends its worker each time is put off. */
static void test_a_failed_job_puts_its_design_off(void **state)
{
    (void)state;
    struct error err;
    struct undrawn_email next;
    int64_t job_id;
    int64_t first = design_of("<p>One</p>", "One");
    int64_t second = design_of("<p>Two</p>", "Two");
    run_sql("update email_versions set created_at = created_at - interval '1 minute'");
    assert_ok(preview_image_next(&work, &next, &err), &err);
    assert_int_equal(next.id, first);
    assert_ok(ledger_enqueue(&work, draw_preview_images_job(arena, &(struct draw_preview_images_payload){ 0 }), work.now_us, NULL,
                             &job_id, &err),
              &err);
    run_sql("update jobs set attempts = 1000");
    run_until((struct job_services){ .sender = NULL }, nothing_to_do, 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'failed'"), 1);
    assert_int_equal(number_of("select count(*) from emails where preview_tried_at is not null"), 1);
    assert_ok(preview_image_next(&work, &next, &err), &err);
    assert_int_equal(next.id, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_job_puts_its_design_off),
    };
    return cmocka_run_group_tests_name("jobs: preview images", tests, world_begin, world_end);
}
