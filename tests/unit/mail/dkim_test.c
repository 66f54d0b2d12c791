/*
 * DKIM: the published examples byte for byte, and the format of the signatures.
 * tests/third_party/dkim_verifiers.mjs checks them with other implementations.
 */
#include "mail/dkim.h"

#include "base/clock.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "crypto/sign.h"
#include "mail/dkim_canonical.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The keys of RFC 8463 §A.2. */
static const char ed25519_seed[] = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
static const char ed25519_public[] = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
static const char rsa_private[] = "MIICXQIBAAKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQi"
                                  "Y/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqM"
                                  "KrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB"
                                  "AoGAH0cxOhFZDgzXWhDhnAJDw5s4roOXN4OhjiXa8W7Y3rhX3FJqmJSPuC8N9vQm"
                                  "6SVbaLAE4SG5mLMueHlh4KXffEpuLEiNp9Ss3O4YfLiQpbRqE7Tm5SxKjvvQoZZe"
                                  "zHorimOaChRL2it47iuWxzxSiRMv4c+j70GiWdxXnxe4UoECQQDzJB/0U58W7RZy"
                                  "6enGVj2kWF732CoWFZWzi1FicudrBFoy63QwcowpoCazKtvZGMNlPWnC7x/6o8Gc"
                                  "uSe0ga2xAkEA8C7PipPm1/1fTRQvj1o/dDmZp243044ZNyxjg+/OPN0oWCbXIGxy"
                                  "WvmZbXriOWoSALJTjExEgraHEgnXssuk7QJBALl5ICsYMu6hMxO73gnfNayNgPxd"
                                  "WFV6Z7ULnKyV7HSVYF0hgYOHjeYe9gaMtiJYoo0zGN+L3AAtNP9huqkWlzECQE1a"
                                  "licIeVlo1e+qJ6Mgqr0Q7Aa7falZ448ccbSFYEPD6oFxiOl9Y9se9iYHZKKfIcst"
                                  "o7DUw1/hz2Ck4N5JrgUCQQCyKveNvjzkkd8HjYs0SwM0fPjK16//5qDZ2UiDGnOe"
                                  "uEzxBDAr518Z8VFbR41in3W4Y3yCDgQlLlcETrS+zYcL";

/* Its message (§A.3) without the signatures, and these. */
#define EXAMPLE_FROM       "From: Joe SixPack <joe@football.example.com>"
#define EXAMPLE_TO         "To: Suzie Q <suzie@shopping.example.net>"
#define EXAMPLE_SUBJECT    "Subject: Is dinner ready?"
#define EXAMPLE_DATE       "Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)"
#define EXAMPLE_MESSAGE_ID "Message-ID: <20030712040037.46341.5F8J@football.example.com>"
#define EXAMPLE_BODY       "Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n"

static const char ed25519_field[] = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n"
                                    " d=football.example.com; i=@football.example.com;\r\n"
                                    " q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n"
                                    " subject : date : message-id : from : subject : date;\r\n"
                                    " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n"
                                    " b=";
static const char ed25519_signature[] = "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus"
                                        "Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==";
static const char rsa_field[] = "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n"
                                " d=football.example.com; i=@football.example.com;\r\n"
                                " q=dns/txt; s=test; t=1528637909; h=from : to : subject :\r\n"
                                " date : message-id : from : subject : date;\r\n"
                                " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n"
                                " b=";
static const char rsa_signature[] = "F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3"
                                    "DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz"
                                    "dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=";

static struct arena *arena; /* one per test */
static struct buf *out;
static struct error err;

static int begin(void **state)
{
    (void)state;
    crypto_start();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    out = buf_in_arena(arena, (size_t)1024 * 1024);
    err = (struct error){ .code = ERR_NONE };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static struct bytes of_text(const char *text)
{
    return (struct bytes){ (const unsigned char *)text, strlen(text) };
}

static struct bytes of_base64(const char *text)
{
    struct bytes bytes = { NULL, 0 };
    bytes.data = base64_decode(arena, text, &bytes.size);
    assert_non_null(bytes.data);
    return bytes;
}

/* ---- Canonical forms ---- */

static const char *canonical_body(const char *body)
{
    buf_clear(out);
    dkim_canonical_body(out, of_text(body));
    return arena_dup(arena, buf_text(out));
}

static const char *canonical_field(const char *field)
{
    buf_clear(out);
    dkim_canonical_field(out, of_text(field), (size_t)(strchr(field, ':') - field));
    return arena_dup(arena, buf_text(out));
}

/* RFC 6376 §3.4.5. */
static void test_the_example_of_the_standard(void **state)
{
    (void)state;
    assert_string_equal(canonical_field("A: X"), "a:X");
    assert_string_equal(canonical_field("B : Y\t\r\n\tZ  "), "b:Y Z");
    assert_string_equal(canonical_body(" C \r\nD \t E\r\n\r\n\r\n"), " C\r\nD E\r\n");
}

static void test_canonical_fields(void **state)
{
    (void)state;
    assert_string_equal(canonical_field("SubJect:no blank"), "subject:no blank");
    assert_string_equal(canonical_field("X:"), "x:");
    assert_string_equal(canonical_field("X:  \t "), "x:");
    assert_string_equal(canonical_field("X: a\r\n b\r\n\tc"), "x:a b c");
    assert_string_equal(canonical_field("X: a \r\n \t b"), "x:a b");
    assert_string_equal(canonical_field("X:\r\n a"), "x:a");
    assert_string_equal(canonical_field("X: a:b : c"), "x:a:b : c");
    assert_string_equal(canonical_field("X-\xc3\x84: \xc3\x84"), "x-\xc3\x84:\xc3\x84");
}

static void test_canonical_bodies(void **state)
{
    (void)state;
    assert_string_equal(canonical_body(""), "");
    assert_string_equal(canonical_body("\r\n"), "");
    assert_string_equal(canonical_body("\r\n\r\n\r\n"), "");
    assert_string_equal(canonical_body(" \t \r\n"), "");
    assert_string_equal(canonical_body("a"), "a\r\n");
    assert_string_equal(canonical_body("a\r\n \r\n\t\r\n"), "a\r\n");
    assert_string_equal(canonical_body("\r\n\r\na\r\n"), "\r\n\r\na\r\n");
    assert_string_equal(canonical_body("a\r\n\r\nb"), "a\r\n\r\nb\r\n");
    assert_string_equal(canonical_body("a\tb\r\n"), "a b\r\n");
    assert_string_equal(canonical_body("a  b \r\n"), "a b\r\n");
    assert_string_equal(canonical_body("\t a\r\n"), " a\r\n");
    assert_string_equal(canonical_body("a\r\n."), "a\r\n.\r\n");
    /* Only CRLF ends a line. */
    assert_string_equal(canonical_body("a \n b\r\n"), "a \n b\r\n");
    assert_string_equal(canonical_body("a\rb\r\n"), "a\rb\r\n");
    assert_string_equal(canonical_body("\n\r\n"), "\n\r\n");
}

/* Every line against a plain reading of the rules, at all lengths around those that are looked at together. */
static void test_canonical_bodies_of_every_length(void **state)
{
    (void)state;
    static const char pieces[] = "ab  \t.=";
    uint64_t random = 1;
    for (size_t size = 0; size < 400; size++) {
        char *body = arena_alloc(arena, size + 3);
        char *expected = arena_alloc(arena, size + 3);
        size_t length = 0;
        for (size_t i = 0; i < size; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* Few blanks, so that many lines are canonical already. */
            body[i] = pieces[(random >> 33) % (size % 2 == 0 ? 2 : sizeof(pieces) - 1)];
            if (body[i] != ' ' && body[i] != '\t')
                expected[length++] = body[i];
            else if (length == 0 || expected[length - 1] != ' ')
                expected[length++] = ' ';
        }
        memcpy(body + size, "\r\n", 3);
        if (length > 0 && expected[length - 1] == ' ')
            length--;
        memcpy(expected + length, length > 0 ? "\r\n" : "", length > 0 ? 3 : 1);
        assert_string_equal(canonical_body(body), expected);
    }
}

/* ---- The example of RFC 8463 ---- */

/* The signature over these fields in this order and over its own field up to b=, as base64. */
static const char *signature_over(const char *const *fields, size_t count, const char *own_field, enum sign_algorithm algorithm,
                                  const char *private_key)
{
    struct sign_key *key = NULL;
    unsigned char hash[DIGEST_BYTES];
    unsigned char signature[SIGN_MAX_BYTES];
    size_t size = 0;
    struct digest *digest = digest_new(arena);
    digest_begin(digest);
    for (size_t i = 0; i < count; i++) {
        const char *canonical = canonical_field(fields[i]);
        digest_add(digest, canonical, strlen(canonical));
        digest_add(digest, "\r\n", 2);
    }
    const char *canonical = canonical_field(own_field);
    digest_add(digest, canonical, strlen(canonical));
    digest_end(digest, hash);
    assert_true(sign_key_load(arena, algorithm, of_base64(private_key), &key, &err));
    assert_true(sign_digest(sign_context_new(arena, key), hash, signature, &size, &err));
    return base64_encode(arena, signature, size);
}

static void test_the_published_signatures(void **state)
{
    (void)state;
    unsigned char hash[DIGEST_BYTES];
    const char *body = canonical_body(EXAMPLE_BODY);
    sha256(body, strlen(body), hash);
    assert_string_equal(base64_encode(arena, hash, sizeof(hash)), "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");
    static const char *const fields[] = { EXAMPLE_FROM, EXAMPLE_TO, EXAMPLE_SUBJECT, EXAMPLE_DATE, EXAMPLE_MESSAGE_ID };
    assert_string_equal(signature_over(fields, 5, ed25519_field, SIGN_ED25519, ed25519_seed), ed25519_signature);
    assert_string_equal(signature_over(fields, 5, rsa_field, SIGN_RSA_SHA256, rsa_private), rsa_signature);
}

static void test_the_published_public_keys(void **state)
{
    (void)state;
    struct sign_key *key = NULL;
    struct bytes public = { NULL, 0 };
    assert_true(sign_key_load(arena, SIGN_ED25519, of_base64(ed25519_seed), &key, &err));
    assert_true(sign_key_public(arena, key, &public, &err));
    assert_string_equal(base64_encode(arena, public.data, public.size), ed25519_public);
}

/* ---- Our signatures ---- */

static struct dkim_signer *example_signer(void)
{
    struct dkim_key **keys = arena_array(arena, 2, sizeof(*keys));
    assert_true(dkim_key_new(arena, DKIM_RSA_SHA256, "example.com", "ph1r", of_base64(rsa_private), &keys[0], &err));
    assert_true(dkim_key_new(arena, DKIM_ED25519_SHA256, "example.com", "ph1e", of_base64(ed25519_seed), &keys[1], &err));
    return dkim_signer_new(arena, (struct dkim_key_list){ keys, 2 });
}

static const char *sign(struct dkim_signer *signer, const char *message)
{
    if (!dkim_sign(signer, of_text(message), INT64_C(1795253400) * US_PER_S + 999, out, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return arena_dup(arena, buf_text(out));
}

/* The value of a tag of the first or second signature, without its folds. */
static const char *tag(const char *fields, int which, const char *name)
{
    const char *field = fields;
    for (int i = 0; i < which; i++)
        field = strstr(field + 1, "DKIM-Signature:");
    const char *next = strstr(field + 1, "DKIM-Signature:");
    const char *start = strstr(field, arena_printf(arena, " %s=", name));
    assert_non_null(start);
    assert_true(next == NULL || start < next);
    start += strlen(name) + 2;
    const char *end = start + strcspn(start, ";");
    if (next != NULL && end > next)
        end = next;
    char *value = arena_alloc(arena, (size_t)(end - start) + 1);
    size_t size = 0;
    for (const char *at = start; at < end; at++)
        if (strchr(" \r\n", *at) == NULL)
            value[size++] = *at;
    return value;
}

#define MESSAGE_HEAD                                                                                                               \
    "Date: Sat, 21 Nov 2026 09:30:00 +0000\r\nFrom: A <a@example.com>\r\nTo: b@example.org\r\nSubject: Hi\r\n"                     \
    "Message-ID: <t@example.com>\r\nMIME-Version: 1.0\r\nX-Other: not signed\r\n"                                                  \
    "Content-Type: text/plain;\r\n charset=utf-8\r\n"
#define MESSAGE_REST                                                                                                               \
    "List-Unsubscribe: <https://example.com/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"                           \
    "Feedback-ID: a:b:c:d\r\nReply-To: c@example.com\r\nList-Id: <l.example.com>\r\nReturn-Path: <x@example.com>\r\n"

static void test_what_is_signed(void **state)
{
    (void)state;
    struct dkim_signer *signer = example_signer();
    const char *fields = sign(signer, MESSAGE_HEAD MESSAGE_REST "\r\nHello\r\n");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(tag(fields, i, "v"), "1");
        assert_string_equal(tag(fields, i, "c"), "relaxed/relaxed");
        assert_string_equal(tag(fields, i, "d"), "example.com");
        assert_string_equal(tag(fields, i, "t"), "1795253400");
        assert_string_equal(tag(fields, i, "h"),
                            "From:From:To:Subject:Date:Message-ID:Reply-To:MIME-Version:Content-Type:List-Unsubscribe:"
                            "List-Unsubscribe-Post:List-Id:Feedback-ID");
    }
    assert_string_equal(tag(fields, 0, "a"), "rsa-sha256");
    assert_string_equal(tag(fields, 0, "s"), "ph1r");
    assert_string_equal(tag(fields, 1, "a"), "ed25519-sha256");
    assert_string_equal(tag(fields, 1, "s"), "ph1e");
    assert_string_equal(tag(fields, 0, "bh"), tag(fields, 1, "bh"));

    fields = sign(signer, "Subject: Hi\r\nfrom: a@example.com\r\n\r\n");
    assert_string_equal(tag(fields, 0, "h"), "From:From:Subject");
    /* SHA-256 of nothing, RFC 6376 §3.4.4. */
    assert_string_equal(tag(fields, 0, "bh"), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

/* A field that occurs twice is signed twice, the last one first (RFC 6376 §5.4.2), and one more From is named than there are. */
static void test_fields_that_occur_often(void **state)
{
    (void)state;
    static const char *const signed_fields[] = { "From: b@example.com", "From: a@example.com", "To: two", "To: one" };
    const char *fields = sign(example_signer(), "From: a@example.com\r\nTo: one\r\nFrom: b@example.com\r\nTo: two\r\n\r\nx\r\n");
    assert_string_equal(tag(fields, 0, "h"), "From:From:From:To:To");
    const char *second = strstr(fields + 1, "DKIM-Signature:");
    const char *own_field = arena_dup_bytes(arena, second, (size_t)(strstr(second, " b=") - second) + 3);
    assert_string_equal(tag(fields, 1, "b"), signature_over(signed_fields, 4, own_field, SIGN_ED25519, ed25519_seed));
}

static void test_signatures_are_the_same_again(void **state)
{
    (void)state;
    struct dkim_signer *signer = example_signer();
    const char *first = sign(signer, MESSAGE_HEAD "\r\nHello\r\n");
    const char *other = sign(signer, MESSAGE_HEAD "\r\nHello you\r\n");
    assert_string_equal(sign(signer, MESSAGE_HEAD "\r\nHello\r\n"), first);
    assert_string_equal(sign(example_signer(), MESSAGE_HEAD "\r\nHello\r\n"), first);
    assert_string_not_equal(tag(first, 0, "b"), tag(other, 0, "b"));
    assert_string_not_equal(tag(first, 1, "b"), tag(other, 1, "b"));
    /* Changes that relays may make do not change the signed text. */
    const char *moved = sign(signer, MESSAGE_HEAD "\r\nHello \r\n\r\n");
    assert_string_equal(moved, first);
}

static void test_signatures_are_fields(void **state)
{
    (void)state;
    const char *fields = sign(example_signer(), MESSAGE_HEAD MESSAGE_REST "\r\nHello\r\n");
    size_t count = 0;
    assert_string_equal(fields + strlen(fields) - 2, "\r\n");
    for (const char *line = fields; *line != '\0';) {
        size_t size = strcspn(line, "\r");
        assert_memory_equal(line + size, "\r\n", 2);
        assert_true(size > 0 && size <= 78);
        count += strncmp(line, "DKIM-Signature: ", 16) == 0;
        assert_true(strncmp(line, "DKIM-Signature: ", 16) == 0 || *line == ' ');
        line += size + 2;
    }
    assert_int_equal(count, 2);
    assert_null(strchr(fields, '\t'));
}

static void test_without_keys_nothing_is_written(void **state)
{
    (void)state;
    struct dkim_signer *signer = dkim_signer_new(arena, (struct dkim_key_list){ NULL, 0 });
    buf_add_text(out, "left from before");
    assert_true(dkim_sign(signer, of_text(MESSAGE_HEAD "\r\nHello\r\n"), 0, out, &err));
    assert_int_equal(out->size, 0);
}

static void assert_refused(const char *message)
{
    err = (struct error){ .code = ERR_NONE };
    assert_false(dkim_sign(example_signer(), of_text(message), 0, out, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
}

static void test_what_is_no_message_is_refused(void **state)
{
    (void)state;
    assert_refused("From a\r\n\r\nx");
    assert_refused("From: a@example.com");
    assert_refused("From: a@example.com\n\nx");
    assert_refused("From: a@example.com\r\nx\r\n\r\n");
    struct buf *many = buf_in_arena(arena, (size_t)1024 * 1024);
    for (int i = 0; i < 129; i++)
        buf_add_text(many, "X: y\r\n");
    assert_refused(buf_text(many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_example_of_the_standard),
        TEST(test_canonical_fields),
        TEST(test_canonical_bodies),
        TEST(test_canonical_bodies_of_every_length),
        TEST(test_the_published_signatures),
        TEST(test_the_published_public_keys),
        TEST(test_what_is_signed),
        TEST(test_fields_that_occur_often),
        TEST(test_signatures_are_the_same_again),
        TEST(test_signatures_are_fields),
        TEST(test_without_keys_nothing_is_written),
        TEST(test_what_is_no_message_is_refused),
    };
    return cmocka_run_group_tests_name("mail: DKIM", tests, begin, NULL);
}
