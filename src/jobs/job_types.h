/*
 * Every kind of job there is. A new kind is a file of its own and a line here
 * and in kinds.c.
 */
#pragma once

#include "jobs/jobs.h"

extern const struct job_kind job_import_email;       /* an imported design is prepared */
extern const struct job_kind job_test_send;          /* one message to one address */
extern const struct job_kind job_campaign;           /* a campaign is expanded and delivered, a chunk a round */
extern const struct job_kind job_build_audience;     /* the members of a cohort are frozen from events, a step a round */
extern const struct job_kind job_validate_addresses; /* addresses are checked, nothing is kept */
extern const struct job_kind job_validate_contacts;  /* the addresses of contacts are checked, a round at a time */
extern const struct job_kind job_save_validated;     /* contacts are saved and their addresses checked */
extern const struct job_kind job_import_contacts;    /* the contacts of a CSV are saved, chunk by chunk */
extern const struct job_kind job_delete_field;       /* the values of a custom field are taken from contacts */
extern const struct job_kind job_verify_domain;      /* the DNS is asked for the records of a sending domain */
