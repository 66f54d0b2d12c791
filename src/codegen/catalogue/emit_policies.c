#include "model.h"

static void put_policy_enum(struct output *out, const char *tag, const char *prefix, json_t *rows, const char *count_name)
{
    put(out, "enum %s {\n", tag);
    const char *name;
    json_t *row;
    json_object_foreach(rows, name, row) {
        put(out, "    %s_%s,\n", prefix, upper_case(name));
    }
    put(out, "    %s,\n};\n", count_name);
}

static void emit_policies_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "policies.h");
    put_origin(&out, "Scopes, rate policies and credit prices.");
    put(&out, "#pragma once\n\n#include \"api/catalogue.h\"\n\n");

    put(&out, "/* A key holds some of these bits. An operation lists all that satisfy it. */\nenum scope {\n");
    int bit = 0;
    const char *name;
    json_t *row;
    json_object_foreach(json_object_get(all->policies, "scopes"), name, row) {
        put(&out, "    SCOPE_%s = 1u << %d,\n", upper_case(name), bit++);
    }
    put(&out, "};\nstruct scope_info {\n    const char *name;\n    uint32_t bit;\n"
              "    uint32_t satisfies; /* all scopes that this one satisfies, including itself */\n};\n"
              "extern const struct scope_info scopes[];\nextern const size_t scope_count;\n\n");

    put_policy_enum(&out, "rate_policy_index", "RATE", json_object_get(all->policies, "rates"), "RATE_POLICY_COUNT");
    put(&out, "extern const struct rate_policy rate_policies[];\n\n");

    put(&out, "/* Credit prices, as GET /v1/help publishes them. */\nextern const struct price prices[];\n"
              "extern const size_t price_count;\n");
    output_close(&out);
}

/* Plans, credit prices and daily bounds have a header of their own, because the engine includes it without the other policies. */
static void emit_plans_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "plans.h");
    put_origin(&out, "Plans: what an organization may use in a period.");
    put(&out, "#pragma once\n\n#include <stdint.h>\n\n");
    put_policy_enum(&out, "plan_index", "PLAN", json_object_get(all->policies, "plans"), "PLAN_COUNT");
    put(&out, "struct plan {\n    const char *key;\n    const char *name;\n    int64_t credits;     /* a period; -1: unlimited */\n"
              "    int64_t email_sends; /* a period; -1: unlimited */\n};\nextern const struct plan plans[];\n\n");
    put(&out, "/* Credits a call, or an item of it, as schemas/policies.json prices them. */\nenum price_credits {\n");
    const char *name;
    json_t *row;
    json_object_foreach(json_object_get(all->policies, "prices"), name, row) {
        put(&out, "    CREDITS_%s = %.0f,\n", upper_case(name), member_number(row, "credits", 0));
    }
    put(&out, "};\n\n/* Bounds of a day (UTC), of each brand or organization as schemas/policies.json declares. */\nenum daily_bound {\n");
    json_object_foreach(json_object_get(all->policies, "dailyBounds"), name, row) {
        put(&out, "    DAILY_%s = %.0f,\n", upper_case(name), member_number(row, "limit", 0));
    }
    put(&out, "};\n");
    output_close(&out);
}

static void put_scopes(struct output *out, const struct catalogue *all)
{
    put(out, "const struct scope_info scopes[] = {\n");
    const char *name;
    json_t *row;
    json_object_foreach(json_object_get(all->policies, "scopes"), name, row) {
        put(out, "    { \"%s\", SCOPE_%s, SCOPE_%s", name, upper_case(name), upper_case(name));
        size_t i;
        const json_t *implied;
        json_array_foreach(json_object_get(row, "implies"), i, implied) {
            put(out, " | SCOPE_%s", upper_case(json_string_value(implied)));
        }
        put(out, " },\n");
    }
    put(out, "};\nconst size_t scope_count = sizeof(scopes) / sizeof(scopes[0]);\n\n");
}

static void emit_tables(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "policies.c");
    put_origin(&out, "Scopes, rate policies, credit prices and plans.");
    put(&out, "#include \"catalogue/policies.h\"\n\n#include \"catalogue/plans.h\"\n\n");
    put_scopes(&out, all);

    const char *name;
    json_t *row;
    put(&out, "const struct rate_policy rate_policies[] = {\n");
    json_object_foreach(json_object_get(all->policies, "rates"), name, row) {
        put(&out, "    [RATE_%s] = { \"%s\", RATE_%s, %.0f, %.0f },\n", upper_case(name), name, upper_case(name),
            member_number(row, "limit", 0), member_number(row, "windowS", 60));
    }
    put(&out, "};\n\nconst struct price prices[] = {\n");
    json_object_foreach(json_object_get(all->policies, "prices"), name, row) {
        put(&out, "    { PRICE_%s, %.0f, \"%s\" },\n", upper_case(member_text(row, "kind")), member_number(row, "credits", 0), name);
    }
    put(&out, "};\nconst size_t price_count = sizeof(prices) / sizeof(prices[0]);\n\nconst struct plan plans[] = {\n");
    json_object_foreach(json_object_get(all->policies, "plans"), name, row) {
        put(&out, "    [PLAN_%s] = { \"%s\", \"%s\", %.0f, %.0f },\n", upper_case(name), name, member_text(row, "name"),
            member_number(row, "credits", -1), member_number(row, "emailSends", -1));
    }
    put(&out, "};\n");
    output_close(&out);
}

void emit_policies(const struct catalogue *all, const char *folder)
{
    emit_policies_header(all, folder);
    emit_plans_header(all, folder);
    emit_tables(all, folder);
}
