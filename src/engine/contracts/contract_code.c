/*
 * Exports of a contract as source code: an interface of TypeScript, and a schema
 * of zod 4. Keys and texts of the contract are quoted as JSON, which is valid in
 * both; comments cannot be ended by a text.
 */
#include "engine/contracts/contract_export.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"

#include <string.h>

struct code {
    const struct work *work;
    struct buf *out;
    unsigned depth;
    const char *object; /* zod: the function that makes an object */
};

static void begin_line(struct code *code)
{
    buf_printf(code->out, "%*s", (int)code->depth * 2, "");
}

/* One line of text in a comment. */
static void add_comment(struct code *code, const char *before, const char *text)
{
    const char *visible = text_visible(code->work->arena, text, CONTRACT_TEXT_MAX_CHARS);
    begin_line(code);
    buf_printf(code->out, "/** %s", before);
    for (const char *at = visible; *at != '\0'; at++) {
        buf_add_char(code->out, (unsigned char)*at < ' ' ? ' ' : *at);
        if (at[0] == '*' && at[1] == '/')
            buf_add_char(code->out, ' ');
    }
    buf_add_text(code->out, " */\n");
}

static void add_quoted(struct code *code, const char *text)
{
    json_quote(code->out, text, strlen(text));
}

static bool is_plain_name(const char *key)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$";
    return strchr(letters, key[0]) != NULL &&
           strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789") == strlen(key);
}

static void add_key(struct code *code, const char *key)
{
    if (is_plain_name(key))
        buf_add_text(code->out, key);
    else
        add_quoted(code, key);
}

static void add_texts(struct code *code, const struct text_list *texts, const char *separator)
{
    for (size_t i = 0; i < texts->count; i++) {
        buf_add_text(code->out, i > 0 ? separator : "");
        add_quoted(code, texts->items[i]);
    }
}

/* ---- TypeScript ---- */

static void add_ts_fields(struct code *code, const struct contract_field *fields, size_t count);

static void add_ts_scalar(struct code *code, enum contract_type type, const struct text_list *enum_values)
{
    if (type == CONTRACT_ENUM)
        add_texts(code, enum_values, " | ");
    else if (type == CONTRACT_INT || type == CONTRACT_FLOAT)
        buf_add_text(code->out, "number");
    else
        buf_add_text(code->out, type == CONTRACT_BOOLEAN ? "boolean" : "string");
}

static void add_ts_object(struct code *code, const struct contract_field *fields, size_t count)
{
    buf_add_text(code->out, "{\n");
    code->depth++;
    add_ts_fields(code, fields, count);
    code->depth--;
    begin_line(code);
    buf_add_char(code->out, '}');
}

static void add_ts_type(struct code *code, const struct contract_field *field)
{
    if (field->type == CONTRACT_UNKNOWN) {
        buf_add_text(code->out, field->container == CONTRACT_ARRAY ? "unknown[]" : "Record<string, unknown>");
        return;
    }
    if (field->type == CONTRACT_ARRAY)
        buf_add_text(code->out, "Array<");
    if (field->type < CONTRACT_OBJECT)
        add_ts_scalar(code, field->type, &field->enum_values);
    else if (field->type == CONTRACT_ARRAY && field->item_type != CONTRACT_UNKNOWN)
        add_ts_scalar(code, field->item_type, &field->enum_values);
    else
        add_ts_object(code, field->children, field->child_count);
    if (field->type == CONTRACT_ARRAY)
        buf_add_char(code->out, '>');
}

static void add_ts_fields(struct code *code, const struct contract_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct contract_field *field = &fields[i];
        bool is_date = field->type == CONTRACT_DATE || field->item_type == CONTRACT_DATE;
        const char *form = field->type == CONTRACT_INT ? "A whole number." : is_date ? "ISO 8601 date-time with a zone." : "";
        const char *space = field->description != NULL && form[0] != '\0' ? " " : "";
        if (field->description != NULL || form[0] != '\0')
            add_comment(code, arena_printf(code->work->arena, "%s%s", form, space),
                        field->description == NULL ? "" : field->description);
        begin_line(code);
        add_key(code, field->key);
        buf_add_text(code->out, field->is_required ? ": " : "?: ");
        add_ts_type(code, field);
        buf_add_text(code->out, field->is_required ? ";\n" : " | null;\n");
    }
}

void contract_add_ts(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                     struct buf *out)
{
    struct code code = { .work = work, .out = out };
    add_comment(&code, "The payload of the trigger ", arena_printf(work->arena, "%s.", subject->title));
    buf_printf(out, "export interface %s ", contract_payload_name(work, subject->title));
    add_ts_object(&code, contract->fields, contract->count);
    buf_add_char(out, '\n');
}

/* ---- zod ---- */

static void add_zod_object(struct code *code, const struct contract_field *fields, size_t count);

static void add_zod_scalar(struct code *code, enum contract_type type, const struct text_list *enum_values)
{
    switch (type) {
    case CONTRACT_INT:
        buf_add_text(code->out, "z.number().refine(Number.isInteger, \"must be a whole number\")");
        return;
    case CONTRACT_FLOAT:
        buf_add_text(code->out, "z.number()");
        return;
    case CONTRACT_BOOLEAN:
        buf_add_text(code->out, "z.boolean()");
        return;
    case CONTRACT_DATE:
        buf_add_text(code->out, "z.string().regex(isoDateTime, \"must be a date-time with a zone\")");
        return;
    case CONTRACT_ENUM:
        buf_add_text(code->out, "z.enum([");
        add_texts(code, enum_values, ", ");
        buf_add_text(code->out, "])");
        return;
    case CONTRACT_STRING:
    case CONTRACT_OBJECT:
    case CONTRACT_ARRAY:
    case CONTRACT_UNKNOWN:
        buf_add_text(code->out, "z.string()");
        return;
    }
}

static void add_zod_type(struct code *code, const struct contract_field *field)
{
    if (field->type == CONTRACT_UNKNOWN) {
        buf_add_text(code->out, field->container == CONTRACT_ARRAY ? "z.array(z.unknown())" : "z.looseObject({})");
        return;
    }
    if (field->type == CONTRACT_ARRAY)
        buf_add_text(code->out, "z.array(");
    if (field->type < CONTRACT_OBJECT)
        add_zod_scalar(code, field->type, &field->enum_values);
    else if (field->type == CONTRACT_ARRAY && field->item_type != CONTRACT_UNKNOWN)
        add_zod_scalar(code, field->item_type, &field->enum_values);
    else
        add_zod_object(code, field->children, field->child_count);
    if (field->type == CONTRACT_ARRAY)
        buf_add_char(code->out, ')');
}

static void add_zod_field(struct code *code, const struct contract_field *field)
{
    begin_line(code);
    add_key(code, field->key);
    buf_add_text(code->out, ": ");
    add_zod_type(code, field);
    buf_add_text(code->out, field->is_required ? "" : ".nullish()");
    if (field->description != NULL) {
        buf_add_text(code->out, ".describe(");
        add_quoted(code, field->description);
        buf_add_char(code->out, ')');
    }
    buf_add_text(code->out, ",\n");
}

static void add_zod_object(struct code *code, const struct contract_field *fields, size_t count)
{
    buf_printf(code->out, "%s({\n", code->object);
    code->depth++;
    for (size_t i = 0; i < count; i++)
        add_zod_field(code, &fields[i]);
    code->depth--;
    begin_line(code);
    buf_add_text(code->out, "})");
}

static bool has_date(const struct contract_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].type == CONTRACT_DATE || fields[i].item_type == CONTRACT_DATE ||
            has_date(fields[i].children, fields[i].child_count))
            return true;
    return false;
}

/* Undeclared keys pass, are dropped or are refused, as the enforcement says. */
void contract_add_zod(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                      struct buf *out)
{
    static const char *const objects[] = {
        [CONTRACT_OFF] = "z.looseObject", [CONTRACT_PRUNE] = "z.object", [CONTRACT_STRICT] = "z.strictObject"
    };
    struct code code = { .work = work, .out = out, .object = objects[contract->enforcement] };
    const char *name = contract_payload_name(work, subject->title);
    buf_add_text(out, "import { z } from \"zod\";\n\n");
    if (has_date(contract->fields, contract->count))
        buf_printf(out, "const isoDateTime = /%s/;\n\n", contract_date_pattern);
    add_comment(&code, "The payload of the trigger ", arena_printf(work->arena, "%s.", subject->title));
    buf_printf(out, "export const %s = ", name);
    add_zod_object(&code, contract->fields, contract->count);
    buf_printf(out, ";\n\nexport type %s = z.infer<typeof %s>;\n", name, name);
}
