/*
 * Verdicts on the links of a mail: which links a check may request, and what an
 * answer says about a link. Constant tables and the report of the caller; no
 * request is made here.
 *
 * A link is never requested when the request could change something for a
 * reader, or when its address is not the one that a reader gets.
 */
#pragma once

#include "engine/quality/check_report.h"
#include "net/fetch.h"

enum {
    LINK_EACH_MS = 10 * 1000, /* redirects included */
    LINK_ALL_MS = 20 * 1000,
    LINK_SLOW_MS = 5 * 1000,
    LINKS_MAX = 100, /* different addresses that a check requests */
    LINK_REDIRECTS_MAX = 10,
    LINK_REDIRECTS_NOTED = 3, /* more are a finding */
};

enum link_skip {
    LINK_NOT_SKIPPED,
    LINK_HAS_TAG,    /* a merge tag or a tag of Liquid */
    LINK_IS_NO_PAGE, /* mailto, tel, an anchor, a path: no address of the web */
    LINK_MAY_ACT,    /* its address says that it unsubscribes, confirms or changes preferences */
    LINK_SKIPS,
};

struct mail_link {
    const char *href; /* as the design has it */
    const char *text; /* "" when it has none */
};

/* `public_url` is that of the server, whose own links are not requested; NULL: it has none. */
enum link_skip link_skip_of(struct arena *arena, const char *href, const char *public_url) NONNULL(1, 2);

/* Why a link is skipped, as the end of a sentence: "2 links …". NULL for LINK_NOT_SKIPPED. */
const char *link_skip_reason(enum link_skip skip, bool is_one);

/* Adds what the form of the address says: a link without TLS. `answer` NULL: it was not requested. */
void link_judge_form(struct check_report *report, struct arena *arena, const struct mail_link *link,
                     const struct fetch_answer *answer) NONNULL(1, 2, 3);

/* Adds what an answer says about the link. link_judge_name says more about a name that cannot be resolved. */
void link_judge(struct check_report *report, struct arena *arena, const struct mail_link *link, const struct fetch_answer *answer)
    NONNULL(1, 2, 3, 4);

/* `is_gone`: the DNS denies the name; false: it gave no answer. */
void link_judge_name(struct check_report *report, struct arena *arena, const struct mail_link *link, const char *host, bool is_gone)
    NONNULL(1, 2, 3, 4);

/* Adds that the link was not requested. `why` ends the sentence. */
void link_add_unchecked(struct check_report *report, struct arena *arena, const struct mail_link *link, const char *why)
    NONNULL(1, 2, 3, 4);
