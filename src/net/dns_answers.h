/*
 * DNS answers: reads the TXT, MX and CNAME records of one DNS message (RFC 1035 §4.1),
 * which comes from the network. Internal to the DNS resolver (net/dns_records).
 * The result belongs to the arena; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <stdbool.h>

/* The texts of TXT records, with the strings of each joined. A record with a NUL is left out. False for a malformed message. */
MUST_CHECK bool dns_read_texts(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
    NONNULL(1, 2, 4);

/* The hosts of MX records, without those of a null MX (RFC 7505). False for a malformed message. */
MUST_CHECK bool dns_read_mail_hosts(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
    NONNULL(1, 2, 4);

/* The targets of CNAME records. False for a malformed message. */
MUST_CHECK bool dns_read_aliases(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
    NONNULL(1, 2, 4);
