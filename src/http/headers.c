#include "http/headers.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct header_row {
    const char *name;
    bool unique; /* a proxy and this server could read different ones of two (request smuggling) */
};

static const struct header_row rows[HEADER_COUNT] = {
    [HEADER_ACCEPT] = { "accept", false },
    [HEADER_AUTHORIZATION] = { "authorization", true },
    [HEADER_CONTENT_LENGTH] = { "content-length", true },
    [HEADER_CONTENT_TYPE] = { "content-type", true },
    [HEADER_COOKIE] = { "cookie", true },
    [HEADER_EXPECT] = { "expect", false },
    [HEADER_HOST] = { "host", true },
    [HEADER_IDEMPOTENCY_KEY] = { "idempotency-key", true },
    [HEADER_IF_NONE_MATCH] = { "if-none-match", false },
    [HEADER_LAST_EVENT_ID] = { "last-event-id", true },
    [HEADER_MCP_METHOD] = { "mcp-method", true },
    [HEADER_MCP_NAME] = { "mcp-name", true },
    [HEADER_MCP_PROTOCOL_VERSION] = { "mcp-protocol-version", true },
    [HEADER_MCP_SESSION_ID] = { "mcp-session-id", true },
    [HEADER_ORIGIN] = { "origin", true },
    [HEADER_SEC_FETCH_SITE] = { "sec-fetch-site", true },
    [HEADER_TRANSFER_ENCODING] = { "transfer-encoding", true },
    [HEADER_USER_AGENT] = { "user-agent", false },
    [HEADER_X_API_KEY] = { "x-api-key", true },
    [HEADER_X_BRAND_ID] = { "x-brand-id", true },
    [HEADER_X_FORWARDED_FOR] = { "x-forwarded-for", false },
    [HEADER_X_FORWARDED_HOST] = { "x-forwarded-host", false },
    [HEADER_X_FORWARDED_PROTO] = { "x-forwarded-proto", false },
    [HEADER_X_TWILIO_SIGNATURE] = { "x-twilio-email-event-webhook-signature", true },
    [HEADER_X_TWILIO_TIMESTAMP] = { "x-twilio-email-event-webhook-timestamp", true },
};

/* Headers by length of name: at most four candidates, so that an ordinary request needs few comparisons. */
static const unsigned char by_length[][5] = {
    [4] = { HEADER_HOST },
    [6] = { HEADER_ACCEPT, HEADER_ORIGIN, HEADER_COOKIE, HEADER_EXPECT },
    [8] = { HEADER_MCP_NAME },
    [9] = { HEADER_X_API_KEY },
    [10] = { HEADER_USER_AGENT, HEADER_MCP_METHOD, HEADER_X_BRAND_ID },
    [12] = { HEADER_CONTENT_TYPE },
    [13] = { HEADER_AUTHORIZATION, HEADER_LAST_EVENT_ID, HEADER_IF_NONE_MATCH },
    [14] = { HEADER_CONTENT_LENGTH, HEADER_MCP_SESSION_ID, HEADER_SEC_FETCH_SITE },
    [15] = { HEADER_IDEMPOTENCY_KEY, HEADER_X_FORWARDED_FOR },
    [16] = { HEADER_X_FORWARDED_HOST },
    [17] = { HEADER_TRANSFER_ENCODING, HEADER_X_FORWARDED_PROTO },
    [20] = { HEADER_MCP_PROTOCOL_VERSION },
    [38] = { HEADER_X_TWILIO_SIGNATURE, HEADER_X_TWILIO_TIMESTAMP },
};

enum header header_by_name(const char *name, size_t size)
{
    if (size >= ARRAY_COUNT(by_length))
        return HEADER_UNKNOWN;
    for (const unsigned char *header = by_length[size]; *header != HEADER_UNKNOWN; header++) {
        if (strncasecmp(rows[*header].name, name, size) == 0)
            return *header;
    }
    return HEADER_UNKNOWN;
}

static enum MHD_Result on_header(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value,
                                 size_t value_size)
{
    (void)kind;
    (void)value_size;
    struct header_values *values = context;
    /* Some parsers ignore a header with a blank before the colon, others accept it (RFC 9112 §5.1). */
    if (name_size > 0 && (name[name_size - 1] == ' ' || name[name_size - 1] == '\t'))
        values->contradictory = true;
    enum header header = header_by_name(name, name_size);
    if (header == HEADER_UNKNOWN)
        return MHD_YES;
    /* The last of several X-Forwarded-For lines comes from the nearest proxy; the client may have sent the others. */
    if (values->values[header] == NULL || header == HEADER_X_FORWARDED_FOR)
        values->values[header] = value != NULL ? value : "";
    else if (rows[header].unique)
        values->contradictory = true;
    return MHD_YES;
}

void headers_read(struct MHD_Connection *mhd, struct header_values *ret_values)
{
    *ret_values = (struct header_values){ .contradictory = false };
    MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, on_header, ret_values);
    /* A request with two lengths can be smuggled past a proxy. An unknown encoding has no length (RFC 9112 §6.3). */
    const char *encoding = ret_values->values[HEADER_TRANSFER_ENCODING];
    if (encoding != NULL && (ret_values->values[HEADER_CONTENT_LENGTH] != NULL || strcasecmp(encoding, "chunked") != 0))
        ret_values->contradictory = true;
}

/* ---- Forms of values ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

static const char *skip_space(const char *text)
{
    while (is_space(*text))
        text++;
    return text;
}

static bool range_names(const char *range, size_t size, const char *type, const char *subtype)
{
    const char *slash = memchr(range, '/', size);
    if (slash == NULL)
        return false;
    size_t type_size = (size_t)(slash - range);
    size_t subtype_size = size - type_size - 1;
    bool any_type = type_size == 1 && range[0] == '*';
    bool any_subtype = subtype_size == 1 && slash[1] == '*';
    if (!any_type && (strlen(type) != type_size || strncasecmp(range, type, type_size) != 0))
        return false;
    return any_subtype || (strlen(subtype) == subtype_size && strncasecmp(slash + 1, subtype, subtype_size) == 0);
}

/* True when the parameters up to `end` contain q=0, q=0.0 … */
static bool weight_is_zero(const char *parameters, const char *end)
{
    for (const char *at = parameters; at != NULL && at < end; at = memchr(at, ';', (size_t)(end - at))) {
        at = skip_space(at + 1);
        if (end - at >= 3 && (at[0] == 'q' || at[0] == 'Q') && at[1] == '=')
            return at[2] == '0' && strspn(at + 3, ".0") == strcspn(at + 3, ",; \t");
    }
    return false;
}

bool accept_takes(const char *accept, const char *type, const char *subtype)
{
    if (accept == NULL)
        return true;
    const char *at = accept;
    while (*at != '\0') {
        at = skip_space(at);
        const char *end = at + strcspn(at, ",");
        size_t size = strcspn(at, ",; \t");
        if (range_names(at, size, type, subtype) && !weight_is_zero(memchr(at, ';', (size_t)(end - at)), end))
            return true;
        at = *end == ',' ? end + 1 : end;
    }
    return false;
}

bool content_type_is_json(const char *content_type)
{
    const char *type = skip_space(content_type);
    size_t size = strcspn(type, "; \t");
    const char *rest = skip_space(type + size);
    if (*rest != '\0' && *rest != ';')
        return false;
    static const char prefix[] = "application/";
    static const char suffix[] = "+json";
    if (size <= sizeof(prefix) - 1 || strncasecmp(type, prefix, sizeof(prefix) - 1) != 0)
        return false;
    if (size == strlen("application/json") && strncasecmp(type, "application/json", size) == 0)
        return true;
    return size > sizeof(prefix) - 1 + sizeof(suffix) - 1 &&
           strncasecmp(type + size - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) == 0;
}

const char *bearer_token(const char *authorization)
{
    if (authorization == NULL || strncasecmp(authorization, "Bearer", 6) != 0 || !is_space(authorization[6]))
        return NULL;
    return skip_space(authorization + 7);
}
