#include "lint.h"

static const char where[] = "schemas/policies.json";

static void lint_scopes(json_t *scopes)
{
    static const char *const known[] = { "implies=t", NULL };
    const char *name;
    json_t *row;
    json_object_foreach(scopes, name, row) {
        lint_members(row, known, text("%s: scope %s", where, name));
        size_t i;
        const json_t *implied;
        json_array_foreach(json_object_get(row, "implies"), i, implied) {
            const char *other = json_string_value(implied);
            if (other == NULL || json_object_get(scopes, other) == NULL) {
                problem(where, "scope %s implies the unknown scope %s", name, other != NULL ? other : "(not a text)");
            }
        }
    }
}

static void lint_rates(json_t *rates)
{
    static const char *const known[] = { "limit=i", "windowS=i", "open=t", NULL };
    const char *name;
    json_t *row;
    json_object_foreach(rates, name, row) {
        lint_members(row, known, text("%s: rate %s", where, name));
        if (member_number(row, "limit", 0) < 1 || member_number(row, "windowS", 0) < 1) {
            problem(where, "rate %s needs a limit and a window", name);
        }
    }
}

static void lint_prices(json_t *prices)
{
    static const char *const known[] = { "kind=s", "credits=i", "unit=s", "open=t", NULL };
    static const char *const kinds[] = { "fixed", "perItem", "metered", NULL };
    const char *name;
    json_t *row;
    json_object_foreach(prices, name, row) {
        lint_members(row, known, text("%s: price %s", where, name));
        if (!is_one_of(member_text(row, "kind"), kinds)) {
            problem(where, "price %s must be fixed, perItem or metered", name);
        }
        if (member_number(row, "credits", -1) < 0) {
            problem(where, "price %s needs credits", name);
        }
    }
}

static void lint_daily_bounds(json_t *bounds)
{
    static const char *const known[] = { "limit=i", "unit=s", NULL };
    const char *name;
    json_t *row;
    json_object_foreach(bounds, name, row) {
        lint_members(row, known, text("%s: daily bound %s", where, name));
        lint_text(row, "unit", text("%s: daily bound %s", where, name));
        if (member_number(row, "limit", 0) < 1) {
            problem(where, "daily bound %s needs a limit", name);
        }
    }
}

static void lint_plans(json_t *plans)
{
    static const char *const known[] = { "name=s", "credits=iz", "emailSends=iz", NULL };
    const char *name;
    json_t *row;
    json_object_foreach(plans, name, row) {
        lint_members(row, known, text("%s: plan %s", where, name));
        lint_text(row, "name", text("%s: plan %s", where, name));
    }
}

void lint_policies(const struct catalogue *all)
{
    static const char *const known[] = { "counts=o", "bodyBytes=i", "scopes=o", "rates=o", "prices=o", "dailyBounds=o", "plans=o", NULL };
    lint_members(all->policies, known, where);
    if (member_number(all->policies, "bodyBytes", 0) < 1) {
        problem(where, "bodyBytes must bound the size of bodies");
    }
    lint_scopes(json_object_get(all->policies, "scopes"));
    lint_rates(json_object_get(all->policies, "rates"));
    lint_prices(json_object_get(all->policies, "prices"));
    lint_daily_bounds(json_object_get(all->policies, "dailyBounds"));
    lint_plans(json_object_get(all->policies, "plans"));
}
