#include "engine/automations/automations.h"

#include "base/json_read.h"
#include "engine/core/page.h"
#include "engine/runs/cancel.h"

/* ---- Reading ---- */

bool automation_get(const struct work *work, int64_t id, struct automation_parts parts, struct automation_row **ret_automation,
                    struct error *err)
{
    struct automation_find_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .with_graph = parts.graph,
        .with_versions = parts.versions,
        .max_versions = AUTOMATION_VERSIONS_SHOWN,
    };
    if (!sql_automation_find(work->conn, work->arena, &params, ret_automation, err))
        return false;
    return *ret_automation != NULL ||
           fail(err, ERR_AUTOMATION_NOT_FOUND, "automationId", "No automation with this id in this brand.");
}

bool automation_list(const struct work *work, struct automation_parts parts, int64_t limit, const char *cursor,
                     struct json_writer *json, struct error *err)
{
    static const char binding[] = "automations.list";
    struct page_cursor cursor_start;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err))
        return false;
    struct automation_page_params params = {
        .brand_id = work->brand_id,
        .with_graph = parts.graph,
        .with_versions = parts.versions,
        .max_versions = AUTOMATION_VERSIONS_SHOWN,
        .from_start = !cursor_start.set,
        .at = cursor_start.number,
        .id = cursor_start.id,
        .limit = limit + 1,
    };
    struct automation_row *rows;
    struct db_page found;
    if (!sql_automation_page(work->conn, work->arena, &params, &rows, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        automation_write(work, &rows[page.shown - 1], NULL, json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].updated_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

/* ---- Writing ---- */

static void write_design_ids(const struct work *work, struct int_list ids, struct json_writer *json)
{
    json_key(json, "emailIds");
    json_array_begin(json);
    for (size_t i = 0; i < ids.count; i++)
        json_text(json, work_id(work, ID_EMAIL, ids.items[i]));
    json_array_end(json);
}

static void write_versions(const struct work *work, const struct automation_row *automation, struct json_writer *json)
{
    json_key(json, "versions");
    json_array_begin(json);
    for (size_t i = 0; i < automation->version_ids.count; i++) {
        json_object_begin(json);
        json_member_int(json, "version", automation->version_numbers.items[i]);
        json_member_id(json, work, "automationVersionId", ID_VERSION, automation->version_ids.items[i]);
        json_object_end(json);
    }
    json_array_end(json);
}

void automation_write(const struct work *work, const struct automation_row *automation, const struct blockers *warnings,
                      struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "automationId", ID_AUTOMATION, automation->id);
    json_member_id(json, work, "automationVersionId", ID_VERSION, automation->version_id);
    json_member_id_if(json, work, "liveAutomationVersionId", ID_VERSION, automation->live_version_id);
    json_member_text(json, "name", automation->name);
    json_member_text_if(json, "description", automation->description);
    json_member_id_if(json, work, "triggerEventId", ID_TRIGGER, automation->trigger_id);
    json_member_int(json, "version", automation->version);
    json_member_bool(json, "published", automation->live_version_id.set);
    json_member_bool(json, "paused", automation->is_paused);
    write_design_ids(work, automation->email_ids, json);
    json_member_time(json, "createdAt", automation->created_at);
    json_member_time(json, "updatedAt", automation->updated_at);
    if (automation->nodes != NULL) {
        json_member_raw(json, "nodes", automation->nodes);
        json_member_raw(json, "connections", automation->connections);
    }
    if (automation->version_ids.items != NULL)
        write_versions(work, automation, json);
    if (warnings != NULL)
        blockers_write_warnings(warnings, json);
    json_object_end(json);
}

/* ---- Deleting ---- */

bool automation_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err)
{
    struct automation_delete_params params = { .brand_id = work->brand_id, .id = id, .now = work->now_us };
    int64_t affected;
    int64_t canceled;
    if (!sql_automation_delete(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_deleted = affected > 0;
    return !*ret_deleted || runs_cancel(work, (struct runs_to_cancel){ .automation_id = id }, &canceled, err);
}
