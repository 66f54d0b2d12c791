#include "nodes.h"
#include "words.h"

#include <string.h>

static const char purpose[] = "Types of nodes of automations, and the decoder tables of their configs.";

/* Calls a function for each shape that gets a struct: those that configs share, then the inline ones of each type, and at last
 * each config, so that every struct comes after its parts. */
typedef void for_shape(struct output *out, const struct catalogue *all, const char *name, json_t *shape, void *context);

static void walk_inline_shapes(struct output *out, const struct catalogue *all, const char *owner, json_t *shape, for_shape *visit,
                               void *context)
{
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        if (node_kind_of(field) == NODE_KIND_OBJECT && member_text(field, "shared") == NULL) {
            const char *inner = node_shape_name(field, owner, name);
            walk_inline_shapes(out, all, inner, field, visit, context);
            visit(out, all, inner, field, context);
        }
    }
}

static void walk_shared_shapes(struct output *out, const struct catalogue *all, for_shape *visit, void *context)
{
    const char *name;
    json_t *shape;
    json_object_foreach(all->node_shapes, name, shape) {
        walk_inline_shapes(out, all, snake_case(name), shape, visit, context);
        visit(out, all, snake_case(name), shape, context);
    }
}

static const char *type_name(const json_t *node)
{
    return snake_case(member_text(node, "type"));
}

static bool has_forms(const json_t *node)
{
    return json_array_size(json_object_get(node, "forms")) > 1;
}

/* All members of all forms, each once. */
static json_t *config_shape(const json_t *node)
{
    json_t *members = json_object();
    size_t i;
    const json_t *form;
    json_array_foreach(json_object_get(node, "forms"), i, form) {
        json_object_update_missing(members, json_object_get(form, "properties"));
    }
    return keep(json_pack("{s:o}", "properties", members));
}

/* ---- Words ---- */

/* AND stays AND; manualAudience becomes MANUAL_AUDIENCE. */
static const char *constant_of(const char *word)
{
    bool is_upper = word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
    return is_upper ? word : upper_case(snake_case(word));
}

static void put_words(struct output *out, json_t *seen, const json_t *field, bool is_header)
{
    const json_t *words = node_words_of(field);
    const char *name = member_text(words, "enumName");
    if (name == NULL || json_object_get(seen, name) != NULL) {
        return;
    }
    json_object_set_new(seen, name, json_true());
    const char *prefix = upper_case(name);
    if (is_header) {
        put(out, "enum %s {\n    %s_NONE,\n", name, prefix);
    } else {
        put(out, "const char *const %s_words[] = { ", name);
    }
    size_t i;
    const json_t *word;
    json_array_foreach(json_object_get(words, "enum"), i, word) {
        if (is_header) {
            put(out, "    %s_%s,\n", prefix, constant_of(json_string_value(word)));
        } else {
            put(out, "\"%s\", ", json_string_value(word));
        }
    }
    if (is_header) {
        put(out, "};\nextern const char *const %s_words[]; /* NULL-terminated, without an entry for none */\n\n", name);
    } else {
        put(out, "NULL };\n");
    }
}

struct word_pass {
    json_t *seen;
    bool is_header;
};

static void put_words_of_shape(struct output *out, const struct catalogue *all, const char *owner, json_t *shape, void *context)
{
    (void)all;
    (void)owner;
    const struct word_pass *pass = context;
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        put_words(out, pass->seen, field, pass->is_header);
    }
}

static void put_all_words(struct output *out, const struct catalogue *all, bool is_header)
{
    struct word_pass pass = { keep(json_object()), is_header };
    walk_shared_shapes(out, all, put_words_of_shape, &pass);
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        json_t *config = config_shape(node);
        walk_inline_shapes(out, all, type_name(node), config, put_words_of_shape, &pass);
        put_words_of_shape(out, all, NULL, config, &pass);
    }
}

/* ---- Structs ---- */

static void put_member(struct output *out, const char *owner, const char *name, const json_t *field)
{
    const char *member = snake_case(name);
    switch (node_kind_of(field)) {
    case NODE_KIND_TEXT:
        put(out, "    const char *%s; /* NULL: absent */\n", member);
        return;
    case NODE_KIND_ID:
        put(out, "    int64_t %s; /* 0: absent; NODE_ID_UNKNOWN: not an id of this installation */\n", member);
        return;
    case NODE_KIND_LOCAL_TIME:
        put(out, "    struct opt_int %s; /* minutes after midnight */\n", member);
        return;
    case NODE_KIND_ENUM:
        put(out, "    enum %s %s;\n", member_text(node_words_of(field), "enumName"), member);
        return;
    case NODE_KIND_SET:
        put(out, "    unsigned %s; /* bits of enum %s; 0: absent */\n", member, member_text(node_words_of(field), "enumName"));
        return;
    case NODE_KIND_INTEGER:
        put(out, "    int64_t %s; /* 0: absent */\n", member);
        return;
    case NODE_KIND_NUMBER:
        put(out, "    struct opt_number %s;\n", member);
        return;
    case NODE_KIND_BOOLEAN:
        put(out, "    bool %s;\n", member);
        return;
    case NODE_KIND_OBJECT:
        put(out, "    const struct %s *%s; /* NULL: absent */\n", node_shape_name(field, owner, name), member);
        return;
    case NODE_KIND_LIST:
        put(out, "    const struct %s *%s;\n    size_t %s_count;\n", node_shape_name(field, owner, name), member, member);
        return;
    case NODE_KIND_VALUE:
        put(out, "    const json_t *%s; /* NULL: absent */\n", member);
        return;
    case NODE_KIND_CONST:
    case NODE_KIND_NONE:
        return;
    }
}

static void put_struct_members(struct output *out, const char *owner, const json_t *shape)
{
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        put_member(out, owner, name, field);
    }
    put(out, "};\n\n");
}

static void put_struct(struct output *out, const struct catalogue *all, const char *name, json_t *shape, void *context)
{
    (void)all;
    (void)context;
    put(out, "struct %s {\n", name);
    put_struct_members(out, name, shape);
}

static void put_config_struct(struct output *out, const struct catalogue *all, const json_t *node)
{
    const char *type = type_name(node);
    json_t *config = config_shape(node);
    walk_inline_shapes(out, all, type, config, put_struct, NULL);
    if (has_forms(node)) {
        put(out, "enum %s_form {\n", type);
        size_t i;
        const json_t *form;
        json_array_foreach(json_object_get(node, "forms"), i, form) {
            put(out, "    %s_FORM_%s, /* %s */\n", upper_case(type), upper_case(snake_case(member_text(form, "name"))),
                member_text(form, "summary"));
        }
        put(out, "};\n\n");
    }
    put(out, "/* %s */\nstruct %s_config {\n", member_text(node, "summary"), type);
    if (has_forms(node)) {
        put(out, "    enum %s_form form;\n", type);
    }
    put_struct_members(out, type, config);
}

static void put_type_enum(struct output *out, const struct catalogue *all)
{
    put(out, "enum node_type {\n");
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        put(out, "    NODE_%s,\n", upper_case(type_name(node)));
    }
    put(out, "    NODE_TYPE_COUNT,\n};\n\n");
}

static const char decoder_types[] =
    "enum { NODE_ID_UNKNOWN = -1 };\n\n"
    "enum node_field_kind {\n    NODE_FIELD_CONST,\n    NODE_FIELD_TEXT,\n    NODE_FIELD_ID,\n    NODE_FIELD_LOCAL_TIME,\n    NODE_FIELD_ENUM,\n"
    "    NODE_FIELD_SET,\n    NODE_FIELD_INTEGER,\n    NODE_FIELD_NUMBER,\n    NODE_FIELD_BOOLEAN,\n    NODE_FIELD_OBJECT,\n    NODE_FIELD_LIST,\n"
    "    NODE_FIELD_VALUE,\n};\n\n"
    "struct node_shape;\n\n"
    "/* One member of a config. least and most bound characters, items or the value. */\n"
    "struct node_field {\n    const char *name;\n    enum node_field_kind kind;\n    bool required;\n    enum id_kind id_kind;\n"
    "    size_t offset;\n    size_t count_offset; /* of NODE_FIELD_LIST */\n    double least;\n    double most;\n"
    "    const char *const *words;        /* of NODE_FIELD_ENUM, NODE_FIELD_SET and NODE_FIELD_CONST */\n"
    "    const struct node_shape *shape;  /* of NODE_FIELD_OBJECT and NODE_FIELD_LIST */\n};\n\n"
    "struct node_shape {\n    size_t size;\n    const struct node_field *fields;\n    size_t field_count;\n};\n\n"
    "/* One form of a config: that with `member`, and with `value` in it if that is not NULL. */\n"
    "struct node_form {\n    const char *name;\n    const char *member; /* NULL: the only form */\n    const char *value;\n"
    "    struct node_shape shape;\n    struct text_list branches; /* none: one way out */\n    const char *branches_member; /* the member that chooses some of them */\n};\n\n"
    "struct arena;\nstruct step_in;\nstruct step_out;\n"
    "typedef void node_step(struct arena *arena, const struct step_in *in, struct step_out *ret_out);\n\n"
    "struct node_type_info {\n    const char *name;\n    const char *alias; /* another accepted name; NULL: none */\n    size_t config_size;\n"
    "    size_t form_offset; /* SIZE_MAX: one form only */\n    const struct node_form *forms;\n    size_t form_count;\n"
    "    bool reads_payload;\n    node_step *step;\n};\n"
    "extern const struct node_type_info node_types[NODE_TYPE_COUNT];\n\n"
    "/* The steps of each type. */\n";

static void emit_nodes_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "nodes.h");
    put_origin(&out, purpose);
    put(&out, "#pragma once\n\n#include \"base/values.h\"\n#include \"crypto/ids.h\"\n\n#include <jansson.h>\n#include <stdbool.h>\n"
              "#include <stddef.h>\n#include <stdint.h>\n\n");
    put_type_enum(&out, all);
    put_all_words(&out, all, true);
    walk_shared_shapes(&out, all, put_struct, NULL);
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        put_config_struct(&out, all, node);
    }
    put(&out, "%s", decoder_types);
    json_array_foreach(all->nodes, i, node) {
        put(&out, "void step_%s(struct arena *arena, const struct step_in *in, struct step_out *ret_out);\n", type_name(node));
    }
    output_close(&out);
}

/* ---- Decoder tables ---- */

static const char *kind_constant(enum node_kind kind)
{
    static const char *const names[] = { "", "CONST", "TEXT", "ID", "LOCAL_TIME", "ENUM", "SET", "INTEGER", "NUMBER", "BOOLEAN", "OBJECT",
                                         "LIST", "VALUE" };
    return text("NODE_FIELD_%s", names[kind]);
}

/* An id kind in C: audienceRun → ID_AUDIENCE_RUN. */
static const char *id_constant(const json_t *field)
{
    return text("ID_%s", upper_case(snake_case(member_text(field, "format") + strlen("id:"))));
}

static void put_bounds(struct output *out, const json_t *field)
{
    static const char *const pairs[][2] = { { "minLength", "maxLength" }, { "minimum", "maximum" }, { "minItems", "maxItems" } };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (json_object_get(field, pairs[i][1]) != NULL) {
            put(out, ", .least = %.0f, .most = %.0f", member_number(field, pairs[i][0], 1), member_number(field, pairs[i][1], 0));
        }
    }
}

static void put_field(struct output *out, const char *owner, const char *holder, const char *name, const json_t *field, bool required)
{
    enum node_kind kind = node_kind_of(field);
    const char *member = snake_case(name);
    put(out, "    { .name = \"%s\", .kind = %s", name, kind_constant(kind));
    if (required) {
        put(out, ", .required = true");
    }
    if (kind == NODE_KIND_CONST) {
        put(out, ", .words = (const char *const[]){ \"%s\", NULL } },\n", member_text(field, "const"));
        return;
    }
    put(out, ", .offset = offsetof(struct %s, %s)", holder, member);
    put_bounds(out, field);
    if (kind == NODE_KIND_ID) {
        put(out, ", .id_kind = %s", id_constant(field));
    }
    if (kind == NODE_KIND_ENUM || kind == NODE_KIND_SET) {
        put(out, ", .words = %s_words", member_text(node_words_of(field), "enumName"));
    }
    if (kind == NODE_KIND_OBJECT || kind == NODE_KIND_LIST) {
        put(out, ", .shape = &%s_shape", node_shape_name(field, owner, name));
    }
    if (kind == NODE_KIND_LIST) {
        put(out, ", .count_offset = offsetof(struct %s, %s_count)", holder, member);
    }
    put(out, " },\n");
}

static void put_fields(struct output *out, const char *table, const char *owner, const char *holder, const json_t *shape)
{
    put(out, "static const struct node_field %s_fields[] = {\n", table);
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        put_field(out, owner, holder, name, field, list_has(json_object_get(shape, "required"), name));
    }
    put(out, "};\n");
}

static void put_shape_table(struct output *out, const struct catalogue *all, const char *name, json_t *shape, void *context)
{
    (void)all;
    (void)context;
    put_fields(out, name, name, name, shape);
    put(out, "static const struct node_shape %s_shape = { sizeof(struct %s), %s_fields, %zu };\n\n", name, name, name,
        json_object_size(json_object_get(shape, "properties")));
}

static void put_text_or_null(struct output *out, const char *member, const char *value)
{
    put(out, ", .%s = ", member);
    put_c_string(out, value);
}

static void put_form(struct output *out, const char *type, const json_t *form)
{
    const char *name = snake_case(member_text(form, "name"));
    const json_t *branches = json_object_get(form, "branches");
    put(out, "    { .name = \"%s\"", member_text(form, "name"));
    put_text_or_null(out, "member", member_text(form, "member"));
    put_text_or_null(out, "value", member_text(form, "value"));
    put_text_or_null(out, "branches_member", member_text(form, "branchesFrom"));
    put(out, ", .shape = { sizeof(struct %s_config), %s_form_%s_fields, %zu }", type, type, name,
        json_object_size(json_object_get(form, "properties")));
    if (json_array_size(branches) > 0) {
        put(out, ", .branches = { (const char *const[]){ ");
        size_t i;
        const json_t *branch;
        json_array_foreach(branches, i, branch) {
            put(out, "\"%s\", ", json_string_value(branch));
        }
        put(out, "}, %zu }", json_array_size(branches));
    }
    put(out, " },\n");
}

static void put_node_tables(struct output *out, const struct catalogue *all, const json_t *node)
{
    const char *type = type_name(node);
    const json_t *forms = json_object_get(node, "forms");
    walk_inline_shapes(out, all, type, config_shape(node), put_shape_table, NULL);
    size_t i;
    const json_t *form;
    json_array_foreach(forms, i, form) {
        put_fields(out, text("%s_form_%s", type, snake_case(member_text(form, "name"))), type, text("%s_config", type), form);
    }
    put(out, "static const struct node_form %s_forms[] = {\n", type);
    json_array_foreach(forms, i, form) {
        put_form(out, type, form);
    }
    put(out, "};\n\n");
}

static void put_type_row(struct output *out, const json_t *node)
{
    const char *type = type_name(node);
    put(out, "    [NODE_%s] = { .name = \"%s\"", upper_case(type), member_text(node, "type"));
    put_text_or_null(out, "alias", member_text(node, "alias"));
    put(out, ", .config_size = sizeof(struct %s_config), .form_offset = ", type);
    if (has_forms(node)) {
        put(out, "offsetof(struct %s_config, form)", type);
    } else {
        put(out, "SIZE_MAX");
    }
    put(out, ",\n        .forms = %s_forms, .form_count = %zu, .reads_payload = %s, .step = step_%s },\n", type,
        json_array_size(json_object_get(node, "forms")), member_true(node, "payload") ? "true" : "false", type);
}

void emit_nodes(const struct catalogue *all, const char *folder)
{
    emit_nodes_header(all, folder);
    struct output out;
    output_open(&out, folder, "nodes.c");
    put_origin(&out, purpose);
    put(&out, "#include \"catalogue/nodes.h\"\n\n");
    put_all_words(&out, all, false);
    put(&out, "\n");
    walk_shared_shapes(&out, all, put_shape_table, NULL);
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        put_node_tables(&out, all, node);
    }
    put(&out, "const struct node_type_info node_types[NODE_TYPE_COUNT] = {\n");
    json_array_foreach(all->nodes, i, node) {
        put_type_row(&out, node);
    }
    put(&out, "};\n");
    output_close(&out);
}
