/* Inbox placement tests: the folders in which the mail of a design arrives. */
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/placement/placement.h"

bool op_placement_tests_create(struct op_context *ctx, const struct placement_tests_create_args *args, struct reply *reply,
                               struct error *err)
{
    const struct placement_request request = {
        .email_id = args->email_id,
        .version_id = args->email_version_id,
        .domain_id = args->domain_id,
        .subject = args->subject,
        .preview_text = args->preview_text,
        .providers = args->providers,
    };
    struct place_test_payload payload = { 0 };
    if (!placement_create(&ctx->work, &request, &payload.test_id, err) ||
        !op_context_enqueue(ctx, reply, place_test_job(ctx->work.arena, &payload), ctx->work.now_us, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_TEST, payload.test_id));
    return placement_set_job(&ctx->work, args->email_id, payload.test_id, reply->job_id, &reply->json, err);
}

bool op_placement_tests_get(struct op_context *ctx, const struct placement_tests_get_args *args, struct reply *reply,
                            struct error *err)
{
    return placement_write(&ctx->work, args->email_id, args->test_id, &reply->json, err);
}

bool op_placement_tests_list(struct op_context *ctx, const struct placement_tests_list_args *args, struct reply *reply,
                             struct error *err)
{
    return placement_list(&ctx->work, args->email_id, args->limit, args->cursor, &reply->json, err);
}
