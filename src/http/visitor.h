/*
 * Visitor: the client of a request without a credential. Its requests count
 * against the address gate, except those whose address is not known: of a proxy
 * that does not name its client. A peer on this machine is taken for a proxy
 * without an option, because nobody else can be one.
 */
#pragma once

#include "http/address_gate.h"
#include "http/exchange.h"

enum {
    VISITOR_UNITS_OF_REQUEST = 1,
    VISITOR_UNITS_OF_WRONG_LINK = 50, /* a wrong link or proof costs as many tokens as 50 requests */
};

struct visitor {
    bool is_counted;
    bool is_judged; /* visitor_admit has counted the request */
    bool has_rate;  /* its result */
    struct gate_address address;
};

struct visitor visitor_of(const struct http_exchange *exchange) NONNULL(1);

/* Counts a request, or a wrong link. False when the visitor has no units left. */
bool visitor_take(const struct http_exchange *exchange, const struct visitor *visitor, int64_t units) NONNULL(1, 2);

/* Counts the request at its first call, before or after the body. False when the visitor had no units left. */
bool visitor_admit(const struct http_exchange *exchange, struct visitor *visitor) NONNULL(1, 2);

/* The address by which the memory of an unknown caller is counted, as a number: that of the peer, or of the client that a trusted
 * proxy, or one on this machine, names. 0: unknown. */
uint64_t visitor_number(const struct http_exchange *exchange) NONNULL(1);

/* The address of the client as text: that of the peer, or of the client that a trusted proxy, or one on this machine, reports. NULL
 * when it is unknown. */
const char *visitor_address(const struct http_exchange *exchange) NONNULL(1);
