#include "jobs/types/check_links.h"

#include "base/json_read.h"
#include "base/text.h"
#include "jobs/types/link_verdict.h"
#include "net/dns.h"
#include "sql/mail_links.h"

#include <string.h>

enum {
    LINKS_JSON_MAX_BYTES = 32 * 1024 * 1024,
    SUMMARY_MAX_BYTES = 1000,
    NAMES_MS = 3000,
    PARALLEL = 8,
};

/* One address to request, with the first link that has it. */
struct link_target {
    struct mail_link link;
    const char *url; /* without fragment */
    struct fetch_answer answer;
    bool is_gone; /* the DNS denies the name of its server */
};

struct link_check {
    struct job *job;
    struct arena *arena;
    struct check_report *report;
    struct link_target *targets;
    size_t count;
    size_t skipped[LINK_SKIPS];
    size_t web_links; /* different ones with http or https, requested or not */
    bool is_cancelled;
};

/* ---- The links of the version ---- */

static const char *without_fragment(struct arena *arena, const char *href)
{
    return arena_dup_bytes(arena, href, strcspn(href, "#"));
}

static void add_link(struct link_check *check, const struct mail_link *link)
{
    const char *public_url = check->job->work.engine->public_url;
    enum link_skip skip = link_skip_of(check->arena, link->href, public_url);
    check->web_links += skip != LINK_IS_NO_PAGE;
    if (skip != LINK_NOT_SKIPPED) {
        check->skipped[skip]++;
        link_judge_form(check->report, check->arena, link, NULL);
    } else if (check->count == LINKS_MAX) {
        link_judge_form(check->report, check->arena, link, NULL);
        link_add_unchecked(check->report, check->arena, link,
                           arena_printf(check->arena, "the test requests %d addresses", LINKS_MAX));
    } else {
        check->targets[check->count++] = (struct link_target){ .link = *link, .url = without_fragment(check->arena, link->href) };
    }
}

/* Each address counts once, whatever its fragment. `seen` is an object whose names are the addresses. */
static void add_links(struct link_check *check, const json_t *links)
{
    json_t *seen = json_in_arena(check->arena, json_object());
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *item = json_array_get(links, i);
        const char *text = json_get_text(item, "text");
        const char *href = json_get_text(item, "href");
        if (href == NULL)
            continue;
        struct mail_link link = { .href = text_trim(check->arena, href), .text = text != NULL ? text : "" };
        const char *url = without_fragment(check->arena, link.href);
        if (json_object_get(seen, url) != NULL || json_object_set_new(seen, url, json_true()) != 0)
            continue;
        add_link(check, &link);
    }
}

static bool read_links(struct link_check *check, const struct sample_mail *mail, struct error *err)
{
    const struct json_bounds bounds = { .max_bytes = LINKS_JSON_MAX_BYTES, .from_jsonb = true };
    struct mail_links_params params = { .brand_id = check->job->work.brand_id, .version_id = mail->version_id };
    struct mail_links_row *row;
    const json_t *links = NULL;
    if (!sql_mail_links(check->job->work.conn, check->arena, &params, &row, err))
        return false;
    if (row != NULL && !json_read(check->arena, row->links, strlen(row->links), bounds, &links, err))
        return false;
    check->targets = arena_array(check->arena, LINKS_MAX, sizeof(*check->targets));
    add_links(check, links);
    return true;
}

/* ---- Requests ---- */

/* Answers come in any order. They are judged in the order of the links, so that equal answers give an equal report. */
static void link_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct link_check *check = context;
    struct fetch_answer *kept = &check->targets[index].answer;
    *kept = *answer;
    kept->bytes = NULL;
    kept->content_type = NULL;
    kept->url = arena_dup(check->arena, answer->url);
    kept->host = arena_dup(check->arena, answer->host);
}

static bool is_asked_to_stop(void *context)
{
    struct link_check *check = context;
    check->is_cancelled = check->is_cancelled || job_is_cancelled(check->job);
    return check->is_cancelled;
}

static bool may_follow(void *context, const char *url)
{
    struct link_check *check = context;
    return link_skip_of(check->arena, url, check->job->work.engine->public_url) == LINK_NOT_SKIPPED;
}

static void request_links(struct link_check *check)
{
    struct fetch_config config = fetch_config_default();
    const char **urls = arena_array(check->arena, LINKS_MAX, sizeof(*urls));
    for (size_t i = 0; i < check->count; i++)
        urls[i] = check->targets[i].url;
    config.asks_status = true;
    config.one_per_host = true;
    config.each_ms = LINK_EACH_MS;
    config.all_ms = LINK_ALL_MS;
    config.max_parallel = PARALLEL;
    config.max_redirects = LINK_REDIRECTS_MAX;
    config.user_agent = "Posthorn/" POSTHORN_VERSION " (link checker)";
    config.allow_loopback = check->job->services->fetch_allow_loopback;
    config.arrived = link_arrived;
    config.may_follow = may_follow;
    config.should_stop = is_asked_to_stop;
    config.context = check;
    fetch_all(&config, urls, check->count);
}

/* ---- Names that cannot be resolved ---- */

/* The host of a target whose name could not be resolved; else NULL. */
static const char *unresolved_host(const struct link_target *target)
{
    bool is_unresolved = target->answer.outcome == FETCH_FAILED && target->answer.cause == FETCH_CAUSE_NAME;
    return is_unresolved ? target->answer.host : NULL;
}

static size_t find_host(const char *const *hosts, size_t count, const char *host)
{
    size_t i = 0;
    while (i < count && strcmp(hosts[i], host) != 0)
        i++;
    return i;
}

/* The C library does not tell a name that does not exist from a name server that is silent, so the resolver is asked. */
static void look_up_names(struct link_check *check)
{
    const char *hosts[LINKS_MAX];
    enum dns_mail answers[LINKS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < check->count; i++) {
        const char *host = unresolved_host(&check->targets[i]);
        if (host != NULL && find_host(hosts, count, host) == count)
            hosts[count++] = host;
    }
    if (count == 0)
        return;
    dns_find_mail(check->job->services->dns, hosts, count, NAMES_MS, answers);
    for (size_t i = 0; i < check->count; i++) {
        const char *host = unresolved_host(&check->targets[i]);
        enum dns_mail answer = host != NULL ? answers[find_host(hosts, count, host)] : DNS_MAIL_UNKNOWN;
        check->targets[i].is_gone = answer == DNS_MAIL_NO_DOMAIN || answer == DNS_MAIL_REFUSED;
    }
}

static void judge_links(struct link_check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        const struct link_target *target = &check->targets[i];
        const char *host = unresolved_host(target);
        link_judge_form(check->report, check->arena, &target->link, &target->answer);
        if (host != NULL)
            link_judge_name(check->report, check->arena, &target->link, host, target->is_gone);
        else
            link_judge(check->report, check->arena, &target->link, &target->answer);
    }
}

/* ---- The report ---- */

static const char *summarize(const struct link_check *check)
{
    struct buf *summary = buf_in_arena(check->arena, SUMMARY_MAX_BYTES);
    buf_printf(summary, "%zu %s requested.", check->count, check->count == 1 ? "address was" : "addresses were");
    for (enum link_skip skip = LINK_NOT_SKIPPED + 1; skip < LINK_SKIPS; skip++) {
        size_t count = check->skipped[skip];
        bool is_one = count == 1;
        if (count > 0)
            buf_printf(summary, " %zu %s left out, because %s %s.", count, is_one ? "was" : "were", is_one ? "it" : "they",
                       link_skip_reason(skip, is_one));
    }
    return buf_text(summary);
}

static void end_checks(const struct link_check *check)
{
    const char *summary = summarize(check);
    if (check->web_links > 0)
        check_report_end(check->report, "linkInsecure", CHECK_PASSED, summary);
    if (check->count > 0)
        check_report_end_engine(check->report, CHECK_ENGINE_LINKS, CHECK_PASSED, summary);
    else
        check_report_end_engine(check->report, CHECK_ENGINE_LINKS, CHECK_NOT_APPLICABLE, summary);
}

bool check_links(struct job *job, const struct sample_mail *mail, struct check_report *report, struct error *err)
{
    struct link_check check = { .job = job, .arena = job->work.arena, .report = report };
    check_report_engine(report, CHECK_ENGINE_LINKS, "Posthorn", POSTHORN_VERSION);
    if (!read_links(&check, mail, err))
        return false;
    if (check.count > 0)
        request_links(&check);
    if (check.is_cancelled || job_is_cancelled(job))
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    look_up_names(&check);
    judge_links(&check);
    end_checks(&check);
    return true;
}
