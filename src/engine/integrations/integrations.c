#include "engine/integrations/integrations.h"

#include "engine/core/page_cursor.h"

bool integration_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "integrations.list";
    size_t offset;
    if (!page_offset_read(work, binding, cursor, &offset, err))
        return false;
    page_begin(json, limit, 0);
    size_t end = offset + (size_t)limit;
    for (size_t i = offset; i < integration_provider_count && i < end; i++) {
        const struct integration_provider *provider = &integration_providers[i];
        json_object_begin(json);
        json_member_text(json, "provider", provider->key);
        json_member_text(json, "name", provider->name);
        json_member_text(json, "category", provider->category);
        json_member_bool(json, "connected", false);
        json_object_end(json);
    }
    page_offset_end(work, binding, limit, end, integration_provider_count <= end, json);
    return true;
}
