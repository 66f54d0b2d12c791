/*
 * Catalogue provider: serves the product over MCP. It offers the tools of the
 * catalogue through api_submit, and its resources, prompts and completions.
 * Tools that an operator excludes at the start do not exist for any client.
 * Constant once created. It borrows the api, which must outlive it.
 */
#pragma once

#include "mcp/provider.h"

struct api;
struct catalogue_provider;

struct catalogue_provider_config {
    const char *version;          /* of this program */
    const char *toolsets;         /* comma-separated, NULL: all */
    const char *tools;            /* comma-separated names, NULL: all of the toolsets */
    bool read_only;               /* only tools that change nothing */
    size_t response_budget_chars; /* of one result; 0: 40,000 */
    size_t picture_budget_chars;  /* of the picture of one result, in base64; 0: 40,000 */
};

/* Errors: INVALID_REQUEST (a toolset or tool that does not exist). */
MUST_CHECK bool catalogue_provider_new(struct api *api, const struct catalogue_provider_config *config,
                                       struct catalogue_provider **ret_provider, struct error *err) NONNULL(1, 2, 3, 4);
void catalogue_provider_free(struct catalogue_provider *catalogue);

const struct mcp_provider *catalogue_provider_of(const struct catalogue_provider *catalogue) NONNULL(1) RETURNS_NONNULL;
