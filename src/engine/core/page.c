#include "engine/core/page.h"

struct page page_begin(struct json_writer *json, int64_t limit, struct db_page found)
{
    json_list_begin(json);
    return (struct page){ .json = json, .limit = limit, .found = found, .begin = json->out->size };
}

static bool row_fits(const struct page *page)
{
    const struct buf *body = page->json->out;
    return page->shown <= 1 || (!body->overflowed && body->size - page->begin <= PAGE_MAX_BYTES);
}

static void remove_row(struct page *page)
{
    struct buf *body = page->json->out;
    *page->json = page->row_writer;
    body->size = page->row_begin;
    body->data[body->size] = '\0';
    body->overflowed = false;
    page->shown--;
}

bool page_next_row(struct page *page)
{
    if (!row_fits(page)) {
        remove_row(page);
        return false;
    }
    if (page->shown == (size_t)page->limit || page->shown == page->found.count)
        return false;
    page->shown++;
    page->row_begin = page->json->out->size;
    page->row_writer = *page->json;
    return true;
}

bool page_has_more(const struct page *page)
{
    return page->shown < page->found.count || page->found.is_cut;
}

void page_end(struct page *page, const struct work *work, const char *binding, struct page_cursor last)
{
    struct json_writer *json = page->json;
    bool has_more = page_has_more(page);
    json_array_end(json);
    json_key(json, "pagination");
    json_object_begin(json);
    json_member_int(json, "limit", page->limit);
    json_member_text(json, "cursor", has_more ? page_cursor(work, binding, &last) : NULL);
    json_member_bool(json, "hasMore", has_more);
    json_object_end(json);
}

bool page_offset_read(const struct work *work, const char *binding, const char *cursor, size_t *ret_offset, struct error *err)
{
    struct page_cursor position;
    if (!page_cursor_read(work, binding, cursor, &position, err))
        return false;
    *ret_offset = position.set ? (size_t)position.number : 0;
    return true;
}

struct page page_offset_begin(struct json_writer *json, int64_t limit, size_t offset, size_t total)
{
    return page_begin(json, limit, (struct db_page){ .count = offset < total ? total - offset : 0 });
}

void page_offset_end(struct page *page, const struct work *work, const char *binding, size_t offset)
{
    page_end(page, work, binding, (struct page_cursor){ .number = (int64_t)(offset + page->shown) });
    json_object_end(page->json);
}
