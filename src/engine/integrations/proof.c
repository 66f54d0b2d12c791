#include "engine/integrations/proof.h"

#include "base/clock.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "crypto/secret.h"
#include "crypto/verify.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { STANDARD_HEADERS = 3, NEW_SECRET_BYTES = 32 };

static const char secret_prefix[] = "whsec_"; /* Standard Webhooks, "Signature scheme" */

/* The suggestion of the code is about API keys. */
static bool refuse_proof(struct error *err, const char *sentence)
{
    fail(err, ERR_AUTHENTICATION_REQUIRED, NULL, "%s", sentence);
    snprintf(err->suggestion, sizeof(err->suggestion), "%s",
             "Give the connection the signing secret of the provider with posthorn admin integration rotate.");
    return false;
}

const char *proof_header(const struct proof_request *request, const char *name)
{
    const char *value = json_string_value(json_object_get(request->headers, name));
    return value != NULL && strlen(value) <= PROOF_HEADER_MAX_BYTES ? value : NULL;
}

/* ---- Secrets ---- */

/* The key of the HMAC. The standard scheme writes it in base64 behind a prefix; other providers use the bytes of the text. */
static struct bytes signing_key(struct arena *arena, const struct integration_provider *provider, const char *secret)
{
    if (provider->scheme != INTEGRATION_STANDARD)
        return (struct bytes){ (const unsigned char *)secret, strlen(secret) };
    const char *text = text_starts_with(secret, secret_prefix) ? secret + strlen(secret_prefix) : secret;
    struct bytes key = { NULL, 0 };
    key.data = base64_decode(arena, text, &key.size);
    return key;
}

bool proof_secret_check(const struct integration_provider *provider, const char *secret, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0);
    size_t size = strlen(secret);
    if (size < PROOF_SECRET_MIN_BYTES || size > PROOF_SECRET_MAX_BYTES || !text_is_ascii(secret) ||
        strpbrk(secret, " \t\r\n") != NULL)
        return fail(err, ERR_INVALID_REQUEST, "secret", "The secret has %d to %d characters of ASCII, without spaces.",
                    PROOF_SECRET_MIN_BYTES, PROOF_SECRET_MAX_BYTES);
    return signing_key(scratch, provider, secret).data != NULL ||
           fail(err, ERR_INVALID_REQUEST, "secret", "The secret of this provider is base64, with or without %s.", secret_prefix);
}

char *proof_secret_new(struct arena *arena, const struct integration_provider *provider)
{
    unsigned char bytes[NEW_SECRET_BYTES];
    random_bytes(bytes, sizeof(bytes));
    char *text = provider->scheme == INTEGRATION_STANDARD
                     ? arena_printf(arena, "%s%s", secret_prefix, base64_encode(arena, bytes, sizeof(bytes)))
                     : base64url_encode(arena, bytes, sizeof(bytes));
    secret_wipe(bytes, sizeof(bytes));
    return text;
}

/* ---- Signatures ---- */

/* Compares a signature with the expected one in a time that does not depend on their contents. */
static bool is_mac(const char *given, size_t size, const char *expected)
{
    return size == strlen(expected) && verify_equal(given, expected, size);
}

/* The bytes of HEAD.BODY. */
static struct bytes joined(struct arena *arena, const char *head, struct bytes body)
{
    size_t head_size = strlen(head);
    unsigned char *bytes = arena_alloc(arena, head_size + 1 + body.size);
    memcpy(bytes, head, head_size);
    bytes[head_size] = '.';
    memcpy(bytes + head_size + 1, body.data, body.size);
    return (struct bytes){ bytes, head_size + 1 + body.size };
}

static const char *base64_mac(struct arena *arena, struct bytes key, struct bytes message)
{
    unsigned char mac[VERIFY_HMAC_BYTES];
    verify_hmac_sha256(key, message, mac);
    return base64_encode(arena, mac, sizeof(mac));
}

static const char *hex_mac(struct arena *arena, struct bytes key, struct bytes message)
{
    unsigned char mac[VERIFY_HMAC_BYTES];
    char *hex = arena_alloc(arena, 2 * sizeof(mac) + 1);
    verify_hmac_sha256(key, message, mac);
    hex_encode(mac, sizeof(mac), hex);
    return hex;
}

/* Looks for `expected` behind `label` among the items of a list. */
static bool list_has_mac(const char *list, const char *separators, const char *label, const char *expected)
{
    bool found = false;
    const char *at = list;
    for (int i = 0; i < PROOF_SIGNATURES_MAX && *at != '\0'; i++) {
        at += strspn(at, separators);
        size_t size = strcspn(at, separators);
        size_t skip = strlen(label);
        if (size > skip && strncmp(at, label, skip) == 0)
            found |= is_mac(at + skip, size - skip, expected);
        at += size;
    }
    return found;
}

static bool check_time(const char *stamp, int64_t unit_us, int64_t now_us, struct error *err)
{
    int64_t count;
    int64_t tolerance_us = PROOF_TOLERANCE_S * US_PER_S;
    bool is_near = int64_parse(stamp, &count) && count >= 0 && count <= INT64_MAX / unit_us &&
                   count * unit_us >= now_us - tolerance_us && count * unit_us <= now_us + tolerance_us;
    return is_near || fail(err, ERR_INVALID_REQUEST, "timestamp",
                           "The event was signed more than %d minutes ago, or in the future.", PROOF_TOLERANCE_S / 60);
}

/* ---- Schemes ---- */

static bool check_standard(struct arena *arena, const struct proof_request *request, struct bytes key, int64_t now_us,
                           const char **ret_signed_id, struct error *err)
{
    const struct integration_provider *provider = request->provider;
    for (size_t i = 0; i + STANDARD_HEADERS <= provider->signature_headers; i += STANDARD_HEADERS) {
        const char *id = proof_header(request, provider->headers[i]);
        const char *stamp = proof_header(request, provider->headers[i + 1]);
        const char *signatures = proof_header(request, provider->headers[i + 2]);
        if (id == NULL || stamp == NULL || signatures == NULL)
            continue;
        struct bytes message = joined(arena, arena_printf(arena, "%s.%s", id, stamp), request->body);
        if (!list_has_mac(signatures, " ", "v1,", base64_mac(arena, key, message)))
            return refuse_proof(err, "The signature is not of this body and the secret of the connection.");
        *ret_signed_id = id;
        return check_time(stamp, provider->stamp_us, now_us, err);
    }
    return refuse_proof(err, "The event has no id, time and signature in its headers.");
}

/* The value of t= in t=TIME,v1=HEX; NULL: there is none. */
static const char *stamp_of(struct arena *arena, const char *header)
{
    static const char separators[] = ", ";
    for (const char *at = header; *at != '\0';) {
        at += strspn(at, separators);
        size_t size = strcspn(at, separators);
        if (size > 2 && strncmp(at, "t=", 2) == 0)
            return arena_dup_bytes(arena, at + 2, size - 2);
        at += size;
    }
    return NULL;
}

static bool check_stamped(struct arena *arena, const struct proof_request *request, struct bytes key, int64_t now_us,
                          struct error *err)
{
    const char *header = proof_header(request, request->provider->headers[0]);
    const char *stamp = header != NULL ? stamp_of(arena, header) : NULL;
    if (stamp == NULL)
        return refuse_proof(err, "The event has no time and signature in its header.");
    if (!list_has_mac(header, ", ", "v1=", hex_mac(arena, key, joined(arena, stamp, request->body))))
        return refuse_proof(err, "The signature is not of this body and the secret of the connection.");
    return check_time(stamp, request->provider->stamp_us, now_us, err);
}

static bool check_body(struct arena *arena, const struct proof_request *request, struct bytes key, struct error *err)
{
    const char *given = proof_header(request, request->provider->headers[0]);
    return (given != NULL && is_mac(given, strlen(given), base64_mac(arena, key, request->body))) ||
           refuse_proof(err, "The signature is not of this body and the secret of the connection.");
}

/* The hashes are compared, so that the length of the secret does not show. */
static bool check_shared(const struct proof_request *request, const char *secret, struct error *err)
{
    static const char bearer[] = "Bearer ";
    const char *given = proof_header(request, request->provider->headers[0]);
    unsigned char given_hash[SECRET_HASH_BYTES];
    unsigned char hash[SECRET_HASH_BYTES];
    if (given != NULL && strncasecmp(given, bearer, strlen(bearer)) == 0)
        given += strlen(bearer);
    secret_hash(given != NULL ? given : "", given_hash);
    secret_hash(secret, hash);
    return verify_equal(given_hash, hash, sizeof(hash)) ||
           refuse_proof(err, "The event does not have the secret of the connection.");
}

bool proof_check(struct arena *arena, const struct proof_request *request, const char *secret, int64_t now_us,
                 const char **ret_signed_id, struct error *err)
{
    struct bytes key = signing_key(arena, request->provider, secret);
    *ret_signed_id = NULL;
    switch (request->provider->scheme) {
    case INTEGRATION_STANDARD:
        return check_standard(arena, request, key, now_us, ret_signed_id, err);
    case INTEGRATION_STAMPED:
        return check_stamped(arena, request, key, now_us, err);
    case INTEGRATION_BODY:
        return check_body(arena, request, key, err);
    case INTEGRATION_SHARED:
        break;
    }
    return check_shared(request, secret, err);
}
