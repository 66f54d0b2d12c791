/*
 * posthorn admin automation move: moves the open runs of an automation to another
 * version, or shows what that would do. posthorn admin automation simulate: the
 * paths of contacts of an audience through the latest version. It writes nothing.
 */
#include "engine/operator/operator_automations.h"
#include "engine/simulations/audience_simulation.h"
#include "main/admin.h"

bool admin_automation_move(struct admin *admin, struct error *err)
{
    if (!need_argument(admin, "automationId", err))
        return false;
    if (admin->options->to == NULL)
        return fail(err, ERR_INVALID_REQUEST, "to", "Name the version with --to: its number or its id.");
    return operator_move_automation(&admin->work, admin->argument, admin->options->to, admin->options->dry_run, &admin->json, err);
}

bool admin_automation_simulate(struct admin *admin, struct error *err)
{
    struct audience_simulation simulation;
    if (!need_argument(admin, "automation", err) || !need_value(admin, "audience", err) || !choose_brand(admin, err))
        return false;
    const struct id_codec *ids = &admin->work.engine->ids;
    int64_t automation_id = id_decode(ids, ID_AUTOMATION, admin->argument);
    int64_t audience_id = id_decode(ids, ID_AUDIENCE, admin->value);
    if (audience_id == 0)
        return fail(err, ERR_AUDIENCE_NOT_FOUND, "audience", "No audience with this id in this brand.");
    if (!audience_simulate(&admin->work, automation_id, audience_id, SIMULATED_CONTACTS_MAX, &simulation, err))
        return false;
    audience_simulation_write(&admin->work, &simulation, &admin->json);
    return true;
}
