/*
 * Deletes contacts. Their unsubscribes stay, stored under the hash of the
 * address.
 */
#include "engine/contacts/normalized_contact.h"
#include "engine/filters/filter.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

/* A text of the list, NULL for a row without one; `key` is NULL when it is not an address. */
struct listed {
    const char *given;
    const char *key;
};

static struct listed *read_list(const struct work *work, struct text_list emails)
{
    struct listed *list = arena_array(work->arena, emails.count, sizeof(*list));
    for (size_t i = 0; i < emails.count; i++) {
        struct error ignored = { .code = ERR_NONE };
        struct address address;
        list[i].given = emails.items[i];
        if (emails.items[i] != NULL &&
            address_parse(work->arena, text_trim(work->arena, emails.items[i]), "emails", &address, &ignored))
            list[i].key = address.key;
    }
    return list;
}

static struct contacts_delete_params delete_params(const struct work *work, const struct listed *list, size_t count)
{
    const char **keys = arena_array(work->arena, count, sizeof(*keys));
    const char **hashes = arena_array(work->arena, count, sizeof(*hashes));
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].key == NULL)
            continue;
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
        address_hash(work->engine->address_key, list[i].key, hash);
        hex_encode(hash, sizeof(hash), hex);
        keys[known] = list[i].key;
        hashes[known++] = hex;
    }
    return (struct contacts_delete_params){
        .brand_id = work->brand_id,
        .email_keys = { keys, known },
        .address_hashes = { hashes, known },
        .event_types = filter_event_types,
        .now = work->now_us,
    };
}

/* The addresses without a contact, as given, without duplicates. */
static struct text_list unknown_addresses(const struct work *work, const struct listed *list, size_t count,
                                          const struct contacts_delete_row *rows, size_t row_count)
{
    json_t *known = json_in_arena(work->arena, json_object());
    const char **missing = arena_array(work->arena, count, sizeof(*missing));
    size_t missing_count = 0;
    for (size_t i = 0; i < row_count; i++)
        json_object_set_new(known, rows[i].email_key, json_true());
    for (size_t i = 0; i < count; i++) {
        const char *name = list[i].key != NULL ? list[i].key : list[i].given;
        if (name == NULL)
            continue;
        if (json_object_get(known, name) != NULL)
            continue;
        json_object_set_new(known, name, json_true());
        missing[missing_count++] = list[i].given;
    }
    return (struct text_list){ missing, missing_count };
}

bool contact_remove(const struct work *work, struct text_list emails, struct contact_removal *ret_removal, struct error *err)
{
    struct listed *list = read_list(work, emails);
    struct contacts_delete_params params = delete_params(work, list, emails.count);
    struct contacts_delete_row *rows;
    size_t count;
    if (!sql_contacts_delete(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].id;
    *ret_removal = (struct contact_removal){
        .ids = { ids, count },
        .not_found = unknown_addresses(work, list, emails.count, rows, count),
    };
    return true;
}
