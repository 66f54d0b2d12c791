/*
 * Test runs: an automation is run once in simulated time, and the run is stored
 * with its steps. It has no trigger instance, is not counted, writes no contact
 * and uses no allowance. Mail goes to the test recipient only, at once.
 *
 * The run is for the address in the payload's member email, or else for the test
 * recipient. A contact with that address is read for conditions.
 */
#pragma once

#include "catalogue/jobs.h"
#include "engine/core/work.h"
#include "engine/nodes/simulate.h"

enum { TEST_RUN_MESSAGES_MAX = 10 }; /* further messages are skipped */

struct test_run_request {
    int64_t automation_id;
    const char *recipient; /* NULL: nothing is sent */
    const json_t *payload; /* NULL: none */
    struct scenario scenario;
};

/* The jobs of the messages belong to the caller, who enqueues them in the same transaction. */
struct test_run {
    int64_t id;
    struct test_send_payload messages[TEST_RUN_MESSAGES_MAX];
    size_t message_count;
};

/* Runs the latest version and stores the run. A message that cannot be sent fails its step and the run.
 * Errors: AUTOMATION_NOT_FOUND; INVALID_REQUEST (testRecipient, payload, scenario). */
MUST_CHECK bool test_run_store(const struct work *work, const struct test_run_request *request, struct test_run *ret_run,
                               struct error *err) NONNULL(1, 2, 3, 4);
