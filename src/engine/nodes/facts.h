/*
 * Facts of a step: writes the JSON object that records what decided. It has no
 * value of a payload. Private to engine/nodes.
 */
#pragma once

#include "base/json_write.h"
#include "engine/nodes/step.h"

struct step_record {
    struct arena *arena;
    struct buf *out;
    struct json_writer json;
};

/* Opens the object. */
void step_record_begin(struct step_record *record, struct arena *arena) NONNULL(1, 2);

/* Members. A time that is not set is left out. */
void step_record_flag(struct step_record *record, const char *name, bool value) NONNULL(1, 2);
void step_record_text(struct step_record *record, const char *name, const char *value) NONNULL(1, 2);
void step_record_number(struct step_record *record, const char *name, double value) NONNULL(1, 2);
void step_record_time(struct step_record *record, const char *name, struct opt_int time_us) NONNULL(1, 2);
/* `count` values, of which the first `known` ones are known; null stands for the others. */
void step_record_flags(struct step_record *record, const char *name, const bool *values, size_t known, size_t count) NONNULL(1, 2);

/* Closes the object and gives its text. */
const char *step_record_end(struct step_record *record) NONNULL(1) RETURNS_NONNULL;

/* The results of a step; each with the facts so far. */
void step_go(struct step_out *out, struct step_record *record, const char *branch) NONNULL(1, 2);
void step_wait_until(struct step_out *out, struct step_record *record, int64_t due_us) NONNULL(1, 2);
void step_fail(struct step_out *out, struct step_record *record, const char *reason) NONNULL(1, 2, 3);
