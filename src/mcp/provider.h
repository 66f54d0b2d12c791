/*
 * What a server of the agent protocol offers: tools, resources, prompts.
 *
 * The core knows the protocol and nothing of what is served; a provider knows
 * what is served and nothing of transports, eras or sessions. Two exist: the
 * product (mcp/provider/catalogue_provider.h), made of the catalogue over api_submit, and the
 * fixture of the conformance suites, which only tests build.
 *
 * A request is prepared on the thread that read it and started on the same
 * thread. Neither may block: slow work is handed on and answered later from
 * another thread (mcp/request.h says how to answer). Providers are constant
 * once made; they may be asked from many threads at once.
 */
#pragma once

#include "mcp/request.h"

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES, MCP_LIST_PROMPTS, MCP_LIST_COUNT };

struct mcp_features {
    bool tools_change;    /* mcp_announce is called when the list changed */
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

    /* How many different views of the lists there are; what mcp_admit names is below this. */
    unsigned visibility_count;

    /* A list as JSON array text, complete and constant. NULL: this kind is not offered at all. */
    const char *(*list)(const struct mcp_provider *provider, enum mcp_list list, unsigned visibility);

    /* Looks at a request and decides what it needs, without doing it; may already answer it.
     * Returns whether start, if it is still to be called, answers before it returns; progress and log messages of such
     * a request may be dropped. */
    bool (*prepare)(const struct mcp_provider *provider, struct mcp_request *request);

    /* Does the work. MCP_TOOLS_CALL, MCP_RESOURCES_READ, MCP_PROMPTS_GET and MCP_COMPLETE are the provider's to
     * answer; of the rest it says who may ask, by mcp_admit. */
    void (*start)(const struct mcp_provider *provider, struct mcp_request *request);

    /* The client lost interest. The request is still answered. NULL: there is nothing to stop. */
    void (*cancel)(const struct mcp_provider *provider, struct mcp_request *request);

    /* Whether a resource of this address can be watched. NULL without resources_subscribe. */
    bool (*is_resource)(const struct mcp_provider *provider, const char *uri);

    /* The argument of `tool` that the header Mcp-Param-… number `index` repeats, with its header name; false at
     * the end. NULL: no tool has such headers. */
    bool (*header_argument)(const struct mcp_provider *provider, const char *tool, unsigned index,
                            const char **ret_header, const char **ret_argument);
};

/* Something changed: tells every client that wants to know. `uri` for MCP_CHANGED_RESOURCE only. */
enum mcp_change { MCP_CHANGED_TOOLS, MCP_CHANGED_PROMPTS, MCP_CHANGED_RESOURCES, MCP_CHANGED_RESOURCE };
void mcp_announce(struct mcp_server *server, enum mcp_change change, const char *uri) NONNULL(1);

/* ---- The state of a conversation that the client carries (requestState of 2026-07-28) ---- */

enum { MCP_STATE_LIFETIME_S = 600 };

/* Seals `state_json` for the caller and the call it was made for. The text is safe to hand to the client. */
char *mcp_state_seal(struct mcp_request *request, const char *state_json) NONNULL(1, 2) RETURNS_NONNULL;

/* Opens the request's requestState, once: NULL when it is absent (ret_absent), forged, expired, used before, or
 * belongs to another caller or call. */
const json_t *mcp_state_open(struct mcp_request *request, bool *ret_absent) NONNULL(1, 2);
