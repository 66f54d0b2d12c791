#include "engine/placement/seeds.h"

#include "base/text.h"
#include "engine/secrets/mailbox_passwords.h"
#include "mail/address.h"

#include <string.h>
#include <strings.h>

static struct mailbox_secret secret_of(int64_t id, const char *address)
{
    return (struct mailbox_secret){ .purpose = "seed mailbox", .id = id, .address = address };
}

/* ---- Changes ---- */

static bool is_provider_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static bool read_provider(const struct work *work, const char *given, const char **ret_provider, struct error *err)
{
    char *name = arena_dup(work->arena, given);
    size_t size = 0;
    for (; name[size] != '\0'; size++)
        name[size] = name[size] >= 'A' && name[size] <= 'Z' ? (char)(name[size] + ('a' - 'A')) : name[size];
    size_t known = 0;
    while (is_provider_char(name[known]))
        known++;
    *ret_provider = name;
    return (size > 0 && size <= SEED_PROVIDER_MAX_CHARS && known == size) ||
           fail(err, ERR_INVALID_REQUEST, "provider", "The name of a provider has 1 to %d letters, digits, dots, - and _.",
                SEED_PROVIDER_MAX_CHARS);
}

static bool check_address(const char *address, struct error *err)
{
    return (utf8_is_valid(address, strlen(address)) && utf8_length(address) <= SEED_ADDRESS_MAX_CHARS) ||
           fail(err, ERR_INVALID_REQUEST, "address", "The address has at most %d characters.", SEED_ADDRESS_MAX_CHARS);
}

bool seed_add(const struct work *work, const struct seed_mailbox *seed, int64_t *ret_id, struct error *err)
{
    struct address email;
    struct seed_mailbox_next_row *next;
    struct seed_mailbox_insert_row *row;
    struct seed_mailbox_insert_params params = {
        .organization_id = seed->organization_id,
        .address = seed->address,
        .now = work->now_us,
        .most = SEEDS_MAX,
    };
    if (!read_provider(work, seed->provider, &params.provider, err) || !check_address(seed->address, err) ||
        !address_parse(work->arena, seed->email, "email", &email, err) ||
        !sql_seed_mailbox_next(work->conn, work->arena, &next, err))
        return false;
    const struct mailbox_secret secret = secret_of(next->id, seed->address);
    params.id = next->id;
    params.email = email.mailbox;
    if (!mailbox_password_seal(work, &secret, seed->password, &params.password, err) ||
        !sql_seed_mailbox_insert(work->conn, work->arena, &params, &row, err))
        return false;
    if (row->same_id.set)
        return fail(err, ERR_INVALID_REQUEST, "address", "Seed mailbox %lld has this address; remove it first.",
                    (long long)row->same_id.value);
    if (!row->id.set)
        return fail(err, ERR_INVALID_REQUEST, "address", "There are %d seed mailboxes; remove one first.", SEEDS_MAX);
    *ret_id = row->id.value;
    return true;
}

bool seed_remove(const struct work *work, int64_t id, struct error *err)
{
    struct seed_mailbox_delete_params params = { id };
    struct seed_mailbox_delete_row *row;
    if (!sql_seed_mailbox_delete(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "seed", "No seed mailbox with this number.");
}

bool seeds_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct seed_mailboxes_list_row *rows;
    size_t count;
    if (!sql_seed_mailboxes_list(work->conn, work->arena, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_int(json, "seedId", rows[i].id);
        json_member_text(json, "provider", rows[i].provider);
        json_member_text(json, "address", rows[i].address);
        json_member_text(json, "email", rows[i].email);
        if (rows[i].organization_id != 0)
            json_member_id(json, work, "orgId", ID_ORG, rows[i].organization_id);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

/* ---- Tests ---- */

static bool is_wanted(const struct text_list *providers, const char *provider)
{
    bool is_there = providers->count == 0;
    for (size_t i = 0; i < providers->count && !is_there; i++)
        is_there = strcasecmp(providers->items[i], provider) == 0;
    return is_there;
}

/* The names of the providers, each once. The rows are in their order. */
static const char *known_providers(struct arena *arena, const struct seed_mailboxes_of_row *rows, size_t count)
{
    struct buf *out = buf_in_arena(arena, (size_t)SEEDS_MAX * 2 * (SEED_PROVIDER_MAX_CHARS + 2));
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !text_equal(rows[i].provider, rows[i - 1].provider))
            buf_printf(out, "%s%s", i == 0 ? "" : ", ", rows[i].provider);
    return buf_text(out);
}

static bool check_providers(const struct work *work, const struct text_list *providers, const struct seed_mailboxes_of_row *rows,
                            size_t count, struct error *err)
{
    for (size_t i = 0; i < providers->count; i++) {
        const struct text_list one = { &providers->items[i], 1 };
        size_t at = 0;
        while (at < count && !is_wanted(&one, rows[at].provider))
            at++;
        if (at < count)
            continue;
        fail(err, ERR_INVALID_REQUEST, NULL, "No seed mailbox at the provider %.64s. Known providers: %.300s.", providers->items[i],
             known_providers(work->arena, rows, count));
        return error_set_param(err, "providers.%zu", i);
    }
    return true;
}

bool seeds_choose(const struct work *work, struct text_list providers, struct seed_mailboxes_of_row **ret_seeds, size_t *ret_count,
                  struct error *err)
{
    struct seed_mailboxes_of_params params = { .organization_id = work->organization_id, .limit = SEEDS_MAX * 2 };
    struct seed_mailboxes_of_row *rows;
    size_t count;
    if (!sql_seed_mailboxes_of(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    if (count == 0)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                    "There is no seed mailbox, so no placement can be tested. The operator adds one with: posthorn admin seed add "
                    "PROVIDER imaps://USER@HOST --secret-file FILE");
    if (!check_providers(work, &providers, rows, count, err))
        return false;
    *ret_count = 0;
    for (size_t i = 0; i < count && *ret_count < SEEDS_MAX; i++)
        if (is_wanted(&providers, rows[i].provider))
            rows[(*ret_count)++] = rows[i];
    *ret_seeds = rows;
    return true;
}

bool seed_password(const struct work *work, struct arena *secrets, int64_t id, const char *address, struct bytes sealed,
                   const char **ret_password, struct error *err)
{
    const struct mailbox_secret secret = secret_of(id, address);
    return mailbox_password_open(work, secrets, &secret, sealed, ret_password, err);
}

/* ---- Resealing ---- */

static bool reseal_next_passwords(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct seed_mailboxes_to_reseal_params *at = position;
    struct seed_mailboxes_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_seed_mailboxes_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        const struct mailbox_secret secret = secret_of(rows[i].id, rows[i].address);
        struct seed_mailbox_seal_params params = { .organization_id = rows[i].organization_id, .id = rows[i].id };
        if (!mailbox_password_reseal(reseal, &secret, rows[i].password, &params.password, err))
            return false;
        db_batch_add(reseal->updates, &seed_mailbox_seal_statement, &params);
        at->after_id = rows[i].id;
    }
    return true;
}

bool seeds_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct seed_mailboxes_to_reseal_params from = { .after_id = 0 };
    return reseal_table(work, reseal_next_passwords, &from, ret_count, err);
}
