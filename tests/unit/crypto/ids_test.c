/* Ids on the wire: one permutation for each kind; ids of other keys and other kinds are refused. */
#include "crypto/ids.h"
#include "crypto/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct id_codec codec;
static struct id_codec other;

static int begin(void **state)
{
    (void)state;
    static const unsigned char key[ID_KEY_BYTES] = "0123456789abcdef";
    static const unsigned char other_key[ID_KEY_BYTES] = "0123456789abcdeg";
    crypto_start();
    id_codec_init(&codec, key);
    id_codec_init(&other, other_key);
    return 0;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* an encoded id decodes to the same number. */
static void test_every_kind_comes_back(void **state)
{
    (void)state;
    static const int64_t ids[] = { 1, 2, 3, 255, 65536, INT64_C(1) << 32, (INT64_C(1) << 32) + 1, INT64_C(1) << 62, INT64_MAX };
    for (int kind = ID_NONE + 1; kind < ID_KIND_COUNT; kind++) {
        for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
            char text[ID_MAX_CHARS];
            id_encode(&codec, (enum id_kind)kind, ids[i], text);
            assert_int_equal(strlen(text), 17);
            assert_int_equal(text[3], '_');
            assert_int_equal(strspn(text + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 13);
            assert_int_equal(id_decode(&codec, (enum id_kind)kind, text), ids[i]);
        }
    }
}

static void test_prefixes_differ(void **state)
{
    (void)state;
    char prefixes[ID_KIND_COUNT][ID_MAX_CHARS];
    for (int kind = ID_NONE + 1; kind < ID_KIND_COUNT; kind++)
        id_encode(&codec, (enum id_kind)kind, 1, prefixes[kind]);
    for (int kind = ID_NONE + 1; kind < ID_KIND_COUNT; kind++)
        for (int earlier = ID_NONE + 1; earlier < kind; earlier++)
            assert_int_not_equal(strncmp(prefixes[kind], prefixes[earlier], 4), 0);
    char text[ID_MAX_CHARS];
    id_encode(&codec, ID_EMAIL, 1, text);
    assert_memory_equal(text, "eml_", 4);
}

/* No two rows share an id, and neighbours do not look it. */
static void test_ids_are_a_permutation(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    char(*texts)[ID_MAX_CHARS] = calloc(COUNT, ID_MAX_CHARS);
    assert_non_null(texts);
    size_t alike = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        id_encode(&codec, ID_CONTACT, i + 1, texts[i]);
        alike += i > 0 && strncmp(texts[i], texts[i - 1], 8) == 0;
    }
    assert_true(alike < 5);
    qsort(texts, COUNT, ID_MAX_CHARS, compare_texts);
    for (int i = 1; i < COUNT; i++)
        assert_string_not_equal(texts[i], texts[i - 1]);
    free(texts);
}

static void test_kinds_do_not_mix(void **state)
{
    (void)state;
    char contact[ID_MAX_CHARS];
    char email[ID_MAX_CHARS];
    id_encode(&codec, ID_CONTACT, 7, contact);
    id_encode(&codec, ID_EMAIL, 7, email);
    assert_string_not_equal(contact + 4, email + 4);
    assert_int_equal(id_decode(&codec, ID_EMAIL, contact), 0);
    /* The digits of one kind under the prefix of another name another row. */
    memcpy(contact, "eml_", 4);
    assert_int_not_equal(id_decode(&codec, ID_EMAIL, contact), 7);
}

static void test_other_keys_name_other_rows(void **state)
{
    (void)state;
    for (int64_t id = 1; id <= 2000; id++) {
        char text[ID_MAX_CHARS];
        id_encode(&codec, ID_SEND, id, text);
        int64_t foreign = id_decode(&other, ID_SEND, text);
        /* A number that no table reaches. */
        assert_true(foreign == 0 || foreign > INT64_C(1) << 32);
        assert_true(id_has_form(ID_SEND, text));
        assert_false(id_has_form(ID_EMAIL, text));
    }
}

static void test_malformed_ids(void **state)
{
    (void)state;
    char text[ID_MAX_CHARS];
    id_encode(&codec, ID_SEND, 5, text);
    char longer[ID_MAX_CHARS + 1];
    memcpy(longer, text, 17);
    memcpy(longer + 17, "0", 2);
    assert_int_equal(id_decode(&codec, ID_SEND, longer), 0);
    for (size_t cut = 0; cut < 17; cut++) {
        memcpy(longer, text, 17);
        longer[cut] = '\0';
        assert_int_equal(id_decode(&codec, ID_SEND, longer), 0);
    }
    static const char *const malformed[] = { "",
                                             "snd",
                                             "snd_",
                                             "_",
                                             "send_0000000000000",
                                             "snd-0000000000000",
                                             "SND_0000000000000",
                                             "5",
                                             "snd_ 000000000000",
                                             "snd_zzzzzzzzzzzzz",
                                             "\xc3\xa9" };
    for (size_t i = 0; i < ARRAY_COUNT(malformed); i++)
        assert_true(id_decode(&codec, ID_SEND, malformed[i]) == 0 && !id_has_form(ID_SEND, malformed[i]));
    /* One digit changed names another row. */
    for (size_t i = 4; i < 17; i++) {
        memcpy(longer, text, 18);
        longer[i] = text[i] == '0' ? '1' : '0';
        assert_int_not_equal(id_decode(&codec, ID_SEND, longer), 5);
    }
}

/* Numbers that are no keys are never given out by decoding. */
static void test_only_positive_numbers(void **state)
{
    (void)state;
    char text[ID_MAX_CHARS];
    id_encode(&codec, ID_ORG, 0, text);
    assert_int_equal(id_decode(&codec, ID_ORG, text), 0);
    id_encode(&codec, ID_ORG, -5, text);
    assert_int_equal(id_decode(&codec, ID_ORG, text), 0);
    id_encode(&codec, ID_ORG, INT64_MIN, text);
    assert_int_equal(id_decode(&codec, ID_ORG, text), 0);
    ARENA_SCOPE arena = arena_new(0);
    id_encode(&codec, ID_ORG, 9, text);
    assert_string_equal(id_text(&codec, arena, ID_ORG, 9), text);
}

/* The same key and row have had the same id in every version: links and clients keep them. */
static void test_ids_are_stable(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_string_equal(id_text(&codec, arena, ID_ORG, 1), "org_a1n1j7h2bpftr");
    assert_string_equal(id_text(&codec, arena, ID_CONTACT, 123456789), "con_ex3hd4rj566y6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_back),      cmocka_unit_test(test_prefixes_differ),
        cmocka_unit_test(test_ids_are_a_permutation),      cmocka_unit_test(test_kinds_do_not_mix),
        cmocka_unit_test(test_other_keys_name_other_rows), cmocka_unit_test(test_malformed_ids),
        cmocka_unit_test(test_only_positive_numbers),      cmocka_unit_test(test_ids_are_stable),
    };
    return cmocka_run_group_tests_name("crypto: ids", tests, begin, NULL);
}
