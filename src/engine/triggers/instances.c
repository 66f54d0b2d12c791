#include "engine/triggers/instances.h"

#include "engine/core/page.h"
#include "sql/trigger_instances.h"

static void write_ids(const struct work *work, const char *name, enum id_kind kind, struct int_list ids, struct json_writer *json)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < ids.count; i++)
        json_text(json, work_id(work, kind, ids.items[i]));
    json_array_end(json);
}

static void write_instance(const struct work *work, const struct trigger_instance_row *instance, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "triggerInstanceId", ID_INSTANCE, instance->id);
    json_member_text(json, "source", instance->source);
    json_member_text_if(json, "provider", instance->provider);
    json_member_id(json, work, "triggerEventId", ID_TRIGGER, instance->trigger_id);
    json_member_text(json, "state", instance->state);
    write_ids(work, "matchedAutomationIds", ID_AUTOMATION, instance->matched, json);
    write_ids(work, "automationRunIds", ID_RUN, instance->runs, json);
    json_member_text_if(json, "rejectionReason", instance->rejection_reason);
    json_member_int(json, "attempts", instance->attempts);
    json_member_time(json, "receivedAt", instance->occurred_at);
    json_member_time_if(json, "processedAt", instance->processed_at);
    json_object_end(json);
}

bool trigger_instance_write(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    struct trigger_instance_find_params params = { .brand_id = work->brand_id, .id = id };
    struct trigger_instance_row *instance;
    if (!sql_trigger_instance_find(work->conn, work->arena, &params, &instance, err))
        return false;
    if (instance == NULL)
        return fail(err, ERR_TRIGGER_INSTANCE_NOT_FOUND, "triggerInstanceId", "No fire with this id in this brand.");
    write_instance(work, instance, json);
    return true;
}

static bool find_page(const struct work *work, int64_t trigger_id, const struct page_cursor *start, int64_t limit,
                      struct trigger_instance_row **ret_rows, struct db_page *ret_found, struct error *err)
{
    struct trigger_instance_page_params all = {
        .brand_id = work->brand_id, .from_start = !start->set, .at = start->number, .id = start->id, .limit = limit + 1
    };
    struct trigger_instance_page_of_trigger_params one = {
        .brand_id = work->brand_id,
        .trigger_id = trigger_id,
        .from_start = !start->set,
        .at = start->number,
        .id = start->id,
        .limit = limit + 1,
    };
    if (trigger_id != 0)
        return sql_trigger_instance_page_of_trigger(work->conn, work->arena, &one, ret_rows, ret_found, err);
    return sql_trigger_instance_page(work->conn, work->arena, &all, ret_rows, ret_found, err);
}

bool trigger_instances_write(const struct work *work, int64_t trigger_id, int64_t limit, const char *cursor,
                             struct json_writer *json, struct error *err)
{
    const char *binding = arena_printf(work->arena, "triggerInstances.list\n%lld", (long long)trigger_id);
    struct page_cursor start;
    struct trigger_instance_row *rows;
    struct db_page found;
    if (!page_cursor_read(work, binding, cursor, &start, err) || !find_page(work, trigger_id, &start, limit, &rows, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_instance(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].occurred_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}
