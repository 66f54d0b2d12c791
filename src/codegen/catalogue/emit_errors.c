#include "suggestions.h"

#include <string.h>

static void emit_error_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "error_codes.h");
    put_origin(&out, "The error codes of the contract. error_info() of base/error.h gives the details of each.");
    put(&out, "#pragma once\n\nenum error_code {\n    ERR_NONE,\n");
    size_t i;
    const json_t *row;
    json_array_foreach(all->errors, i, row) {
        put(&out, "    ERR_%s,\n", member_text(row, "code"));
    }
    put(&out, "    ERROR_CODE_COUNT,\n};\n");
    output_close(&out);
}

/* In the order of struct error_info. */
static void put_suggestions(struct output *out, const struct catalogue *all, const json_t *row)
{
    static const enum reader readers[] = { READER_PROGRAM, READER_COMMAND, READER_ASSISTANT, READER_WITHOUT_TOOLS };
    for (size_t i = 0; i < ARRAY_COUNT(readers); i++) {
        put_c_string(out, suggestion_for(all, row, readers[i]));
        put(out, ", ");
    }
    put(out, "WORDS(");
    json_t *tools = keep(suggested_tools(all, row));
    size_t i;
    const json_t *tool;
    json_array_foreach (tools, i, tool) {
        put(out, "\"%s\", ", json_string_value(tool));
    }
    put(out, "NULL), ");
}

static void emit_error_table(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "error_codes.c");
    put_origin(&out, "The registry of errors.");
    put(&out, "#include \"base/error.h\"\n\n#define WORDS(...) (const char *const[]){ __VA_ARGS__ }\n"
              "#define REPORT \"Report this to the operator.\"\n\n");
    put(&out, "static const struct error_info registry[ERROR_CODE_COUNT] = {\n");
    put(&out,
        "    [ERR_NONE] = { \"INTERNAL_ERROR\", 500, \"internal_error\", REPORT, REPORT, REPORT, REPORT, WORDS(NULL), false },\n");
    size_t i;
    const json_t *row;
    json_array_foreach(all->errors, i, row) {
        put(&out, "    [ERR_%s] = { \"%s\", %d, \"%s\",\n        ", member_text(row, "code"), member_text(row, "code"),
            (int)member_number(row, "status", 500), member_text(row, "type"));
        put_suggestions(&out, all, row);
        put(&out, "%s },\n", member_true(row, "retryable") ? "true" : "false");
    }
    put(&out, "};\n\n");
    put(&out, "const struct error_info *error_info(enum error_code code)\n{\n"
              "    /* An unknown code is a broken invariant and becomes an internal error. */\n"
              "    unsigned at = (unsigned)code < ERROR_CODE_COUNT ? (unsigned)code : ERR_NONE;\n"
              "    return &registry[at];\n}\n");
    output_close(&out);
}

void emit_errors(const struct catalogue *all, const char *folder)
{
    emit_error_header(all, folder);
    emit_error_table(all, folder);
}
