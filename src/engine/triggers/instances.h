/*
 * Trigger instances: the recorded fires. A fire is recorded with its runs in one
 * transaction and never changes. Its payload is not part of it.
 */
#pragma once

#include "engine/core/work.h"

/* Writes one fire. Errors: TRIGGER_INSTANCE_NOT_FOUND. */
MUST_CHECK bool trigger_instance_write(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Writes a page of fires, newest first; `trigger_id` 0: of all triggers. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool trigger_instances_write(const struct work *work, int64_t trigger_id, int64_t limit, const char *cursor,
                                        struct json_writer *json, struct error *err) NONNULL(1, 5, 6);
