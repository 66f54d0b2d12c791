/* Template gallery. Assistants search and read it without the HTML, which is too large for their hosts. */
#include "engine/templates/gallery.h"

#include "api/op_context.h"
#include "base/text.h"
#include "catalogue/operations.h"

static const char *category_name(enum email_category category)
{
    return category != EMAIL_CATEGORY_ABSENT ? email_category_names[category - 1] : NULL;
}

/* D-145: semantic is true, false, or a text, which is then the query. */
static bool read_semantic(const struct templates_list_args *args, struct gallery_filter *filter, struct error *err)
{
    if (args->semantic == NULL || text_equal(args->semantic, "false"))
        return true;
    filter->is_ranked = true;
    if (text_equal(args->semantic, "true"))
        return args->query != NULL || fail(err, ERR_INVALID_REQUEST, "semantic", "Ranking needs a text: give it in query.");
    if (args->query != NULL)
        return fail(err, ERR_INVALID_REQUEST, "semantic", "Pass the text in query or in semantic, not in both.");
    filter->query = args->semantic;
    return true;
}

bool op_templates_list(struct op_context *ctx, const struct templates_list_args *args, struct reply *reply, struct error *err)
{
    struct gallery_filter filter = { .query = args->query, .category = category_name(args->category), .brand = args->brand };
    return read_semantic(args, &filter, err) &&
           gallery_list_templates(&ctx->work, &filter, GALLERY_HTML, args->limit, args->cursor, &reply->json, err);
}

bool op_templates_search(struct op_context *ctx, const struct templates_search_args *args, struct reply *reply, struct error *err)
{
    struct gallery_filter filter = {
        .query = args->query,
        .category = category_name(args->category),
        .brand = args->brand,
        .is_ranked = true,
        .brand_is_part = true,
    };
    return gallery_list_templates(&ctx->work, &filter, GALLERY_SUBJECT, args->limit, args->cursor, &reply->json, err);
}

static bool reply_template(const struct op_context *ctx, const char *id, const char *param, unsigned parts, struct reply *reply,
                           struct error *err)
{
    const struct gallery_template *template = gallery_find_template(id);
    if (template == NULL)
        return fail(err, ERR_TEMPLATE_NOT_FOUND, param, "No template with this id in the gallery.");
    gallery_write_template(&ctx->work, template, parts, &reply->json);
    return true;
}

bool op_templates_get(struct op_context *ctx, const struct templates_get_args *args, struct reply *reply, struct error *err)
{
    return reply_template(ctx, args->template_id, "templateId", GALLERY_SUBJECT | GALLERY_HTML, reply, err);
}

bool op_templates_read(struct op_context *ctx, const struct templates_read_args *args, struct reply *reply, struct error *err)
{
    unsigned html = (args->include & TEMPLATES_READ_INCLUDE_HTML) != 0 ? GALLERY_HTML : 0;
    return reply_template(ctx, args->email_id, "emailId", GALLERY_SUBJECT | GALLERY_TEXT | html, reply, err);
}

/* ---- Sequences ---- */

bool op_flows_list(struct op_context *ctx, const struct flows_list_args *args, struct reply *reply, struct error *err)
{
    return gallery_list_flows(&ctx->work, args->limit, args->cursor, &reply->json, err);
}

bool op_flows_get(struct op_context *ctx, const struct flows_get_args *args, struct reply *reply, struct error *err)
{
    (void)ctx;
    const struct gallery_flow *flow = gallery_find_flow(args->slug);
    if (flow == NULL)
        return fail(err, ERR_FLOW_NOT_FOUND, "slug", "No sequence with this slug in the gallery.");
    gallery_write_flow(flow, (args->include & FLOWS_GET_INCLUDE_HTML) != 0, &reply->json);
    return true;
}
