#include "engine/emails/emails.h"

#include "base/text.h"
#include "engine/emails/groups.h"

#include <string.h>

static const char generating[] = "generating";

bool email_lock_for_edit(const struct work *work, int64_t email_id, struct email_lock_row **ret_email, struct error *err)
{
    struct email_lock_params params = { .brand_id = work->brand_id, .id = email_id };
    if (!sql_email_lock(work->conn, work->arena, &params, ret_email, err))
        return false;
    if (*ret_email == NULL || (*ret_email)->deleted_at.set)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (strcmp((*ret_email)->status, generating) == 0)
        return fail(err, ERR_EMAIL_IN_PROGRESS, "emailId", "This design is being generated; edit it when it is ready.");
    return true;
}

/* ---- Metadata ---- */

bool email_change_is_empty(const struct email_change *change)
{
    return change->title == NULL && !change->subject_line.set && !change->folder.group_id.set && change->folder.group_name == NULL;
}

static bool check_email_change(const struct work *work, struct email_change *change, struct error *err)
{
    if (change->title != NULL) {
        change->title = text_trim(work->arena, text_visible(work->arena, change->title, EMAIL_TITLE_MAX_CHARS));
        if (change->title[0] == '\0')
            return fail(err, ERR_INVALID_REQUEST, "title", "title must not be blank.");
    }
    return change->subject_line.value == NULL || email_check_subject(work, change->subject_line.value, err);
}

bool email_check_change(const struct work *work, const struct email_change *wanted, struct error *err)
{
    struct email_change change = *wanted;
    struct opt_int ignored;
    return check_email_change(work, &change, err) && email_folder_check(work, &change.folder, &ignored, err);
}

bool email_change(const struct work *work, int64_t email_id, const struct email_change *wanted, struct email_find_row **ret_email,
                  struct error *err)
{
    struct email_change change = *wanted;
    struct email_lock_row *email;
    struct email_update_params update = { .brand_id = work->brand_id, .id = email_id, .now = work->now_us };
    if (email_change_is_empty(&change))
        return fail(err, ERR_INVALID_REQUEST, "title", "Pass at least one of title, subjectLine, groupId and groupName.");
    if (!check_email_change(work, &change, err) || !email_lock_for_edit(work, email_id, &email, err) ||
        !email_folder_choose(work, &change.folder, &update.sets_group, &update.group_id, err))
        return false;
    if (change.subject_line.set && !email->latest_version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "subjectLine", "This design has no version yet, so it cannot have a subject line.");
    update.title = change.title;

    struct email_version_set_subject_params subject = {
        .brand_id = work->brand_id,
        .id = email->latest_version_id.value,
        .subject_line = change.subject_line.value,
    };
    struct email_find_params find = { .brand_id = work->brand_id, .id = email_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &email_update_statement, &update);
    if (change.subject_line.set)
        db_batch_add(batch, &email_version_set_subject_statement, &subject);
    size_t found = db_batch_add(batch, &email_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    *ret_email = db_batch_rows(batch, found)->rows;
    return true;
}

/* ---- Deleting ---- */

bool email_delete(const struct work *work, int64_t email_id, struct email_deletion *ret_deletion, struct error *err)
{
    struct email_lock_params lock = { .brand_id = work->brand_id, .id = email_id };
    struct email_lock_row *email;
    if (!sql_email_lock(work->conn, work->arena, &lock, &email, err))
        return false;
    *ret_deletion = (struct email_deletion){ .deleted = false };
    if (email == NULL)
        return true;
    if (email->deleted_at.set) {
        ret_deletion->deleted_at = email->deleted_at;
        return true;
    }
    *ret_deletion = (struct email_deletion){ .deleted = true, .deleted_at = { .set = true, .value = work->now_us } };
    struct email_delete_params params = { .brand_id = work->brand_id, .id = email_id, .now = work->now_us };
    return sql_email_delete(work->conn, work->arena, &params, NULL, err);
}

/* ---- Versions ---- */

static bool find_version(const struct work *work, int64_t email_id, const struct email_version_name *name, int64_t *ret_id,
                         struct error *err)
{
    struct email_version_find_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .id = { .set = name->id != 0, .value = name->id },
        .version = name->number,
    };
    struct email_version_find_row *row;
    if (!sql_email_version_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, name->id != 0 ? "emailVersionId" : "version",
                    "This design has no such version.");
    *ret_id = row->id;
    return true;
}

bool email_restore(const struct work *work, int64_t email_id, const struct email_version_name *version,
                   struct email_find_row **ret_email, struct error *err)
{
    if (version->id == 0 && !version->number.set)
        return fail(err, ERR_INVALID_REQUEST, "emailVersionId", "Pass the version to restore as emailVersionId or version.");
    if (version->id != 0 && version->number.set)
        return fail(err, ERR_INVALID_REQUEST, "version", "Pass either emailVersionId or version, not both.");
    struct email_lock_row *email;
    struct email_restore_params restore = { .brand_id = work->brand_id, .email_id = email_id, .now = work->now_us };
    if (!email_lock_for_edit(work, email_id, &email, err) || !find_version(work, email_id, version, &restore.version_id, err))
        return false;

    struct email_find_params find = { .brand_id = work->brand_id, .id = email_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &email_restore_statement, &restore);
    size_t found = db_batch_add(batch, &email_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    *ret_email = db_batch_rows(batch, found)->rows;
    return true;
}
