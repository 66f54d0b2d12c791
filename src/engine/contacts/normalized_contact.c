#include "engine/contacts/normalized_contact.h"

#include "base/json_read.h"
#include "base/text.h"
#include "sql/suppress.h"

#include <stdlib.h>
#include <string.h>

enum { CONSENT_MAX_BYTES = 64 * 1024 };

static const char *proof_json(struct arena *arena, const struct contact_proof *proof)
{
    struct buf *out = buf_in_arena(arena, CONSENT_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text_if(&json, "source", proof->source);
    json_member_time_if(&json, "capturedAt", proof->captured_at);
    json_member_text_if(&json, "policyVersion", proof->policy_version);
    json_member_text_if(&json, "evidence", proof->evidence);
    json_object_end(&json);
    return buf_text(out);
}

static bool check_groups(const json_t *groups, struct error *err)
{
    const char *group;
    json_t *wanted;
    json_object_foreach (json_for_iteration(groups), group, wanted) {
        if (json_is_boolean(wanted) && group[0] != '\0' && utf8_length(group) <= SUBSCRIPTION_GROUP_MAX_CHARS)
            continue;
        fail(err, ERR_INVALID_REQUEST, group, "subscriptionGroups maps ids of at most %d characters to true or false.",
             SUBSCRIPTION_GROUP_MAX_CHARS);
        return error_set_param(err, "subscriptionGroups.%s", group);
    }
    return true;
}

/* An empty name clears the name. */
static struct opt_text name_without_empty(struct opt_text text)
{
    if (text.set && text.value != NULL && text.value[0] == '\0')
        text.value = NULL;
    return text;
}

static bool parse_contact_email(const struct work *work, const char *email, struct address *ret_address, struct error *err)
{
    const char *trimmed = email != NULL ? text_trim(work->arena, email) : "";
    if (trimmed[0] == '\0')
        return fail(err, ERR_MISSING_EMAIL, "email", "The contact has no email address.");
    return address_parse(work->arena, trimmed, "email", ret_address, err);
}

bool contact_normalize(const struct work *work, const struct contact_change *change, struct field_registry *registry,
                       struct normalized_contact *ret_ready, struct error *err)
{
    struct normalized_contact ready = {
        .first_name = name_without_empty(change->first_name),
        .last_name = name_without_empty(change->last_name),
        .user_id = name_without_empty(change->user_id),
        .source = change->source,
        .subscribed = change->subscribed,
        .groups = change->subscription_groups,
        .consent = change->has_proof ? proof_json(work->arena, &change->proof) : NULL,
        .agreed_at = change->has_proof ? change->proof.captured_at : (struct opt_int){ .set = false },
    };
    if (!parse_contact_email(work, change->email, &ready.address, err) || !check_groups(change->subscription_groups, err) ||
        !field_registry_read(registry, change->custom_fields, &ready.custom, err))
        return false;
    address_hash(work->engine->address_key, ready.address.key, ready.address_hash);
    *ret_ready = ready;
    return true;
}

/* ---- Several changes of one contact ---- */

/* Each list of groups is copied once, whatever the number of changes. */
static const json_t *merge_groups(struct arena *arena, const struct normalized_contact *const *changes, size_t count)
{
    json_t *merged = NULL;
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->groups == NULL)
            continue;
        if (merged == NULL)
            merged = json_in_arena(arena, json_object());
        json_object_update(merged, json_for_iteration(changes[i]->groups));
    }
    return merged;
}

/* The values come from one array, so their addresses tell which is the later one. */
static int by_name_then_place(const void *left, const void *right)
{
    const struct custom_value *a = *(const struct custom_value *const *)left;
    const struct custom_value *b = *(const struct custom_value *const *)right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Keeps the last value of each name. Sorts `items` by name. */
static size_t drop_replaced_values(struct arena *arena, const struct custom_value *values, size_t count,
                                   struct custom_value *ret_items)
{
    const struct custom_value **sorted = arena_array(arena, count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    qsort(sorted, count, sizeof(*sorted), by_name_then_place);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || strcmp(sorted[i]->name, sorted[i + 1]->name) != 0)
            ret_items[kept++] = *sorted[i];
    return kept;
}

static struct custom_values merge_custom_values(struct arena *arena, const struct normalized_contact *const *changes, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += changes[i]->custom.count;
    struct custom_value *all = arena_array(arena, total, sizeof(*all));
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < changes[i]->custom.count; j++)
            all[at++] = changes[i]->custom.items[j];
    struct custom_value *items = arena_array(arena, total, sizeof(*items));
    return (struct custom_values){ .items = items, .count = drop_replaced_values(arena, all, total, items) };
}

static void merge_members(struct normalized_contact *contact, const struct normalized_contact *later)
{
    contact->address = later->address;
    if (later->first_name.set)
        contact->first_name = later->first_name;
    if (later->last_name.set)
        contact->last_name = later->last_name;
    if (later->user_id.set)
        contact->user_id = later->user_id;
    if (later->source != NULL)
        contact->source = later->source;
    if (later->subscribed.set)
        contact->subscribed = later->subscribed;
    if (later->consent != NULL) {
        contact->consent = later->consent;
        contact->agreed_at = later->agreed_at;
    }
}

struct normalized_contact *contact_merge_normalized(struct arena *arena, const struct normalized_contact *const *changes,
                                                    size_t count)
{
    struct normalized_contact *merged = arena_alloc(arena, sizeof(*merged));
    *merged = *changes[0];
    for (size_t i = 1; i < count; i++)
        merge_members(merged, changes[i]);
    if (count > 1) {
        merged->groups = merge_groups(arena, changes, count);
        merged->custom = merge_custom_values(arena, changes, count);
    }
    return merged;
}

/* ---- For SQL ---- */

const char *contact_groups_json(struct arena *arena, const struct normalized_contact *ready)
{
    return ready->groups != NULL ? json_compact(arena, ready->groups) : "{}";
}

/* Address hashes, each with a time if the statement needs one. */
struct addresses {
    const char **hashes;
    int64_t *times;
    size_t count;
};

static struct addresses addresses_new(struct arena *arena, size_t capacity)
{
    return (struct addresses){ arena_array(arena, capacity, sizeof(char *)), arena_array(arena, capacity, sizeof(int64_t)), 0 };
}

static void addresses_add(struct addresses *addresses, const char *hash, int64_t time_us)
{
    addresses->hashes[addresses->count] = hash;
    addresses->times[addresses->count++] = time_us;
}

static void add_keep(const struct work *work, const struct addresses *unsubscribed, struct db_batch *batch)
{
    struct suppressions_add_params keep = {
        .brand_id = work->brand_id,
        .address_hashes = { unsubscribed->hashes, unsubscribed->count },
        .reason = "unsubscribed",
        .source = "api",
        .now = work->now_us,
    };
    if (unsubscribed->count > 0)
        db_batch_add(batch, &suppressions_add_statement, &keep);
}

static void add_lift(const struct work *work, const struct addresses *subscribed, struct db_batch *batch)
{
    struct contact_unsubscribes_lift_params lift = {
        .brand_id = work->brand_id,
        .address_hashes = { subscribed->hashes, subscribed->count },
    };
    if (subscribed->count > 0)
        db_batch_add(batch, &contact_unsubscribes_lift_statement, &lift);
}

static void add_release(const struct work *work, const struct addresses *consented, struct db_batch *batch)
{
    struct contact_unsubscribes_release_params release = {
        .brand_id = work->brand_id,
        .address_hashes = { consented->hashes, consented->count },
        .agreed = { consented->times, consented->count },
    };
    if (consented->count > 0)
        db_batch_add(batch, &contact_unsubscribes_release_statement, &release);
}

void contact_note_unsubscribes(const struct work *work, struct normalized_contact *const *contacts, size_t count,
                               struct db_batch *batch)
{
    struct addresses unsubscribed = addresses_new(work->arena, count);
    struct addresses subscribed = addresses_new(work->arena, count);
    struct addresses consented = addresses_new(work->arena, count);
    for (size_t i = 0; i < count; i++) {
        const struct normalized_contact *contact = contacts[i];
        if (!contact->subscribed.set)
            continue;
        char *hash = arena_alloc(work->arena, 2 * SECRET_HASH_BYTES + 1);
        hex_encode(contact->address_hash, SECRET_HASH_BYTES, hash);
        addresses_add(contact->subscribed.value ? &subscribed : &unsubscribed, hash, 0);
        if (contact->subscribed.value && contact->agreed_at.set)
            addresses_add(&consented, hash, contact->agreed_at.value);
    }
    add_keep(work, &unsubscribed, batch);
    add_lift(work, &subscribed, batch);
    add_release(work, &consented, batch);
}
