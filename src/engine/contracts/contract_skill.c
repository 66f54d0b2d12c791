/*
 * The brief that connects a system to a trigger: the request, an example that
 * fits the contract, the fields, and the answers.
 */
#include "engine/contracts/contract_export.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"

#include <string.h>

/* ---- An example ---- */

static void add_example_fields(const struct contract_field *fields, size_t count, struct json_writer *json);

static void add_example_scalar(enum contract_type type, const struct text_list *enum_values, const char *key,
                               struct json_writer *json)
{
    switch (type) {
    case CONTRACT_INT:
        json_int(json, 1);
        return;
    case CONTRACT_FLOAT:
        json_number(json, 9.5);
        return;
    case CONTRACT_BOOLEAN:
        json_bool(json, true);
        return;
    case CONTRACT_DATE:
        json_text(json, "2026-11-21T09:30:00Z");
        return;
    case CONTRACT_ENUM:
        json_text(json, enum_values->items[0]);
        return;
    case CONTRACT_STRING:
    case CONTRACT_OBJECT:
    case CONTRACT_ARRAY:
    case CONTRACT_UNKNOWN:
        json_text(json, strcmp(key, "email") == 0 ? "ada@example.com" : "text");
        return;
    }
}

static void add_example_items(const struct contract_field *field, struct json_writer *json)
{
    json_array_begin(json);
    if (field->item_type != CONTRACT_UNKNOWN) {
        add_example_scalar(field->item_type, &field->enum_values, "", json);
    } else if (field->child_count > 0) {
        json_object_begin(json);
        add_example_fields(field->children, field->child_count, json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void add_example_value(const struct contract_field *field, struct json_writer *json)
{
    enum contract_type type = field->type == CONTRACT_UNKNOWN ? field->container : field->type;
    const json_t *given = field->example != NULL ? field->example : field->fallback;
    if (type == CONTRACT_OBJECT) {
        json_object_begin(json);
        add_example_fields(field->children, field->child_count, json);
        json_object_end(json);
    } else if (type == CONTRACT_ARRAY) {
        add_example_items(field, json);
    } else if (given != NULL && contract_scalar_fits(type, &field->enum_values, given)) {
        contract_write_scalar(given, json);
    } else {
        add_example_scalar(type, &field->enum_values, field->key, json);
    }
}

static void add_example_fields(const struct contract_field *fields, size_t count, struct json_writer *json)
{
    for (size_t i = 0; i < count; i++) {
        json_key(json, fields[i].key);
        add_example_value(&fields[i], json);
    }
}

static const char *example_payload(const struct work *work, const struct contract *contract)
{
    struct json_writer json;
    struct buf *text = buf_in_arena(work->arena, CONTRACT_EXPORT_MAX_BYTES);
    json_writer_init(&json, text);
    json_object_begin(&json);
    add_example_fields(contract->fields, contract->count, &json);
    json_object_end(&json);
    return buf_text(text);
}

/* ---- The fields ---- */

static void add_type(const struct contract_field *field, struct buf *out)
{
    enum contract_type type = field->type == CONTRACT_UNKNOWN ? field->container : field->type;
    if (type == CONTRACT_ARRAY && field->item_type != CONTRACT_UNKNOWN)
        buf_printf(out, "array of %s", contract_type_name(field->item_type));
    else if (field->type == CONTRACT_ARRAY)
        buf_add_text(out, "array of objects");
    else
        buf_add_text(out, contract_type_name(type));
    for (size_t i = 0; i < field->enum_values.count; i++)
        buf_printf(out, "%s%s", i > 0 ? " | " : ": ", field->enum_values.items[i]);
}

/* One field a line; the fields of objects and of the items of arrays follow, indented. */
static void add_fields(const struct work *work, const struct contract_field *fields, size_t count, unsigned depth, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct contract_field *field = &fields[i];
        buf_printf(out, "%*s- `%s` (", (int)depth * 2, "", text_visible(work->arena, field->key, CONTRACT_KEY_MAX_CHARS));
        add_type(field, out);
        buf_add_text(out, field->is_required ? ", required)" : ")");
        if (field->description != NULL)
            buf_printf(out, ": %s", text_visible(work->arena, field->description, CONTRACT_TEXT_MAX_CHARS));
        if (field->fallback != NULL)
            buf_printf(out, " Without a value, mail shows %s.", json_compact(work->arena, field->fallback));
        buf_add_char(out, '\n');
        add_fields(work, field->children, field->child_count, depth + 1, out);
    }
}

/* ---- The brief ---- */

static void add_request(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                        struct buf *out)
{
    buf_printf(out,
               "## Request\n\n"
               "```http\n"
               "POST %s\n"
               "X-API-Key: <a key with the scope automations>\n"
               "Content-Type: application/json\n"
               "Idempotency-Key: <an id of the event that stays the same when you retry>\n"
               "\n"
               "{\"payload\": %s}\n"
               "```\n\n"
               "A key that is not bound to a brand also needs the header X-Brand-Id.\n\n",
               subject->fire_url, example_payload(work, contract));
}

static void add_rules(const struct contract *contract, struct buf *out)
{
    static const char *const rules[] = {
        [CONTRACT_OFF] = "Keys that are not listed are accepted.",
        [CONTRACT_PRUNE] = "Keys that are not listed are dropped.",
        [CONTRACT_STRICT] = "Keys that are not listed are refused.",
    };
    buf_printf(
        out,
        "\n%s A field that is not required may be absent or null. Dates are ISO 8601 date-times with a zone.\n\n"
        "`email` names the contact, who is created or updated. `firstName`, `lastName` and `subscribed` become the fields of "
        "the same names; other texts, numbers, booleans and dates at the top become custom fields. Objects and arrays are "
        "for conditions and mail only, where a dotted path reads them.\n\n",
        rules[contract->enforcement]);
}

static void add_answers(struct buf *out)
{
    buf_add_text(out,
                 "## Answers\n\n"
                 "- 202 `triggered`: the event was taken. `notStarted` names automations that did not start, and why.\n"
                 "- 200 `replayed`: the same Idempotency-Key came before; nothing was started again.\n"
                 "- 400 `INVALID_PAYLOAD`: `details` lists each fault with its field. Do not retry.\n"
                 "- 422 `NO_PUBLISHED_AUTOMATION`: nothing listens yet. Publish an automation, then send the event again.\n"
                 "- 429, 5xx or no answer: retry with the same Idempotency-Key, after `Retry-After` where it is given.\n\n"
                 "The address ending in `/readiness` in place of `/fire` tells whether a fire would start anything, and POST to "
                 "`/contract/validate` checks a payload; neither fires.\n");
}

void contract_add_skill(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                        struct buf *out)
{
    enum { TITLE_MAX_CHARS = 120, DESCRIPTION_MAX_CHARS = 2000 };
    buf_printf(out, "# Send the event %s\n\n", text_visible(work->arena, subject->title, TITLE_MAX_CHARS));
    if (subject->description != NULL)
        buf_printf(out, "%s\n\n", text_visible(work->arena, subject->description, DESCRIPTION_MAX_CHARS));
    buf_add_text(out, "Send it once for each occurrence. It starts every published automation that listens.\n\n");
    add_request(work, contract, subject, out);
    buf_add_text(out, "## Fields of the payload\n\n");
    add_fields(work, contract->fields, contract->count, 0, out);
    add_rules(contract, out);
    add_answers(out);
}
