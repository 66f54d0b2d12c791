/*
 * posthorn admin restore status and restore release: the sends that are held
 * because the database was restored from an older state.
 */
#include "engine/core/restore_holds.h"
#include "main/admin.h"

bool admin_restore_status(struct admin *admin, struct error *err)
{
    return restore_write_holds(&admin->work, &admin->json, err);
}

bool admin_restore_release(struct admin *admin, struct error *err)
{
    int64_t count;
    if (!operator_release_holds(&admin->work, admin->options->send, &count, err))
        return false;
    json_object_begin(&admin->json);
    json_member_int(&admin->json, "released", count);
    json_object_end(&admin->json);
    return true;
}
