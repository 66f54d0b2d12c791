#include "jobs/kinds.h"

const struct job_kind *const job_kinds[] = {
    &job_import_email,
    &job_test_send,
    &job_campaign,
    NULL,
};
