#include "mcp/core.h"

#include <string.h>

const char mcp_versions_json[] = "[\"" MCP_MODERN_VERSION "\"]";

const char *mcp_legacy_version(const char *version)
{
    static const char *const versions[] = { MCP_LATEST_LEGACY_VERSION, "2025-06-18", MCP_BATCH_VERSION, "2024-11-05" };

    for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
        if (strcmp(versions[i], version) == 0)
            return versions[i];
    }
    return NULL;
}

bool mcp_version_is_modern(const char *version)
{
    /* Versions are dates, so their text order is chronological. */
    return strlen(version) == strlen(MCP_MODERN_VERSION) && version[0] == '2' && strcmp(version, MCP_MODERN_VERSION) >= 0;
}
