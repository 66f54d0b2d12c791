/*
 * Admin commands: the parts that several files of commands share. Private to the
 * admin command.
 */
#pragma once

#include "cli/commands.h"
#include "engine/operator/operator.h"

/* One running admin command. */
struct admin {
    struct work work;
    const struct options *options;
    const char *argument; /* the word after the verb, NULL when there is none */
    const char *value;    /* the word after the argument */
    struct json_writer json;
};

static inline bool need_argument(const struct admin *admin, const char *what, struct error *err)
{
    return admin->argument != NULL || fail(err, ERR_INVALID_REQUEST, what, "Name the %s.", what);
}

static inline bool need_value(const struct admin *admin, const char *what, struct error *err)
{
    return admin->value != NULL || fail(err, ERR_INVALID_REQUEST, what, "Name the %s.", what);
}

/* The audit row names the organization. */
static inline bool find_organization(struct admin *admin, const char *wire_id, int64_t *ret_id, struct error *err)
{
    if (!operator_find_organization(&admin->work, wire_id, ret_id, err))
        return false;
    admin->work.organization_id = *ret_id;
    return true;
}

static inline bool find_brand(struct admin *admin, int64_t *ret_brand_id, int64_t *ret_organization_id, struct error *err)
{
    if (!operator_find_brand(&admin->work, admin->options->brand, ret_brand_id, ret_organization_id, err))
        return false;
    admin->work.organization_id = *ret_organization_id;
    return true;
}

/* The organization of --org, and the brand of --brand, of `work`. Errors: ORGANIZATION_NOT_FOUND, BRAND_NOT_FOUND. */
static inline bool choose_organization(struct admin *admin, struct error *err)
{
    int64_t id;
    return find_organization(admin, admin->options->organization, &id, err);
}

static inline bool choose_brand(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return find_brand(admin, &admin->work.brand_id, &organization_id, err);
}

/* Suppressed addresses (admin_suppressions.c). */
bool admin_suppression_list(struct admin *admin, struct error *err);
bool admin_suppression_add(struct admin *admin, struct error *err);
bool admin_suppression_release(struct admin *admin, struct error *err);
bool admin_suppression_import(struct admin *admin, struct error *err);

/* Connections at which mail providers report (admin_report_sources.c). */
bool admin_report_source_add(struct admin *admin, struct error *err);
bool admin_report_source_list(struct admin *admin, struct error *err);
bool admin_report_source_remove(struct admin *admin, struct error *err);

/* Connections at which providers send events (admin_integrations.c). */
bool admin_integration_add(struct admin *admin, struct error *err);
bool admin_integration_list(struct admin *admin, struct error *err);
bool admin_integration_rotate(struct admin *admin, struct error *err);
bool admin_integration_revoke(struct admin *admin, struct error *err);

/* Bounce rules (admin_bounce_rules.c). */
bool admin_bounce_rule_add(struct admin *admin, struct error *err);
bool admin_bounce_rule_list(struct admin *admin, struct error *err);
bool admin_bounce_rule_remove(struct admin *admin, struct error *err);

/* Automations (admin_automations.c). */
bool admin_automation_move(struct admin *admin, struct error *err);
bool admin_automation_simulate(struct admin *admin, struct error *err);

/* Public subscription groups (admin_groups.c). */
bool admin_group_public(struct admin *admin, struct error *err);
bool admin_group_private(struct admin *admin, struct error *err);
bool admin_group_list(struct admin *admin, struct error *err);

/* Sends that are held after a restore (admin_restore.c). */
bool admin_restore_status(struct admin *admin, struct error *err);
bool admin_restore_release(struct admin *admin, struct error *err);

/* Approvals of sends (admin_approvals.c). */
bool admin_org_approvals(struct admin *admin, struct error *err);
bool admin_send_approve(struct admin *admin, struct error *err);
bool admin_send_reject(struct admin *admin, struct error *err);

/* Hit rules (admin_hit_rules.c). */
bool admin_hit_rule_add(struct admin *admin, struct error *err);
bool admin_hit_rule_set(struct admin *admin, struct error *err);
bool admin_hit_rule_list(struct admin *admin, struct error *err);
bool admin_hit_rule_remove(struct admin *admin, struct error *err);

/* Mailboxes that are polled for reports (admin_mailboxes.c). */
bool admin_mailbox_add(struct admin *admin, struct error *err);
bool admin_mailbox_list(struct admin *admin, struct error *err);
bool admin_mailbox_rotate(struct admin *admin, struct error *err);
bool admin_mailbox_remove(struct admin *admin, struct error *err);

/* Keys of the servers of models (admin_models.c). */
bool admin_model_set(struct admin *admin, struct error *err);
bool admin_model_list(struct admin *admin, struct error *err);
bool admin_model_remove(struct admin *admin, struct error *err);

/* Seed mailboxes of placement tests (admin_seeds.c). */
bool admin_seed_add(struct admin *admin, struct error *err);
bool admin_seed_list(struct admin *admin, struct error *err);
bool admin_seed_remove(struct admin *admin, struct error *err);

/* Reads the secret of --secret-file (admin_secret.c); NULL without it. Errors: INVALID_REQUEST (secret). */
MUST_CHECK bool admin_read_secret(struct admin *admin, const char **ret_secret, struct error *err) NONNULL(1, 2, 3);

/* The password of --secret-file, which must be given. Errors: INVALID_REQUEST (secret). */
MUST_CHECK bool admin_read_password(struct admin *admin, const char **ret_password, struct error *err) NONNULL(1, 2, 3);
