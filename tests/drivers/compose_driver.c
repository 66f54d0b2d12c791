/*
 * Composes messages for message_roundtrip.mjs: JSON lines in, JSON lines out.
 *
 *     {"from": {"name", "address"}, "replyTo", "to": {…}, "subject", "text"?, "html"?, "dateUs", "messageId",
 *      "headers": [["name", "value"], …]}
 *     → {"bytes": "…"} or {"error": "…", "param": "…"}
 */
#include "json_lines.h"
#include "mail/message.h"

#include <string.h>

enum { MAX_LINE_BYTES = 16 * 1024 * 1024, MAX_HEADERS = 16 };

static struct mailbox read_mailbox(const json_t *object)
{
    return (struct mailbox){ .name = json_get_text(object, "name"), .address = json_get_text(object, "address") };
}

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static size_t read_headers(const json_t *list, struct header ret_headers[MAX_HEADERS])
{
    size_t count = json_array_size(list) < MAX_HEADERS ? json_array_size(list) : MAX_HEADERS;
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(list, i);
        ret_headers[i] = (struct header){ .name = json_string_value(json_array_get(pair, 0)),
                                          .value = json_string_value(json_array_get(pair, 1)) };
    }
    return count;
}

static bool compose(struct arena *arena, const json_t *request, struct buf *out, struct error *err)
{
    struct header headers[MAX_HEADERS];
    const struct message_common common = {
        .from = read_mailbox(json_object_get(request, "from")),
        .reply_to = { .address = json_get_text(request, "replyTo") },
    };
    const struct message message = {
        .to = read_mailbox(json_object_get(request, "to")),
        .subject = json_get_text(request, "subject"),
        .text = json_get_text(request, "text"),
        .text_size = text_size(json_get_text(request, "text")),
        .html = json_get_text(request, "html"),
        .html_size = text_size(json_get_text(request, "html")),
        .date_us = json_get_int(request, "dateUs", 0),
        .message_id = json_get_text(request, "messageId"),
        .headers = headers,
        .header_count = read_headers(json_object_get(request, "headers"), headers),
    };
    struct message_plan *plan = NULL;
    return message_plan_new(arena, &common, &plan, err) && message_compose(plan, &message, arena, out, err);
}

static bool answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    struct buf *message = buf_in_arena(arena, (size_t)MESSAGE_MAX_BYTES);
    if (!compose(arena, request, message, err))
        return false;
    json_key(json, "bytes");
    json_bytes(json, message->data, message->size);
    return true;
}

int main(void)
{
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = answer });
    return 0;
}
