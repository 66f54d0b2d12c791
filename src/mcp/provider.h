/*
 * MCP provider: the tools, resources and prompts that a server offers.
 *
 * The core implements the protocol, the provider the content. A provider does
 * not depend on transports, eras or sessions. Two exist: the product
 * (mcp/provider/catalogue_provider.h), which serves the catalogue through
 * api_submit, and the fixture of the conformance suites, which only tests
 * build.
 *
 * A request is prepared and started on the thread that read it. Neither may
 * block: slow work is passed on and answered later from another thread (see
 * mcp/request.h). Providers are constant once created and may be used from many
 * threads at once.
 */
#pragma once

#include "mcp/request.h"

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES, MCP_LIST_PROMPTS, MCP_LIST_COUNT };

struct mcp_features {
    bool tools_change; /* mcp_announce is called when the list changed */
    bool prompts_change;
    bool resources_change;
    bool resources_subscribe;
    bool completions;
    bool logging;
};

struct mcp_provider {
    const char *name;
    const char *title;
    const char *version;
    const char *instructions; /* NULL: none */
    struct mcp_features features;

    /* The number of views of the lists; the visibility given to mcp_admit is below it. */
    unsigned visibility_count;

    /* Returns a list as JSON array text, complete and constant. NULL: this kind is not offered. */
    const char *(*list)(const struct mcp_provider *provider, enum mcp_list list, unsigned visibility);

    /* Examines a request without doing its work; may already answer it. Returns true when `start`, if it is still to be called,
     * answers before it returns. Progress and log messages of such a request may be dropped. */
    bool (*prepare)(const struct mcp_provider *provider, struct mcp_request *request);

    /* Does the work. The provider answers MCP_TOOLS_CALL, MCP_RESOURCES_READ, MCP_PROMPTS_GET and MCP_COMPLETE. For all other
     * methods it only admits the caller, by mcp_admit. */
    void (*start)(const struct mcp_provider *provider, struct mcp_request *request);

    /* Cancels the work of a request. The request is still answered. NULL: nothing can be cancelled. */
    void (*cancel)(const struct mcp_provider *provider, struct mcp_request *request);

    /* True when the resource with this URI can be watched. NULL without resources_subscribe. */
    bool (*is_resource)(const struct mcp_provider *provider, const char *uri);

    /* Returns the argument of `tool` that the header Mcp-Param-… number `index` repeats, with its header name; false at the end.
     * NULL: no tool has such headers. */
    bool (*header_argument)(const struct mcp_provider *provider, const char *tool, unsigned index, const char **ret_header,
                            const char **ret_argument);
};

/* Announces a change to every client that listens for it. `uri` is set for MCP_CHANGED_RESOURCE only. */
enum mcp_change { MCP_CHANGED_TOOLS, MCP_CHANGED_PROMPTS, MCP_CHANGED_RESOURCES, MCP_CHANGED_RESOURCE };
void mcp_announce(struct mcp_server *server, enum mcp_change change, const char *uri) NONNULL(1);

/* ---- State that the client carries between two calls (requestState of 2026-07-28) ---- */

enum { MCP_STATE_LIFETIME_S = 600 };

/* Seals `state_json` for this caller and call. The text is safe to give to the client. */
char *mcp_state_seal(struct mcp_request *request, const char *state_json) NONNULL(1, 2) RETURNS_NONNULL;

/* Opens the request's requestState, once. NULL when it is absent (ret_absent), forged, expired, used before, or belongs to
 * another caller or call. */
const json_t *mcp_state_open(struct mcp_request *request, bool *ret_absent) NONNULL(1, 2);
