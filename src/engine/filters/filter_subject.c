/*
 * The subject of a condition as SQL: a column of the contact, or a member of its
 * custom fields or subscription groups.
 */
#include "engine/filters/filter_tree.h"

void filter_add_member(struct search_sql *sql, const char *object, const char *arrow, const char *name)
{
    search_sql_add(sql, "(");
    search_sql_add(sql, object);
    search_sql_add(sql, arrow);
    search_sql_text(sql, name);
    search_sql_add(sql, ")");
}

void filter_add_subject(struct search_sql *sql, const struct filter_condition *condition)
{
    switch (condition->subject) {
    case SUBJECT_COLUMN:
        search_sql_add(sql, condition->column);
        break;
    case SUBJECT_CUSTOM:
        filter_add_member(sql, "c.custom_fields", " ->> ", condition->name);
        break;
    case SUBJECT_GROUP:
        filter_add_member(sql, "c.subscription_groups", " ->> ", condition->name);
        break;
    case SUBJECT_AUDIENCE:
    case SUBJECT_ACTIVITY:
        break;
    }
}
