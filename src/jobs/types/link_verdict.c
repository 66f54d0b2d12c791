#include "jobs/types/link_verdict.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    SELECTOR_MAX_BYTES = 300,
    SHOWN_URL_CHARS = 90,
    SHOWN_TEXT_CHARS = 50,
    EARLY_MS = 200, /* a request that ended so much before LINK_EACH_MS was cut by the time of all together */
    STATUS_REDIRECT = 300,
    STATUS_CALLER = 400,
    STATUS_NOT_FOUND = 404,
    STATUS_GONE = 410,
    STATUS_SERVER = 500,
    STATUS_END = 600,
    STATUS_MOVED = 301,
    STATUS_MOVED_FOR_GOOD = 308,
};

/* ---- Links that are not requested ---- */

/* Parts of addresses whose request can do something for the reader, in the languages of many senders. */
static const char *const acting_words[] = {
    "unsub",
    "optout",
    "opt-out",
    "opt_out",
    "oneclick",
    "one-click",
    "one_click",
    "preference",
    "confirm",
    "list-manage",
    "abmeld",
    "abbestell",
    "austrag",
    "desabonn",
    "desinscri",
    "desuscri",
    "cancelar-suscripcion",
    "darse-de-baja",
    "disiscri",
    "afmeld",
    "uitschrijv",
    "verify",
    "verificat",
    "activate",
    "token=",
};

static bool is_web_address(const char *href)
{
    return strncasecmp(href, "http://", 7) == 0 || strncasecmp(href, "https://", 8) == 0;
}

static bool has_tag(const char *href)
{
    return strstr(href, "{{") != NULL || strstr(href, "{%") != NULL || strcasestr(href, "%7B%7B") != NULL ||
           strcasestr(href, "%7B%25") != NULL;
}

/* Links of this server lead to pages for one recipient. */
static bool is_own_link(struct arena *arena, const char *href, const char *public_url)
{
    static const char *const paths[] = { "/u/", "/c/", "/o/" };
    for (size_t i = 0; public_url != NULL && i < ARRAY_COUNT(paths); i++)
        if (text_starts_with(href, arena_printf(arena, "%s%s", public_url, paths[i])))
            return true;
    return false;
}

static bool has_acting_word(struct arena *arena, const char *href)
{
    const char *decoded = percent_decode(arena, href, strlen(href));
    for (size_t i = 0; i < ARRAY_COUNT(acting_words); i++)
        if (strcasestr(decoded != NULL ? decoded : href, acting_words[i]) != NULL)
            return true;
    return false;
}

enum link_skip link_skip_of(struct arena *arena, const char *href, const char *public_url)
{
    if (has_tag(href))
        return LINK_HAS_TAG;
    if (!is_web_address(href))
        return LINK_IS_NO_PAGE;
    return is_own_link(arena, href, public_url) || has_acting_word(arena, href) ? LINK_MAY_ACT : LINK_NOT_SKIPPED;
}

const char *link_skip_reason(enum link_skip skip, bool is_one)
{
    static const char *const reasons[LINK_SKIPS][2] = {
        [LINK_HAS_TAG] = { "have merge tags", "has a merge tag" },
        [LINK_IS_NO_PAGE] = { "do not lead to a page", "does not lead to a page" },
        [LINK_MAY_ACT] = { "may unsubscribe or confirm", "may unsubscribe or confirm" },
    };
    return reasons[skip][is_one];
}

/* ---- Findings ---- */

/* A CSS selector of the links with this address; NULL for a long address. */
static const char *selector_of(struct arena *arena, const char *href)
{
    struct buf *selector = buf_in_arena(arena, SELECTOR_MAX_BYTES);
    buf_add_text(selector, "[href=\"");
    for (const char *at = href; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            buf_add_char(selector, '\\');
        buf_add_char(selector, *at);
    }
    buf_add_text(selector, "\"]");
    return selector->overflowed || utf8_length(buf_text(selector)) > CHECK_SELECTOR_MAX_CHARS ? NULL : buf_text(selector);
}

/* A text that is shortened with an ellipsis. */
static const char *shown(struct arena *arena, const char *text, size_t max_chars)
{
    const char *cut = text_visible(arena, text, max_chars);
    return utf8_length(text) > max_chars ? arena_printf(arena, "%s…", cut) : cut;
}

static void add_finding(struct check_report *report, struct arena *arena, const char *check_id, const struct mail_link *link,
                        const char *predicate)
{
    const char *url = shown(arena, link->href, SHOWN_URL_CHARS);
    const char *text = shown(arena, text_trim(arena, link->text), SHOWN_TEXT_CHARS);
    const char *subject =
        text[0] != '\0' ? arena_printf(arena, "The link “%s” to %s", text, url) : arena_printf(arena, "The link to %s", url);
    const struct check_finding finding = {
        .message = arena_printf(arena, "%s %s.", subject, predicate),
        .selector = selector_of(arena, link->href),
        .source = link->href,
        .key = link->href,
    };
    check_report_add(report, check_id, &finding);
}

void link_add_unchecked(struct check_report *report, struct arena *arena, const struct mail_link *link, const char *why)
{
    add_finding(report, arena, "linkUnchecked", link, arena_printf(arena, "was not requested: %s", why));
}

/* ---- Verdicts ---- */

static bool is_https(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0;
}

/* A redirect to https that holds for good makes a link with http a matter of one more request. */
static bool moves_to_https(const struct fetch_answer *answer)
{
    bool is_permanent = answer->redirect_status == STATUS_MOVED || answer->redirect_status == STATUS_MOVED_FOR_GOOD;
    return answer->outcome == FETCH_OK && is_permanent && is_https(answer->url);
}

void link_judge_form(struct check_report *report, struct arena *arena, const struct mail_link *link,
                     const struct fetch_answer *answer)
{
    if (strncasecmp(link->href, "http://", 7) != 0)
        return;
    if (answer != NULL && moves_to_https(answer))
        add_finding(report, arena, "linkRedirects", link, "is redirected to https for good");
    else
        add_finding(report, arena, "linkInsecure", link, "has no TLS, because it begins with http");
}

static const char *after_redirects(struct arena *arena, unsigned redirects)
{
    if (redirects == 0)
        return "";
    return redirects == 1 ? " after a redirect" : arena_printf(arena, " after %u redirects", redirects);
}

static void judge_status(struct check_report *report, struct arena *arena, const struct mail_link *link,
                         const struct fetch_answer *answer)
{
    long status = answer->status;
    if (status < STATUS_CALLER)
        return;
    const char *check_id = "linkRefused";
    if (status == STATUS_NOT_FOUND || status == STATUS_GONE)
        check_id = "linkBroken";
    else if (status >= STATUS_SERVER && status < STATUS_END)
        check_id = "linkServerError";
    const char *predicate =
        arena_printf(arena, "gets the status %ld from its server%s", status, after_redirects(arena, answer->redirects));
    add_finding(report, arena, check_id, link, predicate);
}

static void judge_answered(struct check_report *report, struct arena *arena, const struct mail_link *link,
                           const struct fetch_answer *answer)
{
    judge_status(report, arena, link, answer);
    if (answer->took_ms > LINK_SLOW_MS)
        add_finding(report, arena, "linkSlow", link, arena_printf(arena, "takes more than %d s", LINK_SLOW_MS / 1000));
    if (answer->redirects > LINK_REDIRECTS_NOTED)
        add_finding(
            report, arena, "linkRedirects", link,
            arena_printf(arena, "is redirected %u times, to %s", answer->redirects, shown(arena, answer->url, SHOWN_URL_CHARS)));
}

static void judge_slow(struct check_report *report, struct arena *arena, const struct mail_link *link,
                       const struct fetch_answer *answer)
{
    bool had_its_time = answer->cause != FETCH_CAUSE_NOT_ASKED && answer->took_ms >= LINK_EACH_MS - EARLY_MS;
    if (had_its_time)
        add_finding(report, arena, "linkSlow", link, arena_printf(arena, "gets no answer within %d s", LINK_EACH_MS / 1000));
    else
        link_add_unchecked(report, arena, link, arena_printf(arena, "the test of all links ends after %d s", LINK_ALL_MS / 1000));
}

static void judge_failure(struct check_report *report, struct arena *arena, const struct mail_link *link,
                          const struct fetch_answer *answer)
{
    const char *after = after_redirects(arena, answer->redirects);
    switch (answer->cause) {
    case FETCH_CAUSE_ADDRESS:
        return link_add_unchecked(report, arena, link, arena_printf(arena, "%s%s", answer->reason, after));
    case FETCH_CAUSE_CERTIFICATE:
        return add_finding(report, arena, "linkCertificate", link, arena_printf(arena, "is not safe: %s%s", answer->reason, after));
    case FETCH_CAUSE_REDIRECTS:
        return add_finding(report, arena, "linkBroken", link,
                           arena_printf(arena, "leads nowhere: it is redirected more than %d times", LINK_REDIRECTS_MAX));
    case FETCH_CAUSE_OTHER:
    case FETCH_CAUSE_NAME:
    case FETCH_CAUSE_CONNECTION:
    case FETCH_CAUSE_NOT_ASKED:
        return add_finding(report, arena, "linkServerError", link, arena_printf(arena, "fails: %s%s", answer->reason, after));
    }
}

void link_judge(struct check_report *report, struct arena *arena, const struct mail_link *link, const struct fetch_answer *answer)
{
    switch (answer->outcome) {
    case FETCH_OK:
        return judge_answered(report, arena, link, answer);
    case FETCH_REFUSED:
        return add_finding(report, arena, "linkBroken", link, arena_printf(arena, "cannot be followed: %s", answer->reason));
    case FETCH_TOO_SLOW:
        return judge_slow(report, arena, link, answer);
    case FETCH_FAILED:
    case FETCH_TOO_LARGE:
        return judge_failure(report, arena, link, answer);
    }
}

void link_judge_name(struct check_report *report, struct arena *arena, const struct mail_link *link, const char *host, bool is_gone)
{
    if (is_gone)
        add_finding(report, arena, "linkBroken", link, arena_printf(arena, "leads nowhere: the DNS has no address of %s", host));
    else
        add_finding(report, arena, "linkServerError", link, arena_printf(arena, "fails: the name %s cannot be resolved now", host));
}
