#include "spam/filter.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_MAX_BYTES = 300, VERSION_KEPT_S = 600 };

static const struct {
    const char *prefix;
    const char *scheme; /* put before the address to make it a URL; "" when it has one */
    enum spam_kind kind;
} kinds[] = {
    { "spamd:", "http://", SPAM_SPAMD },
    { "rspamd:", "", SPAM_RSPAMD },
};

/* ---- The option ---- */

static bool part_is(CURLU *url, CURLUPart part, const char *wanted)
{
    char *text = NULL;
    bool is_there = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    bool same = wanted == NULL ? !is_there : is_there && strcmp(text, wanted) == 0;
    curl_free(text);
    return same;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    return !part_is(url, part, NULL);
}

/* Whether a URL has a host, a port and nothing else. `needs_port`: the default of the scheme will not do. */
static bool is_plain_url(CURLU *url, bool needs_port)
{
    bool is_web = part_is(url, CURLUPART_SCHEME, "http") || part_is(url, CURLUPART_SCHEME, "https");
    bool has_more = has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) || has_part(url, CURLUPART_QUERY) ||
                    has_part(url, CURLUPART_FRAGMENT) || !part_is(url, CURLUPART_PATH, "/");
    return is_web && !has_more && (!needs_port || has_part(url, CURLUPART_PORT));
}

static void free_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* The URL without a slash at its end; NULL when it is not one of a host. */
static char *read_url(const char *scheme, const char *address, bool needs_port)
{
    char text[ADDRESS_MAX_BYTES + 8];
    CLEANUP(free_url) CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    snprintf(text, sizeof(text), "%s%s", scheme, address);
    if (strlen(address) > ADDRESS_MAX_BYTES || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return NULL;
    size_t size = strlen(text);
    if (!is_plain_url(url, needs_port) || (text[size - 1] == '/' && needs_port))
        return NULL;
    char *read = strndup(text, text[size - 1] == '/' ? size - 1 : size);
    if (read == NULL)
        panic(PANIC_NO_MEMORY);
    return read;
}

static struct spam_filter *filter_of(const char *named, enum spam_kind kind, char *url)
{
    struct spam_filter *filter = calloc(1, sizeof(*filter));
    char *copy = strdup(named);
    if (filter == NULL || copy == NULL)
        panic(PANIC_NO_MEMORY);
    filter->kind = kind;
    filter->named = copy;
    filter->url = url;
    pthread_mutex_init(&filter->lock, NULL);
    return filter;
}

bool spam_filter_new(const char *named, struct spam_filter **ret_filter, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, spam_init_libcurl);
    *ret_filter = NULL;
    if (named == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (!text_starts_with(named, kinds[i].prefix))
            continue;
        char *url = read_url(kinds[i].scheme, named + strlen(kinds[i].prefix), kinds[i].kind == SPAM_SPAMD);
        if (url == NULL)
            break;
        *ret_filter = filter_of(named, kinds[i].kind, url);
        return true;
    }
    return fail(err, ERR_INVALID_REQUEST, "--spam", "--spam is spamd:HOST:PORT or rspamd:http://HOST:PORT.");
}

void spam_filter_free(struct spam_filter *filter)
{
    if (filter == NULL)
        return;
    pthread_mutex_destroy(&filter->lock);
    free(filter->named);
    free(filter->url);
    free(filter);
}

const char *spam_filter_name(const struct spam_filter *filter)
{
    return filter->kind == SPAM_SPAMD ? "SpamAssassin" : "rspamd";
}

const char *spam_filter_address(const struct spam_filter *filter)
{
    return filter->named;
}

/* ---- The version of spamd ---- */

/* spamd tells its version only with a verdict on a message, so the version is kept for some minutes. */
static bool version_is_known(struct spam_filter *filter, struct arena *arena, const char **ret_version)
{
    pthread_mutex_lock(&filter->lock);
    bool is_known = filter->version_us != 0 && clock_monotonic_us() - filter->version_us < VERSION_KEPT_S * US_PER_S;
    *ret_version = is_known && filter->version[0] != '\0' ? arena_dup(arena, filter->version) : NULL;
    pthread_mutex_unlock(&filter->lock);
    return is_known;
}

static void keep_version(struct spam_filter *filter, const char *version)
{
    pthread_mutex_lock(&filter->lock);
    snprintf(filter->version, sizeof(filter->version), "%s", version != NULL ? version : "");
    filter->version_us = clock_monotonic_us();
    pthread_mutex_unlock(&filter->lock);
}

/* A filter that does not tell its version has none. */
static const char *find_version(struct spam_filter *filter, struct arena *arena, struct spam_patience patience)
{
    struct error ignored = { .code = ERR_NONE };
    const char *version;
    if (version_is_known(filter, arena, &version))
        return version;
    if (!spamd_version(filter, arena, patience, &version, &ignored))
        return NULL;
    keep_version(filter, version);
    return version;
}

/* ---- Calls ---- */

static void leave_out_rules(const struct spam_filter *filter, struct spam_verdict *verdict, struct spam_rule *rules)
{
    for (size_t i = 0; i < verdict->count; i++)
        rules[i].left_out = spam_rule_left_out(filter->kind, rules[i].name);
}

bool spam_check(struct spam_filter *filter, struct arena *arena, struct bytes message, struct spam_patience patience,
                struct spam_verdict *ret_verdict, struct error *err)
{
    struct spam_rule *rules = arena_array(arena, SPAM_RULES_MAX, sizeof(*rules));
    *ret_verdict = (struct spam_verdict){ .rules = rules };
    bool is_spamd = filter->kind == SPAM_SPAMD;
    bool is_answered = is_spamd ? spamd_check(filter, arena, message, patience, ret_verdict, rules, err)
                                : rspamd_check(filter, arena, message, patience, ret_verdict, rules, err);
    if (!is_answered)
        return false;
    leave_out_rules(filter, ret_verdict, rules);
    if (is_spamd)
        ret_verdict->version = find_version(filter, arena, patience);
    return true;
}

bool spam_ping(struct spam_filter *filter, struct arena *arena, struct spam_patience patience, const char **ret_version,
               struct error *err)
{
    *ret_version = NULL;
    if (filter->kind == SPAM_RSPAMD)
        return rspamd_ping(filter, arena, patience, ret_version, err);
    if (!spamd_ping(filter, arena, patience, err))
        return false;
    *ret_version = find_version(filter, arena, patience);
    return true;
}
