/*
 * The DNS records by which a sending domain shows that mail in its name is its
 * own: its DKIM keys (RFC 6376 §3.6.1), and what else receivers look for.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/domains.h"

enum domain_record_state { DOMAIN_RECORD_USED, DOMAIN_RECORD_WAITING, DOMAIN_RECORD_SUGGESTED };

struct domain_record {
    const char *purpose;            /* dkim, spf, dmarc, bounce */
    enum domain_record_state state; /* used or waiting for keys; suggested for what has to be adapted */
    const char *name;
    const char *type;     /* TXT or MX */
    const char *value;    /* capitals in <> stand for what only the operator knows */
    int priority;         /* of an MX, else 0 */
    const char *key_kind; /* rsa or ed25519, with the public key in base64; NULL when it is not the record of a key */
    const char *public_key;
    const char *note;  /* one sentence; NULL for none */
    bool is_published; /* when the DNS was last asked */
};

struct domain_records {
    const struct domain_record *items;
    size_t count;
};

/* The records of a domain: those of its keys, which can be published as they are, then suggestions. None for a sandbox domain. */
struct domain_records domain_records_of(struct arena *arena, const struct domain_row *domain) NONNULL(1, 2);

const char *domain_record_state_name(enum domain_record_state state) RETURNS_NONNULL;

/* What names a record among those found at the last look. */
char *domain_record_place(struct arena *arena, const struct domain_record *record) NONNULL(1, 2) RETURNS_NONNULL;

enum { TXT_STRING_MAX_BYTES = 255 }; /* RFC 1035 §3.3 */

/* The character strings that a TXT value is cut into; readers join them without a blank (RFC 6376 §3.6.2.2). */
struct text_list domain_txt_strings(struct arena *arena, const char *value) NONNULL(1, 2);
