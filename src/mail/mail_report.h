/*
 * Mail report: reads a message of another mail system about a message of ours. Known forms:
 *
 *     message/delivery-status    RFC 3464: failed, delayed, delivered, relayed or expanded
 *     message/feedback-report    RFC 5965: complaints
 *     plain text                 bounces of servers without RFC 3464
 *     automatic answers          RFC 3834, and the fields and subjects of programs without it
 *
 * It finds the message that is reported by the header fields of the returned part. Everything in a report can be forged; the caller
 * checks the Message-ID or link with the key that made it. No input or output. Texts live in the given arena; they are valid UTF-8
 * without control characters. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <stdbool.h>

enum mail_report_kind {
    MAIL_REPORT_FAILED,
    MAIL_REPORT_DELAYED,
    MAIL_REPORT_DELIVERED, /* also relayed and expanded: nothing failed */
    MAIL_REPORT_COMPLAINT,
    MAIL_REPORT_OPT_OUT, /* a feedback report that asks for no more mail */
    MAIL_REPORT_AUTO_REPLY,
    MAIL_REPORT_OTHER,
};

enum {
    MAIL_REPORT_DIAGNOSTIC_MAX_BYTES = 500,
    MAIL_REPORT_ENHANCED_BYTES = 12,
    MAIL_REPORT_MAX_MESSAGE_IDS = 4,
    MAIL_REPORT_ID_MAX_BYTES = 998,
};

struct mail_report {
    enum mail_report_kind kind;
    const char *recipient;                                /* original or final recipient; NULL: not named */
    int code;                                             /* reply code of SMTP; 0: none */
    char enhanced[MAIL_REPORT_ENHANCED_BYTES];            /* enhanced status code; "": none */
    const char *diagnostic;                               /* at most MAIL_REPORT_DIAGNOSTIC_MAX_BYTES; NULL: none */
    const char *message_ids[MAIL_REPORT_MAX_MESSAGE_IDS]; /* candidates for the Message-ID of our message */
    size_t message_id_count;
    const char *list_unsubscribe; /* the field of our message; NULL: not returned */
};

/* Reads a message of at most MIME_MESSAGE_MAX_BYTES; the rest of a larger one is ignored. */
void mail_report_read(struct arena *arena, struct bytes message, struct mail_report *ret_report) NONNULL(1, 3);

const char *mail_report_kind_name(enum mail_report_kind kind) RETURNS_NONNULL;
