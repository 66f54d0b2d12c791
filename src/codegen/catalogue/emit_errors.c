#include "model.h"

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

static void emit_error_table(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "error_codes.c");
    put_origin(&out, "The registry of errors.");
    put(&out, "#include \"base/error.h\"\n\n");
    put(&out, "static const struct error_info registry[ERROR_CODE_COUNT] = {\n");
    put(&out, "    [ERR_NONE] = { \"INTERNAL_ERROR\", 500, \"internal_error\", \"Report this to the operator.\", false },\n");
    size_t i;
    const json_t *row;
    json_array_foreach(all->errors, i, row) {
        put(&out, "    [ERR_%s] = { \"%s\", %d, \"%s\",\n        ", member_text(row, "code"), member_text(row, "code"),
            (int)member_number(row, "status", 500), member_text(row, "type"));
        put_c_string(&out, member_text(row, "suggestion"));
        put(&out, ", %s },\n", member_true(row, "retryable") ? "true" : "false");
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
