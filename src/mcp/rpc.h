/*
 * JSON-RPC 2.0 messages: reads one from a parsed tree, and writes the frame of
 * a result or an error. Ids are strings or integers and are echoed unchanged.
 * Nothing here owns memory: messages point into the tree.
 */
#pragma once

#include "base/buf.h"
#include "base/json_write.h"

#include <jansson.h>
#include <stdbool.h>

/* JSON-RPC 2.0 §5.1, and what MCP 2026-07-28 adds. */
enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_SERVER_ERROR = -32000,      /* an error of the engine outside of a tool call */
    RPC_SESSION_NOT_FOUND = -32001, /* as the official server uses with HTTP 404 */
    RPC_HEADER_MISMATCH = -32020,
    RPC_CAPABILITY_MISSING = -32021,
    RPC_VERSION_UNSUPPORTED = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    enum rpc_kind kind;
    const json_t *id;     /* requests and responses */
    const char *method;   /* requests and notifications */
    const json_t *params; /* object; NULL when absent */
    const json_t *result; /* responses: this */
    const json_t *error;  /* or this */
};

/* Reads one message. False when it is not valid: `ret_fault` is a sentence, and ret_message->id is set when it is readable. */
MUST_CHECK bool rpc_read(const json_t *json, struct rpc_message *ret_message, const char **ret_fault) NONNULL(2, 3);

/* {"jsonrpc":"2.0","id":…,"result": to which the caller adds a value and a closing brace. */
void rpc_result_open(struct buf *out, const json_t *id) NONNULL(1);

/* A complete error message. MCP omits an unknown id where JSON-RPC writes null. `data_json` may be NULL. */
void rpc_error(struct buf *out, const json_t *id, int code, const char *message, const char *data_json) NONNULL(1, 4);

/* An id as JSON text. */
void rpc_write_id(struct buf *out, const json_t *id) NONNULL(1);

/* True when two ids are equal in type and value. */
bool rpc_ids_equal(const json_t *left, const json_t *right) PURE;
