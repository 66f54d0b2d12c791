/*
 * DNS records of a sending domain, which authenticate its mail: its DKIM keys
 * (RFC 6376 §3.6.1), and suggested records for SPF, DMARC and bounces.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/domains.h"

enum domain_record_state { DOMAIN_RECORD_USED, DOMAIN_RECORD_WAITING, DOMAIN_RECORD_SUGGESTED };

struct domain_record {
    const char *purpose;            /* dkim, spf, dmarc, bounce, click */
    enum domain_record_state state; /* used or waiting: a key; suggested: the operator must adapt it */
    const char *name;
    const char *type;       /* TXT, MX or CNAME */
    const char *value;      /* <CAPITALS> are placeholders for the operator's values */
    int priority;           /* of an MX record, else 0 */
    const char *key_kind;   /* rsa or ed25519; NULL when it is not the record of a key */
    const char *public_key; /* base64 */
    const char *note;       /* one sentence; NULL: none */
    bool is_published;      /* at the last check */
};

struct domain_records {
    const struct domain_record *items;
    size_t count;
};

/* The records of a domain: the DKIM records, which can be published unchanged, then the suggestions. None for a sandbox domain. */
struct domain_records domain_records_of(struct arena *arena, const struct domain_row *domain) NONNULL(1, 2);

/* The records of a domain, and with a public URL the record of its click host: its tracked links then begin with click.DOMAIN. */
struct domain_records domain_records_with_click(const struct work *work, const struct domain_row *domain) NONNULL(1, 2);

const char *domain_record_state_name(enum domain_record_state state) RETURNS_NONNULL;

/* The key of a record in the stored list of published records: its type and name. */
char *domain_record_key(struct arena *arena, const struct domain_record *record) NONNULL(1, 2) RETURNS_NONNULL;

enum { TXT_STRING_MAX_BYTES = 255 }; /* RFC 1035 §3.3 */

/* Splits a TXT value into character strings. Readers join them without white space (RFC 6376 §3.6.2.2). */
struct text_list domain_txt_strings(struct arena *arena, const char *value) NONNULL(1, 2);
