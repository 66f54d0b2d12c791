/* Numbered links: which links of a template get a number, and what a sender can write in their place. */
#include "template/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static struct template_links links;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    links = (struct template_links){ .count = 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)index;
    if (strcmp(path, "plan") == 0)
        *value = (struct template_value){ .kind = TEMPLATE_STRING, .text = "a&b c", .size = 5 };
    if (strcmp(path, "site") == 0)
        *value = (struct template_value){ .kind = TEMPLATE_STRING, .text = "https://own.example/", .size = 20 };
    if (strcmp(path, "yes") == 0)
        *value = (struct template_value){ .kind = TEMPLATE_BOOL, .truth = true };
    (void)context;
}

/* Writes [N] in place of link N, and [N merged ADDRESS] in place of a merged one. An address with "stay" stays. */
static struct bytes number_of(const void *context, unsigned number, bool is_merged, const char *text, size_t size)
{
    (void)context;
    if (memmem(text, size, "stay", 4) != NULL)
        return (struct bytes){ .data = NULL };
    const char *shown =
        is_merged ? arena_printf(arena, "[%u merged %.*s]", number, (int)size, text) : arena_printf(arena, "[%u]", number);
    return (struct bytes){ (const unsigned char *)shown, strlen(shown) };
}

static const char *evaluate(struct bytes blob, bool replaces)
{
    struct error err = { .code = ERR_NONE };
    struct template template;
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    assert_true(template_load(blob, &template, &err));
    const struct template_lookup lookup = { .value = look_up, .link = replaces ? number_of : NULL };
    assert_true(template_evaluate(&template, lookup, arena, out, &err));
    return buf_text(out);
}

static void compile(enum template_kind kind, const char *source, struct bytes *ret_blob)
{
    struct error err = { .code = ERR_NONE };
    assert_true(template_compile_links(arena, kind, source, strlen(source), &links, ret_blob, &err));
}

/* The source gives `expected` with replaced links, and the same as without numbers when nothing is replaced. */
static void assert_numbered(enum template_kind kind, const char *source, const char *expected)
{
    struct error err = { .code = ERR_NONE };
    struct bytes numbered;
    struct bytes plain;
    links.count = links.bytes = 0;
    compile(kind, source, &numbered);
    assert_true(template_compile(arena, kind, source, strlen(source), &plain, &err));
    assert_string_equal(evaluate(numbered, true), expected);
    assert_string_equal(evaluate(numbered, false), evaluate(plain, false));
}

static void test_web_links_of_html(void **state)
{
    (void)state;
    assert_numbered(TEMPLATE_HTML, "<a href=\"https://a.example/?x=1&amp;y=2\">A</a><a class=\"b\" href='http://b.example'>B</a>",
                    "<a href=\"[0]\">A</a><a class=\"b\" href='[1]'>B</a>");
    assert_int_equal(links.count, 2);
    assert_string_equal(links.items[0].target, "https://a.example/?x=1&y=2");
    assert_string_equal(links.items[1].target, "http://b.example");
    assert_numbered(TEMPLATE_HTML, "<map><area href=\"HTTPS://a.example/\"></map>", "<map><area href=\"[0]\"></map>");
    assert_numbered(TEMPLATE_HTML, "<!--[if mso]><v:roundrect href=\"https://a.example/\"></v:roundrect><![endif]-->",
                    "<!--[if mso]><v:roundrect href=\"[0]\"></v:roundrect><![endif]-->");
}

static void test_other_addresses_stay(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "<a href=\"mailto:a@example.com\">x</a>",
        "<a href=\"tel:+431\">x</a>",
        "<a href=\"#top\">x</a>",
        "<a href=\"\">x</a>",
        "<a href=\"https://\">x</a>",
        "<a href=\"https://m\xc3\xbcller.example/\">x</a>",
        "<a href=\"https://a.example/ b\">x</a>",
        "<img src=\"https://a.example/x.png\">",
        "<link href=\"https://a.example/x.css\">",
        "<a title=\"https://a.example/\">x</a>",
        "<p>https://a.example/</p>",
        "<a href=\"mailto:{{ plan }}\">x</a>",
        "<a href=\"{{ unsubscribeUrl }}\">x</a>",
        "<a href=\"{{ unsubscribeUrl }}?why=1\">x</a>",
        "<a href=\"https://stay.example/\">x</a>",
    };
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct bytes blob;
        links.count = links.bytes = 0;
        compile(TEMPLATE_HTML, sources[i], &blob);
        assert_string_equal(evaluate(blob, true), evaluate(blob, false));
        assert_int_equal(links.count, strstr(sources[i], "stay") != NULL);
    }
}

static void test_merged_links(void **state)
{
    (void)state;
    assert_numbered(TEMPLATE_HTML, "<a href=\"https://a.example/{{ plan }}?x=1&amp;y=2\">A</a>",
                    "<a href=\"[0 merged https://a.example/a%26b%20c?x=1&amp;y=2]\">A</a>");
    assert_true(links.items[0].is_merged);
    assert_string_equal(links.items[0].target, "https://a.example/{{ plan }}?x=1&y=2");
    assert_numbered(TEMPLATE_HTML, "<a href=\"{{ site }}\">A</a><a href=\"https://b.example\">B</a>",
                    "<a href=\"[0 merged https://own.example/]\">A</a><a href=\"[1]\">B</a>");
    assert_numbered(TEMPLATE_HTML, "<a href=\"https://a.example/{% if yes %}1{% else %}2{% endif %}/3\">A</a>",
                    "<a href=\"[0 merged https://a.example/1/3]\">A</a>");
    assert_numbered(TEMPLATE_HTML,
                    "{% if yes %}<a href=\"https://a.example/{% else %}<a href=\"https://b.example/{% endif %}z\">A</a>",
                    "<a href=\"[0 merged https://a.example/z]\">A</a>");
    assert_numbered(TEMPLATE_HTML, "{% for i in (1..2) %}<a href=\"https://a.example/{{ i }}\">A</a>{% endfor %}",
                    "<a href=\"[0 merged https://a.example/1]\">A</a><a href=\"[0 merged https://a.example/2]\">A</a>");
}

static void test_links_of_text(void **state)
{
    (void)state;
    assert_numbered(TEMPLATE_TEXT, "See https://a.example/x. And (http://b.example/y), <https://c.example>!",
                    "See [0]. And ([1]), <[2]>!");
    assert_numbered(TEMPLATE_TEXT, "https://a.example/a_(b) [https://b.example/]\nhttps://c.example", "[0] [[1]]\n[2]");
    assert_numbered(TEMPLATE_TEXT, "ahttps://a.example /https://b.example https:// http://x.example/?u=https://y.example",
                    "ahttps://a.example /https://b.example https:// [0]");
    assert_numbered(TEMPLATE_TEXT, "Go https://a.example/{{ site }}/z. Now",
                    "Go [0 merged https://a.example/https://own.example//z]. Now");
    assert_numbered(TEMPLATE_TEXT, "Go https://a.example/{{ site }}.", "Go [0 merged https://a.example/https://own.example/].");
    assert_numbered(TEMPLATE_TEXT, "Go https://a.example/{{ site }}", "Go [0 merged https://a.example/https://own.example/]");
    /* A tag can continue the address, so these stay. */
    assert_numbered(TEMPLATE_TEXT, "https://a.example/{% if yes %}1{% endif %} https://b.example", "https://a.example/1 [0]");
    assert_numbered(TEMPLATE_TEXT, "{% capture c %}https://a.example/{% endcapture %}{{ c }}", "https://a.example/");
    assert_numbered(TEMPLATE_TEXT, "https://a.example/{{ site }}{% if yes %}1{% endif %}",
                    "https://a.example/https://own.example/1");
}

static void test_numbers_go_on_in_the_text(void **state)
{
    (void)state;
    struct bytes blob;
    compile(TEMPLATE_HTML, "<a href=\"https://a.example/\">A</a>", &blob);
    compile(TEMPLATE_TEXT, "https://a.example/", &blob);
    assert_string_equal(evaluate(blob, true), "[1]");
    assert_int_equal(links.items[0].where, TEMPLATE_HTML);
    assert_int_equal(links.items[1].where, TEMPLATE_TEXT);
}

static void test_bounds(void **state)
{
    (void)state;
    struct bytes blob;
    struct buf *source = buf_in_arena(arena, 512 * 1024);
    for (int i = 0; i < TEMPLATE_MAX_LINKS + 5; i++)
        buf_add_text(source, "<a href=\"https://a.example/\">A</a>");
    compile(TEMPLATE_HTML, buf_text(source), &blob);
    assert_int_equal(links.count, TEMPLATE_MAX_LINKS);
    const char *shown = evaluate(blob, true);
    assert_non_null(strstr(shown, "\"[999]\""));
    assert_string_equal(shown + strlen(shown) - 34, "<a href=\"https://a.example/\">A</a>");

    char address[TEMPLATE_LINK_MAX_BYTES + 2];
    memset(address, 'x', sizeof(address));
    memcpy(address, "https://a.example/", 18);
    assert_non_null(template_link_target(arena, address, TEMPLATE_LINK_MAX_BYTES));
    assert_null(template_link_target(arena, address, TEMPLATE_LINK_MAX_BYTES + 1));
    assert_string_equal(template_link_target(arena, "https://a.example/\xc3\xbc", 20), "https://a.example/%C3%BC");
    static const char *const refused[] = { "https://a.example/\r\nx: y", "javascript:alert(1)", "//a.example", "https://?x",
                                           "http:/a" };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_null(template_link_target(arena, refused[i], strlen(refused[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_web_links_of_html, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_addresses_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_merged_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_of_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_go_on_in_the_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
