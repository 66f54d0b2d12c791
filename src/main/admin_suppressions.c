/*
 * posthorn admin suppression: the suppressed addresses of a brand.
 */
#include "engine/operator/operator_suppressions.h"
#include "main/admin.h"

static const char *reason_of(const struct admin *admin)
{
    return admin->options->reason != NULL ? admin->options->reason : "operator";
}

bool admin_suppression_list(struct admin *admin, struct error *err)
{
    return choose_brand(admin, err) && operator_write_suppressions(&admin->work, admin->argument, &admin->json, err);
}

bool admin_suppression_add(struct admin *admin, struct error *err)
{
    return need_argument(admin, "address", err) && choose_brand(admin, err) &&
           operator_add_suppression(&admin->work, admin->argument, reason_of(admin), &admin->json, err);
}

bool admin_suppression_release(struct admin *admin, struct error *err)
{
    return need_argument(admin, "address", err) && choose_brand(admin, err) &&
           operator_release_suppression(&admin->work, admin->argument, admin->options->unsubscribed, &admin->json, err);
}

bool admin_suppression_import(struct admin *admin, struct error *err)
{
    return need_argument(admin, "file", err) && choose_brand(admin, err) &&
           operator_import_suppressions(&admin->work, admin->argument, reason_of(admin), &admin->json, err);
}
