#include "types.h"
#include "words.h"

#include <string.h>

static void put_param_enum(struct output *out, const struct param *param)
{
    put(out, "enum %s {\n", param->type_name);
    bool tokens = param->kind == PARAM_TOKENS;
    if (!tokens) {
        put(out, "    %s_ABSENT,\n", upper_case(param->type_name));
    }
    size_t i;
    const json_t *value;
    json_array_foreach (enum_values(param), i, value) {
        const char *constant = enum_constant(param, json_string_value(value));
        if (tokens) {
            put(out, "    %s = 1u << %zu,\n", constant, i);
        } else {
            put(out, "    %s,\n", constant);
        }
    }
    put(out,
        "};\nextern const char *const %s_names[]; /* NULL-terminated, in the order of the enum, without an entry for absent */\n\n",
        param->type_name);
}

/* The C type of a struct member, with the space or star before its name. */
static const char *c_type(const struct param *param)
{
    bool present = always_present(param);
    switch (param->kind) {
    case PARAM_TEXT:
        return is_nullable(param) ? "struct opt_text " : "const char *";
    case PARAM_ID:
        return "int64_t ";
    case PARAM_INTEGER:
        return present ? "int64_t " : "struct opt_int ";
    case PARAM_NUMBER:
        return present ? "double " : "struct opt_number ";
    case PARAM_BOOLEAN:
        return present ? "bool " : "struct opt_bool ";
    case PARAM_ENUM:
        return text("enum %s ", param->type_name);
    case PARAM_TOKENS:
        return "uint32_t ";
    case PARAM_TIME:
        return "struct opt_int ";
    case PARAM_TEXT_LIST:
        return "struct text_list ";
    case PARAM_OBJECT:
        return text("const struct %s *", param->type_name);
    case PARAM_OBJECT_LIST:
        return text("struct %s_list ", param->type_name);
    case PARAM_JSON:
        return "const json_t *";
    }
    return "";
}

static void put_members(struct output *out, const struct param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *suffix = params[i].kind == PARAM_TOKENS ? text(" /* bits of enum %s */", params[i].type_name) : "";
        put(out, "    %s%s;%s\n", c_type(&params[i]), params[i].c_name, suffix);
    }
    if (count == 0) {
        put(out, "    char no_arguments;\n");
    }
}

static void put_object(struct output *out, const struct param *param)
{
    put(out, "struct %s {\n", param->type_name);
    put_members(out, param->fields, param->field_count);
    put(out, "};\n");
    if (param->kind == PARAM_OBJECT_LIST) {
        put(out, "struct %s_list {\n    const struct %s *items;\n    size_t count;\n    const struct error *const *faults;\n};\n",
            param->type_name, param->type_name);
    }
    put(out, "\n");
}

static void put_operation_declaration(struct output *out, const struct op_decl *op)
{
    put(out, "/* %s: %s */\n", op->id, member_text(op->json, "summary"));
    put(out, "struct %s_args {\n", op->c_name);
    put_members(out, op->params, op->param_count);
    put(out, op->built ? "};\n" : "};\n\n");
    if (!op->built) {
        return;
    }
    if (member_true(op->json, "single")) {
        put(out, "extern const struct op_single%s op_%s_single;\n\n", is_single_write(op) ? "_write" : "", op->c_name);
        return;
    }
    put(out, "bool op_%s(struct op_context *ctx, const struct %s_args *args, struct reply *reply, struct error *err);\n\n",
        op->c_name, op->c_name);
}

void emit_operations_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "operations.h");
    put_origin(&out, "Operations: their indices, their decoded arguments and the handlers that must exist.");
    put(&out,
        "#pragma once\n\n#include \"api/catalogue.h\"\n\n#include <jansson.h>\n#include <stdbool.h>\n#include <stdint.h>\n\n");
    put(&out, "enum op_index {\n");
    for (size_t i = 0; i < all->op_count; i++) {
        put(&out, "    OP_%s,\n", upper_case(all->ops[i].id));
    }
    put(&out, "    OPERATION_COUNT,\n};\n\n/* ---- Shared by several arguments, or part of one ---- */\n\n");
    visit_types(all, &out, put_param_enum, put_object);
    put(&out, "/* ---- Operations; those that are not built have no handler ---- */\n\n");
    for (size_t i = 0; i < all->op_count; i++) {
        put_operation_declaration(&out, &all->ops[i]);
    }
    output_close(&out);
}
