#include "jobs/job_types.h"

const struct job_kind *const job_kinds[] = {
    &job_import_email,
    &job_test_send,
    &job_campaign,
    &job_build_audience,
    &job_validate_addresses,
    &job_validate_contacts,
    &job_save_validated,
    &job_import_contacts,
    &job_delete_field,
    &job_verify_domain,
    NULL,
};
