#include "model.h"

#include <string.h>

static const char types[] =
    "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
    "/* How a request proves that it is the provider's (engine/integrations/proof.h). */\n"
    "enum integration_scheme { INTEGRATION_STANDARD, INTEGRATION_STAMPED, INTEGRATION_BODY, INTEGRATION_SHARED };\n\n"
    "/* A field of the payload, and of the contact. */\n"
    "struct integration_field {\n    const char *key;  /* with the provider: payments_customer_id */\n"
    "    const char *type; /* string, int, float, boolean or date */\n    const char *path;\n};\n\n"
    "/* Where the values of events come from. */\n"
    "struct integration_mapping {\n    const char *const *emails; /* paths, the first address counts; NULL-terminated */\n"
    "    const char *person;        /* path of the provider's id of the person; NULL: none */\n"
    "    const char *columns;       /* path of the row whose configured columns are fields; NULL: none */\n"
    "    const struct integration_field *fields;\n    size_t field_count;\n};\n\n"
    "struct integration_event {\n    const char *name;\n    const char *title;\n    const struct integration_mapping "
    "*mapping;\n};\n\n"
    "struct integration_provider {\n    const char *key;\n    const char *name;\n    const char *category;\n"
    "    enum integration_scheme scheme;\n    int64_t stamp_us;           /* unit of the times in signatures; 0: they have none "
    "*/\n"
    "    const char *const *headers; /* all that are read, those of the signature first; NULL-terminated */\n"
    "    size_t signature_headers;\n"
    "    const char *event_header; /* one of these two names the event */\n    const char *event_path;\n"
    "    const char *id_header; /* one of these two, or neither, has the id of the event */\n    const char *id_path;\n"
    "    const char *table_path; /* path of the table, for a provider whose connections name tables; NULL: none */\n"
    "    const struct integration_event *events;\n    size_t event_count;\n};\n"
    "extern const struct integration_provider integration_providers[];\n"
    "extern const size_t integration_provider_count;\n";

static void emit_integrations_header(const char *folder)
{
    struct output out;
    output_open(&out, folder, "integrations.h");
    put_origin(&out, "Providers that can be connected, their events, and where the values of an event come from.");
    put(&out, "%s", types);
    output_close(&out);
}

static void put_text_or_null(struct output *out, const char *text)
{
    if (text != NULL) {
        put_c_string(out, text);
    } else {
        put(out, "NULL");
    }
    put(out, ", ");
}

static void put_texts(struct output *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach (list, i, item) {
        put_text_or_null(out, json_string_value(item));
    }
}

static void put_mapping(struct output *out, const char *provider, size_t number, const json_t *event)
{
    const json_t *fields = json_object_get(event, "fields");
    size_t i;
    const json_t *field;
    put(out, "static const struct integration_field %s_fields_%zu[] = {\n", provider, number);
    json_array_foreach (fields, i, field) {
        put(out, "    { \"%s_%s\", \"%s\", ", provider, member_text(field, "key"), member_text(field, "type"));
        put_c_string(out, member_text(field, "path"));
        put(out, " },\n");
    }
    put(out, "};\nstatic const struct integration_mapping %s_mapping_%zu = {\n    (const char *const[]){ ", provider, number);
    put_texts(out, json_object_get(event, "email"));
    put(out, "NULL }, ");
    put_text_or_null(out, member_text(event, "person"));
    put_text_or_null(out, member_text(event, "columns"));
    put(out, "%s_fields_%zu, %zu\n};\n", provider, number, json_array_size(fields));
}

static void put_events(struct output *out, const char *provider, const json_t *events)
{
    size_t i;
    const json_t *event;
    json_array_foreach (events, i, event) {
        put_mapping(out, provider, i, event);
    }
    put(out, "static const struct integration_event %s_events[] = {\n", provider);
    json_array_foreach (events, i, event) {
        const char *name;
        json_t *title;
        json_object_foreach (json_object_get(event, "names"), name, title) {
            put(out, "    { ");
            put_c_string(out, name);
            put(out, ", ");
            put_c_string(out, json_string_value(title));
            put(out, ", &%s_mapping_%zu },\n", provider, i);
        }
    }
    put(out, "};\n");
}

static const char *scheme_constant(const char *scheme)
{
    if (strcmp(scheme, "standard") == 0) {
        return "INTEGRATION_STANDARD";
    }
    if (strcmp(scheme, "stamped") == 0) {
        return "INTEGRATION_STAMPED";
    }
    return strcmp(scheme, "body") == 0 ? "INTEGRATION_BODY" : "INTEGRATION_SHARED";
}

/* Microseconds; the standard scheme counts seconds. */
static int stamp_us(const json_t *signature)
{
    const char *unit = member_text(signature, "unit");
    if (unit != NULL) {
        return strcmp(unit, "ms") == 0 ? 1000 : 1000 * 1000;
    }
    return strcmp(member_text(signature, "scheme"), "standard") == 0 ? 1000 * 1000 : 0;
}

static void put_provider(struct output *out, const json_t *row)
{
    const json_t *signature = json_object_get(row, "signature");
    const json_t *event = json_object_get(row, "event");
    const json_t *id = json_object_get(row, "eventId");
    const char *key = member_text(row, "provider");
    put(out, "    { \"%s\", ", key);
    put_c_string(out, member_text(row, "name"));
    put(out, ", \"%s\", %s, %d,\n      (const char *const[]){ ", member_text(row, "category"),
        scheme_constant(member_text(signature, "scheme")), stamp_us(signature));
    put_texts(out, json_object_get(signature, "headers"));
    if (member_text(event, "header") != NULL) {
        put_text_or_null(out, member_text(event, "header"));
    }
    if (member_text(id, "header") != NULL) {
        put_text_or_null(out, member_text(id, "header"));
    }
    put(out, "NULL }, %zu, ", json_array_size(json_object_get(signature, "headers")));
    put_text_or_null(out, member_text(event, "header"));
    put_text_or_null(out, member_text(event, "path"));
    put_text_or_null(out, member_text(id, "header"));
    put_text_or_null(out, member_text(id, "path"));
    put_text_or_null(out, member_text(row, "table"));
    put(out, "%s_events, sizeof(%s_events) / sizeof(%s_events[0]) },\n", key, key, key);
}

void emit_integrations(const struct catalogue *all, const char *folder)
{
    emit_integrations_header(folder);
    struct output out;
    output_open(&out, folder, "integrations.c");
    put_origin(&out, "Providers that can be connected, their events, and where the values of an event come from.");
    put(&out, "#include \"catalogue/integrations.h\"\n\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->integrations, i, row) {
        put_events(&out, member_text(row, "provider"), json_object_get(row, "events"));
    }
    put(&out, "const struct integration_provider integration_providers[] = {\n");
    json_array_foreach (all->integrations, i, row) {
        put_provider(&out, row);
    }
    put(&out, "};\nconst size_t integration_provider_count = sizeof(integration_providers) / sizeof(integration_providers[0]);\n");
    output_close(&out);
}
