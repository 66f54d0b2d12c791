/*
 * Signs messages for dkim_verifiers.mjs with a fresh RSA and a fresh Ed25519 key: JSON lines in, JSON lines out.
 *
 *     {"message": "…", "timeUs"} → {"signatures": "…"} or {"error": "…"}
 *     {} → {"domain": "…", "keys": [{"selector", "algorithm", "public"}, …]}
 *
 * With the arguments "speed SECONDS" it tells instead, as JSON, how many messages of 10 KB a second of processor time signs.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "crypto/sign.h"
#include "mail/dkim.h"
#include "mail/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LINE_BYTES = 16 * 1024 * 1024, SIGNATURES_MAX_BYTES = 64 * 1024, SPEED_BODY_LINES = 135 };

static const char domain[] = "example.com";

static const struct kind {
    enum sign_algorithm signs;
    enum dkim_algorithm algorithm;
    const char *name;
    const char *selector;
} kinds[] = {
    { SIGN_RSA_SHA256, DKIM_RSA_SHA256, "rsa", "ph1r" },
    { SIGN_ED25519, DKIM_ED25519_SHA256, "ed25519", "ph1e" },
};

static bool make_key(struct arena *arena, const struct kind *kind, struct dkim_key **ret_key, struct bytes *ret_public,
                     struct error *err)
{
    struct sign_key *key;
    struct bytes private_key;
    return sign_key_generate(arena, kind->signs, &key, err) && sign_key_private(arena, key, &private_key, err) &&
           sign_key_public(arena, key, ret_public, err) &&
           dkim_key_new(arena, kind->algorithm, domain, kind->selector, private_key, ret_key, err);
}

/* Makes the keys, and writes the line that names them. */
static bool make_keys(struct arena *arena, struct dkim_key *ret_keys[ARRAY_COUNT(kinds)], struct buf *line, struct error *err)
{
    struct json_writer json;
    json_writer_init(&json, line);
    json_object_begin(&json);
    json_member_text(&json, "domain", domain);
    json_key(&json, "keys");
    json_array_begin(&json);
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        struct bytes public_key;
        if (!make_key(arena, &kinds[i], &ret_keys[i], &public_key, err))
            return false;
        json_object_begin(&json);
        json_member_text(&json, "selector", kinds[i].selector);
        json_member_text(&json, "algorithm", kinds[i].name);
        json_member_text(&json, "public", base64_encode(arena, public_key.data, public_key.size));
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    return true;
}

/* ---- Signing ---- */

static void answer(struct dkim_signer *signer, const char *keys, const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const json_t *request = NULL;
    struct buf *signatures = buf_in_arena(arena, (size_t)SIGNATURES_MAX_BYTES);
    struct buf *reply = buf_in_arena(arena, (size_t)SIGNATURES_MAX_BYTES * 2);
    const struct json_bounds bounds = { .max_bytes = MAX_LINE_BYTES };
    bool done = json_read(arena, line, size, bounds, &request, &err);
    const json_t *message = done ? json_object_get(request, "message") : NULL;
    if (done && message == NULL) {
        puts(keys);
        return;
    }
    if (done) {
        struct bytes bytes = { (const unsigned char *)json_string_value(message), json_string_length(message) };
        done = dkim_sign(signer, bytes, json_get_int(request, "timeUs", 0), signatures, &err);
    }
    struct json_writer json;
    json_writer_init(&json, reply);
    json_object_begin(&json);
    json_member_text(&json, done ? "signatures" : "error", done ? buf_text(signatures) : err.message);
    json_object_end(&json);
    puts(buf_text(reply));
}

static void answer_lines(struct dkim_signer *signer, const char *keys)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size = getline(&line, &capacity, stdin); size > 0; size = getline(&line, &capacity, stdin)) {
        answer(signer, keys, line, (size_t)size);
        fflush(stdout);
    }
    free(line);
}

/* ---- Speed ---- */

/* Processor time, as `openssl speed` takes it. */
static int64_t processor_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

/* 10 KB as the composer writes it: a header like that of a campaign, and lines of which every third is indented. */
static struct bytes letter(struct arena *arena)
{
    struct buf *message = buf_in_arena(arena, (size_t)MESSAGE_MAX_BYTES);
    buf_add_text(message, "Date: Sat, 21 Nov 2026 09:30:00 +0000\r\nFrom: Example News <news@example.com>\r\n"
                          "Reply-To: help@example.com\r\nMIME-Version: 1.0\r\nFeedback-ID: snd1:brd1:marketing:posthorn\r\n"
                          "List-Id: <brd1.example.com>\r\nPrecedence: bulk\r\nTo: Bob Builder <bob@example.org>\r\n"
                          "Subject: What is new this week, and what comes next\r\nMessage-ID: <t1.abcdefghijklm@example.com>\r\n"
                          "List-Unsubscribe: <https://mail.example.com/u/abcdefghijklmnopqrstuvwxyz0123456789>,\r\n"
                          " <mailto:u+abcdefghijklmnopqrstuvwxyz@example.com?subject=unsubscribe>\r\n"
                          "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
                          "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n");
    for (int i = 0; i < SPEED_BODY_LINES; i++)
        buf_printf(message, "%s<p style=3D\"margin:0\">Line %03d of a letter with words that are read=\r\n",
                   i % 3 == 0 ? "    " : "", i);
    return (struct bytes){ (const unsigned char *)message->data, message->size };
}

static double messages_per_second(struct arena *arena, struct dkim_key *const *keys, size_t count, double seconds)
{
    struct error err = { .code = ERR_NONE };
    struct dkim_signer *signer = dkim_signer_new(arena, (struct dkim_key_list){ keys, count });
    struct buf *out = buf_in_arena(arena, (size_t)SIGNATURES_MAX_BYTES);
    struct bytes message = letter(arena);
    int64_t start_us = processor_us();
    int64_t end_us = start_us + (int64_t)(seconds * (double)US_PER_S);
    int64_t signed_count = 0;
    int64_t now_us = start_us;
    while (now_us < end_us) {
        for (int i = 0; i < 10; i++)
            if (!dkim_sign(signer, message, now_us, out, &err))
                return 0;
        signed_count += 10;
        now_us = processor_us();
    }
    return (double)signed_count * (double)US_PER_S / (double)(now_us - start_us);
}

/* What a range of recipients costs before its first signature: opening both keys, and a signer. */
static double signers_per_second(struct arena *arena, double seconds)
{
    struct bytes private_keys[ARRAY_COUNT(kinds)];
    struct error err = { .code = ERR_NONE };
    struct sign_key *key;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (!sign_key_generate(arena, kinds[i].signs, &key, &err) || !sign_key_private(arena, key, &private_keys[i], &err))
            return 0;
    struct bytes message = letter(arena);
    int64_t start_us = processor_us();
    int64_t end_us = start_us + (int64_t)(seconds * (double)US_PER_S);
    int64_t count = 0;
    for (; processor_us() < end_us; count++) {
        ARENA_SCOPE range = arena_new(0);
        struct dkim_key *keys[ARRAY_COUNT(kinds)];
        for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
            if (!dkim_key_new(range, kinds[i].algorithm, domain, kinds[i].selector, private_keys[i], &keys[i], &err))
                return 0;
        struct buf *out = buf_in_arena(range, (size_t)SIGNATURES_MAX_BYTES);
        if (!dkim_sign(dkim_signer_new(range, (struct dkim_key_list){ keys, ARRAY_COUNT(kinds) }), message, start_us, out, &err))
            return 0;
    }
    return (double)count * (double)US_PER_S / (double)(processor_us() - start_us);
}

static void measure(struct arena *arena, struct dkim_key *const *keys, double seconds)
{
    printf("{\"messageBytes\":%zu,\"rsaPerS\":%.0f,\"ed25519PerS\":%.0f,\"bothPerS\":%.0f,\"noKeyPerS\":%.0f,\"firstOfRangePerS\":%"
           ".0f}\n",
           letter(arena).size, messages_per_second(arena, keys, 1, seconds), messages_per_second(arena, keys + 1, 1, seconds),
           messages_per_second(arena, keys, 2, seconds), messages_per_second(arena, keys, 0, seconds / 10),
           signers_per_second(arena, seconds));
}

int main(int argc, char **argv)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct dkim_key *keys[ARRAY_COUNT(kinds)];
    struct buf *line = buf_in_arena(arena, (size_t)SIGNATURES_MAX_BYTES);
    crypto_start();
    if (!make_keys(arena, keys, line, &err)) {
        fprintf(stderr, "%s %s\n", err.message, err.cause);
        return 1;
    }
    if (argc == 3 && strcmp(argv[1], "speed") == 0) {
        measure(arena, keys, strtod(argv[2], NULL));
        return 0;
    }
    answer_lines(dkim_signer_new(arena, (struct dkim_key_list){ keys, ARRAY_COUNT(keys) }), buf_text(line));
    return 0;
}
