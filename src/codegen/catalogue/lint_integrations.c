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

/* A key without the provider: user_id. */
static bool is_field_key(const char *key)
{
    bool good = islower((unsigned char)key[0]);
    for (const char *p = key; *p != '\0'; p++) {
        good = good && (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_');
    }
    return good;
}

static void lint_field(json_t *field, const char *place)
{
    static const char *const known[] = { "key=s", "type=s", "path=s", NULL };
    static const char *const types[] = { "string", "int", "float", "boolean", "date", NULL };
    const char *key = member_text(field, "key");
    lint_members(field, known, place);
    lint_text(field, "path", place);
    if (key == NULL || !is_field_key(key)) {
        problem(place, "the key of a field must be lower-case words joined by _");
    }
    if (!is_one_of(member_text(field, "type"), types)) {
        problem(place, "the type of a field must be string, int, float, boolean or date");
    }
}

static void lint_names(json_t *names, json_t *seen, const char *place)
{
    const char *name;
    json_t *title;
    if (json_object_size(names) == 0) {
        problem(place, "has no events");
    }
    json_object_foreach ((json_t *)names, name, title) {
        if (name[0] == '\0' || !json_is_string(title) || json_object_get(seen, name) != NULL) {
            problem(place, "has an empty event, one without a title, or %s twice", name);
        }
        json_object_set_new(seen, name, json_true());
    }
}

static void lint_events(const json_t *events, const char *place)
{
    static const char *const known[] = { "names=o", "email=t", "person=s", "columns=s", "fields=a", NULL };
    json_t *seen = keep(json_object());
    size_t i;
    json_t *event;
    json_array_foreach (events, i, event) {
        size_t at;
        json_t *field;
        lint_members(event, known, place);
        lint_names(json_object_get(event, "names"), seen, place);
        json_array_foreach (json_object_get(event, "fields"), at, field) {
            lint_field(field, place);
        }
    }
    if (i == 0) {
        problem(place, "has no events");
    }
}

/* The standard scheme has an id, a time and a signature. */
static void lint_signature(json_t *signature, const char *place)
{
    enum { STANDARD_HEADERS = 3 };
    static const char *const known[] = { "scheme=s", "headers=t", "unit=s", NULL };
    static const char *const schemes[] = { "standard", "stamped", "body", "shared", NULL };
    static const char *const units[] = { "s", "ms", NULL };
    const char *scheme = member_text(signature, "scheme");
    size_t count = json_array_size(json_object_get(signature, "headers"));
    lint_members(signature, known, place);
    if (!is_one_of(scheme, schemes)) {
        problem(place, "the scheme must be standard, stamped, body or shared");
        return;
    }
    bool is_standard = strcmp(scheme, "standard") == 0;
    if (is_standard ? count == 0 || count % STANDARD_HEADERS != 0 : count != 1) {
        problem(place, "the scheme has one header; standard has threes of an id, a time and a signature");
    }
    if ((strcmp(scheme, "stamped") == 0) != is_one_of(member_text(signature, "unit"), units)) {
        problem(place, "the scheme stamped, and no other, has the unit s or ms");
    }
}

/* A value is at a path of the body or in a header. */
static void lint_source(json_t *source, bool is_required, const char *name, const char *place)
{
    static const char *const known[] = { "path=s", "header=s", NULL };
    if (source == NULL && !is_required) {
        return;
    }
    if (source != NULL) {
        lint_members(source, known, place);
    }
    if ((member_text(source, "path") == NULL) == (member_text(source, "header") == NULL)) {
        problem(place, "%s must be either at a path or in a header", name);
    }
}

void lint_integrations(const struct catalogue *all)
{
    static const char *const known[] = { "provider=s", "name=s",  "category=s", "signature=o", "event=o",
                                         "eventId=o",  "table=s", "events=a",   NULL };
    static const char *const categories[] = { "data_in", "data_out", NULL };
    json_t *seen = keep(json_object());
    size_t i;
    json_t *row;
    json_array_foreach (all->integrations, i, row) {
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
        lint_signature(json_object_get(row, "signature"), place);
        lint_source(json_object_get(row, "event"), true, "event", place);
        lint_source(json_object_get(row, "eventId"), false, "eventId", place);
        lint_events(json_object_get(row, "events"), place);
    }
}
