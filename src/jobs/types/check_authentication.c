#include "jobs/types/check_authentication.h"

#include "base/text.h"
#include "engine/domains/check.h"
#include "jobs/types/domain_lookup.h"
#include "mail/address.h"
#include "mail/mime_reader.h"

#include <string.h>
#include <strings.h>

struct authentication {
    struct arena *arena;
    struct check_report *report;
    const struct sample_mail *mail;
    const struct domain_row *domain;
};

/* The checks that look at a record of the DNS. */
static const struct {
    const char *check_id;
    const char *purpose;
    const char *key_kind; /* NULL: not a key */
    const char *missing;  /* what the domain lacks */
} record_checks[] = {
    { "authSpf", "spf", NULL, "has no SPF record, or more than one" },
    { "authDkimRsa", "dkim", "rsa", "has not published its RSA key" },
    { "authDkimEd25519", "dkim", "ed25519", "has not published its Ed25519 key" },
    { "authDmarc", "dmarc", NULL, "has no DMARC policy, or more than one" },
};

/* ---- Records ---- */

static bool is_record_of(const struct domain_record *record, size_t check)
{
    return record->state != DOMAIN_RECORD_WAITING && strcmp(record->purpose, record_checks[check].purpose) == 0 &&
           text_equal(record->key_kind, record_checks[check].key_kind);
}

/* The queries for the records that the checks look at. */
static struct domain_check queries_of(struct arena *arena, const struct domain_row *domain)
{
    struct domain_records records = domain_records_of(arena, domain);
    struct domain_check lookup = { .domain_id = domain->id };
    lookup.queries = arena_array(arena, records.count + 1, sizeof(*lookup.queries));
    for (size_t i = 0; i < records.count; i++)
        for (size_t check = 0; check < ARRAY_COUNT(record_checks); check++)
            if (is_record_of(&records.items[i], check))
                lookup.queries[lookup.count++] = (struct domain_query){ .record = &records.items[i] };
    return lookup;
}

static void judge_record(const struct authentication *work, size_t check, const struct domain_query *query)
{
    const char *check_id = record_checks[check].check_id;
    const char *name = query->record->name;
    if (query->answer == DOMAIN_ANSWER_NONE) {
        const char *reason = arena_printf(work->arena, "The DNS gave no answer for %s.", name);
        check_report_end(work->report, check_id, CHECK_UNAVAILABLE, reason);
        return;
    }
    if (domain_record_is_found(query->record, query->found)) {
        check_report_end(work->report, check_id, CHECK_PASSED, NULL);
        return;
    }
    /* The operator may have confirmed a domain whose mail the relay signs. */
    bool is_confirmed = work->domain->trusted && query->record->key_kind != NULL;
    const struct check_finding finding = {
        .message = arena_printf(work->arena, "%s %s: the TXT record of %s is not as it must be.", work->domain->name,
                                record_checks[check].missing, name),
        .source = name,
        .key = check_id,
        .severity = is_confirmed ? SEVERITY_INFO : SEVERITY_DECLARED,
    };
    check_report_add(work->report, check_id, &finding);
}

static void judge_records(const struct authentication *work, const struct domain_check *lookup)
{
    for (size_t check = 0; check < ARRAY_COUNT(record_checks); check++) {
        for (size_t i = 0; i < lookup->count; i++)
            if (is_record_of(lookup->queries[i].record, check))
                judge_record(work, check, &lookup->queries[i]);
        check_report_end(work->report, record_checks[check].check_id, CHECK_NOT_APPLICABLE, "The domain has no such key.");
    }
}

/* ---- Alignment ---- */

/* Relaxed alignment, without a list of public suffixes: one name is the other, or is below it. */
static bool is_aligned(const char *from, const char *signing)
{
    size_t from_size = strlen(from);
    size_t signing_size = strlen(signing);
    if (from_size == signing_size)
        return strcasecmp(from, signing) == 0;
    const char *longer = from_size > signing_size ? from : signing;
    const char *shorter = from_size > signing_size ? signing : from;
    size_t more = from_size > signing_size ? from_size - signing_size : signing_size - from_size;
    return longer[more - 1] == '.' && strcasecmp(longer + more, shorter) == 0;
}

static void judge_alignment(const struct authentication *work)
{
    struct error ignored = { .code = ERR_NONE };
    struct address from;
    bool is_address = address_parse(work->arena, work->mail->from_address, NULL, &from, &ignored);
    if (is_address && is_aligned(from.domain, work->domain->name)) {
        check_report_end(work->report, "authAlignment", CHECK_PASSED, NULL);
        return;
    }
    const struct check_finding finding = {
        .message = arena_printf(work->arena, "The sender's address is %s, and %s signs the message.", work->mail->from_address,
                                work->domain->name),
        .source = work->mail->from_address,
        .key = "alignment",
    };
    check_report_add(work->report, "authAlignment", &finding);
}

/* ---- Headers ---- */

static void add_header_finding(const struct authentication *work, const char *check_id, const char *message)
{
    const struct check_finding finding = { .message = message, .key = check_id };
    check_report_add(work->report, check_id, &finding);
}

static void judge_unsubscribing(const struct authentication *work)
{
    const struct bytes headers = mime_header_block(work->mail->message, NULL);
    const char *list = mime_header(work->arena, headers, "List-Unsubscribe");
    const char *post = mime_header(work->arena, headers, "List-Unsubscribe-Post");
    bool is_one_click = post != NULL && strcasecmp(post, "List-Unsubscribe=One-Click") == 0 && list != NULL &&
                        strcasestr(list, "<https://") != NULL;
    if (!work->mail->is_marketing) {
        const char *reason = "The message is transactional, so it needs no way to unsubscribe.";
        check_report_end(work->report, "authUnsubscribe", CHECK_NOT_APPLICABLE, reason);
        check_report_end(work->report, "authOneClick", CHECK_NOT_APPLICABLE, reason);
        return;
    }
    if (list == NULL)
        add_header_finding(work, "authUnsubscribe", "The message has no header List-Unsubscribe.");
    if (!is_one_click)
        add_header_finding(work, "authOneClick", "The message does not offer to unsubscribe with one click over https.");
    check_report_end(work->report, "authUnsubscribe", CHECK_PASSED, NULL);
    check_report_end(work->report, "authOneClick", CHECK_PASSED, NULL);
}

/* ---- The engine ---- */

/* `*ret_domain` is NULL when it was deleted meanwhile. */
static bool find_domain(struct job *job, const struct sample_mail *mail, struct domain_row **ret_domain, struct error *err)
{
    *ret_domain = NULL;
    if (domain_get(&job->work, mail->domain_id, ret_domain, err))
        return true;
    bool is_deleted = err->code == ERR_DOMAIN_NOT_FOUND;
    if (is_deleted)
        error_clear(err);
    return is_deleted;
}

static void run_checks(struct job *job, const struct authentication *work)
{
    struct domain_check lookup = queries_of(work->arena, work->domain);
    domain_look_up(job->services->dns, work->arena, &lookup);
    judge_records(work, &lookup);
    judge_alignment(work);
    judge_unsubscribing(work);
}

bool check_authentication(struct job *job, const struct sample_mail *mail, struct check_report *report, struct error *err)
{
    struct authentication work = { .arena = job->work.arena, .report = report, .mail = mail };
    struct domain_row *domain = NULL;
    check_report_engine(report, CHECK_ENGINE_AUTHENTICATION, "Posthorn", POSTHORN_VERSION);
    if (!mail->is_sandbox && !find_domain(job, mail, &domain, err))
        return false;
    work.domain = domain;
    if (domain == NULL)
        check_report_end_engine(report, CHECK_ENGINE_AUTHENTICATION, CHECK_NOT_APPLICABLE,
                                "The brand has no verified domain. Connect one and verify it.");
    else
        run_checks(job, &work);
    return !job_is_cancelled(job) || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
}
