#include "engine/contacts/search.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/contacts/filter.h"
#include "mail/address.h"

#include <string.h>

enum { AUDIENCE_FILTERS_MAX_BYTES = 256 * 1024 };

/*
 * What contacts are ordered by. Names are ordered by a prefix, so that the key of a place always fits a cursor
 * (contacts.search accepts 512 characters); ties are in the order of ids.
 */
#define NAME_PREFIX(column) "left(" column ", 64)"
static const struct {
    const char *key; /* SQL */
    bool is_text;
    bool nullable;
} orders[] = {
    [CONTACT_BY_CREATED] = { "c.created_at", false, false },
    [CONTACT_BY_UPDATED] = { "c.updated_at", false, false },
    [CONTACT_BY_EMAIL] = { "c.email_key", true, false },
    [CONTACT_BY_FIRST_NAME] = { NAME_PREFIX("c.first_name"), true, true },
    [CONTACT_BY_LAST_NAME] = { NAME_PREFIX("c.last_name"), true, true },
};
enum { NAME_PREFIX_CHARS = 64 };

/* ---- What the conditions need to know ---- */

struct conditions {
    const struct filter *own;      /* NULL: none */
    const struct filter *audience; /* NULL: none */
    const json_t *field_types;
};

static json_t *types_of(struct arena *arena, const struct db_rows *rows)
{
    json_t *types = json_in_arena(arena, json_object());
    const struct contact_fields_find_row *fields = rows->rows;
    for (size_t i = 0; i < rows->count; i++)
        json_object_set_new(types, fields[i].name, json_integer(field_type_from_name(fields[i].type)));
    return types;
}

static bool read_audience(const struct work *work, const struct db_rows *rows, const struct filter **ret_filter, struct error *err)
{
    const struct contact_audience_filters_row *audience = rows->rows;
    if (audience == NULL)
        return fail(err, ERR_AUDIENCE_NOT_FOUND, "audienceId", "No audience with this id in this brand.");
    struct json_bounds bounds = { .max_bytes = AUDIENCE_FILTERS_MAX_BYTES };
    const json_t *json;
    return json_read(work->arena, audience->filters, strlen(audience->filters), bounds, &json, err) &&
           filter_read(work->arena, json, "audienceId", NULL, ret_filter, err);
}

static bool read_conditions(const struct work *work, const struct contact_search *search, struct conditions *ret_conditions,
                            struct error *err)
{
    struct conditions conditions = { .field_types = json_in_arena(work->arena, json_object()) };
    if (search->filters != NULL && !filter_read(work->arena, search->filters, "filters", search->logic, &conditions.own, err))
        return false;
    bool asks_audience = search->audience_id != 0;
    bool asks_fields = asks_audience || (conditions.own != NULL && filter_uses_custom_fields(conditions.own));
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    struct contact_fields_find_params fields = { .brand_id = work->brand_id };
    struct contact_audience_filters_params audience = { .brand_id = work->brand_id, .audience_id = search->audience_id };
    size_t fields_at = asks_fields ? db_batch_add(batch, &contact_fields_find_statement, &fields) : 0;
    size_t audience_at = asks_audience ? db_batch_add(batch, &contact_audience_filters_statement, &audience) : 0;
    if (!db_batch_run(batch, err))
        return false;
    if (asks_fields)
        conditions.field_types = types_of(work->arena, db_batch_rows(batch, fields_at));
    if (asks_audience && !read_audience(work, db_batch_rows(batch, audience_at), &conditions.audience, err))
        return false;
    *ret_conditions = conditions;
    return true;
}

/* ---- The WHERE part ---- */

/* A LIKE pattern that finds the text anywhere. */
static const char *pattern_of(struct arena *arena, const char *text)
{
    char *pattern = arena_alloc(arena, 2 * strlen(text) + 3);
    size_t size = 0;
    pattern[size++] = '%';
    for (const char *at = text_lower(arena, text); *at != '\0'; at++) {
        if (*at == '%' || *at == '_' || *at == '\\')
            pattern[size++] = '\\';
        pattern[size++] = *at;
    }
    pattern[size++] = '%';
    return pattern;
}

static void add_text(struct search_sql *sql, const char *text)
{
    const char *pattern = pattern_of(sql->arena, text);
    search_sql_add(sql, " and (lower(c.email) like ");
    search_sql_text(sql, pattern);
    search_sql_add(sql, " or lower(concat_ws(' ', c.first_name, c.last_name)) like ");
    search_sql_text(sql, pattern);
    search_sql_add(sql, ")");
}

static bool add_where(const struct work *work, const struct contact_search *search, struct search_sql *sql, struct error *err)
{
    struct conditions conditions;
    if (!read_conditions(work, search, &conditions, err))
        return false;
    search_sql_add(sql, " from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    if (search->text != NULL)
        add_text(sql, search->text);
    const struct filter *const filters[] = { conditions.own, conditions.audience };
    for (size_t i = 0; i < ARRAY_COUNT(filters); i++) {
        if (filters[i] == NULL)
            continue;
        search_sql_add(sql, " and ");
        if (!filter_compile(filters[i], conditions.field_types, sql, err))
            return false;
    }
    return true;
}

/* ---- The order, and the place behind a row ---- */

static void add_key_value(struct search_sql *sql, enum contact_order_field order_by, const struct page_place *place)
{
    if (orders[order_by].is_text)
        search_sql_text(sql, place->text != NULL ? place->text : "");
    else
        search_sql_time(sql, place->number);
}

/* Rows without a key stand behind all others, in the order of their ids. */
static void add_place(struct search_sql *sql, const struct contact_search *search, const struct page_place *place)
{
    const char *key = orders[search->order_by].key;
    const char *beyond = search->descending ? " < " : " > ";
    search_sql_add(sql, " and (");
    if (place->is_null) {
        search_sql_add(sql, key);
        search_sql_add(sql, " is null and c.id");
        search_sql_add(sql, beyond);
        search_sql_number(sql, place->id);
    } else {
        search_sql_add(sql, "(");
        search_sql_add(sql, key);
        search_sql_add(sql, ", c.id)");
        search_sql_add(sql, beyond);
        search_sql_add(sql, "(");
        add_key_value(sql, search->order_by, place);
        search_sql_add(sql, ", ");
        search_sql_number(sql, place->id);
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
    search_sql_add(sql, ", c.id");
    search_sql_add(sql, direction);
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

static struct page_place place_of(const struct work *work, enum contact_order_field order_by, const struct contact_row *contact)
{
    struct page_place place = { .set = true, .id = contact->id };
    const char *name = order_by == CONTACT_BY_FIRST_NAME ? contact->first_name : contact->last_name;
    struct address address;
    struct error ignored = { .code = ERR_NONE };
    switch (order_by) {
    case CONTACT_BY_CREATED:
        place.number = contact->created_at;
        break;
    case CONTACT_BY_UPDATED:
        place.number = contact->updated_at;
        break;
    case CONTACT_BY_EMAIL:
        place.text = address_parse(work->arena, contact->email, "email", &address, &ignored) ? address.key : contact->email;
        break;
    case CONTACT_BY_FIRST_NAME:
    case CONTACT_BY_LAST_NAME:
        place.is_null = name == NULL;
        place.text = name != NULL ? name_prefix(work->arena, name) : NULL;
        break;
    }
    return place;
}

/* A cursor is good for the same question only. */
static const char *binding_of(const struct work *work, const struct contact_search *search)
{
    const char *filters = search->filters != NULL ? json_canonical(work->arena, search->filters) : "";
    return arena_printf(work->arena, "contacts.search\n%s\n%s\n%s\n%lld\n%d\n%d", search->text != NULL ? search->text : "", filters,
                        search->logic != NULL ? search->logic : "", (long long)search->audience_id, (int)search->order_by,
                        (int)search->descending);
}

/* ---- Running ---- */

/* Run once, so it has no name to be prepared under. */
static bool run(const struct work *work, struct search_sql *sql, struct db_statement statement, struct db_rows *ret_rows,
                struct error *err)
{
    statement.name = "";
    statement.sql = buf_text(sql->text);
    statement.params = sql->fields;
    statement.param_count = sql->count;
    return db_run(work->conn, work->arena, &statement, sql->values, ret_rows, err);
}

bool contact_find(const struct work *work, const struct contact_search *search, struct contact_page *ret_page, struct error *err)
{
    const char *binding = binding_of(work, search);
    struct page_place place;
    struct search_sql sql;
    if (!page_place_read(work, binding, search->cursor, &place, err))
        return false;
    search_sql_init(&sql, work->arena);
    search_sql_add(&sql,
                   "select c.id, c.email, c.first_name, c.last_name, c.user_id, c.source, c.subscribed, c.subscription_groups, "
                   "c.custom_fields, c.consent, c.created_at, c.updated_at, false");
    if (!add_where(work, search, &sql, err))
        return false;
    if (place.set)
        add_place(&sql, search, &place);
    add_order(&sql, search);

    struct db_rows rows;
    struct db_statement statement = contact_save_statement; /* for its row */
    statement.result = DB_MANY;
    if (!run(work, &sql, statement, &rows, err))
        return false;
    const struct contact_row *contacts = rows.rows;
    size_t count = rows.count > (size_t)search->limit ? (size_t)search->limit : rows.count;
    struct page_place last = { .set = false };
    if (count > 0)
        last = place_of(work, search->order_by, &contacts[count - 1]);
    *ret_page = (struct contact_page){
        .contacts = contacts,
        .count = count,
        .next = page_next(work, binding, search->limit, rows.count, last),
    };
    return true;
}

bool contact_count(const struct work *work, const struct contact_search *search, int64_t *ret_count, struct error *err)
{
    struct count_row {
        int64_t count;
    };
    static const struct db_field columns[] = {
        { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct count_row, count) }
    };
    static const struct db_statement counting = {
        .result = DB_ONE,
        .columns = columns,
        .column_count = ARRAY_COUNT(columns),
        .row_size = sizeof(struct count_row),
    };
    struct search_sql sql;
    struct db_rows rows;
    search_sql_init(&sql, work->arena);
    search_sql_add(&sql, "select count(*)");
    if (!add_where(work, search, &sql, err) || !run(work, &sql, counting, &rows, err))
        return false;
    *ret_count = ((const struct count_row *)rows.rows)->count;
    return true;
}
