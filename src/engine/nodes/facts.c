#include "engine/nodes/facts.h"

#include "base/clock.h"

enum { FACTS_MAX_BYTES = 16 * 1024 };

void step_record_begin(struct step_record *record, struct arena *arena)
{
    *record = (struct step_record){ .arena = arena, .out = buf_in_arena(arena, FACTS_MAX_BYTES) };
    json_writer_init(&record->json, record->out);
    json_object_begin(&record->json);
}

void step_record_flag(struct step_record *record, const char *name, bool value)
{
    json_member_bool(&record->json, name, value);
}

void step_record_text(struct step_record *record, const char *name, const char *value)
{
    json_member_text_if(&record->json, name, value);
}

void step_record_number(struct step_record *record, const char *name, double value)
{
    json_key(&record->json, name);
    json_number(&record->json, value);
}

void step_record_time(struct step_record *record, const char *name, struct opt_int time_us)
{
    if (time_us.set)
        json_member_text(&record->json, name, clock_iso(record->arena, time_us.value));
}

void step_record_flags(struct step_record *record, const char *name, const bool *values, size_t known, size_t count)
{
    json_key(&record->json, name);
    json_array_begin(&record->json);
    for (size_t i = 0; i < known; i++)
        json_bool(&record->json, values[i]);
    for (size_t i = known; i < count; i++)
        json_null_value(&record->json);
    json_array_end(&record->json);
}

const char *step_record_end(struct step_record *record)
{
    json_object_end(&record->json);
    return buf_text(record->out);
}

void step_go(struct step_out *out, struct step_record *record, const char *branch)
{
    *out = (struct step_out){ .kind = STEP_GO, .branch = branch, .facts_json = step_record_end(record) };
}

void step_wait_until(struct step_out *out, struct step_record *record, int64_t due_us)
{
    *out =
        (struct step_out){ .kind = STEP_WAIT, .due_us = { .set = true, .value = due_us }, .facts_json = step_record_end(record) };
}

void step_fail(struct step_out *out, struct step_record *record, const char *reason)
{
    *out = (struct step_out){ .kind = STEP_FAIL, .reason = reason, .facts_json = step_record_end(record) };
}
