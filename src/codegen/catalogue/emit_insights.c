#include "model.h"

static void emit_insights_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "insights.h");
    put_origin(&out, "Detectors of findings about a brand's mail.");
    put(&out, "#pragma once\n\n#include <stddef.h>\n\nenum insight_detector_index {\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->insights, i, row) {
        put(&out, "    INSIGHT_%s,\n", upper_case(snake_case(member_text(row, "id"))));
    }
    put(&out, "    INSIGHT_DETECTOR_COUNT,\n};\n\n"
              "/* `least` has the smallest samples, in the order of the declaration; 0: none. */\n"
              "struct insight_detector {\n    const char *id;\n    const char *kind;     /* insight or strategy */\n"
              "    const char *severity; /* critical, warning, opportunity or info */\n"
              "    double critical;      /* critical from this value on; 0: never */\n"
              "    const char *unit;     /* rate, count or days */\n    const char *test;\n    const char *compares;\n"
              "    double least[2];\n    const char *title;     /* with {subject}, {value}, {baseline}, {sample} and {reason} */\n"
              "    const char *rationale;\n    const char *label;\n    const char *intent;\n    const char *prompt;\n};\n"
              "extern const struct insight_detector insight_detectors[INSIGHT_DETECTOR_COUNT];\n");
    output_close(&out);
}

static double least_at(const json_t *row, size_t at)
{
    return member_number(json_array_get(json_object_get(row, "least"), at), "number", 0);
}

static void emit_member(struct output *out, const char *name, const char *value)
{
    put(out, "        .%s = ", name);
    put_c_string(out, value);
    put(out, ",\n");
}

void emit_insights(const struct catalogue *all, const char *folder)
{
    static const char *const texts[] = { "id", "kind", "severity", "unit", "test", "compares", "title", "rationale", NULL };
    static const char *const action_texts[] = { "label", "intent", "prompt", NULL };
    emit_insights_header(all, folder);
    struct output out;
    output_open(&out, folder, "insights.c");
    put_origin(&out, "Detectors of findings about a brand's mail.");
    put(&out, "#include \"catalogue/insights.h\"\n\nconst struct insight_detector insight_detectors[INSIGHT_DETECTOR_COUNT] = {\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->insights, i, row) {
        put(&out, "    {\n");
        for (size_t at = 0; texts[at] != NULL; at++) {
            emit_member(&out, texts[at], member_text(row, texts[at]));
        }
        for (size_t at = 0; action_texts[at] != NULL; at++) {
            emit_member(&out, action_texts[at], member_text(json_object_get(row, "action"), action_texts[at]));
        }
        put(&out, "        .critical = %g,\n        .least = { %g, %g },\n    },\n", member_number(row, "critical", 0),
            least_at(row, 0), least_at(row, 1));
    }
    put(&out, "};\n");
    output_close(&out);
}

void emit_insight_docs(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "insights.md");
    put(&out, "# Insights\n\nGenerated from `schemas/insights.json`. [The module](../modules/insights.md) describes how they are "
              "found.\n\n"
              "| Insight | Kind | Severity | Compared | Test | At least |\n|---|---|---|---|---|---|\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->insights, i, row) {
        put(&out, "| `%s`: %s | %s | %s | %s | %s | ", member_text(row, "id"), member_text(row, "summary"),
            member_text(row, "kind"), member_text(row, "severity"), member_text(row, "compares"), member_text(row, "test"));
        size_t at;
        const json_t *least;
        json_array_foreach (json_object_get(row, "least"), at, least) {
            put(&out, "%s%.0f %s", at > 0 ? ", " : "", member_number(least, "number", 0), member_text(least, "of"));
        }
        put(&out, " |\n");
    }
    output_close(&out);
}
