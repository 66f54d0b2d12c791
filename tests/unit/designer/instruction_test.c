/* Instructions: what each form gives, what is refused, and what survives edits that do not name it. */
#include "base/json_read.h"
#include "designer/change.h"
#include "designer/instruction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static struct error err;
static int64_t serial;

static const char *printed(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *copy = arena_dup(arena, text);
    free(text);
    return copy;
}

static const char sample[] =
    "{\"title\":\"Sample\",\"subjectLine\":\"Spring is here\",\"previewText\":\"Spring for {{ contact.firstName }}\",\"blocks\":["
    "{\"type\":\"header\",\"name\":\"Acme\",\"links\":[{\"label\":\"Shop\",\"href\":\"https://acme.example/shop\"}]},"
    "{\"type\":\"hero\",\"heading\":\"Spring sale\",\"text\":\"Hi {{ contact.firstName }}, see [our shop](https://acme.example/s) "
    "in "
    "Spring.\","
    "\"image\":{\"src\":\"https://acme.example/1.png\",\"alt\":\"Shoes\"},"
    "\"button\":{\"label\":\"Buy\",\"href\":\"https://acme.example/buy?id={{ contact.id }}\"}},"
    "{\"type\":\"text\",\"heading\":\"More\",\"body\":\"Free delivery.\"},"
    "{\"type\":\"image\",\"src\":\"https://acme.example/2.png\",\"href\":\"https://acme.example/two\"},"
    "{\"type\":\"quote\",\"text\":\"Good shoes.\",\"author\":\"Ann\"},"
    "{\"type\":\"footer\",\"address\":\"1 Main Street\",\"links\":[{\"label\":\"Terms\",\"href\":\"https://acme.example/t\"}]}]}";

static const json_t *document;

static int setup(void **state)
{
    (void)state;
    const json_t *given;
    arena = arena_new(0);
    serial = 0;
    err = (struct error){ .code = ERR_NONE };
    assert_true(json_read(arena, sample, strlen(sample), (struct json_bounds){ .max_bytes = 1 << 20 }, &given, &err));
    if (!document_read(arena, given, &serial, &document, &err))
        fail_msg("%s: %s", err.param, err.message);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const char *joined(struct text_list list)
{
    const char *all = "";
    for (size_t i = 0; i < list.count; i++)
        all = arena_printf(arena, "%s%s\n", all, list.items[i]);
    return all;
}

/* The operations apply to the document as it is. */
static const char *operations_of(const char *text)
{
    struct document_change change;
    int64_t next = serial;
    const struct instruction *instruction = instruction_read(arena, document, serial, text);
    if (instruction->operations == NULL)
        fail_msg("“%s” was not understood: %s", text, joined(instruction->unclear));
    assert_true(instruction->understood.count > 0);
    assert_int_equal(instruction->unclear.count, 0);
    if (!document_change(arena, document, instruction->operations, &next, &change, &err))
        fail_msg("“%s”: %s: %s", text, err.param, err.message);
    return printed(instruction->operations);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *operations;
    } forms[] = {
        { "Replace “Good” with “Great”.", "[{'op':'set','block':'b5','values':{'text':'Great shoes.'}}]" },
        { "change \"Spring\" to \"Summer\" in the hero",
          "[{'op':'set','block':'b2','values':{'heading':'Summer sale','text':'Hi {{ contact.firstName }}, see [our "
          "shop](https://acme.example/s) in Summer.'}}]" },
        { "Replace \"Spring is\" by \"Summer is\"", "[{'op':'meta','values':{'subjectLine':'Summer is here'}}]" },
        { "replace \"acme.example/t\" with \"acme.example/terms\"",
          "[{'op':'set','block':'b6','values':{'links':[{'label':'Terms','href':'https://acme.example/terms'}]}}]" },
        { "Set the heading to \"Summer\"", "[{'op':'set','block':'b2','values':{'heading':'Summer'}}]" },
        { "change the second headline to Even more", "[{'op':'set','block':'b3','values':{'heading':'Even more'}}]" },
        { "Update the subject: \"New\"", "[{'op':'meta','values':{'subjectLine':'New'}}]" },
        { "set the preview text to \"For {{ contact.firstName }}\"",
          "[{'op':'meta','values':{'previewText':'For {{ contact.firstName }}'}}]" },
        { "Set the button text to \"Order\"", "[{'op':'set','block':'b2','values':{'button':{'label':'Order','href':'https://"
                                              "acme.example/buy?id={{ contact.id }}'}}}]" },
        { "change the link of the button to https://acme.example/new?id={{ contact.id }}.",
          "[{'op':'set','block':'b2','values':{'button':{'label':'Buy','href':'https://acme.example/new?id={{ contact.id }}'}}}]" },
        { "set the alt text of the first image to \"Red shoes\"",
          "[{'op':'set','block':'b2','values':{'image':{'src':'https://acme.example/1.png','alt':'Red shoes'}}}]" },
        { "set the eyebrow to \"New\"", "[{'op':'set','block':'b2','values':{'eyebrow':'New'}}]" },
        { "Remove the second image", "[{'op':'remove','block':'b4'}]" },
        { "delete the image in the hero", "[{'op':'set','block':'b2','values':{'image':null}}]" },
        { "remove the footer links", "[{'op':'set','block':'b6','values':{'links':null}}]" },
        { "please remove the quote", "[{'op':'remove','block':'b5'}]" },
        { "remove all the images", "[{'op':'remove','block':'b4'},{'op':'set','block':'b2','values':{'image':null}}]" },
        { "remove the address", "[{'op':'set','block':'b6','values':{'address':null}}]" },
        { "delete the words \"Free\"", "[{'op':'set','block':'b3','values':{'body':'delivery.'}}]" },
        { "Add a button \"Read\" linking to https://acme.example/read after the quote",
          "[{'op':'insert','after':'b5','value':{'type':'button','label':'Read','href':'https://acme.example/read'}}]" },
        { "add a paragraph \"Bye\" at the end", "[{'op':'insert','after':'b5','value':{'type':'text','body':'Bye'}}]" },
        { "add a heading \"Hi\" before the footer",
          "[{'op':'insert','after':'b5','value':{'type':'hero','variant':'minimal','heading':'Hi'}}]" },
        { "add a divider after the hero", "[{'op':'insert','after':'b2','value':{'type':'divider'}}]" },
        { "move the quote above the hero", "[{'op':'move','block':'b5','after':'b1'}]" },
        { "Move the quote to the top", "[{'op':'move','block':'b5','after':'b1'}]" },
        { "move the hero below the quote", "[{'op':'move','block':'b2','after':'b5'}]" },
        { "Make the button green", "[{'op':'theme','values':{'accent':'#15803d'}}]" },
        { "set the background colour to #ABC", "[{'op':'theme','values':{'ground':'#aabbcc'}}]" },
        { "use #0a7f5a as the accent colour", "[{'op':'theme','values':{'accent':'#0a7f5a'}}]" },
        { "link \"delivery\" to https://acme.example/d",
          "[{'op':'set','block':'b3','values':{'body':'Free [delivery](https://acme.example/d).'}}]" },
        { "link \"our shop\" to https://acme.example/d",
          "[{'op':'set','block':'b2','values':{'text':'Hi {{ contact.firstName }}, see [our shop](https://acme.example/d) in "
          "Spring.'}}]" },
        { "link \"Terms\" to https://acme.example/d",
          "[{'op':'set','block':'b6','values':{'links':[{'label':'Terms','href':'https://acme.example/d'}]}}]" },
        { "- remove the quote\n- add a divider at the end\n- add a paragraph \"Last\" at the end",
          "[{'op':'remove','block':'b5'},{'op':'insert','after':'b4','value':{'type':'divider'}},"
          "{'op':'insert','after':'b7','value':{'type':'text','body':'Last'}}]" },
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char *expected = arena_dup(arena, forms[i].operations);
        for (char *at = expected; *at != '\0'; at++)
            *at = *at == '\'' ? '"' : *at;
        assert_string_equal(operations_of(forms[i].text), expected);
    }
}

static void test_several_orders_in_one_sentence(void **state)
{
    (void)state;
    const struct instruction *instruction = instruction_read(
        arena, document, serial,
        "Set the heading to \"A, and B\", make the background white and remove the quote. Then move the second image "
        "above the text block");
    assert_non_null(instruction->operations);
    assert_int_equal(json_array_size(instruction->operations), 4);
    assert_string_equal(joined(instruction->understood), "Set the heading (b2) to “A, and B”.\nSet the background colour to "
                                                         "#ffffff.\nRemove the quote (b5).\nMove the image (b4).\n");
}

/* A part that is not clear refuses all of them; both kinds are named. */
static void test_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    const struct instruction *instruction =
        instruction_read(arena, document, serial, "Remove the quote, make it pop and set the subject to \"New\"");
    assert_null(instruction->operations);
    assert_string_equal(joined(instruction->understood), "Remove the quote (b5).\nSet the subject to “New”.\n");
    assert_int_equal(instruction->unclear.count, 1);
    assert_non_null(strstr(instruction->unclear.items[0], "make it pop"));
}

static void test_what_is_not_named_survives(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } refused[] = {
        { "set the preview text to \"Hello\"", "{{ contact.firstName }}" },
        { "set the hero text to \"Hi {{ contact.firstName }}\"", "https://acme.example/s" },
        { "set the hero text to \"See [our shop](https://acme.example/s)\"", "{{ contact.firstName }}" },
        { "set the button link to https://acme.example/new", "{{ contact.id }}" },
        { "replace \"contact\" with \"person\"", "not in the texts" },
        { "replace \"pring\" with \"x\"", "not in the texts" },
        { "replace \"{{ contact\" with \"x\"", "not complete" },
        { "remove the footer", "unsubscribe" },
        { "remove the unsubscribe link", "unsubscribe" },
        { "remove the image", "2 parts" },
        { "remove the third image", "only 2" },
        { "remove the table", "no such part" },
        { "set the heading to A and remove the quote", "quotation marks" },
        { "set the button link to \"javascript:alert(1)\"", "link begins with" },
        { "link \"Free\" to the shop", "whole address" },
        { "make the button colour fancy", "Give a colour" },
        { "move the image in the hero to the end", "whole blocks" },
        { "move the hero above the hero", "already" },
        { "add a button \"Go\"", "its link" },
        { "replace \"a with \"b\"", "" },
        { "", "no order" },
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct instruction *instruction = instruction_read(arena, document, serial, refused[i].text);
        if (instruction->operations != NULL)
            fail_msg("“%s” was understood: %s", refused[i].text, printed(instruction->operations));
        if (strstr(joined(instruction->unclear), refused[i].reason) == NULL)
            fail_msg("“%s”: %s", refused[i].text, joined(instruction->unclear));
    }
}

/* The instruction names the merge tag and the link that it changes. */
static void test_what_is_named_can_change(void **state)
{
    (void)state;
    assert_string_equal(
        operations_of("replace \"{{ contact.firstName }}\" with \"you\" in the hero"),
        "[{\"op\":\"set\",\"block\":\"b2\",\"values\":{\"text\":\"Hi you, see [our shop](https://acme.example/s) in "
        "Spring.\"}}]");
    assert_string_equal(operations_of("replace \"https://acme.example/s\" with \"https://acme.example/new\" in the hero"),
                        "[{\"op\":\"set\",\"block\":\"b2\",\"values\":{\"text\":\"Hi {{ contact.firstName }}, see [our "
                        "shop](https://acme.example/new) in Spring.\"}}]");
}

/* Any words: what is understood applies to the document, and the footer stays. The numbers have a fixed seed. */
static void test_any_words(void **state)
{
    (void)state;
    static const char *const vocabulary[] = {
        "remove",
        "delete",
        "the",
        "second",
        "last",
        "all",
        "image",
        "button",
        "footer",
        "links",
        "quote",
        "heading",
        "set",
        "to",
        "“New”",
        "\"Buy\"",
        "and",
        ",",
        "move",
        "above",
        "below",
        "hero",
        "add",
        "a",
        "with",
        "by",
        "replace",
        "text",
        "link",
        "of",
        "in",
        "to the top",
        "at the end",
        "green",
        "#abcdef",
        "background",
        "address",
        "subject",
        "https://b.example/",
        "{{ contact.id }}",
        ".",
        "\n- ",
        "paragraph",
        "divider",
    };
    enum { ROUNDS = 4000, WORDS_MOST = 12, VOCABULARY = sizeof(vocabulary) / sizeof(vocabulary[0]) };
    uint32_t random = 14;
    size_t understood = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct arena *outer = arena;
        arena = arena_new(0);
        const char *text = vocabulary[round % 2 == 0 ? 0 : 12];
        for (int count = 1 + round % WORDS_MOST; count > 0; count--) {
            random = random * 1664525u + 1013904223u;
            text = arena_printf(arena, "%s %s", text, vocabulary[(random >> 8) % VOCABULARY]);
        }
        const struct instruction *instruction = instruction_read(arena, document, serial, text);
        assert_int_equal(instruction->operations != NULL, instruction->unclear.count == 0);
        if (instruction->operations != NULL) {
            struct document_change change;
            int64_t next = serial;
            size_t index;
            if (!document_change(arena, document, instruction->operations, &next, &change, &err))
                fail_msg("“%s”: %s: %s", text, err.param, err.message);
            assert_true(document_find_block(change.document, "b6", &index));
            understood++;
        }
        arena_free(arena);
        arena = outer;
    }
    assert_true(understood > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_orders_in_one_sentence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_a_whole_or_not_at_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_named_survives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_named_can_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_words, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
