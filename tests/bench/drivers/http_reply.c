#include "http_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHUNKED_BODY_MAX_BYTES = 1024 * 1024 };

static const char *find(const char *from, const char *end, const char *text)
{
    return memmem(from, (size_t)(end - from), text, strlen(text));
}

/* The value of a header line that starts with `name` and a colon; NULL when the line is another. */
static const char *value_of(const char *line, const char *line_end, const char *name)
{
    size_t name_size = strlen(name);
    if ((size_t)(line_end - line) <= name_size || line[name_size] != ':' || strncasecmp(line, name, name_size) != 0)
        return NULL;
    const char *value = line + name_size + 1;
    while (value < line_end && *value == ' ')
        value++;
    return value;
}

/* Joins the chunks from `at` into the parser's buffer. True when the last chunk has come and nothing follows it. */
static bool join_chunks(const char *at, const char *end, struct http_reply *reply, const char **ret_problem)
{
    static char body[CHUNKED_BODY_MAX_BYTES];
    size_t body_size = 0;
    for (;;) {
        const char *line_end = find(at, end, "\r\n");
        if (line_end == NULL)
            return false;
        size_t chunk_size = strtoul(at, NULL, 16);
        const char *data = line_end + 2;
        if (chunk_size > sizeof(body) - body_size) {
            *ret_problem = "the chunked body is too large";
            return false;
        }
        if ((size_t)(end - data) < chunk_size + 2)
            return false;
        if (chunk_size == 0) {
            if (data + 2 != end)
                *ret_problem = "there are bytes after the last chunk";
            reply->body = body;
            reply->body_size = body_size;
            return data + 2 == end;
        }
        memcpy(body + body_size, data, chunk_size);
        body_size += chunk_size;
        at = data + chunk_size + 2;
    }
}

bool http_reply_parse(const char *bytes, size_t size, struct http_reply *ret_reply, const char **ret_problem)
{
    const char *end = bytes + size;
    const char *head_end = find(bytes, end, "\r\n\r\n");
    if (head_end == NULL)
        return false;
    if (strncmp(bytes, "HTTP/1.1 ", 9) != 0) {
        *ret_problem = "it is not HTTP/1.1";
        return false;
    }

    *ret_reply = (struct http_reply){ .status = (int)strtol(bytes + 9, NULL, 10), .body = head_end + 4 };
    bool chunked = false;
    bool has_length = false;
    for (const char *line = find(bytes, end, "\r\n") + 2; line < head_end;) {
        const char *line_end = find(line, end, "\r\n");
        const char *value;
        if ((value = value_of(line, line_end, "Content-Length")) != NULL) {
            ret_reply->body_size = strtoul(value, NULL, 10);
            has_length = true;
        } else if ((value = value_of(line, line_end, "Transfer-Encoding")) != NULL) {
            chunked = strncasecmp(value, "chunked", 7) == 0;
        } else if ((value = value_of(line, line_end, "Mcp-Session-Id")) != NULL) {
            ret_reply->session = value;
            ret_reply->session_size = (size_t)(line_end - value);
        }
        line = line_end + 2;
    }

    if (chunked)
        return join_chunks(ret_reply->body, end, ret_reply, ret_problem);
    if (!has_length)
        *ret_problem = "it tells no length";
    else if ((size_t)(end - ret_reply->body) > ret_reply->body_size)
        *ret_problem = "there are bytes after the body";
    return *ret_problem == NULL && (size_t)(end - ret_reply->body) == ret_reply->body_size;
}
