/*
 * Drift of prepared statements: every generated statement is prepared on a freshly
 * migrated database, and its declaration is compared with the description by
 * PostgreSQL. Each difference is printed with the name of the statement.
 */
#include "fixtures/private_db.h"

#include "db/codec.h"
#include "db/db_errors.h"
#include "db/migrate.h"
#include "sql/all_statements.h"

#include <string.h>

static PGconn *pg;
static int differences;

static void differs(const struct db_statement *statement, const char *format, ...) PRINTF_LIKE(2, 3);
static void differs(const struct db_statement *statement, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    print_message("%s: %s\n", statement->name, text);
    differences++;
}

/* ---- What PostgreSQL says ---- */

static const char *query_text(struct arena *scratch, const char *sql, const char *parameter, const char *second)
{
    const char *const values[] = { parameter, second };
    PGresult *result = PQexecParams(pg, sql, second != NULL ? 2 : 1, NULL, values, NULL, NULL, 0);
    const char *text = PQntuples(result) == 1 && !PQgetisnull(result, 0, 0) ? arena_dup(scratch, PQgetvalue(result, 0, 0)) : NULL;
    PQclear(result);
    return text;
}

static const char *type_name(struct arena *scratch, Oid type)
{
    const char *name = query_text(scratch, "select format_type($1::oid, null)", arena_printf(scratch, "%u", type), NULL);
    return name != NULL ? name : "?";
}

/* Whether a column of a table may hold null; false for expressions, of which nothing is known. */
static bool may_be_null(struct arena *scratch, Oid table, int column)
{
    const char *is_not_null =
        query_text(scratch, "select attnotnull from pg_attribute where attrelid = $1::oid and attnum = $2::int2",
                   arena_printf(scratch, "%u", table), arena_printf(scratch, "%d", column));
    return table != 0 && is_not_null != NULL && strcmp(is_not_null, "f") == 0;
}

/* ---- Comparing ---- */

/* The types that take a value of a declared type and lose something of it. With the type declared the server converts
 * silently or fails at run time, so it is asked what it would have taken by itself. */
static bool loses(enum db_type declared, Oid inferred)
{
    enum { INT2_OID = 21, INT4_OID = 23, INT8_OID = 20, FLOAT4_OID = 700, TIMESTAMP_OID = 1114, DATE_OID = 1082 };
    switch (declared) {
    case DB_BIGINT:
        return inferred == INT4_OID || inferred == INT2_OID;
    case DB_INTEGER:
        return inferred == INT2_OID;
    case DB_FLOAT:
        return inferred == FLOAT4_OID || inferred == INT8_OID || inferred == INT4_OID || inferred == INT2_OID;
    case DB_TIMESTAMPTZ:
        return inferred == TIMESTAMP_OID || inferred == DATE_OID;
    case DB_BOOLEAN:
    case DB_TEXT:
    case DB_JSONB:
    case DB_BYTEA:
    case DB_BIGINT_ARRAY:
    case DB_TIMESTAMPTZ_ARRAY:
    case DB_TEXT_ARRAY:
    case DB_JSONB_ARRAY:
    case DB_BOOLEAN_ARRAY:
        return false;
    }
    return false;
}

static void compare_params(struct arena *scratch, const struct db_statement *statement)
{
    PGresult *prepared = PQprepare(pg, "", statement->sql, 0, NULL);
    bool understood = PQresultStatus(prepared) == PGRES_COMMAND_OK;
    PQclear(prepared);
    /* When the SQL text does not fix a type, the declared type applies. A parameter that is only compared loses no precision. */
    bool writes = strcasestr(statement->sql, "insert into") != NULL || strcasestr(statement->sql, "update ") != NULL;
    if (!understood || !writes)
        return;
    PGresult *described = PQdescribePrepared(pg, "");
    for (int i = 0; i < PQnparams(described) && (size_t)i < statement->param_count; i++) {
        const struct db_field *field = &statement->params[i];
        Oid type = PQparamtype(described, i);
        if (loses(field->type, type))
            differs(statement, "parameter %s is declared %s and used as %s", field->name, db_type_name(field->type),
                    type_name(scratch, type));
    }
    PQclear(described);
}

/* The index of a column that bears this one's declared name while this one bears that one's; -1 when there is none. Other
 * names are free, because columns go by their place. */
static int swapped_with(const struct db_statement *statement, const PGresult *described, int index)
{
    const char *declared = statement->columns[index].name;
    const char *given = PQfname(described, index);
    for (int i = 0; i < PQnfields(described) && (size_t)i < statement->column_count; i++) {
        if (i != index && strcmp(statement->columns[i].name, given) == 0 && strcmp(PQfname(described, i), declared) == 0)
            return i;
    }
    return -1;
}

static void compare_columns(struct arena *scratch, const struct db_statement *statement, const PGresult *described)
{
    enum { VARCHAR_OID = 1043 };
    if (statement->result != DB_EXEC && (size_t)PQnfields(described) != statement->column_count)
        differs(statement, "declares %zu columns and gives %d", statement->column_count, PQnfields(described));
    for (int i = 0; i < PQnfields(described) && (size_t)i < statement->column_count; i++) {
        const struct db_field *field = &statement->columns[i];
        Oid type = PQftype(described, i);
        bool fits = type == db_type_oid(field->type) || (field->type == DB_TEXT && type == VARCHAR_OID);
        if (!fits)
            differs(statement, "column %s is declared %s and is %s", field->name, db_type_name(field->type),
                    type_name(scratch, type));
        if (swapped_with(statement, described, i) > i)
            differs(statement, "columns %s and %s are swapped", field->name, PQfname(described, i));
        if (!field->nullable && may_be_null(scratch, PQftable(described, i), PQftablecol(described, i)))
            differs(statement, "column %s is declared not null, and the table allows null", field->name);
    }
}

static void compare(const struct db_statement *statement)
{
    ARENA_SCOPE scratch = arena_new(0);
    Oid types[DB_MAX_PARAMS];
    for (size_t i = 0; i < statement->param_count; i++)
        types[i] = db_type_oid(statement->params[i].type);
    PGresult *prepared = PQprepare(pg, "", statement->sql, (int)statement->param_count, types);
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK) {
        differs(statement, "%s", PQresultErrorField(prepared, PG_DIAG_MESSAGE_PRIMARY));
        PQclear(prepared);
        return;
    }
    PQclear(prepared);
    PGresult *described = PQdescribePrepared(pg, "");
    if (PQnparams(described) > (int)statement->param_count)
        differs(statement, "declares %zu parameters and has %d", statement->param_count, PQnparams(described));
    compare_columns(scratch, statement, described);
    PQclear(described);
    compare_params(scratch, statement);
}

/* ---- Tests ---- */

static int migrated_setup(void **state)
{
    struct error err = { .code = ERR_NONE };
    if (group_setup(state) != 0)
        return -1;
    ARENA_SCOPE scratch = arena_new(0);
    DB_CONN_SCOPE first = NULL;
    int version;
    if (!db_connect(db, 1000, &first, &err) || !db_migrate(first, &version, &err)) {
        print_error("%s (%s)\n", err.message, err.cause);
        return -1;
    }
    pg = PQconnectdb(cluster_url(scratch, folder));
    PQclear(PQexec(pg, "set search_path = posthorn"));
    return PQstatus(pg) == CONNECTION_OK ? 0 : -1;
}

static int migrated_teardown(void **state)
{
    PQfinish(pg);
    return group_teardown(state);
}

static void test_statements_fit_the_schema(void **state)
{
    (void)state;
    differences = 0;
    assert_true(all_statement_count > 0);
    for (size_t i = 0; i < all_statement_count; i++)
        compare(all_statements[i]);
    assert_int_equal(differences, 0);
}

static void test_known_constraints_exist(void **state)
{
    (void)state;
    ARENA_SCOPE scratch = arena_new(0);
    for (size_t i = 0; i < db_constraint_error_count; i++) {
        const char *found = query_text(
            scratch,
            "select conname from pg_constraint where conname = $1 and connamespace = 'posthorn'::regnamespace "
            "union select relname from pg_class where relname = $1 and relkind = 'i' and relnamespace = 'posthorn'::regnamespace",
            db_constraint_errors[i].constraint, NULL);
        if (found == NULL)
            fail_msg("db_errors.c knows the constraint %s, and the schema has none of that name",
                     db_constraint_errors[i].constraint);
    }
}

/* The comparison itself: each of these differs, and in one way only. */
static void test_differences_are_seen(void **state)
{
    (void)state;
    PGresult *made =
        PQexec(pg, "create temp table drift (small integer not null, maybe bigint, day date not null, words text not null)");
    assert_int_equal(PQresultStatus(made), PGRES_COMMAND_OK);
    PQclear(made);
    static const struct db_field maybe[] = { { "maybe", DB_BIGINT, true, 0 } };
    static const struct db_field not_maybe[] = { { "maybe", DB_BIGINT, false, 0 } };
    static const struct db_field small_as_big[] = { { "small", DB_BIGINT, false, 0 } };
    static const struct db_field other_name[] = { { "other", DB_TEXT, false, 0 } };
    static const struct db_field time[] = { { "time", DB_TIMESTAMPTZ, false, 0 } };
#define DRIFT(text, parameters, parameter_count, results)                                                                          \
    {                                                                                                                              \
        .name = "drift", .result = DB_MANY, .sql = (text), .params = (parameters), .param_count = (parameter_count),               \
        .columns = (results), .column_count = 1                                                                                    \
    }
    static const struct db_statement good[] = {
        DRIFT("select maybe from drift", NULL, 0, maybe),
        DRIFT("select maybe from drift where words = $1", other_name, 1, maybe),
        DRIFT("select maybe from drift where now() > $1 + interval '1 day'", time, 1, maybe),
    };
    static const struct db_statement bad[] = {
        DRIFT("select maybe from drift", NULL, 0, not_maybe),
        DRIFT("select small from drift", NULL, 0, small_as_big),
        DRIFT("select words from drift where small = $1", other_name, 1, other_name),
        DRIFT("select maybe, maybe from drift", NULL, 0, maybe),
        DRIFT("select gone from drift", NULL, 0, maybe),
        DRIFT("select maybe from drift where small = $1 + $2", small_as_big, 1, maybe),
        DRIFT("insert into drift (small) values ($1) returning maybe", small_as_big, 1, maybe),
        DRIFT("insert into drift (day) values ($1) returning maybe", time, 1, maybe),
    };
    static const struct db_field two[] = { { "day", DB_BIGINT, true, 0 }, { "maybe", DB_BIGINT, true, 0 } };
    static const struct db_statement swapped = {
        .name = "drift", .result = DB_MANY, .sql = "select maybe, maybe as day from drift", .columns = two, .column_count = 2
    };
    differences = 0;
    compare(&swapped);
    assert_int_equal(differences, 1);

    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        differences = 0;
        compare(&good[i]);
        assert_int_equal(differences, 0);
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        differences = 0;
        compare(&bad[i]);
        if (differences != 1)
            fail_msg("%d differences: %s", differences, bad[i].sql);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements_fit_the_schema),
        cmocka_unit_test(test_known_constraints_exist),
        cmocka_unit_test(test_differences_are_seen),
    };
    return cmocka_run_group_tests(tests, migrated_setup, migrated_teardown);
}
