#include "engine/emails/replace_text.h"

#include "base/json_read.h"

#include <string.h>

static bool fail_not_ready(struct error *err)
{
    return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design has no version yet, so it has no text to replace.");
}

bool email_check_replace_text(const struct work *work, int64_t email_id, struct error *err)
{
    struct email_lock_row *email;
    return email_lock_for_edit(work, email_id, &email, err) && (email->latest_version_id.set || fail_not_ready(err));
}

bool email_read_text(const struct work *work, int64_t email_id, struct email_text_source_row **ret_source, struct error *err)
{
    struct email_text_source_params params = { .brand_id = work->brand_id, .id = email_id };
    if (!sql_email_text_source(work->conn, work->arena, &params, ret_source, err))
        return false;
    if (*ret_source == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    return (*ret_source)->html != NULL || fail_not_ready(err);
}

bool email_prepare_edit(const struct work *work, const json_t *result, struct email_edited_text *ret_edited, struct error *err)
{
    *ret_edited = (struct email_edited_text){ .subject_line = json_get_text(result, "subject") };
    bool is_prepared = email_prepare(work->arena, result, &ret_edited->content, err) &&
                       (ret_edited->subject_line == NULL || email_check_subject(work, ret_edited->subject_line, err));
    if (!is_prepared && err->param[0] != '\0')
        error_set_param(err, "replacements");
    return is_prepared;
}

bool email_save_edit(const struct work *work, int64_t email_id, int64_t version_id, const struct email_edited_text *edited,
                     struct email_find_row **ret_email, struct error *err)
{
    struct email_lock_row *email;
    *ret_email = NULL;
    if (!email_lock_for_edit(work, email_id, &email, err))
        return false;
    if (email->latest_version_id.value != version_id)
        return true;
    const struct email_version version = {
        .content = &edited->content,
        .subject_line = edited->subject_line,
        .made_by = "caller",
    };
    return email_append_version(work, email_id, &version, ret_email, err);
}
