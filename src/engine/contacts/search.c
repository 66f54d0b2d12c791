#include "engine/contacts/search.h"

#include "base/json_read.h"
#include "engine/filters/filter.h"
#include "mail/address.h"

#include <string.h>

/*
 * Sort orders of contacts. Names are ordered by a prefix, so that a key always fits a cursor (contacts.search accepts 512
 * characters). Ties are ordered by id. createdAt and email have an index. The others are sorted: at 1,000,000 contacts a page
 * takes about 0.13 s, and each further index would make an import half as long again.
 */
#define NAME_PREFIX(column) "left(" column ", 64)"
static const struct {
    const char *key; /* SQL */
    bool is_text;
    bool nullable;
    bool is_unique; /* unique in the brand, so there are no ties */
} orders[] = {
    [CONTACT_BY_CREATED] = { "c.created_at", false, false, false },
    [CONTACT_BY_UPDATED] = { "c.updated_at", false, false, false },
    [CONTACT_BY_EMAIL] = { "c.email_key", true, false, true },
    [CONTACT_BY_FIRST_NAME] = { NAME_PREFIX("c.first_name"), true, true, false },
    [CONTACT_BY_LAST_NAME] = { NAME_PREFIX("c.last_name"), true, true, false },
};
enum { NAME_PREFIX_CHARS = 64 };

/* ---- The WHERE part ---- */

static void add_text_condition(struct search_sql *sql, const char *text)
{
    const char **part = arena_alloc(sql->arena, sizeof(*part));
    *part = text;
    struct text_list parts = { part, 1 };
    struct search_fold fold = search_fold_for(parts);
    /* Address keys are lower case already. */
    search_sql_add(sql, " and (c.email_key like any (");
    search_sql_patterns(sql, parts, true, true);
    search_sql_add(sql, ") or ");
    search_sql_add(sql, fold.open);
    search_sql_add(sql, "concat_ws(' ', c.first_name, c.last_name)");
    search_sql_add(sql, fold.close);
    search_sql_add(sql, " like any (");
    search_sql_patterns(sql, parts, true, true);
    search_sql_add(sql, "))");
}

/* The filters of a search, with the definitions that they refer to. */
struct search_filters {
    const struct filter *filters[2];
    const struct filter_scope *scope;
};

static bool read_filters(const struct work *work, const struct contact_search *search, struct search_filters *ret_filters,
                         struct error *err)
{
    *ret_filters = (struct search_filters){ .scope = NULL };
    const struct filter **filters = ret_filters->filters;
    if (search->filters != NULL && !filter_read(work, search->filters, "filters", search->logic, &filters[0], err))
        return false;
    if (search->audience_id != 0)
        filters[1] = filter_of_audience(work, search->audience_id, false, "audienceId");
    return filter_resolve(work, filters, ARRAY_COUNT(ret_filters->filters), &ret_filters->scope, err);
}

static bool add_where(const struct work *work, const struct contact_search *search, const struct search_filters *where,
                      struct search_sql *sql, struct error *err)
{
    search_sql_add(sql, " from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    if (search->text != NULL)
        add_text_condition(sql, search->text);
    for (size_t i = 0; i < ARRAY_COUNT(where->filters); i++) {
        if (where->filters[i] == NULL)
            continue;
        search_sql_add(sql, " and ");
        if (!filter_compile(where->filters[i], where->scope, sql, err))
            return false;
    }
    return true;
}

/* ---- Counting ---- */

struct count_row {
    int64_t count;
};
static const struct db_field count_columns[] = {
    { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct count_row, count) }
};
static const struct db_statement counting = {
    .result = DB_ONE,
    .columns = count_columns,
    .column_count = ARRAY_COUNT(count_columns),
    .row_size = sizeof(struct count_row),
};

/* Counts the matches again without regard to case when few match and a text is compared exactly. `ret_count` is set when more
 * match that way; it is at most FILTER_CASE_COUNT_MAX. */
static bool count_ignoring_case(const struct work *work, const struct contact_search *search, const struct search_filters *where,
                                bool has_exact_text, int64_t matched, struct opt_int *ret_count, struct error *err)
{
    struct search_sql sql;
    struct db_rows rows;
    *ret_count = (struct opt_int){ .set = false };
    if (!has_exact_text || matched > FILTER_FEW_MATCHES)
        return true;
    search_sql_init(&sql, work->arena);
    sql.ignores_case = true;
    search_sql_add(&sql, "select count(*) from (select 1");
    if (!add_where(work, search, where, &sql, err))
        return false;
    search_sql_add(&sql, " limit ");
    search_sql_number(&sql, FILTER_CASE_COUNT_MAX);
    search_sql_add(&sql, ") m");
    if (!search_sql_run(&sql, work->conn, &counting, &rows, err))
        return false;
    int64_t count = ((const struct count_row *)rows.rows)->count;
    *ret_count = (struct opt_int){ .set = count > matched, .value = count };
    return true;
}

/* ---- Order and keyset pagination ---- */

static void add_key_value(struct search_sql *sql, enum contact_order_field order_by, const struct page_cursor *cursor)
{
    if (orders[order_by].is_text)
        search_sql_text(sql, cursor->text != NULL ? cursor->text : "");
    else
        search_sql_time(sql, cursor->number);
}

/* Selects the rows after the cursor. Rows without a key (null) come last, in the order of their ids. */
static void add_keyset_condition(struct search_sql *sql, const struct contact_search *search, const struct page_cursor *cursor)
{
    const char *key = orders[search->order_by].key;
    const char *beyond = search->descending ? " < " : " > ";
    search_sql_add(sql, " and (");
    if (orders[search->order_by].is_unique) {
        search_sql_add(sql, key);
        search_sql_add(sql, beyond);
        add_key_value(sql, search->order_by, cursor);
    } else if (cursor->is_null) {
        search_sql_add(sql, key);
        search_sql_add(sql, " is null and c.id");
        search_sql_add(sql, beyond);
        search_sql_number(sql, cursor->id);
    } else {
        search_sql_add(sql, "(");
        search_sql_add(sql, key);
        search_sql_add(sql, ", c.id)");
        search_sql_add(sql, beyond);
        search_sql_add(sql, "(");
        add_key_value(sql, search->order_by, cursor);
        search_sql_add(sql, ", ");
        search_sql_number(sql, cursor->id);
        search_sql_add(sql, ")");
        if (orders[search->order_by].nullable) {
            search_sql_add(sql, " or ");
            search_sql_add(sql, key);
            search_sql_add(sql, " is null");
        }
    }
    search_sql_add(sql, ")");
}

static void add_order(struct search_sql *sql, const struct contact_search *search)
{
    const char *direction = search->descending ? " desc" : " asc";
    search_sql_add(sql, " order by ");
    search_sql_add(sql, orders[search->order_by].key);
    search_sql_add(sql, direction);
    if (orders[search->order_by].nullable)
        search_sql_add(sql, " nulls last");
    if (!orders[search->order_by].is_unique) {
        search_sql_add(sql, ", c.id");
        search_sql_add(sql, direction);
    }
    search_sql_add(sql, " limit ");
    search_sql_number(sql, search->limit + 1);
}

static const char *name_prefix(struct arena *arena, const char *name)
{
    size_t size = 0;
    for (size_t points = 0; name[size] != '\0'; size++) {
        bool begins_point = ((unsigned char)name[size] & 0xC0) != 0x80;
        if (begins_point && points++ == NAME_PREFIX_CHARS)
            break;
    }
    return arena_dup_bytes(arena, name, size);
}

static struct page_cursor last_contact_cursor(const struct work *work, enum contact_order_field order_by,
                                              const struct contact_row *contact)
{
    struct page_cursor cursor = { .set = true, .id = contact->id };
    const char *name = order_by == CONTACT_BY_FIRST_NAME ? contact->first_name : contact->last_name;
    struct address address;
    struct error ignored = { .code = ERR_NONE };
    switch (order_by) {
    case CONTACT_BY_CREATED:
        cursor.number = contact->created_at;
        break;
    case CONTACT_BY_UPDATED:
        cursor.number = contact->updated_at;
        break;
    case CONTACT_BY_EMAIL:
        cursor.text = address_parse(work->arena, contact->email, "email", &address, &ignored) ? address.key : contact->email;
        break;
    case CONTACT_BY_FIRST_NAME:
    case CONTACT_BY_LAST_NAME:
        cursor.is_null = name == NULL;
        cursor.text = name != NULL ? name_prefix(work->arena, name) : NULL;
        break;
    }
    return cursor;
}

/* Binds a cursor to the search it was made for. */
static const char *binding_of(const struct work *work, const struct contact_search *search)
{
    const char *filters = search->filters != NULL ? json_canonical(work->arena, search->filters) : "";
    return arena_printf(work->arena, "contacts.search\n%s\n%s\n%s\n%lld\n%d\n%d", search->text != NULL ? search->text : "", filters,
                        search->logic != NULL ? search->logic : "", (long long)search->audience_id, (int)search->order_by,
                        (int)search->descending);
}

/* ---- Running ---- */

/* All contacts, newest first. This is the most frequent search, so it has prepared statements. A further page is an index range
 * scan. */
static bool find_newest(const struct work *work, const struct contact_search *search, const struct page_cursor *cursor,
                        const struct contact_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    struct contact_page_first_params first = { .brand_id = work->brand_id, .limit = search->limit + 1 };
    struct contact_page_after_params after = {
        .brand_id = work->brand_id, .at = cursor->number, .id = cursor->id, .limit = search->limit + 1
    };
    struct db_rows rows;
    bool ok = cursor->set ? db_run(work->conn, work->arena, &contact_page_after_statement, &after, &rows, err)
                          : db_run(work->conn, work->arena, &contact_page_first_statement, &first, &rows, err);
    if (!ok)
        return false;
    *ret_rows = rows.rows;
    *ret_page = (struct db_page){ rows.count, rows.is_cut };
    return true;
}

static bool find_matching(const struct work *work, const struct contact_search *search, const struct page_cursor *cursor,
                          const struct contact_row **ret_rows, struct db_page *ret_page, struct opt_int *ret_ignoring_case,
                          struct error *err)
{
    struct search_filters where;
    struct search_sql sql;
    struct db_rows rows;
    if (!read_filters(work, search, &where, err))
        return false;
    search_sql_init(&sql, work->arena);
    search_sql_add(&sql,
                   "select c.id, c.email, c.first_name, c.last_name, c.user_id, c.source, c.subscribed, c.subscription_groups, "
                   "c.custom_fields, c.consent, c.created_at, c.updated_at, false");
    if (!add_where(work, search, &where, &sql, err))
        return false;
    if (cursor->set)
        add_keyset_condition(&sql, search, cursor);
    add_order(&sql, search);
    /* The statement only describes the columns of the row. */
    if (!search_sql_run(&sql, work->conn, &contact_page_first_statement, &rows, err))
        return false;
    *ret_rows = rows.rows;
    *ret_page = (struct db_page){ rows.count, rows.is_cut };
    bool is_all = !cursor->set && !rows.is_cut && (int64_t)rows.count <= search->limit;
    return !is_all || count_ignoring_case(work, search, &where, sql.has_exact_text, (int64_t)rows.count, ret_ignoring_case, err);
}

bool contact_find(const struct work *work, const struct contact_search *search, struct contact_page *ret_page, struct error *err)
{
    const char *binding = binding_of(work, search);
    struct page_cursor cursor;
    const struct contact_row *contacts;
    struct db_page found;
    struct opt_int ignoring_case = { .set = false };
    bool is_everybody = search->text == NULL && search->filters == NULL && search->audience_id == 0;
    bool is_newest = is_everybody && search->order_by == CONTACT_BY_CREATED && search->descending;
    if (!page_cursor_read(work, binding, search->cursor, &cursor, err))
        return false;
    if (is_newest ? !find_newest(work, search, &cursor, &contacts, &found, err)
                  : !find_matching(work, search, &cursor, &contacts, &found, &ignoring_case, err))
        return false;
    size_t count = found.count > (size_t)search->limit ? (size_t)search->limit : found.count;
    *ret_page = (struct contact_page){ .contacts = contacts, .count = count, .found = found, .ignoring_case = ignoring_case };
    if (found.count > count || found.is_cut) {
        struct page_cursor last = last_contact_cursor(work, search->order_by, &contacts[count - 1]);
        ret_page->next = page_cursor(work, binding, &last);
    }
    return true;
}

void contact_write_page(const struct work *work, const struct contact_search *search, const struct contact_page *contacts,
                        struct json_writer *json)
{
    struct page page = page_begin(json, search->limit, contacts->found);
    while (page_next_row(&page)) {
        json_object_begin(json);
        contact_write_members(work, &contacts->contacts[page.shown - 1], json);
        json_object_end(json);
    }
    struct page_cursor last = { .set = false };
    if (page.shown > 0)
        last = last_contact_cursor(work, search->order_by, &contacts->contacts[page.shown - 1]);
    page_end(&page, work, binding_of(work, search), last);
    contact_write_ignoring_case(contacts->ignoring_case, json);
    json_object_end(json);
}

void contact_write_ignoring_case(struct opt_int count, struct json_writer *json)
{
    if (count.set)
        json_member_int(json, "matchesIgnoringCase", count.value);
}

bool contact_count(const struct work *work, const struct contact_search *search, int64_t *ret_count,
                   struct opt_int *ret_ignoring_case, struct error *err)
{
    struct search_filters where;
    struct search_sql sql;
    struct db_rows rows;
    if (!read_filters(work, search, &where, err))
        return false;
    search_sql_init(&sql, work->arena);
    search_sql_add(&sql, "select count(*)");
    if (!add_where(work, search, &where, &sql, err) || !search_sql_run(&sql, work->conn, &counting, &rows, err))
        return false;
    *ret_count = ((const struct count_row *)rows.rows)->count;
    return count_ignoring_case(work, search, &where, sql.has_exact_text, *ret_count, ret_ignoring_case, err);
}
