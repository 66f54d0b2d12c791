/*
 * The parts of a spam filter's client. Internal to the spam check.
 */
#pragma once

#include "spam/spam.h"

#include <pthread.h>

enum { SPAM_SCORE_MAX = 1000000 };

enum spam_kind { SPAM_SPAMD, SPAM_RSPAMD };

struct spam_filter {
    enum spam_kind kind;
    char *named; /* the value of --spam */
    char *url;   /* http://HOST:PORT, also of spamd */

    pthread_mutex_t lock; /* protects the rest */
    char version[SPAM_NAME_MAX_BYTES];
    int64_t version_us; /* when spamd told it, clock_monotonic_us; 0: never */
};

/* Records SERVICE_UNAVAILABLE with a reason, which is a part of a sentence. It has the value false. */
#define spam_fail(err, ...)                                                                                                        \
    __extension__({                                                                                                                \
        spam_record_failure((err), __FILE__, __LINE__, __VA_ARGS__);                                                               \
        false;                                                                                                                     \
    })
void spam_record_failure(struct error *err, const char *file, int line, const char *format, ...) NONNULL(1, 2, 4) PRINTF_LIKE(4, 5);

void spam_init_libcurl(void);

/* What a code of libcurl (CURLcode) says about the connection, as a part of a sentence. */
const char *spam_connection_problem(int code) RETURNS_NONNULL;

bool spam_is_stopped(const struct spam_patience *patience) NONNULL(1);

/* A text of the filter for people: visible characters only, and bounded. */
const char *spam_text(struct arena *arena, const char *text, size_t max_chars) NONNULL(1, 2) RETURNS_NONNULL;

bool spam_is_rule_name(const char *text) NONNULL(1) PURE;
bool spam_is_score(double score);

/* Why a rule says nothing about the design (transport_rules.c): it is about the way of a message that was not delivered yet, or a
 * notice for the operator. NULL: it counts. */
const char *spam_rule_left_out(enum spam_kind kind, const char *name) NONNULL(2);

/* ---- spamd (spamd.c, spamd_answer.c) ---- */

/* `rules` holds SPAM_RULES_MAX; they are those of the verdict. */
MUST_CHECK bool spamd_check(const struct spam_filter *filter, struct arena *arena, struct bytes message,
                            struct spam_patience patience, struct spam_verdict *ret_verdict, struct spam_rule *rules,
                            struct error *err) NONNULL(1, 2, 5, 6, 7);
MUST_CHECK bool spamd_ping(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience, struct error *err)
    NONNULL(1, 2, 4);
/* `*ret_version` is NULL when the operator has taken it out of the headers that spamd adds. */
MUST_CHECK bool spamd_version(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience,
                              const char **ret_version, struct error *err) NONNULL(1, 2, 4, 5);

/* One answer of spamd, checked: its length is as it says, and its status is success. */
struct spamd_answer {
    const char *first_line;
    bool has_verdict; /* it has the header Spam */
    bool is_spam;
    double score;
    double threshold;
    const char *body; /* NUL-terminated */
    bool has_body;    /* it has the header Content-length */
};
MUST_CHECK bool spamd_answer_read(struct arena *arena, const char *bytes, size_t size, struct spamd_answer *ret_answer,
                                  struct error *err) NONNULL(1, 2, 4, 5);

/* The rules of a report, SPAM_RULES_MAX at most. False: the report has no table of rules. */
bool spamd_report_read(struct arena *arena, const char *report, struct spam_rule *rules, size_t *ret_count) NONNULL(1, 2, 3, 4);

/* ---- rspamd (rspamd.c, rspamd_answer.c) ---- */

MUST_CHECK bool rspamd_check(const struct spam_filter *filter, struct arena *arena, struct bytes message,
                             struct spam_patience patience, struct spam_verdict *ret_verdict, struct spam_rule *rules,
                             struct error *err) NONNULL(1, 2, 5, 6, 7);
MUST_CHECK bool rspamd_ping(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience,
                            const char **ret_version, struct error *err) NONNULL(1, 2, 4, 5);

/* The verdict in the JSON of an answer. */
MUST_CHECK bool rspamd_answer_read(struct arena *arena, const char *bytes, size_t size, struct spam_verdict *ret_verdict,
                                   struct spam_rule *rules, struct error *err) NONNULL(1, 2, 4, 5, 6);
