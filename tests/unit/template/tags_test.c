/*
 * Templates: tags, values and filters; tags cannot change the HTML around them; limits
 * of evaluation; blobs of version 1.
 */
#include "base/json_read.h"
#include "template/format.h"
#include "template/template.h"
#include "template/value.h"
#include "template/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char data[] =
    "{\"firstName\": \"ada\", \"vip\": true, \"plan\": \"Pro\", \"count\": 2, \"price\": 12.5, \"note\": \"a <b>\\r\\nc & d\","
    " \"js\": \"javascript:alert(1)\", \"url\": \"https://e.example/a?b=c\", \"q\": \"a b/c&d\","
    " \"contact\": {\"first name\": \"Ada\", \"tags\": [\"x\", \"y\"]},"
    " \"payload\": {\"order\": {\"id\": 9007199254740993}, \"items\": [{\"name\": \"Tea\", \"price\": 3}, {\"name\": \"<Cup>\", "
    "\"price\": 12}]}}";

struct evaluated {
    const char *output; /* NULL: see the error */
    struct template template;
    struct error err;
};

static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)index;
    *value = template_follow(template_value_of_json(context), path);
}

static struct evaluated evaluate(struct arena *arena, enum template_kind kind, const char *source,
                                 const struct template_setting *setting)
{
    struct evaluated result = { .err = { .code = ERR_NONE } };
    const json_t *values;
    struct bytes blob;
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_OUTPUT_BYTES * 2);
    assert_true(json_read(arena, data, strlen(data), (struct json_bounds){ .max_bytes = sizeof(data) }, &values, &result.err));
    struct template_lookup lookup = { .value = look_up, .context = values, .setting = setting };
    if (template_compile(arena, kind, source, strlen(source), &blob, &result.err) &&
        template_load(blob, &result.template, &result.err) && template_evaluate(&result.template, lookup, arena, out, &result.err))
        result.output = buf_text(out);
    return result;
}

static void assert_renders(enum template_kind kind, const char *source, const char *expected)
{
    ARENA_SCOPE arena = arena_new(0);
    struct evaluated result = evaluate(arena, kind, source, NULL);
    if (result.output == NULL)
        fail_msg("'%s' failed: %s (%s)", source, result.err.message, result.err.cause);
    assert_string_equal(result.output, expected);
}

static void assert_refused(enum template_kind kind, const char *source, const char *message)
{
    ARENA_SCOPE arena = arena_new(0);
    struct evaluated result = evaluate(arena, kind, source, NULL);
    if (result.output != NULL)
        fail_msg("'%s' was accepted and gave '%s'", source, result.output);
    assert_int_equal(result.err.code, ERR_INVALID_REQUEST);
    if (strstr(result.err.message, message) == NULL)
        fail_msg("'%s': expected \"%s\" in \"%s\"", source, message, result.err.message);
}

/* ---- What tags do ---- */

static void test_conditions(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "{% if vip %}a{% else %}b{% endif %}{% unless vip %}c{% else %}d{% endunless %}", "ad");
    assert_renders(TEMPLATE_TEXT, "{% if count > 2 %}a{% elsif count >= 2 and plan == 'Pro' %}b{% else %}c{% endif %}", "b");
    assert_renders(TEMPLATE_TEXT, "{% if nobody or plan contains 'ro' %}a{% endif %}{% if not nobody %}b{% endif %}", "ab");
    /* From the right: false and (false or true) is false, where (false and false) or true would hold. */
    assert_renders(TEMPLATE_TEXT, "{% if nobody and nobody or vip %}a{% else %}b{% endif %}", "b");
    assert_renders(TEMPLATE_TEXT, "{% if nobody == nil and nobody == blank and '' == empty %}a{% endif %}", "a");
    assert_renders(TEMPLATE_TEXT, "{% case count %}{% when 1, 3 %}a{% when 2 or 4 %}b{% else %}c{% endcase %}", "b");
    assert_renders(TEMPLATE_TEXT, "{% case plan %}  {% when 1 %}a{% else %}c{% endcase %}", "c");
    assert_renders(TEMPLATE_TEXT, "{% if nobody > 0 %}a{% else %}b{% endif %}", "b");
}

static void test_loops(void **state)
{
    (void)state;
    assert_renders(
        TEMPLATE_TEXT,
        "{% for i in payload.items %}{{ forloop.index }}{{ i.name }}{% unless forloop.last %},{% endunless %}{% endfor %}",
        "1Tea,2<Cup>");
    assert_renders(TEMPLATE_TEXT, "{% for i in (1..5) offset: 1 limit: 3 reversed %}{{ i }}{% endfor %}", "432");
    assert_renders(TEMPLATE_TEXT, "{% for i in (1..5) limit: 3, offset: 1 %}{{ i }}{{ forloop.rindex0 }} {% endfor %}",
                   "22 31 40 ");
    assert_renders(TEMPLATE_TEXT, "{% for i in nobody %}a{% else %}none{% endfor %}", "none");
    assert_renders(TEMPLATE_TEXT, "{% for i in (1..2) offset: 9 %}a{% else %}none{% endfor %}", "none");
    assert_renders(
        TEMPLATE_TEXT,
        "{% for i in (1..9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}.",
        "13.");
    assert_renders(
        TEMPLATE_TEXT,
        "{% for a in (1..2) %}{% for b in (1..3) %}{% if b == 2 %}{% break %}{% endif %}{{ a }}{{ b }} {% endfor %}{% endfor %}",
        "11 21 ");
    assert_renders(TEMPLATE_TEXT, "{% for m in payload.order %}{{ m[0] }}={{ m[1] }}{% endfor %}", "id=9007199254740993");
}

static void test_names(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "{{ plan }}{% assign plan = 'x' | upcase %}{{ plan }}", "ProX");
    assert_renders(TEMPLATE_TEXT, "{% if nobody %}{% assign plan = 'x' %}{% endif %}{{ plan }}", "Pro");
    assert_renders(TEMPLATE_TEXT, "{% for i in (1..2) %}{{ total }}{% assign total = total | plus: i %}{% endfor %}{{ total }}",
                   "13");
    assert_renders(TEMPLATE_TEXT,
                   "{% assign i = 'out' %}{% for i in (1..1) %}{{ i }}{% assign i = 'in' %}{{ i }}{% endfor %}{{ i }}", "11in");
    assert_renders(TEMPLATE_TEXT, "{% capture x %}<{{ plan }}>{% endcapture %}{{ x | downcase }}", "<pro>");
    assert_renders(TEMPLATE_TEXT, "{% comment %}{{ x | nope }}{% endcomment %}{% raw %}{{ x }}{% endraw %}{% # note %}", "{{ x }}");
    assert_renders(TEMPLATE_TEXT, "a {{- plan -}} b {%- if vip -%} c {%- endif %} d", "aProbc d");
    assert_renders(TEMPLATE_TEXT,
                   "{{ contact['first name'] }}{{ contact.tags[-1] }}{{ payload.items[count].name }}{{ payload.items.size }}",
                   "Aday2");
}

static void test_filters(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT,
                   "{{ 'a,b,,' | split: ',' | join: '+' }} {{ '1.005' | round: 2 }} {{ 7 | divided_by: 2 }} {{ -7 | modulo: 3 }}",
                   "a+b 1.01 3.5 2");
    assert_renders(TEMPLATE_TEXT, "{{ 5 | divided_by: 0 | default: 'none' }}{{ 1 | modulo: 0 }}", "none");
    assert_renders(TEMPLATE_TEXT, "{{ 0.1 | plus: 0.2 }} {{ '1e21' | times: 10 }}", "0.30000000000000004 1e+22");
    assert_renders(TEMPLATE_TEXT,
                   "{{ 'one two three' | truncatewords: 2 }} {{ 'one two' | truncatewords: 2 }} {{ 'abcdef' | truncate: 5 }}",
                   "one two... one two ab...");
    assert_renders(TEMPLATE_TEXT,
                   "{{ payload.items | map: 'price' | sort | reverse | join }} {{ payload.items | sort: 'name' | first }}{{ "
                   "'\u00e9\U0001F600' | size }}",
                   "12 3 2");
    assert_renders(TEMPLATE_TEXT, "{{ nobody | default: false, allow_false: true }}{{ vip | default: 1 }}", "falsetrue");
    assert_renders(TEMPLATE_TEXT, "{{ '<p>a<script>b</script></p>' | strip_html }}{{ '&lt;' | escape_once }}{{ 'x' | escape }}",
                   "a<x");
}

/* ---- HTML ---- */

static void test_breaks_and_urls(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_HTML, "<p>{{ note | newline_to_br }}</p>", "<p>a &lt;b&gt;<br />\nc &amp; d</p>");
    assert_renders(TEMPLATE_HTML, "<p title=\"{{ note | newline_to_br }}\">", "<p title=\"a &lt;b&gt;\r\nc &amp; d\">");
    assert_renders(TEMPLATE_TEXT, "{{ note | newline_to_br }}", "a <b>\r\nc & d");
    assert_renders(TEMPLATE_HEADER, "{{ note | newline_to_br }}", "a <b>  c & d");
    assert_refused(TEMPLATE_TEXT, "{% assign x = note | newline_to_br %}", "can only be the last filter of {{ … }}");
    /* A component that is encoded by its author is not encoded twice. */
    assert_renders(TEMPLATE_HTML, "<a href=\"https://e.example/?q={{ q | url_encode }}&amp;r={{ q }}\">",
                   "<a href=\"https://e.example/?q=a+b%2Fc%26d&amp;r=a%20b%2Fc%26d\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{% if vip %}{{ js }}{% else %}{{ url }}{% endif %}\">", "<a href=\"#\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{% if nobody %}{{ js }}{% else %}{{ url }}{% endif %}\">",
                   "<a href=\"https://e.example/a?b=c\">");
    /* Values in a loop are escaped like any other. */
    assert_renders(TEMPLATE_HTML,
                   "<table>{% for i in payload.items %}<tr><td title=\"{{ i.name }}\">{{ i.name }}</td></tr>{% endfor %}</table>",
                   "<table><tr><td title=\"Tea\">Tea</td></tr><tr><td title=\"&lt;Cup&gt;\">&lt;Cup&gt;</td></tr></table>");
    assert_renders(TEMPLATE_HTML, "{% capture x %}a &amp; {{ note }}{% endcapture %}<p title=\"{{ x }}\">",
                   "<p title=\"a &amp; a &lt;b&gt;\r\nc &amp; d\">");
}

/* On every path of a program, the text after a block is in the same HTML context. */
static void test_branches_keep_their_place(void **state)
{
    (void)state;
    assert_refused(TEMPLATE_HTML, "<a {% if x %}href=\"{% endif %}",
                   "Line 1, column 4: {% if x %}: it ends in a different part of the HTML");
    assert_refused(TEMPLATE_HTML, "{% if x %}<b>{% endif %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "<div>{% if x %}</div>{% else %}y{% endif %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "{% for i in x %}<p>{% endfor %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "{% for i in x %}<b>{% break %}</b>{% endfor %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "{% comment %}<b>{% endcomment %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "{% if x %}<!--[if mso]>{% endif %}", "conditional comment");
    assert_refused(TEMPLATE_HTML, "{% if x %}<style>{% endif %}", "opens or closes an element");
    assert_refused(TEMPLATE_HTML, "<{% if x %}b{% endif %}>", "inside an HTML name");
    assert_refused(TEMPLATE_HTML, "<!-- {% if x %} -->", "inside a comment");
    assert_refused(TEMPLATE_HTML, "<a href=\"{% if x %}https://a/{% endif %}{{ y }}\">", "beginning depends on a tag");
    assert_refused(TEMPLATE_HTML, "<a href=\"{% for i in x %}{{ i }}{% endfor %}\">", "begin the URL before the loop");
    assert_refused(TEMPLATE_HTML, "<p title=\"{% assign a = 1 %}\">", "must be in the text");
    assert_refused(TEMPLATE_HTML, "{% capture a %}<b>x</b>{% endcapture %}", "not HTML");
    assert_renders(TEMPLATE_HTML, "<a title=\"{% if vip %}a{% endif %}\" href=\"https://a/{% if vip %}b/{% endif %}{{ q }}\">",
                   "<a title=\"a\" href=\"https://a/b/a%20b%2Fc%26d\">");
    assert_renders(TEMPLATE_HTML, "<p style=\"color:{% if vip %}red{% else %}blue{% endif %}\">", "<p style=\"color:red\">");
    assert_renders(
        TEMPLATE_HTML,
        "{% if vip %}<img src=\"https://a/b.png\"><br>{% endif %}<!--[if mso]><table>{% if vip %}<tr>{% endif %}<![endif]-->",
        "<img src=\"https://a/b.png\"><br><!--[if mso]><table><tr><![endif]-->");
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_refused(TEMPLATE_TEXT, "a\n{% if x %}b", "Line 2, column 1: {% if x %}: it has no {% endif %}");
    assert_refused(TEMPLATE_TEXT, "{% endif %}", "there is no open block for it to end");
    assert_refused(TEMPLATE_TEXT, "{% if x %}{% endfor %}", "{% endif %} is expected first");
    assert_refused(TEMPLATE_TEXT, "{% unless x %}{% endif %}", "{% endunless %} is expected first");
    assert_refused(TEMPLATE_TEXT, "{% if %}a{% endif %}", "it is empty");
    assert_refused(TEMPLATE_TEXT, "{% if x = 1 %}a{% endif %}", "instead of '='");
    assert_refused(TEMPLATE_TEXT, "{% if x %}{% else %}{% else %}{% endif %}", "the block already has an {% else %}");
    assert_refused(TEMPLATE_TEXT, "{% if x %}{% else %}{% elsif y %}{% endif %}", "comes after {% else %}");
    assert_refused(TEMPLATE_TEXT, "{% if x %}{% elseif y %}{% endif %}", "did you mean 'elsif'");
    assert_refused(TEMPLATE_TEXT, "{% if x %}{% else if y %}{% endif %}", "for another condition, elsif");
    assert_refused(TEMPLATE_TEXT, "{% break %}", "is outside of {% for %}");
    assert_refused(TEMPLATE_TEXT, "{% for i in x %}{% capture y %}{% break %}{% endcapture %}{% endfor %}",
                   "is outside of {% for %}");
    assert_refused(TEMPLATE_TEXT, "{{ forloop.index }}", "is used outside of {% for %}");
    assert_refused(TEMPLATE_TEXT, "{% for i in x %}{{ forloop.nope }}{% endfor %}", "forloop has index");
    assert_refused(TEMPLATE_TEXT, "{% for i of x %}{% endfor %}", "'in' is expected instead of 'o'");
    assert_refused(TEMPLATE_TEXT, "{% for i in x cols: 2 %}{% endfor %}", "limit, offset, reversed or the end");
    assert_refused(TEMPLATE_TEXT, "{% case x %}a{% when 1 %}{% endcase %}", "only white space is allowed between");
    assert_refused(TEMPLATE_TEXT, "{% include 'x' %}", "other templates cannot be included");
    assert_refused(TEMPLATE_TEXT, "{% shout %}", "there is no tag 'shout'");
    assert_refused(TEMPLATE_TEXT, "{% %}", "it has no name");
    assert_refused(TEMPLATE_TEXT, "{% if x", "'{%' has no '%}'");
    assert_refused(TEMPLATE_TEXT, "{% raw %}{{ x", "it has no {% endraw %}");
    assert_refused(TEMPLATE_TEXT, "{% comment %}", "it has no {% endcomment %}");
    assert_refused(TEMPLATE_TEXT, "{% assign = 1 %}", "a name is expected instead of '='");
    assert_refused(TEMPLATE_TEXT, "{% assign x 1 %}", "'=' is expected instead of '1'");
}

/* ---- Bounds ---- */

static void test_evaluations_are_bounded(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "{% for i in (1..1000) %}{% endfor %}", "");
    assert_refused(TEMPLATE_TEXT, "{% for i in (1..1001) %}{% endfor %}", "more than 1000 numbers");
    assert_refused(TEMPLATE_TEXT, "{% for i in (1..100) %}{% for j in (1..10) %}{% endfor %}{% endfor %}",
                   "run more than 1000 times");
    assert_refused(TEMPLATE_TEXT, "{% for i in (1..-9) %}{% endfor %}{{ (1..99999999999) }}", "more than 1000 numbers");
    assert_refused(TEMPLATE_TEXT, "{% assign a = 'xxxxxxxx' %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}",
                   "produce more than");
    assert_refused(
        TEMPLATE_TEXT,
        "{% for i in (1..999) %}{% capture a %}{{ a }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endcapture %}{% endfor %}",
        "produce more than");
    assert_refused(TEMPLATE_TEXT, "{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}",
                   "more than 8 levels deep");
    assert_refused(TEMPLATE_TEXT,
                   "{% if a or a or a or a or a or a or a or a or a or a or a or a or a or a or a or a or a %}x{% endif %}",
                   "more than 15 operators");
    assert_refused(TEMPLATE_TEXT,
                   "{% for i in (1..1000) %}{% capture a %}{% endcapture %}{% capture a %}{% endcapture %}{% capture a %}{% "
                   "endcapture %}{% endfor %}",
                   "produce more than");
    ARENA_SCOPE arena = arena_new(0);
    struct buf *source = buf_in_arena(arena, 1 << 20);
    buf_add_text(source, "{% for i in (1..1000) %}");
    for (int i = 0; i < 2000; i++)
        buf_add_text(source, "{% if i %}{% endif %}");
    buf_add_text(source, "{% endfor %}");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "takes more than 1000000 steps");
    /* Unclosed scripts, each of which is looked for to the end of the text. */
    assert_refused(
        TEMPLATE_TEXT,
        "{% assign x = '<script>' %}{% for i in (1..15) %}{% assign x = x | append: x %}{% endfor %}{{ x | strip_html }}",
        "takes more than 1000000 steps");
    buf_clear(source);
    for (int i = 0; i <= TEMPLATE_MAX_VARIABLES; i++)
        buf_printf(source, "{%% assign v%d = 1 %%}", i);
    assert_refused(TEMPLATE_TEXT, buf_text(source), "more than 64 names");
    /* The end of a brace is not sought further than an expression may be long: here every one of them is tried. */
    buf_clear(source);
    buf_add_text(source, "{% comment %}");
    for (int i = 0; i < 50000; i++)
        buf_add_text(source, "{{");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "it has no {% endcomment %}");
    assert_refused(TEMPLATE_TEXT, strstr(buf_text(source), "{{"), "the expression is too long, or '{{' has no '}}'");
}

/* ---- Long values ---- */

struct long_value {
    const char *text;
    size_t size;
    unsigned *asked;
};

static void look_up_long(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)index;
    const struct long_value *given = context;
    ++*given->asked;
    *value = template_follow(template_string(given->text, given->size), path + strlen("bio"));
}

/* What a template makes of a text of a megabyte, `bio`; NULL when it is stopped. */
static const char *evaluate_long(struct arena *arena, const char *source, unsigned *ret_asked, struct error *err)
{
    const size_t size = 1000 * 1000;
    struct bytes blob;
    struct template template;
    struct buf *out = buf_in_arena(arena, TEMPLATE_MAX_OUTPUT_BYTES);
    char *text = arena_alloc(arena, size);
    memset(text, 'x', size);
    *ret_asked = 0;
    struct long_value given = { text, size, ret_asked };
    struct template_lookup lookup = { .value = look_up_long, .context = &given };
    assert_true(template_compile(arena, TEMPLATE_TEXT, source, strlen(source), &blob, err));
    assert_true(template_load(blob, &template, err));
    return template_evaluate(&template, lookup, arena, out, err) ? buf_text(out) : NULL;
}

/* To tell the size of a text its characters are counted: once where the recipient brings it, for steps where a template asks. */
static void test_sizes_of_long_texts(void **state)
{
    (void)state;
    static const char *const counting[] = {
        "{% assign b = bio %}{% for i in (1..100) %}{% if b.size > 1 %}{% endif %}{% endfor %}",
        "{% assign b = bio %}{% for i in (1..100) %}{% if b['size'] > 1 %}{% endif %}{% endfor %}",
        "{% assign b = bio %}{% assign k = 'size' %}{% for i in (1..100) %}{% if b[k] > 1 %}{% endif %}{% endfor %}",
        "{% for i in (1..100) %}{% assign b = bio | map: 'size' %}{% endfor %}",
        "{% for i in (1..100) %}{% assign b = bio | sort: 'size' %}{% endfor %}",
        "{% for i in (1..9) %}{% assign b = bio | sort %}{% endfor %}",
    };
    ARENA_SCOPE arena = arena_new(0);
    unsigned asked;
    for (size_t i = 0; i < ARRAY_COUNT(counting); i++) {
        struct error err = { .code = ERR_NONE };
        if (evaluate_long(arena, counting[i], &asked, &err) != NULL)
            fail_msg("'%s' was let through", counting[i]);
        if (strstr(err.message, "takes more than 1000000 steps") == NULL)
            fail_msg("'%s': %s", counting[i], err.message);
    }
    struct error err = { .code = ERR_NONE };
    const char *often = "{% for i in (1..100) %}{% for j in (1..8) %}{% if bio.size > 1 and bio.size < 2 %}{% endif %}{% endfor %}"
                        "{% endfor %}{{ bio.size }}";
    assert_string_equal(evaluate_long(arena, often, &asked, &err), "1000000");
    assert_int_equal(asked, 1);
}

/* ---- Paths ---- */

static void test_listed_paths(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        const char *paths;
    } cases[] = {
        { "{% for item in payload.items %}{{ item.price }}{{ item.name | upcase }}{% endfor %}",
          "payload.items payload.items[].price payload.items[].name" },
        { "{% for a in x %}{% for b in a.list %}{{ b }}{% endfor %}{% endfor %}", "x x[].list x[].list[]" },
        { "{% assign p = payload.product %}{{ p.price }}", "payload.product payload.product.price" },
        { "{% assign a = b | upcase %}{{ a.c }}{{ a }}", "b" },
        { "{% if x %}{% assign g = 1 %}{% endif %}{{ g }}", "x" },
        { "{{ a }}{% assign a = a | plus: 1 %}{{ a }}", "a" },
        { "{{ a['b'][0]['c d'] }}{{ a[k].z }}{{ forloop_ }}", "a.b[0][\"c d\"] a k a[].z forloop_" },
        { "{% capture c %}{{ d }}{% endcapture %}{{ c }}{% for c in (1..3) %}{{ c }}{{ forloop.index }}{% endfor %}", "d" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct evaluated result = evaluate(arena, TEMPLATE_TEXT, cases[i].source, NULL);
        assert_non_null(result.output);
        struct buf *paths = buf_in_arena(arena, 4096);
        for (size_t j = 0; j < template_path_count(&result.template); j++)
            if (template_path_is_listed(&result.template, j))
                buf_printf(paths, "%s%s", paths->size > 0 ? " " : "", template_path(&result.template, j));
        assert_string_equal(buf_text(paths), cases[i].paths);
    }
}

/* ---- Dates ---- */

static void test_dates_in_a_zone(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const struct template_zone *zone = template_zone_load(arena, "America/New_York");
    assert_non_null(zone);
    const struct template_setting setting = { .zone = zone,
                                              .zone_name = "America/New_York",
                                              .now_us = INT64_C(1714557600) * 1000 * 1000 };
    static const char *const cases[][2] = {
        { "{{ '2024-07-01T00:30:00Z' | date: '%Y-%m-%d %H:%M %z' }}", "2024-06-30 20:30 -0400" },
        { "{{ '2024-01-01T00:30:00Z' | date: '%Y-%m-%d %H:%M %:z %Z' }}", "2023-12-31 19:30 -05:00 America/New_York" },
        /* A day is that day everywhere, and a time without an offset is one of the zone. */
        { "{{ '2024-07-01' | date: '%d %B %H:%M' }}", "01 July 00:00" },
        { "{{ '2024-07-01T09:30' | date: '%H:%M %z' }}", "09:30 -0400" },
        { "{{ 'now' | date: '%Y-%m-%d' }}", "2024-05-01" },
        { "{{ 'soon' | date: '%Y' }}{{ '2024-02-30x' | date: '%Y' }}", "soon2024-02-30x" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct evaluated result = evaluate(arena, TEMPLATE_TEXT, cases[i][0], &setting);
        assert_non_null(result.output);
        assert_string_equal(result.output, cases[i][1]);
    }
    assert_null(template_zone_load(arena, "../../etc/passwd"));
    assert_null(template_zone_load(arena, "Nowhere/Land"));
}

/* ---- Blobs ---- */

/* "Hi {{ name | default: 'you' | upcase }}!" as the first release compiled it; designs are stored in this form. */
static const unsigned char
    version_1[] = {
        0x50, 0x48, 0x54, 0x42, 0x01, 0x00, 0x02, 0x00, 0x08, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, 0x12, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,             /* header, sealed below */
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* TEXT 0, LOAD 0 */
        0x03, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, /* CONST 2, default */
        0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* upcase, EMIT */
        0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* TEXT 3, END */
        0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, /* strings */
        0x09, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x0D, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, /* a path */
        'H',  'i',  ' ',  0,    'n',  'a',  'm',  'e',  0,    'y',  'o',  'u',  0,    '!',  0,    0,    0,    0,
    };

static void test_blobs_of_version_1(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    unsigned char *blob = (unsigned char *)arena_dup_bytes(arena, version_1, sizeof(version_1));
    struct template template;
    struct buf *out = buf_in_arena(arena, 4096);
    template_seal(blob, sizeof(version_1));
    if (!template_load((struct bytes){ blob, sizeof(version_1) }, &template, &err))
        fail_msg("%s", err.cause);
    assert_int_equal(template_path_count(&template), 1);
    assert_string_equal(template_path(&template, 0), "name");
    assert_true(template_path_is_listed(&template, 0));
    assert_true(template_evaluate(&template, (struct template_lookup){ .value = look_up, .context = NULL }, arena, out, &err));
    assert_string_equal(buf_text(out), "Hi YOU!");
    /* The operations of version 2 mean nothing there. */
    blob[TEMPLATE_HEADER_BYTES] = TEMPLATE_OP_JUMP;
    blob[TEMPLATE_HEADER_BYTES + 4] = 1;
    template_seal(blob, sizeof(version_1));
    assert_false(template_load((struct bytes){ blob, sizeof(version_1) }, &template, &err));
}

/* Damage of every byte of a program with every kind of jump: found, or harmless. */
static void test_damaged_programs(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *source =
        "{% for i in (1..3) limit: 2 %}{% if i > 1 %}{% break %}{% elsif i %}{% continue %}{% endif %}{{ forloop.index }}{% endfor "
        "%}"
        "{% case a %}{% when 1 %}x{% else %}y{% endcase %}{% capture c %}{{ a[b] }}{% endcapture %}{{ c | default: 'q' }}";
    struct bytes blob;
    assert_true(template_compile(arena, TEMPLATE_TEXT, source, strlen(source), &blob, &err));
    unsigned char *copy = arena_alloc(arena, blob.size);
    for (size_t i = TEMPLATE_HEADER_BYTES; i < blob.size; i++) {
        static const unsigned char damages[] = { 0x01, 0x02, 0x04, 0x10, 0x80, 0xFF };
        for (size_t j = 0; j < sizeof(damages); j++) {
            ARENA_SCOPE scratch = arena_new(0);
            struct template template;
            memcpy(copy, blob.data, blob.size);
            copy[i] ^= damages[j];
            template_seal(copy, blob.size);
            struct buf *out = buf_in_arena(scratch, 1 << 20);
            struct error ignored = { .code = ERR_NONE };
            if (template_load((struct bytes){ copy, blob.size }, &template, &ignored))
                (void)!template_evaluate(&template, (struct template_lookup){ .value = look_up }, scratch, out, &ignored);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_breaks_and_urls),
        cmocka_unit_test(test_branches_keep_their_place),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_evaluations_are_bounded),
        cmocka_unit_test(test_sizes_of_long_texts),
        cmocka_unit_test(test_listed_paths),
        cmocka_unit_test(test_dates_in_a_zone),
        cmocka_unit_test(test_blobs_of_version_1),
        cmocka_unit_test(test_damaged_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
