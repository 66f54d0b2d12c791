/*
 * posthorn admin integration: the connections at which providers send events of
 * persons, customers and rows.
 */
#include "engine/operator/operator_integrations.h"
#include "main/admin.h"

/* The names of a comma-separated option. */
static struct text_list names_of(struct arena *arena, const char *option)
{
    const char *const *names = options_list(arena, option);
    size_t count = 0;
    while (names != NULL && names[count] != NULL)
        count++;
    return (struct text_list){ names, count };
}

bool admin_integration_add(struct admin *admin, struct error *err)
{
    struct arena *arena = admin->work.arena;
    struct integration_connection connection = {
        .provider = admin->argument,
        .name = admin->options->name,
        .tables = names_of(arena, admin->options->tables),
        .columns = names_of(arena, admin->options->columns),
    };
    return need_argument(admin, "provider", err) && choose_brand(admin, err) && admin_read_secret(admin, &connection.secret, err) &&
           operator_add_integration(&admin->work, &connection, &admin->json, err);
}

bool admin_integration_list(struct admin *admin, struct error *err)
{
    return choose_brand(admin, err) && integration_connections_write(&admin->work, &admin->json, err);
}

bool admin_integration_rotate(struct admin *admin, struct error *err)
{
    const char *secret;
    return need_argument(admin, "connection", err) && choose_brand(admin, err) && admin_read_secret(admin, &secret, err) &&
           operator_rotate_integration(&admin->work, admin->argument, secret, &admin->json, err);
}

bool admin_integration_revoke(struct admin *admin, struct error *err)
{
    return need_argument(admin, "connection", err) && choose_brand(admin, err) &&
           operator_revoke_integration(&admin->work, admin->argument, &admin->json, err);
}
