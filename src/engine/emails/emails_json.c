#include "base/json_read.h"
#include "base/text.h"
#include "engine/assets/assets.h"
#include "engine/emails/emails.h"

#include <string.h>

static void write_group(const struct work *work, struct opt_int group_id, const char *group_name, struct json_writer *json)
{
    json_key(json, "group");
    if (!group_id.set) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    json_member_id(json, work, "groupId", ID_GROUP, group_id.value);
    json_member_text(json, "groupName", group_name);
    json_object_end(json);
}

void email_write_summary(const struct work *work, const struct email_summary_row *email, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "emailId", ID_EMAIL, email->id);
    json_member_id_if(json, work, "emailVersionId", ID_VERSION, email->version_id);
    json_member_text(json, "title", email->title);
    json_member_text(json, "status", email->status);
    json_member_text_if(json, "previewImage", asset_public_url(work, email->preview_image));
    json_member_time(json, "updatedAt", email->listed_at);
    write_group(work, email->group_id, email->group_name, json);
    json_object_end(json);
}

static void write_versions(const struct work *work, const struct email_find_long_row *email, struct json_writer *json)
{
    json_key(json, "versions");
    json_array_begin(json);
    for (size_t i = 0; i < email->version_ids.count; i++) {
        json_object_begin(json);
        if (i == 0)
            json_member_text(json, "version", "latest");
        else
            json_member_int(json, "version", email->version_numbers.items[i]);
        json_member_id(json, work, "emailVersionId", ID_VERSION, email->version_ids.items[i]);
        json_member_text(json, "madeBy", email->version_makers.items[i]);
        json_member_bool(json, "hasDocument", email->version_documents.items[i] != 0);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_email_members(const struct work *work, const struct email_find_row *email, struct json_writer *json)
{
    json_member_id(json, work, "emailId", ID_EMAIL, email->id);
    json_member_id_if(json, work, "emailVersionId", ID_VERSION, email->version_id);
    json_member_text(json, "title", email->title);
    json_member_text(json, "status", email->status);
    json_member_text_if(json, "previewImage", asset_public_url(work, email->preview_image));
    json_member_time(json, "updatedAt", email->updated_at);
    write_group(work, email->group_id, email->group_name, json);
    json_member_text_if(json, "subjectLine", email->subject_line);
    json_member_text_if(json, "previewText", email->preview_text);
}

void email_write(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more,
                 struct json_writer *json)
{
    email_write_detail(work, email, more, NULL, json);
}

void email_write_generation(const struct work *work, const struct email_find_row *email, int64_t run_id, struct json_writer *json)
{
    json_object_begin(json);
    write_email_members(work, email, json);
    json_member_id(json, work, "runId", ID_GENERATION, run_id);
    json_object_end(json);
}

void email_write_detail(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more,
                        const struct email_run *run, struct json_writer *json)
{
    json_object_begin(json);
    write_email_members(work, email, json);
    json_member_text_if(json, "madeBy", email->made_by);
    if (run != NULL)
        json_member_raw(json, "generation", run->json);
    if (run != NULL && strcmp(email->status, "failed") == 0)
        json_member_text_if(json, "errorMessage", run->error);
    if (more != NULL)
        json_member_text_if(json, "html", more->html);
    if (more != NULL && more->document != NULL)
        json_member_raw(json, "document", more->document);
    if (more != NULL && more->version_ids.items != NULL)
        write_versions(work, more, json);
    json_object_end(json);
}

void email_write_edited(const struct work *work, const struct email_find_row *email, const json_t *replaced,
                        struct json_writer *json)
{
    json_object_begin(json);
    write_email_members(work, email, json);
    json_member_raw(json, "replaced", json_compact(work->arena, replaced));
    json_object_end(json);
}

/* ---- Warnings ---- */

/* Removed comments are not reported. */
static bool is_reported(const json_t *removed)
{
    return !text_equal(json_get_text(removed, "what"), "comment");
}

struct text_list email_content_warnings(struct arena *arena, const struct email_content *content)
{
    json_t *warnings = json_object_get(content->report, "warnings");
    json_t *removed = json_object_get(content->report, "removed");
    const struct text_list images = content->images.warnings;
    const char **items =
        arena_array(arena, json_array_size(warnings) + json_array_size(removed) + images.count + 1, sizeof(*items));
    size_t count = 0;
    size_t index;
    const json_t *item;
    json_array_foreach (warnings, index, item)
        items[count++] = json_get_text(item, "message");
    json_array_foreach (removed, index, item)
        if (is_reported(item))
            items[count++] = arena_printf(arena, "Removed as unsafe or useless in mail: %s (%lld).", json_get_text(item, "what"),
                                          (long long)json_get_int(item, "count", 0));
    for (size_t i = 0; i < images.count; i++)
        items[count++] = images.items[i];
    return (struct text_list){ items, count };
}

static void write_warnings(const struct work *work, const struct email_content *content, struct json_writer *json)
{
    const struct text_list warnings = email_content_warnings(work->arena, content);
    json_member_texts(json, "warnings", warnings);
}

void email_write_changed(const struct work *work, const struct email_find_row *email, const json_t *changes,
                         const struct email_content *content, struct json_writer *json)
{
    json_object_begin(json);
    write_email_members(work, email, json);
    json_member_raw(json, "changes", json_compact(work->arena, changes));
    write_warnings(work, content, json);
    json_object_end(json);
}

/* ---- Imported designs ---- */

static void write_asset_report(const struct work *work, const struct email_content *content, struct json_writer *json)
{
    const struct asset_report *images = &content->images;
    json_key(json, "assetReport");
    json_object_begin(json);
    json_member_int(json, "discovered", images->discovered);
    json_member_int(json, "rehosted", images->rehosted);
    json_member_int(json, "retained", images->retained);
    json_member_int(json, "stripped", images->stripped);
    json_member_int(json, "dropped", images->dropped);
    write_warnings(work, content, json);
    json_object_end(json);
}

/* The members that a design has when it was just saved. */
static void write_saved(const struct work *work, const char *subject_line, const struct email_content *content,
                        const struct email_saved *saved, struct json_writer *json)
{
    json_member_id(json, work, "emailId", ID_EMAIL, saved->id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, saved->version_id);
    json_member_text(json, "title", saved->title);
    json_member_text(json, "status", "ready");
    json_member_time(json, "updatedAt", work->now_us);
    write_group(work, saved->group_id, saved->group_name, json);
    json_member_text_if(json, "subjectLine", subject_line);
    json_member_text_if(json, "previewText", content->preview_text);
}

void email_write_composed(const struct work *work, const char *subject_line, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json)
{
    json_object_begin(json);
    write_saved(work, subject_line, content, saved, json);
    write_warnings(work, content, json);
    json_object_end(json);
}

void email_write_imported(const struct work *work, const struct email_import *import, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json)
{
    json_object_begin(json);
    write_saved(work, import->subject_line, content, saved, json);
    write_asset_report(work, content, json);
    json_object_end(json);
}
