#include "engine/quality/audit_findings.h"

#include "base/text.h"
#include "crypto/keys.h"

#include <stdlib.h>
#include <string.h>

enum {
    FINDING_ID_BYTES = 10, /* of the hash; 20 hexadecimal digits */
    DIFF_MAX_BYTES = 64 * 1024,
};

/* ---- Order and ids ---- */

bool audit_has_check(enum audit_kind kind, const struct quality_check *check)
{
    return kind == AUDIT_FULL || check->category == CATEGORY_ACCESSIBILITY;
}

/* The place of a finding among those of its check with the same key. */
static size_t place_among_equals(const struct check_outcome *outcome, size_t at)
{
    size_t place = 0;
    for (size_t i = 0; i < at; i++)
        place += text_equal(outcome->findings[i].key, outcome->findings[at].key);
    return place;
}

static const char *finding_id(struct arena *arena, const struct check_outcome *outcome, size_t at)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * FINDING_ID_BYTES + 1];
    const char *fault =
        arena_printf(arena, "%s\n%zu\n%s", outcome->check->id, place_among_equals(outcome, at), outcome->findings[at].key);
    sha256(fault, strlen(fault), hash);
    hex_encode(hash, FINDING_ID_BYTES, hex);
    return arena_dup(arena, hex);
}

static void take_findings(struct arena *arena, const struct check_outcome *outcome, enum check_severity severity,
                          struct audit_findings *taken)
{
    for (size_t i = 0; i < outcome->finding_count; i++) {
        if (outcome->findings[i].severity != severity)
            continue;
        taken->outcomes[taken->count] = outcome;
        taken->findings[taken->count] = &outcome->findings[i];
        taken->ids[taken->count++] = finding_id(arena, outcome, i);
    }
}

struct audit_findings audit_findings_of(struct arena *arena, const struct check_report *report, enum audit_kind kind)
{
    size_t outcome_count;
    size_t most = 0;
    const struct check_outcome *outcomes = check_report_outcomes(report, &outcome_count);
    for (size_t i = 0; i < outcome_count; i++)
        most += outcomes[i].finding_count;
    struct audit_findings taken = {
        .outcomes = arena_array(arena, most, sizeof(*taken.outcomes)),
        .findings = arena_array(arena, most, sizeof(*taken.findings)),
        .ids = arena_array(arena, most, sizeof(*taken.ids)),
        .are_new = arena_array(arena, most, sizeof(*taken.are_new)),
    };
    for (enum check_severity severity = SEVERITY_BLOCKER; severity > SEVERITY_DECLARED; severity--) {
        for (size_t i = 0; i < outcome_count; i++) {
            if (audit_has_check(kind, outcomes[i].check))
                take_findings(arena, &outcomes[i], severity, &taken);
        }
    }
    return taken;
}

/* ---- Comparison ---- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char **sorted_copy(struct arena *arena, const char *const *ids, size_t count)
{
    const char **sorted = arena_array(arena, count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = ids[i];
    qsort(sorted, count, sizeof(*sorted), compare_texts);
    return sorted;
}

static bool has_id(const char *const *sorted, size_t count, const char *id)
{
    return bsearch(&id, sorted, count, sizeof(*sorted), compare_texts) != NULL;
}

/* Whether a fault of an earlier audit that the check does not name now is gone; false: the check may only not have told it. */
static bool tells_absence(const struct check_report *report, const char *check_id)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++) {
        const struct check_outcome *outcome = &outcomes[i];
        if (!text_equal(outcome->check->id, check_id))
            continue;
        bool was_run = check_report_version(report, outcome->check->engine).name != NULL;
        return outcome->status == CHECK_PASSED || (outcome->status == CHECK_ISSUES && outcome->more == 0) ||
               (outcome->status == CHECK_NOT_APPLICABLE && was_run);
    }
    return false;
}

struct comparison {
    int64_t added;
    int64_t remaining;
    int64_t unchecked;
    int64_t fixed;
    const struct audit_findings_all_row *shown[AUDIT_FIXED_SHOWN];
    size_t shown_count;
};

static void compare_before(const struct check_report *report, const char *const *now, size_t now_count,
                           const struct audit_findings_all_row *before, size_t before_count, struct comparison *comparison)
{
    for (size_t i = 0; i < before_count; i++) {
        if (has_id(now, now_count, before[i].finding_id))
            continue;
        if (!tells_absence(report, before[i].check_id)) {
            comparison->unchecked++;
            continue;
        }
        comparison->fixed++;
        if (comparison->shown_count < AUDIT_FIXED_SHOWN)
            comparison->shown[comparison->shown_count++] = &before[i];
    }
}

static void write_fixed(const struct comparison *comparison, struct json_writer *json)
{
    json_key(json, "fixedFindings");
    json_array_begin(json);
    for (size_t i = 0; i < comparison->shown_count; i++) {
        json_object_begin(json);
        json_member_text(json, "id", comparison->shown[i]->finding_id);
        json_member_text(json, "ruleId", comparison->shown[i]->check_id);
        json_member_text(json, "severity", comparison->shown[i]->severity);
        json_member_text(json, "message", comparison->shown[i]->message);
        json_object_end(json);
    }
    json_array_end(json);
}

static const char *comparison_json(const struct work *work, const struct audit_previous_row *previous,
                                   const struct comparison *comparison)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(work->arena, DIFF_MAX_BYTES);
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_id(&json, work, "previousAuditId", ID_AUDIT, previous->id);
    json_member_int_or_null(&json, "previousScore", previous->score);
    json_member_int(&json, "fixed", comparison->fixed);
    json_member_int(&json, "new", comparison->added);
    json_member_int(&json, "remaining", comparison->remaining);
    json_member_int(&json, "unchecked", comparison->unchecked);
    write_fixed(comparison, &json);
    json_object_end(&json);
    return buf_text(out);
}

const char *audit_compare(const struct work *work, const struct check_report *report, struct audit_findings *findings,
                          const struct audit_previous_row *previous, const struct audit_findings_all_row *before,
                          size_t before_count)
{
    struct comparison comparison = { .added = 0 };
    const char **ids_before = arena_array(work->arena, before_count, sizeof(*ids_before));
    for (size_t i = 0; i < before_count; i++)
        ids_before[i] = before[i].finding_id;
    qsort(ids_before, before_count, sizeof(*ids_before), compare_texts);
    for (size_t i = 0; i < findings->count; i++) {
        findings->are_new[i] = !has_id(ids_before, before_count, findings->ids[i]);
        comparison.added += findings->are_new[i];
        comparison.remaining += !findings->are_new[i];
    }
    const char **ids_now = sorted_copy(work->arena, findings->ids, findings->count);
    compare_before(report, ids_now, findings->count, before, before_count, &comparison);
    return comparison_json(work, previous, &comparison);
}
