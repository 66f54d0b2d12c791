/*
 * Every kind of job there is. A new kind is a file of its own and a line here
 * and in kinds.c.
 */
#pragma once

#include "jobs/jobs.h"

extern const struct job_kind job_import_email; /* an imported design is prepared */
extern const struct job_kind job_test_send;    /* one message to one address */
extern const struct job_kind job_campaign;     /* a campaign is expanded and delivered, a chunk a round */
