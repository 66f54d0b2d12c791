/*
 * Imports on a real PostgreSQL, run step by step: mapping of columns and cells, the
 * result of each row, and resumption. An import that stops at any chunk and is resumed
 * has the same result. tests/integration/imports tests the job around it.
 */
#include "fixtures/own_fail.h"

#include "fixtures/import_steps.h"

#include "base/text.h"
#include "engine/contacts/contacts.h"
#include "engine/fields/fields.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[128]; /* the import root of this test */

static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from imports; delete from contact_fields");
    snprintf(root, sizeof(root), "%s/import-%d", folder, rand());
    work.engine->import_root = NULL;
    if (mkdir(root, 0755) != 0)
        return -1;
    work.engine->import_root = root;
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

/* ---- In few words ---- */

static const json_t *import_text(const char *csv)
{
    return import_all(&(struct import_request){ .csv = csv });
}

static void assert_summary(const json_t *result, int inserted, int updated, int unchanged, int skipped, int failed)
{
    const json_t *summary = json_object_get(result, "summary");
    int64_t found[] = { json_get_int(summary, "inserted", -1), json_get_int(summary, "updated", -1),
                        json_get_int(summary, "unchanged", -1), json_get_int(summary, "skipped", -1),
                        json_get_int(summary, "failed", -1) };
    int expected[] = { inserted, updated, unchanged, skipped, failed };
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++)
        assert_int_equal(found[i], expected[i]);
}

static const char *error_at(const json_t *result, size_t index, const char *member)
{
    return json_get_text(json_array_get(json_object_get(result, "errors"), index), member);
}

static int64_t error_line(const json_t *result, size_t index)
{
    return json_get_int(json_array_get(json_object_get(result, "errors"), index), "line", -1);
}

/* A text of a contact, by an SQL expression. */
static const char *value_of(const char *email, const char *expression)
{
    static const struct db_field field = { .name = "value", .type = DB_TEXT, .nullable = true };
    struct error err;
    struct db_rows rows;
    const struct db_statement statement = {
        .name = "",
        .result = DB_ONE,
        .sql = arena_printf(arena, "select (%s)::text from contacts where email_key = '%s'", expression, email),
        .columns = &field,
        .column_count = 1,
        .row_size = sizeof(const char *),
    };
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    return *(const char **)rows.rows;
}

static void assert_value(const char *email, const char *expression, const char *expected)
{
    const char *found = value_of(email, expression);
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found, expected);
}

/* The import is refused as a whole, when it is asked for or when its text is looked at, and nothing is stored. */
static void assert_refused(const struct import_request *request, const char *param, const char *sentence)
{
    struct error err = { .code = ERR_NONE };
    struct import_asked asked;
    DB_TX tx;
    IMPORT_SCOPE import = { .source = { .fd = -1 } };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    bool accepted = import_create(&work, request, &asked, &err);
    if (accepted)
        assert_ok(db_tx_commit(&tx, &err), &err);
    else
        db_tx_rollback(&tx);
    assert_false(accepted && import_open(&work, asked.id, &import, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
    if (strstr(err.message, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, sentence);
    assert_int_equal(number_of("select (select count(*) from contacts) + (select count(*) from contact_fields)"), 0);
}

static void assert_text_refused(const char *csv, const char *sentence)
{
    assert_refused(&(struct import_request){ .csv = csv }, "csv", sentence);
}

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    char *path = arena_printf(arena, "%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const json_t *import_file_of(const void *bytes, size_t size)
{
    write_file("file.csv", bytes, size);
    return import_all(&(struct import_request){ .path = "file.csv" });
}

/* ---- Rows ---- */

/* given values are saved, absent ones get their default, and each row is counted once. */
static void test_rows_are_saved(void **state)
{
    (void)state;
    const json_t *result = import_text("Email,First Name,lastName,userId,source\n"
                                       " Ada@Example.com ,Ada,\"Love, lace\",u1,fair\n"
                                       "bob@example.com,,,,\n"
                                       ",,,,\n"
                                       "\n"
                                       "cyd@example.com\n"
                                       "dan@example.com,D,,,,,\n");
    assert_summary(result, 4, 0, 0, 1, 0);
    assert_string_equal(json_get_text(result, "status"), "completed");
    assert_value("ada@example.com", "email", "Ada@example.com");
    assert_value("ada@example.com", "last_name", "Love, lace");
    assert_value("ada@example.com", "source", "fair");
    assert_value("ada@example.com", "user_id", "u1");
    assert_value("bob@example.com", "first_name", NULL);
    assert_value("bob@example.com", "source", "API");
    assert_value("bob@example.com", "subscribed", "true");
    assert_value("cyd@example.com", "custom_fields", "{}");
}

/* rows without a change are not written; empty cells keep the stored values. */
static void test_known_contacts_change_where_they_differ(void **state)
{
    (void)state;
    static const char csv[] = "email,firstName,plan\na@example.com,Ann,pro\nb@example.com,Bob,free\nc@example.com,Cyd,\n";
    assert_summary(import_text(csv), 3, 0, 0, 0, 0);
    run_sql("update contacts set updated_at = '2020-01-01', subscription_groups = '{\"g\": true}'");
    assert_summary(import_text(csv), 0, 0, 3, 0, 0);
    assert_int_equal(number_of("select count(*) from contacts where updated_at = '2020-01-01'"), 3);
    const json_t *result = import_text("email,firstName,plan,city\nA@example.com,,,\nb@example.com,,team,\nc@example.com,,,Rome\n");
    assert_summary(result, 0, 3, 0, 0, 0);
    assert_value("a@example.com", "email", "A@example.com");
    assert_value("a@example.com", "first_name", "Ann");
    assert_value("b@example.com", "custom_fields", "{\"plan\": \"team\"}");
    assert_value("c@example.com", "custom_fields", "{\"city\": \"Rome\"}");
    assert_value("c@example.com", "subscription_groups", "{\"g\": true}");
    assert_int_equal(number_of("select count(*) from contacts where updated_at = '2020-01-01'"), 0);
}

/* the address is the merge key, in any spelling; of several rows the later counts, as far as it says something. */
static void test_later_rows_win(void **state)
{
    (void)state;
    const json_t *result = import_text("email,firstName,lastName,plan,city\n"
                                       "ann@example.com,One,Smith,pro,Rome\n"
                                       "bob@example.com,Bob,,,\n"
                                       "ANN@EXAMPLE.COM,Two,,free,\n"
                                       "ann@example.com,Two,,,\n");
    assert_summary(result, 2, 2, 0, 0, 0);
    assert_value("ann@example.com", "first_name", "Two");
    assert_value("ann@example.com", "last_name", "Smith");
    assert_value("ann@example.com", "custom_fields", "{\"city\": \"Rome\", \"plan\": \"free\"}");
    assert_value("ann@example.com", "email", "ann@example.com");
}

/* a row that cannot be saved is told with its line; the others land. */
static void test_rows_that_fail(void **state)
{
    (void)state;
    const json_t *result = import_text("email,firstName,subscribed\n"
                                       "good@example.com,G,yes\n"
                                       "bad,B,\n"
                                       ",C,\n"
                                       "\"d@example.com\",\"two\nlines\",maybe\n"
                                       "e@example.com,E,,too,much\n"
                                       "\"f@example.com\"x,F\n"
                                       "fine@example.com,,\n"
                                       "\"open@example.com,O\n");
    assert_summary(result, 2, 0, 0, 0, 6);
    static const struct {
        int line;
        const char *code;
        const char *email;
        const char *field;
        const char *says;
    } expected[] = {
        { 3, "INVALID_EMAIL", "bad", "email", "no '@'" },
        { 4, "MISSING_EMAIL", NULL, "email", "no email" },
        { 5, "INVALID_REQUEST", "d@example.com", "subscribed", "true or false" },
        { 7, "INVALID_REQUEST", "e@example.com", NULL, "Line 7 has 5 cells; the header has 3" },
        { 8, "INVALID_REQUEST", NULL, NULL, "In line 8, text follows" },
        { 10, "INVALID_REQUEST", NULL, NULL, "quote that opens in line 10" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
        assert_int_equal(error_line(result, i), expected[i].line);
        assert_string_equal(error_at(result, i, "code"), expected[i].code);
        assert_true(text_equal(error_at(result, i, "email"), expected[i].email));
        assert_true(text_equal(error_at(result, i, "field"), expected[i].field));
        assert_non_null(strstr(error_at(result, i, "message"), expected[i].says));
    }
}

/* The bounds of a contact are those of every transport. */
static void test_long_values_fail(void **state)
{
    (void)state;
    char *name = arena_alloc(arena, 3000);
    memset(name, 'x', 201);
    assert_summary(import_text(arena_printf(arena, "email,firstName\na@example.com,%s\n", name)), 0, 0, 0, 0, 1);
    name[200] = '\0';
    assert_summary(import_text(arena_printf(arena, "email,firstName\na@example.com,%s\n", name)), 1, 0, 0, 0, 0);
    memset(name, 'x', 2001);
    const json_t *result = import_text(arena_printf(arena, "email,note\na@example.com,%s\n", name));
    assert_string_equal(error_at(result, 0, "field"), "customFields.note");
}

/* a column whose name has as many characters as a field can have, in the longest encoding. */
static void test_longest_column_name(void **state)
{
    (void)state;
    char name[FIELD_NAME_MAX_CHARS * 4 + 1] = "";
    for (size_t i = 0; i < FIELD_NAME_MAX_CHARS; i++)
        memcpy(name + 4 * i, "\xf0\x9d\x90\x80", 4);
    const char *wide = arena_printf(arena, "%02001d", 7);
    const json_t *result = import_text(arena_printf(arena, "email,%s\na@example.com,gold\nb@example.com,%s\n", name, wide));
    assert_summary(result, 1, 0, 0, 0, 1);
    assert_value("a@example.com", "custom_fields", arena_printf(arena, "{\"%s\": \"gold\"}", name));
    /* The report cuts the name at a character. */
    const char *field = error_at(result, 0, "field");
    assert_int_equal(strncmp(field, "customFields.\xf0\x9d\x90\x80", 17), 0);
}

/* Kept are 10,000 of the rows that failed; the others are counted. */
static void test_errors_are_bounded(void **state)
{
    (void)state;
    struct buf *csv = buf_in_arena(arena, 1 << 20);
    buf_add_text(csv, "email\n");
    for (int i = 0; i < IMPORT_MAX_ERRORS_KEPT + 7; i++)
        buf_printf(csv, "bad %d\n", i);
    const json_t *result = import_text(buf_text(csv));
    assert_summary(result, 0, 0, 0, 0, IMPORT_MAX_ERRORS_KEPT + 7);
    assert_int_equal(json_array_size(json_object_get(result, "errors")), IMPORT_SHOWN_ERRORS);
    assert_int_equal(number_of("select count(*) from import_errors"), IMPORT_MAX_ERRORS_KEPT);
    assert_int_equal(number_of("select max(line) from import_errors"), IMPORT_MAX_ERRORS_KEPT + 1);
}

/* ---- Consent ---- */

/* a missing column and an empty cell never change whether somebody is subscribed. */
static void test_subscribed_is_left_alone(void **state)
{
    (void)state;
    import_text("email,subscribed\na@example.com,false\nb@example.com,TRUE\nc@example.com,\n");
    assert_value("a@example.com", "subscribed", "false");
    assert_value("b@example.com", "subscribed", "true");
    assert_value("c@example.com", "subscribed", "true");
    import_text("email,firstName\na@example.com,A\nb@example.com,B\n");
    import_text("email,subscribed\na@example.com,\nb@example.com,\n");
    assert_value("a@example.com", "subscribed", "false");
    assert_value("b@example.com", "subscribed", "true");
}

/* Unsubscribes survive the contact, and only an explicit word lifts them; bounces stay. */
static void test_suppressions_hold(void **state)
{
    (void)state;
    import_text("email,subscribed\na@example.com,no\nb@example.com,0\nc@example.com,1\n");
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribed'"), 2);
    run_sql("delete from contacts");
    import_text("email\na@example.com\nb@example.com\nc@example.com\n");
    assert_value("a@example.com", "subscribed", "false");
    assert_value("c@example.com", "subscribed", "true");
    import_text("email,subscribed\na@example.com,yes\n");
    assert_value("a@example.com", "subscribed", "true");
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    run_sql("update suppressions set reason = 'bounced'");
    import_text("email,subscribed\nb@example.com,yes\n");
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounced'"), 1);
}

/* ---- Columns ---- */

static void test_headers_are_understood(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "email,firstName,lastName,userId",         "E-Mail,First Name,Last Name,User ID",
        "EMAIL ADDRESS,first_name,SURNAME,userid", "\"e-mail\",given name,family-name,User-Id",
        "Mail,Vorname,Nachname,USER_ID",           " email , forename , lastname , user id ",
    };
    for (size_t i = 0; i < ARRAY_COUNT(headers); i++) {
        run_sql("delete from contacts");
        const json_t *result = import_text(arena_printf(arena, "%s\na@example.com,Ann,Lee,u7\n", headers[i]));
        assert_summary(result, 1, 0, 0, 0, 0);
        assert_value("a@example.com", "first_name || last_name || user_id || custom_fields", "AnnLeeu7{}");
        assert_int_equal(json_array_size(json_object_get(result, "warnings")), 0);
    }
}

/* unknown columns become fields under their normalized names, with a warning. */
static void test_fields_are_created(void **state)
{
    (void)state;
    const json_t *result = import_text("email,favorite_color,plan,,Empty Column\na@example.com,red,pro,x,\n");
    const json_t *created = json_object_get(result, "fieldsCreated");
    assert_int_equal(json_array_size(created), 2);
    assert_string_equal(json_string_value(json_array_get(created, 0)), "favoriteColor");
    assert_value("a@example.com", "custom_fields", "{\"plan\": \"pro\", \"favoriteColor\": \"red\"}");
    const json_t *warnings = json_object_get(result, "warnings");
    assert_string_equal(json_get_text(json_array_get(warnings, 0), "code"), "FIELD_NAME_NORMALIZED");
    assert_string_equal(json_get_text(json_array_get(warnings, 0), "original"), "favorite_color");
    assert_string_equal(json_get_text(json_array_get(warnings, 1), "code"), "COLUMN_SKIPPED");
    assert_non_null(strstr(json_get_text(json_array_get(warnings, 1), "message"), "Column 4"));
}

static void test_mapping(void **state)
{
    (void)state;
    const char *csv = "Kontakt,Ref,Notes,Ort\na@example.com,u1,secret,Bonn\n";
    const json_t *mapping = json_of("{\"Kontakt\": \"email\", \"Ref\": \"userId\", \"Notes\": null, \"Ort\": \"city\"}");
    const json_t *result = import_all(&(struct import_request){ .csv = csv, .mapping = mapping });
    assert_summary(result, 1, 0, 0, 0, 0);
    assert_value("a@example.com", "user_id || custom_fields", "u1{\"city\": \"Bonn\"}");

    run_sql("delete from contacts; delete from contact_fields");
    struct import_request request = { .csv = csv, .mapping = json_of("{\"Kontakt\": \"email\", \"Gone\": \"city\"}") };
    assert_refused(&request, "mapping.Gone", "\"Kontakt\", \"Ref\"");
    request.mapping = json_of("{\"Kontakt\": \"email\", \"Ref\": \"subscription_groups\"}");
    assert_refused(&request, "mapping.Ref", "subscriptionGroups");
    request.mapping = json_of("{\"Kontakt\": \"email\", \"Ref\": 5}");
    assert_refused(&request, "mapping.Ref", "null to skip the column");
    request.mapping = json_of("{\"Kontakt\": \"email\", \"Ref\": \"a\", \"Ort\": \"a\"}");
    assert_refused(&request, "csv", "Columns 2 (\"Ref\") and 4 (\"Ort\") both map to the field a.");
}

static char *repeated(const char *piece, size_t count)
{
    struct buf *out = buf_in_arena(arena, 16 << 20);
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, piece);
    return arena_dup(arena, buf_text(out));
}

/* Half a character in param would make the JSON of the answer invalid. */
static void test_a_long_column_name_is_cut_between_characters(void **state)
{
    (void)state;
    const char *name = repeated("\xc3\xa9", 100);
    const char *param = arena_printf(arena, "mapping.%s", repeated("\xc3\xa9", 59));
    struct import_request request = { .csv = "email\na@example.com\n" };
    request.mapping = json_of(arena_printf(arena, "{\"%s\": \"city\"}", name));
    assert_refused(&request, param, "The file has no such column.");
    request.mapping = json_of(arena_printf(arena, "{\"%s\": 5}", name));
    assert_refused(&request, param, "null to skip the column");
    request.csv = arena_printf(arena, "email,%s\na@example.com,x\n", name);
    request.mapping = json_of(arena_printf(arena, "{\"%s\": \"first.name\"}", name));
    assert_refused(&request, param, "letters and digits");
}

/* The largest mapping is read again by the job. A larger one is refused before anything is stored. */
static void test_mappings_are_bounded(void **state)
{
    (void)state;
    json_t *mapping = json_in_arena(arena, json_object());
    struct import_request request = { .csv = "email\na@example.com\n", .mapping = mapping };
    const char *filler = repeated("\x01", IMPORT_HEADER_MAX_BYTES - 3);
    for (int i = 0; i < CSV_MAX_CELLS; i++)
        json_object_set_new(mapping, arena_printf(arena, "%s%03d", filler, i), json_string(filler));
    assert_refused(&request, arena_printf(arena, "mapping.%s", repeated("\x01", 119)), "The file has no such column.");

    int64_t imports = number_of("select count(*) from imports");
    struct error err = { .code = ERR_NONE };
    struct import_asked asked;
    request.mapping = json_of(arena_printf(arena, "{\"%s\": \"city\"}", repeated("a", IMPORT_HEADER_MAX_BYTES + 1)));
    assert_false(import_create(&work, &request, &asked, &err));
    assert_string_equal(err.param, "mapping");
    error_clear(&err);
    request.mapping = json_of(arena_printf(arena, "{\"email\": \"%s\"}", repeated("a", 1200000)));
    assert_false(import_create(&work, &request, &asked, &err));
    assert_string_equal(err.param, "mapping");
    assert_non_null(strstr(err.message, "longer than 512 bytes"));
    assert_int_equal(number_of("select count(*) from imports"), imports);
}

/* An error that makes the whole text unusable is reported before anything is stored. R-364: reserved names are no custom fields. */
static void test_unusable_texts(void **state)
{
    (void)state;
    assert_text_refused("name,town\nAnn,Rome\n", "No column contains the email address. The columns are: \"name\", \"town\".");
    assert_text_refused("email,Plan,plan\na@example.com,x,y\n",
                        "Columns 2 (\"Plan\") and 3 (\"plan\") both map to the field plan.");
    assert_text_refused("E-Mail,email\n", "Columns 1 (\"E-Mail\") and 2 (\"email\") both map to the field email.");
    assert_text_refused("email,subscriptionGroups\n", "\"subscriptionGroups\" cannot be a field");
    assert_text_refused("email,price (EUR)\n", "\"price (EUR)\" cannot be a field");
    assert_text_refused("\n\n", "is empty");
    assert_text_refused("\"email,name\na@example.com,A\n", "quote that opens in line 1");
    assert_text_refused(arena_printf(arena, "email%s\n", repeated(",x", 999999)), "Line 1 is longer than");
    assert_text_refused(arena_printf(arena, "email%s\n", repeated(",", 100000)),
                        "Line 1 has 100001 columns; an import can have at most 500.");
    assert_refused(&(struct import_request){ .csv = NULL }, "csv", "either csv or path");
    assert_refused(&(struct import_request){ .csv = "email\n", .path = "x" }, "path", "either csv or path");
}

/* D-82: the mapping that a refusal proposes is used as it is. */
static void test_all_columns_at_fault_are_told(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    struct import_request request = { .csv = "Who,a b!,a-b,42 %,name\nann@example.com,1,2,3,4\n" };
    json_writer_init(&json, out);
    assert_false(import_preview(&work, &request, &json, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "csv");
    assert_non_null(strstr(err.message, "details.mapping"));
    const json_t *details = json_of(err.details_json);
    assert_int_equal(json_array_size(json_object_get(details, "columns")), 3);
    request.mapping = json_object_get(details, "mapping");
    assert_string_equal(json_get_text(request.mapping, "Who"), "email");

    error_clear(&err);
    assert_ok(import_preview(&work, &request, &json, &err), &err);
    assert_int_equal(json_get_int(json_object_get(json_of(buf_text(out)), "summary"), "inserted", -1), 1);
    assert_int_equal(number_of("select (select count(*) from contacts) + (select count(*) from contact_fields)"), 0);
    assert_int_equal(number_of("select count(*) from imports"), 0);
}

/* 499 long names without a letter that a field can begin with, and one mapped column: all of them are in the mapping. */
static void test_many_long_columns_at_fault_are_told(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct json_writer json;
    struct buf *csv = buf_in_arena(arena, 1 << 20);
    buf_add_text(csv, "Who");
    for (int i = 1; i < CSV_MAX_CELLS; i++)
        buf_printf(csv, ",%03d %s", i, repeated("\xe2\x82\xac", (IMPORT_HEADER_MAX_BYTES - 4) / 3));
    buf_printf(csv, "\nann@example.com%s\n", repeated(",1", CSV_MAX_CELLS - 1));
    struct import_request request = { .csv = buf_text(csv), .mapping = json_of("{\"Who\": \"email\"}") };
    json_writer_init(&json, buf_in_arena(arena, 1 << 20));
    assert_false(import_preview(&work, &request, &json, &err));
    assert_non_null(strstr(err.message, "499 faults in all"));
    assert_non_null(err.details_json);
    const json_t *details = json_of(err.details_json);
    assert_int_equal(json_array_size(json_object_get(details, "columns")), 50);
    assert_int_equal(json_object_size(json_object_get(details, "mapping")), CSV_MAX_CELLS);

    error_clear(&err);
    request.mapping = json_object_get(details, "mapping");
    json_writer_init(&json, buf_in_arena(arena, 1 << 20));
    assert_ok(import_preview(&work, &request, &json, &err), &err);
}

/* What a preview counts is what the import then does. */
static void test_a_preview_tells_what_the_import_does(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    import_text("email,n\nb1@example.com,1\nb3@example.com,1\n");
    struct buf *csv = buf_in_arena(arena, 16 << 20);
    buf_add_text(csv, "email,n\n");
    for (size_t i = 0; i < 2 * IMPORT_CHUNK_ROWS; i++)
        buf_printf(csv, i % 100 == 7 ? "bad %zu,1\n" : "b%zu@example.com,2\n", i % 20000);
    struct import_request request = { .csv = buf_text(csv) };
    assert_ok(import_preview(&work, &request, &json, &err), &err);
    const json_t *preview = json_of(buf_text(out));
    const json_t *expected = json_object_get(preview, "summary");
    assert_int_equal(json_get_int(preview, "rowsRead", 0), 2 * IMPORT_CHUNK_ROWS);
    assert_int_equal(json_get_int(expected, "updated", 0), 2);
    assert_int_equal(json_get_int(json_object_get(preview, "errorCounts"), "INVALID_EMAIL", 0),
                     json_get_int(expected, "failed", 0));
    const json_t *done = import_all(&request);
    const json_t *summary = json_object_get(done, "summary");
    assert_int_equal(json_get_int(summary, "inserted", -1), json_get_int(expected, "inserted", -2));
    assert_int_equal(json_get_int(summary, "failed", -1), json_get_int(expected, "failed", -2));
}

/* A row of a million cells is one row that fails. */
static void test_wide_rows_fail(void **state)
{
    (void)state;
    const char *csv = arena_printf(arena, "email,a\nx@example.com,%s\ny@example.com,1\nz@example.com%s\n", repeated("1,", 100000),
                                   repeated(",", 1000000));
    const json_t *result = import_text(csv);
    assert_summary(result, 1, 0, 0, 0, 2);
    assert_non_null(strstr(error_at(result, 0, "message"), "Line 2 has 100002 cells"));
    assert_int_equal(error_line(result, 1), 4);
}

/* ---- Types ---- */

/* the type of a new field is what all its values have in common. */
static void test_types_are_inferred(void **state)
{
    (void)state;
    static const struct {
        const char *values[3];
        char delimiter;
        const char *type;
        const char *stored; /* of the first */
    } cases[] = {
        { { "1", "-2.5", "0" }, ',', "number", "1" },
        { { "2.50", "1", "" }, ',', "number", "2.5" },
        { { "007", "1", "" }, ',', "string", "\"007\"" },
        { { "+4930", "1", "" }, ',', "string", "\"+4930\"" },
        { { "1234567890123456", "1", "" }, ',', "string", "\"1234567890123456\"" },
        { { "1e5", "", "" }, ',', "string", "\"1e5\"" },
        { { "1,5", "2", "12,25" }, ';', "number", "1.5" },
        { { "1,500", "2,250", "" }, ';', "string", "\"1,500\"" },
        { { "1,5", "2.5", "" }, ';', "string", "\"1,5\"" },
        { { "true", "FALSE", "" }, ',', "bool", "true" },
        { { "Yes", "no", "yes" }, ',', "bool", "true" },
        { { "yes", "maybe", "" }, ',', "string", "\"yes\"" },
        { { "1", "0", "1" }, ',', "number", "1" },
        { { "2026-11-21", "2026-01-02T03:04:05Z", "" }, ',', "date", "\"2026-11-21\"" },
        { { "2026-11-21", "2026-02-30", "" }, ',', "string", "\"2026-11-21\"" },
        { { "21.11.2026", "", "" }, ',', "string", "\"21.11.2026\"" },
        { { "pro", "1", "" }, ',', "string", "\"pro\"" },
        { { "=HYPERLINK(1)", "", "" }, ',', "string", "\"=HYPERLINK(1)\"" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        run_sql("delete from contacts; delete from contact_fields");
        char d = cases[i].delimiter;
        const char *csv = arena_printf(arena, "email%cvalue\na@example.com%c%s\nb@example.com%c%s\nc@example.com%c%s\n", d, d,
                                       cases[i].values[0], d, cases[i].values[1], d, cases[i].values[2]);
        assert_int_equal(json_get_int(json_object_get(import_text(csv), "summary"), "failed", -1), 0);
        assert_value("a@example.com", "custom_fields->'value'", cases[i].stored);
        assert_value("a@example.com", "select type from contact_fields", cases[i].type);
    }
}

/* A field keeps the type that it has; a value that does not fit fails with its row. */
static void test_existing_types_win(void **state)
{
    (void)state;
    import_text("email,score,vip\na@example.com,5,true\n");
    const json_t *result = import_text("email,score,vip\nb@example.com,many,1\nc@example.com,7,maybe\nd@example.com,8,0\n");
    assert_summary(result, 1, 0, 0, 0, 2);
    assert_string_equal(error_at(result, 0, "code"), "FIELD_TYPE_MISMATCH");
    assert_string_equal(error_at(result, 0, "field"), "customFields.score");
    assert_string_equal(error_at(result, 1, "field"), "customFields.vip");
    assert_value("d@example.com", "custom_fields", "{\"vip\": false, \"score\": 8}");
}

/* The type is fixed by the first 1,000 rows. */
static void test_types_stay(void **state)
{
    (void)state;
    const char *csv = arena_printf(arena, "email,n\n%sz@example.com,text\n", repeated("a@example.com,1\n", IMPORT_SAMPLE_ROWS));
    const json_t *result = import_text(csv);
    assert_int_equal(json_get_int(json_object_get(result, "summary"), "failed", -1), 1);
    assert_int_equal(error_line(result, 0), IMPORT_SAMPLE_ROWS + 2);
}

/* a brand has at most 500 fields, and an import that would need more changes nothing. */
static void test_fields_are_bounded(void **state)
{
    (void)state;
    run_sql("insert into contact_fields (brand_id, name, type, created_at) select %lld, 'f' || n, 'string', now()"
            " from generate_series(1, %d) n",
            (long long)work.brand_id, FIELDS_MAX_PER_BRAND - 1);
    struct error err = { .code = ERR_NONE };
    IMPORT_SCOPE import;
    int64_t id = create(&(struct import_request){ .csv = "email,a,b\nx@example.com,1,2\n" });
    assert_false(import_open(&work, id, &import, &err));
    assert_non_null(strstr(err.message, "needs 1 more"));
    assert_int_equal(number_of("select count(*) from contact_fields"), FIELDS_MAX_PER_BRAND - 1);
}

/* ---- Encodings ---- */

static void test_encodings(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } files[] = {
#define FILE_OF(text) { text, sizeof(text) - 1 }
        FILE_OF("email,firstName\na@example.com,J\xc3\xbcrgen\n"),
        FILE_OF("\xef\xbb\xbf"
                "email,firstName\r\na@example.com,J\xc3\xbcrgen\r\n"),
        FILE_OF("sep=;\r\nemail;firstName\r\na@example.com;J\xfcrgen\r\n"),
        FILE_OF("email\tfirstName\ra@example.com\tJ\xfcrgen"),
#undef FILE_OF
    };
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        run_sql("delete from contacts");
        assert_summary(import_file_of(files[i].bytes, files[i].size), 1, 0, 0, 0, 0);
        assert_value("a@example.com", "first_name", "J\xc3\xbcrgen");
    }
    static const char text[] = "email;firstName\r\na@example.com;J\xfcrgen\r\n";
    for (int big = 0; big < 2; big++) {
        char wide[2 * sizeof(text)] = { (char)(big ? 0xFE : 0xFF), (char)(big ? 0xFF : 0xFE) };
        for (size_t i = 0; i + 1 < sizeof(text); i++)
            wide[2 + 2 * i + (size_t)big] = text[i];
        run_sql("delete from contacts");
        assert_summary(import_file_of(wide, sizeof(wide)), 1, 0, 0, 0, 0);
        assert_value("a@example.com", "first_name", "J\xc3\xbcrgen");
    }
}

/* Mixed encodings: the rows that are not in that of the file fail, with their lines. */
static void test_mixed_encodings(void **state)
{
    (void)state;
    static const char mixed[] = "email,firstName\na@example.com,J\xc3\xbcrgen\nb@example.com,J\xfcrgen\nc@example.com,C\n";
    const json_t *result = import_file_of(mixed, sizeof(mixed) - 1);
    assert_summary(result, 2, 0, 0, 0, 1);
    assert_int_equal(error_line(result, 0), 3);
    assert_non_null(strstr(error_at(result, 0, "message"), "encoding"));

    static const char nul[] = "email,firstName\na@example.com,A\0B\nb@example.com,B\n";
    result = import_file_of(nul, sizeof(nul) - 1);
    assert_summary(result, 1, 0, 0, 0, 1);
    assert_int_equal(error_line(result, 0), 2);

    write_file("registry.csv", "PK\x03\x04rest of a workbook", 20);
    struct import_request request = { .path = "registry.csv" };
    run_sql("delete from contacts; delete from contact_fields");
    assert_refused(&request, "path", "workbook");
}

/* The encoding shows far behind the first block. */
static void test_late_encoding(void **state)
{
    (void)state;
    const char *ascii = repeated("a@example.com,Ann\n", 40000);
    const char *csv = arena_printf(arena, "email,firstName\n%sb@example.com,J\xfcrgen\n", ascii);
    const json_t *result = import_file_of(csv, strlen(csv));
    assert_value("b@example.com", "first_name", "J\xc3\xbcrgen");
    assert_int_equal(json_get_int(json_object_get(result, "summary"), "failed", -1), 0);
    assert_string_equal(json_get_text(json_array_get(json_object_get(result, "warnings"), 0), "code"), "ENCODING_ASSUMED");
}

/* ---- The error file ---- */

/* It can be corrected and imported again; what a spreadsheet would run as a formula is made harmless in it, and only there. */
static void test_error_file(void **state)
{
    (void)state;
    struct error err;
    const char *file;
    int64_t id = create(&(struct import_request){
        .csv = "email;note;n\nok@example.com;=HYPERLINK(\"x\");1\nbad;=1+1;-5\nworse;\"a;b\"\n", .over_http = true });
    assert_true(go_on(id, 10, -1));
    const json_t *result = finish(id);
    assert_value("ok@example.com", "custom_fields->>'note'", "=HYPERLINK(\"x\")");
    assert_ok(import_error_file(&work, id, &file, &err), &err);
    assert_string_equal(file, "email;note;n;importLine;importError\r\n"
                              "bad;'=1+1;-5;3;The address has no '@'.\r\n"
                              "worse;\"a;b\";;4;The address has no '@'.\r\n");
    char *corrected = arena_dup(arena, file);
    memcpy(strstr(corrected, "worse;"), "w@b.c;", 6);
    assert_summary(import_text(corrected), 1, 0, 0, 0, 1);

    const char *url = json_get_text(result, "errorFileUrl");
    int64_t brand_id;
    int64_t found;
    assert_true(text_starts_with(url, "/downloads/"));
    assert_true(import_link_open(&work, url + strlen("/downloads/"), &brand_id, &found));
    assert_int_equal(brand_id, work.brand_id);
    assert_int_equal(found, id);
    struct work later = work;
    later.now_us += INT64_C(25) * 3600 * US_PER_S;
    assert_false(import_link_open(&later, url + strlen("/downloads/"), &brand_id, &found));
    char *forged = arena_dup(arena, url + strlen("/downloads/"));
    forged[30] = forged[30] == 'A' ? 'B' : 'A';
    assert_false(import_link_open(&work, forged, &brand_id, &found));
}

/* ---- Going on ---- */

static const char *many_rows(int count)
{
    struct buf *csv = buf_in_arena(arena, 64 << 20);
    buf_add_text(csv, "email,n\r\n");
    for (int i = 0; i < count; i++)
        buf_printf(csv, i % 1000 == 7 ? "bad %d,x\r\n" : "reader%d@example.com,%d\r\n", i, i);
    return buf_text(csv);
}

/* Left after any chunk of any shard and taken up again, an import ends with exactly its rows, each saved and counted once. */
static void test_goes_on_where_it_was_left(void **state)
{
    (void)state;
    enum { ROWS = 3 * IMPORT_CHUNK_ROWS + 500 };
    const int bad = (ROWS - 7 + 999) / 1000;
    const char *csv = many_rows(ROWS);
    int64_t id = create(&(struct import_request){ .csv = csv });
    assert_false(go_on(id, 1, 1));  /* the second shard is a chunk ahead */
    assert_false(go_on(id, 2, 0));  /* the first overtakes it */
    assert_false(go_on(id, 0, -1)); /* nothing is done */
    assert_true(go_on(id, 100, -1));
    assert_summary(finish(id), ROWS - bad, 0, 0, 0, bad);
    assert_int_equal(number_of("select count(*) from contacts"), ROWS - bad);
    assert_int_equal(
        number_of("select count(*) from contacts where email_key <> 'reader' || (custom_fields->>'n') || '@example.com'"), 0);
    assert_int_equal(number_of("select count(distinct line) from import_errors"), bad);
    assert_int_equal(number_of("select count(*) from import_errors"), bad);
    assert_int_equal(number_of("select count(*) from import_texts"), 0);
}

/* A text is stored in slices of 64 KiB. */
static void test_texts_of_whole_slices(void **state)
{
    (void)state;
    enum { SLICE_BYTES = 65536, SLICES = 3 };
    for (int more = -1; more <= 1; more++) {
        struct buf *csv = buf_in_arena(arena, 1 << 20);
        size_t size = (size_t)(SLICES * SLICE_BYTES + more);
        int rows = 0;
        buf_add_text(csv, "email,note\n");
        while (csv->size < size - 60)
            buf_printf(csv, "slice%d@example.com,x\n", ++rows);
        buf_add_text(csv, "last@example.com,");
        while (csv->size < size)
            buf_add_char(csv, 'x');
        int64_t id = create(&(struct import_request){ .csv = buf_text(csv) });
        assert_int_equal(number_of("select count(*) from import_texts"), more > 0 ? SLICES + 1 : SLICES);
        assert_int_equal(number_of("select sum(octet_length(bytes)) from import_texts"), (int64_t)size);
        assert_true(go_on(id, 100, -1));
        assert_true(go_on(id, 100, -1)); /* once more, from the end */
        finish(id);
        assert_int_equal(number_of("select count(*) from contacts"), rows + 1);
        run_sql("delete from contacts; delete from contact_fields");
    }
}

/* The row results of an import are deleted after a month, also when the brand does not import again. */
static void test_old_imports_are_forgotten(void **state)
{
    (void)state;
    int64_t id = create(&(struct import_request){ .csv = "email\na@example.com\nbroken\n" });
    assert_true(go_on(id, 10, -1));
    finish(id);
    assert_int_equal(number_of("select count(*) from import_errors"), 1);
    struct error err;
    struct import_forget_params forget = { .before = work.now_us - US_PER_S };
    assert_ok(sql_import_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from import_errors"), 1);
    forget.before = work.now_us + US_PER_S;
    assert_ok(sql_import_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from import_errors"), 0);
}

/* A worker that was given up for dead comes back: it finds that its place is taken, and saves nothing. */
static void test_lost_place(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t id = create(&(struct import_request){ .csv = "email\na@example.com\nb@example.com\nc@example.com\nd@example.com\n" });
    IMPORT_SCOPE import;
    assert_ok(import_open(&work, id, &import, &err), &err);
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, &import.source, import.plan.charset, import.plan.delimiter, import.plan.data_offset, 2);
    struct import_chunk *chunk = import_chunk_new(arena);
    assert_ok(import_chunk_read(chunk, &import.plan, &reading, &import.budget, &err), &err);
    assert_true(go_on(id, 10, -1));
    run_sql("delete from contacts");
    struct import_shard late = shard_of_import(&import, 0);
    assert_false(import_shard_apply(&late, chunk, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(number_of("select count(*) from contacts"), 0);
    arena_free(late.work.arena);
}

static void *apply_on_thread(void *argument)
{
    return go_on(number_of("select max(id) from imports"), 10, -1) ? NULL : argument;
}

/* Another caller creates a contact of the chunk while it is saved: both changes are saved, in either order. */
static void test_crossing_writers(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE other = NULL;
    pthread_t thread;
    int64_t id = create(&(struct import_request){ .csv = "email,firstName\na@example.com,Ann\nb@example.com,Bob\n" });
    assert_ok(installation_connect(installation, &other, &err), &err);
    assert_ok(
        db_script(other,
                  arena_printf(arena,
                               "begin; insert into contacts (brand_id, email, email_key, last_name, source, subscribed, created_at,"
                               " updated_at) values (%lld, 'a@example.com', 'a@example.com', 'Lee', 'API', true, now(), now())",
                               (long long)work.brand_id),
                  &err),
        &err);
    assert_int_equal(pthread_create(&thread, NULL, apply_on_thread, &err), 0);
    for (int tries = 0; tries < 500; tries++) { /* until it waits for the other transaction */
        ARENA_SCOPE scratch = arena_new(0);
        struct db_rows rows;
        assert_ok(db_run(other, scratch, number_statement("select count(*) from pg_locks where not granted"), NULL, &rows, &err),
                  &err);
        if (((struct number *)rows.rows)->value > 0)
            break;
        usleep(10000);
    }
    assert_ok(db_script(other, "commit", &err), &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_summary(finish(id), 1, 1, 0, 0, 0);
    assert_value("a@example.com", "first_name || last_name", "AnnLee");
}

/* ---- Files ---- */

static void assert_path_refused(const char *path, const char *sentence)
{
    assert_refused(&(struct import_request){ .path = path }, "path", sentence);
}

/* Only regular files below the root are read, for any form of path. */
static void test_paths_stay_inside(void **state)
{
    (void)state;
    char *outside = arena_printf(arena, "%s/outside.csv", folder);
    char *inside = arena_printf(arena, "%s/deep", root);
    write_file("a.csv", "email\na@example.com\n", 20);
    write_file("../outside.csv", "email\nx@example.com\n", 20);
    assert_int_equal(mkdir(inside, 0755), 0);
    write_file("deep/b.csv", "email\nb@example.com\n", 20);
    assert_int_equal(symlink("a.csv", arena_printf(arena, "%s/link.csv", root)), 0);
    assert_int_equal(symlink(outside, arena_printf(arena, "%s/away.csv", root)), 0);
    assert_int_equal(symlink(folder, arena_printf(arena, "%s/up", root)), 0);
    assert_int_equal(mkfifo(arena_printf(arena, "%s/pipe", root), 0644), 0);

    assert_path_refused("../outside.csv", "must not leave");
    assert_path_refused("deep/../../outside.csv", "must not leave");
    assert_path_refused(outside, "must be in the import folder");
    assert_path_refused(arena_printf(arena, "%s-other/a.csv", root), "must be in the import folder");
    assert_path_refused(arena_printf(arena, "%s/../outside.csv", root), "must not leave");
    assert_path_refused("link.csv", "Symbolic links");
    assert_path_refused("away.csv", "Symbolic links");
    assert_path_refused("up/outside.csv", "Symbolic links");
    assert_path_refused("missing.csv", "no such file");
    assert_path_refused("deep", "regular file");
    assert_path_refused("pipe", "regular file");
    assert_refused(&(struct import_request){ .path = "a.csv", .over_http = true }, "path", "only to local callers");
    work.engine->import_root = NULL;
    assert_path_refused("a.csv", "--import-root");
    work.engine->import_root = root;

    assert_summary(import_all(&(struct import_request){ .path = "deep/b.csv" }), 1, 0, 0, 0, 0);
    assert_summary(import_all(&(struct import_request){ .path = arena_printf(arena, "%s/a.csv", root) }), 1, 0, 0, 0, 0);
    remove(outside);
}

/* A second call for the same file waits for the running import. A changed file, another mapping, or a call with its own
 * idempotency key starts a new import. */
static void test_same_file_is_joined(void **state)
{
    (void)state;
    struct error err;
    struct import_asked asked;
    struct import_request request = { .path = "a.csv", .may_join = true };
    write_file("a.csv", "email\na@example.com\n", 20);
    int64_t id = create(&request);
    assert_ok(import_set_job(&work, id, 77, &err), &err);
    assert_ok(import_create(&work, &request, &asked, &err), &err);
    assert_int_equal(asked.job_id, 77);
    request.may_join = false;
    assert_int_not_equal(create(&request), 0);
    request.may_join = true;
    request.mapping = json_of("{\"email\": \"email\"}");
    assert_int_not_equal(create(&request), 0);
    request.mapping = NULL;
    write_file("a.csv", "email\nb@example.com\n", 20);
    assert_int_not_equal(create(&request), 0);
    write_file("a.csv", "email\na@example.com\n", 20);
    finish(id);
    assert_int_not_equal(create(&request), 0);
}

/* The worker looks again: a file that was exchanged for a link, or changed, is not imported. */
static void test_changed_files_fail(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    IMPORT_SCOPE import = { .source = { .fd = -1 } };
    char *path = arena_printf(arena, "%s/a.csv", root);
    write_file("a.csv", "email\na@example.com\n", 20);
    int64_t id = create(&(struct import_request){ .path = "a.csv" });
    write_file("a.csv", "email\nb@example.com\nc@example.com\n", 34);
    assert_false(import_open(&work, id, &import, &err));
    assert_string_equal(err.param, "path");
    assert_non_null(strstr(err.message, "changed"));

    id = create(&(struct import_request){ .path = "a.csv" });
    assert_int_equal(rename(path, arena_printf(arena, "%s/elsewhere.csv", folder)), 0);
    assert_int_equal(symlink(arena_printf(arena, "%s/elsewhere.csv", folder), path), 0);
    error_clear(&err);
    assert_false(import_open(&work, id, &import, &err));
    assert_non_null(strstr(err.message, "Symbolic links"));
    remove(arena_printf(arena, "%s/elsewhere.csv", folder));
}

/* A field that is deleted during the import gets no more values, neither in new contacts nor in others. */
static void test_a_field_is_deleted_meanwhile(void **state)
{
    (void)state;
    struct error err;
    bool exists;
    bool deleted;
    int64_t seen;
    import_text("email,plan,share\na@example.com,gold,0.1\n");
    int64_t id = create(&(struct import_request){ .csv = "email,plan,share\na@example.com,free,0.2\nb@example.com,gold,0.3\n" });
    assert_false(go_on(id, 0, -1)); /* the columns are chosen */
    assert_ok(field_leave(&work, "plan", &exists, &err), &err);
    assert_true(exists);
    assert_ok(field_clear_step(&work, "plan", &seen, &err), &err);
    IMPORT_SCOPE later = { .source = { .fd = -1 } };
    struct error refusal = { .code = ERR_NONE };
    assert_false(
        import_open(&work, create(&(struct import_request){ .csv = "email,plan\nc@example.com,free\n" }), &later, &refusal));
    assert_int_equal(refusal.code, ERR_INVALID_REQUEST);
    assert_non_null(strstr(refusal.message, "being deleted"));
    assert_true(go_on(id, 1000, -1));
    assert_value("a@example.com", "custom_fields", "{\"share\": 0.2}");
    assert_value("b@example.com", "custom_fields", "{\"share\": 0.3}");
    assert_ok(field_delete(&work, "plan", &deleted, &err), &err);
    assert_true(deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_are_saved),
        TEST(test_known_contacts_change_where_they_differ),
        TEST(test_later_rows_win),
        TEST(test_rows_that_fail),
        TEST(test_long_values_fail),
        TEST(test_longest_column_name),
        TEST(test_errors_are_bounded),
        TEST(test_subscribed_is_left_alone),
        TEST(test_suppressions_hold),
        TEST(test_headers_are_understood),
        TEST(test_fields_are_created),
        TEST(test_mapping),
        TEST(test_mappings_are_bounded),
        TEST(test_many_long_columns_at_fault_are_told),
        TEST(test_a_long_column_name_is_cut_between_characters),
        TEST(test_unusable_texts),
        TEST(test_all_columns_at_fault_are_told),
        TEST(test_a_preview_tells_what_the_import_does),
        TEST(test_wide_rows_fail),
        TEST(test_types_are_inferred),
        TEST(test_existing_types_win),
        TEST(test_types_stay),
        TEST(test_fields_are_bounded),
        TEST(test_encodings),
        TEST(test_mixed_encodings),
        TEST(test_late_encoding),
        TEST(test_error_file),
        TEST(test_goes_on_where_it_was_left),
        TEST(test_texts_of_whole_slices),
        TEST(test_old_imports_are_forgotten),
        TEST(test_a_field_is_deleted_meanwhile),
        TEST(test_lost_place),
        TEST(test_crossing_writers),
        TEST(test_paths_stay_inside),
        TEST(test_same_file_is_joined),
        TEST(test_changed_files_fail),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
