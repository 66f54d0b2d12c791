#include "engine/emails/emails.h"

#include "base/text.h"
#include "engine/emails/groups.h"
#include "engine/templates/gallery.h"

#include <string.h>

static const char copy_of[] = "Copy of ";
static const char template_prefix[] = "tpl_";

/* Chooses the given title, else `otherwise`. */
static bool choose_copy_title(const struct work *work, const struct email_copy *copy, const char *otherwise, const char **ret_title,
                              struct error *err)
{
    const char *title = text_visible(work->arena, copy->title != NULL ? copy->title : otherwise, EMAIL_TITLE_MAX_CHARS);
    *ret_title = text_trim(work->arena, title);
    return (*ret_title)[0] != '\0' || fail(err, ERR_INVALID_REQUEST, "title", "title must not be blank.");
}

static bool find_cloned_email(const struct work *work, int64_t id, struct email_find_row **ret_email, struct error *err)
{
    struct email_find_params params = { .brand_id = work->brand_id, .id = id };
    return sql_email_find(work->conn, work->arena, &params, ret_email, err);
}

/* ---- Cloning a design ---- */

/* The beginning of the id decides whether a design, a template or either was meant. */
static bool refuse_source(const char *email_id, struct error *err)
{
    fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email or template with this id in this brand.");
    if (text_starts_with(email_id, template_prefix))
        return error_advise(err, ERR_TEMPLATE_NOT_FOUND, ERR_NONE);
    return error_advise(err, ERR_EMAIL_NOT_FOUND, ERR_TEMPLATE_NOT_FOUND);
}

static bool check_source(const struct email_clone_source_row *source, const struct email_copy *copy, struct error *err)
{
    if (source == NULL)
        return refuse_source(copy->email_id, err);
    if (copy->version_id != 0)
        return source->version_id.set ||
               fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This design has no version with this id.");
    if (strcmp(source->status, "ready") == 0 && source->version_id.set)
        return true;
    return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design is %s; clone it when it is ready, or pass emailVersionId.",
                source->status);
}

static bool clone_design(const struct work *work, const struct email_copy *copy, struct email_find_row **ret_email,
                         struct error *err)
{
    struct email_clone_source_params find = {
        .brand_id = work->brand_id,
        .id = id_decode(&work->engine->ids, ID_EMAIL, copy->email_id),
        .version_id = { .set = copy->version_id != 0, .value = copy->version_id },
    };
    struct email_clone_source_row *source;
    if (!sql_email_clone_source(work->conn, work->arena, &find, &source, err) || !check_source(source, copy, err))
        return false;
    struct email_clone_params params = {
        .brand_id = work->brand_id,
        .version_id = source->version_id.value,
        .now = work->now_us,
    };
    struct email_clone_row *row;
    const char *title = arena_printf(work->arena, "%s%s", copy_of, source->title);
    return choose_copy_title(work, copy, title, &params.title, err) &&
           email_folder_choose(work, &copy->folder, &params.sets_group, &params.group_id, err) &&
           sql_email_clone(work->conn, work->arena, &params, &row, err) && find_cloned_email(work, row->id, ret_email, err);
}

/* ---- Cloning a template ---- */

static bool clone_template(const struct work *work, const struct gallery_template *source, const struct email_copy *copy,
                           struct email_find_row **ret_email, struct error *err)
{
    if (copy->version_id != 0)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "A template has no versions.");
    struct email_content content = {
        .html = source->html,
        .text = source->text,
        .preview_text = source->preview_text,
        .links_json = source->links_json,
    };
    const struct email_version version = { .content = &content, .subject_line = source->subject_line, .made_by = "clone" };
    bool ignored;
    struct email_saved saved = { .id = 0 };
    return choose_copy_title(work, copy, source->title, &saved.title, err) &&
           email_folder_choose(work, &copy->folder, &ignored, &saved.group_id, err) && email_compile(work->arena, &content, err) &&
           email_insert_design(work, &version, &saved, err) && find_cloned_email(work, saved.id, ret_email, err);
}

bool email_clone(const struct work *work, const struct email_copy *copy, struct email_find_row **ret_email, struct error *err)
{
    const struct gallery_template *template = gallery_find_template(copy->email_id);
    return template != NULL ? clone_template(work, template, copy, ret_email, err) : clone_design(work, copy, ret_email, err);
}
