#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/provider_reports/receive.h"

/* The provider proves itself by the body or a header; the connection names the organization. A message of SNS that needs a fetch is
 * recorded by the job, and the provider waits for it. */
bool op_reports_receive(struct op_context *ctx, const struct reports_receive_args *args, struct reply *reply, struct error *err)
{
    struct report_delivery_counts counts;
    struct report_delivery delivery = {
        .provider = reports_receive_provider_names[args->provider - 1],
        .connection_id = id_decode(&ctx->work.engine->ids, ID_REPORT_SOURCE, args->connection),
        .body = args->content,
        .signature = args->signature,
        .timestamp = args->timestamp,
        .authorization = args->authorization,
    };
    if (!report_delivery_check(&ctx->work, &delivery, err))
        return false;
    ctx->work.organization_id = delivery.organization_id;
    if (delivery.fetch_url != NULL || delivery.sns.type == SNS_SUBSCRIPTION) {
        struct receive_report_payload payload = { .connection_id = delivery.connection_id, .content = args->content };
        return op_context_enqueue(ctx, reply, receive_report_job(ctx->work.arena, &payload), ctx->work.now_us, err);
    }
    if (!report_delivery_apply(&ctx->work, &delivery, &counts, err))
        return false;
    op_context_subject(ctx, args->connection);
    report_delivery_write(&counts, &reply->json);
    return true;
}

const struct operation *const api_reports[] = { &operations[OP_REPORTS_RECEIVE], NULL };
