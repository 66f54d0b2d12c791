/*
 * posthorn admin automation simulate: the paths of contacts of an audience through
 * the latest version of an automation. Nothing is written.
 */
#include "engine/simulations/audience_simulation.h"
#include "main/admin.h"

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
