#include "inbound/report_class.h"

#include "smtp/reply_class.h"

#include <string.h>

enum { CODE_PERMANENT = 550, CODE_TEMPORARY = 450 };

/* Many reports name the enhanced code only, which tells whether the failure is permanent. */
static int code_of(const struct mail_report *report)
{
    if (report->enhanced[0] == '4')
        return CODE_TEMPORARY;
    if (report->enhanced[0] == '5' && report->code < 500)
        return CODE_PERMANENT;
    return report->code != 0 ? report->code : CODE_PERMANENT;
}

enum bounce_class report_class(const struct mail_report *report)
{
    const char *text = report->diagnostic != NULL ? report->diagnostic : "";
    /* The server in front gave up after days: the mailbox that was unknown for now stays unknown. */
    bool is_unknown = strcmp(report->enhanced, "4.1.1") == 0;
    int code = is_unknown ? CODE_PERMANENT : code_of(report);
    switch (smtp_classify_reply(code, is_unknown ? "5.1.1" : report->enhanced, text, true)) {
    case SMTP_VERDICT_HARD:
        return BOUNCE_HARD;
    case SMTP_VERDICT_BLOCK:
        return BOUNCE_BLOCK;
    case SMTP_VERDICT_SOFT:
    case SMTP_VERDICT_REFUSED:
    case SMTP_VERDICT_ACCEPTED:
        break;
    }
    return smtp_reply_is_full(report->enhanced, text) ? BOUNCE_MAILBOX_FULL : BOUNCE_REFUSED;
}
