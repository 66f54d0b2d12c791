/*
 * Records: what the DNS holds under a few names, now. Nothing is cached here:
 * whoever asks has often just published. All questions are asked at once, each
 * for DNS_LOOKUP_MS at most; the call blocks its caller that long. An answer is
 * no longer than a DNS message, 64 KiB.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"
#include "net/dns.h"

enum { DNS_QUESTIONS_MAX = 32 };

enum dns_record_type { DNS_TXT, DNS_MX };

struct dns_question {
    const char *name; /* lower-case A-labels; labels may begin with an underscore */
    enum dns_record_type type;
    bool is_answered;       /* false: no answer in time, SERVFAIL, a refusal, a referral, or one that cannot be read */
    struct text_list found; /* the texts of TXT records, their strings joined; the hosts of MX records. None: there are none */
};

/* Answers the questions, DNS_QUESTIONS_MAX at most, with memory of the arena. */
void dns_find_records(struct dns *dns, struct arena *arena, struct dns_question *questions, size_t count) NONNULL(1, 2);
