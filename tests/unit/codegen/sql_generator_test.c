/*
 * SQL generator, as the build runs it: output for valid files and errors for invalid
 * files. The generator program is in the folder of this test program.
 */
#include "fixtures/temp_folder.h"

#include <string.h>
#include <sys/wait.h>

static char folder[] = "/tmp/posthorn-sql-XXXXXX";
static char generator[4096];

/* The text of a file in the folder; "" when there is none. */
static const char *read_back(const char *name)
{
    static char text[64 * 1024];
    char path[4200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[size] = '\0';
    return text;
}

static void write_file(const char *name, const char *text)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Runs the generator in the folder; its words are in the file "words" then. */
static bool generate(const char *files)
{
    char command[16 * 1024];
    snprintf(command, sizeof(command), "cd %s && '%s' . %s > words 2>&1", folder, generator, files);
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int setup_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/posthorn-sql-XXXXXX");
    make_folder(folder);
    return 0;
}

static int teardown_folder(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static const char good_file[] = "-- About this file.\n"
                                "\n"
                                "-- One thing.\n"
                                "-- Found by name.\n"
                                "-- name: thing_by_name :one\n"
                                "-- row: thing\n"
                                "-- params: name text, since timestamptz null,\n"
                                "-- params: ids bigint[]\n"
                                "-- columns: id bigint, note text null\n"
                                "select id, note -- a :comment; with 'quotes\n"
                                "  from things /* :another; */\n"
                                " where name = :name and at > :since and id = any(:ids::bigint[])\n"
                                "   and note <> ':name;' and \"od:d\" = E'\\':since;' and body = $q$ :ids; $q$ and alias = :name;\n"
                                "-- Things.\n"
                                "-- name: things :many\n"
                                "-- row: thing\n"
                                "-- columns: id bigint, note text null\n"
                                "select id, note from things;\n"
                                "\n"
                                "-- Touches all.\n"
                                "-- name: things_touch :exec\n"
                                "update things set at = now();\n";

static void test_good_file(void **state)
{
    (void)state;
    write_file("things.sql", good_file);
    assert_true(generate("things.sql"));
    const char *source = read_back("sql/things.c");
    assert_non_null(strstr(source, "\"select id, note\\n\"\n"));
    assert_non_null(strstr(source, "where name = $1 and at > $2 and id = any($3::bigint[])"));
    assert_non_null(
        strstr(source, "note <> ':name;' and \\\"od:d\\\" = E'\\\\':since;' and body = $q$ :ids; $q$ and alias = $1\""));
    assert_null(strstr(source, "comment"));
    assert_null(strstr(source, "another"));
    assert_non_null(strstr(source, "{ \"since\", DB_TIMESTAMPTZ, true, offsetof(struct thing_by_name_params, since) }"));

    const char *header = read_back("sql/things.h");
    assert_non_null(strstr(header, "/* One thing.\n * Found by name. */"));
    const char *row = strstr(header, "struct thing_row {");
    assert_non_null(row);
    assert_null(strstr(row + 1, "struct thing_row {"));
    assert_non_null(strstr(header, "bool sql_things_touch(struct db_conn *conn, struct arena *arena, int64_t *ret_affected,"));

    const char *all = read_back("sql/all_statements.c");
    assert_non_null(strstr(all, "&thing_by_name_statement,\n    &things_statement,\n    &things_touch_statement,\n"));
}

#define HEAD(name, kind) "-- Words.\n-- name: " name " " kind "\n"

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        { HEAD("a", ":exec") "select :gone;", "bad.sql:3: :gone is not declared in params of a" },
        { HEAD("a", ":exec") "-- params: idle bigint\nselect 1;", "bad.sql:2: a does not use its parameter idle" },
        { HEAD("a", ":exec") "-- params: x bigint, x text\nselect :x;", "x is declared twice" },
        { HEAD("a", ":exec") "-- params: x number\nselect :x;", "unknown type \"number\"" },
        { HEAD("a", ":exec") "-- params: x\nselect :x;", "is not \"name type\"" },
        { HEAD("a", ":exec") "-- params: x bigint maybe\nselect :x;", "is not \"name type\"" },
        { HEAD("a", ":exec") "-- params: x bigint, , y text\nselect :x, :y;", "an empty field" },
        { HEAD("a", ":exec") "-- params: struct bigint\nselect :struct;", "is a C keyword" },
        { HEAD("a", ":exec") "select $1;", "instead of a numbered parameter" },
        { HEAD("a", ":exec") "-- columns: x bigint\nselect 1;", "is :exec and must not declare columns" },
        { HEAD("a", ":exec") "-- row: thing\nselect 1;", "is :exec and must not name a row" },
        { HEAD("a", ":one") "select 1;", "returns rows and must declare columns" },
        { HEAD("a", ":some") "select 1;", "must be :one, :many, :page or :exec" },
        { HEAD("A", ":exec") "select 1;", "is not a name of lower-case letters" },
        { HEAD("a", "") "select 1;", "expected \"-- name:" },
        { HEAD("a", ":exec"), "a has no statement" },
        { HEAD("a", ":exec") ";", "a has no statement" },
        { HEAD("a", ":exec") "select 1", "a has no ';'" },
        { HEAD("a", ":exec") "select 'open;", "a quote is not closed" },
        { HEAD("a", ":exec") "select /* open;", "a comment is not closed" },
        { HEAD("a", ":exec") "select $x$ open;", "$x$ is not closed" },
        { HEAD("a", ":exec") "select 1; select 2;", "unexpected text after the ';'" },
        { HEAD("a", ":exec") "select 1;\n" HEAD("a", ":exec") "select 2;", "the name a is already used by bad.sql:2" },
        { "-- name: a :exec\nselect 1;", "needs a comment" },
        { "select 1;", "bad.sql:1: a statement needs" },
        { HEAD("a", ":one") "-- row: r\n-- columns: x bigint\nselect 1;\n" HEAD("b",
                                                                                ":one") "-- row: r\n-- columns: x text\nselect 1;",
          "share the row r and differ" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        write_file("bad.sql", cases[i].text);
        if (generate("bad.sql"))
            fail_msg("accepted: %s", cases[i].text);
        const char *words = read_back("words");
        if (strstr(words, cases[i].words) == NULL)
            fail_msg("of %s it says: %s", cases[i].text, words);
        assert_string_equal(read_back("sql/bad.c"), "");
    }
}

static void test_names_are_unique_among_files(void **state)
{
    (void)state;
    write_file("one.sql", HEAD("a", ":one") "-- columns: x bigint\nselect 1;");
    write_file("two.sql", HEAD("b", ":one") "-- row: a\n-- columns: x bigint\nselect 1;");
    assert_true(generate("one.sql"));
    assert_false(generate("one.sql two.sql"));
    assert_non_null(strstr(read_back("words"), "only queries of one file may share a row"));
    write_file("two.sql", HEAD("a", ":exec") "select 1;");
    assert_false(generate("one.sql two.sql"));
    assert_non_null(strstr(read_back("words"), "the name a is already used by one.sql:2"));
    assert_false(generate("missing.sql"));
}

int main(void)
{
    if (readlink("/proc/self/exe", generator, sizeof(generator) - 32) < 0)
        return 1;
    char *slash = strrchr(generator, '/');
    snprintf(slash, 32, "/posthorn-sql");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_file, setup_folder, teardown_folder),
        cmocka_unit_test_setup_teardown(test_bad_files_are_refused, setup_folder, teardown_folder),
        cmocka_unit_test_setup_teardown(test_names_are_unique_among_files, setup_folder, teardown_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
