/*
 * posthorn admin: what only the operator does. Prints one JSON object.
 */
#include "cli/commands.h"

#include "base/clock.h"
#include "catalogue/policies.h"
#include "engine/installation.h"
#include "engine/operator/operator.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_MAX_BYTES = 16 * 1024 * 1024 };

static const char usage[] =
    "org create NAME | org list\n"
    "  brand create NAME [--org ID] | brand list [--org ID]\n"
    "  key create [--scopes NAMES] [--brand ID] [--name TEXT] [--rate-multiplier X] | key list | key revoke ID\n"
    "  domain create NAME [--brand ID] [--purpose NAME] | domain list [--brand ID] | domain verify NAME --trust [--brand ID]\n"
    "  domain records NAME [--brand ID] | domain rotate NAME [--trust] [--brand ID]\n"
    "  keys add | keys rewrap";

/* One admin command at work. */
struct admin {
    struct work work;
    const struct options *options;
    const char *argument; /* the word behind the verb, NULL when none */
    struct json_writer json;
};

static bool need_argument(const struct admin *admin, const char *what, struct error *err)
{
    return admin->argument != NULL || fail(err, ERR_INVALID_REQUEST, what, "Name the %s.", what);
}

/* ---- org, brand ---- */

static bool org_create(struct admin *admin, struct error *err)
{
    int64_t id;
    if (!need_argument(admin, "name", err) || !operator_create_organization(&admin->work, admin->argument, &id, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "orgId", ID_ORG, id);
    json_member_text(&admin->json, "name", admin->argument);
    json_object_end(&admin->json);
    return true;
}

static bool org_list(struct admin *admin, struct error *err)
{
    return operator_write_organizations(&admin->work, &admin->json, err);
}

static bool brand_create(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    int64_t id;
    if (!need_argument(admin, "name", err) ||
        !operator_find_organization(&admin->work, admin->options->organization, &organization_id, err) ||
        !operator_create_brand(&admin->work, organization_id, admin->argument, &id, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "brandId", ID_BRAND, id);
    json_member_text(&admin->json, "name", admin->argument);
    json_object_end(&admin->json);
    return true;
}

static bool brand_list(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return operator_find_organization(&admin->work, admin->options->organization, &organization_id, err) &&
           operator_write_brands(&admin->work, organization_id, &admin->json, err);
}

/* ---- key ---- */

static bool read_scopes(struct arena *arena, const char *text, uint32_t *ret_scopes, struct error *err)
{
    *ret_scopes = 0;
    const char *const *names = options_list(arena, text != NULL ? text : "all");
    for (size_t i = 0; names[i] != NULL; i++) {
        uint32_t satisfies = 0;
        for (size_t j = 0; j < scope_count; j++)
            if (strcmp(scopes[j].name, names[i]) == 0)
                satisfies = scopes[j].bit;
        if (satisfies == 0)
            return fail(err, ERR_INVALID_REQUEST, "scopes", "%.60s is not a scope.", names[i]);
        *ret_scopes |= satisfies;
    }
    return *ret_scopes != 0 || fail(err, ERR_INVALID_REQUEST, "scopes", "A key needs at least one scope.");
}

static bool key_create(struct admin *admin, struct error *err)
{
    const struct options *options = admin->options;
    struct operator_key key = {
        .name = options->name != NULL ? options->name : "API key",
        .rate_multiplier = options->rate_multiplier,
    };
    bool found = options->brand != NULL
                     ? operator_find_brand(&admin->work, options->brand, &key.brand_id, &key.organization_id, err)
                     : operator_find_organization(&admin->work, options->organization, &key.organization_id, err);
    int64_t id;
    const char *secret;
    if (!found || !read_scopes(admin->work.arena, options->scopes, &key.scopes, err) ||
        !operator_create_key(&admin->work, &key, &id, &secret, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "keyId", ID_KEY, id);
    json_member_text(&admin->json, "key", secret);
    json_member_text(&admin->json, "name", key.name);
    if (key.brand_id != 0)
        json_member_id(&admin->json, &admin->work, "brandId", ID_BRAND, key.brand_id);
    json_member_text(&admin->json, "message", "Keep this key now; it is not shown again.");
    json_object_end(&admin->json);
    return true;
}

static bool key_list(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return operator_find_organization(&admin->work, admin->options->organization, &organization_id, err) &&
           operator_write_keys(&admin->work, organization_id, &admin->json, err);
}

static bool key_revoke(struct admin *admin, struct error *err)
{
    bool revoked;
    if (!need_argument(admin, "keyId", err) || !operator_revoke_key(&admin->work, admin->argument, &revoked, err))
        return false;
    json_object_begin(&admin->json);
    json_member_text(&admin->json, "keyId", admin->argument);
    json_member_bool(&admin->json, "revoked", revoked);
    json_object_end(&admin->json);
    return true;
}

/* ---- domain ---- */

static bool find_brand(struct admin *admin, int64_t *ret_brand_id, int64_t *ret_organization_id, struct error *err)
{
    return operator_find_brand(&admin->work, admin->options->brand, ret_brand_id, ret_organization_id, err);
}

static bool domain_create(struct admin *admin, struct error *err)
{
    const char *purpose = admin->options->purpose != NULL ? admin->options->purpose : "marketing";
    int64_t brand_id;
    int64_t organization_id;
    int64_t id;
    return need_argument(admin, "name", err) && find_brand(admin, &brand_id, &organization_id, err) &&
           operator_create_domain(&admin->work, brand_id, organization_id, admin->argument, purpose, &id, err) &&
           operator_write_domain(&admin->work, brand_id, admin->argument, &admin->json, err);
}

static bool domain_records(struct admin *admin, struct error *err)
{
    int64_t brand_id;
    int64_t organization_id;
    return need_argument(admin, "name", err) && find_brand(admin, &brand_id, &organization_id, err) &&
           operator_write_domain(&admin->work, brand_id, admin->argument, &admin->json, err);
}

static bool domain_rotate(struct admin *admin, struct error *err)
{
    int64_t brand_id;
    int64_t organization_id;
    return need_argument(admin, "name", err) && find_brand(admin, &brand_id, &organization_id, err) &&
           operator_rotate_domain(&admin->work, brand_id, admin->argument, admin->options->trust, err) &&
           operator_write_domain(&admin->work, brand_id, admin->argument, &admin->json, err);
}

static bool domain_list(struct admin *admin, struct error *err)
{
    int64_t brand_id;
    int64_t organization_id;
    return find_brand(admin, &brand_id, &organization_id, err) && operator_write_domains(&admin->work, brand_id, &admin->json, err);
}

static bool domain_verify(struct admin *admin, struct error *err)
{
    int64_t brand_id;
    int64_t organization_id;
    int64_t id;
    if (!admin->options->trust)
        return fail(err, ERR_NOT_IMPLEMENTED, "trust",
                    "Looking at the DNS is not built yet; --trust takes your word for the domain.");
    if (!need_argument(admin, "name", err) || !find_brand(admin, &brand_id, &organization_id, err) ||
        !operator_trust_domain(&admin->work, brand_id, admin->argument, &id, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "domainId", ID_DOMAIN, id);
    json_member_text(&admin->json, "name", admin->argument);
    json_member_text(&admin->json, "status", "verified");
    json_object_end(&admin->json);
    return true;
}

/* ---- Master keys ---- */

static bool keys_add(struct admin *admin, struct error *err)
{
    int id;
    if (!operator_add_master_key(&admin->work, &id, err))
        return false;
    json_object_begin(&admin->json);
    json_member_int(&admin->json, "masterKey", id);
    json_member_text(&admin->json, "message",
                     "Secrets are sealed with this key from now on. Copy the key file to every machine, then run keys rewrap.");
    json_object_end(&admin->json);
    return true;
}

static bool keys_rewrap(struct admin *admin, struct error *err)
{
    int64_t count;
    if (!operator_rewrap(&admin->work, &count, err))
        return false;
    json_object_begin(&admin->json);
    json_member_int(&admin->json, "resealed", count);
    json_member_text(
        &admin->json, "message",
        "Every secret is sealed with the last key of the key file; keys before it serve backups of the database only.");
    json_object_end(&admin->json);
    return true;
}

/* ---- The command ---- */

static const struct {
    const char *noun;
    const char *verb;
    bool (*run)(struct admin *admin, struct error *err);
} actions[] = {
    { "org", "create", org_create },
    { "org", "list", org_list },
    { "brand", "create", brand_create },
    { "brand", "list", brand_list },
    { "key", "create", key_create },
    { "key", "list", key_list },
    { "key", "revoke", key_revoke },
    { "domain", "create", domain_create },
    { "domain", "list", domain_list },
    { "domain", "verify", domain_verify },
    { "domain", "records", domain_records },
    { "domain", "rotate", domain_rotate },
    { "keys", "add", keys_add },
    { "keys", "rewrap", keys_rewrap },
};

static bool run_action(struct admin *admin, struct installation *installation, struct error *err)
{
    const char *noun = admin->options->words[0];
    const char *verb = noun != NULL ? admin->options->words[1] : NULL;
    for (size_t i = 0; verb != NULL && i < ARRAY_COUNT(actions); i++) {
        if (strcmp(actions[i].noun, noun) != 0 || strcmp(actions[i].verb, verb) != 0)
            continue;
        DB_CONN_SCOPE conn = NULL;
        if (!installation_connect(installation, &conn, err))
            return false;
        admin->work.conn = conn;
        admin->work.organization_id = admin->work.engine->default_organization_id;
        admin->argument = admin->options->words[2];
        return actions[i].run(admin, err);
    }
    return fail(err, ERR_INVALID_REQUEST, NULL, "This is not an admin command.");
}

int command_admin(const struct process *process, const struct options *options)
{
    struct installation_config config = {
        .data_dir = options->data_dir,
        .database_url = options->database_url,
        .runner_argv = process->runner_argv,
        .application_name = "posthorn admin",
        .key_file = options->key_file,
    };
    struct installation *installation = installation_new(&config);
    struct admin admin = {
        .work = { .engine = installation_engine(installation), .arena = process->arena, .now_us = clock_now_us() },
        .options = options,
    };
    BUF_SCOPE out;
    buf_init(&out, OUTPUT_MAX_BYTES);
    json_writer_init(&admin.json, &out);

    struct error err = { .code = ERR_NONE };
    bool ok = run_action(&admin, installation, &err);
    installation_free(installation);
    if (ok) {
        printf("%s\n", buf_text(&out));
        return 0;
    }
    command_failed(&err);
    if (err.param[0] == '\0' && err.code == ERR_INVALID_REQUEST)
        fprintf(stderr, "posthorn admin\n  %s\n", usage);
    return 1;
}
