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
static bool receive_check(struct op_context *ctx, const void *raw_args, void **ret_kept, const char **ret_lock_key,
                          struct error *err)
{
    (void)err;
    const struct mail_reports_receive_args *args = raw_args;
    struct receiving *receiving = arena_alloc(ctx->work.arena, sizeof(*receiving));
    receiving->received = (struct received_report){
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
    report_identify(&ctx->work, receiving);
    *ret_kept = receiving;
    *ret_lock_key = report_lock_key(ctx->work.arena, receiving, ctx->call->request_id);
    return true;
}

static void receive_ask(const struct single_write *writes, size_t count, struct db_batch *batch)
{
    const struct work *work = &writes[0].ctx->work;
    struct report_record **records = arena_array(work->arena, count, sizeof(struct report_record *));
    for (size_t i = 0; i < count; i++)
        records[i] = &((struct receiving *)writes[i].kept)->record;
    report_records_ask(work, records, count, batch);
}

static bool receive_finish(const struct single_write *writes, size_t count, const struct db_batch *batch, struct error *err)
{
    const struct work *work = &writes[0].ctx->work;
    struct receiving **all = arena_array(work->arena, count, sizeof(struct receiving *));
    for (size_t i = 0; i < count; i++)
        all[i] = writes[i].kept;
    return report_receive_all(work, all, count, batch, err);
}

static bool receive_reply(struct op_context *ctx, void *kept, const struct db_batch *batch, struct reply *reply, struct error *err)
{
    (void)batch;
    (void)err;
    const struct report_record *record = &((const struct receiving *)kept)->record;
    if (record->organization_id != 0) {
        ctx->work.organization_id = record->organization_id;
        ctx->work.brand_id = record->report.origin.brand_id;
        op_context_subject(ctx, work_id(&ctx->work, ID_SEND, record->report.origin.send_id));
    }
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "kind", report_kind_name(record->report.kind));
    json_member_text(&reply->json, "outcome", report_outcome_name(record->outcome));
    json_object_end(&reply->json);
    return true;
}

const struct op_single_write op_mail_reports_receive_single = {
    .check = receive_check,
    .ask = receive_ask,
    .finish = receive_finish,
    .reply = receive_reply,
    .locks_common_rows = true,
};

const struct operation *const api_mail_report[] = { &operations[OP_MAIL_REPORTS_RECEIVE], NULL };
