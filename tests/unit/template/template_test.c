/* Templates: filters, escaping by context, errors with their position, limits, and damaged blobs. */
#include "template/template.h"
#include "template/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct pair {
    const char *path;
    const char *value; /* "true" and "false" are booleans */
};

static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)index;
    for (const struct pair *pair = context; pair->path != NULL; pair++) {
        if (strcmp(pair->path, path) != 0)
            continue;
        bool is_bool = strcmp(pair->value, "true") == 0 || strcmp(pair->value, "false") == 0;
        *value = (struct template_value){ .kind = is_bool ? TEMPLATE_BOOL : TEMPLATE_STRING,
                                          .truth = strcmp(pair->value, "true") == 0,
                                          .text = pair->value,
                                          .size = strlen(pair->value) };
    }
}

/* Compiles, loads from an unaligned copy, evaluates. Gives NULL with the error. */
static const char *render(struct arena *arena, enum template_kind kind, const char *source, const struct pair *pairs,
                          struct error *err)
{
    struct bytes blob;
    if (!template_compile(arena, kind, source, strlen(source), &blob, err))
        return NULL;
    unsigned char *copy = arena_alloc(arena, blob.size + 1);
    memcpy(copy + 1, blob.data, blob.size);
    struct template template;
    if (!template_load((struct bytes){ .data = copy + 1, .size = blob.size }, &template, err))
        return NULL;
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_OUTPUT_BYTES * 2);
    if (!template_evaluate(&template, (struct template_lookup){ .value = look_up, .context = pairs }, arena, out, err))
        return NULL;
    return buf_text(out);
}

static const struct pair people[] = {
    { "firstName", "ada" },
    { "lastName", "LOVELACE" },
    { "empty_", "" },
    { "no", "false" },
    { "yes", "true" },
    { "contact.city", "Zürich" },
    { "html", "<b>\"A\" & 'B'</b>" },
    { "url", "https://shop.example/a?b=c&d=e" },
    { "js", "javascript:alert(1)" },
    { "path", "a b/c?d&e=é" },
    { "email", "ada+news@example.com" },
    { "lines", "one\r\nBcc: x@y\ttwo" },
    { "street", "straße" },
    { "greek", "ὈΔΥΣΣΕΎΣ" },
    { NULL, NULL },
};

static void assert_renders(enum template_kind kind, const char *source, const char *expected)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *result = render(arena, kind, source, people, &err);
    if (result == NULL)
        fail_msg("'%s' failed: %s (%s)", source, err.message, err.cause);
    assert_string_equal(result, expected);
}

static void assert_refused(enum template_kind kind, const char *source, const char *message)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *result = render(arena, kind, source, people, &err);
    if (result != NULL)
        fail_msg("'%s' was accepted and gave '%s'", source, result);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "");
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s': expected \"%s\" in \"%s\"", source, message, err.message);
}

static void test_slots_and_filters(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "", "");
    assert_renders(TEMPLATE_TEXT, "no slots } }} { {x", "no slots } }} { {x");
    assert_renders(TEMPLATE_TEXT, "Hi {{ firstName }}!", "Hi ada!");
    assert_renders(TEMPLATE_TEXT, "{{firstName}}{{lastName}}", "adaLOVELACE");
    assert_renders(TEMPLATE_TEXT, "{{ contact.city }}", "Zürich");
    assert_renders(TEMPLATE_TEXT, "[{{ nobody }}][{{ empty_ }}][{{ no }}][{{ yes }}]", "[][][false][true]");
    assert_renders(TEMPLATE_TEXT, "{{ nobody | default: 'there' }}", "there");
    assert_renders(TEMPLATE_TEXT, "{{ empty_ | default: \"you\" }}", "you");
    assert_renders(TEMPLATE_TEXT, "{{ no | default: 'x' }}{{ yes | default: 'x' }}", "xtrue");
    assert_renders(TEMPLATE_TEXT, "{{ firstName | default: 'there' }}", "ada");
    assert_renders(TEMPLATE_TEXT, "{{ nobody | default: firstName | upcase }}", "ADA");
}

static void test_case_filters(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "{{ firstName | capitalize }} {{ lastName | capitalize }}", "Ada Lovelace");
    assert_renders(TEMPLATE_TEXT, "{{ lastName|downcase|capitalize|upcase }}", "LOVELACE");
    assert_renders(TEMPLATE_TEXT, "{{ street | upcase }} {{ contact.city | upcase }}", "STRASSE ZÜRICH");
    assert_renders(TEMPLATE_TEXT, "{{ greek | downcase }}", "ὀδυσσεύς");
    assert_renders(TEMPLATE_TEXT, "{{ greek | capitalize }}", "Ὀδυσσεύς");
    assert_renders(TEMPLATE_TEXT, "{{ empty_ | upcase }}{{ nobody | capitalize }}", "");
    assert_renders(TEMPLATE_TEXT, "{{ yes | upcase }}", "TRUE");
    assert_renders(TEMPLATE_TEXT, "{{ '\u0149\u0390' | upcase }}", "\u02BCN\u0399\u0308\u0301");
}

static void test_literals(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_TEXT, "{{ '{{' }} {{ 12 }} {{ -3.50 }} {{ true }}{{ nil }}", "{{ 12 -3.5 true");
    assert_renders(TEMPLATE_TEXT, "{{ nobody | default: 5 }}", "5");
    assert_renders(TEMPLATE_TEXT, "{{\n  firstName\n  | upcase\n}}", "ADA");
    assert_renders(TEMPLATE_TEXT, "{{\u00A0firstName\u00A0}}", "ada");
    assert_renders(TEMPLATE_HTML, "{{ nobody | default: 'a &amp; b' }}", "a &amp; b");
    assert_renders(TEMPLATE_HTML, "{{&nbsp;nobody | default: &quot;it&#39;s &#x201C;ok&#x201D;&quot; }}", "it&#39;s “ok”");
    assert_renders(TEMPLATE_HTML, "<a title=\"{{ nobody | default: &quot;x&quot; }}\">", "<a title=\"x\">");
    /* In plain text a reference is just text. */
    assert_renders(TEMPLATE_TEXT, "{{ nobody | default: '&amp;' }}", "&amp;");
}

static void test_html_escape(void **state)
{
    (void)state;
    const char *escaped = "&lt;b&gt;&#34;A&#34; &amp; &#39;B&#39;&lt;/b&gt;";
    ARENA_SCOPE arena = arena_new(0);
    assert_renders(TEMPLATE_HTML, "<p>{{ html }}</p>", arena_printf(arena, "<p>%s</p>", escaped));
    assert_renders(TEMPLATE_HTML, "<p>{{ html | escape }}</p>", arena_printf(arena, "<p>%s</p>", escaped));
    assert_renders(TEMPLATE_HTML, "<img alt='{{ html }}'>", arena_printf(arena, "<img alt='%s'>", escaped));
    assert_renders(TEMPLATE_HTML, "<title>{{ html }}</title>", arena_printf(arena, "<title>%s</title>", escaped));
    assert_renders(TEMPLATE_TEXT, "{{ html }}", "<b>\"A\" & 'B'</b>");
    assert_renders(TEMPLATE_HTML, "1 < 2 {{ firstName }} <3 {{ firstName }}", "1 < 2 ada <3 ada");
    assert_renders(TEMPLATE_HTML, "<style>p{color:red}</style>{{ firstName }}", "<style>p{color:red}</style>ada");
    assert_renders(TEMPLATE_HTML, "<STYLE>a{}</styles></StYlE >{{ firstName }}", "<STYLE>a{}</styles></StYlE >ada");
    assert_renders(TEMPLATE_HTML, "<!-- c > -->{{ firstName }}<!-->{{ firstName }}", "<!-- c > -->ada<!-->ada");
    assert_renders(TEMPLATE_HTML, "<!doctype html><p class=x>{{ firstName }}", "<!doctype html><p class=x>ada");
}

static void test_url_contexts(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ url }}\">", "<a href=\"https://shop.example/a?b=c&amp;d=e\">");
    assert_renders(TEMPLATE_HTML, "<a HREF = ' {{ url }}'>", "<a HREF = ' https://shop.example/a?b=c&amp;d=e'>");
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ js }}\">", "<a href=\"#\">");
    assert_renders(TEMPLATE_HTML, "<img src=\"{{ 'data:text/html,x' }}\">", "<img src=\"#\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ ' JaVa\tScRiPt:x' }}\">", "<a href=\"#\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ 'MAILTO:a@b.c' }}\">", "<a href=\"MAILTO:a@b.c\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ '/x y' }}\">", "<a href=\"/x%20y\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ nobody }}\">", "<a href=\"\">");
    /* Two slots cannot make a scheme together: the second is inside the URL. */
    assert_renders(TEMPLATE_HTML, "<a href=\"{{ 'java' }}{{ 'script:x' }}\">", "<a href=\"javascript%3Ax\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"https://x.example/{{ path }}?q={{ path }}\">",
                   "<a href=\"https://x.example/a%20b%2Fc%3Fd%26e%3D%C3%A9?q=a%20b%2Fc%3Fd%26e%3D%C3%A9\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"https://x.example{{ '@evil.example' }}\">",
                   "<a href=\"https://x.example%40evil.example\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"mailto:{{ email }}?subject={{ email }}\">",
                   "<a href=\"mailto:ada+news@example.com?subject=ada%2Bnews%40example.com\">");
    assert_renders(TEMPLATE_HTML, "<a href=\"tel:{{ '+43 1' }}\">", "<a href=\"tel:+43%201\">");
    assert_renders(TEMPLATE_HTML, "<td background=\"{{ js }}\">", "<td background=\"#\">");
    assert_renders(TEMPLATE_HTML, "<a title=\"{{ js }}\">", "<a title=\"javascript:alert(1)\">");
}

static void test_header_lines(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_HEADER, "Hi {{ lines }}", "Hi one  Bcc: x@y two");
    assert_renders(TEMPLATE_HEADER, "{{ html }}", "<b>\"A\" & 'B'</b>");
    assert_renders(TEMPLATE_HEADER,
                   "{{ 'a\xC2\x85"
                   "b\u2028c' }}",
                   "a b c");
    assert_refused(TEMPLATE_HEADER, "Hi\r\nBcc: x", "line break");
}

static void test_unsafe_places_are_refused(void **state)
{
    (void)state;
    assert_refused(TEMPLATE_HTML, "<style>p { color: {{ color }} }</style>",
                   "Line 1, column 19: {{ color }}: it is inside a style element");
    assert_refused(TEMPLATE_HTML, "<script>{{ x }}</script>", "script element");
    assert_refused(TEMPLATE_HTML, "<!-- {{ x }} -->", "comment");
    assert_refused(TEMPLATE_HTML, "<a href={{ x }}>", "without quotes");
    assert_refused(TEMPLATE_HTML, "<a href=x{{ x }}>", "without quotes");
    assert_refused(TEMPLATE_HTML, "<a href=/{{ x }}>", "without quotes");
    assert_refused(TEMPLATE_HTML, "<a {{ x }}>", "inside a tag");
    assert_refused(TEMPLATE_HTML, "<{{ x }}>", "inside a tag");
    assert_refused(TEMPLATE_HTML, "<a{{ x }}>", "inside a tag");
    assert_refused(TEMPLATE_HTML, "<a title{{ x }}=\"\">", "inside a tag");
    assert_refused(TEMPLATE_HTML, "<p style=\"color:{{ x }}\">", "style attribute");
    assert_refused(TEMPLATE_HTML, "<p onclick='{{ x }}'>", "event handler");
    assert_refused(TEMPLATE_HTML, "<img srcset=\"{{ x }}\">", "srcset");
    assert_refused(TEMPLATE_HTML, "<!doctype {{ x }}>", "declaration");
    assert_refused(TEMPLATE_HTML, "<title></ti{{ x }}tle>", "inside a tag");
    assert_refused(TEMPLATE_HTML, "<style></p>{{ x }}", "style element");
    assert_refused(TEMPLATE_HTML, "<a title=\"<p>\" class={{ x }}>", "without quotes");
}

static void test_conditional_comments(void **state)
{
    (void)state;
    assert_renders(TEMPLATE_HTML, "<!--[if mso]><v:rect href=\"{{ js }}\">{{ html }}</v:rect><![endif]-->{{ firstName }}",
                   "<!--[if mso]><v:rect href=\"#\">&lt;b&gt;&#34;A&#34; &amp; &#39;B&#39;&lt;/b&gt;</v:rect><![endif]-->ada");
    assert_renders(TEMPLATE_HTML, "<!--[if !mso]><!-->{{ firstName }}<!--<![endif]-->{{ firstName }}",
                   "<!--[if !mso]><!-->ada<!--<![endif]-->ada");
    /* What Word leaves open is closed for everybody else by the end of the comment. */
    assert_renders(TEMPLATE_HTML, "<!--[if mso]><a title=\"<![endif]-->{{ firstName }}", "<!--[if mso]><a title=\"<![endif]-->ada");
    assert_refused(TEMPLATE_HTML, "<!--[if mso]><style>{{ x }}</style><![endif]-->", "style element");
    assert_refused(TEMPLATE_HTML, "<!--[if mso]><![endif]--><style>a{}--> {{ x }}</style>", "style element");
    assert_refused(TEMPLATE_HTML, "<!--[if mso] {{ x }}><![endif]-->", "comment");
    assert_refused(TEMPLATE_HTML, "<!-- [if mso]>{{ x }}<![endif]-->", "comment");
}

static void test_syntax_errors(void **state)
{
    (void)state;
    assert_refused(TEMPLATE_TEXT, "Hi\nyou {{ firstName | shout }}",
                   "Line 2, column 5: {{ firstName | shout }}: there is no filter 'shout'.");
    assert_refused(TEMPLATE_TEXT, "ÄÖ {{ }}", "Line 1, column 4: {{ }}: it is empty");
    assert_refused(TEMPLATE_TEXT, "{{ firstName", "no '}}'");
    assert_refused(TEMPLATE_TEXT, "{{ first name }}", "'|' or the end is expected instead of 'n'");
    assert_refused(TEMPLATE_TEXT, "{{ a | default }}", "needs an argument");
    assert_refused(TEMPLATE_TEXT, "{{ a | default: }}", "a name is missing");
    assert_refused(TEMPLATE_TEXT, "{{ a | default: 'x', 'y' }}", "fewer arguments");
    assert_refused(TEMPLATE_TEXT, "{{ a | upcase: 'x' }}", "no argument");
    assert_refused(TEMPLATE_TEXT, "{{ a | default: 'x }}", "no closing quote");
    assert_refused(TEMPLATE_TEXT, "{{ a | default: ‘x’ }}", "straight quotes");
    assert_refused(TEMPLATE_TEXT, "{{ a | default: 'It''s' }}", "'|' or the end is expected");
    assert_refused(TEMPLATE_TEXT, "{{ a | }}", "a filter is missing");
    assert_refused(TEMPLATE_TEXT, "{{ a. }}", "a name after '.'");
    assert_refused(TEMPLATE_TEXT, "{{ a[1.5] }}", "']' is expected instead of '.'");
    assert_refused(TEMPLATE_TEXT, "{{ a['' ] }}", "must not be empty");
    assert_refused(TEMPLATE_TEXT, "{{ a['x\"y'] }}", "double quote");
    assert_refused(TEMPLATE_TEXT, "{{ a[b[c[d[e[f[g[h[i[j]]]]]]]]] }}", "more than 8 levels deep");
    assert_refused(TEMPLATE_TEXT, "{{ a | upcse }}", "there is no filter 'upcse', did you mean 'upcase'");
    assert_refused(TEMPLATE_TEXT, "{{ a | raw }}", "values are always escaped");
    assert_refused(TEMPLATE_TEXT, "{{ a | replace: 'x' }}", "needs two arguments, as in replace: 'old', 'new'");
    assert_refused(TEMPLATE_TEXT, "{{ a | newline_to_br | upcase }}", "must be the last filter");
    assert_refused(TEMPLATE_TEXT, "{{ '\\ud800' }}", "is not a valid character");
    assert_refused(TEMPLATE_TEXT, "{{ (1..) }}", "a name is expected instead of ')'");
    assert_refused(TEMPLATE_TEXT, "{{ a = b }}", "'|' or the end is expected instead of '='");
    assert_refused(TEMPLATE_TEXT, "{{ a == not b }}", "'not' is a reserved word");
    assert_refused(TEMPLATE_TEXT, "{{ .a }}", "a name is expected");
    assert_refused(TEMPLATE_TEXT, "{{ é }}", "instead of 'é'");
    assert_refused(TEMPLATE_TEXT, "{{{ a }}}", "instead of '{'");
    assert_refused(TEMPLATE_TEXT, "{{ or }}", "reserved");
    assert_refused(TEMPLATE_TEXT, "{{ 1. }}", "a digit");
    assert_refused(TEMPLATE_TEXT, "\xFF", "UTF-8");
}

static void test_long_expressions_are_shown_cut(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct buf *source = buf_in_arena(arena, 1 << 20);
    buf_add_text(source, "{{ a | default: '");
    for (int i = 0; i < 100; i++)
        buf_add_text(source, "ä");
    buf_add_text(source, "' | nope }}");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "ää…: there is no filter 'nope'");
    buf_clear(source);
    buf_printf(source, "{{ a%*s}}", TEMPLATE_MAX_EXPRESSION_BYTES - 2, "");
    assert_renders(TEMPLATE_TEXT, buf_text(source), "");
    buf_clear(source);
    buf_printf(source, "{{ a%*s}}", TEMPLATE_MAX_EXPRESSION_BYTES - 1, "");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "expression is too long");
}

static void test_bounds(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct buf *source = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i < TEMPLATE_MAX_PLACEHOLDERS; i++)
        buf_add_text(source, "{{a}}");
    assert_non_null(render(arena, TEMPLATE_TEXT, buf_text(source), people, &err));
    buf_add_text(source, "{{a}}");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "10,000 placeholders");

    buf_clear(source);
    for (int i = 0; i < TEMPLATE_MAX_PATHS; i++)
        buf_printf(source, "{{p%d}}", i);
    assert_non_null(render(arena, TEMPLATE_TEXT, buf_text(source), people, &err));
    buf_add_text(source, "{{one_more}}");
    assert_refused(TEMPLATE_TEXT, buf_text(source), "different paths");

    buf_clear(source);
    buf_printf(source, "{{ %0300d }}", 1);
    source->data[3] = 'p';
    assert_refused(TEMPLATE_TEXT, buf_text(source), "path is longer");

    char *large = arena_alloc(arena, TEMPLATE_MAX_SOURCE_BYTES + 2);
    memset(large, 'x', TEMPLATE_MAX_SOURCE_BYTES);
    assert_non_null(render(arena, TEMPLATE_TEXT, large, people, &err));
    large[TEMPLATE_MAX_SOURCE_BYTES] = 'x';
    assert_refused(TEMPLATE_TEXT, large, "larger than");
}

static void test_output_is_bounded_and_restored(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    char *value = arena_alloc(arena, 100 * 1024 + 1);
    memset(value, 'v', 100 * 1024);
    const struct pair pairs[] = { { "v", value }, { NULL, NULL } };
    const struct template_lookup lookup = { .value = look_up, .context = pairs };
    struct bytes blob;
    struct template template;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    buf_add_text(out, "before");

    const char *six = "{{v}}{{v}}{{v}}{{v}}{{v}}{{v}}";
    assert_true(template_compile(arena, TEMPLATE_TEXT, six, strlen(six), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    assert_false(template_evaluate(&template, lookup, arena, out, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(buf_text(out), "before");
    assert_false(out->overflowed);
    assert_int_equal(out->max_bytes, 1 << 20);

    const char *five = "{{v}}{{v}}{{v}}{{v}}{{v}}";
    assert_true(template_compile(arena, TEMPLATE_TEXT, five, strlen(five), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    assert_true(template_evaluate(&template, lookup, arena, out, &err));
    assert_int_equal(out->size, strlen("before") + 5 * 100 * 1024);

    /* Filters: 300 KB each, so the fourth passes the scratch bound although little would come out. */
    const char *upcase = "{{v|upcase}}{{v|upcase}}{{v|upcase}}{{v|upcase}}";
    assert_true(template_compile(arena, TEMPLATE_TEXT, upcase, strlen(upcase), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    buf_clear(out);
    assert_false(template_evaluate(&template, lookup, arena, out, &err));
    assert_non_null(strstr(err.message, "filters"));
    assert_int_equal(out->size, 0);
}

/* What a sender does for each of many recipients must not allocate: neither scratch nor, once it has grown, the output. */
static void test_evaluation_allocates_nothing(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    ARENA_SCOPE scratch = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *source = "<p>{{ html }} {{ nobody | default: 'x' | escape }} <a href=\"{{ url }}\">";
    struct bytes blob;
    struct template template;
    struct buf *out = buf_in_arena(arena, 4096);
    assert_true(template_compile(arena, TEMPLATE_HTML, source, strlen(source), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    size_t before = arena_used_bytes(arena);
    assert_true(template_evaluate(&template, (struct template_lookup){ .value = look_up, .context = people }, scratch, out, &err));
    const char *storage = out->data;
    buf_clear(out);
    assert_true(template_evaluate(&template, (struct template_lookup){ .value = look_up, .context = people }, scratch, out, &err));
    assert_ptr_equal(out->data, storage);
    assert_int_equal(arena_used_bytes(scratch), 0);
    assert_int_equal(arena_used_bytes(arena), before);
}

static void test_paths_are_listed(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *source = "{{ b }}{{ a.b | default: c }}{{ b | upcase }}{{ 'text' }}";
    struct bytes blob;
    struct template template;
    assert_true(template_compile(arena, TEMPLATE_TEXT, source, strlen(source), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    assert_int_equal(template_path_count(&template), 3);
    assert_string_equal(template_path(&template, 0), "b");
    assert_string_equal(template_path(&template, 1), "a.b");
    assert_string_equal(template_path(&template, 2), "c");
}

/* Every single damaged byte and every cut is found, with the checksum and without its help. */
static void test_damaged_blobs(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *source = "Hi {{ a.b | default: 'x' | upcase }}, <a href=\"{{ url }}\">";
    struct bytes blob;
    assert_true(template_compile(arena, TEMPLATE_HTML, source, strlen(source), &blob, &err));
    unsigned char *copy = arena_alloc(arena, blob.size);
    struct template template;
    for (size_t i = 0; i < blob.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, blob.data, blob.size);
            copy[i] ^= (unsigned char)(1 << bit);
            err.code = ERR_NONE;
            assert_false(template_load((struct bytes){ copy, blob.size }, &template, &err));
            assert_int_equal(err.code, ERR_INTERNAL_ERROR);

            template_seal(copy, blob.size);
            struct buf *out = buf_in_arena(arena, 4096);
            if (template_load((struct bytes){ copy, blob.size }, &template, &err))
                (void)!template_evaluate(&template, (struct template_lookup){ .value = look_up, .context = people }, arena, out, &err);
        }
    }
    for (size_t size = 0; size < blob.size; size++)
        assert_false(template_load((struct bytes){ blob.data, size }, &template, &err));
    assert_false(template_load((struct bytes){ NULL, 0 }, &template, &err));
}

/* A blob with these instructions, one string ("x") and no path. */
static struct bytes assemble(struct arena *arena, const struct template_instruction *instructions, uint32_t count)
{
    struct error err = { .code = ERR_NONE };
    struct bytes blob;
    assert_true(template_compile(arena, TEMPLATE_TEXT, "x", 1, &blob, &err));
    size_t own = TEMPLATE_HEADER_BYTES + 2 * TEMPLATE_INSTRUCTION_BYTES;
    struct buf *made = buf_in_arena(arena, 4096);
    buf_add(made, blob.data, TEMPLATE_HEADER_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char encoded[TEMPLATE_INSTRUCTION_BYTES] = { instructions[i].op, instructions[i].a };
        template_write_u16(encoded + 2, instructions[i].b);
        template_write_u32(encoded + 4, instructions[i].c);
        buf_add(made, encoded, sizeof(encoded));
    }
    buf_add(made, blob.data + own, blob.size - own);
    template_write_u32((unsigned char *)made->data + TEMPLATE_AT_INSTRUCTION_COUNT, count);
    template_seal((unsigned char *)made->data, made->size);
    return (struct bytes){ (const unsigned char *)made->data, made->size };
}

/* Instructions that a compiler never writes. */
static void test_hostile_instructions(void **state)
{
    (void)state;
    static const struct {
        bool is_good;
        uint32_t count;
        struct template_instruction instructions[10];
    } programs[] = {
        { true, 1, { { .op = TEMPLATE_OP_END } } },
        { true, 3, { { .op = TEMPLATE_OP_CONST }, { .op = TEMPLATE_OP_EMIT }, { .op = TEMPLATE_OP_END } } },
        { false, 0, { { .op = TEMPLATE_OP_END } } },
        { false, 1, { { .op = TEMPLATE_OP_TEXT } } },
        { false, 2, { { .op = TEMPLATE_OP_END }, { .op = TEMPLATE_OP_END } } },
        { false, 2, { { .op = TEMPLATE_OP_EMIT }, { .op = TEMPLATE_OP_END } } },
        { false, 2, { { .op = TEMPLATE_OP_FILTER, .a = 2 }, { .op = TEMPLATE_OP_END } } },
        { false, 2, { { .op = TEMPLATE_OP_CONST }, { .op = TEMPLATE_OP_END } } },
        { false, 2, { { .op = TEMPLATE_OP_TEXT, .c = 1 }, { .op = TEMPLATE_OP_END } } },
        { false, 2, { { .op = 77 }, { .op = TEMPLATE_OP_END } } },
        { false, 3, { { .op = TEMPLATE_OP_CONST, .c = 1 }, { .op = TEMPLATE_OP_EMIT }, { .op = TEMPLATE_OP_END } } },
        { false, 3, { { .op = TEMPLATE_OP_LOAD }, { .op = TEMPLATE_OP_EMIT }, { .op = TEMPLATE_OP_END } } },
        { false,
          3,
          { { .op = TEMPLATE_OP_CONST }, { .op = TEMPLATE_OP_EMIT, .a = TEMPLATE_ESCAPE_COUNT }, { .op = TEMPLATE_OP_END } } },
        { false,
          4,
          { { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_FILTER, .a = 200 },
            { .op = TEMPLATE_OP_EMIT },
            { .op = TEMPLATE_OP_END } } },
        { false,
          4,
          { { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_FILTER, .a = 0, .b = 1 },
            { .op = TEMPLATE_OP_EMIT },
            { .op = TEMPLATE_OP_END } } },
        { false,
          4,
          { { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_FILTER, .a = 2, .b = 1 },
            { .op = TEMPLATE_OP_EMIT },
            { .op = TEMPLATE_OP_END } } },
        { false,
          4,
          { { .op = TEMPLATE_OP_CONST }, { .op = TEMPLATE_OP_TEXT }, { .op = TEMPLATE_OP_EMIT }, { .op = TEMPLATE_OP_END } } },
        { false,
          10,
          { { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_CONST },
            { .op = TEMPLATE_OP_END } } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(programs); i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct error err = { .code = ERR_NONE };
        struct template template;
        struct bytes blob = assemble(arena, programs[i].instructions, programs[i].count);
        if (template_load(blob, &template, &err) != programs[i].is_good)
            fail_msg("program %zu: %s", i, err.cause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_and_filters),
        cmocka_unit_test(test_case_filters),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_html_escape),
        cmocka_unit_test(test_url_contexts),
        cmocka_unit_test(test_header_lines),
        cmocka_unit_test(test_unsafe_places_are_refused),
        cmocka_unit_test(test_conditional_comments),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_long_expressions_are_shown_cut),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_output_is_bounded_and_restored),
        cmocka_unit_test(test_evaluation_allocates_nothing),
        cmocka_unit_test(test_paths_are_listed),
        cmocka_unit_test(test_damaged_blobs),
        cmocka_unit_test(test_hostile_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
