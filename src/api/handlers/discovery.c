/* Discovery: what the brand of a connection has, for assistants: fields, audiences, brands, domains, suppressions. */
#include "api/handlers/page_rows.h"
#include "api/op_context.h"
#include "catalogue/operations.h"
#include "catalogue/texts.h"
#include "engine/account/account.h"
#include "engine/audiences/audiences.h"
#include "engine/core/page.h"
#include "engine/fields/fields.h"

#include <string.h>

/* Ends the object of a topic. The first page has the help on the topic, too. */
static void end_topic(struct json_writer *json, const char *topic, const char *cursor)
{
    json_member_text(json, "subject", topic);
    for (size_t i = 0; cursor == NULL && i < help_topic_count; i++)
        if (strcmp(help_topics[i].name, topic) == 0)
            json_member_text(json, "help", help_topics[i].text);
    json_object_end(json);
}

bool op_capabilities_fields(struct op_context *ctx, const struct capabilities_fields_args *args, struct reply *reply,
                            struct error *err)
{
    if (!field_describe(&ctx->work, args->limit, args->cursor, &reply->json, err))
        return false;
    end_topic(&reply->json, "fields", args->cursor);
    return true;
}

bool op_capabilities_audiences(struct op_context *ctx, const struct capabilities_audiences_args *args, struct reply *reply,
                               struct error *err)
{
    if (!audience_describe(&ctx->work, args->limit, args->cursor, &reply->json, err))
        return false;
    end_topic(&reply->json, "audiences", args->cursor);
    return true;
}

bool op_capabilities_suppressions(struct op_context *ctx, const struct capabilities_suppressions_args *args, struct reply *reply,
                                  struct error *err)
{
    (void)args;
    json_object_begin(&reply->json);
    if (!account_write_suppressions(&ctx->work, &reply->json, err))
        return false;
    end_topic(&reply->json, "suppressions", NULL);
    return true;
}

/* ---- Brands ---- */

static void write_brand_name(const struct work *work, const struct brand_row *brand, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "brandId", ID_BRAND, brand->id);
    json_member_text(json, "name", brand->name);
    json_member_text_if(json, "domain", brand->domain);
    json_member_text(json, "status", brand->status);
    json_object_end(json);
}

bool op_capabilities_brands(struct op_context *ctx, const struct capabilities_brands_args *args, struct reply *reply,
                            struct error *err)
{
    static const char binding[] = "brands.describe";
    struct brand_row *brands;
    struct db_page found;
    if (!rows_find_brands(ctx, binding, args->limit, args->cursor, &brands, &found, err))
        return false;
    struct page page = page_begin(&reply->json, args->limit, found);
    while (page_next_row(&page))
        write_brand_name(&ctx->work, &brands[page.shown - 1], &reply->json);
    page_end(&page, &ctx->work, binding, (struct page_cursor){ .id = page.shown > 0 ? brands[page.shown - 1].id : 0 });
    end_topic(&reply->json, "brands", args->cursor);
    return true;
}

/* ---- Domains ---- */

bool op_capabilities_domains(struct op_context *ctx, const struct capabilities_domains_args *args, struct reply *reply,
                             struct error *err)
{
    static const char binding[] = "domains.describe";
    struct domain_row *domains;
    struct db_page found;
    if (!rows_find_domains(ctx, binding, false, args->limit, args->cursor, &domains, &found, err))
        return false;
    struct page page = page_begin(&reply->json, args->limit, found);
    while (page_next_row(&page))
        domain_write_summary(&ctx->work, &domains[page.shown - 1], &reply->json);
    page_end(&page, &ctx->work, binding, (struct page_cursor){ .id = page.shown > 0 ? domains[page.shown - 1].id : 0 });
    end_topic(&reply->json, "domains", args->cursor);
    return true;
}
