/*
 * The job of reports.receive, for a message of SNS that needs a fetch: of the
 * certificate that signed it, and of the address that confirms a subscription.
 * The caller waits. A failed fetch is answered by 503, and SNS sends the message
 * again.
 */
#include "base/text.h"
#include "catalogue/job_types.h"
#include "engine/provider_reports/receive.h"
#include "net/fetch.h"

#include <string.h>

enum { MAX_ATTEMPTS = 1, ANSWER_MAX_BYTES = 64 * 1024, FETCH_MS = 10000 };

struct fetched {
    struct arena *arena;
    struct bytes bytes; /* data NULL: it failed */
};

static void keep_answer(void *context, size_t index, const struct fetch_answer *answer)
{
    struct fetched *fetched = context;
    (void)index;
    if (answer->outcome == FETCH_OK)
        fetched->bytes =
            (struct bytes){ (const unsigned char *)arena_dup_bytes(fetched->arena, (const char *)answer->bytes, answer->size),
                            answer->size };
}

/* No redirect is followed: it would lead away from the host that was checked. */
static bool fetch(struct job *job, const char *url, struct bytes *ret_bytes, struct error *err)
{
    struct fetched fetched = { .arena = job->work.arena };
    struct fetch_config config = fetch_config_default();
    config.max_bytes = config.max_total_bytes = ANSWER_MAX_BYTES;
    config.each_ms = config.all_ms = FETCH_MS;
    config.max_redirects = 0;
    config.allow_loopback = job->services->fetch_allow_loopback;
    config.arrived = keep_answer;
    config.context = &fetched;
    fetch_all(&config, &url, 1);
    *ret_bytes = fetched.bytes;
    return fetched.bytes.data != NULL ||
           fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "An address of SNS that the message names could not be fetched.");
}

static bool execute(struct job *job, struct error *err)
{
    const struct receive_report_payload *payload = job->payload;
    struct report_delivery *delivery = arena_alloc(job->work.arena, sizeof(*delivery));
    struct bytes ignored;
    *delivery = (struct report_delivery){ .provider = "ses", .connection_id = payload->connection_id, .body = payload->content };
    job->result = delivery;
    if (!report_delivery_check(&job->work, delivery, err))
        return false;
    if (delivery->fetch_url != NULL &&
        (!fetch(job, delivery->fetch_url, &delivery->certificate, err) || !report_delivery_check(&job->work, delivery, err)))
        return false;
    return delivery->sns.type != SNS_SUBSCRIPTION || fetch(job, delivery->sns.subscribe_url, &ignored, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct report_delivery *delivery = job->result;
    struct report_delivery_counts counts;
    job->work.organization_id = delivery->organization_id;
    if (!report_delivery_apply(&job->work, delivery, &counts, err))
        return false;
    *ret_status = 200;
    job_subject(job, work_id(&job->work, ID_REPORT_SOURCE, delivery->connection_id));
    report_delivery_write(&counts, answer);
    return true;
}

const struct job_type job_receive_report = {
    .max_attempts = MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
