#include "engine/integrations/integrations.h"

#include "engine/core/page.h"

bool integration_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "integrations.list";
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;
    struct page page = page_offset_begin(json, limit, offset, integration_provider_count);
    while (page_next_row(&page)) {
        const struct integration_provider *provider = &integration_providers[offset + page.shown - 1];
        json_object_begin(json);
        json_member_text(json, "provider", provider->key);
        json_member_text(json, "name", provider->name);
        json_member_text(json, "category", provider->category);
        json_member_bool(json, "connected", false);
        json_object_end(json);
    }
    page_offset_end(&page, work, binding, offset);
    return true;
}
