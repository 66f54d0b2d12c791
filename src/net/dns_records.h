/*
 * DNS records: looks up the TXT, MX and CNAME records of a few names. There is no cache,
 * because a caller has often just published the records. All queries run in
 * parallel, and the call blocks its caller for DNS_LOOKUP_MS at most. An answer
 * is no longer than a DNS message, 64 KiB.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"
#include "net/dns.h"

enum { DNS_QUESTIONS_MAX = 32 };

enum dns_record_type { DNS_TXT, DNS_MX, DNS_CNAME };

struct dns_question {
    const char *name; /* lower-case A-labels; labels may begin with an underscore */
    enum dns_record_type type;
    bool is_answered;       /* false: no answer in time, SERVFAIL, a refusal, a referral, or a malformed answer */
    struct text_list found; /* the texts of TXT records, with their strings joined, or the hosts of MX and CNAME records */
};

/* Answers the questions, DNS_QUESTIONS_MAX at most, with memory of the arena. */
void dns_find_records(struct dns *dns, struct arena *arena, struct dns_question *questions, size_t count) NONNULL(1, 2);
