#include "lint.h"

#include <ctype.h>
#include <string.h>

static const char where[] = "schemas/integrations.json";

/* Names of contact fields start with the key: identity_user_id. */
static bool is_provider_key(const char *key)
{
    bool good = islower((unsigned char)key[0]);
    for (const char *p = key; *p != '\0'; p++) {
        good = good && (islower((unsigned char)*p) || *p == '_');
    }
    return good;
}

static void lint_events(const json_t *events, const char *place)
{
    json_t *seen = keep(json_object());
    size_t i;
    const json_t *event;
    json_array_foreach(events, i, event) {
        const char *name = json_string_value(event);
        if (name == NULL || name[0] == '\0' || json_object_get(seen, name) != NULL) {
            problem(place, "has an empty event or %s twice", name != NULL ? name : "one that is not text");
            continue;
        }
        json_object_set_new(seen, name, json_true());
    }
    if (i == 0) {
        problem(place, "has no events");
    }
}

void lint_integrations(const struct catalogue *all)
{
    static const char *const known[] = { "provider=s", "name=s", "category=s", "events=t", NULL };
    static const char *const categories[] = { "data_in", "data_out", NULL };
    json_t *seen = keep(json_object());
    size_t i;
    json_t *row;
    json_array_foreach(all->integrations, i, row) {
        const char *key = member_text(row, "provider");
        const char *place = text("%s: %s", where, key != NULL ? key : "a provider without a key");
        lint_members(row, known, place);
        lint_text(row, "name", place);
        if (key == NULL || !is_provider_key(key) || json_object_get(seen, key) != NULL) {
            problem(place, "provider must be lower-case words joined by _, each once");
            continue;
        }
        json_object_set_new(seen, key, json_true());
        if (!is_one_of(member_text(row, "category"), categories)) {
            problem(place, "category must be data_in or data_out");
        }
        lint_events(json_object_get(row, "events"), place);
    }
}
