#include "words.h"

#include <string.h>

bool is_same_route(const struct op_decl *one, const struct op_decl *other)
{
    return one->method != NULL && other->method != NULL && strcmp(one->method, other->method) == 0 &&
           strcmp(one->path, other->path) == 0;
}

bool is_main_of_route(const struct catalogue *all, size_t at)
{
    const struct op_decl *op = &all->ops[at];
    if (op->method == NULL) {
        return false;
    }
    for (size_t i = at + 1; i < all->op_count; i++) {
        if (is_same_route(&all->ops[i], op)) {
            return false; /* the lint ensures that the operation without a condition is last */
        }
    }
    return true;
}

json_t *routes_of_policy(const struct catalogue *all, const char *policy)
{
    json_t *routes = json_array();
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        const char *named = member_text(op->json, "policy");
        if (named == NULL || strcmp(named, policy) != 0 || op->method == NULL) {
            continue;
        }
        const char *route = text("%s %s", op->method, op->path);
        if (!list_has(routes, route)) {
            json_array_append_new(routes, json_string(route));
        }
    }
    return routes;
}
