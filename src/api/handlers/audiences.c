#include "engine/audiences/audiences.h"

#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

/* Replies with the changed audience. */
static bool reply_parts(struct op_context *ctx, const struct audience_row *audience, struct audience_parts parts,
                        struct reply *reply)
{
    op_context_subject(ctx, work_id(&ctx->work, ID_AUDIENCE, audience->id));
    parts.build = true;
    audience_write(&ctx->work, audience, parts, &reply->json);
    return true;
}

static bool reply_audience(struct op_context *ctx, const struct audience_row *audience, struct opt_int count, struct reply *reply)
{
    return reply_parts(ctx, audience, (struct audience_parts){ .count = count }, reply);
}

static bool enqueue_build(struct op_context *ctx, struct audience_row *audience, struct reply *reply, struct error *err)
{
    struct build_audience_payload payload = { .audience_id = audience->id };
    if (!op_context_enqueue(ctx, reply, build_audience_job(ctx->work.arena, &payload), ctx->work.now_us, err))
        return false;
    struct audience_set_job_params params = { .brand_id = ctx->work.brand_id, .id = audience->id, .job_id = reply->job_id };
    audience->build_job = (struct opt_int){ .set = true, .value = reply->job_id };
    return sql_audience_set_job(ctx->work.conn, ctx->work.arena, &params, NULL, err);
}

bool op_audiences_list(struct op_context *ctx, const struct audiences_list_args *args, struct reply *reply, struct error *err)
{
    return audience_list(&ctx->work, (args->include & AUDIENCE_INCLUDE_COUNT) != 0, (args->include & AUDIENCE_INCLUDE_BUILD) != 0,
                         args->limit, args->cursor, &reply->json, err);
}

bool op_audiences_get(struct op_context *ctx, const struct audiences_get_args *args, struct reply *reply, struct error *err)
{
    struct audience_row *audience;
    struct opt_int count;
    bool counted = (args->include & AUDIENCE_INCLUDE_COUNT) != 0;
    if (!audience_get(&ctx->work, args->audience_id, counted, &audience, &count, err))
        return false;
    struct audience_parts parts = { .count = count, .build = (args->include & AUDIENCE_INCLUDE_BUILD) != 0 };
    audience_write(&ctx->work, audience, parts, &reply->json);
    return true;
}

bool op_audiences_create(struct op_context *ctx, const struct audiences_create_args *args, struct reply *reply, struct error *err)
{
    struct audience_row *audience;
    struct audience_parts parts;
    return audience_create(&ctx->work, args->name, args->filters, &audience, &parts, err) &&
           reply_parts(ctx, audience, parts, reply);
}

bool op_audiences_update(struct op_context *ctx, const struct audiences_update_args *args, struct reply *reply, struct error *err)
{
    struct audience_row *audience;
    struct opt_int count;
    return audience_update(&ctx->work, args->audience_id, args->name, args->filters, &audience, &count, err) &&
           reply_audience(ctx, audience, count, reply);
}

bool op_audiences_delete(struct op_context *ctx, const struct audiences_delete_args *args, struct reply *reply, struct error *err)
{
    bool deleted;
    int64_t id = id_decode(&ctx->work.engine->ids, ID_AUDIENCE, args->audience_id);
    if (!op_context_check_id(ctx, ID_AUDIENCE, "audienceId", args->audience_id, ERR_AUDIENCE_NOT_FOUND, err) ||
        !audience_delete(&ctx->work, id, &deleted, err))
        return false;
    if (deleted)
        op_context_subject(ctx, args->audience_id);
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "audienceId", args->audience_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    return true;
}

bool op_audiences_duplicate(struct op_context *ctx, const struct audiences_duplicate_args *args, struct reply *reply,
                            struct error *err)
{
    struct audience_row *audience;
    struct opt_int count;
    return audience_duplicate(&ctx->work, args->audience_id, args->name, &audience, &count, err) &&
           (!audience_needs_build(audience) || enqueue_build(ctx, audience, reply, err)) &&
           reply_audience(ctx, audience, count, reply);
}

static bool create_cohort(struct op_context *ctx, const struct audience_selection *selection, struct reply *reply,
                          struct error *err)
{
    struct audience_row *audience;
    return audience_create_cohort(&ctx->work, selection, &audience, err) && enqueue_build(ctx, audience, reply, err) &&
           reply_audience(ctx, audience, (struct opt_int){ .set = false }, reply);
}

bool op_audiences_create_from_events(struct op_context *ctx, const struct audiences_create_from_events_args *args,
                                     struct reply *reply, struct error *err)
{
    struct audience_selection selection = {
        .name = args->name,
        .event_types = args->event_types,
        .from_us = args->from,
        .to_us = args->to,
        .send_id = args->send_id,
        .email_id = args->email_id,
        .automation_ids = args->automation_ids,
        .audience_ids = args->audience_ids,
        .recipient = args->recipient,
    };
    return create_cohort(ctx, &selection, reply, err);
}

bool op_audiences_create_from_cohort(struct op_context *ctx, const struct audiences_create_from_cohort_args *args,
                                     struct reply *reply, struct error *err)
{
    const struct event_cohort *cohort = args->cohort;
    struct audience_selection selection = {
        .name = args->name,
        .event_types = cohort->event_types,
        .from_us = cohort->from,
        .to_us = cohort->to,
        .send_id = cohort->send_id,
        .email_id = cohort->email_id,
        .automation_ids = cohort->automation_ids,
        .audience_ids = cohort->audience_ids,
        .recipient = cohort->recipient,
    };
    if (create_cohort(ctx, &selection, reply, err))
        return true;
    if (err->param[0] != '\0')
        error_param_prefix(err, "cohort");
    return false;
}
