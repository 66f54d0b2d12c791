/*
 * Composer of a send: the headers of marketing and transactional mail, an unsubscribe
 * link for every recipient, and header injection.
 * tests/third_party/message_roundtrip.mjs and
 * tests/integration/sending/unsubscribe.test.mjs check the messages with mail parsers.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "engine/compose/composer.h"
#include "engine/compose/message_id.h"
#include "engine/subscriptions/link.h"
#include "engine/tracking/link_token.h"
#include "template/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char shown[] = "<html><body><p>Hello {{ firstName }}</p><a href=\"{{ unsubscribeUrl }}\">Leave</a></body></html>";
static const char silent[] = "<html><body><p>Hello {{ firstName }}</p></body></html>";
static const char silent_text[] = "Hello {{ firstName }}\n";
static const char brand[] = "{\"name\": \"Tea & Co\", \"address\": \"1 Quay <B>\\nHarbour\"}";

static struct arena *arena;
static struct engine engine;
static struct work work;

static int begin(void **state)
{
    (void)state;
    crypto_start();
    static const unsigned char id_key[ID_KEY_BYTES] = "0123456789abcde";
    arena = arena_new(0);
    engine = (struct engine){ .public_url = "https://mail.example/ph" };
    id_codec_init(&engine.ids, id_key);
    memset(engine.token_key, 7, sizeof(engine.token_key));
    token_keys_init(&engine.token_keys, engine.token_key);
    memset(engine.address_key, 9, sizeof(engine.address_key));
    work = (struct work){ .engine = &engine, .arena = arena, .organization_id = 1, .brand_id = 2 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct bytes compile(enum template_kind kind, const char *source)
{
    struct error err = { .code = ERR_NONE };
    struct bytes blob;
    if (!template_compile(arena, kind, source, strlen(source), &blob, &err))
        fail_msg("%s: %s", source, err.message);
    return blob;
}

static struct composer_design marketing(const char *html, const char *text)
{
    return (struct composer_design){
        .subject_code = compile(TEMPLATE_HEADER, "For {{ firstName }}"),
        .html_code = compile(TEMPLATE_HTML, html),
        .text_code = compile(TEMPLATE_TEXT, text),
        .from_address = "news@shop.example",
        .sender_name = "Shop",
        .domain = "shop.example",
        .brand_json = brand,
        .message_class = MESSAGE_MARKETING,
        .send_id = 5,
    };
}

static const struct composer_recipient ada = {
    .email = "ada@example.com", .email_key = "ada@example.com", .ordinal = 17, .first_name = "Ada"
};

static bool try_compose(const struct composer_design *design, const struct composer_recipient *recipient, const char *token,
                        const char **ret_text, struct error *err)
{
    struct composer *composer;
    struct bytes message;
    if (!composer_new(&work, design, &composer, err) ||
        !composer_write(composer, recipient, token, INT64_C(1795253400000000), &message, err))
        return false;
    *ret_text = arena_dup_bytes(arena, (const char *)message.data, message.size);
    return true;
}

static char hex_value(const char *digits)
{
    static const char known[] = "0123456789ABCDEF";
    return (char)((strchr(known, digits[0]) - known) * 16 + (strchr(known, digits[1]) - known));
}

/* The message with folded headers in one line and its quoted-printable read. */
static const char *compose(const struct composer_design *design, const struct composer_recipient *recipient)
{
    struct error err = { .code = ERR_NONE };
    const char *text = "";
    if (!try_compose(design, recipient, "token", &text, &err))
        fail_msg("%s: %s", err.param, err.message);
    char *plain = arena_dup(arena, text);
    char *to = plain;
    for (const char *from = text; *from != '\0';) {
        if (strncmp(from, "=\r\n", 3) == 0) {
            from += 3;
        } else if (strncmp(from, "\r\n ", 3) == 0) {
            from += 2;
        } else if (*from == '=' && strspn(from + 1, "0123456789ABCDEF") >= 2) {
            *to++ = hex_value(from + 1);
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return plain;
}

static void assert_has(const char *message, const char *part)
{
    if (strstr(message, part) == NULL)
        fail_msg("expected \"%s\" in:\n%s", part, message);
}

static void assert_has_not(const char *message, const char *part)
{
    if (strstr(message, part) != NULL)
        fail_msg("did not expect \"%s\" in:\n%s", part, message);
}

static size_t count_of(const char *message, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(message, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static const char *text_behind(const char *message, const char *before, const char *ends)
{
    const char *at = strstr(message, before);
    if (at == NULL)
        fail_msg("expected \"%s\" in:\n%s", before, message);
    at += strlen(before);
    return arena_dup_bytes(arena, at, strcspn(at, ends));
}

/* ---- Headers ---- */

static void test_marketing_mail_is_marked(void **state)
{
    (void)state;
    struct composer_design design = marketing(shown, "{{ unsubscribeUrl }}");
    const char *message = compose(&design, &ada);
    assert_has(message, "\r\nPrecedence: bulk\r\n");
    assert_has(message, "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n");
    assert_has(message, "\r\nMessage-ID: <token@shop.example>\r\n");
    const char *brand_id = work_id(&work, ID_BRAND, 2);
    assert_has(message, arena_printf(arena, "\r\nList-Id: <%s.shop.example>\r\n", brand_id));
    const char *sender = strchr(work_id(&work, ID_ORG, 1), '_') + 1;
    assert_in_range(strlen(sender), 5, 15);
    assert_has(message,
               arena_printf(arena, "\r\nFeedback-ID: %s:%s:marketing:%s\r\n", work_id(&work, ID_SEND, 5), brand_id, sender));
}

/* The link in the header, in the HTML and in the text is one, and means this recipient of this send. */
static void test_the_link_names_the_recipient(void **state)
{
    (void)state;
    struct composer_design design = marketing(shown, "Leave: {{ unsubscribeUrl }} ");
    const char *message = compose(&design, &ada);
    const char *url = text_behind(message, "\r\nList-Unsubscribe: <", ">");
    assert_int_equal(count_of(message, url), 3);
    assert_string_equal(arena_dup_bytes(arena, url, strlen("https://mail.example/ph/u/")), "https://mail.example/ph/u/");

    struct unsubscribe_link link;
    unsigned char hash[SECRET_HASH_BYTES];
    char *token = arena_dup(arena, url + strlen("https://mail.example/ph/u/"));
    assert_true(unsubscribe_token_open(&engine, arena, token, &link));
    address_hash(engine.address_key, "ada@example.com", hash);
    assert_int_equal(link.brand_id, 2);
    assert_int_equal(link.send_id, 5);
    assert_int_equal(link.ordinal, 17);
    assert_memory_equal(link.address_hash, hash, sizeof(hash));
    for (size_t i = 0; i < strlen(token); i += 7) {
        char kept = token[i];
        token[i] = kept == 'A' ? 'B' : 'A';
        assert_false(unsubscribe_token_open(&engine, arena, token, &link));
        token[i] = kept;
    }
    assert_false(unsubscribe_token_open(&engine, arena, "", &link));
    size_t size;
    const unsigned char *bytes = base64url_decode(arena, token, &size);
    assert_null(memmem(bytes, size, hash, sizeof(hash)));
    assert_null(memmem(bytes, size, "\0\0\0\0", 4)); /* as its numbers have them */
    engine.token_keys.tag[0] ^= 1;                   /* another installation */
    assert_false(unsubscribe_token_open(&engine, arena, token, &link));
}

/* A Message-ID names the recipient to us alone. */
static void test_the_message_id_names_the_recipient(void **state)
{
    (void)state;
    const struct message_origin origin = { .brand_id = 2, .send_id = 5, .ordinal = 17 };
    const char *token = message_id_token(&engine, arena, &origin);
    const char *const forms[] = { token, arena_printf(arena, "<%s@shop.example>", token),
                                  arena_printf(arena, " <%s@other.example> ", token) };
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        struct message_origin found;
        assert_true(message_id_open(&engine, arena, forms[i], &found));
        assert_int_equal(found.brand_id, 2);
        assert_int_equal(found.send_id, 5);
        assert_int_equal(found.ordinal, 17);
    }
    /* A message that is composed again has the same one; no number shows. */
    assert_string_equal(message_id_token(&engine, arena, &origin), token);
    size_t size;
    const unsigned char *bytes = base64url_decode(arena, token, &size);
    assert_null(memmem(bytes, size, "\0\0\0\0", 4));
    const struct unsubscribe_link link = { .brand_id = 2, .send_id = 5, .ordinal = 17 };
    const char *const others[] = {
        "", "<>", "<@shop.example>", "ada@example.com", arena_printf(arena, "%sA", token), unsubscribe_token(&engine, arena, &link)
    };
    struct message_origin none;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        assert_false(message_id_open(&engine, arena, others[i], &none));
    engine.token_keys.cipher[0] ^= 1; /* another installation */
    assert_false(message_id_open(&engine, arena, token, &none));
}

static void test_transactional_mail_is_not(void **state)
{
    (void)state;
    struct composer_design design = marketing(silent, silent_text);
    design.message_class = MESSAGE_TRANSACTIONAL;
    const char *message = compose(&design, &ada);
    static const char *const none[] = { "Precedence", "List-", "Feedback-ID", "nsubscribe" };
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        assert_has_not(message, none[i]);
    assert_has(message, "Hello Ada");
}

/* Without a page of ours nothing is offered to mailboxes; the texts show the form of the link. */
static void test_without_a_public_url(void **state)
{
    (void)state;
    engine.public_url = NULL;
    struct composer_design design = marketing(silent, silent_text);
    const char *message = compose(&design, &ada);
    assert_has_not(message, "List-Unsubscribe");
    assert_has(message, "\r\nList-Id: ");
    assert_int_equal(count_of(message, "https://shop.example/u/"), 2);
}

/* ---- The way out ---- */

static void test_a_design_without_a_way_out_gets_one(void **state)
{
    (void)state;
    struct composer_design design = marketing(silent, silent_text);
    const char *message = compose(&design, &ada);
    assert_int_equal(count_of(message, "https://mail.example/ph/u/"), 3);
    assert_has(message, "Hello Ada\r\n\r\n--\r\nTea & Co\r\n1 Quay <B>\r\nHarbour\r\nUnsubscribe: https://mail.example/ph/u/");
    assert_has(message, "<p>Hello Ada</p><div style=");
    assert_has(message, "Tea &amp; Co<br />1 Quay &lt;B&gt;<br />\r\nHarbour<br /><a ");
    assert_has(message, "\">Unsubscribe</a></div></body></html>");
}

/* A part that the design already has is not added again; each part is checked alone. */
static void test_a_way_out_is_not_doubled(void **state)
{
    (void)state;
    struct composer_design design = marketing(shown, silent_text);
    const char *message = compose(&design, &ada);
    assert_int_equal(count_of(message, "https://mail.example/ph/u/"), 3);
    assert_has(message, "Unsubscribe: https://");
    assert_has_not(message, ">Unsubscribe</a>");
}

/* A condition may hide the link from some: they get the line, the others do not. */
static void test_a_hidden_way_out_is_none(void **state)
{
    (void)state;
    static const char hiding[] =
        "<html><body>{% if firstName == 'Ada' %}<a href=\"{{ unsubscribeUrl }}\">Leave</a>{% endif %}</BODY ></html>";
    struct composer_design design = marketing(hiding, "{{ unsubscribeUrl }}");
    struct composer_recipient bob = ada;
    bob.first_name = "Bob";
    assert_has_not(compose(&design, &ada), ">Unsubscribe</a>");
    assert_has(compose(&design, &bob), ">Unsubscribe</a></div></BODY ></html>");
}

/* Where no end of the body is written, the end of the text is it. */
static void test_fragments_of_html(void **state)
{
    (void)state;
    struct composer_design design = marketing("<p>one</p><b>two</b>", "");
    design.brand_json = "{}";
    const char *message = compose(&design, &ada);
    assert_has(message, "<b>two</b><div");
    assert_has(message, "\r\n\r\n\r\n--\r\nUnsubscribe: https://");
}

/* ---- What composing refuses ---- */

static void assert_refused(const struct composer_design *design, const struct composer_recipient *recipient, const char *token,
                           const char *param)
{
    struct error err = { .code = ERR_NONE };
    const char *text = NULL;
    if (try_compose(design, recipient, token, &text, &err))
        fail_msg("composed, but %s is wrong:\n%s", param, text);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

/* Line breaks and controls never reach a header, whichever input brings them. */
static void test_no_input_breaks_a_header(void **state)
{
    (void)state;
    static const char *const breaks[] = { "\r\n", "\n", "\r", "\x01", "\xC2\x85" };
    for (size_t i = 0; i < ARRAY_COUNT(breaks); i++) {
        const char *evil = arena_printf(arena, "x%sBcc: eve@example.com", breaks[i]);
        const char *evil_address = arena_printf(arena, "x%sBcc:eve@shop.example", breaks[i]);
        struct composer_design design = marketing(shown, silent_text);
        struct composer_recipient recipient = ada;
        recipient.email = evil_address;
        assert_refused(&design, &recipient, "token", "to");
        assert_refused(&design, &ada, evil, "messageId");
        design.sender_name = evil;
        assert_refused(&design, &ada, "token", "senderName");
        design.sender_name = NULL;
        design.reply_to = evil_address;
        assert_refused(&design, &ada, "token", "replyTo");
        design.reply_to = NULL;
        design.from_address = evil_address;
        assert_refused(&design, &ada, "token", "fromAddress");
        design.from_address = "news@shop.example";
        design.domain = evil;
        assert_refused(&design, &ada, "token", "List-Id");
        engine.public_url = evil;
        design.domain = "shop.example";
        assert_refused(&design, &ada, "token", "List-Unsubscribe");
        engine.public_url = "https://mail.example/ph";
    }
}

/* A subject is a template of its own kind: what contacts bring into it comes as blanks. */
static void test_values_in_a_subject(void **state)
{
    (void)state;
    static const char *const values[] = { "sA\r\nBcc: eve@example.com", "s\xE2\x80\xA8next" };
    struct composer_design design = marketing(shown, silent_text);
    design.subject_code = compile(TEMPLATE_HEADER, "{{ firstName }}|{{ city }}|{{ line }}");
    struct composer_recipient recipient = ada;
    recipient.first_name = "A\nda";
    recipient.fields = (struct text_list){ values, ARRAY_COUNT(values) };
    const char *message = compose(&design, &recipient);
    assert_has(message, "\r\nSubject: =?utf-8?Q?A_da|A__Bcc:_eve@example.com|_next?");
    assert_has_not(message, "\nBcc");
}

/* RFC 6532: a local part beyond ASCII stays as it is, a domain is in A-labels always. */
static void test_addresses_beyond_ascii(void **state)
{
    (void)state;
    struct composer_design design = marketing(shown, silent_text);
    struct composer_recipient recipient = ada;
    recipient.email = "m\xC3\xBCller@xn--mnchen-3ya.example";
    assert_has(compose(&design, &recipient), "\r\nTo: m\xC3\xBCller@xn--mnchen-3ya.example\r\n");
    recipient.email = "mueller@m\xC3\xBCnchen.example";
    assert_refused(&design, &recipient, "token", "to");
}

static void test_the_same_recipient_gives_the_same_bytes(void **state)
{
    (void)state;
    struct composer_design design = marketing(silent, silent_text);
    struct error err;
    const char *one = NULL;
    const char *two = NULL;
    assert_true(try_compose(&design, &ada, "token", &one, &err));
    work.now_us = 12345;
    assert_true(try_compose(&design, &ada, "token", &two, &err));
    assert_string_equal(one, two);
}

/* ---- Previews and empty values ---- */

static struct composer *make_composer(const struct composer_design *design)
{
    struct error err = { .code = ERR_NONE };
    struct composer *composer;
    if (!composer_new(&work, design, &composer, &err))
        fail_msg("%s", err.message);
    return composer;
}

/* A preview is read by others than its recipient. */
static void test_a_preview_has_no_link_of_its_recipient(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct composer_sample sample;
    struct composer_design design = marketing(shown, "Leave: {{ unsubscribeUrl }}");
    struct composer *composer = make_composer(&design);
    assert_true(composer_preview(composer, &ada, &sample, &err));
    assert_string_equal(sample.text, "Leave: " UNSUBSCRIBE_PREVIEW_URL);
    assert_true(sample.shows_link);
    /* The message itself has it. */
    struct bytes message;
    assert_true(composer_write(composer, &ada, "token", 0, &message, &err));
    assert_has((const char *)message.data, "https://mail.example/ph/u/");
    assert_has_not((const char *)message.data, UNSUBSCRIBE_PREVIEW_URL);
}

static struct empty_values empty_values_of(const char *html, const char *text)
{
    struct empty_values values;
    struct composer_design design = marketing(html, text);
    composer_empty_values(make_composer(&design), &ada, &values);
    return values;
}

static void assert_empty_value(const struct empty_values *values, size_t index, const char *path, const char *fallback)
{
    assert_true(index < values->count);
    assert_string_equal(values->items[index].path, path);
    if (fallback == NULL)
        assert_null(values->items[index].fallback);
    else
        assert_string_equal(values->items[index].fallback, fallback);
}

static void test_empty_values_are_listed(void **state)
{
    (void)state;
    struct empty_values values =
        empty_values_of("<p>{{ firstName }} {{ lastName }} {{ brand.name }} {{ unsubscribeUrl }} {{ brand.phone }}</p>", "");
    assert_int_equal(values.count, 2);
    assert_empty_value(&values, 0, "lastName", NULL);
    assert_empty_value(&values, 1, "brand.phone", NULL);
    assert_false(values.has_more);
}

static void test_fallbacks_are_told_where_all_places_agree(void **state)
{
    (void)state;
    static const char html[] =
        "<p>{{ lastName | default: 'friend' | upcase }} {{ city | default: 'here' }} {{ street | default: 'there' }}"
        "{{ plan | upcase | default: 'free' }} {{ zip | default: firstName }}</p>";
    struct empty_values values =
        empty_values_of(html, "{{ lastName | default: 'friend' }} {{ city }} {{ street | default: 'away' }}");
    assert_int_equal(values.count, 5);
    assert_empty_value(&values, 0, "lastName", "friend");
    assert_empty_value(&values, 1, "city", NULL);
    assert_empty_value(&values, 2, "street", NULL);
    assert_empty_value(&values, 3, "plan", NULL);
    assert_empty_value(&values, 4, "zip", NULL);
}

static void test_empty_values_are_bounded(void **state)
{
    (void)state;
    struct buf *text = buf_in_arena(arena, 64 * 1024);
    for (int i = 0; i <= COMPOSER_EMPTY_VALUES_MAX; i++)
        buf_printf(text, "{{ field%d }}", i);
    struct empty_values values = empty_values_of(silent, buf_text(text));
    assert_int_equal(values.count, COMPOSER_EMPTY_VALUES_MAX);
    assert_true(values.has_more);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* ---- Tracked links (A-52) ---- */

static struct composer_design tracked(const char *html, const char *text)
{
    struct error err = { .code = ERR_NONE };
    struct template_links links = { .count = 0 };
    struct composer_design design = marketing("<p></p>", "");
    design.tracking_url = "https://click.shop.example";
    assert_true(template_compile_links(arena, TEMPLATE_HTML, html, strlen(html), &links, &design.html_code, &err));
    assert_true(template_compile_links(arena, TEMPLATE_TEXT, text, strlen(text), &links, &design.text_code, &err));
    return design;
}

/* The token behind the `index`th occurrence of a prefix. */
static const char *token_behind(const char *message, const char *prefix, int index)
{
    for (int i = 0; i <= index; i++) {
        message = strstr(message, prefix);
        assert_non_null(message);
        message += strlen(prefix);
    }
    return arena_dup_bytes(arena, message, strspn(message, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"));
}

static void assert_token(const char *text, uint16_t number, const char *target)
{
    struct link_token token;
    assert_true(link_token_open(&engine, arena, text, &token));
    assert_int_equal(token.owner.brand_id, 2);
    assert_int_equal(token.owner.send_id, 5);
    assert_int_equal(token.owner.ordinal, 17);
    assert_int_equal(token.number, number);
    assert_true(text_equal(token.target, target));
}

static void test_links_and_opens_are_tracked(void **state)
{
    (void)state;
    struct composer_design design =
        tracked("<html><body><a href=\"https://a.example/\">A</a><a href=\"https://b.example/{{ firstName }}\">B</a>"
                "<a href=\"{{ unsubscribeUrl }}\">Leave</a></body></html>",
                "https://a.example/ and {{ unsubscribeUrl }}");
    const char *message = compose(&design, &ada);
    assert_token(token_behind(message, "https://click.shop.example/c/", 0), 2, NULL); /* of the text, which comes first */
    assert_token(token_behind(message, "https://click.shop.example/c/", 1), 0, NULL);
    assert_token(token_behind(message, "https://click.shop.example/c/", 2), 1, "https://b.example/Ada");
    assert_token(token_behind(message, "https://click.shop.example/o/", 0), LINK_NUMBER_OPEN, NULL);
    assert_null(strstr(message, "a.example"));
    assert_non_null(strstr(message, "href=\"https://mail.example/ph/u/"));
    assert_non_null(strstr(message, "border:0\" /></body>"));

    design.send_id = 0; /* a test message */
    message = compose(&design, &ada);
    assert_null(strstr(message, "click.shop.example"));
    assert_non_null(strstr(message, "href=\"https://a.example/\""));
}

static void test_merged_links_that_are_not_tracked(void **state)
{
    (void)state;
    struct composer_design design =
        tracked("<html><body><a href=\"https://b.example/{{ firstName }}\">B</a><a href=\"{{ lastName }}\">C</a>"
                "{% assign way = unsubscribeUrl %}<a href=\"{{ way }}?x=1\">D</a></body></html>",
                "");
    char name[LINK_TOKEN_TARGET_MAX_BYTES + 2];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    struct composer_recipient recipient = ada;
    recipient.first_name = name; /* its target is too long for a token */
    recipient.last_name = "mailto:ada@example.com";
    const char *message = compose(&design, &recipient);
    assert_null(strstr(message, "click.shop.example/c/"));
    assert_non_null(strstr(message, "href=\"https://b.example/xxxx"));
    assert_non_null(strstr(message, "href=\"mailto:ada@example.com\""));
    recipient.first_name = "Ada";
    recipient.last_name = "https://own.example/?a=1&b=2";
    message = compose(&design, &recipient);
    assert_token(token_behind(message, "https://click.shop.example/c/", 1), 1, "https://own.example/?a=1&b=2");
    assert_null(strstr(strstr(message, "click.shop.example/c/") + 200, "href=\"https://click.shop.example/c/\""));
}

static void test_a_sealed_target_belongs_to_its_token(void **state)
{
    (void)state;
    char one[LINK_TOKEN_CHARS + 1];
    char other[LINK_TOKEN_CHARS + 1];
    struct link_token token;
    assert_true(token_owner_write(&engine.token_keys, &(struct token_owner){ 2, 5, 17 }, one));
    assert_true(token_owner_write(&engine.token_keys, &(struct token_owner){ 3, 5, 17 }, other));
    token_number_write(&engine.token_keys, one, 1, one + TOKEN_OWNER_CHARS);
    token_number_write(&engine.token_keys, other, 1, other + TOKEN_OWNER_CHARS);
    const char *sealed = link_token_seal_target(&engine, arena, one, "https://a.example/");
    assert_true(link_token_open(&engine, arena, arena_printf(arena, "%s%s", one, sealed), &token));
    assert_string_equal(token.target, "https://a.example/");
    assert_false(link_token_open(&engine, arena, arena_printf(arena, "%s%s", other, sealed), &token));
    assert_false(link_token_open(&engine, arena, arena_printf(arena, "%s%.*s", one, (int)strlen(sealed) - 1, sealed), &token));
    assert_false(link_token_open(&engine, arena, arena_printf(arena, "%.*s", LINK_TOKEN_CHARS - 1, one), &token));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_marketing_mail_is_marked),
        TEST(test_the_link_names_the_recipient),
        TEST(test_the_message_id_names_the_recipient),
        TEST(test_transactional_mail_is_not),
        TEST(test_without_a_public_url),
        TEST(test_a_design_without_a_way_out_gets_one),
        TEST(test_a_way_out_is_not_doubled),
        TEST(test_a_hidden_way_out_is_none),
        TEST(test_fragments_of_html),
        TEST(test_no_input_breaks_a_header),
        TEST(test_values_in_a_subject),
        TEST(test_addresses_beyond_ascii),
        TEST(test_the_same_recipient_gives_the_same_bytes),
        TEST(test_a_preview_has_no_link_of_its_recipient),
        TEST(test_empty_values_are_listed),
        TEST(test_fallbacks_are_told_where_all_places_agree),
        TEST(test_empty_values_are_bounded),
        TEST(test_links_and_opens_are_tracked),
        TEST(test_merged_links_that_are_not_tracked),
        TEST(test_a_sealed_target_belongs_to_its_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
