/*
 * Served tools: the tools that this process offers, by its configuration, and
 * those of them that a connection sees.
 */
#include "mcp/provider/provider_private.h"

#include <string.h>

/* ---- Selection ---- */

/* True when `name` is in a comma-separated list; NULL is a list of all. */
static bool name_list_contains(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *item = list; item != NULL;) {
        if (strncmp(item, name, size) == 0 && (item[size] == ',' || item[size] == '\0'))
            return true;
        item = strchr(item, ',');
        if (item != NULL)
            item++;
    }
    return list == NULL;
}

static bool toolset_exists(const char *name, size_t size)
{
    for (size_t i = 0; i < tool_count; i++) {
        if (strlen(tools[i].toolset) == size && strncmp(tools[i].toolset, name, size) == 0)
            return true;
    }
    return false;
}

static bool tool_exists(const char *name, size_t size)
{
    for (size_t i = 0; i < tool_count; i++) {
        if (strlen(tools[i].name) == size && strncmp(tools[i].name, name, size) == 0)
            return true;
    }
    return false;
}

/* A misspelt name would exclude tools without notice. */
static bool check_configured_names(const char *list, const char *what, bool (*exists)(const char *name, size_t size),
                                   struct error *err)
{
    for (const char *item = list; item != NULL;) {
        const char *comma = strchr(item, ',');
        size_t size = comma != NULL ? (size_t)(comma - item) : strlen(item);
        if (!exists(item, size))
            return fail(err, ERR_INVALID_REQUEST, what, "There is no %.*s among the %s.", (int)(size < 64 ? size : 64), item, what);
        item = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static const char *list_object(const struct tool *tool, int visibility)
{
    bool names_brand = visibility == VISIBLE_TO_ORGANIZATION && tool->organization_json != NULL;
    return names_brand ? tool->organization_json : tool->list_json;
}

static const char *tool_list(const struct catalogue_provider *catalogue, int visibility)
{
    struct buf *out = buf_in_arena(catalogue->arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < catalogue->tool_count; i++) {
        const struct tool *tool = catalogue->tools[i];
        if (tool->listed && (visibility == VISIBLE_TO_ORGANIZATION || !tool->organization))
            json_raw(&json, list_object(tool, visibility));
    }
    json_array_end(&json);
    return out->data;
}

bool provider_tools_init(struct catalogue_provider *catalogue, const struct catalogue_provider_config *config, struct error *err)
{
    if (!check_configured_names(config->toolsets, "toolsets", toolset_exists, err) ||
        !check_configured_names(config->tools, "tools", tool_exists, err))
        return false;
    catalogue->tools = arena_array(catalogue->arena, tool_count, sizeof(*catalogue->tools));
    for (size_t i = 0; i < tool_count; i++) {
        const struct tool *tool = &tools[i];
        bool served = tool->built && (tool->read_only || !config->read_only) &&
                      name_list_contains(config->toolsets, tool->toolset) && name_list_contains(config->tools, tool->name);
        if (served)
            catalogue->tools[catalogue->tool_count++] = tool;
    }
    for (int visibility = 0; visibility < VISIBILITY_COUNT; visibility++)
        catalogue->lists[MCP_LIST_TOOLS][visibility] = tool_list(catalogue, visibility);
    return true;
}

/* ---- Visibility ---- */

const struct tool *provider_find_tool(const struct catalogue_provider *catalogue, const char *name)
{
    for (size_t i = 0; i < catalogue->tool_count; i++) {
        if (strcmp(catalogue->tools[i]->name, name) == 0)
            return catalogue->tools[i];
    }
    return NULL;
}

bool provider_sees_tool(const struct provider_call *call, const char *name)
{
    const struct tool *tool = provider_find_tool(call->catalogue, name);
    return tool != NULL && !(tool->organization && provider_is_brand_connection(call));
}

size_t provider_tool_names(const struct provider_call *call, const char *prefix, const char **ret_names, size_t max_count)
{
    size_t count = 0;
    bool brand = provider_is_brand_connection(call);
    for (size_t i = 0; i < call->catalogue->tool_count; i++) {
        const struct tool *tool = call->catalogue->tools[i];
        if (strncmp(tool->name, prefix, strlen(prefix)) != 0 || !tool->listed || (brand && tool->organization))
            continue;
        if (count < max_count)
            ret_names[count] = tool->name;
        count++;
    }
    return count;
}
