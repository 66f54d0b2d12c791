/*
 * posthorn admin group public, group private and group list: the subscription
 * groups that people can choose on the page of their unsubscribe link.
 */
#include "main/admin.h"

static bool find_group_brand(struct admin *admin, struct error *err)
{
    int64_t organization_id;
    return find_brand(admin, &admin->work.brand_id, &organization_id, err);
}

static bool write_group(struct admin *admin, bool is_public)
{
    json_object_begin(&admin->json);
    json_member_text(&admin->json, "group", admin->argument);
    json_member_bool(&admin->json, "public", is_public);
    json_object_end(&admin->json);
    return true;
}

bool admin_group_public(struct admin *admin, struct error *err)
{
    return need_argument(admin, "group", err) && find_group_brand(admin, err) &&
           operator_set_public_group(&admin->work, admin->argument, admin->options->name, err) && write_group(admin, true);
}

bool admin_group_private(struct admin *admin, struct error *err)
{
    bool changed;
    return need_argument(admin, "group", err) && find_group_brand(admin, err) &&
           operator_remove_public_group(&admin->work, admin->argument, &changed, err) && write_group(admin, false);
}

bool admin_group_list(struct admin *admin, struct error *err)
{
    return find_group_brand(admin, err) && operator_write_public_groups(&admin->work, &admin->json, err);
}
