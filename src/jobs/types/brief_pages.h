/*
 * Pages of a brief: the addresses that a caller gives are fetched through the
 * guarded client and read by the renderer. A page that cannot be read is a
 * warning.
 */
#pragma once

#include "designer/brief.h"
#include "jobs/jobs.h"

/* Reads the pages; there is one for each address. Safe to repeat; everything belongs to the arena of the job. Errors:
 * SERVICE_UNAVAILABLE (the renderer fails). */
MUST_CHECK bool read_brief_pages(struct job *job, struct text_list urls, const struct brief_page **ret_pages, struct error *err)
    NONNULL(1, 3, 4);
