#include "lint.h"

#include <string.h>

static const char where[] = "schemas/insights.json";

static void lint_least(const json_t *list, const char *place)
{
    size_t i;
    const json_t *least;
    json_array_foreach (list, i, least) {
        lint_text(least, "of", place);
        if (member_number(least, "number", 0) <= 0) {
            problem(place, "a least sample must be a positive number");
        }
    }
    if (i == 0 || i > 2) {
        problem(place, "needs one or two least samples");
    }
}

static void lint_action(json_t *action, const char *place)
{
    static const char *const known[] = { "label=s", "intent=s", "prompt=s", NULL };
    if (!json_is_object(action)) {
        problem(place, "needs an action");
        return;
    }
    lint_members(action, known, place);
    lint_text(action, "label", place);
    lint_text(action, "intent", place);
    lint_text(action, "prompt", place);
}

static void lint_detector(json_t *row, const char *place)
{
    static const char *const known[] = { "id=s",       "summary=s", "kind=s",  "severity=s",  "critical=n", "unit=s", "test=s",
                                         "compares=s", "least=a",   "title=s", "rationale=s", "action=o",   NULL };
    static const char *const kinds[] = { "answer", "insight", "strategy", NULL };
    static const char *const severities[] = { "critical", "warning", "opportunity", "info", NULL };
    static const char *const units[] = { "rate", "count", "days", NULL };
    static const char *const texts[] = { "summary", "test", "compares", "title", "rationale", NULL };
    lint_members(row, known, place);
    for (size_t i = 0; texts[i] != NULL; i++) {
        lint_text(row, texts[i], place);
    }
    if (!is_one_of(member_text(row, "kind"), kinds) || !is_one_of(member_text(row, "severity"), severities) ||
        !is_one_of(member_text(row, "unit"), units)) {
        problem(place, "kind, severity or unit is not a known one");
    }
    lint_least(json_object_get(row, "least"), place);
    lint_action(json_object_get(row, "action"), place);
}

void lint_insights(const struct catalogue *all)
{
    json_t *seen = keep(json_object());
    size_t i;
    json_t *row;
    json_array_foreach (all->insights, i, row) {
        const char *id = member_text(row, "id");
        const char *place = text("%s: %s", where, id != NULL ? id : "a detector without an id");
        if (id == NULL || json_object_get(seen, id) != NULL) {
            problem(place, "needs an id of its own");
            continue;
        }
        json_object_set_new(seen, id, json_true());
        lint_detector(row, place);
    }
}
