/* Sending domains: their keys, the DNS records that publish them, and the replacement of both. */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "crypto/key_file.h"
#include "crypto/sign.h"
#include "engine/domains/domains.h"
#include "engine/domains/records.h"
#include "engine/domains/signing.h"
#include "engine/operator/operator.h"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <sys/stat.h>

static const char message[] = "From: a@example.com\r\nSubject: Hi\r\n\r\nHello\r\n";

static int64_t create(const char *name)
{
    struct error err;
    int64_t id;
    assert_ok(operator_create_domain(&work, work.brand_id, work.organization_id, name, "marketing", &id, &err), &err);
    return id;
}

/* A domain as it was connected before there were keys. */
static int64_t create_without_keys(const char *name)
{
    int64_t id = create(name);
    run_sql("delete from domain_keys where domain_id = %lld", (long long)id);
    return id;
}

static struct dkim_key_list signing_keys(int64_t domain_id)
{
    struct error err;
    struct dkim_key_list keys;
    assert_ok(domain_signing_keys(&work, domain_id, arena, &keys, &err), &err);
    return keys;
}

static const char *sign_with(struct dkim_key_list keys)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 65536);
    struct bytes bytes = { (const unsigned char *)message, strlen(message) };
    assert_ok(dkim_sign(dkim_signer_new(arena, keys), bytes, 0, out, &err), &err);
    return buf_text(out);
}

static struct domain_records records_of(int64_t domain_id, const char *name)
{
    struct error err;
    struct domain_row *domain;
    assert_ok(domain_get(&work, domain_id, &domain, &err), &err);
    assert_string_equal(domain->name, name);
    return domain_records_of(arena, domain);
}

static const struct domain_record *key_record(struct domain_records records, const char *kind)
{
    const char *begin = arena_printf(arena, "v=DKIM1; k=%s; p=", kind);
    for (size_t i = 0; i < records.count; i++)
        if (text_starts_with(records.items[i].value, begin))
            return &records.items[i];
    fail_msg("no record of a key of %s", kind);
    return NULL;
}

static const char *command_output(const char *name)
{
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, (size_t)1024 * 1024);
    json_writer_init(&json, out);
    assert_ok(operator_write_domain(&work, work.brand_id, name, &json, &err), &err);
    return buf_text(out);
}

static void remove_key_file(void)
{
    unlink(work.engine->key_file);
    run_sql("delete from sealing_keys");
}

/* ---- Keys ---- */

static void test_a_new_domain_has_two_keys(void **state)
{
    (void)state;
    struct stat info;
    remove_key_file();
    int64_t id = create("example.com");
    assert_int_equal(number_of("select count(*) from domain_keys where used_from is not null and retired_at is null"), 2);
    assert_int_equal(number_of("select count(distinct algorithm) from domain_keys"), 2);
    /* A 2048-bit private key in PKCS#8 and a seed, and what sealing adds to each. */
    assert_true(number_of("select min(length(sealed_key))::bigint from domain_keys where algorithm = 'rsa-sha256'") > 1200);
    assert_int_equal(number_of("select min(length(sealed_key))::bigint from domain_keys where algorithm = 'ed25519-sha256'"),
                     32 + SEAL_OVERHEAD_BYTES);
    assert_int_equal(stat(work.engine->key_file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_string_equal(work.engine->key_file, arena_printf(arena, "%s/master.key", folder));

    const char *fields = sign_with(signing_keys(id));
    const char *rsa = strstr(fields, "a=rsa-sha256");
    const char *ed25519 = strstr(fields, "a=ed25519-sha256");
    assert_true(rsa != NULL && ed25519 != NULL && rsa < ed25519);
    assert_non_null(strstr(fields, "d=example.com"));
}

/* The published record verifies the signature. */
static void test_records_hold_the_public_keys(void **state)
{
    (void)state;
    int64_t id = create("B\xc3\xbc"
                        "cher.example");
    struct domain_records records = records_of(id, "xn--bcher-kva.example");
    const struct domain_record *rsa = key_record(records, "rsa");
    const struct domain_record *ed25519 = key_record(records, "ed25519");
    assert_string_equal(rsa->type, "TXT");
    assert_int_equal(rsa->state, DOMAIN_RECORD_USED);
    const char *selector = arena_dup_bytes(arena, rsa->name, strcspn(rsa->name, "."));
    assert_string_equal(rsa->name, arena_printf(arena, "%s._domainkey.xn--bcher-kva.example", selector));
    assert_non_null(strstr(sign_with(signing_keys(id)), arena_printf(arena, "d=xn--bcher-kva.example; s=%s;", selector)));

    size_t size;
    const unsigned char *der = base64_decode(arena, strstr(rsa->value, "p=") + 2, &size);
    assert_non_null(der);
    EVP_PKEY *pkey = d2i_PUBKEY(NULL, &der, (long)size);
    assert_non_null(pkey);
    assert_int_equal(EVP_PKEY_get_bits(pkey), 2048);
    EVP_PKEY_free(pkey);
    assert_non_null(base64_decode(arena, strstr(ed25519->value, "p=") + 2, &size));
    assert_int_equal(size, 32);
}

static void test_long_records_are_cut(void **state)
{
    (void)state;
    char *value = arena_alloc(arena, 600);
    static const size_t sizes[] = { 0, 1, 254, 255, 256, 510, 511 };
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        memset(value, 'a' + (int)i, sizes[i]);
        value[sizes[i]] = '\0';
        struct text_list strings = domain_txt_strings(arena, value);
        char *joined = arena_alloc(arena, 600);
        for (size_t j = 0; j < strings.count; j++) {
            assert_in_range(strlen(strings.items[j]), 1, 255);
            memcpy(joined + strlen(joined), strings.items[j], strlen(strings.items[j]) + 1);
        }
        assert_string_equal(joined, value);
        assert_int_equal(strings.count, (sizes[i] + 254) / 255);
    }
}

static void test_selectors_are_never_given_twice(void **state)
{
    (void)state;
    struct error err;
    int64_t other_brand;
    int64_t id;
    create("example.com");
    assert_ok(operator_create_brand(&work, work.organization_id, "Other", &other_brand, &err), &err);
    assert_ok(operator_create_domain(&work, other_brand, work.organization_id, "example.com", "marketing", &id, &err), &err);
    assert_int_equal(number_of("select count(distinct selector) from domain_keys"), 4);
    run_sql("delete from domains where brand_id = %lld; delete from brands where id = %lld", (long long)other_brand,
            (long long)other_brand);
}

static void test_the_sandbox_signs_with_nothing(void **state)
{
    (void)state;
    int64_t id = number_of("select min(id) from domains where kind = 'sandbox'");
    assert_int_equal(signing_keys(id).count, 0);
    assert_int_equal(signing_keys(999999).count, 0);
    assert_int_equal(number_of("select count(*) from domain_keys"), 0);
}

static void test_an_old_domain_gets_keys_at_first_need(void **state)
{
    (void)state;
    int64_t id = create_without_keys("example.com");
    assert_int_equal(signing_keys(id).count, 2);
    assert_int_equal(number_of("select count(*) from domain_keys"), 2);
    assert_int_equal(signing_keys(id).count, 2);
    assert_int_equal(number_of("select count(*) from domain_keys"), 2);

    create_without_keys("example.org");
    assert_non_null(strstr(command_output("example.org"), "_domainkey.example.org"));
    assert_int_equal(number_of("select count(*) from domain_keys"), 4);
}

static void *ensure_in_thread(void *object)
{
    struct error err = { .code = ERR_NONE };
    ARENA_SCOPE own = arena_new(0);
    DB_CONN_SCOPE other = NULL;
    struct work here = work;
    here.arena = own;
    if (!installation_connect(installation, &other, &err))
        return NULL;
    here.conn = other;
    return domain_keys_ensure(&here, *(const int64_t *)object, &err) ? object : NULL;
}

static void test_only_one_gives_keys(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int64_t id = create_without_keys("example.com");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ensure_in_thread, &id), 0);
    for (int i = 0; i < THREADS; i++) {
        void *done;
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    assert_int_equal(number_of("select count(*) from domain_keys"), 2);
}

static void test_a_key_does_not_open_elsewhere(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct dkim_key_list keys;
    int64_t first = create("example.com");
    int64_t second = create("example.org");
    run_sql("update domain_keys k set sealed_key = o.sealed_key from domain_keys o"
            " where k.domain_id = %lld and o.domain_id = %lld and k.algorithm = o.algorithm",
            (long long)second, (long long)first);
    assert_int_equal(signing_keys(first).count, 2);
    assert_false(domain_signing_keys(&work, second, arena, &keys, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

/* ---- Replacing them ---- */

static void rotate(const char *name, bool is_published)
{
    struct error err;
    assert_ok(operator_rotate_domain(&work, work.brand_id, name, is_published, &err), &err);
}

static void test_new_keys_sign_when_they_are_published(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    run_sql("delete from audit_log");
    int64_t id = create("example.com");
    const char *before = sign_with(signing_keys(id));
    assert_false(operator_rotate_domain(&work, work.brand_id, "example.com", true, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);

    rotate("Example.COM", false);
    rotate("example.com", false); /* one waiting pair is enough */
    assert_int_equal(number_of("select count(*) from domain_keys where used_from is null"), 2);
    assert_string_equal(sign_with(signing_keys(id)), before);
    struct domain_records records = records_of(id, "example.com");
    assert_int_equal(records.items[0].state, DOMAIN_RECORD_USED);
    assert_int_equal(records.items[1].state, DOMAIN_RECORD_USED);
    assert_int_equal(records.items[2].state, DOMAIN_RECORD_WAITING);
    assert_int_equal(records.items[3].state, DOMAIN_RECORD_WAITING);
    const char *next_selector = arena_dup_bytes(arena, records.items[2].name, strcspn(records.items[2].name, "."));

    rotate("example.com", true);
    const char *after = sign_with(signing_keys(id));
    assert_null(strstr(before, next_selector));
    assert_non_null(strstr(after, next_selector));
    assert_int_equal(number_of("select count(*) from domain_keys where retired_at is not null"), 2);
    assert_int_equal(records_of(id, "example.com").items[2].state, DOMAIN_RECORD_SUGGESTED);
    assert_int_equal(number_of("select count(*) from audit_log where operation like 'admin.domain.rotate%'"), 2);
}

static void test_rotating_what_has_no_keys(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    create_without_keys("example.com");
    rotate("example.com", false);
    assert_int_equal(number_of("select count(*) from domain_keys where used_from is not null"), 2);
    assert_false(operator_rotate_domain(&work, work.brand_id, "example.org", false, &err));
    assert_int_equal(err.code, ERR_DOMAIN_NOT_FOUND);
    err.code = ERR_NONE;
    assert_false(operator_rotate_domain(&work, work.brand_id, work.engine->sandbox_domain, false, &err));
    assert_int_equal(err.code, ERR_DOMAIN_NOT_FOUND);
}

/* ---- Master keys ---- */

static void test_everything_is_sealed_anew(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    int id;
    remove_key_file();
    int64_t domain_id = create("example.com");
    const char *before = sign_with(signing_keys(domain_id));
    assert_ok(operator_add_master_key(&work, &id, &err), &err);
    assert_int_equal(id, 2);
    assert_string_equal(sign_with(signing_keys(domain_id)), before);
    create("example.org"); /* sealed with the new key already */
    rotate("example.com", false);
    rotate("example.com", true);
    assert_int_equal(number_of("select count(*) from domain_keys where get_byte(sealed_key, 1) = 1"), 2);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 2); /* retired ones too */
    assert_int_equal(number_of("select count(*) from domain_keys where get_byte(sealed_key, 1) <> 2"), 0);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_int_equal(signing_keys(domain_id).count, 2);
    assert_int_equal(number_of("select count(*) from sealing_keys"), 2);
}

/* More than one transaction's worth. */
static void test_many_are_sealed_anew(void **state)
{
    (void)state;
    struct error err;
    struct domain_key_pair *pair;
    int64_t count;
    int id;
    remove_key_file();
    int64_t domain_id = create("example.com");
    assert_ok(domain_key_pair_new(arena, &pair, &err), &err);
    for (int i = 0; i < 104; i++)
        assert_ok(domain_key_pair_keep(&work, domain_id, pair, false, &err), &err);
    assert_ok(operator_add_master_key(&work, &id, &err), &err);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 2 * 105);
    assert_int_equal(number_of("select count(*) from domain_keys where get_byte(sealed_key, 1) <> 2"), 0);
}

static void assert_no_sealing(const char *cause)
{
    struct error err = { .code = ERR_NONE };
    int64_t id;
    assert_false(operator_create_domain(&work, work.brand_id, work.organization_id, "example.org", "marketing", &id, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    if (strstr(err.cause, cause) == NULL)
        fail_msg("%s instead of %s", err.cause, cause);
    assert_int_equal(number_of("select count(*) from domains where name = 'example.org'"), 0);
}

/* A lost key file is not replaced by a new one, because a new key cannot open the stored values. */
static void test_a_lost_key_file_is_asked_for(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct dkim_key_list keys;
    struct seal_ring *ring;
    remove_key_file();
    int64_t id = create("example.com");
    const char *kept = arena_printf(arena, "%s.kept", work.engine->key_file);
    assert_int_equal(rename(work.engine->key_file, kept), 0);
    assert_no_sealing("is missing");
    assert_false(domain_signing_keys(&work, id, arena, &keys, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(access(work.engine->key_file, F_OK), -1);

    /* The file of another installation: its key has the same number. */
    assert_ok(key_file_make(arena, work.engine->key_file, &ring, &err), &err);
    assert_no_sealing("is not the key");
    err.code = ERR_NONE;
    assert_false(domain_signing_keys(&work, id, arena, &keys, &err));
    assert_non_null(strstr(err.cause, "another master key 1"));

    assert_int_equal(rename(kept, work.engine->key_file), 0);
    assert_int_equal(signing_keys(id).count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_new_domain_has_two_keys),
        TEST(test_records_hold_the_public_keys),
        TEST(test_long_records_are_cut),
        TEST(test_selectors_are_never_given_twice),
        TEST(test_the_sandbox_signs_with_nothing),
        TEST(test_an_old_domain_gets_keys_at_first_need),
        TEST(test_only_one_gives_keys),
        TEST(test_a_key_does_not_open_elsewhere),
        TEST(test_new_keys_sign_when_they_are_published),
        TEST(test_rotating_what_has_no_keys),
        TEST(test_everything_is_sealed_anew),
        TEST(test_many_are_sealed_anew),
        TEST(test_a_lost_key_file_is_asked_for),
    };
    return cmocka_run_group_tests_name("engine: domains", tests, world_begin, world_end);
}
