#include "engine/reports/receive.h"

#include "api/op_context.h"
#include "catalogue/operations.h"

static const enum report_kind kinds[] = {
    [MAIL_REPORTS_RECEIVE_KIND_ABSENT] = REPORT_OTHER,
    [MAIL_REPORTS_RECEIVE_KIND_BOUNCE] = REPORT_BOUNCE,
    [MAIL_REPORTS_RECEIVE_KIND_DELAY] = REPORT_DELAY,
    [MAIL_REPORTS_RECEIVE_KIND_COMPLAINT] = REPORT_COMPLAINT,
    [MAIL_REPORTS_RECEIVE_KIND_UNSUBSCRIBE] = REPORT_UNSUBSCRIBE,
    [MAIL_REPORTS_RECEIVE_KIND_AUTO_REPLY] = REPORT_AUTO_REPLY,
    [MAIL_REPORTS_RECEIVE_KIND_OTHER] = REPORT_OTHER,
};

/* A bounce without a class suppresses nobody. */
static const enum bounce_class classes[] = {
    [MAIL_REPORTS_RECEIVE_BOUNCE_ABSENT] = BOUNCE_REFUSED,
    [MAIL_REPORTS_RECEIVE_BOUNCE_HARD] = BOUNCE_HARD,
    [MAIL_REPORTS_RECEIVE_BOUNCE_MAILBOX_FULL] = BOUNCE_MAILBOX_FULL,
    [MAIL_REPORTS_RECEIVE_BOUNCE_BLOCK] = BOUNCE_BLOCK,
    [MAIL_REPORTS_RECEIVE_BOUNCE_REFUSED] = BOUNCE_REFUSED,
};

/* The sealed address or Message-ID in the report is the credential: only the reported message has it. It names the brand. */
bool op_mail_reports_receive(struct op_context *ctx, const struct mail_reports_receive_args *args, struct reply *reply,
                             struct error *err)
{
    const struct received_report received = {
        .kind = kinds[args->kind],
        .bounce = classes[args->bounce],
        .source = mail_reports_receive_source_names[args->source - 1],
        .return_path = args->return_path,
        .message_ids = args->message_ids,
        .list_unsubscribe = args->list_unsubscribe,
        .recipient = args->recipient,
        .diagnostic = args->diagnostic,
        .excerpt = args->excerpt,
    };
    struct received_outcome outcome;
    if (!report_receive(&ctx->work, &received, &outcome, err))
        return false;
    if (outcome.organization_id != 0) {
        ctx->work.organization_id = outcome.organization_id;
        ctx->work.brand_id = outcome.origin.brand_id;
    }
    if (outcome.origin.send_id != 0)
        op_context_subject(ctx, work_id(&ctx->work, ID_SEND, outcome.origin.send_id));
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "kind", report_kind_name(outcome.kind));
    json_member_text(&reply->json, "outcome", report_outcome_name(outcome.outcome));
    json_object_end(&reply->json);
    return true;
}

const struct operation *const api_mail_report[] = { &operations[OP_MAIL_REPORTS_RECEIVE], NULL };
