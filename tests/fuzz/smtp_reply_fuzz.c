/*
 * Fuzzes the replies of a relay. The first byte is the size of the chunks in
 * which the rest arrives. Besides not crashing: replies in chunks are those of
 * the whole, each keeps its bounds and is printable, and each has a class.
 */
#include "fuzz.h"
#include "smtp/reply_class.h"
#include "smtp/reply_parser.h"

#include <string.h>

enum { REPLIES_KEPT = 32 };

struct seen {
    struct smtp_reply replies[REPLIES_KEPT];
    size_t count;
    bool is_malformed;
};

static void check_reply(const struct smtp_reply *reply)
{
    char text[40];
    require(reply->code >= 200 && reply->code <= 599);
    require(strlen(reply->text) < SMTP_REPLY_TEXT_BYTES && strlen(reply->enhanced) < SMTP_ENHANCED_BYTES);
    require(reply->enhanced[0] == '\0' || reply->enhanced[0] == '0' + reply->code / 100);
    for (const char *at = reply->text; *at != '\0'; at++)
        require(*at >= ' ' && *at <= '~');
    smtp_reply_describe(reply, "RCPT TO", text, sizeof(text));
    require(strncmp(text, "RCPT TO: ", 9) == 0);
    for (int about_recipient = 0; about_recipient <= 1; about_recipient++) {
        enum smtp_verdict verdict = smtp_classify_reply(reply->code, reply->enhanced, reply->text, about_recipient != 0);
        require(smtp_verdict_name(verdict)[0] != '\0');
        require((verdict == SMTP_VERDICT_ACCEPTED) == (reply->code < 300));
    }
}

static void read_replies(const char *bytes, size_t size, size_t chunk, struct seen *ret_seen)
{
    struct smtp_reply_parser parser;
    smtp_reply_parser_init(&parser);
    *ret_seen = (struct seen){ .count = 0 };
    while (size > 0 && !ret_seen->is_malformed && ret_seen->count < REPLIES_KEPT) {
        size_t left = chunk < size ? chunk : size;
        size -= left;
        while (left > 0 && !ret_seen->is_malformed && ret_seen->count < REPLIES_KEPT) {
            enum smtp_parse_state state = smtp_reply_parse(&parser, &bytes, &left);
            ret_seen->is_malformed = state == SMTP_REPLY_MALFORMED;
            if (state == SMTP_REPLY_READY)
                ret_seen->replies[ret_seen->count++] = parser.reply;
            require(state != SMTP_REPLY_INCOMPLETE || left == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct seen at_once;
    static struct seen in_chunks;
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    read_replies(bytes, size - 1, size, &at_once);
    read_replies(bytes, size - 1, 1 + (size_t)data[0], &in_chunks);
    require(at_once.count == in_chunks.count && at_once.is_malformed == in_chunks.is_malformed);
    for (size_t i = 0; i < at_once.count; i++) {
        check_reply(&at_once.replies[i]);
        require(at_once.replies[i].code == in_chunks.replies[i].code);
        require(strcmp(at_once.replies[i].text, in_chunks.replies[i].text) == 0);
        require(strcmp(at_once.replies[i].enhanced, in_chunks.replies[i].enhanced) == 0);
    }
    return 0;
}
