/*
 * One request of a fetch: a hop on the way to an address. Internal to the fetch
 * (net/fetch.c), which decides which hop comes next.
 */
#pragma once

#include "base/buf.h"
#include "net/fetch.h"

#include <curl/curl.h>

enum { FETCH_MAX_PARALLEL = 32, FETCH_URL_MAX_BYTES = 8192, FETCH_CONTENT_TYPE_BYTES = 160 };

/* The fetch of one address. A slot is reused for the next address. */
struct transfer {
    struct fetch *fetch;
    CURL *curl;
    size_t index;
    CURLU *url; /* of this hop */
    unsigned redirects;
    long redirect_status; /* of the first one */
    int64_t started_us;   /* monotonic, as the other times here */
    int64_t waited_us;    /* for the turn of its hosts */
    int64_t until_us;
    char *host;      /* of this hop, of libcurl; NULL unless there is one request for each host */
    bool is_running; /* a request is under way */
    bool is_waiting; /* for the turn of `host`, since waiting_us */
    int64_t waiting_us;
    bool uses_get; /* the server refuses HEAD */
    struct buf body;
    size_t header_bytes;
    long status;
    char location[FETCH_URL_MAX_BYTES];
    char content_type[FETCH_CONTENT_TYPE_BYTES];
    char *final_url; /* of libcurl; NULL: not asked for */
    bool is_compressed;
    bool address_refused;
    bool address_allowed; /* a name can have addresses of both kinds */
    bool was_stopped;     /* by a callback of fetch_hop.c, which set the outcome */
    struct fetch_answer answer;
};

struct fetch {
    const struct fetch_config *config;
    const char *const *urls;
    size_t count;
    size_t next;  /* every address before it is started */
    char **hosts; /* of libcurl; NULL unless there is one request for each host */
    bool *are_started;
    CURLM *multi;
    struct transfer slots[FETCH_MAX_PARALLEL];
    unsigned running;
    size_t total_bytes;
    int64_t until_us;
    int64_t asked_us; /* should_stop, last */
    bool is_over;     /* the common deadline has passed, or should_stop returned true */
};

void hop_set_outcome(struct transfer *transfer, enum fetch_outcome outcome, const char *reason) NONNULL(1, 3);
void hop_set_failure(struct transfer *transfer, enum fetch_cause cause, const char *reason) NONNULL(1, 3);

/* The outcome of a transfer that no callback has stopped. */
void hop_set_outcome_of_code(struct transfer *transfer, CURLcode code) NONNULL(1);

/* Writes the address of the hop into the answer. */
void hop_set_final_url(struct transfer *transfer) NONNULL(1);

/* Sets the address of the next hop; `text` is absolute or relative to the current hop. False: the outcome is set. */
bool hop_set_target(struct transfer *transfer, const char *text) NONNULL(1, 2);

/* Starts the request. */
void hop_start(struct transfer *transfer) NONNULL(1);
