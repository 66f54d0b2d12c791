#include "mcp/rpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool set_fault(const char **ret_fault, const char *fault)
{
    *ret_fault = fault;
    return false;
}

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static bool read_response(const json_t *json, struct rpc_message *message, const char **ret_fault)
{
    message->kind = RPC_RESPONSE;
    message->result = json_object_get(json, "result");
    message->error = json_object_get(json, "error");
    if ((message->result == NULL) == (message->error == NULL))
        return set_fault(ret_fault, "A message must have a method, or exactly one of result and error.");
    if (message->error != NULL && !json_is_object(message->error))
        return set_fault(ret_fault, "error must be an object.");
    return true;
}

bool rpc_read(const json_t *json, struct rpc_message *ret_message, const char **ret_fault)
{
    *ret_message = (struct rpc_message){ 0 };
    if (!json_is_object(json))
        return set_fault(ret_fault, "A message must be an object.");

    const json_t *id = json_object_get(json, "id");
    if (is_id(id))
        ret_message->id = id;
    const json_t *version = json_object_get(json, "jsonrpc");
    if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
        return set_fault(ret_fault, "jsonrpc must be \"2.0\".");
    if (id != NULL && ret_message->id == NULL)
        return set_fault(ret_fault, "id must be a string or an integer.");

    const json_t *method = json_object_get(json, "method");
    if (method == NULL) {
        if (id == NULL)
            return set_fault(ret_fault, "method is missing.");
        return read_response(json, ret_message, ret_fault);
    }
    if (!json_is_string(method))
        return set_fault(ret_fault, "method must be a string.");
    ret_message->kind = id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    ret_message->method = json_string_value(method);
    ret_message->params = json_object_get(json, "params");
    if (ret_message->params != NULL && !json_is_object(ret_message->params))
        return set_fault(ret_fault, "params must be an object.");
    return true;
}

void rpc_write_id(struct buf *out, const json_t *id)
{
    if (json_is_string(id)) {
        json_quote(out, json_string_value(id), json_string_length(id));
        return;
    }
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    buf_add(out, digits, (size_t)length);
}

void rpc_result_open(struct buf *out, const json_t *id)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    rpc_write_id(out, id);
    buf_add_text(out, ",\"result\":");
}

void rpc_error(struct buf *out, const json_t *id, int code, const char *message, const char *data_json)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",");
    if (id != NULL) {
        buf_add_text(out, "\"id\":");
        rpc_write_id(out, id);
        buf_add_char(out, ',');
    }
    buf_printf(out, "\"error\":{\"code\":%d,\"message\":", code);
    json_quote(out, message, strlen(message));
    if (data_json != NULL) {
        buf_add_text(out, ",\"data\":");
        buf_add_text(out, data_json);
    }
    buf_add_text(out, "}}");
}

bool rpc_ids_equal(const json_t *left, const json_t *right)
{
    if (json_is_integer(left) && json_is_integer(right))
        return json_integer_value(left) == json_integer_value(right);
    if (json_is_string(left) && json_is_string(right))
        return strcmp(json_string_value(left), json_string_value(right)) == 0;
    return false;
}
