#include "engine/emails/groups.h"

#include "base/text.h"
#include "engine/core/page.h"

#include <string.h>
#include <strings.h>

const char email_ungrouped[] = "ungrouped";

static const char list_binding[] = "emailGroups.list";

/* ---- Choosing a folder ---- */

bool email_group_clean_name(const struct work *work, const char *name, const char *param, const char **ret_name, struct error *err)
{
    const char *clean = text_trim(work->arena, text_visible(work->arena, name, EMAIL_GROUP_NAME_MAX_CHARS));
    if (clean[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, param, "The name of a folder must not be blank.");
    if (strcasecmp(clean, email_ungrouped) == 0)
        return fail(err, ERR_INVALID_REQUEST, param, "The name ungrouped is reserved.");
    *ret_name = clean;
    return true;
}

bool email_group_find(const struct work *work, int64_t group_id, struct email_group_find_row **ret_group, struct error *err)
{
    struct email_group_find_params params = { .brand_id = work->brand_id, .id = group_id };
    if (!sql_email_group_find(work->conn, work->arena, &params, ret_group, err))
        return false;
    return *ret_group != NULL || fail(err, ERR_EMAIL_GROUP_NOT_FOUND, "groupId", "No email group with this id in this brand.");
}

bool email_group_ensure(const struct work *work, const char *name, struct opt_int *ret_id, struct error *err)
{
    struct email_group_ensure_params params = { .brand_id = work->brand_id, .name = name, .now = work->now_us };
    struct email_group_ensure_row *row;
    if (!sql_email_group_ensure(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = (struct opt_int){ .set = true, .value = row->id };
    return true;
}

/* The folder that a request names by its id, or the name of one that may be missing; neither when it names none. */
static bool find_folder(const struct work *work, const struct email_folder *folder, struct opt_int *ret_group_id,
                        const char **ret_name, struct error *err)
{
    *ret_group_id = (struct opt_int){ .set = false };
    *ret_name = NULL;
    if (folder->group_id.set && folder->group_name != NULL)
        return fail(err, ERR_INVALID_REQUEST, "groupName", "Pass either groupId or groupName, not both.");
    if (folder->group_name != NULL)
        return email_group_clean_name(work, folder->group_name, "groupName", ret_name, err);
    if (folder->group_id.value == NULL || strcmp(folder->group_id.value, email_ungrouped) == 0)
        return true;
    struct email_group_find_row *group;
    if (!email_group_find(work, id_decode(&work->engine->ids, ID_GROUP, folder->group_id.value), &group, err))
        return false;
    *ret_group_id = (struct opt_int){ .set = true, .value = group->id };
    return true;
}

bool email_folder_check(const struct work *work, const struct email_folder *folder, struct opt_int *ret_group_id, struct error *err)
{
    const char *name;
    return find_folder(work, folder, ret_group_id, &name, err);
}

bool email_folder_choose(const struct work *work, const struct email_folder *folder, bool *ret_sets, struct opt_int *ret_group_id,
                         struct error *err)
{
    const char *name;
    *ret_sets = folder->group_id.set || folder->group_name != NULL;
    return find_folder(work, folder, ret_group_id, &name, err) &&
           (name == NULL || email_group_ensure(work, name, ret_group_id, err));
}

/* ---- Folders ---- */

bool email_group_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    struct page_cursor cursor_start;
    if (!page_cursor_read(work, list_binding, cursor, &cursor_start, err))
        return false;
    struct email_group_page_params params = {
        .brand_id = work->brand_id,
        .from_start = !cursor_start.set,
        .key = cursor_start.text,
        .id = cursor_start.id,
        .limit = limit + 1,
    };
    struct email_group_row *groups;
    struct db_page found;
    if (!sql_email_group_page(work->conn, work->arena, &params, &groups, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        email_group_write(work, &groups[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .text = groups[page.shown - 1].sort_key, .id = groups[page.shown - 1].id };
    page_end(&page, work, list_binding, end);
    json_object_end(json);
    return true;
}

static bool refuse_taken_name(struct error *err)
{
    return fail(err, ERR_EMAIL_GROUP_NAME_CONFLICT, "name", "An email group with this name already exists in this brand.");
}

bool email_group_create(const struct work *work, const char *name, struct email_group_row **ret_group, struct error *err)
{
    struct email_group_create_params params = { .brand_id = work->brand_id, .now = work->now_us };
    if (!email_group_clean_name(work, name, "name", &params.name, err) ||
        !sql_email_group_create(work->conn, work->arena, &params, ret_group, err))
        return false;
    return *ret_group != NULL || refuse_taken_name(err);
}

/* Decodes the id of a folder. Refuses "ungrouped", which is not a folder. */
static bool read_group_id(const struct work *work, const char *group_id, int64_t *ret_id, struct error *err)
{
    if (strcmp(group_id, email_ungrouped) == 0)
        return fail(err, ERR_INVALID_REQUEST, "groupId", "ungrouped is not a folder; it cannot be renamed or deleted.");
    *ret_id = id_decode(&work->engine->ids, ID_GROUP, group_id);
    return true;
}

bool email_group_rename(const struct work *work, const char *group_id, const char *name, struct email_group_row **ret_group,
                        struct error *err)
{
    struct email_group_rename_params params = { .brand_id = work->brand_id };
    if (!read_group_id(work, group_id, &params.id, err) || !email_group_clean_name(work, name, "name", &params.name, err))
        return false;
    if (!sql_email_group_rename(work->conn, work->arena, &params, ret_group, err))
        return err->code == ERR_EMAIL_GROUP_NAME_CONFLICT ? refuse_taken_name(err) : false;
    return *ret_group != NULL || fail(err, ERR_EMAIL_GROUP_NOT_FOUND, "groupId", "No email group with this id in this brand.");
}

bool email_group_delete(const struct work *work, const char *group_id, bool *ret_deleted, struct error *err)
{
    int64_t id;
    if (!read_group_id(work, group_id, &id, err))
        return false;
    /* Two statements: the second one sees the designs that were added while the first one waited for its lock. */
    struct email_group_delete_params gone = { .brand_id = work->brand_id, .id = id };
    struct email_group_empty_params emptied = { .brand_id = work->brand_id, .group_id = id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t deleted = db_batch_add(batch, &email_group_delete_statement, &gone);
    db_batch_add(batch, &email_group_empty_statement, &emptied);
    if (!db_batch_run(batch, err))
        return false;
    *ret_deleted = db_batch_rows(batch, deleted)->affected > 0;
    return true;
}

void email_group_write(const struct work *work, const struct email_group_row *group, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "groupId", ID_GROUP, group->id);
    json_member_text(json, "groupName", group->name);
    json_member_int(json, "emailCount", group->email_count);
    json_object_end(json);
}
