/*
 * DNS messages: walks over the answers of a message from the network (RFC 1035
 * §4.1), and checks what c-ares does not check: that a name has at most 255
 * octets. With pointers, a message of 64 KB can have two thousand names that are
 * each half as long as the message. No allocation; any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct dns_record {
    unsigned type;
    int64_t ttl_s;
    long name_at; /* the place of the name in its data, for CNAME and MX */
};

/* The rest of the answers of a message. */
struct dns_message {
    const unsigned char *bytes;
    long size;
    long at;
    unsigned left; /* records */
};

/* Whether the message has its questions and answers, and all their names and those of CNAME and MX are within the bounds. Call it
 * before any function of c-ares reads the message. */
bool dns_message_is_valid(const unsigned char *bytes, int size) NONNULL(1) PURE;

/* Begins at the first answer; false when the message is not valid. */
MUST_CHECK bool dns_message_begin(const unsigned char *bytes, int size, struct dns_message *ret_message) NONNULL(1, 3);
/* The next answer; false after the last one. */
MUST_CHECK bool dns_message_next(struct dns_message *message, struct dns_record *ret_record) NONNULL(1, 2);
