#include "engine/triggers/triggers.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/core/page.h"

#include <string.h>

enum { TREE_MAX_BYTES = 16 * 1024 * 1024, DETAILS_MAX_BYTES = 64 * 1024 };

static bool trigger_not_found(struct error *err)
{
    return fail(err, ERR_TRIGGER_EVENT_NOT_FOUND, "triggerEventId", "No trigger with this id in this brand.");
}

static bool is_custom(const char *provider)
{
    return strcmp(provider, "api") == 0;
}

static bool check_is_custom(const char *provider, struct error *err)
{
    return is_custom(provider) ||
           fail(err, ERR_TRIGGER_IMMUTABLE, "triggerEventId", "This trigger belongs to the integration %.60s.", provider);
}

/* ---- Reading ---- */

bool trigger_get(const struct work *work, int64_t id, struct trigger_row **ret_trigger, struct error *err)
{
    struct trigger_find_params params = { .brand_id = work->brand_id, .id = id };
    if (!sql_trigger_find(work->conn, work->arena, &params, ret_trigger, err))
        return false;
    return *ret_trigger != NULL || trigger_not_found(err);
}

bool trigger_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "triggers.list";
    struct page_cursor start;
    if (!page_cursor_read(work, binding, cursor, &start, err))
        return false;
    struct trigger_page_params params = {
        .brand_id = work->brand_id,
        .from_start = !start.set,
        .at = start.number,
        .id = start.id,
        .limit = limit + 1,
    };
    struct trigger_row *rows;
    struct db_page found;
    if (!sql_trigger_page(work->conn, work->arena, &params, &rows, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        trigger_write(work, &rows[page.shown - 1], NULL, json);
    struct page_cursor last = { .set = false };
    if (page.shown > 0)
        last = (struct page_cursor){ .number = rows[page.shown - 1].updated_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, last);
    json_object_end(json);
    return true;
}

/* ---- Readiness ---- */

/* Matches the nodes of a version in which a node waits for the trigger. */
static const char *wait_pattern(const struct work *work, int64_t id)
{
    return arena_printf(work->arena, "[{\"config\":{\"event\":{\"triggerEventId\":\"%s\"}}}]", work_id(work, ID_TRIGGER, id));
}

static bool find_listeners(const struct work *work, int64_t id, struct trigger_listeners_row **ret_row, struct error *err)
{
    struct trigger_listeners_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .wait_pattern = wait_pattern(work, id),
        .limit = TRIGGER_REFERENCES_MAX,
    };
    return sql_trigger_listeners(work->conn, work->arena, &params, ret_row, err);
}

bool trigger_has_listener(const struct work *work, int64_t id, bool *ret_found, struct error *err)
{
    struct trigger_listeners_row *row;
    if (!find_listeners(work, id, &row, err))
        return false;
    *ret_found = row != NULL && row->count > 0;
    return true;
}

static void write_blockers(int64_t listeners, struct json_writer *json)
{
    json_key(json, "blockers");
    json_array_begin(json);
    if (listeners == 0) {
        json_object_begin(json);
        json_member_text(json, "code", error_info(ERR_NO_PUBLISHED_AUTOMATION)->name);
        json_member_text(json, "message",
                         "No published automation starts with this trigger or waits for it. Publish one, then fire.");
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_listeners(const struct work *work, const struct trigger_listeners_row *row, struct json_writer *json)
{
    json_key(json, "publishedAutomations");
    json_array_begin(json);
    for (size_t i = 0; i < row->automation_ids.count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "automationId", ID_AUTOMATION, row->automation_ids.items[i]);
        json_member_text(json, "name", row->automation_names.items[i]);
        json_object_end(json);
    }
    json_array_end(json);
    json_key(json, "counts");
    json_object_begin(json);
    json_member_int(json, "automations", row->count);
    json_object_end(json);
}

bool trigger_readiness(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    struct trigger_listeners_row *row;
    if (!find_listeners(work, id, &row, err))
        return false;
    if (row == NULL)
        return trigger_not_found(err);
    json_object_begin(json);
    json_member_bool(json, "ready", row->count > 0);
    write_blockers(row->count, json);
    trigger_write_schema(row->schema, json);
    json_member_text(json, "endpoint", trigger_fire_url(work, id));
    write_listeners(work, row, json);
    json_object_end(json);
    return true;
}

/* ---- Changing ---- */

/* The title without control and invisible characters. */
static bool read_title(const struct work *work, const char *title, const char **ret_title, struct error *err)
{
    enum { TITLE_MAX_CHARS = 120 };
    *ret_title = title == NULL ? NULL : text_trim(work->arena, text_visible(work->arena, title, TITLE_MAX_CHARS));
    return *ret_title == NULL || (*ret_title)[0] != '\0' || fail(err, ERR_INVALID_REQUEST, "title", "title must not be empty.");
}

static bool read_schema(const struct work *work, const struct trigger_input *input, const char **ret_schema, struct error *err)
{
    struct contract schema;
    if (!contract_read(work, input->fields, "payloadSchema.fields", false, &schema, err))
        return false;
    *ret_schema = contract_fields_json(work, &schema, true);
    return true;
}

bool trigger_create(const struct work *work, const struct trigger_input *input, struct trigger_row **ret_trigger, struct error *err)
{
    struct trigger_insert_params params = { .brand_id = work->brand_id, .bound = TRIGGERS_MAX_PER_BRAND, .now = work->now_us };
    if (!read_title(work, input->title, &params.title, err) || !read_schema(work, input, &params.schema, err))
        return false;
    if (input->description != NULL && input->description[0] != '\0')
        params.description = input->description;
    if (!sql_trigger_insert(work->conn, work->arena, &params, ret_trigger, err))
        return false;
    return *ret_trigger != NULL || fail(err, ERR_INVALID_REQUEST, "title",
                                        "A brand can have at most %d triggers of its own. Delete one.", TRIGGERS_MAX_PER_BRAND);
}

bool trigger_update(const struct work *work, int64_t id, const struct trigger_input *input, struct trigger_row **ret_trigger,
                    struct error *err)
{
    struct trigger_change_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .description = input->description,
        .now = work->now_us,
    };
    if (input->title == NULL && input->description == NULL && !input->has_schema)
        return fail(err, ERR_INVALID_REQUEST, "title", "Pass title, description or payloadSchema.");
    struct trigger_row *trigger;
    if (!trigger_get(work, id, &trigger, err) || !check_is_custom(trigger->provider, err) ||
        !read_title(work, input->title, &params.title, err) ||
        (input->has_schema && !read_schema(work, input, &params.schema, err)))
        return false;
    if (!sql_trigger_change(work->conn, work->arena, &params, ret_trigger, err))
        return false;
    return *ret_trigger != NULL || trigger_not_found(err);
}

static const char *references_json(const struct work *work, const struct trigger_references_row *rows, size_t count)
{
    struct json_writer json;
    struct buf *text = buf_in_arena(work->arena, DETAILS_MAX_BYTES);
    json_writer_init(&json, text);
    json_object_begin(&json);
    json_key(&json, "referencingAutomations");
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(&json);
        json_member_id(&json, work, "automationId", ID_AUTOMATION, rows[i].automation_id);
        json_member_text(&json, "name", rows[i].name);
        json_member_bool(&json, "published", rows[i].is_published);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    return buf_text(text);
}

static bool check_is_unused(const struct work *work, int64_t id, struct error *err)
{
    struct trigger_references_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .wait_pattern = wait_pattern(work, id),
        .limit = TRIGGER_REFERENCES_MAX,
    };
    struct trigger_references_row *rows;
    size_t count;
    if (!sql_trigger_references(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    if (count == 0)
        return true;
    (void)fail(err, ERR_TRIGGER_HAS_DEPENDENT_AUTOMATIONS, "triggerEventId", "%zu automation%s this trigger; the first is %.120s.",
               count, count == 1 ? " uses" : "s use", rows[0].name);
    return error_with_details(err, references_json(work, rows, count));
}

/* The row is locked before the automations are read, so an automation that is saved meanwhile waits or is seen. */
bool trigger_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err)
{
    struct trigger_lock_params lock = { .brand_id = work->brand_id, .id = id };
    struct trigger_lock_row *trigger;
    *ret_deleted = false;
    if (!sql_trigger_lock(work->conn, work->arena, &lock, &trigger, err))
        return false;
    if (trigger == NULL)
        return true;
    if (!check_is_custom(trigger->provider, err) || !check_is_unused(work, id, err))
        return false;
    struct trigger_delete_params params = { .brand_id = work->brand_id, .id = id };
    int64_t affected;
    if (!sql_trigger_delete(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_deleted = affected > 0;
    return true;
}

/* ---- Contracts ---- */

static bool read_tree(const struct work *work, const char *text, const char *param, bool is_stored, struct contract *ret_contract,
                      struct error *err)
{
    const json_t *fields;
    return json_read(work->arena, text, strlen(text), (struct json_bounds){ .max_bytes = TREE_MAX_BYTES }, &fields, err) &&
           contract_read(work, fields, param, is_stored, ret_contract, err);
}

bool trigger_contract_of_row(const struct work *work, struct trigger_row *trigger, struct trigger_contract *ret_contract,
                             struct error *err)
{
    *ret_contract = (struct trigger_contract){ .trigger = trigger, .is_stored = trigger->contract != NULL };
    const char *tree = ret_contract->is_stored ? trigger->contract : trigger->schema;
    if (!read_tree(work, tree, "fields", ret_contract->is_stored, &ret_contract->contract, err))
        return false;
    ret_contract->contract.enforcement = contract_enforcement_from_name(trigger->enforcement);
    return true;
}

bool trigger_contract(const struct work *work, int64_t id, struct trigger_contract *ret_contract, struct error *err)
{
    struct trigger_row *trigger;
    return trigger_get(work, id, &trigger, err) && trigger_contract_of_row(work, trigger, ret_contract, err);
}

/* The tree that is to be stored. The enforcement alone stores the derived one, which then must not have unknown types. */
static bool new_tree(const struct work *work, const struct trigger_lock_row *trigger, const struct contract_input *input,
                     struct contract *ret_tree, struct error *err)
{
    if (input->fields != NULL)
        return contract_read(work, input->fields, "fields", true, ret_tree, err);
    bool is_stored = trigger->contract != NULL;
    if (!read_tree(work, is_stored ? trigger->contract : trigger->schema, "fields", is_stored, ret_tree, err))
        return false;
    return !contract_has_unknown(ret_tree) ||
           fail(err, ERR_INVALID_REQUEST, "fields",
                "The payload schema has fields of an unknown type. Pass all fields with their types as well.");
}

static bool check_is_not_locked(const struct trigger_lock_row *trigger, enum contract_enforcement wanted, struct error *err)
{
    if (trigger->published == 0 || wanted <= contract_enforcement_from_name(trigger->enforcement))
        return true;
    return fail(err, ERR_CONTRACT_LOCKED_BY_PUBLISHED_AUTOMATIONS, "enforcement",
                "%lld published automation%s with this trigger, so the enforcement cannot change from %s to %s.",
                (long long)trigger->published, trigger->published == 1 ? " starts" : "s start", trigger->enforcement,
                contract_enforcement_name(wanted));
}

static bool fill_stored(const struct work *work, const struct trigger_lock_row *trigger, const struct contract_input *input,
                        struct trigger_store_contract_params *params, struct error *err)
{
    struct contract tree;
    unsigned char *hash = arena_alloc(work->arena, CONTRACT_HASH_BYTES);
    if (!new_tree(work, trigger, input, &tree, err))
        return false;
    contract_hash(work, &tree, hash);
    const struct bytes *last = &trigger->contract_hash;
    bool is_same = last->size == CONTRACT_HASH_BYTES && memcmp(last->data, hash, CONTRACT_HASH_BYTES) == 0;
    params->contract = contract_fields_json(work, &tree, false);
    params->version = trigger->contract_version + (is_same ? 0 : 1);
    params->hash = (struct bytes){ .data = hash, .size = CONTRACT_HASH_BYTES };
    return true;
}

bool trigger_set_contract(const struct work *work, int64_t id, const struct contract_input *input,
                          struct trigger_contract *ret_contract, struct error *err)
{
    struct trigger_lock_params lock = { .brand_id = work->brand_id, .id = id };
    struct trigger_lock_row *trigger;
    if (!sql_trigger_lock(work->conn, work->arena, &lock, &trigger, err))
        return false;
    if (trigger == NULL)
        return trigger_not_found(err);
    bool is_back = input->fields == NULL && !input->has_enforcement;
    enum contract_enforcement kept = is_back ? CONTRACT_OFF : contract_enforcement_from_name(trigger->enforcement);
    enum contract_enforcement wanted = input->has_enforcement ? input->enforcement : kept;
    struct trigger_store_contract_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .version = trigger->contract_version,
        .hash = trigger->contract_hash,
        .enforcement = contract_enforcement_name(wanted),
        .now = work->now_us,
    };
    if (!check_is_custom(trigger->provider, err) || (!is_back && !fill_stored(work, trigger, input, &params, err)) ||
        !check_is_not_locked(trigger, wanted, err))
        return false;
    return sql_trigger_store_contract(work->conn, work->arena, &params, NULL, err) && trigger_contract(work, id, ret_contract, err);
}
