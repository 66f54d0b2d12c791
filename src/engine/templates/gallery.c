#include "engine/templates/gallery.h"

#include "base/text.h"
#include "engine/core/page.h"

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

static bool matches_filter(const struct gallery_template *template, const struct gallery_filter *filter)
{
    bool matches_query =
        filter->query == NULL || strcmp(template->id, filter->query) == 0 || strcasestr(template->title, filter->query) != NULL;
    return matches_query && matches_text(filter->category, template->category) && matches_text(filter->brand, template->brand);
}

/* The cursor of a page fits the same filters of the same operation only. */
static const char *page_binding(const struct work *work, const char *operation, const struct gallery_filter *filter)
{
    return arena_printf(work->arena, "%s|%s|%s|%s", operation, filter->category != NULL ? filter->category : "",
                        filter->brand != NULL ? filter->brand : "", filter->query != NULL ? filter->query : "");
}

bool gallery_list_templates(const struct work *work, const struct gallery_filter *filter, int64_t limit, const char *cursor,
                            struct json_writer *json, struct error *err)
{
    const char *binding = page_binding(work, "templates.list", filter);
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
        gallery_write_template(work, matching[offset + page.shown - 1], GALLERY_HTML, json);
    page_offset_end(&page, work, binding, offset);
    return true;
}

/* ---- Search by words ---- */

/* The query has at most 200 characters. A template is compared with each word once. */
enum { QUERY_MAX_WORDS = 100 };

/* The weight of a word by the place where it is found: the title counts more than all other places of the same number of words. */
enum { WEIGHT_TEXT = 1, WEIGHT_SUBJECT = 10, WEIGHT_KIND = 20, WEIGHT_TITLE = 100 };

struct search_hit {
    const struct gallery_template *template;
    size_t words;
    size_t weight;
};

static size_t split_words(struct arena *arena, const char *query, const char *ret_words[QUERY_MAX_WORDS])
{
    static const char separators[] = " \t\r\n,;.:!?\"'()/";
    size_t count = 0;
    for (const char *at = query + strspn(query, separators); *at != '\0' && count < QUERY_MAX_WORDS;) {
        size_t size = strcspn(at, separators);
        ret_words[count++] = arena_printf(arena, "%.*s", (int)size, at);
        at += size;
        at += strspn(at, separators);
    }
    return count;
}

static bool contains(const char *text, const char *word)
{
    return text != NULL && strcasestr(text, word) != NULL;
}

static size_t weight_of_word(const struct gallery_template *template, const char *word)
{
    if (contains(template->title, word))
        return WEIGHT_TITLE;
    if (contains(template->category, word) || contains(template->brand, word))
        return WEIGHT_KIND;
    if (contains(template->subject_line, word) || contains(template->preview_text, word))
        return WEIGHT_SUBJECT;
    return contains(template->text, word) ? WEIGHT_TEXT : 0;
}

static struct search_hit rate_template(const struct gallery_template *template, const char *const *words, size_t count)
{
    struct search_hit hit = { .template = template };
    for (size_t i = 0; i < count; i++) {
        size_t weight = weight_of_word(template, words[i]);
        hit.words += weight > 0;
        hit.weight += weight;
    }
    return hit;
}

/* The best first; equal ones in the order of the gallery. */
static int compare_hits(const void *left, const void *right)
{
    const struct search_hit *one = left;
    const struct search_hit *other = right;
    if (one->weight != other->weight)
        return one->weight > other->weight ? -1 : 1;
    return one->template <other->template ? -1 : one->template > other->template;
}

static bool may_match(const struct gallery_template *template, const struct gallery_filter *filter)
{
    return matches_text(filter->category, template->category) &&
           (filter->brand == NULL || contains(template->brand, filter->brand));
}

/* The templates that contain the most words of the query; without a query, all that the filter leaves. */
static size_t find_hits(const struct work *work, const struct gallery_filter *filter, struct search_hit *ret_hits)
{
    const char *words[QUERY_MAX_WORDS];
    size_t word_count = filter->query != NULL ? split_words(work->arena, filter->query, words) : 0;
    size_t most = filter->query != NULL ? 1 : 0;
    size_t count = 0;
    for (size_t i = 0; i < gallery_template_count; i++) {
        const struct gallery_template *template = &gallery_templates[i];
        if (!may_match(template, filter))
            continue;
        struct search_hit hit = rate_template(template, words, word_count);
        if (filter->query != NULL && strcmp(template->id, filter->query) == 0)
            hit.words = QUERY_MAX_WORDS + 1;
        if (hit.words > most)
            count = 0;
        if (hit.words >= most)
            ret_hits[count++] = hit;
        most = hit.words > most ? hit.words : most;
    }
    return count;
}

bool gallery_search_templates(const struct work *work, const struct gallery_filter *filter, int64_t limit, const char *cursor,
                              struct json_writer *json, struct error *err)
{
    const char *binding = page_binding(work, "templates.search", filter);
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;
    struct search_hit *hits = arena_array(work->arena, gallery_template_count, sizeof(*hits));
    size_t count = find_hits(work, filter, hits);
    qsort(hits, count, sizeof(*hits), compare_hits);
    struct page page = page_offset_begin(json, limit, offset, count);
    while (page_next_row(&page))
        gallery_write_template(work, hits[offset + page.shown - 1].template, GALLERY_SUBJECT, json);
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
