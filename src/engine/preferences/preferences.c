#include "engine/preferences/preferences.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/contacts/contacts.h"

#include <string.h>

static const char consent_source[] = "preferences page";

/* ---- Of a person ---- */

bool preferences_find(const struct work *work, const struct unsubscribe_link *link, struct preference_row **ret_groups,
                      size_t *ret_count, struct error *err)
{
    struct preferences_of_params params = {
        .brand_id = link->brand_id,
        .send_id = link->send_id,
        .ordinal = link->ordinal,
        .contact_id = link->contact_id,
    };
    *ret_groups = NULL;
    *ret_count = 0;
    return unsubscribe_link_is_test(link) || sql_preferences_of(work->conn, work->arena, &params, ret_groups, ret_count, err);
}

static bool is_listed(struct text_list list, const char *name)
{
    for (size_t i = 0; i < list.count; i++)
        if (text_equal(list.items[i], name))
            return true;
    return false;
}

/* Every public group, with true or false. */
static const json_t *groups_json(const struct work *work, const struct preference_row *groups, size_t count,
                                 const struct preference_choice *choice)
{
    json_t *json = json_in_arena(work->arena, json_object());
    for (size_t i = 0; i < count; i++)
        json_object_set_new(json, groups[i].name, json_boolean(is_listed(choice->groups, groups[i].name)));
    return json;
}

bool preferences_choose(const struct work *work, const struct unsubscribe_link *link, const struct preference_choice *choice,
                        struct error *err)
{
    struct work own = *work;
    own.brand_id = link->brand_id;
    struct preference_contact_params find = {
        .brand_id = link->brand_id,
        .send_id = link->send_id,
        .ordinal = link->ordinal,
        .contact_id = link->contact_id,
    };
    struct preference_contact_row *contact;
    struct preference_row *groups;
    size_t count;
    if (!preferences_find(&own, link, &groups, &count, err))
        return false;
    if (count == 0)
        return true;
    if (!sql_preference_contact(own.conn, own.arena, &find, &contact, err))
        return false;
    if (contact == NULL)
        return true;
    struct contact_change change = { .email = contact->email, .subscription_groups = groups_json(&own, groups, count, choice) };
    if (choice->subscribes) {
        change.subscribed = (struct opt_bool){ .set = true, .value = true };
        change.has_proof = true;
        change.proof = (struct contact_proof){ .source = consent_source, .captured_at = { .set = true, .value = own.now_us } };
    }
    struct contact_saved saved;
    return contact_update(&own, &change, &saved, err);
}

/* ---- For the operator ---- */

static bool check_text(const char *text, size_t max_chars, const char *param, struct error *err)
{
    return utf8_has_length(text, 1, max_chars) ||
           fail(err, ERR_INVALID_REQUEST, param, "%s must have 1 to %zu characters.", param, max_chars);
}

bool public_group_set(const struct work *work, const char *name, const char *title, struct error *err)
{
    struct public_group_set_params params = {
        .brand_id = work->brand_id,
        .name = name,
        .title = title != NULL ? title : name,
        .bound = PUBLIC_GROUPS_MAX,
        .now = work->now_us,
    };
    struct public_group_set_row *row;
    if (!check_text(name, SUBSCRIPTION_GROUP_MAX_CHARS, "group", err) ||
        !check_text(params.title, PUBLIC_GROUP_TITLE_MAX_CHARS, "name", err) ||
        !sql_public_group_set(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_INVALID_REQUEST, "group", "A brand can have at most %d public groups.", PUBLIC_GROUPS_MAX);
}

bool public_group_remove(const struct work *work, const char *name, bool *ret_changed, struct error *err)
{
    struct public_group_remove_params params = { .brand_id = work->brand_id, .name = name };
    int64_t affected;
    if (!sql_public_group_remove(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_changed = affected == 1;
    return true;
}

bool public_groups_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct public_group_all_params params = { .brand_id = work->brand_id };
    struct public_group_all_row *rows;
    size_t count;
    if (!sql_public_group_all(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "group", rows[i].name);
        json_member_text(json, "title", rows[i].title);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}
