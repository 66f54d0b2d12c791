#include "engine/domains/check.h"

#include "api/handlers/page_rows.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/core/page.h"

bool rows_find_domains(struct op_context *ctx, const char *binding, bool sendable_only, int64_t limit, const char *cursor,
                       struct domain_row **ret_domains, struct db_page *ret_found, struct error *err)
{
    struct page_cursor cursor_at;
    if (!page_cursor_read(&ctx->work, binding, cursor, &cursor_at, err))
        return false;
    struct domain_page_params params = {
        .brand_id = ctx->work.brand_id,
        .sendable_only = sendable_only,
        .after_id = cursor_at.id,
        .limit = limit + 1,
    };
    return sql_domain_page(ctx->work.conn, ctx->work.arena, &params, ret_domains, ret_found, err);
}

bool op_domains_list(struct op_context *ctx, const struct domains_list_args *args, struct reply *reply, struct error *err)
{
    const char *binding = args->sendable_only ? "domains.list sendable" : "domains.list";
    struct domain_row *domains;
    struct db_page found;
    if (!rows_find_domains(ctx, binding, args->sendable_only, args->limit, args->cursor, &domains, &found, err))
        return false;

    struct page page = page_begin(&reply->json, args->limit, found);
    while (page_next_row(&page))
        domain_write(&ctx->work, &domains[page.shown - 1], &reply->json);
    struct page_cursor end = { .id = page.shown > 0 ? domains[page.shown - 1].id : 0 };
    page_end(&page, &ctx->work, binding, end);
    json_object_end(&reply->json);
    return true;
}

static bool reply_domain(struct op_context *ctx, const struct domain_row *domain, struct reply *reply)
{
    op_context_subject(ctx, work_id(&ctx->work, ID_DOMAIN, domain->id));
    domain_write(&ctx->work, domain, &reply->json);
    return true;
}

bool op_domains_create(struct op_context *ctx, const struct domains_create_args *args, struct reply *reply, struct error *err)
{
    struct domain_row *domain;
    return domain_connect(&ctx->work, args->name, sending_purpose_names[args->sending_purpose - 1], &domain, err) &&
           reply_domain(ctx, domain, reply);
}

bool op_domains_get(struct op_context *ctx, const struct domains_get_args *args, struct reply *reply, struct error *err)
{
    struct domain_row *domain;
    if (!domain_get(&ctx->work, args->domain_id, &domain, err))
        return false;
    domain_write(&ctx->work, domain, &reply->json);
    return true;
}

bool op_domains_update(struct op_context *ctx, const struct domains_update_args *args, struct reply *reply, struct error *err)
{
    struct domain_change change = {
        .sender_name = args->default_sender_name,
        .from_email = args->default_from_email,
        .reply_to = args->default_reply_to_email,
        .purpose = args->sending_purpose != SENDING_PURPOSE_ABSENT ? sending_purpose_names[args->sending_purpose - 1] : NULL,
    };
    struct domain_row *domain;
    return domain_change(&ctx->work, args->domain_id, &change, &domain, err) && reply_domain(ctx, domain, reply);
}

bool op_domains_delete(struct op_context *ctx, const struct domains_delete_args *args, struct reply *reply, struct error *err)
{
    bool deleted;
    int64_t id = id_decode(&ctx->work.engine->ids, ID_DOMAIN, args->domain_id);
    if (!domain_delete(&ctx->work, id, &deleted, err))
        return false;
    if (deleted)
        op_context_subject(ctx, args->domain_id);
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "domainId", args->domain_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    return true;
}

bool op_domains_verify(struct op_context *ctx, const struct domains_verify_args *args, struct reply *reply, struct error *err)
{
    struct domain_row *domain;
    bool wanted;
    if (!domain_check_wanted(&ctx->work, args->domain_id, &domain, &wanted, err))
        return false;
    if (!wanted) {
        domain_write(&ctx->work, domain, &reply->json);
        return true;
    }
    struct verify_domain_payload payload = { .domain_id = domain->id };
    return op_context_enqueue(ctx, reply, verify_domain_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
