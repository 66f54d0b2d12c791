/*
 * Extraction of brands: what a job reads from the website of a brand becomes the
 * brand. The row of the extraction keeps the request and shows its progress. One
 * job has it; it ends once, completed or failed, and the brand with it.
 *
 * Rows are allocated in the arena of the work, whose brand is the one that is read.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/brands.h"

/* How a website is read. */
struct extraction_request {
    const char *url; /* of extraction_read_url */
    const char *instructions;
    struct text_list include_paths;
    struct text_list exclude_paths;
    bool exclude_subdomains;
    struct text_list given; /* of name, timeZone and locale */
};

/* What a website tells; NULL: nothing about it. The texts of strangers: they are checked here. */
struct extraction_found {
    const char *name;
    const char *description;
    const char *tagline;
    const char *contact_email;
    const char *contact_phone;
    const char *address;
    const char *locale;
    const char *time_zone;
    const char *email_design;
    const char *social; /* a JSON array of objects with network and href */
    const char *logo;   /* the name of a hosted image */
    int64_t pages;
};

/* The address of a website with its scheme, without user name, password and fragment. Errors: INVALID_REQUEST (url). */
MUST_CHECK bool extraction_read_url(struct arena *arena, const char *url, const char **ret_url, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Opens the extraction of the brand; the caller enqueues its job in the same transaction. */
MUST_CHECK bool extraction_open(const struct work *work, const struct extraction_request *request, struct error *err)
    NONNULL(1, 2, 3);

/* Gives the job the extraction; NULL: another job has it, or it has ended. */
MUST_CHECK bool extraction_claim(const struct work *work, int64_t job_id, struct extraction_claim_row **ret_row, struct error *err)
    NONNULL(1, 3, 4);

/* Shows the progress; a failure is ignored. */
void extraction_note(const struct work *work, int64_t job_id, const char *phase, int64_t progress, int64_t pages) NONNULL(1, 3);

/* Ends the extraction. Found members that a caller could not set are left out. */
MUST_CHECK bool extraction_complete(const struct work *work, int64_t job_id, const struct extraction_found *found,
                                    struct error *err) NONNULL(1, 3, 4);
MUST_CHECK bool extraction_fail(const struct work *work, const char *why, struct error *err) NONNULL(1, 2, 3);
