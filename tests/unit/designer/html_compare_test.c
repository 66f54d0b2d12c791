/* Comparison of prepared HTML by what a reader sees (D-161). */
#include "base/buf.h"
#include "base/json_read.h"
#include "designer/html_compare.h"
#include "designer/html_parts.h"
#include "fixtures/processor_bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const char *compared(const char *before, const char *after, const char *list)
{
    return json_compact(arena, json_object_get(html_compare(arena, before, after), list));
}

static void test_parts_are_those_that_a_reader_sees(void **state)
{
    (void)state;
    const struct html_parts *parts = html_parts_read(
        arena,
        "<!DOCTYPE html><html><head><title>T</title><style>p{color:red}</style></head><body>"
        "<!--[if mso]><p>Outlook</p><![endif]--><p> One &amp;\n<b>two</b>&nbsp; &#8364;&#x41;<br>three</p>"
        "<table><tr><td>a</td><td><a class=\"b\" href=\"https://a.example/?x=1&amp;y=2\">Go <i>on</i></a></td></tr></table>"
        "<img src=\"https://a.example/i.png\"><img alt=\"Sho&quot;es\" src=\"j.png\">{% if a < b %}5 < 6{% endif %}</body></html>");
    static const char *const texts[] = { "T", "One & two €A three", "a", "Go on", "{% if a < b %}5 < 6{% endif %}" };
    assert_int_equal(parts->texts.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(parts->texts.items[i].text, texts[i]);
    assert_int_equal(parts->links.count, 1);
    assert_string_equal(parts->links.items[0].text, "Go on");
    assert_string_equal(parts->links.items[0].address, "https://a.example/?x=1&y=2");
    assert_int_equal(parts->images.count, 2);
    assert_string_equal(parts->images.items[0].text, "");
    assert_string_equal(parts->images.items[1].text, "Sho\"es");
}

static void test_broken_html_ends(void **state)
{
    (void)state;
    static const char *const sources[] = { "",   "<",    "<p",       "<!--",        "<style>p",   "&",
                                           "&#", "&#x;", "&#xd800;", "<a href=\"x", "<img src=\"" };
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        assert_non_null(html_parts_read(arena, sources[i]));
}

static void test_references_have_at_most_ten_bytes(void **state)
{
    (void)state;
    assert_string_equal(html_parts_read(arena, "&#00000065;")->texts.items[0].text, "A");
    assert_string_equal(html_parts_read(arena, "&#000000065;")->texts.items[0].text, "&#000000065;");
}

static void test_a_reference_without_digits_is_text(void **state)
{
    (void)state;
    static const char *const texts[] = { "&# 65;", "&#+65;", "&#-65;", "&#x 41;", "&#x0x41;", "&#;", "&#x;", "&#6 5;" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(html_parts_read(arena, texts[i])->texts.items[0].text, texts[i]);
}

/* A search of the whole rest for the end of each reference would take minutes. */
static void test_unknown_references_take_linear_time(void **state)
{
    (void)state;
    enum { REFERENCES = 1 << 21 };
    char *html = arena_alloc(arena, REFERENCES + 1);
    memset(html, '&', REFERENCES);
    html[REFERENCES] = '\0';
    processor_bound_begin();
    const struct html_parts *parts = html_parts_read(arena, html);
    processor_bound_end();
    assert_string_equal(parts->texts.items[0].text, html);
}

static void test_equal_documents_have_no_differences(void **state)
{
    (void)state;
    static const char html[] = "<p>a</p><p>b</p><p>a</p>";
    assert_true(json_is_true(json_object_get(html_compare(arena, html, html), "isEqual")));
    assert_true(json_is_false(json_object_get(html_compare(arena, html, "<p>a</p><p>b</p>"), "isEqual")));
    assert_true(json_is_true(json_object_get(html_compare(arena, "<p>a b</p>", "<div>\n a <b>b</b></div>"), "isEqual")));
}

static void test_differences_are_as_few_as_possible(void **state)
{
    (void)state;
    assert_string_equal(compared("<p>a</p><p>b</p><p>c</p>", "<p>a</p><p>x</p><p>c</p>", "texts"),
                        "[{\"before\":\"b\",\"after\":\"x\"}]");
    assert_string_equal(compared("<p>a</p><p>c</p>", "<p>a</p><p>b</p><p>c</p>", "texts"), "[{\"before\":null,\"after\":\"b\"}]");
    assert_string_equal(compared("<p>a</p><p>b</p><p>c</p><p>d</p>", "<p>d</p><p>a</p><p>b</p><p>c</p>", "texts"),
                        "[{\"before\":null,\"after\":\"d\"},{\"before\":\"d\",\"after\":null}]");
    assert_string_equal(compared("<a href=\"u\">x</a>", "<a href=\"v\">x</a>", "links"),
                        "[{\"before\":{\"text\":\"x\",\"href\":\"u\"},\"after\":{\"text\":\"x\",\"href\":\"v\"}}]");
    assert_string_equal(compared("<img src=\"u\">", "", "images"), "[{\"before\":{\"alt\":\"\",\"src\":\"u\"},\"after\":null}]");
}

/* The texts of one side that a comparison tells, with those that are equal, are the texts of that side. */
static void test_many_texts_are_compared(void **state)
{
    (void)state;
    enum { TEXTS = 20000, EVERY = 100 };
    struct buf *before = buf_in_arena(arena, TEXTS * 24);
    struct buf *after = buf_in_arena(arena, TEXTS * 24);
    for (int i = 0; i < TEXTS; i++) {
        buf_printf(before, "<p>text %d</p>", i % 5000);
        buf_printf(after, i % EVERY == 7 ? "<p>new %d</p>" : "<p>text %d</p>", i % 5000);
    }
    const json_t *texts = json_object_get(html_compare(arena, buf_text(before), buf_text(after)), "texts");
    assert_int_equal(json_array_size(texts), TEXTS / EVERY);
    assert_string_equal(json_get_text(json_array_get(texts, 0), "before"), "text 7");
    assert_string_equal(json_get_text(json_array_get(texts, 0), "after"), "new 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_are_those_that_a_reader_sees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_html_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_references_have_at_most_ten_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reference_without_digits_is_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_references_take_linear_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equal_documents_have_no_differences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_differences_are_as_few_as_possible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_texts_are_compared, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
