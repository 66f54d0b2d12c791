/* Instructions about imported designs: texts and addresses of an outline change, everything else is refused with its reason. */
#include "base/json_read.h"
#include "designer/instruction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static const json_t *outline;

static const char sample[] =
    "{\"texts\":[{\"id\":\"t1\",\"place\":\"text\",\"text\":\"Hi {{ contact.firstName }}, spring is here\"},"
    "{\"id\":\"t2\",\"place\":\"text\",\"text\":\"Buy now\"},{\"id\":\"t3\",\"place\":\"text\",\"text\":\"our shop\"},"
    "{\"id\":\"t4\",\"place\":\"text\",\"text\":\"Unsubscribe\"}],"
    "\"links\":[{\"id\":\"l1\",\"href\":\"https://a.example/buy\",\"isButton\":true,\"isProtected\":false,\"texts\":[\"t2\"]},"
    "{\"id\":\"l2\",\"href\":\"https://a.example/s?c={{ contact.id "
    "}}\",\"isButton\":false,\"isProtected\":false,\"texts\":[\"t3\"]},"
    "{\"id\":\"l3\",\"href\":\"{{ unsubscribeUrl }}\",\"isButton\":false,\"isProtected\":true,\"texts\":[\"t4\"]}],"
    "\"images\":[{\"id\":\"s1\",\"src\":\"https://a.example/1.png\",\"altId\":\"a1\",\"alt\":\"Shoes\",\"link\":null}]}";

static int setup(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    arena = arena_new(0);
    assert_true(json_read(arena, sample, strlen(sample), (struct json_bounds){ .max_bytes = 1 << 20 }, &outline, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void test_edits_of_an_outline(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *edits;
    } forms[] = {
        { "replace \"spring\" with \"summer\"", "[{'id':'t1','with':'Hi {{ contact.firstName }}, summer is here','drop':[]}]" },
        { "replace \"{{ contact.firstName }}\" with \"you\"",
          "[{'id':'t1','with':'Hi you, spring is here','drop':['{{ contact.firstName }}']}]" },
        { "replace \"a.example/1.png\" by \"b.example/1.png\"", "[{'id':'s1','with':'https://b.example/1.png','drop':[]}]" },
        { "Set the button text to \"Order\" and set the link of the button to https://b.example/.",
          "[{'id':'t2','with':'Order','drop':[]},{'id':'l1','with':'https://b.example/','drop':[]}]" },
        { "link \"our shop\" to https://b.example/?c={{ contact.id }}",
          "[{'id':'l2','with':'https://b.example/?c={{ contact.id }}','drop':[]}]" },
        { "remove the text \"our shop\"", "[{'id':'t3','with':'','drop':[]}]" },
        { "remove the alt text of the image", "[{'id':'a1','with':'','drop':[]}]" },
        { "replace \"spring\" with \"summer\", then replace \"summer is\" with \"autumn is\"",
          "[{'id':'t1','with':'Hi {{ contact.firstName }}, autumn is here','drop':[]}]" },
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct instruction *instruction = instruction_read_outline(arena, outline, forms[i].text);
        char *expected = arena_dup(arena, forms[i].edits);
        for (char *at = expected; *at != '\0'; at++)
            *at = *at == '\'' ? '"' : *at;
        if (instruction->operations == NULL)
            fail_msg("“%s”: %s", forms[i].text, instruction->unclear.items[0]);
        char *edits = json_dumps(instruction->operations, JSON_COMPACT);
        assert_string_equal(edits, expected);
        free(edits);
    }
}

static void test_what_imports_do_not_allow(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } refused[] = {
        { "add a button \"Go\" linking to https://b.example/", "Nothing is added" },
        { "move the image to the end", "Nothing is added" },
        { "remove the image", "elements of an imported design stay" },
        { "set the heading to \"New\"", "name a text by its words" },
        { "make the button green", "name a text by its words" },
        { "link \"spring\" to https://b.example/", "gets no new links" },
        { "link \"Unsubscribe\" to https://b.example/", "keeps its address" },
        { "remove \"Unsubscribe\"", "keep a text" },
        { "remove \"Buy now\"", "keep a text" },
        { "replace \"unsubscribeUrl\" with \"x\"", "not in the design" },
        { "link \"our shop\" to https://b.example/", "It would lose {{ contact.id }}" },
        { "set the second button text to \"x\"", "Number of buttons: 1" },
        { "replace \"spring\" with \"summer\" and dance", "" },
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct instruction *instruction = instruction_read_outline(arena, outline, refused[i].text);
        if (instruction->operations != NULL)
            fail_msg("“%s” was understood", refused[i].text);
        if (strstr(instruction->unclear.items[0], refused[i].reason) == NULL)
            fail_msg("“%s”: %s", refused[i].text, instruction->unclear.items[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_edits_of_an_outline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_imports_do_not_allow, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
