/*
 * posthorn admin bounce-rule: patterns that give reported bounces another class.
 */
#include "engine/operator/operator_bounce_rules.h"
#include "main/admin.h"

bool admin_bounce_rule_add(struct admin *admin, struct error *err)
{
    return need_argument(admin, "pattern", err) && need_value(admin, "class", err) &&
           operator_add_bounce_rule(&admin->work, admin->argument, admin->value, &admin->json, err);
}

bool admin_bounce_rule_list(struct admin *admin, struct error *err)
{
    return bounce_rules_write(&admin->work, &admin->json, err);
}

bool admin_bounce_rule_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "rule", err) && operator_remove_bounce_rule(&admin->work, admin->argument, &admin->json, err);
}
