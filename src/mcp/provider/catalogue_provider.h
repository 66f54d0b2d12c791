/*
 * The product as a provider of the agent protocol: the tools of the catalogue
 * over api_submit, its resources, prompts and completions. What an operator
 * leaves out at start does not exist for any client. Constant once made; it
 * borrows the api, which must outlive it.
 */
#pragma once

#include "mcp/provider.h"

struct api;
struct mcp_product;

struct mcp_product_config {
    const char *version;          /* of this program */
    const char *toolsets;         /* comma-separated, NULL: all */
    const char *tools;            /* comma-separated names, NULL: all of the toolsets */
    bool read_only;               /* only tools that change nothing */
    size_t response_budget_chars; /* of one result; 0: 40,000 */
};

/* Errors: INVALID_REQUEST (a toolset or tool that does not exist). */
MUST_CHECK bool mcp_product_new(struct api *api, const struct mcp_product_config *config, struct mcp_product **ret_product,
                                struct error *err) NONNULL(1, 2, 3, 4);
void mcp_product_free(struct mcp_product *product);

const struct mcp_provider *mcp_product_provider(const struct mcp_product *product) NONNULL(1) RETURNS_NONNULL;
