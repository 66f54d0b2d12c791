#include "engine/emails/design_edits.h"

#include "base/json_read.h"

static bool fail_not_ready(struct error *err)
{
    return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design has no version yet, so there is nothing to edit.");
}

bool email_check_edit(const struct work *work, int64_t email_id, struct error *err)
{
    struct email_lock_row *email;
    return email_lock_for_edit(work, email_id, &email, err) && (email->latest_version_id.set || fail_not_ready(err));
}

bool email_read_edit_source(const struct work *work, int64_t email_id, struct email_edit_source *ret_source, struct error *err)
{
    struct email_edit_source_params params = { .brand_id = work->brand_id, .id = email_id };
    struct email_edit_source_row *row;
    if (!sql_email_edit_source(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (row->html == NULL)
        return fail_not_ready(err);
    *ret_source = (struct email_edit_source){
        .version_id = row->version_id.value,
        .subject_line = row->subject_line,
        .html = row->html,
        .links_json = row->links,
        .paths = row->paths,
        .block_serial = row->block_serial,
        .email_design = row->email_design,
        .locale = row->locale,
        .time_zone = row->time_zone,
    };
    return email_read_document(work, row->document, row->subject_line, &ret_source->document, err);
}

bool email_read_document_source(const struct work *work, int64_t email_id, const char *param, struct email_edit_source *ret_source,
                                struct error *err)
{
    if (!email_read_edit_source(work, email_id, ret_source, err))
        return false;
    return ret_source->document != NULL ||
           fail(err, ERR_INVALID_REQUEST, param,
                "This design was imported, so it has no blocks to operate on. Change its texts, links and alt texts with "
                "replacements or by a prompt.");
}

bool email_prepare_edit(const struct work *work, const json_t *result, struct email_edited *ret_edited, struct error *err)
{
    struct email_version *version = &ret_edited->version;
    *version = (struct email_version){
        .content = &ret_edited->content,
        .subject_line = json_get_text(result, "subject"),
        .made_by = "caller",
    };
    bool is_prepared = email_prepare(work->arena, result, &ret_edited->content, err) &&
                       (version->subject_line == NULL || email_check_subject(work, version->subject_line, err));
    if (!is_prepared && err->param[0] != '\0')
        error_set_param(err, "replacements");
    return is_prepared;
}

bool email_save_edit(const struct work *work, int64_t email_id, int64_t version_id, const struct email_edited *edited,
                     struct email_find_row **ret_email, struct error *err)
{
    struct email_lock_row *email;
    *ret_email = NULL;
    if (!email_lock_for_edit(work, email_id, &email, err))
        return false;
    if (email->latest_version_id.value != version_id)
        return true;
    return email_append_version(work, email_id, &edited->version, ret_email, err);
}
