#include "mcp/headers.h"

#include "base/text.h"

#include <string.h>

static const char BASE64_PREFIX[] = "=?base64?";
static const char BASE64_SUFFIX[] = "?=";

static bool refuse_header(struct arena *arena, const char *header, const char *reason, const char **ret_fault)
{
    *ret_fault = arena_printf(arena, "Header %s %s.", header, reason);
    return false;
}

/* Decodes the value of a header, without surrounding white space (RFC 9110 §5.5). NULL when it is malformed. */
static const char *decode_header(struct arena *arena, const char *raw)
{
    char *value = text_trim(arena, raw);
    size_t size = strlen(value);
    size_t frame = sizeof(BASE64_PREFIX) - 1 + sizeof(BASE64_SUFFIX) - 1;
    if (size < frame || !text_starts_with(value, BASE64_PREFIX) || strcmp(value + size - 2, BASE64_SUFFIX) != 0)
        return value;
    value[size - 2] = '\0';
    size_t decoded_size = 0;
    unsigned char *decoded = base64_decode(arena, value + sizeof(BASE64_PREFIX) - 1, &decoded_size);
    if (decoded == NULL || !utf8_is_valid((const char *)decoded, decoded_size))
        return NULL;
    return arena_dup_bytes(arena, decoded, decoded_size);
}

static bool header_repeats(struct arena *arena, const struct mcp_headers *headers, const char *header, const char *expected,
                           const char **ret_fault)
{
    const char *raw = headers->get(headers->headers, header);
    if (raw == NULL)
        return refuse_header(arena, header, "is missing", ret_fault);
    const char *value = decode_header(arena, raw);
    if (value == NULL)
        return refuse_header(arena, header, "is not well-formed", ret_fault);
    if (strcmp(value, expected) != 0)
        return refuse_header(arena, header, "differs from the body", ret_fault);
    return true;
}

/* The form of an argument in a header: text unchanged, other scalars as JSON. */
static const char *argument_text(struct arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        return arena_printf(arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value))
        return arena_printf(arena, "%.15g", json_real_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    return NULL;
}

static bool arguments_match(const struct mcp_request *request, const struct mcp_headers *headers, const char *tool,
                            const char **ret_fault)
{
    const struct mcp_provider *provider = request->server->provider;
    if (provider->header_argument == NULL)
        return true;
    const json_t *arguments = json_object_get(request->params, "arguments");
    const char *header = NULL;
    const char *argument = NULL;
    for (unsigned i = 0; provider->header_argument(provider, tool, i, &header, &argument); i++) {
        const char *expected = argument_text(request->arena, json_object_get(arguments, argument));
        if (expected == NULL) {
            if (headers->get(headers->headers, header) != NULL)
                return refuse_header(request->arena, header, "names an argument that the body does not have", ret_fault);
            continue;
        }
        if (!header_repeats(request->arena, headers, header, expected, ret_fault))
            return false;
    }
    return true;
}

bool mcp_headers_match(const struct mcp_request *request, const struct mcp_headers *headers, const char *name_member,
                       const char **ret_fault)
{
    struct arena *arena = request->arena;
    if (!header_repeats(arena, headers, "Mcp-Method", request->message.method, ret_fault))
        return false;
    if (name_member == NULL)
        return true;
    const char *name = json_string_value(json_object_get(request->params, name_member));
    if (name == NULL)
        return true; /* the method refuses it as a wrong parameter */
    if (!header_repeats(arena, headers, "Mcp-Name", name, ret_fault))
        return false;
    return request->method != MCP_TOOLS_CALL || arguments_match(request, headers, name, ret_fault);
}
