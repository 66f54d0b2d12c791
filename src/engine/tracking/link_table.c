#include "engine/tracking/link_table.h"

#include "base/json_read.h"
#include "sql/tracking.h"

#include <string.h>

char *link_table_write(struct arena *arena, const struct template_links *links)
{
    struct buf *out = buf_in_arena(arena, LINK_TABLE_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < links->count; i++) {
        const struct template_link *link = &links->items[i];
        json_object_begin(&json);
        json_member_text(&json, "target", link->target);
        json_member_text(&json, "where", link->where == TEMPLATE_HTML ? "html" : "text");
        json_member_bool(&json, "merged", link->is_merged);
        json_object_end(&json);
    }
    json_array_end(&json);
    return arena_dup(arena, buf_text(out));
}

bool link_table_find(const struct work *work, const struct token_owner *owner, struct link_table **ret_table, struct error *err)
{
    struct tracking_links_params params = { .brand_id = owner->brand_id, .send_id = owner->send_id };
    struct tracking_links_row *row;
    *ret_table = NULL;
    if (!sql_tracking_links(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    const struct json_bounds bounds = { .max_bytes = LINK_TABLE_MAX_BYTES };
    struct link_table *table = arena_alloc(work->arena, sizeof(*table));
    table->domain = row->domain;
    if (!json_read(work->arena, row->links, strlen(row->links), bounds, &table->links, err))
        return false;
    *ret_table = table;
    return true;
}
