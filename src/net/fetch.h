/*
 * Fetch: an HTTP client for untrusted addresses, protected against SSRF. It
 * fetches several addresses in parallel by GET and reports each as it arrives.
 *
 * Guarantees:
 * - only http and https, web ports and public addresses. net/guard_address.h
 *   checks each socket before it connects, so that redirects and DNS rebinding
 *   are covered
 * - no proxy, cookies, credentials or caches; TLS is verified
 * - redirects are followed here and counted
 * - bytes are counted while they stream, for each address and for all together
 * - compressed responses are refused, so that no small response expands
 * - one deadline for each address and one for all
 *
 * A call blocks its caller on one thread and leaves no state.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fetch_outcome {
    FETCH_OK,
    FETCH_REFUSED, /* its server, or one it redirects to, is not on the public internet; no connection was made */
    FETCH_FAILED,  /* scheme, port, credentials, name, connection, TLS, a status but 200, redirects, compressed, cut short */
    FETCH_TOO_LARGE,
    FETCH_TOO_SLOW,
};

/* Why FETCH_FAILED or FETCH_TOO_SLOW, for callers that tell these causes apart. */
enum fetch_cause {
    FETCH_CAUSE_OTHER,
    FETCH_CAUSE_ADDRESS,     /* this client fetches no such address: scheme, port, credentials, not valid */
    FETCH_CAUSE_NAME,        /* the name of the server cannot be resolved */
    FETCH_CAUSE_CONNECTION,  /* no connection, or a response that is not one */
    FETCH_CAUSE_CERTIFICATE, /* no trusted TLS connection */
    FETCH_CAUSE_REDIRECTS,   /* more than max_redirects */
    FETCH_CAUSE_NOT_ASKED,   /* all together took too long before its turn came, also that of a redirect */
};

enum { FETCH_REASON_BYTES = 120 };

struct fetch_answer {
    enum fetch_outcome outcome;
    char reason[FETCH_REASON_BYTES]; /* the failure as a part of a sentence, without addresses; "" for FETCH_OK */
    const unsigned char *bytes;      /* of FETCH_OK; valid until the callback returns */
    size_t size;
    const char *url;          /* of FETCH_OK: the address after redirects; valid as long as `bytes` */
    const char *content_type; /* of FETCH_OK: "" when the response has none; valid as long as `bytes` */
    long status;              /* of the last response; 0: none */
    enum fetch_cause cause;
    unsigned redirects;   /* followed */
    long redirect_status; /* of the first redirect; 0: none */
    const char *host;     /* the last host that was asked, in A-labels; with one_per_host only, and valid as long as `bytes` */
    int64_t took_ms;      /* without waiting for its turn */
};

struct fetch_config {
    size_t max_bytes;       /* of one */
    size_t max_total_bytes; /* of all together */
    int64_t each_ms;        /* redirects included */
    int64_t all_ms;
    unsigned max_parallel;
    unsigned max_redirects;
    const char *user_agent; /* NULL: that of the fetcher of images */
    bool asks_status;       /* only the status is wanted: HEAD, and GET where a server refuses that. Any status is FETCH_OK */
    bool one_per_host;      /* one request to each host at a time, redirects included */
    bool allow_loopback;    /* DANGEROUS, for tests: allows 127.0.0.0/8, ::1 and any port too */

    /* Called once for each address, in the order of arrival; `index` is its index in `urls`. */
    void (*arrived)(void *context, size_t index, const struct fetch_answer *answer);
    /* Called before a redirect is followed. False ends the address with FETCH_CAUSE_ADDRESS. May be NULL. */
    bool (*may_follow)(void *context, const char *url);
    /* Called about twice a second. True ends the call; the unfinished addresses are FETCH_TOO_SLOW. May be NULL. */
    bool (*should_stop)(void *context);
    void *context;
};

/* The default bounds: 15 MB and 15 s each, 50 MB and 60 s together, 8 at a time, 5 redirects. */
struct fetch_config fetch_config_default(void);

void fetch_all(const struct fetch_config *config, const char *const *urls, size_t count) NONNULL(1);
