/*
 * Filter compiler: translates a tree into SQL. The SQL consists of the fixed
 * fragments of operators; everything else is a parameter (SQL injection). A
 * negated operator compiles to "… is not true", so that it also holds without a
 * value. A negated membership compiles to NOT EXISTS, which PostgreSQL can plan
 * as an anti-join.
 */
#include "base/text.h"
#include "engine/filters/filter_tree.h"

#include "base/clock.h"

#include <string.h>

/* Half of the limit of a statement, since a condition can name hundreds of audiences. A truncated statement is invalid. */
enum { CONDITIONS_MAX_BYTES = 256 * 1024 };

/* ---- Presence of a value, for all types ---- */

static void add_presence(struct search_sql *sql, const struct filter_condition *condition, enum filter_verb verb)
{
    filter_add_subject(sql, condition);
    bool may_be_empty = condition->type == TYPE_TEXT || condition->type == TYPE_ADDRESS;
    search_sql_add(sql, verb == VERB_FILLED && may_be_empty ? " <> ''" : " is not null");
}

/* ---- Texts ---- */

static bool add_pattern(struct search_sql *sql, const struct filter_condition *condition, enum filter_verb verb, struct error *err)
{
    struct text_list parts;
    const char *alone;
    if (verb == VERB_CONTAINS_ANY) {
        if (!filter_value_texts(condition, sql->arena, &parts, err))
            return false;
    } else {
        if (!filter_value_text(condition, sql->arena, &alone, err))
            return false;
        parts = (struct text_list){ &alone, 1 };
    }
    for (size_t i = 0; i < parts.count; i++)
        if (parts.items[i][0] == '\0')
            return fail(err, ERR_INVALID_REQUEST, arena_printf(sql->arena, "%s.value", condition->path),
                        "The value must not be empty; every text contains the empty text.");
    bool any_before = verb != VERB_STARTS_WITH;
    bool any_after = verb != VERB_ENDS_WITH;
    /* Address keys are lower case already. */
    struct search_fold fold = condition->type == TYPE_ADDRESS ? (struct search_fold){ "", "" } : search_fold_for(parts);
    search_sql_add(sql, fold.open);
    filter_add_subject(sql, condition);
    search_sql_add(sql, fold.close);
    search_sql_add(sql, " like any (");
    search_sql_patterns(sql, parts, any_before, any_after);
    search_sql_add(sql, ")");
    return true;
}

static struct text_list lower_texts(struct arena *arena, struct text_list texts)
{
    const char **lowered = arena_array(arena, texts.count, sizeof(*lowered));
    for (size_t i = 0; i < texts.count; i++)
        lowered[i] = text_lower_unicode(arena, texts.items[i]);
    return (struct text_list){ lowered, texts.count };
}

static bool compile_text_condition(struct search_sql *sql, const struct filter_condition *condition, enum filter_verb verb,
                                   struct error *err)
{
    const char *text;
    struct text_list texts;
    bool many = verb == VERB_IN;
    if (verb != VERB_EQUALS && verb != VERB_IN)
        return add_pattern(sql, condition, verb, err);
    if (condition->type == TYPE_ADDRESS) {
        if (!filter_value_addresses(condition, sql->arena, many, &texts, err))
            return false;
    } else if (many) {
        if (!filter_value_texts(condition, sql->arena, &texts, err))
            return false;
    } else {
        if (!filter_value_text(condition, sql->arena, &text, err))
            return false;
        texts = (struct text_list){ &text, 1 };
    }
    bool is_exact = condition->type == TYPE_TEXT;
    struct search_fold fold = { "", "" };
    sql->has_exact_text = sql->has_exact_text || is_exact;
    if (is_exact && sql->ignores_case) {
        fold = search_fold_for(texts);
        texts = lower_texts(sql->arena, texts);
    }
    search_sql_add(sql, fold.open);
    filter_add_subject(sql, condition);
    search_sql_add(sql, fold.close);
    search_sql_add(sql, many ? " = any (" : " = ");
    if (many)
        search_sql_texts(sql, texts);
    else
        search_sql_text(sql, texts.items[0]);
    search_sql_add(sql, many ? ")" : "");
    return true;
}

/* ---- Numbers: compared as jsonb, which is exact and never fails on a value of another type ---- */

static bool compile_number_condition(struct search_sql *sql, const struct filter_condition *condition, enum filter_verb verb,
                                     struct error *err)
{
    static const char *const between[] = {
        [VERB_EQUALS] = " = ",   [VERB_GREATER] = " > ",       [VERB_AT_LEAST] = " >= ", [VERB_LESS] = " < ",
        [VERB_AT_MOST] = " <= ", [VERB_BETWEEN] = " between ", [VERB_IN] = " = any (",
    };
    struct text_list numbers;
    size_t wanted = verb == VERB_IN ? 0 : verb == VERB_BETWEEN ? 2 : 1;
    if (!filter_value_numbers(condition, sql->arena, wanted, &numbers, err))
        return false;
    filter_add_member(sql, "c.custom_fields", " -> ", condition->name);
    search_sql_add(sql, between[verb]);
    if (verb == VERB_IN) {
        search_sql_jsonbs(sql, numbers);
        search_sql_add(sql, ")");
        return true;
    }
    search_sql_jsonb(sql, numbers.items[0]);
    if (verb == VERB_BETWEEN) {
        search_sql_add(sql, " and ");
        search_sql_jsonb(sql, numbers.items[1]);
    }
    return true;
}

/* ---- Booleans ---- */

static bool compile_boolean_condition(struct search_sql *sql, const struct filter_condition *condition, enum filter_verb verb,
                                      struct error *err)
{
    bool wanted = verb == VERB_TRUE;
    if (verb == VERB_EQUALS && !filter_value_boolean(condition, sql->arena, &wanted, err))
        return false;
    filter_add_subject(sql, condition);
    search_sql_add(sql, " = ");
    if (condition->subject == SUBJECT_COLUMN)
        search_sql_boolean(sql, wanted);
    else
        search_sql_text(sql, wanted ? "true" : "false");
    return true;
}

/* ---- Activity ---- */

static bool count_holds(enum filter_verb verb, const int64_t counts[2], int64_t count)
{
    switch (verb) {
    case VERB_GREATER:
        return count > counts[0];
    case VERB_AT_LEAST:
        return count >= counts[0];
    case VERB_LESS:
        return count < counts[0];
    case VERB_AT_MOST:
        return count <= counts[0];
    case VERB_BETWEEN:
        return count >= counts[0] && count <= counts[1];
    case VERB_EQUALS:
    case VERB_CONTAINS:
    case VERB_CONTAINS_ANY:
    case VERB_STARTS_WITH:
    case VERB_ENDS_WITH:
    case VERB_IN:
    case VERB_EXISTS:
    case VERB_FILLED:
    case VERB_BEFORE:
    case VERB_AFTER:
    case VERB_LAST_DAYS:
    case VERB_NEXT_DAYS:
    case VERB_TRUE:
    case VERB_FALSE:
        break;
    }
    return count == counts[0];
}

static void add_having(struct search_sql *sql, enum filter_verb verb, const int64_t counts[2], bool opposite)
{
    static const char *const between[] = {
        [VERB_EQUALS] = " = ", [VERB_GREATER] = " > ",  [VERB_AT_LEAST] = " >= ",
        [VERB_LESS] = " < ",   [VERB_AT_MOST] = " <= ", [VERB_BETWEEN] = " between ",
    };
    search_sql_add(sql, opposite ? " group by a.email_key having not (sum(a.count)" : " group by a.email_key having (sum(a.count)");
    search_sql_add(sql, between[verb]);
    search_sql_number(sql, counts[0]);
    if (verb == VERB_BETWEEN) {
        search_sql_add(sql, " and ");
        search_sql_number(sql, counts[1]);
    }
    search_sql_add(sql, ")");
}

/* The keys of the contacts with such events, as the start of a query. */
static void add_active(struct search_sql *sql, const struct work *work, const struct filter_condition *condition)
{
    search_sql_add(sql, "select a.email_key from contact_activity a where a.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, " and a.event_type = ");
    /* "sent" and "delivered" occur together; the rollup stores only "sent" (delivery_activity). */
    search_sql_text(sql, text_equal(condition->name, "delivered") ? "sent" : condition->name);
    if (condition->within_days > 0) {
        search_sql_add(sql, " and a.day >= (");
        search_sql_time(sql, work->now_us - condition->within_days * INT64_C(86400) * US_PER_S);
        search_sql_add(sql, " at time zone 'UTC')::date");
    }
}

/* The planner takes a brand that the statistics do not know for one contact with one count, and a join compares all with all. A
 * semi-join is safe as soon as the contacts are known: they are found by their keys. Joins are faster than lookups when few
 * contacts satisfy the condition, or most of very many. */
static bool can_join(const struct filter_scope *scope, bool is_anti)
{
    return scope->knows_contacts && (scope->knows_activity || !is_anti);
}

/* A contact without a row has the count 0. If 0 satisfies the condition, the SQL excludes the contacts that do not satisfy it. "is
 * true" keeps the subquery out of a join, so that each contact is looked up, in a hash or in the index. */
static bool compile_activity(struct filter_compiler *compiler, const struct filter_condition *condition, enum filter_verb verb,
                             bool negated, struct error *err)
{
    struct search_sql *sql = compiler->sql;
    int64_t counts[2] = { 0, 0 };
    if (!filter_value_counts(condition, sql->arena, verb == VERB_BETWEEN ? 2 : 1, counts, err))
        return false;
    bool zero_holds = count_holds(verb, counts, 0);
    /* Every row has a count of at least 1, so "ever" and "never" need no sum. */
    bool sums = count_holds(verb, counts, 1) == zero_holds || count_holds(verb, counts, INT64_MAX) == zero_holds ||
                verb == VERB_BETWEEN || (verb == VERB_EQUALS && counts[0] != 0);
    bool is_anti = zero_holds != negated;
    bool joins = can_join(compiler->scope, is_anti);
    search_sql_add(sql, joins ? "" : "(");
    search_sql_add(sql, is_anti ? "not exists (" : "exists (");
    search_sql_add(sql, "select from (");
    add_active(sql, compiler->scope->work, condition);
    if (sums)
        add_having(sql, verb, counts, zero_holds);
    search_sql_add(sql, ") d where d.email_key = c.email_key)");
    search_sql_add(sql, joins ? "" : ") is true");
    return true;
}

/* ---- Membership ---- */

static bool check_audience_reference(const struct filter_compiler *compiler, const struct filter_condition *condition,
                                     const struct scope_audience *audience, struct error *err)
{
    const char *path = condition->is_parameter ? condition->path : arena_printf(compiler->sql->arena, "%s.value", condition->path);
    if (compiler->depth >= FILTER_MAX_AUDIENCE_DEPTH)
        return fail(err, ERR_INVALID_REQUEST, path,
                    "Audiences can refer to other audiences at most %d levels deep, and not in a cycle.",
                    FILTER_MAX_AUDIENCE_DEPTH);
    if (audience == NULL && compiler->scope->is_cut)
        return fail(err, ERR_INVALID_REQUEST, path,
                    "Too many audiences, or too large ones, are named here and by these audiences; at most %d are read.",
                    FILTER_MAX_AUDIENCES);
    /* Deleting an audience does not change the audiences that refer to it. */
    if (audience == NULL || (audience->is_deleted && !compiler->in_audience && !condition->deleted_too))
        return fail(err, condition->is_parameter ? ERR_AUDIENCE_NOT_FOUND : ERR_INVALID_REQUEST, path,
                    "No audience with this id in this brand.");
    if (!audience->is_cohort || compiler->unready_too || strcmp(audience->status, "ready") == 0)
        return true;
    return fail(err, ERR_AUDIENCE_BUILD_ACTIVE, path, "The members of this audience are not ready; their status is %s.",
                audience->status);
}

static bool add_membership(struct filter_compiler *compiler, const struct scope_audience *audience, bool negated, struct error *err)
{
    struct search_sql *sql = compiler->sql;
    if (audience->is_cohort) {
        search_sql_add(sql, negated ? "not exists (" : "exists (");
        search_sql_add(sql, "select from audience_members m where m.brand_id = ");
        search_sql_number(sql, compiler->scope->work->brand_id);
        search_sql_add(sql, " and m.audience_id = ");
        search_sql_number(sql, audience->id);
        search_sql_add(sql, " and m.contact_id = c.id)");
        return true;
    }
    struct filter_compiler inner = *compiler;
    inner.depth++;
    inner.in_audience = true;
    search_sql_add(sql, "(");
    bool ok = filter_compile_tree(&inner, audience->filter, err);
    search_sql_add(sql, negated ? ") is not true" : ")");
    return ok;
}

static bool compile_membership(struct filter_compiler *compiler, const struct filter_condition *condition, bool negated,
                               struct error *err)
{
    search_sql_add(compiler->sql, "(");
    for (size_t i = 0; i < condition->audiences.count; i++) {
        const struct scope_audience *audience = filter_scope_find(compiler->scope, condition->audiences.items[i]);
        if (i > 0)
            search_sql_add(compiler->sql, negated ? " and " : " or ");
        if (!check_audience_reference(compiler, condition, audience, err) || !add_membership(compiler, audience, negated, err))
            return false;
    }
    search_sql_add(compiler->sql, ")");
    return true;
}

/* ---- Conditions ---- */

static bool resolve_custom_type(const struct filter_compiler *compiler, struct filter_condition *condition, struct error *err)
{
    static const enum filter_type types[] = {
        [FIELD_STRING] = TYPE_TEXT, [FIELD_NUMBER] = TYPE_NUMBER, [FIELD_DATE] = TYPE_DATE, [FIELD_BOOL] = TYPE_TRUTH
    };
    int64_t type = json_integer_value(json_object_get(compiler->scope->field_types, condition->name));
    if (type == FIELD_NONE)
        return fail(err, ERR_INVALID_REQUEST, arena_printf(compiler->sql->arena, "%s.field", condition->path),
                    "Contacts have no field %.64s.", condition->name) ||
               filter_suggest_field(compiler->sql->arena, compiler->scope->field_types, condition->name, err);
    condition->type = types[type];
    return true;
}

static bool compile_value(struct filter_compiler *compiler, const struct filter_condition *condition, enum filter_verb verb,
                          struct error *err)
{
    if (verb == VERB_EXISTS || verb == VERB_FILLED) {
        add_presence(compiler->sql, condition, verb);
        return true;
    }
    switch (condition->type) {
    case TYPE_TEXT:
    case TYPE_ADDRESS:
        return compile_text_condition(compiler->sql, condition, verb, err);
    case TYPE_NUMBER:
        return compile_number_condition(compiler->sql, condition, verb, err);
    case TYPE_DATE:
        return filter_compile_date(compiler, condition, verb, err);
    case TYPE_TRUTH:
    case TYPE_MEMBERSHIP:
    case TYPE_COUNT:
        break;
    }
    return compile_boolean_condition(compiler->sql, condition, verb, err);
}

static bool compile_condition(struct filter_compiler *compiler, const struct filter_condition *given, struct error *err)
{
    struct search_sql *sql = compiler->sql;
    struct filter_condition condition = *given;
    const struct filter_operator *operator;
    if (++sql->conditions > FILTER_MAX_COMPILED)
        return fail(err, ERR_INVALID_REQUEST, condition.path,
                    "The filter has more than %d conditions, including those of its audiences.", FILTER_MAX_COMPILED);
    if ((condition.subject == SUBJECT_CUSTOM && !resolve_custom_type(compiler, &condition, err)) ||
        !filter_operator_find(&condition, sql->arena, &operator, err))
        return false;
    if (condition.type == TYPE_MEMBERSHIP)
        return compile_membership(compiler, &condition, operator->negated, err);
    if (condition.type == TYPE_COUNT)
        return compile_activity(compiler, &condition, operator->verb, operator->negated, err);
    search_sql_add(sql, "(");
    if (!compile_value(compiler, &condition, operator->verb, err))
        return false;
    search_sql_add(sql, operator->negated ? ") is not true" : ")");
    return true;
}

/* Checks each condition, so that the error names the one that is too much. */
static bool check_compiled_size(const struct search_sql *sql, const char *path, struct error *err)
{
    return search_sql_fits(sql, path, err) &&
           (sql->text->size <= CONDITIONS_MAX_BYTES ||
            fail(err, ERR_INVALID_REQUEST, path, "The conditions of this filter are too large. Use fewer."));
}

bool filter_compile_tree(struct filter_compiler *compiler, const struct filter *filter, struct error *err)
{
    if (!filter->is_group)
        return compile_condition(compiler, &filter->condition, err) &&
               check_compiled_size(compiler->sql, filter->condition.path, err);
    if (filter->count == 0) {
        search_sql_add(compiler->sql, "true");
        return true;
    }
    search_sql_add(compiler->sql, "(");
    for (size_t i = 0; i < filter->count; i++) {
        if (i > 0)
            search_sql_add(compiler->sql, filter->joint);
        if (!filter_compile_tree(compiler, &filter->children[i], err))
            return false;
    }
    search_sql_add(compiler->sql, ")");
    return true;
}

bool filter_compile(const struct filter *filter, const struct filter_scope *scope, struct search_sql *sql, struct error *err)
{
    struct filter_compiler compiler = { .scope = scope, .sql = sql };
    return filter_compile_tree(&compiler, filter, err);
}

bool filter_check(const struct work *work, const json_t *json, const char *param, int64_t audience_id,
                  const struct filter **ret_filter, const struct filter_scope **ret_scope, struct error *err)
{
    struct search_sql scratch;
    if (!filter_read(work, json, param, NULL, ret_filter, err) || !filter_resolve(work, ret_filter, 1, ret_scope, err))
        return false;
    if (audience_id != 0 && filter_scope_find(*ret_scope, audience_id) != NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "An audience cannot refer to itself, directly or through other audiences.");
    search_sql_init(&scratch, work->arena);
    /* The audience itself is the first level of nesting. */
    struct filter_compiler compiler = { .scope = *ret_scope, .sql = &scratch, .depth = 1, .unready_too = true };
    return filter_compile_tree(&compiler, *ret_filter, err);
}

bool filter_check_together(const struct work *work, const struct filter *const *filters, size_t count, struct error *err)
{
    struct search_sql scratch;
    const struct filter_scope *scope;
    if (!filter_resolve(work, filters, count, &scope, err))
        return false;
    search_sql_init(&scratch, work->arena);
    struct filter_compiler compiler = { .scope = scope, .sql = &scratch, .unready_too = true };
    for (size_t i = 0; i < count; i++)
        if (!filter_compile_tree(&compiler, filters[i], err))
            return false;
    return true;
}
