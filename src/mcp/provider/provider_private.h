/*
 * Catalogue provider, private to its files. An MCP request that needs the
 * engine becomes one call. struct provider_call joins the two and lives in the
 * request's arena.
 */
#pragma once

#include "mcp/core.h"
#include "mcp/provider/catalogue_provider.h"

enum { VISIBLE_TO_ORGANIZATION, VISIBLE_TO_BRAND, VISIBILITY_COUNT };

struct catalogue_provider {
    struct mcp_provider provider; /* first member: the catalogue provider is an MCP provider */
    struct api *api;
    struct arena *arena;
    size_t response_budget_chars;
    size_t picture_budget_chars;
    const struct tool **tools; /* the tools that this process serves */
    size_t tool_count;
    const char *lists[MCP_LIST_COUNT][VISIBILITY_COUNT];
};

enum provider_consent { CONSENT_NOT_ASKED, CONSENT_GIVEN, CONSENT_REFUSED };

struct provider_call {
    const struct catalogue_provider *catalogue;
    struct mcp_request *request;
    struct call call; /* without candidates: the engine is not called */
    const struct tool *tool;
    void (*answer)(struct provider_call *call); /* writes the answer of the request from the completed call */
    const void *row;                            /* the resource or completion that the call is for */
    enum provider_consent consent;              /* the answer of a person who was asked during the call */
};

/* Creates a call from the request; it is submitted when the request is started. */
struct provider_call *provider_call_new(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                        const struct operation *const *candidates, void (*answer)(struct provider_call *call))
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* Creates a call that only checks the credentials. `answer` is called when they are valid, and answers without the engine. */
struct provider_call *provider_check(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                     void (*answer)(struct provider_call *call)) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Refuses the request with a protocol error, after the credentials were checked. */
void provider_refuse(const struct catalogue_provider *catalogue, struct mcp_request *request, const char *message) NONNULL(1, 2, 3);

/* True when organization tools such as create_brand are hidden from this connection; valid once the call is answered. */
bool provider_is_brand_connection(const struct provider_call *call) NONNULL(1) PURE;

/* ---- served tools (served_tools.c) ---- */

MUST_CHECK bool provider_tools_init(struct catalogue_provider *catalogue, const struct catalogue_provider_config *config,
                                    struct error *err) NONNULL(1, 2, 3);

/* The served tool of this name, or NULL. */
const struct tool *provider_find_tool(const struct catalogue_provider *catalogue, const char *name) NONNULL(1, 2);

/* True when `call` may see the tool of this name; valid once the call is answered. */
bool provider_sees_tool(const struct provider_call *call, const char *name) NONNULL(1, 2) PURE;

/* Names of the tools that `call` may see and that start with `prefix`, at most `max_count`. Returns how many there are. */
size_t provider_tool_names(const struct provider_call *call, const char *prefix, const char **ret_names, size_t max_count)
    NONNULL(1, 2, 3);

/* ---- tools (tools.c) ---- */

/* tools/call: creates a call, or answers at once. */
void provider_tools_call(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);

/* ---- placeholders (placeholders.c) ---- */

/* Copies a text with each placeholder {name} replaced by that text member of `parameters`, or by nothing. */
void provider_fill_text(struct buf *out, const char *text, const json_t *parameters) NONNULL(1, 2);

/* The URI of a template with each placeholder replaced; NULL when a member is missing or empty. */
const char *provider_fill_uri(struct arena *arena, const char *template, const json_t *arguments) NONNULL(1, 2);

/* ---- confirmation by a person (confirmation.c) ---- */

/* The person's answer to the question of an earlier call of the tool. `ret_token` is the token of that question. */
enum provider_consent provider_consent_of(const struct mcp_request *request, const struct tool *tool, const char **ret_token)
    NONNULL(1, 2, 3);

/* Asks a person whether to continue after a preview: answers with the question (2026-07-28), or asks the client during the call
 * (2025-06-18, 2025-11-25). False when there is no preview or the client cannot show forms; then nothing is answered. */
MUST_CHECK bool provider_ask_consent(struct provider_call *call) NONNULL(1);

/* ---- errors (tool_error.c) ---- */

/* Answers with the error envelope as the text of a result with isError, within the response budget. Its suggestion names no tool. */
void provider_answer_error(const struct provider_call *call, const struct error *err) NONNULL(1, 2);

/* The same for a call that was refused. Its suggestion names tools if the caller sees them. */
void provider_answer_refusal(const struct provider_call *call) NONNULL(1);

/* The suggestion of an error for this caller: it names tools if the caller sees them. */
const char *provider_suggestion(const struct provider_call *call, const struct error *err) NONNULL(1, 2) RETURNS_NONNULL;

/* ---- results (tool_result.c) ---- */

/* Answers with the part of the reply that the tool shows, as text and as structured content, within the response budget. */
void provider_answer_body(struct provider_call *call) NONNULL(1);

/* ---- resources, prompts, completion (resources_prompts.c) ---- */

void provider_texts_init(struct catalogue_provider *catalogue) NONNULL(1);
void provider_resources_read(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
void provider_prompts_get(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
void provider_complete(const struct catalogue_provider *catalogue, struct mcp_request *request) NONNULL(1, 2);
