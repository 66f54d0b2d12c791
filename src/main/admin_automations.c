/*
 * posthorn admin automation move: moves the open runs of an automation to another
 * version, or shows what that would do.
 */
#include "engine/operator/operator_automations.h"
#include "main/admin.h"

bool admin_automation_move(struct admin *admin, struct error *err)
{
    if (!need_argument(admin, "automationId", err))
        return false;
    if (admin->options->to == NULL)
        return fail(err, ERR_INVALID_REQUEST, "to", "Name the version with --to: its number or its id.");
    return operator_move_automation(&admin->work, admin->argument, admin->options->to, admin->options->dry_run, &admin->json, err);
}
