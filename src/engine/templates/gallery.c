#include "engine/templates/gallery.h"

#include "base/text.h"
#include "engine/core/page.h"

#include <string.h>
#include <strings.h>

/* ---- Templates ---- */

const struct gallery_template *gallery_find_template(const char *id)
{
    for (size_t i = 0; i < gallery_template_count; i++)
        if (strcmp(gallery_templates[i].id, id) == 0)
            return &gallery_templates[i];
    return NULL;
}

static bool matches_text(const char *wanted, const char *actual)
{
    return wanted == NULL || (actual != NULL && strcasecmp(wanted, actual) == 0);
}

static bool matches_filter(const struct gallery_template *template, const struct gallery_filter *filter)
{
    bool matches_query =
        filter->query == NULL || strcmp(template->id, filter->query) == 0 || strcasestr(template->title, filter->query) != NULL;
    return matches_query && matches_text(filter->category, template->category) && matches_text(filter->brand, template->brand);
}

bool gallery_list_templates(const struct work *work, const struct gallery_filter *filter, bool with_html, int64_t limit,
                            const char *cursor, struct json_writer *json, struct error *err)
{
    const char *binding = arena_printf(work->arena, "templates.list|%s|%s|%s", filter->category != NULL ? filter->category : "",
                                       filter->brand != NULL ? filter->brand : "", filter->query != NULL ? filter->query : "");
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;

    const struct gallery_template **matching = arena_array(work->arena, gallery_template_count, sizeof(*matching));
    size_t count = 0;
    for (size_t i = 0; i < gallery_template_count; i++)
        if (matches_filter(&gallery_templates[i], filter))
            matching[count++] = &gallery_templates[i];
    struct page page = page_offset_begin(json, limit, offset, count);
    while (page_next_row(&page))
        gallery_write_template(work, matching[offset + page.shown - 1], with_html ? GALLERY_HTML : 0, json);
    page_offset_end(&page, work, binding, offset);
    return true;
}

const struct gallery_picture *gallery_find_picture(const char *name)
{
    for (size_t i = 0; i < gallery_template_count; i++) {
        const struct gallery_picture *picture = gallery_templates[i].picture;
        if (picture != NULL && strcmp(picture->name, name) == 0)
            return picture;
    }
    return NULL;
}

/* The picture is served like a hosted image, so it has a URL only if the installation has a public URL. */
static void write_picture(const struct work *work, const struct gallery_template *template, struct json_writer *json)
{
    const char *base = work->engine->public_url;
    if (base != NULL && template->picture != NULL)
        json_member_text(json, "previewImage", arena_printf(work->arena, "%s/assets/%s", base, template->picture->name));
}

void gallery_write_template(const struct work *work, const struct gallery_template *template, unsigned parts,
                            struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "emailId", template->id);
    json_member_text(json, "title", template->title);
    json_member_text_if(json, "category", template->category);
    json_member_text_if(json, "brand", template->brand);
    write_picture(work, template, json);
    json_member_time(json, "updatedAt", template->updated_at_us);
    if ((parts & GALLERY_SUBJECT) != 0) {
        json_member_text_if(json, "subjectLine", template->subject_line);
        json_member_text_if(json, "previewText", template->preview_text);
    }
    if ((parts & GALLERY_TEXT) != 0)
        json_member_text(json, "text", template->text);
    if ((parts & GALLERY_HTML) != 0)
        json_member_text(json, "html", template->html);
    json_object_end(json);
}

/* ---- Sequences ---- */

const struct gallery_flow *gallery_find_flow(const char *slug)
{
    for (size_t i = 0; i < gallery_flow_count; i++)
        if (strcmp(gallery_flows[i].slug, slug) == 0)
            return &gallery_flows[i];
    return NULL;
}

/* Writes the members that lists and details share; the object stays open. */
static void write_flow_members(const struct gallery_flow *flow, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "slug", flow->slug);
    json_member_text(json, "title", flow->title);
    json_key(json, "brand");
    json_object_begin(json);
    json_member_text(json, "name", flow->brand);
    json_object_end(json);
    json_member_text_if(json, "type", flow->type);
    json_member_text_if(json, "category", flow->category);
    json_member_int(json, "emailCount", (int64_t)flow->step_count);
}

bool gallery_list_flows(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "flows.list";
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;
    struct page page = page_offset_begin(json, limit, offset, gallery_flow_count);
    while (page_next_row(&page)) {
        write_flow_members(&gallery_flows[offset + page.shown - 1], json);
        json_object_end(json);
    }
    page_offset_end(&page, work, binding, offset);
    return true;
}

void gallery_write_flow(const struct gallery_flow *flow, bool with_html, struct json_writer *json)
{
    write_flow_members(flow, json);
    json_key(json, "steps");
    json_array_begin(json);
    for (size_t i = 0; i < flow->step_count; i++) {
        const struct gallery_step *step = &flow->steps[i];
        json_object_begin(json);
        json_member_int(json, "order", step->order);
        json_member_int(json, "dayOffset", step->day_offset);
        json_member_text(json, "subject", step->subject);
        json_member_text_if(json, "previewText", step->preview_text);
        json_member_text(json, "emailId", step->template->id);
        if (with_html)
            json_member_text(json, "html", step->template->html);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}
