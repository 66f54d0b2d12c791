#include "engine/compose/list_mail.h"

#include "base/text.h"
#include "template/escape.h"

#include <string.h>
#include <strings.h>

/* ---- Headers ---- */

static void list_mail_add_header(struct list_mail *list, const char *name, const char *value)
{
    list->headers[list->header_count++] = (struct header){ name, value };
}

/* Feedback-ID: campaign, brand, class and sender. The sender has 5 to 15 characters and is the same in all its mail. */
static const char *feedback_id(const struct work *work, const struct list_mail_names *names)
{
    const char *sender = strchr(work_id(work, ID_ORG, work->organization_id), '_') + 1;
    const char *campaign = names->send_id != 0 ? work_id(work, ID_SEND, names->send_id) : "test";
    return arena_printf(work->arena, "%s:%s:%s:%s", campaign, work_id(work, ID_BRAND, work->brand_id), names->class_name, sender);
}

static void list_mail_add_headers(const struct work *work, const struct list_mail_names *names, struct list_mail *list)
{
    list_mail_add_header(list, "Precedence", "bulk");
    list_mail_add_header(list, "List-Id",
                         arena_printf(work->arena, "<%s.%s>", work_id(work, ID_BRAND, work->brand_id), names->domain));
    list_mail_add_header(list, "Feedback-ID", feedback_id(work, names));
    /* One-click unsubscribing requires https (RFC 8058 §3.1). */
    if (list->has_link_header && text_starts_with(work->engine->public_url, "https://"))
        list_mail_add_header(list, "List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
}

/* ---- Footer ---- */

static void add_html_line(struct buf *out, const char *text)
{
    template_escape_add(out, TEMPLATE_ESCAPE_HTML_BREAKS, text, strlen(text));
    buf_add_text(out, "<br />");
}

/* The grey has enough contrast on white and on black (WCAG 2.2 §1.4.3). */
static void write_footer(const struct list_mail_names *names, struct buf *html, struct buf *text)
{
    buf_add_text(html, "<div style=\"padding:24px 16px;text-align:center;font:12px/1.5 sans-serif;color:#767676\">");
    buf_add_text(text, "\n--\n");
    const char *const lines[] = { names->brand_name, names->brand_address };
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        if (lines[i] == NULL)
            continue;
        add_html_line(html, lines[i]);
        buf_printf(text, "%s\n", lines[i]);
    }
    buf_add_text(html, "<a style=\"color:#767676\" href=\"");
    buf_add_text(text, "Unsubscribe: ");
}

struct list_mail list_mail_new(const struct work *work, const struct list_mail_names *names)
{
    struct list_mail list = { .has_link_header = work->engine->public_url != NULL };
    struct buf *html = buf_in_arena(work->arena, LIST_MAIL_FOOTER_MAX_BYTES);
    struct buf *text = buf_in_arena(work->arena, LIST_MAIL_FOOTER_MAX_BYTES);
    list_mail_add_headers(work, names, &list);
    write_footer(names, html, text);
    list.html_before = buf_text(html);
    list.html_after = "\">Unsubscribe</a></div>";
    list.text_before = buf_text(text);
    return list;
}

/* The offset of the last "</body"; the size of the text when it has none. */
static size_t body_end(const char *html, size_t size)
{
    static const char close[] = "</body";
    const size_t length = sizeof(close) - 1;
    for (size_t end = size; end >= length;) {
        const char *bracket = memrchr(html, '<', end);
        if (bracket == NULL)
            break;
        end = (size_t)(bracket - html);
        if (size - end >= length && strncasecmp(bracket, close, length) == 0)
            return end;
    }
    return size;
}

void list_mail_insert_at_body_end(struct buf *html, const char *const *pieces, size_t count)
{
    size_t added = 0;
    for (size_t i = 0; i < count; i++)
        added += strlen(pieces[i]);
    if (buf_room(html, added) == NULL)
        return;
    size_t at = body_end(buf_text(html), html->size);
    memmove(html->data + at + added, html->data + at, html->size - at);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(pieces[i]);
        memcpy(html->data + at, pieces[i], size);
        at += size;
    }
    buf_grown(html, added);
}

void list_mail_add_to_html(const struct list_mail *list, const char *link, struct buf *html)
{
    const char *const pieces[] = { list->html_before, link, list->html_after };
    list_mail_insert_at_body_end(html, pieces, ARRAY_COUNT(pieces));
}

void list_mail_add_to_text(const struct list_mail *list, const char *link, struct buf *text)
{
    if (text->size > 0 && text->data[text->size - 1] != '\n')
        buf_add_char(text, '\n');
    buf_add_text(text, list->text_before);
    buf_add_text(text, link);
    buf_add_char(text, '\n');
}
