/*
 * posthorn admin model: the sealed keys of the servers of models.
 */
#include "engine/operator/operator_models.h"
#include "main/admin.h"

#include <stddef.h>

bool admin_model_set(struct admin *admin, struct error *err)
{
    const char *key;
    if (!need_argument(admin, "server", err) || !admin_read_secret(admin, &key, err))
        return false;
    if (key == NULL)
        return fail(err, ERR_INVALID_REQUEST, "secret", "Name the file of the key with --secret-file, or - for standard input.");
    return operator_set_model_key(&admin->work, admin->argument, key, &admin->json, err);
}

bool admin_model_list(struct admin *admin, struct error *err)
{
    return model_keys_write(&admin->work, &admin->json, err);
}

bool admin_model_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "server", err) && operator_remove_model_key(&admin->work, admin->argument, &admin->json, err);
}
