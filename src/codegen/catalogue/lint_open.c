#include "lint.h"

#include "words.h"

static const char where[] = "schemas/open-details.json";

static void note_use(const struct catalogue *all, json_t *used, const json_t *declaration, const char *place)
{
    size_t i;
    const json_t *id;
    json_array_foreach(json_object_get(declaration, "open"), i, id) {
        const char *name = json_string_value(id);
        if (name == NULL || json_object_get(all->open_details, name) == NULL) {
            problem(place, "the open detail %s is not in %s", name != NULL ? name : "(not a text)", where);
            continue;
        }
        json_object_set_new(used, name, json_true());
    }
}

static void note_uses_of_members(const struct catalogue *all, json_t *used, json_t *members, const char *place)
{
    const char *name;
    json_t *member;
    json_object_foreach(members, name, member) {
        note_use(all, used, member, text("%s: %s", place, name));
    }
}

/* What the contract leaves open is told once, and told only while something rests on it. */
void lint_open_details(const struct catalogue *all)
{
    static const char *const known[] = { "question=s", "choice=s", "everywhere=b", NULL };
    json_t *used = keep(json_object());
    for (size_t i = 0; i < all->op_count; i++) {
        note_use(all, used, all->ops[i].json, all->ops[i].where);
    }
    note_uses_of_members(all, used, all->resources, "schemas/resources");
    note_uses_of_members(all, used, json_object_get(all->policies, "rates"), "schemas/policies.json");
    note_uses_of_members(all, used, json_object_get(all->policies, "prices"), "schemas/policies.json");
    const char *id;
    json_t *detail;
    json_object_foreach(all->open_details, id, detail) {
        const char *place = text("%s: %s", where, id);
        lint_members(detail, known, place);
        lint_text(detail, "question", place);
        lint_text(detail, "choice", place);
        if (json_object_get(used, id) == NULL && !member_true(detail, "everywhere")) {
            problem(place, "nothing rests on it");
        }
    }
}
