/*
 * Fuzzes what the protocol core reads: messages over HTTP in either era, and
 * lines over stdio. The first byte chooses the transport and the era, the rest
 * is the body or the input. Besides not crashing, every exchange finishes once,
 * an answer is JSON-RPC and carries the id of its request, and stdio ends by
 * itself and writes nothing but lines of JSON.
 */
#include "fuzz.h"
#include "mcp/provider.h"
#include "mcp/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 32 * 1024 }; /* a pipe holds it */

enum { OVER_STDIO = 1, MODERN = 2, BATCHES = 4, ONLY_STREAMS = 8 };

/* ---- The provider: everything at once ---- */

static const char *list(const struct mcp_provider *provider, enum mcp_list which, unsigned visibility)
{
    (void)provider;
    (void)which;
    (void)visibility;
    return "[]";
}

static bool prepare(const struct mcp_provider *provider, struct mcp_request *request)
{
    (void)provider;
    (void)request;
    return true;
}

static void start(const struct mcp_provider *provider, struct mcp_request *request)
{
    (void)provider;
    struct json_writer json;
    bool absent = false;
    switch (request->method) {
    case MCP_TOOLS_CALL:
        mcp_log(request, MCP_LOG_ERROR, "{}");
        mcp_progress(request, 1, 2, "half");
        mcp_result_begin(request, &json);
        json_member_bool(&json, "state", mcp_state_open(request, &absent) != NULL);
        mcp_result_end(request, &json);
        return;
    case MCP_RESOURCES_READ:
    case MCP_PROMPTS_GET:
    case MCP_COMPLETE:
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "nothing");
        return;
    case MCP_TOOLS_LIST:
    case MCP_RESOURCES_LIST:
    case MCP_TEMPLATES_LIST:
    case MCP_RESOURCES_SUBSCRIBE:
    case MCP_RESOURCES_UNSUBSCRIBE:
    case MCP_PROMPTS_LIST:
    case MCP_DISCOVER:
    case MCP_INITIALIZE:
    case MCP_PING:
    case MCP_SET_LEVEL:
    case MCP_LISTEN:
    case MCP_NOTIFICATION:
    case MCP_REPLY:
    case MCP_STREAM:
    case MCP_SESSION_DELETE:
        mcp_admit(request, 0);
        return;
    }
}

static bool is_resource(const struct mcp_provider *provider, const char *uri)
{
    (void)provider;
    return uri[0] == 'a';
}

static const struct mcp_provider fuzz_provider = {
    .name = "fuzz",
    .version = "1",
    .features = { .tools_change = true, .resources_subscribe = true, .completions = true, .logging = true },
    .visibility_count = 1,
    .list = list,
    .prepare = prepare,
    .start = start,
    .is_resource = is_resource,
};

/* ---- HTTP ---- */

struct http_part {
    const char *session;
    const char *version;
    const char *method;
    const char *name;
    bool streaming;
    unsigned finished;
    char session_id[64];
    struct buf body;
};

static void on_open(void *data, const char *session_id)
{
    struct http_part *transport = data;
    (void)session_id;
    require(!transport->streaming && transport->finished == 0);
    transport->streaming = true;
}

static bool on_bytes(void *data, const char *bytes, size_t size)
{
    const struct http_part *transport = data;
    require(transport->streaming && transport->finished == 0 && size > 2 && memcmp(bytes + size - 2, "\n\n", 2) == 0);
    return true;
}

static void on_finish(void *data, const struct mcp_answer *answer)
{
    struct http_part *transport = data;
    require(transport->finished++ == 0);
    require(answer->http_status >= 200 && answer->http_status <= 503);
    if (!transport->streaming)
        buf_add(&transport->body, answer->body, answer->body_size);
    if (answer->session_id != NULL)
        snprintf(transport->session_id, sizeof(transport->session_id), "%s", answer->session_id);
}

static const char *header(const void *headers, const char *name)
{
    const struct http_part *transport = headers;
    if (strcmp(name, "Mcp-Session-Id") == 0)
        return transport->session;
    if (strcmp(name, "MCP-Protocol-Version") == 0)
        return transport->version;
    if (strcmp(name, "Mcp-Method") == 0)
        return transport->method;
    return strcmp(name, "Mcp-Name") == 0 ? transport->name : NULL;
}

static void exchange(struct mcp_server *server, struct http_part *transport, const char *body, size_t size, bool only_streams)
{
    static const struct mcp_sink sink = { .stream_open = on_open, .stream_bytes = on_bytes, .finish = on_finish };
    const struct mcp_http_request request = {
        .message_arena = arena_new(0),
        .body = body,
        .body_size = size,
        .accepts_json = !only_streams,
        .accepts_event_stream = true,
        .header = header,
        .headers = transport,
    };
    buf_init(&transport->body, SIZE_MAX);
    struct mcp_http_handler *under_way = mcp_http_handler_new(server, &request, &sink, transport);
    bool immediate = mcp_http_handler_is_immediate(under_way);
    mcp_http_handler_run(under_way);
    require(!immediate || transport->finished == 1);
    mcp_http_handler_release(under_way);
}

static void check_answer(const struct http_part *transport, const json_t *message)
{
    if (transport->body.size == 0)
        return;
    json_t *answer = json_loadb(transport->body.data, transport->body.size, 0, NULL);
    require(answer != NULL);
    if (json_is_object(answer) && json_is_object(message)) {
        json_t *id = json_object_get(message, "id");
        json_t *echoed = json_object_get(answer, "id");
        require(echoed == NULL || json_equal(id, echoed));
        require((json_object_get(answer, "result") != NULL) != (json_object_get(answer, "error") != NULL));
    }
    json_decref(answer);
}

static const char *begin_session(struct mcp_server *server, struct http_part *transport, const char *version)
{
    char body[256];
    int size =
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\"}}", version);
    exchange(server, transport, body, (size_t)size, false);
    buf_done(&transport->body);
    return transport->session_id;
}

static void post(struct mcp_server *server, unsigned char flags, const char *text, size_t size)
{
    struct http_part first = { .session = NULL };
    struct http_part transport = { .session = NULL };
    json_t *message = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if ((flags & MODERN) != 0) {
        json_t *params = json_object_get(message, "params");
        transport.version = "2026-07-28";
        transport.method = json_string_value(json_object_get(message, "method"));
        transport.name = json_string_value(json_object_get(params, json_object_get(params, "uri") != NULL ? "uri" : "name"));
    } else {
        transport.session = begin_session(server, &first, (flags & BATCHES) != 0 ? "2025-03-26" : "2025-11-25");
    }
    exchange(server, &transport, text, size, (flags & ONLY_STREAMS) != 0);
    check_answer(&transport, message);
    buf_done(&transport.body);
    json_decref(message);
}

/* ---- stdio ---- */

static void check_lines(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)size + 1);
    require(text != NULL && pread(fd, text, (size_t)size, 0) == size);
    text[size] = '\0';
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        require(end != NULL);
        json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
        require(json != NULL);
        json_decref(json);
        line = end + 1;
    }
    free(text);
}

static void pipe_through(struct mcp_server *server, const char *text, size_t size)
{
    static const struct credentials owner = { .kind = CREDENTIAL_LOCAL_OWNER };
    int input[2];
    int output = memfd_create("output", MFD_CLOEXEC);
    require(output >= 0 && pipe(input) == 0);
    require(write(input[1], text, size) == (ssize_t)size);
    close(input[1]);
    mcp_stdio_serve(server, &owner, input[0], output);
    check_lines(output);
    close(input[0]);
    close(output);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 1 || size > TEXT_MAX_BYTES)
        return 0;
    static const struct mcp_config config = { .message_max_bytes = 8 * 1024 };
    struct mcp_server *server = mcp_server_new(&fuzz_provider, &config);
    char *text = malloc(size > 1 ? size - 1 : 1); /* ends where the input ends */
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    if ((data[0] & OVER_STDIO) != 0)
        pipe_through(server, text, size - 1);
    else
        post(server, data[0], text, size - 1);
    free(text);
    mcp_server_free(server);
    return 0;
}
