#include "mail/bounce_text.h"

#include "base/buf.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    TEXT_MAX_BYTES = 64 * 1024,
    LINE_MAX_BYTES = 1000,
    REASON_LEAST_BYTES = 7, /* of the shortest words of says_reason: "blocked" */
};

/* ---- Codes ---- */

static size_t digits_at(const char *text)
{
    size_t count = 0;
    while (count < 3 && isdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* The size of an enhanced code of class 2, 4 or 5 (RFC 3463 §2); 0 when there is none, as in an IP address. */
static size_t enhanced_at(const char *start, const char *at)
{
    bool begins = at == start || (!isalnum((unsigned char)at[-1]) && at[-1] != '.' && at[-1] != '[' && at[-1] != '@');
    if (!begins || strchr("245", *at) == NULL || at[1] != '.')
        return 0;
    size_t subject = digits_at(at + 2);
    if (subject == 0 || at[2 + subject] != '.')
        return 0;
    size_t detail = digits_at(at + 3 + subject);
    const char *end = at + 3 + subject + detail;
    bool is_longer = isalnum((unsigned char)*end) || (*end == '.' && isdigit((unsigned char)end[1]));
    return detail == 0 || is_longer ? 0 : (size_t)(end - at);
}

/* The reply code at `at`, 0 when there is none. It is a word of its own and not the last part of an enhanced code. */
static int code_at(const char *start, const char *at)
{
    bool begins = at == start || strchr(" \t:;,(\"'<[>-=|", at[-1]) != NULL;
    bool is_code = begins && (*at == '4' || *at == '5') && at[1] >= '0' && at[1] <= '7' && isdigit((unsigned char)at[2]);
    if (!is_code || (at[3] != '\0' && strchr(" \t-_:;,)#<]\"'", at[3]) == NULL))
        return 0;
    return (at[0] - '0') * 100 + (at[1] - '0') * 10 + (at[2] - '0');
}

void bounce_text_codes(const char *diagnostic, int *ret_code, char ret_enhanced[MAIL_REPORT_ENHANCED_BYTES])
{
    *ret_code = 0;
    ret_enhanced[0] = '\0';
    for (const char *at = diagnostic; *at != '\0' && (*ret_code == 0 || ret_enhanced[0] == '\0'); at++) {
        size_t size = ret_enhanced[0] == '\0' ? enhanced_at(diagnostic, at) : 0;
        if (size > 0)
            snprintf(ret_enhanced, MAIL_REPORT_ENHANCED_BYTES, "%.*s", (int)size, at);
        else if (*ret_code == 0)
            *ret_code = code_at(diagnostic, at);
    }
}

/* ---- Words ---- */

static bool says(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(text, words[i]) != NULL)
            return true;
    return false;
}

/* Words that tell why a message was not delivered, each of them of a program or a service in use. */
static bool says_reason(const char *text)
{
    static const char *const words[] = {
        "user unknown",
        "unknown user",
        "not recognized",
        "unknown host",
        "host/domain name",
        "no smtp service",
        "no mx record",
        "address is correct",
        "no such user",
        "no such recipient",
        "recipient unknown",
        "unknown recipient",
        "no mailbox",
        "mailbox not found",
        "mailbox unavailable",
        "not found",
        "does not exist",
        "doesn't exist",
        "doesn't have a",
        "unrouteable address",
        "unroutable address",
        "unknown local part",
        "unknown address",
        "address unknown",
        "invalid recipient",
        "mailbox full",
        "mailbox is full",
        "over quota",
        "quota exceeded",
        "quota has been",
        "exceeded the storage",
        "storage limit",
        "no longer active",
        "has been disabled",
        "is disabled",
        "account disabled",
        "no longer on server",
        "is not a valid",
        "not listed",
        "couldn't find any host",
        "could not find any host",
        "host not found",
        "host unknown",
        "name server",
        "connection timed out",
        "retry timeout exceeded",
        "too large",
        "size limit",
        "message refused",
        "rejected",
        "blocked",
        "is unknown",
        "not in my control",
        "not our customer",
        "no valid recipients",
        "too many hops",
        "mail loop",
        "not accepted",
        "is not accepting",
        "has moved",
        "not a known user",
        "final delivery user",
        "unknown to",
        "no account",
        "was inactive",
        "is inactive",
    };
    return says(text, words, ARRAY_COUNT(words));
}

bool bounce_text_is_subject(const char *subject)
{
    static const char *const words[] = {
        "undeliver",
        "undelivered",
        "delivery fail",
        "delivery status",
        "delivery notification",
        "delivery problem",
        "delivery error",
        "failure notice",
        "returned mail",
        "mail delivery",
        "mail failure",
        "failed mail",
        "could not be delivered",
        "couldn't be delivered",
        "non-deliver",
        "nondeliver",
        "mail failed",
        "non deliverable",
        "returning message",
        "unable to deliver",
        "mail could not",
        "mail system error",
        "message delayed",
        "delivery delay",
        "warning: message",
        "not delivered",
        "dsn:",
        "mail error",
        "error sending",
        "message status",
        "unzustellbar",
        "non remis",
        "delivery has failed",
        "unknown user",
        "user unknown",
        "mail returned",
        "message you sent blocked",
    };
    return says(subject, words, ARRAY_COUNT(words));
}

bool bounce_text_is_sender(const char *from)
{
    static const char *const words[] = { "mailer-daemon", "post_master@", "mail delivery",
                                         "postmaster",    "mail-daemon",  "mail administrator" };
    return says(from, words, ARRAY_COUNT(words));
}

/* ---- The lines of a text ---- */

/* The first line of the returned message, or the words in front of it. */
static bool begins_returned_message(const char *line)
{
    static const char *const words[] = {
        "Below this line is a copy",
        "This is a copy of",
        "Original message",
        "Original Message Follows",
        "Unsent message follows",
        "Message header follows",
        "copy of the message, including",
        "Message text follows",
        "Unsent message below",
        "Begin message",
        "message headers follow",
        "returned message",
    };
    static const char *const fields[] = { "Received:", "Return-Path:", "Message-ID:", "MIME-Version:", "DKIM-Signature:" };
    line += strspn(line, "> \t|");
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++)
        if (strncasecmp(line, fields[i], strlen(fields[i])) == 0)
            return true;
    bool is_rule = strncmp(line, "---", 3) == 0 || strncmp(line, "===", 3) == 0 || strncmp(line, "___", 3) == 0;
    return is_rule && says(line, words, ARRAY_COUNT(words));
}

/* Copies the line at *at and moves behind it; false at the end. */
static bool next_line(const char **at, const char *end, char ret_line[LINE_MAX_BYTES + 1])
{
    if (*at >= end)
        return false;
    const char *feed = memchr(*at, '\n', (size_t)(end - *at));
    size_t size = (size_t)((feed != NULL ? feed : end) - *at);
    size_t kept = size < LINE_MAX_BYTES ? size : LINE_MAX_BYTES;
    for (size_t i = 0; i < kept; i++) {
        unsigned char byte = (unsigned char)(*at)[i];
        ret_line[i] = byte < ' ' || byte == 0x7f ? ' ' : (char)byte;
    }
    ret_line[kept] = '\0';
    *at = feed != NULL ? feed + 1 : end;
    return true;
}

size_t bounce_text_size(struct bytes text)
{
    const char *start = (const char *)text.data;
    const char *end = start + (text.size < TEXT_MAX_BYTES ? text.size : TEXT_MAX_BYTES);
    const char *at = start;
    char line[LINE_MAX_BYTES + 1];
    for (const char *line_start = at; next_line(&at, end, line); line_start = at)
        if (begins_returned_message(line))
            return (size_t)(line_start - start);
    return (size_t)(end - start);
}

enum { NO_REASON, CODE = 2, WORDS = 2 };

/* How much a line tells. The subject of our own message is no reason. */
static int rate_line(const char *line)
{
    int code;
    char enhanced[MAIL_REPORT_ENHANCED_BYTES];
    if (strncasecmp(line + strspn(line, " \t>"), "Subject:", 8) == 0)
        return NO_REASON;
    bounce_text_codes(line, &code, enhanced);
    bool has_enhanced = enhanced[0] > '2';
    int rate = code != 0 || has_enhanced ? CODE : NO_REASON;
    rate += code != 0 && has_enhanced;
    bool has_reason = strlen(line) >= REASON_LEAST_BYTES && says_reason(line);
    return has_reason ? rate + WORDS : rate;
}

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t>")] == '\0';
}

/* The line and those that continue it, as one. */
static char *join_lines(struct arena *arena, const char *at, const char *end)
{
    struct buf *joined = buf_in_arena(arena, LINE_MAX_BYTES * 2);
    char line[LINE_MAX_BYTES + 1];
    while (joined->size < MAIL_REPORT_DIAGNOSTIC_MAX_BYTES && next_line(&at, end, line) && !is_blank(line)) {
        if (joined->size > 0)
            buf_add_char(joined, ' ');
        buf_add_text(joined, text_trim(arena, line));
    }
    buf_cut(joined, joined->size < MAIL_REPORT_DIAGNOSTIC_MAX_BYTES ? joined->size : MAIL_REPORT_DIAGNOSTIC_MAX_BYTES);
    char *text = arena_dup(arena, buf_text(joined));
    utf8_drop_malformed(text);
    return text;
}

bool bounce_text_is_certain(struct bytes text)
{
    const char *at = (const char *)text.data;
    const char *end = at + bounce_text_size(text);
    char line[LINE_MAX_BYTES + 1];
    while (next_line(&at, end, line))
        if (rate_line(line) >= CODE + WORDS)
            return true;
    return false;
}

void bounce_text_find(struct arena *arena, struct bytes text, struct bounce_text *ret_found)
{
    const char *at = (const char *)text.data;
    const char *end = at + bounce_text_size(text);
    const char *best = NULL;
    int best_rate = NO_REASON;
    char line[LINE_MAX_BYTES + 1];
    *ret_found = (struct bounce_text){ .diagnostic = NULL };
    for (const char *start = at; next_line(&at, end, line); start = at) {
        int rate = rate_line(line);
        if (rate > best_rate) {
            best = start;
            best_rate = rate;
        }
    }
    if (best == NULL)
        return;
    ret_found->diagnostic = join_lines(arena, best, end);
    bounce_text_codes(ret_found->diagnostic, &ret_found->code, ret_found->enhanced);
}
