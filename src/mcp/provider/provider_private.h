/*
 * The inside of the product provider: what its files share. A request of the
 * agent protocol that needs the engine becomes one call; struct provider_call
 * joins the two and lives in the request's arena.
 */
#pragma once

#include "mcp/core.h"
#include "mcp/provider/catalogue_provider.h"

enum { VISIBLE_TO_ORGANIZATION, VISIBLE_TO_BRAND, VISIBILITY_COUNT };

struct catalogue_provider {
    struct mcp_provider provider; /* first: the provider is the product */
    struct api *api;
    struct arena *arena;
    size_t response_budget_chars;
    const struct tool **tools; /* those this process serves */
    size_t tool_count;
    const char *lists[MCP_LIST_COUNT][VISIBILITY_COUNT];
};

struct provider_call {
    const struct catalogue_provider *catalogue;
    struct mcp_request *request;
    struct call call; /* without candidates: nothing is asked of the engine */
    const struct tool *tool;
    void (*answer)(struct provider_call *call); /* turns the finished call into the answer of the request */
    const void *row;                            /* the resource or completion it is for */
};

/* A call with everything that comes from the request; submitted when the request is started. */
struct provider_call *provider_call_new(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                        const struct operation *const *candidates, void (*answer)(struct provider_call *call))
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* What the protocol itself can answer, once the caller is known: `answer` is called for good credentials only. */
struct provider_call *provider_check(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                     void (*answer)(struct provider_call *call)) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* A protocol refusal once the caller is known. */
void provider_refuse(const struct catalogue_provider *catalogue, struct mcp_request *request, const char *message) NONNULL(1, 2, 3);

/* Whether create_brand and its like are hidden from this connection; known once the call is answered. */
bool provider_is_brand_connection(const struct provider_call *call) NONNULL(1) PURE;

/* ---- tools (product_tools.c) ---- */

MUST_CHECK bool provider_tools_init(struct catalogue_provider *catalogue, const struct catalogue_provider_config *config,
                                    struct error *err) NONNULL(1, 2, 3);

/* tools/call: a call, or an answer right away. */
void provider_tools_call(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);

/* Names of the tools that `call` may see and that begin with `prefix`; at most `max_count`. Returns how many there are. */
size_t provider_tool_names(const struct provider_call *call, const char *prefix, const char **ret_names, size_t max_count)
    NONNULL(1, 2, 3);

/* ---- asking a person first (product_confirm.c) ---- */

enum provider_consent { CONSENT_NOT_ASKED, CONSENT_GIVEN, CONSENT_REFUSED };

/* What the person said to the question that an earlier call of the tool was answered with; `ret_token` is that question's. */
enum provider_consent provider_consent_of(const struct mcp_request *request, const struct tool *tool, const char **ret_token)
    NONNULL(1, 2, 3);

/* Answers a preview with the question whether to go on. False, with no answer given, when it is none, or the client has no
 * form to show. */
MUST_CHECK bool provider_ask_consent(const struct provider_call *call) NONNULL(1);

/* The person did not agree. */
void provider_answer_refused(struct provider_call *call) NONNULL(1);

/* ---- results (product_result.c) ---- */

/* The error envelope as the text of a result with isError. */
void provider_answer_error(struct mcp_request *request, const struct error *err) NONNULL(1, 2);

/* The body of the reply as text and as structured content, within the response budget. */
void provider_answer_body(struct provider_call *call) NONNULL(1);

/* ---- resources, prompts, completion (product_texts.c) ---- */

void provider_texts_init(struct catalogue_provider *catalogue) NONNULL(1);
void provider_resources_read(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
void provider_prompts_get(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
void provider_complete(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
