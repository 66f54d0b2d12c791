#include "engine/integrations/integrations.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "sql/integrations.h"

static bool is_connected(const char *provider, const struct integrations_connected_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(rows[i].provider, provider))
            return true;
    return false;
}

bool integration_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "integrations.list";
    struct integrations_connected_params params = { work->brand_id };
    struct integrations_connected_row *rows;
    size_t count;
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err) ||
        !sql_integrations_connected(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    struct page page = page_offset_begin(json, limit, offset, integration_provider_count);
    while (page_next_row(&page)) {
        const struct integration_provider *provider = &integration_providers[offset + page.shown - 1];
        json_object_begin(json);
        json_member_text(json, "provider", provider->key);
        json_member_text(json, "name", provider->name);
        json_member_text(json, "category", provider->category);
        json_member_bool(json, "connected", is_connected(provider->key, rows, count));
        json_object_end(json);
    }
    page_offset_end(&page, work, binding, offset);
    return true;
}
