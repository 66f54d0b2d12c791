/* Command line: parsing by the tables of the catalogue, and conversion to arguments. */
#include "fixtures/own_fail.h"

#include "base/json_read.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/exit_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 24 };

struct outcome {
    bool ok;
    struct command_line line;
    struct arguments arguments;
    const char *flat; /* canonical text of all arguments */
    struct error err;
};

/* Words are separated by blanks; a value with blanks cannot be given here. */
static struct outcome read_words(struct arena *arena, const char *command)
{
    char *words[WORDS_MAX];
    int count = 0;
    for (char *at = arena_dup(arena, command), *word; (word = strsep(&at, " ")) != NULL;) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    struct outcome outcome = { .err = { .code = ERR_NONE } };
    outcome.ok = command_line_read(arena, count, words, &outcome.line, &outcome.err);
    if (!outcome.ok || outcome.line.help)
        return outcome;
    const char *body = NULL;
    for (int i = 0; i + 1 < outcome.line.option_count; i++)
        if (strcmp(outcome.line.options[i], "--body") == 0)
            body = outcome.line.options[i + 1];
    outcome.ok = arguments_make(arena, &outcome.line, body, &outcome.arguments, &outcome.err);
    if (outcome.ok)
        outcome.flat = json_canonical(arena, arguments_flat(arena, &outcome.arguments));
    return outcome;
}

/* The operation that is meant, and all its arguments with sorted keys. */
static void expect(const char *command, const char *operation, const char *flat)
{
    ARENA_SCOPE arena = arena_new(0);
    struct outcome outcome = read_words(arena, command);
    if (!outcome.ok)
        fail_msg("%s: %s", command, outcome.err.message);
    assert_string_equal(outcome.arguments.op->id, operation);
    assert_string_equal(outcome.flat, flat);
}

static void expect_refusal(const char *command, const char *words)
{
    ARENA_SCOPE arena = arena_new(0);
    struct outcome outcome = read_words(arena, command);
    assert_false(outcome.ok);
    if (strstr(outcome.err.message, words) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", command, outcome.err.message, words);
}

static void values_are_typed_by_their_declarations(void **state)
{
    (void)state;
    expect("contacts search --limit 7 --count --search 7 --sort email", "contacts.search",
           "{\"count\":true,\"limit\":7,\"search\":\"7\",\"sort\":\"email\"}");
    expect("contacts search --count=false --filters {\"logic\":\"and\",\"filters\":[]}", "contacts.search",
           "{\"count\":false,\"filters\":{\"filters\":[],\"logic\":\"and\"}}");
    expect("contacts search --no-count --audienceId aud_1", "contacts.search", "{\"audienceId\":\"aud_1\",\"count\":false}");
    expect("audiences list --include count --include build", "audiences.list", "{\"include\":\"count,build\"}");
    expect("contacts save --email a@x.de --no-first-name", "contacts.save", "{\"email\":\"a@x.de\",\"firstName\":null}");
    expect_refusal("contacts search --limit 7.5", "--limit takes a whole number, not 7.5");
    expect_refusal("contacts search --limit 99999999999999999999", "--limit takes a whole number");
    expect_refusal("contacts search --count=yes", "--count must be true or false");
    expect_refusal("contacts search --order up", "--order takes asc, desc, not up");
    expect_refusal("audiences list --include count,", "--include takes count, build");
    expect_refusal("contacts search --filters {", "--filters:");
    expect_refusal("contacts search --search \xff", "not UTF-8");
    expect_refusal("contacts search --limit 1 --limit 2", "--limit is given twice");
}

static void operands_and_lists(void **state)
{
    (void)state;
    expect("contacts delete a@example.com", "contacts.delete", "{\"email\":\"a@example.com\"}");
    expect("contacts delete -- -a@example.com", "contacts.delete", "{\"email\":\"-a@example.com\"}");
    expect("contacts delete-batch --emails a@x.de,b@x.de --emails c@x.de", "contacts.deleteBatch",
           "{\"emails\":[\"a@x.de\",\"b@x.de\",\"c@x.de\"]}");
    expect("contacts delete-batch --emails [\"a,b\"]", "contacts.deleteBatch", "{\"emails\":[\"a,b\"]}");
    expect_refusal("contacts delete", "Name EMAIL: posthorn contacts delete EMAIL");
    expect_refusal("contacts delete a b", "b is an unexpected operand");
    expect_refusal("contacts search all", "all is an unexpected operand");
}

static void members_of_objects_have_flags(void **state)
{
    (void)state;
    expect("contacts save --email a@x.de --consent.source web --consent.policy-version 2", "contacts.save",
           "{\"consent\":{\"policyVersion\":\"2\",\"source\":\"web\"},\"email\":\"a@x.de\"}");
    expect("contacts save --email a@x.de --consent {\"source\":\"a\"} --consent.source b", "contacts.save",
           "{\"consent\":{\"source\":\"b\"},\"email\":\"a@x.de\"}");
    expect_refusal("contacts save --email a@x.de --consent [] --consent.source b", "consent is not an object");
    expect_refusal("contacts save --email a@x.de --consent.source b --consent {\"source\":\"a\"}",
                   "--consent would replace the members");
    expect_refusal("contacts save --email.x a", "--email.x is not a flag");
}

static void a_whole_body_and_flags_over_it(void **state)
{
    (void)state;
    expect("contacts save --body {\"email\":\"a@x.de\",\"firstName\":\"A\"} --first-name B", "contacts.save",
           "{\"email\":\"a@x.de\",\"firstName\":\"B\"}");
    /* What the command line does not know is for the service to refuse. */
    expect("contacts save --body {\"email\":\"a@x.de\",\"age\":7}", "contacts.save", "{\"age\":7,\"email\":\"a@x.de\"}");
    expect_refusal("contacts save --body [1]", "--body must be a JSON object");
    expect_refusal("contacts delete a@x.de --body {}", "--body is not accepted");
    expect_refusal("contacts update a@x.de --body {\"email\":\"b@x.de\"}", "--body must not contain email");
    expect_refusal("contacts save --body @/nowhere/x.json", "/nowhere/x.json cannot be opened");
}

static void texts_come_from_files(void **state)
{
    (void)state;
    char path[] = "/tmp/posthorn-cli-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "email\na@x.de\n", 13), 13);
    close(file);
    char command[128];
    snprintf(command, sizeof(command), "contacts import-csv --csv @%s", path);
    expect(command, "contacts.importCsv", "{\"csv\":\"email\\na@x.de\\n\"}");
    snprintf(command, sizeof(command), "contacts validate --emails @%s", path);
    expect(command, "contacts.validate", "{\"emails\":[\"email\",\"a@x.de\"]}");
    unlink(path);
    expect("contacts search --search @@home", "contacts.search", "{\"search\":\"@home\"}");
}

static void the_operation_of_a_route_is_chosen_as_a_server_does(void **state)
{
    (void)state;
    expect("contacts save --email a@x.de --validate", "contacts.saveValidated", "{\"email\":\"a@x.de\",\"validate\":true}");
    expect("contacts save --body {\"contacts\":[]}", "contacts.saveBatch", "{\"contacts\":[]}");
    expect("contacts save --validate --body {\"contacts\":[]}", "contacts.saveBatchValidated",
           "{\"contacts\":[],\"validate\":true}");
    expect_refusal("contacts save-batch-validated", "Missing: --contacts");
    expect("contacts save-validated --email a@x.de", "contacts.saveValidated", "{\"email\":\"a@x.de\",\"validate\":true}");
    expect("sends test --email-id eml_1 --to a@x.de --subject Hi", "sends.test",
           "{\"emailId\":\"eml_1\",\"subject\":\"Hi\",\"test\":true,\"to\":[\"a@x.de\"]}");
    expect("sends create --test --email-id eml_1 --to a@x.de --subject Hi", "sends.test",
           "{\"emailId\":\"eml_1\",\"subject\":\"Hi\",\"test\":true,\"to\":[\"a@x.de\"]}");
    expect_refusal("sends test --no-test --email-id eml_1 --to a@x.de --subject Hi", "sends test always has test true");
    expect_refusal("contacts save-batch", "Missing: --contacts");
    expect_refusal("sends create --subject Hi", "Missing: --email-id, --domain-id");
}

static void what_is_unknown_is_refused_with_what_is_near(void **state)
{
    (void)state;
    expect_refusal("contacts serch", "did you mean search");
    expect_refusal("contacts search --limti 3", "--limti is not a flag of this command; did you mean --limit");
    expect_refusal("contacts search --ouptut json", "did you mean --output");
    expect_refusal("contacts search --no-limit", "--no-limit is not a flag");
    expect_refusal("contacts search -x", "-x is not a flag");
    expect_refusal("contacts search --limit", "--limit needs a value");
    expect_refusal("contacts search --search --all", "--search needs a value");
    expect_refusal("contacts", "Name a verb");
    expect_refusal("api-keys list", "posthorn admin");
}

static void what_is_argument_and_option_must_be_said(void **state)
{
    (void)state;
    expect_refusal("brands create --url https://shop.example",
                   "Write --body.url for the argument; set the option with POSTHORN_URL");
    expect_refusal("contacts update a@x.de --fields {}", "Write --body.fields for the argument");
    expect("brands create --body.url https://shop.example", "brands.create", "{\"url\":\"https://shop.example\"}");
    expect("templates list --query.brand shop", "templates.list", "{\"brand\":\"shop\"}");
    expect_refusal("templates list --body.brand shop", "--body.brand is not a flag");
}

static void options_are_taken_apart_with_their_values(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct outcome outcome = read_words(arena, "contacts search --data /x -o json --limit 3 --all --url=http://h");
    static const char *const options[] = { "--data", "/x", "-o", "json", "--all", "--url=http://h" };
    assert_true(outcome.ok);
    assert_int_equal(outcome.line.option_count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(outcome.line.options[i], options[i]);
}

/* Every declared operation and argument of the catalogue has its own name on the command line. */
static void every_argument_has_a_flag(void **state)
{
    (void)state;
    size_t flags = 0;
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *op = &operations[i];
        for (size_t at = 0; at < op->args->count && command_line_reaches(op); at++) {
            ARENA_SCOPE arena = arena_new(0);
            const struct arg_field *field = &op->args->fields[at];
            if (field->place == ARG_IN_PATH)
                continue;
            char *flag = arena_printf(arena, "--%s=x", command_line_flag_name(arena, field));
            char operand[] = "x";
            char *words[] = { arena_dup(arena, op->domain), arena_dup(arena, op->verb), flag, operand, operand };
            int count = 3;
            for (const char *p = op->operands; *p != '\0'; p += strcspn(p, " "), p += *p == ' ')
                count++;
            struct command_line line;
            struct error err = { .code = ERR_NONE };
            if (!command_line_read(arena, count, words, &line, &err))
                fail_msg("%s %s %s: %s", op->domain, op->verb, flag, err.message);
            assert_int_equal(line.flag_count, 1);
            assert_ptr_equal(line.flags[0].fields[0], field);
            flags++;
        }
    }
    assert_true(flags > 100);
}

static void scripts_can_branch_on_the_status(void **state)
{
    (void)state;
    static const int statuses[][2] = { { 200, 0 }, { 201, 0 }, { 202, 0 }, { 400, 1 }, { 402, 1 }, { 409, 1 }, { 500, 1 },
                                       { 404, 3 }, { 410, 3 }, { 401, 4 }, { 403, 4 }, { 429, 5 }, { 503, 5 }, { 501, 6 } };
    for (size_t i = 0; i < ARRAY_COUNT(statuses); i++)
        assert_int_equal(exit_status_of(statuses[i][0]), statuses[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_typed_by_their_declarations),
        cmocka_unit_test(operands_and_lists),
        cmocka_unit_test(members_of_objects_have_flags),
        cmocka_unit_test(a_whole_body_and_flags_over_it),
        cmocka_unit_test(texts_come_from_files),
        cmocka_unit_test(the_operation_of_a_route_is_chosen_as_a_server_does),
        cmocka_unit_test(what_is_unknown_is_refused_with_what_is_near),
        cmocka_unit_test(what_is_argument_and_option_must_be_said),
        cmocka_unit_test(options_are_taken_apart_with_their_values),
        cmocka_unit_test(every_argument_has_a_flag),
        cmocka_unit_test(scripts_can_branch_on_the_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
