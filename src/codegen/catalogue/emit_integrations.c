#include "model.h"

static void emit_integrations_header(const char *folder)
{
    struct output out;
    output_open(&out, folder, "integrations.h");
    put_origin(&out, "Providers that can be connected, and their events.");
    put(&out, "#pragma once\n\n#include <stddef.h>\n\n"
              "struct integration_provider {\n    const char *key;\n    const char *name;\n    const char *category;\n"
              "    const char *const *events; /* NULL-terminated */\n};\n"
              "extern const struct integration_provider integration_providers[];\n"
              "extern const size_t integration_provider_count;\n");
    output_close(&out);
}

void emit_integrations(const struct catalogue *all, const char *folder)
{
    emit_integrations_header(folder);
    struct output out;
    output_open(&out, folder, "integrations.c");
    put_origin(&out, "Providers that can be connected, and their events.");
    put(&out, "#include \"catalogue/integrations.h\"\n\nconst struct integration_provider integration_providers[] = {\n");
    size_t i;
    const json_t *row;
    json_array_foreach(all->integrations, i, row) {
        put(&out, "    { \"%s\", ", member_text(row, "provider"));
        put_c_string(&out, member_text(row, "name"));
        put(&out, ", \"%s\", (const char *const[]){ ", member_text(row, "category"));
        size_t at;
        const json_t *event;
        json_array_foreach(json_object_get(row, "events"), at, event) {
            put_c_string(&out, json_string_value(event));
            put(&out, ", ");
        }
        put(&out, "NULL } },\n");
    }
    put(&out, "};\nconst size_t integration_provider_count = sizeof(integration_providers) / sizeof(integration_providers[0]);\n");
    output_close(&out);
}
