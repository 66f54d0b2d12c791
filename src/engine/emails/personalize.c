#include "engine/emails/personalize.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/compose/merge_fields.h"
#include "engine/subscriptions/link.h"
#include "mail/address.h"
#include "sql/compose.h"
#include "sql/personalize.h"
#include "template/template.h"
#include "template/value.h"

#include <string.h>

enum { BRAND_MAX_BYTES = 64 * 1024, FIELD_MAX_BYTES = 1024 * 1024, MISSING_MAX = 100 };

/* The parts of a design; a missing part has no code. */
enum part_kind { PART_SUBJECT, PART_PREVIEW, PART_HTML, PART_TEXT, PART_COUNT };

struct preview_part {
    bool is_there;
    struct template template;
    struct merge_field *merge_fields;
    struct buf *out;
};

/* The state while a preview is built. */
struct preview {
    const struct work *work;
    const struct email_personalization *asked;
    struct email_personalize_source_row *source;
    struct preview_part parts[PART_COUNT];
    struct merge_custom_fields fields;
    struct merge_values values;
    struct template_setting setting;
};

/* ---- The design ---- */

static bool find_source(struct preview *preview, struct error *err)
{
    const struct email_personalization *asked = preview->asked;
    struct email_personalize_source_params params = {
        .brand_id = preview->work->brand_id,
        .id = asked->email_id,
        .version_id = { .set = asked->version_id != 0, .value = asked->version_id },
    };
    if (!sql_email_personalize_source(preview->work->conn, preview->work->arena, &params, &preview->source, err))
        return false;
    if (preview->source == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (asked->version_id != 0 && !preview->source->version_id.set)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This design has no version with this id.");
    bool is_ready = strcmp(preview->source->status, "ready") == 0 || asked->version_id != 0;
    if (!is_ready || !preview->source->version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This email is not ready yet.");
    return true;
}

static bool add_preview_part(struct preview *preview, enum part_kind kind, struct bytes code, struct error *err)
{
    struct preview_part *part = &preview->parts[kind];
    if (!template_load(code, &part->template, err))
        return false;
    part->merge_fields = merge_fields_resolve(preview->work->arena, &part->template, &preview->fields);
    part->out = buf_in_arena(preview->work->arena, TEMPLATE_MAX_OUTPUT_BYTES);
    part->is_there = true;
    return true;
}

/* Compiles the subject or the preview text, which are stored as source. A text that was truncated inside an expression does not
 * compile, and is omitted. */
static bool compile_preview_part(struct preview *preview, enum part_kind kind, enum template_kind template_kind, const char *source,
                                 struct error *err)
{
    struct error ignored = { .code = ERR_NONE };
    struct bytes code;
    if (source == NULL || !template_compile(preview->work->arena, template_kind, source, strlen(source), &code, &ignored))
        return true;
    return add_preview_part(preview, kind, code, err);
}

static bool load_parts(struct preview *preview, struct error *err)
{
    const struct email_personalize_source_row *source = preview->source;
    return compile_preview_part(preview, PART_SUBJECT, TEMPLATE_HEADER, source->subject_line, err) &&
           compile_preview_part(preview, PART_PREVIEW, TEMPLATE_TEXT, source->preview_text, err) &&
           add_preview_part(preview, PART_HTML, source->html_code, err) &&
           add_preview_part(preview, PART_TEXT, source->text_code, err);
}

/* ---- Contact or sample ---- */

static bool load_contact(struct preview *preview, struct error *err)
{
    static const char *const none[] = { NULL };
    const struct work *work = preview->work;
    struct address address;
    if (!address_parse(work->arena, preview->asked->contact, "contact", &address, err))
        return false;
    bool any = preview->fields.count > 0;
    struct compose_test_recipient_params params = {
        .brand_id = work->brand_id,
        .email_key = address.key,
        .fields = { any ? preview->fields.names : none, preview->fields.count },
    };
    struct compose_test_recipient_row *contact;
    if (!sql_compose_test_recipient(work->conn, work->arena, &params, &contact, err))
        return false;
    if (contact == NULL)
        return fail(err, ERR_CONTACT_NOT_FOUND, "contact",
                    "No contact with this address in this brand; pass sample to use sample values.");
    preview->values.email = address.mailbox;
    preview->values.first_name = contact->first_name;
    preview->values.last_name = contact->last_name;
    preview->values.user_id = contact->user_id;
    preview->values.fields = contact->fields;
    return true;
}

/* Converts a value of the sample to the form of fields from the database (merge_fields.h). */
static const char *typed_field(struct arena *arena, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return NULL;
    if (json_is_string(value))
        return arena_printf(arena, "s%s", json_string_value(value));
    const char *text = json_compact(arena, value);
    char type = json_is_number(value) ? 'n' : json_is_boolean(value) ? 'b' : 'j';
    return arena_printf(arena, "%c%s", type, text);
}

static const json_t *sample_field(const json_t *sample, const char *name)
{
    const json_t *custom = json_object_get(sample, "customFields");
    if (name[0] == '\0')
        return json_is_object(custom) ? custom : sample;
    const json_t *value = json_object_get(custom, name);
    return value != NULL ? value : json_object_get(sample, name);
}

static void load_sample(struct preview *preview)
{
    struct arena *arena = preview->work->arena;
    const json_t *sample = preview->asked->sample;
    const char **fields = arena_array(arena, preview->fields.count + 1, sizeof(*fields));
    for (size_t i = 0; i < preview->fields.count; i++)
        fields[i] = typed_field(arena, sample_field(sample, preview->fields.names[i]));
    preview->values.email = json_get_text(sample, "email");
    preview->values.first_name = json_get_text(sample, "firstName");
    preview->values.last_name = json_get_text(sample, "lastName");
    preview->values.user_id = json_get_text(sample, "userId");
    preview->values.fields = (struct text_list){ fields, preview->fields.count };
}

static bool load_values(struct preview *preview, struct error *err)
{
    const struct work *work = preview->work;
    const struct json_bounds bounds = { .max_bytes = BRAND_MAX_BYTES };
    preview->values = (struct merge_values){
        .arena = work->arena,
        .unsubscribe_url = UNSUBSCRIBE_PREVIEW_URL,
        .payload = preview->asked->payload,
    };
    if (!json_read(work->arena, preview->source->brand, strlen(preview->source->brand), bounds, &preview->values.brand, err))
        return false;
    preview->setting = merge_fields_setting(work->arena, preview->values.brand, work->now_us);
    if (preview->asked->contact != NULL)
        return load_contact(preview, err);
    load_sample(preview);
    return true;
}

/* ---- The result ---- */

struct evaluation {
    const struct preview_part *part;
    const struct merge_values *values;
};

static void preview_look_up_value(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)path;
    const struct evaluation *evaluation = context;
    *value = merge_value(&evaluation->part->merge_fields[index], evaluation->values);
}

static bool evaluate_part(const struct preview *preview, const struct preview_part *part, struct error *err)
{
    struct evaluation evaluation = { part, &preview->values };
    struct template_lookup lookup = { .value = preview_look_up_value, .context = &evaluation, .setting = &preview->setting };
    ARENA_SCOPE scratch = arena_new(0);
    return !part->is_there || template_evaluate(&part->template, lookup, scratch, part->out, err);
}

static void write_part(const struct preview_part *part, const char *name, struct json_writer *json)
{
    if (!part->is_there)
        return;
    json_key(json, name);
    json_bytes(json, buf_text(part->out), part->out->size);
}

static bool has_text(const char *const *paths, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

/* The paths of the templates that have no value. Paths inside list items are not checked. */
struct missing {
    const char *paths[MISSING_MAX];
    size_t count;
    bool has_more;
};

static void find_missing(const struct preview *preview, const struct preview_part *part, struct missing *missing)
{
    for (size_t i = 0; part->is_there && i < template_path_count(&part->template) && !missing->has_more; i++) {
        const char *path = template_path(&part->template, i);
        bool is_asked = template_path_is_listed(&part->template, i) && strstr(path, "[]") == NULL;
        if (!is_asked || merge_value(&part->merge_fields[i], &preview->values).kind != TEMPLATE_NIL ||
            has_text(missing->paths, missing->count, path))
            continue;
        missing->has_more = missing->count == MISSING_MAX;
        if (!missing->has_more)
            missing->paths[missing->count++] = path;
    }
}

static void write_missing(const struct preview *preview, struct json_writer *json)
{
    struct missing missing = { .count = 0 };
    for (size_t i = 0; i < PART_COUNT; i++)
        find_missing(preview, &preview->parts[i], &missing);
    json_key(json, "missing");
    json_array_begin(json);
    for (size_t i = 0; i < missing.count; i++)
        json_text(json, missing.paths[i]);
    json_array_end(json);
    if (missing.has_more)
        json_member_bool(json, "missingHasMore", true);
}

static void write_preview(const struct preview *preview, struct json_writer *json)
{
    const struct work *work = preview->work;
    json_object_begin(json);
    json_member_id(json, work, "emailId", ID_EMAIL, preview->asked->email_id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, preview->source->version_id.value);
    json_member_text_if(json, "contact", preview->asked->contact != NULL ? preview->values.email : NULL);
    write_part(&preview->parts[PART_SUBJECT], "subject", json);
    write_part(&preview->parts[PART_PREVIEW], "previewText", json);
    write_part(&preview->parts[PART_TEXT], "text", json);
    if (preview->asked->with_html)
        write_part(&preview->parts[PART_HTML], "html", json);
    write_missing(preview, json);
    json_object_end(json);
}

bool email_personalize(const struct work *work, const struct email_personalization *personalization, struct json_writer *json,
                       struct error *err)
{
    if (personalization->contact != NULL && personalization->sample != NULL)
        return fail(err, ERR_INVALID_REQUEST, "sample", "Pass either contact or sample, not both.");
    struct preview *preview = arena_alloc(work->arena, sizeof(*preview));
    preview->work = work;
    preview->asked = personalization;
    if (!find_source(preview, err) || !load_parts(preview, err) || !load_values(preview, err))
        return false;
    preview->values.parsed = arena_array(work->arena, preview->values.fields.count + 1, sizeof(json_t *));
    for (size_t i = 0; i < PART_COUNT; i++)
        if (!evaluate_part(preview, &preview->parts[i], err))
            return false;
    write_preview(preview, json);
    return true;
}
