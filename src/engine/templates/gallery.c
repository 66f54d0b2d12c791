#include "engine/templates/gallery.h"

#include "engine/core/page.h"
#include "engine/templates/template_search.h"

#include <stdlib.h>
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

static bool matches_brand(const struct gallery_template *template, const struct gallery_filter *filter)
{
    if (!filter->brand_is_part)
        return matches_text(filter->brand, template->brand);
    return filter->brand == NULL || (template->brand != NULL && strcasestr(template->brand, filter->brand) != NULL);
}

static bool matches_query(const struct gallery_template *template, const struct gallery_filter *filter)
{
    return filter->query == NULL || filter->is_ranked || strcmp(template->id, filter->query) == 0 ||
           strcasestr(template->title, filter->query) != NULL;
}

static bool matches_filter(const struct gallery_template *template, const struct gallery_filter *filter)
{
    return matches_query(template, filter) && matches_text(filter->category, template->category) && matches_brand(template, filter);
}

/* The candidates of a filter: the best matches of its query first, or the gallery in its order. An exact id finds one template. */
static size_t find_candidates(const struct work *work, const struct gallery_filter *filter,
                              const struct gallery_template **ret_templates)
{
    bool has_query = filter->is_ranked && filter->query != NULL;
    ret_templates[0] = has_query ? gallery_find_template(filter->query) : NULL;
    if (ret_templates[0] != NULL)
        return 1;
    if (has_query)
        return template_rank(work->arena, filter->query, true, ret_templates);
    for (size_t i = 0; i < gallery_template_count; i++)
        ret_templates[i] = &gallery_templates[i];
    return gallery_template_count;
}

static size_t find_templates(const struct work *work, const struct gallery_filter *filter,
                             const struct gallery_template **ret_templates)
{
    size_t found = find_candidates(work, filter, ret_templates);
    size_t count = 0;
    for (size_t i = 0; i < found; i++)
        if (matches_filter(ret_templates[i], filter) && (!filter->is_ranked || count < GALLERY_RANKED_MAX))
            ret_templates[count++] = ret_templates[i];
    return count;
}

/* The cursor of a page fits the same filters of the same operation only. */
static const char *page_binding(const struct work *work, const struct gallery_filter *filter)
{
    return arena_printf(work->arena, "templates|%d|%d|%s|%s|%s", filter->is_ranked, filter->brand_is_part,
                        filter->category != NULL ? filter->category : "", filter->brand != NULL ? filter->brand : "",
                        filter->query != NULL ? filter->query : "");
}

bool gallery_list_templates(const struct work *work, const struct gallery_filter *filter, unsigned parts, int64_t limit,
                            const char *cursor, struct json_writer *json, struct error *err)
{
    const char *binding = page_binding(work, filter);
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;
    const struct gallery_template **found = arena_array(work->arena, gallery_template_count + 1, sizeof(*found));
    struct page page = page_offset_begin(json, limit, offset, find_templates(work, filter, found));
    while (page_next_row(&page))
        gallery_write_template(work, found[offset + page.shown - 1], parts, json);
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
