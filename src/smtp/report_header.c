#include "smtp/report_header.h"

#include <string.h>

enum { TOKEN_MAX_CHARS = 200 };

bool smtp_reports_from_name(const char *name, enum smtp_reports *ret_reports)
{
    static const char *const names[] = {
        [SMTP_REPORTS_SES] = "ses",
        [SMTP_REPORTS_SENDGRID] = "sendgrid",
        [SMTP_REPORTS_POSTMARK] = "postmark",
    };
    for (size_t i = SMTP_REPORTS_SES; i < ARRAY_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) {
            *ret_reports = (enum smtp_reports)i;
            return true;
        }
    return false;
}

/* The local part of the Message-ID among the header fields; its size is 0 when there is none of letters, digits, - and _. */
static struct bytes find_token(struct bytes message)
{
    static const char field[] = "\r\nMessage-ID: <";
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *body = message.size > 0 ? memmem(message.data, message.size, "\r\n\r\n", 4) : NULL;
    size_t header_size = body != NULL ? (size_t)(body - message.data) : 0;
    const unsigned char *found = header_size > 0 ? memmem(message.data, header_size, field, strlen(field)) : NULL;
    struct bytes token = { NULL, 0 };
    if (found == NULL)
        return token;
    token.data = found + strlen(field);
    size_t rest = header_size - (size_t)(token.data - message.data);
    while (token.size < rest && token.size <= TOKEN_MAX_CHARS && token.data[token.size] != '\0' &&
           strchr(letters, token.data[token.size]) != NULL)
        token.size++;
    bool is_whole = token.size > 0 && token.size < rest && token.size <= TOKEN_MAX_CHARS && token.data[token.size] == '@';
    return is_whole ? token : (struct bytes){ NULL, 0 };
}

void smtp_report_header_add(enum smtp_reports reports, struct bytes message, struct buf *out)
{
    static const struct {
        const char *before;
        const char *after;
    } fields[] = {
        [SMTP_REPORTS_NONE] = { "", "" },
        [SMTP_REPORTS_SES] = { "X-SES-MESSAGE-TAGS: posthorn=", "\r\n" },
        [SMTP_REPORTS_SENDGRID] = { "X-SMTPAPI: {\"unique_args\":{\"posthorn\":\"", "\"}}\r\n" },
        [SMTP_REPORTS_POSTMARK] = { "X-PM-Metadata-posthorn: ", "\r\n" },
    };
    struct bytes token = reports != SMTP_REPORTS_NONE ? find_token(message) : (struct bytes){ NULL, 0 };
    if (token.size == 0)
        return;
    buf_add_text(out, fields[reports].before);
    buf_add(out, token.data, token.size);
    buf_add_text(out, fields[reports].after);
}
