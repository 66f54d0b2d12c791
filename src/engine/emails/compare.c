#include "engine/emails/compare.h"

#include "base/json_read.h"
#include "base/text.h"
#include "designer/compare.h"
#include "designer/html_compare.h"
#include "engine/emails/documents.h"
#include "sql/emails.h"

#include <string.h>

static const char previous[] = "previous";

/* ---- The versions ---- */

static bool find_version(const struct work *work, const struct email_version_content_params *wanted, const char *param,
                         struct email_version_content_row **ret_version, struct error *err)
{
    return sql_email_version_content(work->conn, work->arena, wanted, ret_version, err) &&
           (*ret_version != NULL || fail(err, ERR_EMAIL_VERSION_NOT_FOUND, param, "This design has no such version."));
}

static bool find_design(const struct work *work, const struct email_comparison *comparison, int64_t *ret_version_id,
                        struct error *err)
{
    struct email_find_params params = { .brand_id = work->brand_id, .id = comparison->email_id };
    struct email_find_row *email;
    if (!sql_email_find(work->conn, work->arena, &params, &email, err))
        return false;
    if (email == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    *ret_version_id = comparison->version_id != 0 ? comparison->version_id : email->version_id.value;
    return *ret_version_id != 0 || fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design has no version yet.");
}

/* The other version, by what the caller wrote. */
static struct email_version_content_params other_version(const struct work *work, const struct email_comparison *comparison,
                                                         int64_t version)
{
    struct email_version_content_params params = { .brand_id = work->brand_id, .email_id = comparison->email_id };
    int64_t number;
    if (strcmp(comparison->compare_with, previous) == 0)
        params.below = (struct opt_int){ .set = true, .value = version };
    else if (int64_parse(comparison->compare_with, &number))
        params.version = (struct opt_int){ .set = true, .value = number };
    else
        params.id = (struct opt_int){ .set = true, .value = id_decode(&work->engine->ids, ID_VERSION, comparison->compare_with) };
    return params;
}

struct compared {
    const struct email_version_content_row *before;
    const struct email_version_content_row *after;
};

static bool find_versions(const struct work *work, const struct email_comparison *comparison, struct compared *ret_compared,
                          struct error *err)
{
    struct email_version_content_row *version;
    struct email_version_content_row *other;
    struct email_version_content_params params = { .brand_id = work->brand_id,
                                                   .email_id = comparison->email_id,
                                                   .id = { .set = true } };
    if (!find_design(work, comparison, &params.id.value, err) || !find_version(work, &params, "emailVersionId", &version, err))
        return false;
    params = other_version(work, comparison, version->version);
    if (!find_version(work, &params, "compareWith", &other, err))
        return false;
    bool is_older = other->version <= version->version;
    *ret_compared = (struct compared){ .before = is_older ? other : version, .after = is_older ? version : other };
    return true;
}

/* ---- Bounds ---- */

static json_t *shortened(struct arena *arena, const json_t *value, bool *has_more);

static json_t *shortened_text(struct arena *arena, const json_t *value, bool *has_more)
{
    const char *text = json_string_value(value);
    if (utf8_length(text) <= EMAIL_COMPARISON_TEXT_CHARS)
        return json_incref(json_for_iteration(value));
    *has_more = true;
    const char *end = text;
    for (int points = 0; points < EMAIL_COMPARISON_TEXT_CHARS; end++)
        points += ((unsigned char)end[1] & 0xc0) != 0x80;
    return json_string(arena_printf(arena, "%.*s…", (int)(end - text), text));
}

static json_t *shortened_list(struct arena *arena, const json_t *value, bool *has_more)
{
    json_t *list = json_array();
    size_t count = json_array_size(value);
    *has_more = *has_more || count > EMAIL_COMPARISON_ENTRIES;
    for (size_t i = 0; i < count && i < EMAIL_COMPARISON_ENTRIES; i++)
        json_array_append_new(list, shortened(arena, json_array_get(value, i), has_more));
    return list;
}

static json_t *shortened_object(struct arena *arena, const json_t *value, bool *has_more)
{
    const char *name;
    json_t *member;
    json_t *object = json_object();
    json_object_foreach (json_for_iteration(value), name, member) {
        json_object_set_new(object, name, shortened(arena, member, has_more));
    }
    return object;
}

/* A copy with bounded texts and lists, a new reference. */
static json_t *shortened(struct arena *arena, const json_t *value, bool *has_more)
{
    if (json_is_string(value))
        return shortened_text(arena, value, has_more);
    if (json_is_array(value))
        return shortened_list(arena, value, has_more);
    if (json_is_object(value))
        return shortened_object(arena, value, has_more);
    return json_incref(json_for_iteration(value));
}

/* ---- The result ---- */

/* The differences of imported versions, with the subject among the members. */
static const json_t *compare_html(const struct work *work, const struct compared *compared)
{
    json_t *result = json_in_arena(
        work->arena, json_copy(json_for_iteration(html_compare(work->arena, compared->before->html, compared->after->html))));
    json_t *members = json_array();
    const char *before = compared->before->subject_line;
    const char *after = compared->after->subject_line;
    if (!text_equal(before, after)) {
        json_array_append_new(members, json_pack("{ss ss? ss?}", "member", "subjectLine", "before", before, "after", after));
        json_object_set_new(result, "isEqual", json_false());
    }
    json_object_set_new(result, "members", members);
    return result;
}

/* Sets the differences and the form in which they are told. */
static bool compare_versions(const struct work *work, const struct compared *compared, const json_t **ret_result,
                             const char **ret_form, struct error *err)
{
    const json_t *before;
    const json_t *after;
    if (!email_read_document(work, compared->before->document, compared->before->subject_line, &before, err) ||
        !email_read_document(work, compared->after->document, compared->after->subject_line, &after, err))
        return false;
    bool has_documents = before != NULL && after != NULL;
    *ret_form = has_documents ? "document" : "html";
    *ret_result = has_documents ? document_compare(work->arena, before, after) : compare_html(work, compared);
    return true;
}

static void write_version(const struct work *work, const char *name, const struct email_version_content_row *version,
                          struct json_writer *json)
{
    json_key(json, name);
    json_object_begin(json);
    json_member_int(json, "version", version->version);
    json_member_id(json, work, "emailVersionId", ID_VERSION, version->id);
    json_member_text(json, "madeBy", version->made_by);
    json_member_time(json, "createdAt", version->created_at);
    json_object_end(json);
}

bool email_compare(const struct work *work, const struct email_comparison *comparison, struct json_writer *json, struct error *err)
{
    struct compared compared;
    const json_t *result;
    const char *form;
    const char *name;
    json_t *member;
    bool has_more = false;
    if (!find_versions(work, comparison, &compared, err) || !compare_versions(work, &compared, &result, &form, err))
        return false;
    json_object_begin(json);
    json_member_id(json, work, "emailId", ID_EMAIL, comparison->email_id);
    write_version(work, "before", compared.before, json);
    write_version(work, "after", compared.after, json);
    json_member_text(json, "form", form);
    json_t *bounded = json_in_arena(work->arena, shortened(work->arena, result, &has_more));
    json_object_foreach (bounded, name, member) {
        json_member_raw(json, name, json_compact(work->arena, member));
    }
    json_member_bool(json, "hasMore", has_more);
    json_object_end(json);
    return true;
}
