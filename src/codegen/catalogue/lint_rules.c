#include "lint.h"

#include "source_lines.h"

#include <string.h>

static const char where[] = "schemas/rules.json";

/* ---- Names ---- */

/* The letters in the order of the file. Rules (R) have three digits; decisions (D) and ambiguities (A) have two or three. */
static const char letters[] = "RDA";

static bool is_rule(const char *id)
{
    return id[0] == 'R';
}

static bool is_numbered(const char *id)
{
    size_t length = strlen(id);
    if (length < strlen("D-01") || length > strlen("D-100") || strchr(letters, id[0]) == NULL || id[1] != '-' ||
        strspn(id + 2, "0123456789") != length - 2) {
        return false;
    }
    return !is_rule(id) || length == strlen("R-001");
}

/* The sort key of an id: letter, then number. */
static long rank_of(const char *id)
{
    long number = 0;
    for (const char *digit = id + 2; *digit != '\0'; digit++) {
        number = number * 10 + (*digit - '0');
    }
    return (long)(strchr(letters, id[0]) - letters) * 1000 + number;
}

/* ---- Entries ---- */

static void lint_rule_order(const char *id, const char *before, const char *place)
{
    if (before != NULL && rank_of(id) == rank_of(before)) {
        problem(place, "declared twice");
    } else if (before != NULL && rank_of(id) < rank_of(before)) {
        problem(place, "comes after %s; the order is R, D, A, then by number", before);
    }
}

static void lint_entry(const struct catalogue *all, json_t *entry, const char *id, const char *place)
{
    static const char *const rule[] = { "id=s", "area=s", "text=s", NULL };
    static const char *const decision[] = { "id=s", "area=s", "question=s", "text=s", "everywhere=b", "pending=b", NULL };
    lint_members(entry, is_rule(id) ? rule : decision, place);
    lint_text(entry, "text", place);
    if (!is_rule(id)) {
        lint_text(entry, "question", place);
    }
    const char *area = member_text(entry, "area");
    if (area == NULL || !list_has(json_object_get(all->rule_file, "areas"), area)) {
        problem(place, "the area %s is not one of areas", area != NULL ? area : "(not a text)");
    }
    if (member_true(entry, "everywhere") && member_true(entry, "pending")) {
        problem(place, "is either everywhere or pending");
    }
}

static const char *lint_entries(const struct catalogue *all)
{
    const char *before = NULL;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(all->rule_file, "rules"), i, entry) {
        const char *id = member_text(entry, "id");
        if (id == NULL || !is_numbered(id)) {
            problem(text("%s:%d", where, line_of_item(all, where, i)), "the id %s is not written like R-001, D-01 or A-01",
                    id != NULL ? id : "(not a text)");
            continue;
        }
        const char *place = text("%s:%d: %s", where, line_of_item(all, where, i), id);
        lint_rule_order(id, before, place);
        lint_entry(all, entry, id, place);
        before = id;
    }
    return before;
}

static bool area_is_used(const struct catalogue *all, const char *area)
{
    const char *id;
    json_t *entry;
    json_object_foreach(all->rules, id, entry) {
        const char *own = member_text(entry, "area");
        if (own != NULL && strcmp(own, area) == 0) {
            return true;
        }
    }
    return false;
}

void lint_rules(const struct catalogue *all)
{
    static const char *const known[] = { "areas=t", "rules=a", NULL };
    lint_members(all->rule_file, known, where);
    if (lint_entries(all) == NULL) {
        problem(where, "has no rules");
    }
    size_t i;
    const json_t *area;
    json_array_foreach(json_object_get(all->rule_file, "areas"), i, area) {
        if (json_is_string(area) && !area_is_used(all, json_string_value(area))) {
            problem(where, "no rule has the area %s", json_string_value(area));
        }
    }
}

/* ---- Citations of declarations ---- */

/* `place` is "FILE: name"; the result is "FILE:line: name". */
static const char *citation_place(const struct catalogue *all, const char *place, const char *cited)
{
    return place_of_text(all, place, text("\"%s\"", cited));
}

void lint_cited_rules(const struct catalogue *all, const json_t *declaration, const char *place)
{
    size_t i;
    const json_t *cited;
    json_array_foreach(json_object_get(declaration, "rules"), i, cited) {
        const char *id = json_string_value(cited);
        if (id == NULL) {
            continue; /* lint_members reports it */
        }
        if (!is_numbered(id) || !is_rule(id)) {
            problem(citation_place(all, place, id), "the rule %s is not written like R-001", id);
        } else if (json_object_get(all->rules, id) == NULL) {
            problem(citation_place(all, place, id), "the rule %s is not in %s", id, where);
        }
    }
}

static void add_use(const struct catalogue *all, json_t *used, const json_t *declaration, const char *place)
{
    size_t i;
    const json_t *cited;
    json_array_foreach(json_object_get(declaration, "open"), i, cited) {
        const char *id = json_string_value(cited);
        if (id == NULL || is_rule(id) || json_object_get(all->rules, id) == NULL) {
            problem(id != NULL ? citation_place(all, place, id) : place, "the open detail %s is not in %s",
                    id != NULL ? id : "(not a text)", where);
            continue;
        }
        json_object_set_new(used, id, json_string(place));
    }
}

static void add_uses_of_members(const struct catalogue *all, json_t *used, json_t *members, const char *file)
{
    const char *name;
    json_t *member;
    json_object_foreach(members, name, member) {
        add_use(all, used, member, text("%s: %s", file, name));
    }
}

static json_t *used_decisions(const struct catalogue *all)
{
    json_t *used = keep(json_object());
    for (size_t i = 0; i < all->op_count; i++) {
        add_use(all, used, all->ops[i].json, all->ops[i].where);
    }
    const char *name;
    json_t *schema;
    json_object_foreach(all->resources, name, schema) {
        add_use(all, used, schema, text("schemas/resources/%s.json: %s", name, name));
    }
    add_uses_of_members(all, used, json_object_get(all->policies, "rates"), "schemas/policies.json");
    add_uses_of_members(all, used, json_object_get(all->policies, "prices"), "schemas/policies.json");
    return used;
}

/* Every decision affects a declaration, or is marked as everywhere or pending. */
void lint_decisions(const struct catalogue *all)
{
    json_t *used = used_decisions(all);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(all->rule_file, "rules"), i, entry) {
        const char *id = member_text(entry, "id");
        if (id == NULL || is_rule(id)) {
            continue;
        }
        const char *place = text("%s:%d: %s", where, line_of_item(all, where, i), id);
        const char *user = member_text(used, id);
        if (user == NULL && !member_true(entry, "everywhere") && !member_true(entry, "pending")) {
            problem(place, "no declaration names it, and it is neither everywhere nor pending");
        }
        if (user != NULL && member_true(entry, "pending")) {
            problem(place, "is pending, and %s names it", user);
        }
    }
}
