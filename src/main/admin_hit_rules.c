/*
 * posthorn admin hit-rule: the actors of classes of programs and networks, by
 * which requests of tracked links are judged, and the operator's own words and
 * ranges.
 */
#include "engine/operator/operator_hit_rules.h"
#include "main/admin.h"

#include <string.h>

bool admin_hit_rule_add(struct admin *admin, struct error *err)
{
    const char *actor = admin->value != NULL ? admin->options->words[4] : NULL;
    if (!need_argument(admin, "fact", err) || !need_value(admin, "match", err))
        return false;
    if (actor == NULL)
        return fail(err, ERR_INVALID_REQUEST, "actor", "Name the actor: human, proxy, bot or facts.");
    return operator_add_hit_match(&admin->work, admin->argument, admin->value, actor, &admin->json, err);
}

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
    if (!need_argument(admin, "class", err))
        return false;
    if (strcmp(admin->argument, "agent") == 0 || strcmp(admin->argument, "network") == 0)
        return need_value(admin, "match", err) &&
               operator_remove_hit_match(&admin->work, admin->argument, admin->value, &admin->json, err);
    return need_value(admin, "kind", err) &&
           operator_remove_hit_rule(&admin->work, admin->argument, admin->value, &admin->json, err);
}
