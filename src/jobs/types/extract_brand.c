/*
 * The job that reads the website of a brand. `execute` reads everything outside
 * of a transaction; `settle` makes it the brand. A website that cannot be read
 * ends the extraction with its reason; a failing renderer repeats the job from
 * the beginning.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "designer/theme.h"
#include "engine/brands/extraction.h"
#include "jobs/job_renderer.h"
#include "jobs/types/site_pictures.h"
#include "jobs/types/site_reader.h"

#include <string.h>

enum {
    EXTRACT_MAX_ATTEMPTS = 3,
    BREAKS_MAX = 5, /* an extraction whose worker was lost so often is not begun again */
    STATUS_OK = 200,
    SUMMARY_REQUEST_MAX_BYTES = 8 * 1024 * 1024,
    DESIGN_MAX_BYTES = 12000,
};

/* Shorter than the lease of a job. */
static const int64_t extract_us = 150 * US_PER_S;

struct extracted {
    bool is_ours;       /* false: the extraction has ended, or another job has it */
    const char *reason; /* why the website cannot be read; NULL: it was read */
    struct extraction_found found;
    struct site_pictures pictures;
};

/* ---- What the pages tell ---- */

static const char *summary_request(const struct site *site, const char *domain)
{
    struct buf *out = buf_in_arena(site->arena, SUMMARY_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "domain", domain);
    json_key(&json, "pages");
    json_array_begin(&json);
    for (size_t i = 0; i < site->page_count; i++)
        if (site->pages[i].read != NULL)
            json_raw(&json, json_compact(site->arena, json_object_get(site->pages[i].read, "facts")));
    json_array_end(&json);
    json_member_raw(&json, "styles", json_compact(site->arena, site->styles));
    json_object_end(&json);
    char *text = arena_dup(site->arena, buf_text(out));
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

/* The theme as lines that theme_read_design reads, and the lines of the tone. */
static const char *design_text(struct arena *arena, const json_t *summary)
{
    const json_t *theme = json_object_get(summary, "theme");
    const char *tone = json_get_text(summary, "tone");
    const char *lines = json_is_object(theme) ? theme_write_design(arena, theme) : "";
    const char *text = arena_printf(arena, "%s%s%s", lines[0] != '\0' ? "## Theme\n\n" : "", lines, tone != NULL ? tone : "");
    return text[0] != '\0' && strlen(text) <= DESIGN_MAX_BYTES ? text : NULL;
}

static void take_summary(struct arena *arena, const json_t *summary, struct extraction_found *found)
{
    const json_t *social = json_object_get(summary, "social");
    *found = (struct extraction_found){
        .name = json_get_text(summary, "name"),
        .description = json_get_text(summary, "description"),
        .tagline = json_get_text(summary, "tagline"),
        .contact_email = json_get_text(summary, "contactEmail"),
        .contact_phone = json_get_text(summary, "contactPhone"),
        .address = json_get_text(summary, "address"),
        .locale = json_get_text(summary, "locale"),
        .time_zone = json_get_text(summary, "timeZone"),
        .email_design = design_text(arena, summary),
        .social = json_is_array(social) ? json_compact(arena, social) : NULL,
    };
}

static bool extract(struct job *job, const struct extraction_claim_row *request, struct extracted *extracted, struct error *err)
{
    struct site *site = arena_alloc(job->work.arena, sizeof(*site));
    *site = (struct site){
        .job = job,
        .arena = job->work.arena,
        .renderer = job_renderer(job),
        .request = request,
        .until_us = clock_monotonic_us() + extract_us,
    };
    if (!site_read(site, err))
        return false;
    if (site->reason[0] != '\0') {
        extracted->reason = site->reason;
        return true;
    }
    const json_t *summary;
    const char *domain = request->domain != NULL ? request->domain : site->host;
    int64_t pages = (int64_t)site->page_count;
    extraction_note(&job->work, job->id, "pictures", 70, pages);
    if (!renderer_site(site->renderer, site->arena, SITE_SUMMARISE, summary_request(site, domain), &summary, err) ||
        !site_host_pictures(site, summary, &extracted->pictures, err))
        return false;
    extraction_note(&job->work, job->id, "saving", 95, pages);
    take_summary(site->arena, summary, &extracted->found);
    extracted->found.pages = pages;
    extracted->found.logo = extracted->pictures.logo;
    return true;
}

/* ---- The job ---- */

static bool execute(struct job *job, struct error *err)
{
    struct extracted *extracted = arena_alloc(job->work.arena, sizeof(*extracted));
    struct extraction_claim_row *request;
    job->result = extracted;
    if (job->attempts > BREAKS_MAX)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The reading of the website was broken off %d times.", BREAKS_MAX);
    if (!extraction_claim(&job->work, job->id, &request, err))
        return false;
    extracted->is_ours = request != NULL;
    return request == NULL || extract(job, request, extracted, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct extracted *extracted = job->result;
    (void)answer; /* no caller waits for an extraction */
    *ret_status = STATUS_OK;
    if (!extracted->is_ours)
        return true;
    if (extracted->reason != NULL)
        return extraction_fail(&job->work, extracted->reason, err);
    return assets_keep(&job->work, extracted->pictures.assets, extracted->pictures.count, err) &&
           extraction_complete(&job->work, job->id, &extracted->found, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    return extraction_fail(&job->work, why->message, err);
}

const struct job_type job_extract_brand = {
    .max_attempts = EXTRACT_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
