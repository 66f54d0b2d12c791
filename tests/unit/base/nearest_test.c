/* The nearest of the accepted names, and its suggestion. */
#include "fixtures/own_fail.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = { "emailId",     "domainId", "audienceId", "to",          "subject",
                                     "previewText", "from",     "replyTo",    "scheduledAt", "test" };

static void assert_nearest(const char *given, const char *expected)
{
    const char *found = name_nearest(given, names, ARRAY_COUNT(names));
    if (expected == NULL && found != NULL)
        fail_msg("%s is like %s", given, found);
    if (expected != NULL && (found == NULL || strcmp(found, expected) != 0))
        fail_msg("%s is like %s instead of %s", given, found != NULL ? found : "nothing", expected);
}

static void test_spellings(void **state)
{
    (void)state;
    assert_true(name_is_respelt("email_id", "emailId"));
    assert_true(name_is_respelt("EMAIL-ID", "emailId"));
    assert_false(name_is_respelt("email", "emailId"));
    assert_false(name_is_respelt("", ""));
    assert_false(name_is_respelt("_", "-"));
    assert_string_equal(name_respelt("reply to", names, ARRAY_COUNT(names)), "replyTo");
    assert_null(name_respelt("reply", names, ARRAY_COUNT(names)));
    /* Two accepted names of one spelling: neither is certain. */
    static const char *const twins[] = { "note", "Note" };
    assert_null(name_respelt("NOTE", twins, ARRAY_COUNT(twins)));
}

static void test_nearest(void **state)
{
    (void)state;
    assert_nearest("email_id", "emailId");
    assert_nearest("emialId", "emailId");
    assert_nearest("subjct", "subject");
    assert_nearest("form", "from");
    assert_nearest("tset", "test");
    assert_nearest("audience", "audienceId");
    assert_nearest("subjectLine", "subject");
    assert_nearest("preview", "previewText");
    assert_nearest("id", NULL); /* several end with it */
    assert_nearest("colour", NULL);
    assert_nearest("", NULL);
    char longer[200];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_nearest(longer, NULL);
    static const char *const one[] = { "emailId", "waitSeconds" };
    assert_string_equal(name_nearest("id", one, ARRAY_COUNT(one)), "emailId");
}

static void assert_suggestion(const char *given, size_t count, const char *expected)
{
    struct error err = { .code = ERR_NONE };
    assert_false(error_suggest_name(&err, given, names, count));
    assert_string_equal(err.suggestion, expected);
}

static void test_suggestions(void **state)
{
    (void)state;
    assert_suggestion("domain_id", 3, "Use domainId.");
    assert_suggestion("domain", 3, "Use domainId, or one of: emailId, audienceId.");
    assert_suggestion("colour", 3, "Use one of: emailId, domainId, audienceId.");
    assert_suggestion("colour", 1, "Use emailId.");
    assert_suggestion("emial", 1, "Use emailId.");
    assert_suggestion("colour", 0, "Leave it out.");
}

/* The list is bounded, and says how many names it leaves out. */
static void test_long_lists(void **state)
{
    (void)state;
    enum { MANY = 100 };
    static char texts[MANY][24];
    const char *many[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof(texts[i]), "argument%03d", i);
        many[i] = texts[i];
    }
    struct error err = { .code = ERR_NONE };
    error_suggest_name(&err, "colour", many, MANY);
    assert_true(strlen(err.suggestion) < ERROR_SUGGESTION_MAX_BYTES);
    int listed = 0;
    for (const char *at = strstr(err.suggestion, "argument"); at != NULL; at = strstr(at + 1, "argument"))
        listed++;
    char end[32];
    snprintf(end, sizeof(end), " and %d more.", MANY - listed);
    assert_true(listed > 10);
    assert_string_equal(err.suggestion + strlen(err.suggestion) - strlen(end), end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_long_lists),
    };
    return cmocka_run_group_tests_name("base: nearest", tests, NULL, NULL);
}
