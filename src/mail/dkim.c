#include "mail/dkim.h"

#include "base/clock.h"
#include "crypto/sign.h"
#include "mail/dkim_canonical.h"
#include "mail/message.h"

#include <string.h>
#include <strings.h>

enum {
    MAX_FIELDS = 2 * MESSAGE_MAX_HEADERS,
    MAX_LINE_CHARS = 78, /* RFC 5322 §2.1.1 */
    SIGNATURE_LINE_CHARS = 72,
    FIELD_MAX_BYTES = 16 * 1024, /* of a signature; MAX_FIELDS names and a domain fit */
};

static const char field_name[] = "DKIM-Signature";

/* The header fields to sign, if present, in the order of h=. The first is named once more than it occurs. */
static const struct signed_name {
    const char *text;
    size_t size;
} signed_names[] = {
#define SIGNED(name)                                                                                                               \
    {                                                                                                                              \
        name, sizeof(name) - 1                                                                                                     \
    }
    SIGNED("From"),
    SIGNED("To"),
    SIGNED("Subject"),
    SIGNED("Date"),
    SIGNED("Message-ID"),
    SIGNED("Reply-To"),
    SIGNED("MIME-Version"),
    SIGNED("Content-Type"),
    SIGNED("List-Unsubscribe"),
    SIGNED("List-Unsubscribe-Post"),
    SIGNED("List-Id"),
    SIGNED("Feedback-ID"),
#undef SIGNED
};

struct dkim_key {
    enum dkim_algorithm algorithm;
    const char *domain;
    const char *selector;
    struct sign_key *key;
};

struct dkim_signer {
    struct sign_context *contexts[DKIM_MAX_KEYS];
    const struct dkim_key *keys[DKIM_MAX_KEYS];
    size_t key_count;
    struct digest *headers;  /* of the signed fields */
    struct digest *complete; /* of the signed fields and the signature field */
    struct buf *canonical;
    struct buf *names; /* the value of h=, folded */
    struct buf *field; /* the signature field up to b= */
};

/* ---- Keys ---- */

static const char *algorithm_name(enum dkim_algorithm algorithm)
{
    switch (algorithm) {
    case DKIM_RSA_SHA256:
        return "rsa-sha256";
    case DKIM_ED25519_SHA256:
        return "ed25519-sha256";
    }
    return "";
}

bool dkim_key_new(struct arena *arena, enum dkim_algorithm algorithm, const char *domain, const char *selector,
                  struct bytes private_key, struct dkim_key **ret_key, struct error *err)
{
    enum sign_algorithm signs = algorithm == DKIM_RSA_SHA256 ? SIGN_RSA_SHA256 : SIGN_ED25519;
    struct dkim_key *key = arena_alloc(arena, sizeof(*key));
    key->algorithm = algorithm;
    key->domain = arena_dup(arena, domain);
    key->selector = arena_dup(arena, selector);
    *ret_key = key;
    return sign_key_load(arena, signs, private_key, &key->key, err);
}

struct dkim_signer *dkim_signer_new(struct arena *arena, struct dkim_key_list keys)
{
    struct dkim_signer *signer = arena_alloc(arena, sizeof(*signer));
    signer->key_count = keys.count < DKIM_MAX_KEYS ? keys.count : DKIM_MAX_KEYS;
    for (size_t i = 0; i < signer->key_count; i++) {
        signer->keys[i] = keys.keys[i];
        signer->contexts[i] = sign_context_new(arena, keys.keys[i]->key);
    }
    signer->headers = digest_new(arena);
    signer->complete = digest_new(arena);
    signer->canonical = buf_in_arena(arena, (size_t)MESSAGE_MAX_BYTES + 2);
    signer->names = buf_in_arena(arena, (size_t)FIELD_MAX_BYTES);
    signer->field = buf_in_arena(arena, (size_t)FIELD_MAX_BYTES);
    return signer;
}

/* ---- The fields of a message ---- */

struct field {
    struct bytes bytes; /* still folded, without the last CRLF */
    size_t name_size;
};

struct field_list {
    struct field items[MAX_FIELDS];
    size_t count;
};

/* The end of the field at `at`: after the first CRLF without a blank behind it (RFC 5322 §2.2.3). NULL when there is none. */
static const unsigned char *field_end(const unsigned char *at, const unsigned char *end)
{
    for (;;) {
        const unsigned char *feed = memchr(at, '\n', (size_t)(end - at));
        if (feed == NULL || feed == at || feed[-1] != '\r')
            return NULL;
        if (feed + 1 == end || (feed[1] != ' ' && feed[1] != '\t'))
            return feed + 1;
        at = feed + 1;
    }
}

/* Splits the message into its header fields and its body after the empty line. */
static bool split_message(struct bytes message, struct field_list *ret_fields, struct bytes *ret_body, struct error *err)
{
    const unsigned char *at = message.data;
    const unsigned char *end = message.data + message.size;
    ret_fields->count = 0;
    while (at < end && !(end - at >= 2 && memcmp(at, "\r\n", 2) == 0)) {
        const unsigned char *next = field_end(at, end);
        const unsigned char *colon = next != NULL ? memchr(at, ':', (size_t)(next - at)) : NULL;
        if (colon == NULL || ret_fields->count == MAX_FIELDS)
            return fail(err, ERR_INTERNAL_ERROR, NULL, "The message cannot be signed.") ||
                   error_because(err, "header field %zu is malformed or exceeds the maximum", ret_fields->count + 1);
        struct bytes bytes = { at, (size_t)(next - at) - 2 };
        ret_fields->items[ret_fields->count++] = (struct field){ .bytes = bytes, .name_size = (size_t)(colon - at) };
        at = next;
    }
    if (at < end)
        at += 2;
    *ret_body = (struct bytes){ at, (size_t)(end - at) };
    return true;
}

static bool field_is_named(const struct field *field, const struct signed_name *name)
{
    return field->name_size == name->size && strncasecmp((const char *)field->bytes.data, name->text, name->size) == 0;
}

/* ---- Signed fields ---- */

/* Adds a name to h=, on a new line if the current one is full. The colon stays on the line of the name before. */
static void add_signed_name(struct buf *names, size_t *column, const struct signed_name *name)
{
    if (names->size > 0)
        buf_add_char(names, ':');
    if (*column + name->size + 2 > MAX_LINE_CHARS) {
        buf_add_text(names, "\r\n ");
        *column = 1;
    }
    buf_add(names, name->text, name->size);
    *column += name->size + 1;
}

/* Hashes the signed fields and collects their names. The last of several fields with one name comes first (RFC 6376 §5.4.2). */
static void hash_fields(struct dkim_signer *signer, const struct field_list *fields)
{
    size_t column = sizeof(" h=") - 1;
    buf_clear(signer->canonical);
    buf_clear(signer->names);
    for (size_t i = 0; i < ARRAY_COUNT(signed_names); i++) {
        for (size_t j = fields->count; j > 0; j--) {
            const struct field *field = &fields->items[j - 1];
            if (!field_is_named(field, &signed_names[i]))
                continue;
            dkim_canonical_field(signer->canonical, field->bytes, field->name_size);
            buf_add_text(signer->canonical, "\r\n");
            add_signed_name(signer->names, &column, &signed_names[i]);
        }
        if (i == 0)
            add_signed_name(signer->names, &column, &signed_names[i]);
    }
    digest_begin(signer->headers);
    digest_add(signer->headers, buf_text(signer->canonical), signer->canonical->size);
}

static void hash_body(struct dkim_signer *signer, struct bytes body, char *ret_text)
{
    unsigned char hash[DIGEST_BYTES];
    buf_clear(signer->canonical);
    dkim_canonical_body(signer->canonical, body);
    digest_begin(signer->complete);
    digest_add(signer->complete, buf_text(signer->canonical), signer->canonical->size);
    digest_end(signer->complete, hash);
    sign_text(hash, sizeof(hash), ret_text);
}

/* ---- Signatures ---- */

/* Writes the field up to and including b=; the signature covers this part. */
static void begin_field(struct buf *field, const struct dkim_key *key, int64_t time_s, const char *names, const char *body_hash)
{
    buf_clear(field);
    buf_printf(field, "%s: v=1; a=%s; c=relaxed/relaxed;\r\n d=%s; s=%s;\r\n t=%lld; bh=%s;\r\n h=%s;\r\n b=", field_name,
               algorithm_name(key->algorithm), key->domain, key->selector, (long long)time_s, body_hash, names);
}

static void add_signature_value(struct buf *out, const char *text)
{
    for (size_t size = strlen(text); size > SIGNATURE_LINE_CHARS; size = strlen(text)) {
        buf_add(out, text, SIGNATURE_LINE_CHARS);
        buf_add_text(out, "\r\n ");
        text += SIGNATURE_LINE_CHARS;
    }
    buf_add_text(out, text);
}

static bool add_signature(struct dkim_signer *signer, size_t key, struct buf *out, struct error *err)
{
    unsigned char hash[DIGEST_BYTES];
    unsigned char signature[SIGN_MAX_BYTES];
    char text[SIGN_MAX_CHARS + 1];
    size_t size;
    buf_clear(signer->canonical);
    dkim_canonical_field(signer->canonical, (struct bytes){ (const unsigned char *)signer->field->data, signer->field->size },
                         sizeof(field_name) - 1);
    digest_continue(signer->complete, signer->headers);
    digest_add(signer->complete, buf_text(signer->canonical), signer->canonical->size);
    digest_end(signer->complete, hash);
    if (!sign_digest(signer->contexts[key], hash, signature, &size, err))
        return false;
    sign_text(signature, size, text);
    buf_add(out, signer->field->data, signer->field->size);
    add_signature_value(out, text);
    buf_add_text(out, "\r\n");
    return true;
}

bool dkim_sign(struct dkim_signer *signer, struct bytes message, int64_t time_us, struct buf *out, struct error *err)
{
    struct field_list fields;
    struct bytes body;
    char body_hash[SIGN_MAX_CHARS + 1];
    buf_clear(out);
    if (signer->key_count == 0)
        return true;
    if (message.size > MESSAGE_MAX_BYTES)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The message is too large to be signed.");
    if (!split_message(message, &fields, &body, err))
        return false;
    hash_body(signer, body, body_hash);
    hash_fields(signer, &fields);
    for (size_t i = 0; i < signer->key_count; i++) {
        begin_field(signer->field, signer->keys[i], time_us / US_PER_S, buf_text(signer->names), body_hash);
        if (!add_signature(signer, i, out, err))
            return false;
    }
    return !out->overflowed || fail(err, ERR_INTERNAL_ERROR, NULL, "The DKIM signatures are too large.");
}
