/*
 * For the tests of contacts: an engine on the private server, a brand a test,
 * and short words for what they do.
 */
#pragma once

#include "private_db.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "db/migrate.h"
#include "engine/brands/brands.h"
#include "engine/contacts/contacts.h"

#include <string.h>

static struct engine engine = { .sandbox_domain = "sandbox.test" };
static struct work work; /* in a brand of its own */

static inline int contacts_group_setup(void **state)
{
    struct error err = { .code = ERR_NONE };
    int version;
    crypto_start();
    if (group_setup(state) != 0)
        return -1;
    DB_CONN_SCOPE first = NULL;
    bool ok = db_connect(db, 1000, &first, &err) && db_migrate(first, &version, &err) && engine_load(first, &engine, &err);
    if (!ok)
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    return ok ? 0 : -1;
}

static inline int64_t new_brand(void)
{
    struct error err;
    struct brand_fields fields = { .name = "Test" };
    struct brand_row *brand;
    assert_ok(brand_create(&work, &fields, &brand, &err), &err);
    return brand->id;
}

static inline int contacts_setup(void **state)
{
    if (setup(state) != 0)
        return -1;
    work = (struct work){
        .engine = &engine,
        .arena = arena,
        .conn = conn,
        .organization_id = engine.default_organization_id,
        .now_us = clock_now_us(),
    };
    work.brand_id = new_brand();
    return 0;
}

#define CONTACTS_TEST(function) cmocka_unit_test_setup_teardown(function, contacts_setup, teardown)

/* ---- In few words ---- */

static inline const json_t *json_of(const char *text)
{
    struct error err;
    const json_t *json;
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err), &err);
    return json;
}

static inline struct opt_text is_text(const char *value)
{
    return (struct opt_text){ .set = true, .value = value };
}

static inline struct opt_bool is_bool(bool value)
{
    return (struct opt_bool){ .set = true, .value = value };
}

static inline struct contact_saved save(const struct contact_change *change)
{
    struct error err;
    struct contact_saved saved;
    assert_ok(contact_save(&work, change, &saved, &err), &err);
    return saved;
}

static inline struct contact_saved save_email(const char *email)
{
    struct contact_change change = { .email = email };
    return save(&change);
}

static inline struct contact_saved save_fields(const char *email, const char *custom_fields)
{
    struct contact_change change = { .email = email, .custom_fields = json_of(custom_fields) };
    return save(&change);
}

static inline void run_sql(const char *format, ...) PRINTF_LIKE(1, 2);
static inline void run_sql(const char *format, ...)
{
    struct error err;
    va_list arguments;
    va_start(arguments, format);
    const char *sql = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    assert_ok(db_script(conn, sql, &err), &err);
}

static inline int64_t number_of(const char *sql)
{
    struct error err;
    struct db_rows rows;
    struct db_statement statement = {
        .name = "", .result = DB_ONE, .sql = sql, .columns = number_fields, .column_count = 1, .row_size = sizeof(struct number)
    };
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static inline bool json_is(const char *text, const char *expected)
{
    return json_equal(json_for_iteration(json_of(text)), json_for_iteration(json_of(expected))) == 1;
}
