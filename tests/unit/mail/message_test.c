/*
 * Messages: structure, encodings, folding, and header injection.
 * tests/third_party/message_roundtrip.mjs checks them with mail parsers.
 */
#include "mail/encode.h"
#include "mail/message.h"

#include "base/clock.h"
#include "fixtures/processor_bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct message_common common = {
    .from = { .name = "Ada at Example", .address = "news@example.com" },
    .reply_to = { .address = "help@example.com" },
};

static struct message plain_message(void)
{
    return (struct message){
        .to = { .address = "bob@example.org" },
        .subject = "Hello",
        .text = "Hi Bob\n",
        .text_size = strlen("Hi Bob\n"),
        .html = "<p>Hi Bob</p>",
        .html_size = strlen("<p>Hi Bob</p>"),
        .date_us = INT64_C(1795253400) * US_PER_S,
        .message_id = "<t1@example.com>",
    };
}

static bool compose_with(struct arena *arena, const struct message_common *with, const struct message *message,
                         const char **ret_bytes, struct error *err)
{
    struct message_plan *plan = NULL;
    struct buf *out = buf_in_arena(arena, (size_t)MESSAGE_MAX_BYTES);
    if (!message_plan_new(arena, with, &plan, err) || !message_compose(plan, message, arena, out, err))
        return false;
    *ret_bytes = buf_text(out);
    return true;
}

static const char *compose(struct arena *arena, const struct message *message)
{
    struct error err = { .code = ERR_NONE };
    const char *bytes = NULL;
    if (!compose_with(arena, &common, message, &bytes, &err))
        fail_msg("%s: %s", err.param, err.message);
    return bytes;
}

static void assert_refused(const struct message_common *with, const struct message *message, const char *param)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *bytes = NULL;
    if (compose_with(arena, with, message, &bytes, &err))
        fail_msg("composed, but %s is wrong: %s", param, bytes);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

static void assert_contains(const char *bytes, const char *part)
{
    if (strstr(bytes, part) == NULL)
        fail_msg("expected \"%s\" in:\n%s", part, bytes);
}

/* 7-bit, CRLF only, lines within bounds. */
static void assert_is_clean(const char *bytes)
{
    size_t column = 0;
    bool in_header = true;
    for (const char *at = bytes; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '\r' || byte == '\n') {
            assert_true(byte == '\r' ? at[1] == '\n' : at > bytes && at[-1] == '\r');
            if (byte == '\r' && column == 0)
                in_header = false;
            column = 0;
            continue;
        }
        assert_true(byte < 0x7F && (byte >= 0x20 || byte == '\t'));
        column++;
        assert_true(column <= (in_header ? ENCODE_HEADER_HARD_MAX_BYTES : ENCODE_LINE_MAX_BYTES));
    }
    assert_string_equal(bytes + strlen(bytes) - 2, "\r\n");
}

static void test_whole_message(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const struct header extra[] = { { "List-Unsubscribe", "<https://example.com/u/1>, <mailto:u@example.com>" } };
    struct message message = plain_message();
    message.headers = extra;
    message.header_count = 1;
    assert_string_equal(compose(arena, &message), "Date: Sat, 21 Nov 2026 09:30:00 +0000\r\n"
                                                  "From: Ada at Example <news@example.com>\r\n"
                                                  "Reply-To: help@example.com\r\n"
                                                  "MIME-Version: 1.0\r\n"
                                                  "To: bob@example.org\r\n"
                                                  "Subject: Hello\r\n"
                                                  "Message-ID: <t1@example.com>\r\n"
                                                  "List-Unsubscribe: <https://example.com/u/1>, <mailto:u@example.com>\r\n"
                                                  "Content-Type: multipart/alternative; boundary=\"=_a3a3f6555aded415\"\r\n"
                                                  "\r\n"
                                                  "--=_a3a3f6555aded415\r\n"
                                                  "Content-Type: text/plain; charset=utf-8\r\n"
                                                  "Content-Transfer-Encoding: 7bit\r\n"
                                                  "\r\n"
                                                  "Hi Bob\r\n"
                                                  "\r\n"
                                                  "--=_a3a3f6555aded415\r\n"
                                                  "Content-Type: text/html; charset=utf-8\r\n"
                                                  "Content-Transfer-Encoding: 7bit\r\n"
                                                  "\r\n"
                                                  "<p>Hi Bob</p>\r\n"
                                                  "--=_a3a3f6555aded415--\r\n");
}

static void test_one_part(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct message message = plain_message();
    message.html = NULL;
    const char *bytes = compose(arena, &message);
    assert_contains(bytes, "Content-Type: text/plain; charset=utf-8\r\n");
    assert_null(strstr(bytes, "multipart"));
    message = plain_message();
    message.text = NULL;
    bytes = compose(arena, &message);
    assert_contains(bytes, "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n<p>Hi Bob</p>\r\n");
    assert_is_clean(bytes);
    message.html = NULL;
    assert_refused(&common, &message, "");
}

static void encode_to(struct buf *out, enum body_encoding encoding, const char *text)
{
    buf_clear(out);
    body_encode(out, encoding, text, strlen(text));
}

static void test_quoted_printable(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *encoded;
    } cases[] = {
        { "", "" },
        { "a=b", "a=3Db" },
        { "caf\u00e9", "caf=C3=A9" },
        { "space \ntab\t\nend ", "space=20\r\ntab=09\r\nend=20" },
        { "a\r\nb\nc\rd\r\r\n", "a\r\nb\r\nc\r\nd\r\n\r\n" },
        { "\n\n", "\r\n\r\n" },
        { ".\n..\nx.", "=2E\r\n=2E.\r\nx." },
        { "From here\nFromage", "=46rom here\r\nFromage" },
        { "\x01\x7F", "=01=7F" },
    };
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        encode_to(out, BODY_QUOTED_PRINTABLE, cases[i].text);
        assert_string_equal(buf_text(out), cases[i].encoded);
    }
    assert_int_equal(body_encoding_choose("a\x01", 2, "=_x"), BODY_QUOTED_PRINTABLE);
}

/* Every length around the limit, with every kind of byte at the edge. */
static void test_soft_breaks(void **state)
{
    (void)state;
    static const char *const edges[] = { "a", "=", " ", ".", "\u00e9", "\U0001F600", "\n.", " \n" };
    ARENA_SCOPE arena = arena_new(0);
    struct buf *text = buf_in_arena(arena, 1 << 20);
    struct buf *out = buf_in_arena(arena, 1 << 20);
    for (size_t edge = 0; edge < ARRAY_COUNT(edges); edge++) {
        for (int length = 60; length < 240; length++) {
            buf_clear(text);
            for (int i = 0; i < length; i++)
                buf_add_char(text, i % 7 == 6 ? '.' : 'x');
            buf_add_text(text, edges[edge]);
            buf_add_text(text, ".x");
            encode_to(out, BODY_QUOTED_PRINTABLE, buf_text(text));
            size_t column = 0;
            for (size_t i = 0; i < out->size; i++) {
                if (out->data[i] == '\r') {
                    assert_true(column <= ENCODE_LINE_MAX_BYTES);
                    assert_true(out->data[i - 1] != ' ');
                    column = 0;
                    i++;
                } else {
                    assert_true(column > 0 || out->data[i] != '.');
                    column++;
                }
            }
            assert_true(column <= ENCODE_LINE_MAX_BYTES);
        }
    }
}

/* Every kind of break ends a line of any length. */
static void test_breaks_after_every_length(void **state)
{
    (void)state;
    enum { LONGEST = 1100 };
    static const char *const breaks[] = { "\r", "\n", "\r\n" };
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, 2 * LONGEST);
    char line[LONGEST];
    memset(line, 'x', sizeof(line));
    for (size_t kind = 0; kind < ARRAY_COUNT(breaks); kind++) {
        for (int length = 0; length <= LONGEST; length++) {
            encode_to(out, BODY_7BIT, arena_printf(arena, "%.*s%sa\rb\nc", length, line, breaks[kind]));
            assert_string_equal(buf_text(out), arena_printf(arena, "%.*s\r\na\r\nb\r\nc", length, line));
        }
    }
}

/* A search of the whole rest for each break would take minutes. */
static void test_lone_breaks_take_linear_time(void **state)
{
    (void)state;
    enum { BREAKS = 1 << 22 };
    static const char kinds[] = { '\r', '\n' };
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, 2 * (size_t)BREAKS);
    char *text = arena_alloc(arena, BREAKS);
    for (size_t kind = 0; kind < ARRAY_COUNT(kinds); kind++) {
        memset(text, kinds[kind], BREAKS);
        buf_clear(out);
        processor_bound_begin();
        assert_int_equal(body_encoding_choose(text, BREAKS, "=_b"), BODY_7BIT);
        body_encode(out, BODY_7BIT, text, BREAKS);
        processor_bound_end();
        assert_int_equal(out->size, 2 * (size_t)BREAKS);
    }
}

static char hex_value(const char *digits)
{
    static const char known[] = "0123456789ABCDEF";
    return (char)((strchr(known, digits[0]) - known) * 16 + (strchr(known, digits[1]) - known));
}

/* Reads quoted-printable back in place; what should have been encoded is not let through. */
static size_t read_quoted_printable(char *text, size_t size)
{
    size_t read = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '=' && text[i + 1] == '\r') {
            i += 2;
        } else if (byte == '=') {
            text[read++] = hex_value(text + i + 1);
            i += 2;
        } else {
            assert_true((byte >= 0x20 && byte < 0x7F) || byte == '\t');
            text[read++] = text[i];
        }
    }
    return read;
}

/* Bytes are looked at eight at once: every byte at every place of a word, and two of them, come back as they were. */
static void test_every_byte_at_every_place(void **state)
{
    (void)state;
    enum { SIZE = 19 };
    static const char others[] = { 'x', '=', '\t', '\x7F', '\x80', '\x1F', ' ' };
    ARENA_SCOPE arena = arena_new(0);
    for (int byte = 0; byte < 256; byte++) {
        if (byte == '\r' || byte == '\n')
            continue;
        for (size_t place = 0; place < SIZE * ARRAY_COUNT(others); place++) {
            char text[SIZE];
            memset(text, 'x', SIZE);
            text[(place + 3) % SIZE] = others[place / SIZE];
            text[place % SIZE] = (char)byte;
            const char *exact = arena_dup_bytes(arena, text, SIZE);
            struct buf *out = buf_in_arena(arena, 1000);
            body_encode(out, BODY_QUOTED_PRINTABLE, exact, SIZE);
            size_t size = read_quoted_printable(out->data, out->size);
            assert_int_equal(size, SIZE);
            assert_memory_equal(out->data, text, SIZE);
        }
        arena_reset(arena);
    }
}

static void test_base64(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, 1 << 20);
    encode_to(out, BODY_BASE64, "f");
    assert_string_equal(buf_text(out), "Zg==");
    encode_to(out, BODY_BASE64, "fo");
    assert_string_equal(buf_text(out), "Zm8=");
    encode_to(out, BODY_BASE64, "a\nb");
    assert_string_equal(buf_text(out), "YQ0KYg==");
    char long_text[115];
    memset(long_text, 'x', sizeof(long_text));
    long_text[114] = '\0'; /* exactly two lines of 57 bytes */
    encode_to(out, BODY_BASE64, long_text);
    assert_int_equal(out->size, 76 + 2 + 76);
    assert_memory_equal(out->data + 76, "\r\n", 2);
}

static void test_choice_of_encoding(void **state)
{
    (void)state;
    char line[80];
    memset(line, 'x', sizeof(line));
    assert_int_equal(body_encoding_choose(line, 76, "=_b"), BODY_7BIT);
    assert_int_equal(body_encoding_choose(line, 77, "=_b"), BODY_QUOTED_PRINTABLE);
    assert_int_equal(body_encoding_choose("a\n.b\n", 5, "=_b"), BODY_QUOTED_PRINTABLE);
    assert_int_equal(body_encoding_choose("From me", 7, "=_b"), BODY_QUOTED_PRINTABLE);
    assert_int_equal(body_encoding_choose("a \nb", 4, "=_b"), BODY_QUOTED_PRINTABLE);
    assert_int_equal(body_encoding_choose("x --=_b y", 9, "=_b"), BODY_QUOTED_PRINTABLE);
    assert_int_equal(body_encoding_choose("Caf\u00e9 au lait, please", 22, "=_b"), BODY_QUOTED_PRINTABLE);
    const char *greek = "καλημέρα";
    assert_int_equal(body_encoding_choose(greek, strlen(greek), "=_b"), BODY_BASE64);
}

static void test_subjects(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct message message = plain_message();
    message.subject = "Gr\u00fc\u00dfe aus Wien";
    assert_contains(compose(arena, &message), "\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe_aus_Wien?=\r\n");
    message.subject = "\u65e5\u672c\u8a9e";
    assert_contains(compose(arena, &message), "\r\nSubject: =?utf-8?B?5pel5pys6Kqe?=\r\n");
    message.subject = "";
    assert_contains(compose(arena, &message), "\r\nSubject: \r\n");
    message.subject = " lead and trail ";
    assert_contains(compose(arena, &message), "Subject: =?utf-8?Q?_lead_and_trail_?=\r\n");
    message.subject = "Looks like =?utf-8?Q?x?=";
    assert_contains(compose(arena, &message), "Subject: =?utf-8?B?TG9va3MgbGlrZSA9P3V0Zi04P1E/eD89?=\r\n");
    message.subject = "Twelve plain words that are folded between two of them because the line is long";
    assert_contains(compose(arena, &message),
                    "Subject: Twelve plain words that are folded between two of them because the\r\n line is long\r\n");
}

/* Encoded words: at most 75 bytes, lines at most 76, no split character. */
static void test_long_encoded_subjects(void **state)
{
    (void)state;
    static const char *const units[] = { "\u00e9", "\u65e5", "\U0001F600", "a\u00e9", "\u05d0 " };
    ARENA_SCOPE arena = arena_new(0);
    for (size_t unit = 0; unit < ARRAY_COUNT(units); unit++) {
        struct buf *subject = buf_in_arena(arena, 1 << 16);
        for (int count = 1; count < 120; count++) {
            buf_add_text(subject, units[unit]);
            struct message message = plain_message();
            message.subject = buf_text(subject);
            const char *bytes = compose(arena, &message);
            assert_is_clean(bytes);
            const char *at = strstr(bytes, "\r\nSubject: ") + 2;
            size_t column = 0;
            size_t word = 0;
            for (; memcmp(at, "\r\nMessage-ID", 12) != 0; at++) {
                column = *at == '\r' ? 0 : column + (*at != '\n');
                word = *at == ' ' || *at == '\r' || *at == '\n' ? 0 : word + 1;
                assert_true(column <= ENCODE_WORD_LINE_MAX_BYTES && word <= ENCODE_WORD_MAX_BYTES);
            }
        }
    }
}

/* The number of bytes in the base64 of all encoded words. */
static size_t bytes_of_words(const char *at)
{
    size_t bytes = 0;
    while ((at = strstr(at, "?B?")) != NULL) {
        const char *end = strstr(at + 3, "?=");
        for (at += 3; at < end; at += 4)
            bytes += 3 - (size_t)(at[2] == '=') - (size_t)(at[3] == '=');
    }
    return bytes;
}

/* Only trailing bytes of characters: no word can hold them all, and each must go into some word. */
static void test_malformed_encoded_words(void **state)
{
    (void)state;
    enum { BYTES = 300 };
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, 1 << 16);
    char text[BYTES];
    memset(text, 0x80, sizeof(text));
    processor_bound_begin();
    encoded_words_add(out, 9, text, sizeof(text));
    processor_bound_end();
    size_t column = 9;
    for (const char *at = buf_text(out); *at != '\0'; at++) {
        column = *at == '\r' ? 0 : column + (*at != '\n');
        assert_true(column <= ENCODE_WORD_LINE_MAX_BYTES);
    }
    assert_int_equal(bytes_of_words(buf_text(out)), BYTES);
}

static void test_display_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *line;
    } cases[] = {
        { "Bob", "To: Bob <bob@example.org>\r\n" },
        { "", "To: bob@example.org\r\n" },
        { "Bob, the \"Builder\" \\", "To: \"Bob, the \\\"Builder\\\" \\\\\" <bob@example.org>\r\n" },
        { "bob@example.org", "To: \"bob@example.org\" <bob@example.org>\r\n" },
        { "J\u00f6rg Huber", "To: =?utf-8?Q?J=C3=B6rg_Huber?= <bob@example.org>\r\n" },
        { "=?utf-8?Q?x?=", "To: =?utf-8?B?PT91dGYtOD9RP3g/PQ==?= <bob@example.org>\r\n" },
        { "The Very Long Name Of A Person Which Is Still Within Bounds",
          "To: The Very Long Name Of A Person Which Is Still Within Bounds\r\n <bob@example.org>\r\n" },
        /* With a backslash before each quote it would not fit a line. */
        { "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
          "To: =?utf-8?B?IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIg==?=\r\n <bob@example.org>\r\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct message message = plain_message();
        message.to.name = cases[i].name;
        assert_contains(compose(arena, &message), cases[i].line);
    }
}

static void test_header_injection(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "x\r\nBcc: evil@example.net", "x\nBcc: y", "x\rBcc: y", "x\x7F", "x\xC2\x85y", "x\xFFy"
    };
    for (size_t i = 0; i < ARRAY_COUNT(hostile); i++) {
        struct message message = plain_message();
        message.subject = hostile[i];
        assert_refused(&common, &message, "subject");
        message = plain_message();
        message.to.name = hostile[i];
        assert_refused(&common, &message, "to");
        message = plain_message();
        message.to.address = hostile[i];
        assert_refused(&common, &message, "to");
        message = plain_message();
        message.message_id = hostile[i];
        assert_refused(&common, &message, "messageId");
        const struct header header = { "X-Test", hostile[i] };
        message = plain_message();
        message.headers = &header;
        message.header_count = 1;
        assert_refused(&common, &message, "X-Test");

        struct message_common with = common;
        message = plain_message();
        with.from.name = hostile[i];
        assert_refused(&with, &message, "senderName");
        with = common;
        with.from.address = hostile[i];
        assert_refused(&with, &message, "fromAddress");
        with = common;
        with.reply_to.address = hostile[i];
        assert_refused(&with, &message, "replyTo");
        with = common;
        with.headers = &header;
        with.header_count = 1;
        assert_refused(&with, &message, "X-Test");
    }
}

static void assert_header_refused(const char *name, const char *value, const char *param)
{
    const struct header header = { name, value };
    struct message message = plain_message();
    message.headers = &header;
    message.header_count = 1;
    assert_refused(&common, &message, param);
}

static void test_extra_headers(void **state)
{
    (void)state;
    assert_header_refused("X Bad", "v", "headers");
    assert_header_refused("X:Bad", "v", "headers");
    assert_header_refused("X\r\nBad", "v", "headers");
    assert_header_refused("", "v", "headers");
    assert_header_refused("bcc", "v@example.com", "bcc");
    assert_header_refused("FROM", "v@example.com", "FROM");
    assert_header_refused("Content-Type", "text/plain", "Content-Type");
    assert_header_refused("X-Test", "", "X-Test");
    assert_header_refused("X-Test", "Gr\u00fc\u00dfe", "X-Test");
    char huge[1200];
    memset(huge, 'x', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    assert_header_refused("X-Test", huge, "X-Test");

    ARENA_SCOPE arena = arena_new(0);
    const struct header header = { "List-Unsubscribe",
                                   "<https://example.com/unsubscribe/abcdefghijklmnopqrstuvwxyz>, <mailto:u@example.com>" };
    struct message message = plain_message();
    message.headers = &header;
    message.header_count = 1;
    assert_contains(compose(arena, &message), "List-Unsubscribe: <https://example.com/unsubscribe/abcdefghijklmnopqrstuvwxyz>,\r\n"
                                              " <mailto:u@example.com>\r\n");
}

static void test_message_ids(void **state)
{
    (void)state;
    static const char *const bad[] = { "",       "<>",   "t@example.com", "<t@example.com", "<texample.com>", "<t@@x>",
                                       "<@x.y>", "<t@>", "<t @x.y>",      "<t\u00e9@x.y>",  "<t<@x.y>",       NULL };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct message message = plain_message();
        message.message_id = bad[i];
        assert_refused(&common, &message, "messageId");
    }
}

static void test_same_input_gives_same_bytes(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct message message = plain_message();
    assert_string_equal(compose(arena, &message), compose(arena, &message));
    const char *first = compose(arena, &message);
    message.message_id = "<t2@example.com>";
    assert_string_not_equal(strstr(first, "boundary="), strstr(compose(arena, &message), "boundary="));
}

static void test_too_large_is_cut_off_again(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct message_plan *plan = NULL;
    assert_true(message_plan_new(arena, &common, &plan, &err));
    struct buf *out = buf_in_arena(arena, 500);
    buf_add_text(out, "before");
    struct message message = plain_message();
    assert_false(message_compose(plan, &message, arena, out, &err));
    assert_string_equal(buf_text(out), "before");
    assert_false(out->overflowed);
}

static void test_utf8_address_stays(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct message message = plain_message();
    message.to.address = "jos\u00e9@example.org";
    assert_contains(compose(arena, &message), "To: jos\u00e9@example.org\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_message),
        cmocka_unit_test(test_one_part),
        cmocka_unit_test(test_quoted_printable),
        cmocka_unit_test(test_soft_breaks),
        cmocka_unit_test(test_breaks_after_every_length),
        cmocka_unit_test(test_lone_breaks_take_linear_time),
        cmocka_unit_test(test_every_byte_at_every_place),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_choice_of_encoding),
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_long_encoded_subjects),
        cmocka_unit_test(test_malformed_encoded_words),
        cmocka_unit_test(test_display_names),
        cmocka_unit_test(test_header_injection),
        cmocka_unit_test(test_extra_headers),
        cmocka_unit_test(test_message_ids),
        cmocka_unit_test(test_same_input_gives_same_bytes),
        cmocka_unit_test(test_too_large_is_cut_off_again),
        cmocka_unit_test(test_utf8_address_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
