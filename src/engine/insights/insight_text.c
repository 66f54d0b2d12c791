#include "engine/insights/insight_text.h"

#include "engine/insights/detect.h"

#include <math.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 4096, DETAIL_MAX_BYTES = 16 * 1024 };

static const struct insight_detector *detector_of(const struct insight_finding *finding)
{
    return &insight_detectors[finding->detector];
}

/* ---- Texts ---- */

static const char *percent_text(struct arena *arena, double rate)
{
    double percent = rate * 100;
    int digits = percent >= 10 ? 0 : percent >= 1 ? 1 : 2;
    return arena_printf(arena, "%.*f %%", digits, percent);
}

static const char *figure_text(struct arena *arena, const struct insight_finding *finding, double value)
{
    if (strcmp(detector_of(finding)->unit, "rate") == 0)
        return percent_text(arena, value);
    return arena_printf(arena, "%.0f", floor(value));
}

/* The text of a placeholder that begins `at`; NULL when it is none. `ret_size` gets its length. */
static const char *placeholder_text(struct arena *arena, const struct insight_finding *finding, const char *at, size_t *ret_size)
{
    const struct {
        const char *name;
        const char *text;
    } known[] = {
        { "{subject}", finding->subject },
        { "{value}", figure_text(arena, finding, finding->value) },
        { "{baseline}", figure_text(arena, finding, finding->baseline) },
        { "{sample}", arena_printf(arena, "%.0f", finding->sample) },
        { "{reason}", finding->reason != NULL ? finding->reason : "no reason was recorded" },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        *ret_size = strlen(known[i].name);
        if (strncmp(at, known[i].name, *ret_size) == 0)
            return known[i].text;
    }
    return NULL;
}

char *insight_text(struct arena *arena, const struct insight_finding *finding, const char *text)
{
    struct buf *out = buf_in_arena(arena, TEXT_MAX_BYTES);
    while (text[0] != '\0') {
        size_t size = 1;
        const char *value = text[0] == '{' ? placeholder_text(arena, finding, text, &size) : NULL;
        if (value != NULL)
            buf_add_text(out, value);
        else
            buf_add(out, text, size = 1);
        text += size;
    }
    return arena_dup(arena, buf_text(out));
}

/* ---- JSON ---- */

static void write_number(struct json_writer *json, const char *name, double value)
{
    json_key(json, name);
    if (isfinite(value))
        json_number(json, value);
    else
        json_null_value(json);
}

static void write_metrics(const struct insight_finding *finding, struct json_writer *json)
{
    json_key(json, "metrics");
    json_object_begin(json);
    json_member_text(json, "unit", detector_of(finding)->unit);
    write_number(json, "value", finding->value);
    write_number(json, "baseline", finding->baseline);
    json_key(json, "interval");
    json_object_begin(json);
    /* A fact is compared with a constant; its interval is that of the value. */
    json_member_text(json, "of", finding->is_fact ? "value" : "difference");
    write_number(json, "low", finding->interval.low);
    write_number(json, "high", finding->interval.high);
    json_object_end(json);
    json_member_int(json, "sample", (int64_t)finding->sample);
    json_member_int(json, "baselineSample", (int64_t)finding->baseline_sample);
    if (!finding->is_fact) {
        write_number(json, "dispersion", finding->dispersion);
        write_number(json, "p", finding->p);
        write_number(json, "q", finding->q);
    }
    json_object_end(json);
}

static void write_evidence(const struct work *work, const struct insight_finding *finding, struct json_writer *json)
{
    json_key(json, "evidence");
    json_object_begin(json);
    json_key(json, "sendIds");
    json_array_begin(json);
    for (size_t i = 0; i < finding->send_count; i++)
        json_text(json, work_id(work, ID_SEND, finding->sends[i]));
    json_array_end(json);
    json_object_end(json);
}

static void write_subject_id(const struct work *work, const struct insight_finding *finding, struct json_writer *json)
{
    static const struct {
        const char *subject_kind, *name;
        enum id_kind kind;
    } ids[] = {
        { "domain", "domainId", ID_DOMAIN },
        { "automation", "automationId", ID_AUTOMATION },
        { "step", "automationId", ID_AUTOMATION },
        { "trigger", "triggerEventId", ID_TRIGGER },
    };
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->subject_kind, ids[i].subject_kind) == 0)
            json_member_id(json, work, ids[i].name, ids[i].kind, finding->subject_id);
}

static void write_subject(const struct work *work, const struct insight_finding *finding, struct json_writer *json)
{
    json_key(json, "subject");
    json_object_begin(json);
    json_member_text(json, "kind", finding->subject_kind);
    if (finding->subject[0] != '\0')
        json_member_text(json, "name", finding->subject);
    if (finding->subject_id != 0)
        write_subject_id(work, finding, json);
    json_member_text_if(json, "nodeId", finding->node_id);
    json_object_end(json);
}

static void write_method(const struct insight_finding *finding, struct json_writer *json)
{
    json_key(json, "method");
    json_object_begin(json);
    json_member_text(json, "detector", detector_of(finding)->id);
    json_member_text(json, "test", detector_of(finding)->test);
    json_member_text(json, "compares", detector_of(finding)->compares);
    json_object_end(json);
}

const char *insight_detail_json(const struct work *work, const struct insight_finding *finding)
{
    struct buf *out = buf_in_arena(work->arena, DETAIL_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "rationale", insight_text(work->arena, finding, detector_of(finding)->rationale));
    write_metrics(finding, &json);
    write_evidence(work, finding, &json);
    write_subject(work, finding, &json);
    write_method(finding, &json);
    json_object_end(&json);
    return buf_text(out);
}

const char *insight_action_json(const struct work *work, const struct insight_finding *finding)
{
    struct buf *out = buf_in_arena(work->arena, TEXT_MAX_BYTES * 2);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "kind", "assistant");
    json_member_text(&json, "label", detector_of(finding)->label);
    json_member_text(&json, "intent", detector_of(finding)->intent);
    json_member_text(&json, "prompt", insight_text(work->arena, finding, detector_of(finding)->prompt));
    json_object_end(&json);
    return buf_text(out);
}

double insight_score(const struct insight_finding *finding)
{
    double certainty = finding->is_fact ? 1 : fmax(0, 1 - finding->q * 100 / INSIGHT_LEVEL_PERCENT);
    double change = finding->baseline > 0 ? fabs(finding->value / finding->baseline - 1) : 1;
    return round(50 * certainty + 50 * fmin(1, change));
}

const char *insight_severity(const struct insight_finding *finding)
{
    return finding->is_critical ? "critical" : detector_of(finding)->severity;
}
