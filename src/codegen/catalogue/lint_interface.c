#include "lint.h"

#include <string.h>

static const char where[] = "schemas/interface.json";

static bool has_route_in(const struct catalogue *all, const char *domain)
{
    for (size_t i = 0; i < all->op_count; i++) {
        if (all->ops[i].method != NULL && strcmp(all->ops[i].domain, domain) == 0) {
            return true;
        }
    }
    return false;
}

/* The OpenAPI document has a title and a version, and describes exactly the groups of routes that exist. */
void lint_interface(const struct catalogue *all)
{
    static const char *const known[] = { "info=o", "tags=o", "examples=o", NULL };
    static const char *const known_info[] = { "title=s", "version=s", "summary=s", "description=s", "license=o", NULL };
    json_t *info = json_object_get(all->interface, "info");
    json_t *tags = json_object_get(all->interface, "tags");
    lint_members(all->interface, known, where);
    lint_members(info, known_info, where);
    lint_text(info, "title", where);
    lint_text(info, "version", where);
    for (size_t i = 0; i < all->op_count; i++) {
        if (all->ops[i].method != NULL && member_text(tags, all->ops[i].domain) == NULL) {
            problem(where, "tags does not describe %s", all->ops[i].domain);
        }
    }
    if (json_object_get(all->resources, "errorEnvelope") == NULL) {
        problem(where, "refusals need the shape schemas/resources/errorEnvelope.json");
    }
    const char *name;
    json_t *description;
    json_object_foreach(tags, name, description)
    {
        if (!has_route_in(all, name)) {
            problem(where, "tags describes %s, which has no route", name);
        }
    }
}
