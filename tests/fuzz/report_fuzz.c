/*
 * Fuzzes the reader of reports. Besides not crashing: the parts lie inside the message and keep their bounds, what is found is
 * printable UTF-8 within its bounds, every failed report has a class, and reading again finds the same.
 */
#include "base/text.h"
#include "fuzz.h"
#include "inbound/report_class.h"
#include "mail/mime_reader.h"

#include <string.h>

static void check_text(const char *text, size_t max_bytes)
{
    if (text == NULL)
        return;
    size_t size = strlen(text);
    require(size <= max_bytes && utf8_is_valid(text, size));
    for (size_t i = 0; i < size; i++)
        require((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void check_parts(struct arena *arena, struct bytes message)
{
    struct mime_parts parts = mime_read(arena, message);
    require(parts.count >= 1 && parts.count <= MIME_MAX_PARTS && parts.items[0].depth == 0);
    for (size_t i = 0; i < parts.count; i++) {
        const struct mime_part *part = &parts.items[i];
        struct bytes body = mime_body(arena, part, 1000);
        require(part->depth <= MIME_MAX_DEPTH && body.size <= 1000 && part->headers.size <= MIME_HEADERS_MAX_BYTES);
        require(part->body.size == 0 ||
                (part->body.data >= message.data && part->body.data + part->body.size <= message.data + message.size));
        const char *type = mime_header(arena, part->headers, "Content-Type");
        check_text(type, MIME_VALUE_MAX_BYTES);
        if (type != NULL)
            (void)mime_parameter(arena, type, "boundary");
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct mail_report report;
    struct mail_report again;
    struct bytes message = { data, size };
    if (size == 0)
        return 0;
    check_parts(arena, message);
    mail_report_read(arena, message, &report);
    check_text(report.diagnostic, MAIL_REPORT_DIAGNOSTIC_MAX_BYTES);
    check_text(report.recipient, MIME_VALUE_MAX_BYTES);
    check_text(report.list_unsubscribe, MIME_VALUE_MAX_BYTES);
    require(report.message_id_count <= MAIL_REPORT_MAX_MESSAGE_IDS && strlen(report.enhanced) < MAIL_REPORT_ENHANCED_BYTES);
    for (size_t i = 0; i < report.message_id_count; i++)
        check_text(report.message_ids[i], MAIL_REPORT_ID_MAX_BYTES);
    require(report.code == 0 || (report.code >= 400 && report.code < 600));
    require(mail_report_kind_name(report.kind)[0] != '\0' && bounce_class_name(report_class(&report))[0] != '\0');
    mail_report_read(arena, message, &again);
    require(again.kind == report.kind && again.code == report.code && text_equal(again.diagnostic, report.diagnostic));
    return 0;
}
