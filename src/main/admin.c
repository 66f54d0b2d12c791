/*
 * posthorn admin: the commands of the operator. Prints one JSON object; with
 * --batch, one for each command of standard input.
 */
#include "main/admin.h"

#include "api/call.h"
#include "api/key_scopes.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/core/installation.h"
#include "engine/reports/receive.h"
#include "jobs/types/domain_lookup.h"
#include "main/admin.h"
#include "net/dns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_MAX_BYTES = 16 * 1024 * 1024, SESSION_DEFAULT_S = 24 * 3600, LINE_MAX_BYTES = 64 * 1024, LINE_MAX_WORDS = 64 };

static const char usage[] =
    "org create NAME | org list | org plan ORG PLAN | org credits ORG BONUS | org approvals ORG off|N\n"
    "  brand create NAME [--org ID] | brand list [--org ID] | brand tracking [off|marketing|all] [--brand ID]\n"
    "  key create [--scopes NAMES] [--brand ID] [--name TEXT] [--rate-multiplier X] | key list | key revoke ID\n"
    "  session create [--org ID] [--role admin|member] [--name TEXT] [--brand ID]... [--expires TIME]\n"
    "  session list [--org ID] | session end ID\n"
    "  send pause ID | send cancel ID | send approve ID [--note TEXT] | send reject ID [--note TEXT]\n"
    "  group public ID [--name TITLE] [--brand ID] | group private ID [--brand ID] | group list [--brand ID]\n"
    "  automation simulate ID AUDIENCE [--brand ID]\n"
    "  restore status | restore release [--send ID]\n"
    "  domain create NAME [--brand ID] [--purpose NAME] | domain list [--brand ID] | domain verify NAME [--trust] [--brand ID]\n"
    "  domain records NAME [--brand ID] | domain rotate NAME [--trust] [--brand ID]\n"
    "  suppression list [NEXT] | suppression add ADDRESS [--reason NAME] | suppression release ADDRESS [--unsubscribed]\n"
    "  suppression import FILE [--reason NAME]; each with [--brand ID]\n"
    "  report-source add ses --topic ARN | report-source add sendgrid --public-key KEY | report-source add postmark\n"
    "  report-source list | report-source remove ID; each with [--org ID] [--name TEXT]\n"
    "  integration add PROVIDER [--secret-file FILE] [--name TEXT] [--tables NAMES] [--columns NAMES] | integration list\n"
    "  integration rotate ID [--secret-file FILE] | integration revoke ID; each with [--brand ID]\n"
    "  keys add | keys rewrap\n"
    "  events keep [MONTHS]\n"
    "  mailbox add ADDRESS --secret-file FILE | mailbox list | mailbox rotate ID --secret-file FILE | mailbox remove ID\n"
    "  model set SERVER --secret-file FILE | model list | model remove SERVER\n"
    "  seed add PROVIDER imaps://USER@HOST [EMAIL] --secret-file FILE [--org ID] | seed list | seed remove ID\n"
    "  bounce-rule add PATTERN hard|mailbox_full|block|refused | bounce-rule list | bounce-rule remove ID\n"
    "  hit-rule set agent:CLASS|network:CLASS open|click=human|proxy|bot|facts | hit-rule list | hit-rule remove CLASS open|click\n"
    "  hit-rule add agent WORD ACTOR | hit-rule add network RANGE ACTOR | hit-rule remove agent WORD | hit-rule remove network "
    "RANGE\n"
    "  automation move ID --to VERSION [--dry-run]\n"
    "  reports [--unmatched]";

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

static bool org_plan(struct admin *admin, struct error *err)
{
    int64_t id;
    if (!need_argument(admin, "org", err) || !need_value(admin, "plan", err) ||
        !find_organization(admin, admin->argument, &id, err) || !operator_set_plan(&admin->work, id, admin->value, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "orgId", ID_ORG, id);
    json_member_text(&admin->json, "plan", admin->value);
    json_object_end(&admin->json);
    return true;
}

static bool org_credits(struct admin *admin, struct error *err)
{
    int64_t id;
    int64_t credits;
    if (!need_argument(admin, "org", err) || !need_value(admin, "credits", err))
        return false;
    if (!int64_parse(admin->value, &credits))
        return fail(err, ERR_INVALID_REQUEST, "credits", "credits must be a whole number.");
    if (!find_organization(admin, admin->argument, &id, err) || !operator_set_bonus(&admin->work, id, credits, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "orgId", ID_ORG, id);
    json_member_int(&admin->json, "bonusCredits", credits);
    json_object_end(&admin->json);
    return true;
}

static bool brand_create(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    int64_t id;
    if (!need_argument(admin, "name", err) || !find_organization(admin, admin->options->organization, &organization_id, err) ||
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
    return find_organization(admin, admin->options->organization, &organization_id, err) &&
           operator_write_brands(&admin->work, organization_id, &admin->json, err);
}

/* Sets which mail of a brand is tracked, when a word tells so, and prints it. */
static bool brand_tracking(struct admin *admin, struct error *err)
{
    const char *tracking;
    if (!choose_brand(admin, err) || (admin->argument != NULL && !operator_set_tracking(&admin->work, admin->argument, err)) ||
        !operator_find_tracking(&admin->work, &tracking, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "brandId", ID_BRAND, admin->work.brand_id);
    json_member_text(&admin->json, "tracking", tracking);
    json_object_end(&admin->json);
    return true;
}

/* ---- key ---- */

static size_t count_names(const char *const *names)
{
    size_t count = 0;
    while (names != NULL && names[count] != NULL)
        count++;
    return count;
}

static bool key_create(struct admin *admin, struct error *err)
{
    const struct options *options = admin->options;
    struct api_key_fields fields = { .name = options->name, .rate_multiplier = options->rate_multiplier };
    const char *const *scopes = options_list(admin->work.arena, options->scopes);
    struct api_key_row *key;
    const char *secret;
    if (options->brand != NULL) {
        if (!find_brand(admin, &fields.brand_id, &fields.organization_id, err))
            return false;
    } else if (!find_organization(admin, options->organization, &fields.organization_id, err)) {
        return false;
    }
    if (!key_scopes_read(scopes, count_names(scopes), "scopes", &fields.scopes, err) ||
        !operator_create_key(&admin->work, &fields, &key, &secret, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "keyId", ID_KEY, key->id);
    json_member_text(&admin->json, "key", secret);
    json_member_text(&admin->json, "name", key->name);
    json_member_id_if(&admin->json, &admin->work, "brandId", ID_BRAND, key->brand_id);
    json_member_text(&admin->json, "message", "Save this key now; it is not shown again.");
    json_object_end(&admin->json);
    return true;
}

static bool key_list(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return find_organization(admin, admin->options->organization, &organization_id, err) &&
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

/* ---- session ---- */

static bool session_create(struct admin *admin, struct error *err)
{
    const struct options *options = admin->options;
    struct operator_session session = {
        .user_name = options->name != NULL ? options->name : "Operator",
        .role = options->role != NULL ? options->role : "admin",
        .brand_ids = options_list(admin->work.arena, options->brand),
        .lasts_s = options->expires_s != 0 ? options->expires_s : SESSION_DEFAULT_S,
    };
    int64_t id;
    const char *token;
    if (!find_organization(admin, options->organization, &session.organization_id, err) ||
        !operator_create_session(&admin->work, &session, &id, &token, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "sessionId", ID_SESSION, id);
    json_member_text(&admin->json, "cookie", token);
    json_member_text(&admin->json, "name", session.user_name);
    json_member_text(&admin->json, "role", arena_printf(admin->work.arena, "org:%s", session.role));
    json_member_time(&admin->json, "expiresAt", admin->work.now_us + session.lasts_s * US_PER_S);
    json_member_text(&admin->json, "message", "Send it as the cookie __session; it is not shown again.");
    json_object_end(&admin->json);
    return true;
}

static bool session_list(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return find_organization(admin, admin->options->organization, &organization_id, err) &&
           operator_write_sessions(&admin->work, organization_id, &admin->json, err);
}

static bool session_end(struct admin *admin, struct error *err)
{
    bool ended;
    if (!need_argument(admin, "sessionId", err) || !operator_end_session(&admin->work, admin->argument, &ended, err))
        return false;
    json_object_begin(&admin->json);
    json_member_text(&admin->json, "sessionId", admin->argument);
    json_member_bool(&admin->json, "ended", ended);
    json_object_end(&admin->json);
    return true;
}

/* ---- send ---- */

/* `canceled`: messages of a carrier that are not sent; unset: it is none. */
static bool write_send_status(struct admin *admin, const char *status, struct opt_int canceled)
{
    json_object_begin(&admin->json);
    json_member_text(&admin->json, "sendId", admin->argument);
    json_member_text(&admin->json, "status", status);
    if (canceled.set)
        json_member_int(&admin->json, "canceledMessages", canceled.value);
    json_object_end(&admin->json);
    return true;
}

static bool send_pause_command(struct admin *admin, struct error *err)
{
    const char *status;
    return need_argument(admin, "sendId", err) && operator_pause_send(&admin->work, admin->argument, &status, err) &&
           write_send_status(admin, status, (struct opt_int){ .set = false });
}

static bool send_cancel_command(struct admin *admin, struct error *err)
{
    struct operator_canceled canceled;
    return need_argument(admin, "sendId", err) && operator_cancel_send(&admin->work, admin->argument, &canceled, err) &&
           write_send_status(admin, canceled.status, canceled.messages);
}

/* ---- domain ---- */

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

/* Looks up the DNS records in this process, so that no job process is needed. */
static bool look_up_domain(struct admin *admin, int64_t brand_id, int64_t organization_id, struct error *err)
{
    struct domain_check check;
    struct dns *dns;
    if (!operator_begin_check(&admin->work, brand_id, admin->argument, &check, err) ||
        !dns_new(admin->options->dns_servers, &dns, err))
        return false;
    domain_look_up(dns, admin->work.arena, &check);
    dns_free(dns);
    return operator_settle_check(&admin->work, brand_id, organization_id, &check, err);
}

static bool domain_verify(struct admin *admin, struct error *err)
{
    int64_t brand_id;
    int64_t organization_id;
    int64_t id;
    if (!need_argument(admin, "name", err) || !find_brand(admin, &brand_id, &organization_id, err))
        return false;
    bool ok = admin->options->trust ? operator_trust_domain(&admin->work, brand_id, admin->argument, &id, err)
                                    : look_up_domain(admin, brand_id, organization_id, err);
    return ok && operator_write_domain(&admin->work, brand_id, admin->argument, &admin->json, err);
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
        "Every secret is sealed with the last key of the key file. Earlier keys are only needed for backups of the database.");
    json_object_end(&admin->json);
    return true;
}

/* ---- events ---- */

/* Without a number it tells the present one. */
static bool events_keep(struct admin *admin, struct error *err)
{
    int64_t months;
    if (admin->argument != NULL && !operator_keep_events(&admin->work, admin->argument, err))
        return false;
    if (!operator_kept_events(&admin->work, &months, err))
        return false;
    json_object_begin(&admin->json);
    json_member_int(&admin->json, "months", months);
    json_object_end(&admin->json);
    return true;
}

/* ---- reports ---- */

static bool reports_list(struct admin *admin, struct error *err)
{
    return report_write_all(&admin->work, admin->options->unmatched, &admin->json, err);
}

/* ---- The command ---- */

static const struct {
    const char *noun;
    const char *verb; /* "": the noun is the whole command */
    bool (*run)(struct admin *admin, struct error *err);
    size_t operands; /* maximum number of words after the verb; more are refused */
} actions[] = {
    { "org", "create", org_create, 1 },
    { "org", "list", org_list, 0 },
    { "org", "plan", org_plan, 2 },
    { "org", "credits", org_credits, 2 },
    { "org", "approvals", admin_org_approvals, 2 },
    { "brand", "create", brand_create, 1 },
    { "brand", "list", brand_list, 0 },
    { "brand", "tracking", brand_tracking, 1 },
    { "key", "create", key_create, 0 },
    { "key", "list", key_list, 0 },
    { "key", "revoke", key_revoke, 1 },
    { "session", "create", session_create, 0 },
    { "session", "list", session_list, 0 },
    { "session", "end", session_end, 1 },
    { "send", "pause", send_pause_command, 1 },
    { "send", "cancel", send_cancel_command, 1 },
    { "send", "approve", admin_send_approve, 1 },
    { "send", "reject", admin_send_reject, 1 },
    { "group", "public", admin_group_public, 1 },
    { "group", "private", admin_group_private, 1 },
    { "group", "list", admin_group_list, 0 },
    { "automation", "simulate", admin_automation_simulate, 2 },
    { "restore", "status", admin_restore_status, 0 },
    { "restore", "release", admin_restore_release, 0 },
    { "domain", "create", domain_create, 1 },
    { "domain", "list", domain_list, 0 },
    { "domain", "verify", domain_verify, 1 },
    { "domain", "records", domain_records, 1 },
    { "domain", "rotate", domain_rotate, 1 },
    { "report-source", "add", admin_report_source_add, 1 },
    { "report-source", "list", admin_report_source_list, 0 },
    { "report-source", "remove", admin_report_source_remove, 1 },
    { "integration", "add", admin_integration_add, 1 },
    { "integration", "list", admin_integration_list, 0 },
    { "integration", "rotate", admin_integration_rotate, 1 },
    { "integration", "revoke", admin_integration_revoke, 1 },
    { "hit-rule", "add", admin_hit_rule_add, 3 },
    { "hit-rule", "set", admin_hit_rule_set, 2 },
    { "hit-rule", "list", admin_hit_rule_list, 0 },
    { "hit-rule", "remove", admin_hit_rule_remove, 2 },
    { "mailbox", "add", admin_mailbox_add, 1 },
    { "mailbox", "list", admin_mailbox_list, 0 },
    { "mailbox", "rotate", admin_mailbox_rotate, 1 },
    { "mailbox", "remove", admin_mailbox_remove, 1 },
    { "model", "set", admin_model_set, 1 },
    { "model", "list", admin_model_list, 0 },
    { "model", "remove", admin_model_remove, 1 },
    { "seed", "add", admin_seed_add, 3 },
    { "seed", "list", admin_seed_list, 0 },
    { "seed", "remove", admin_seed_remove, 1 },
    { "bounce-rule", "add", admin_bounce_rule_add, 2 },
    { "bounce-rule", "list", admin_bounce_rule_list, 0 },
    { "bounce-rule", "remove", admin_bounce_rule_remove, 1 },
    { "automation", "move", admin_automation_move, 1 },
    { "suppression", "list", admin_suppression_list, 1 },
    { "suppression", "add", admin_suppression_add, 1 },
    { "suppression", "release", admin_suppression_release, 1 },
    { "suppression", "import", admin_suppression_import, 1 },
    { "keys", "add", keys_add, 0 },
    { "keys", "rewrap", keys_rewrap, 0 },
    { "events", "keep", events_keep, 1 },
    { "reports", "", reports_list, 0 },
};

/* `conn` is made by the first command of a process and serves those that follow. */
static bool run_action(struct admin *admin, struct installation *installation, struct db_conn **conn, struct error *err)
{
    const char *noun = admin->options->words[0];
    const char *verb = noun != NULL && admin->options->words[1] != NULL ? admin->options->words[1] : "";
    for (size_t i = 0; noun != NULL && i < ARRAY_COUNT(actions); i++) {
        if (strcmp(actions[i].noun, noun) != 0 || strcmp(actions[i].verb, verb) != 0)
            continue;
        const char *surplus = admin->options->words[2 + actions[i].operands];
        if (surplus != NULL)
            return fail(err, ERR_INVALID_REQUEST, NULL, "%.60s is an unexpected argument of %s %s; nothing was done.", surplus,
                        noun, verb);
        if (*conn == NULL && !installation_connect(installation, conn, err))
            return false;
        admin->work.conn = *conn;
        admin->work.organization_id = admin->work.engine->default_organization_id;
        admin->argument = admin->options->words[2];
        admin->value = admin->argument != NULL ? admin->options->words[3] : NULL;
        return actions[i].run(admin, err);
    }
    return fail(err, ERR_INVALID_REQUEST, NULL, "This is not an admin command.");
}

static bool run_command(struct installation *installation, struct db_conn **conn, const struct options *options,
                        struct arena *arena, struct buf *out, struct error *err)
{
    struct admin admin = {
        .work = { .engine = installation_engine(installation), .arena = arena, .now_us = clock_now_us() },
        .options = options,
    };
    json_writer_init(&admin.json, out);
    return run_action(&admin, installation, conn, err);
}

static int run_one(struct installation *installation, const struct process *process, const struct options *options)
{
    DB_CONN_SCOPE conn = NULL;
    BUF_SCOPE out;
    buf_init(&out, OUTPUT_MAX_BYTES);
    struct error err = { .code = ERR_NONE };
    if (run_command(installation, &conn, options, process->arena, &out, &err)) {
        printf("%s\n", buf_text(&out));
        return 0;
    }
    command_failed(&err);
    if (err.param[0] == '\0' && err.code == ERR_INVALID_REQUEST)
        fprintf(stderr, "posthorn admin\n  %s\n", usage);
    return 1;
}

/* ---- Several commands ---- */

/* The words of a line as arguments; they may be written to. */
static bool read_words(struct arena *arena, const char *line, size_t size, int *ret_count, char ***ret_words, struct error *err)
{
    const json_t *json;
    if (!json_read(arena, line, size, (struct json_bounds){ .max_bytes = LINE_MAX_BYTES }, &json, err))
        return false;
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > LINE_MAX_WORDS)
        return fail(err, ERR_INVALID_REQUEST, NULL, "A line is a JSON list of at most %d words.", LINE_MAX_WORDS);
    char **words = arena_array(arena, count + 1, sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(json, i));
        if (word == NULL)
            return fail(err, ERR_INVALID_REQUEST, NULL, "Every word of a line is a text.");
        words[i] = arena_dup(arena, word);
    }
    *ret_count = (int)count;
    *ret_words = words;
    return true;
}

/* A line chooses no installation: its commands run on the one that the process has opened. */
static bool read_line(struct arena *arena, const char *line, size_t size, struct options *ret_options, struct error *err)
{
    static const char *const fixed[] = { "--data", "--database", "--key-file", "--batch", "--help", "-h" };
    int count;
    char **words;
    if (!read_words(arena, line, size, &count, &words, err))
        return false;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < ARRAY_COUNT(fixed); k++)
            if (strcspn(words[i], "=") == strlen(fixed[k]) && text_starts_with(words[i], fixed[k]))
                return fail(err, ERR_INVALID_REQUEST, NULL, "%s belongs to the process, not to a line.", fixed[k]);
    return options_read(arena, COMMAND_ADMIN, count, words, ret_options, err);
}

static bool run_line(struct installation *installation, struct db_conn **conn, const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    BUF_SCOPE out;
    buf_init(&out, OUTPUT_MAX_BYTES);
    struct options options;
    struct error err = { .code = ERR_NONE };
    bool ok = read_line(arena, line, size, &options, &err) && run_command(installation, conn, &options, arena, &out, &err);
    if (!ok) {
        struct json_writer json;
        buf_clear(&out);
        json_writer_init(&json, &out);
        api_write_error_for(&json, &err, error_info(err.code)->command_suggestion);
        db_conn_cleanup(conn); /* a failed command may have left it in a transaction */
        *conn = NULL;
    }
    printf("%s\n", buf_text(&out));
    return fflush(stdout) == 0 && ok;
}

/* Ends with status 1 when a command failed. A command that failed does not keep the next ones from running. */
static int run_batch(struct installation *installation)
{
    DB_CONN_SCOPE conn = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int status = 0;
    while (!ferror(stdout) && (size = getline(&line, &room, stdin)) > 0)
        if (!run_line(installation, &conn, line, (size_t)size))
            status = 1;
    free(line);
    return status;
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
    if (options->batch && options->words[0] != NULL) {
        fprintf(stderr, "posthorn admin: --batch reads its commands from standard input\n");
        return 2;
    }
    struct installation *installation = installation_new(&config);
    int status = options->batch ? run_batch(installation) : run_one(installation, process, options);
    installation_free(installation);
    return status;
}
