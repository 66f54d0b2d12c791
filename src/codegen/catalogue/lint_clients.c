#include "lint.h"

#include <string.h>

static const char where[] = "schemas/clients.json";

enum { ID_MAX_CHARS = 64, WIDTH_MAX = 2000, DENSITY_MAX = 3 };

static bool is_between(const json_t *row, const char *member, double least, double most)
{
    double value = member_number(row, member, 0);
    return value >= least && value <= most;
}

static void lint_client(json_t *row, const char *place)
{
    static const char *const known[] = { "id=s",       "label=s",           "category=s",   "os=s",      "caniemail=s", "engine=s",
                                         "width=i",    "density=i",         "zoomsOut=b",   "scheme=s",  "inversion=s", "images=b",
                                         "textOnly=b", "styleBlockChars=i", "styleChars=i", "default=b", NULL };
    static const char *const categories[] = { "gmail", "outlook", "apple", "yahoo", "other", NULL };
    static const char *const engines[] = { "browser", "word", NULL };
    static const char *const schemes[] = { "light", "dark", NULL };
    static const char *const inversions[] = { "none", "preferred", "partial", "full", NULL };
    lint_members(row, known, place);
    if (!lint_text(row, "label", place)) {
        return;
    }
    if (!is_one_of(member_text(row, "category"), categories) || !is_one_of(member_text(row, "engine"), engines) ||
        !is_one_of(member_text(row, "scheme"), schemes) || !is_one_of(member_text(row, "inversion"), inversions)) {
        problem(place, "category, engine, scheme or inversion is not a known one");
    }
    if (!is_between(row, "width", 100, WIDTH_MAX) || !is_between(row, "density", 1, DENSITY_MAX)) {
        problem(place, "width or density is out of bounds");
    }
}

void lint_clients(const struct catalogue *all)
{
    json_t *seen = keep(json_object());
    bool has_default = false;
    size_t i;
    json_t *row;
    json_array_foreach (all->clients, i, row) {
        const char *id = member_text(row, "id");
        const char *place = text("%s: %s", where, id != NULL ? id : "a client without an id");
        if (id == NULL || strlen(id) > ID_MAX_CHARS || json_object_get(seen, id) != NULL) {
            problem(place, "needs an id of its own of at most 64 characters");
            continue;
        }
        json_object_set_new(seen, id, json_true());
        has_default = has_default || json_is_true(json_object_get(row, "default"));
        lint_client(row, place);
    }
    if (!has_default) {
        problem(where, "needs clients that are the default");
    }
}
