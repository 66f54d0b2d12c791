#include "engine/emails/emails.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/core/page.h"
#include "engine/emails/groups.h"
#include "template/template.h"

#include <string.h>

static const char untitled[] = "Imported email";

/* ---- Reading ---- */

static struct opt_int group_of_filter(const struct work *work, const char *group_id)
{
    bool is_id = group_id != NULL && strcmp(group_id, email_ungrouped) != 0;
    return (struct opt_int){ .set = is_id, .value = is_id ? id_decode(&work->engine->ids, ID_GROUP, group_id) : 0 };
}

static bool find_email_page(const struct work *work, const struct email_filter *filter, const struct page_cursor *cursor_start,
                            int64_t limit, struct email_summary_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    if (filter->by_created) {
        struct email_page_by_created_params params = {
            .brand_id = work->brand_id,
            .status = filter->status,
            .any_group = filter->group_id == NULL,
            .group_id = group_of_filter(work, filter->group_id),
            .from_start = !cursor_start->set,
            .at = cursor_start->number,
            .id = cursor_start->id,
            .limit = limit,
        };
        return sql_email_page_by_created(work->conn, work->arena, &params, ret_rows, ret_page, err);
    }
    struct email_page_by_updated_params params = {
        .brand_id = work->brand_id,
        .status = filter->status,
        .any_group = filter->group_id == NULL,
        .group_id = group_of_filter(work, filter->group_id),
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_email_page_by_updated(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

bool email_list(const struct work *work, const struct email_filter *filter, int64_t limit, const char *cursor,
                struct json_writer *json, struct error *err)
{
    const char *binding = arena_printf(work->arena, "emails.list|%s|%s|%d", filter->group_id != NULL ? filter->group_id : "",
                                       filter->status != NULL ? filter->status : "", filter->by_created);
    struct page_cursor cursor_start;
    struct email_summary_row *rows;
    struct db_page found;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !find_email_page(work, filter, &cursor_start, limit + 1, &rows, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        email_write_summary(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0) {
        const struct email_summary_row *last = &rows[page.shown - 1];
        end = (struct page_cursor){ .number = filter->by_created ? last->created_at : last->listed_at, .id = last->id };
    }
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

/* ---- Importing ---- */

bool email_check_subject(const struct work *work, const char *subject_line, struct error *err)
{
    struct bytes ignored;
    if (template_compile(work->arena, TEMPLATE_HEADER, subject_line, strlen(subject_line), &ignored, err))
        return true;
    error_param_prefix(err, "subjectLine");
    return false;
}

static bool find_group(const struct work *work, int64_t group_id, struct email_saved *saved, struct error *err)
{
    struct email_group_find_row *row;
    if (!email_group_find(work, group_id, &row, err))
        return false;
    saved->group_id = (struct opt_int){ .set = true, .value = row->id };
    saved->group_name = row->name;
    return true;
}

/* Finds or creates the folder. It may have been deleted since the import was requested. */
static bool choose_group(const struct work *work, const struct email_import *import, struct email_saved *saved, struct error *err)
{
    if (import->group_id != 0)
        return find_group(work, import->group_id, saved, err);
    if (import->group_name == NULL)
        return true;
    return email_group_clean_name(work, import->group_name, "groupName", &saved->group_name, err) &&
           email_group_ensure(work, saved->group_name, &saved->group_id, err);
}

static const char *choose_import_title(const struct work *work, const struct email_import *import,
                                       const struct email_content *content)
{
    const char *given = import->title != NULL ? import->title : content->title;
    const char *title = text_trim(work->arena, text_visible(work->arena, given != NULL ? given : "", EMAIL_TITLE_MAX_CHARS));
    return title[0] != '\0' ? title : untitled;
}

/* ---- Versions ---- */

static const char *report_json(const struct work *work, const struct email_content *content)
{
    return content->report != NULL ? json_compact(work->arena, content->report) : "{}";
}

/* The version of a design; without `email_id`, of a new one. */
static struct email_add_version_params version_params(const struct work *work, const struct email_version *version,
                                                      struct opt_int email_id)
{
    const struct email_content *content = version->content;
    return (struct email_add_version_params){
        .brand_id = work->brand_id,
        .email_id = email_id,
        .title = version->title,
        .subject_line = version->subject_line,
        .html = content->html,
        .plain_text = content->text,
        .html_code = content->html_code,
        .text_code = content->text_code,
        .preview_text = content->preview_text,
        .links = content->links_json,
        .link_table = content->link_table_json,
        .paths = content->paths,
        .report = report_json(work, content),
        .document = version->document_json,
        .changes = version->changes_json,
        .made_by = version->made_by,
        .block_serial = version->block_serial,
        .now = work->now_us,
    };
}

bool email_insert_design(const struct work *work, const struct email_version *version, struct email_saved *saved, struct error *err)
{
    struct email_add_version_params params = version_params(work, version, (struct opt_int){ .set = false });
    struct email_add_version_row *row;
    params.title = saved->title;
    params.group_id = saved->group_id;
    if (!sql_email_add_version(work->conn, work->arena, &params, &row, err))
        return false;
    saved->id = row->id;
    saved->version_id = row->version_id;
    return true;
}

bool email_append_version(const struct work *work, int64_t email_id, const struct email_version *version,
                          struct email_find_row **ret_email, struct error *err)
{
    struct email_add_version_params params = version_params(work, version, (struct opt_int){ true, email_id });
    struct email_find_params find = { .brand_id = work->brand_id, .id = email_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &email_add_version_statement, &params);
    size_t found = db_batch_add(batch, &email_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    *ret_email = db_batch_rows(batch, found)->rows;
    return true;
}

bool email_save_import(const struct work *work, const struct email_import *import, const struct email_content *content,
                       struct email_saved *ret_saved, struct error *err)
{
    const struct email_version version = { .content = content, .subject_line = import->subject_line, .made_by = "import" };
    *ret_saved = (struct email_saved){ .title = choose_import_title(work, import, content) };
    return choose_group(work, import, ret_saved, err) && email_insert_design(work, &version, ret_saved, err);
}
