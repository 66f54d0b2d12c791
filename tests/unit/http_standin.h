/*
 * Stand-ins for what lies behind the HTTP room, so that its own rules can be
 * tested without a database: an api whose operations answer at once, later,
 * when cancelled or not even then, and an MCP server that does what the message
 * says. Both record what they were asked.
 */
#pragma once

#include "api/call.h"
#include "mcp/server.h"

#include <stdbool.h>

struct api *standin_api_new(void);

/* Ends the calls that ignore cancelling, then joins every thread. */
void standin_api_free(struct api *api);

struct mcp_server *standin_mcp_new(void);
void standin_mcp_free(struct mcp_server *server);

/* Counted since the start of the process. */
unsigned standin_calls(void);
unsigned standin_cancelled(void);
unsigned standin_mcp_released_early(void); /* before finish */
unsigned standin_mcp_alive(void);          /* exchanges made and not released */
