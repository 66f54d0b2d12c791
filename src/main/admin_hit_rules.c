/*
 * posthorn admin hit-rule: the actors of classes of programs and networks, by
 * which requests of tracked links are judged.
 */
#include "engine/operator/operator_hit_rules.h"
#include "main/admin.h"

bool admin_hit_rule_set(struct admin *admin, struct error *err)
{
    return need_argument(admin, "class", err) && need_value(admin, "actor", err) &&
           operator_set_hit_rule(&admin->work, admin->argument, admin->value, &admin->json, err);
}

bool admin_hit_rule_list(struct admin *admin, struct error *err)
{
    return hit_rules_write(&admin->work, &admin->json, err);
}

bool admin_hit_rule_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "class", err) && need_value(admin, "kind", err) &&
           operator_remove_hit_rule(&admin->work, admin->argument, admin->value, &admin->json, err);
}
