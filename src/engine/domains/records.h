/*
 * The DNS records by which a sending domain shows that mail in its name is its
 * own: its DKIM keys (RFC 6376 §3.6.1), and what else receivers look for.
 */
#pragma once

#include "engine/engine.h"

struct domain_record {
    const char *purpose; /* dkim, spf, dmarc, bounce */
    const char *state;   /* used or waiting for keys; suggested for what has to be adapted */
    const char *name;
    const char *type;
    const char *value; /* "" with capitals in <> stands for what only the operator knows */
    const char *note;  /* one sentence; NULL for none */
};

struct domain_records {
    const struct domain_record *items;
    size_t count;
};

/* The records of a domain: those of its keys, which can be published as they are, then suggestions. work->brand_id is its brand. */
MUST_CHECK bool domain_records_list(const struct work *work, int64_t domain_id, const char *domain,
                                    struct domain_records *ret_records, struct error *err) NONNULL(1, 3, 4, 5);

enum { TXT_STRING_MAX_BYTES = 255 }; /* RFC 1035 §3.3 */

/* The character strings that a TXT value is cut into; readers join them without a blank (RFC 6376 §3.6.2.2). */
struct text_list domain_txt_strings(struct arena *arena, const char *value) NONNULL(1, 2);
