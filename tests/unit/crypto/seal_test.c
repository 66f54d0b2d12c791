/* Sealed values, and the file with the keys. */
#include "crypto/key_file.h"
#include "crypto/keys.h"
#include "crypto/seal.h"
#include "crypto/secret.h"
#include "fixtures/temp_folder.h"

#include "base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/posthorn-test-XXXXXX";
static struct arena *arena; /* one per test */
static const char *path;    /* of the key file, gone at the beginning of a test */

static int begin(void **state)
{
    (void)state;
    crypto_start();
    make_folder(folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    path = arena_printf(arena, "%s/master.key", folder);
    unlink(path);
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

/* A ring of the keys 1 to `count`, the last of which seals. */
static struct seal_ring *ring_of(int count)
{
    struct seal_ring *ring = seal_ring_new(arena);
    for (int id = 1; id <= count; id++) {
        unsigned char key[SEAL_KEY_BYTES] = { (unsigned char)id };
        assert_true(seal_ring_add(ring, id, key));
    }
    return ring;
}

static bool opens(const struct seal_ring *ring, const char *purpose, const char *identity, struct bytes sealed)
{
    struct error err = { .code = ERR_NONE };
    struct bytes secret = { NULL, 0 };
    bool opened = seal_open(arena, ring, purpose, identity, sealed, &secret, &err);
    assert_int_equal(err.code, opened ? ERR_NONE : ERR_SERVICE_UNAVAILABLE);
    return opened;
}

/* ---- Sealing ---- */

static void test_secrets_come_back(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct bytes secret = { NULL, 0 };
    struct seal_ring *ring = ring_of(1);
    struct bytes sealed = seal(arena, ring, "purpose", "1/2", of_text("the secret"));
    assert_int_equal(sealed.size, SEAL_OVERHEAD_BYTES + 10);
    assert_int_equal(sealed.data[0], 1);
    assert_int_equal(sealed.data[1], 1);
    assert_null(memmem(sealed.data, sealed.size, "secret", 6));
    assert_true(seal_open(arena, ring, "purpose", "1/2", sealed, &secret, &err));
    assert_int_equal(secret.size, 10);
    assert_memory_equal(secret.data, "the secret", 10);

    sealed = seal(arena, ring, "purpose", "1/2", of_text(""));
    assert_true(seal_open(arena, ring, "purpose", "1/2", sealed, &secret, &err));
    assert_int_equal(secret.size, 0);
}

static void test_the_same_secret_never_looks_the_same(void **state)
{
    (void)state;
    struct seal_ring *ring = ring_of(1);
    struct bytes first = seal(arena, ring, "p", "i", of_text("secret"));
    struct bytes second = seal(arena, ring, "p", "i", of_text("secret"));
    assert_memory_not_equal(first.data + 2, second.data + 2, 24);
    assert_memory_not_equal(first.data + 26, second.data + 26, 6);
}

/* A value copied into another row, or used for something else, stays closed. */
static void test_sealed_values_stay_where_they_belong(void **state)
{
    (void)state;
    struct seal_ring *ring = ring_of(1);
    struct bytes sealed = seal(arena, ring, "domain key", "1/2/ph1r", of_text("secret"));
    assert_true(opens(ring, "domain key", "1/2/ph1r", sealed));
    assert_false(opens(ring, "domain key", "1/3/ph1r", sealed));
    assert_false(opens(ring, "domain key", "1/2/ph1e", sealed));
    assert_false(opens(ring, "provider token", "1/2/ph1r", sealed));
    /* Where the purpose ends is part of it. */
    assert_false(opens(ring, "domain key1", "/2/ph1r", sealed));
    assert_false(opens(ring, "domain key", "1/2/ph1r ", sealed));
}

static void test_tampering_is_seen(void **state)
{
    (void)state;
    struct seal_ring *ring = ring_of(2);
    struct bytes sealed = seal(arena, ring, "p", "i", of_text("a secret"));
    unsigned char *bytes = arena_alloc(arena, sealed.size);
    memcpy(bytes, sealed.data, sealed.size);
    for (size_t i = 0; i < sealed.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            assert_false(opens(ring, "p", "i", (struct bytes){ bytes, sealed.size }));
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    assert_true(opens(ring, "p", "i", (struct bytes){ bytes, sealed.size }));
    for (size_t size = 0; size < sealed.size; size++)
        assert_false(opens(ring, "p", "i", (struct bytes){ bytes, size }));
}

static void test_the_newest_key_seals_and_all_open(void **state)
{
    (void)state;
    struct bytes old = seal(arena, ring_of(1), "p", "i", of_text("old"));
    struct bytes new = seal(arena, ring_of(2), "p", "i", of_text("new"));
    assert_int_equal(old.data[1], 1);
    assert_int_equal(new.data[1], 2);
    assert_true(opens(ring_of(2), "p", "i", old));
    assert_true(opens(ring_of(2), "p", "i", new));
}

static void test_an_unknown_key_is_named(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct bytes secret = { NULL, 0 };
    struct bytes sealed = seal(arena, ring_of(7), "p", "i", of_text("secret"));
    assert_false(seal_open(arena, ring_of(3), "p", "i", sealed, &secret, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_non_null(strstr(err.cause, "master key 7"));
    /* The caller is not told. */
    assert_null(strstr(err.message, "7"));
}

static void test_rings_are_bounded(void **state)
{
    (void)state;
    static const unsigned char key[SEAL_KEY_BYTES] = { 1 };
    struct seal_ring *ring = ring_of(3);
    assert_int_equal(seal_ring_next(ring), 4);
    assert_false(seal_ring_add(ring, 2, key));
    assert_false(seal_ring_add(ring, 0, key));
    assert_false(seal_ring_add(ring, 256, key));
    assert_true(seal_ring_add(ring, 255, key));
    assert_int_equal(seal_ring_newest(ring), 255);
    assert_int_equal(seal_ring_next(ring), 0);
    ring = ring_of(SEAL_MAX_KEYS);
    assert_false(seal_ring_add(ring, 100, key));
    assert_int_equal(seal_ring_next(ring), 0);
}

static void test_fingerprints_tell_keys_apart(void **state)
{
    (void)state;
    unsigned char first[SEAL_FINGERPRINT_BYTES];
    unsigned char second[SEAL_FINGERPRINT_BYTES];
    seal_ring_fingerprint(ring_of(1), first);
    seal_ring_fingerprint(ring_of(2), second);
    assert_memory_not_equal(first, second, sizeof(first));
    seal_ring_fingerprint(ring_of(1), second);
    assert_memory_equal(first, second, sizeof(first));
}

/* ---- Memory ---- */

static const char *watched; /* memory of a secret, which is not given back yet when this is called */
static bool was_wiped;

static void look_at_the_end(void *object)
{
    (void)object;
    was_wiped = memcmp(watched, "\0\0\0\0\0\0", 6) == 0;
}

static void test_secrets_are_wiped(void **state)
{
    (void)state;
    struct arena *short_lived = arena_new(0);
    arena_defer(short_lived, look_at_the_end, NULL); /* the first that is deferred is called last */
    char *secret = secret_alloc(short_lived, 6);
    memcpy(secret, "secret", 6);
    watched = secret;
    arena_free(short_lived);
    assert_true(was_wiped);

    char on_stack[6] = { 's', 'e', 'c', 'r', 'e', 't' };
    secret_wipe(on_stack, sizeof(on_stack));
    assert_memory_equal(on_stack, "\0\0\0\0\0\0", 6);
}

/* ---- The key file ---- */

static struct seal_ring *read_file(void)
{
    struct error err = { .code = ERR_NONE };
    struct seal_ring *ring = NULL;
    if (!key_file_read(arena, path, &ring, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return ring;
}

static struct seal_ring *make_file(void)
{
    struct error err = { .code = ERR_NONE };
    struct seal_ring *ring = NULL;
    if (!key_file_make(arena, path, &ring, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return ring;
}

static void write_file(const char *text, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_a_key_file_is_made_once(void **state)
{
    (void)state;
    struct stat info;
    assert_null(read_file());
    struct seal_ring *ring = make_file();
    assert_int_equal(seal_ring_count(ring), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    struct bytes sealed = seal(arena, ring, "p", "i", of_text("secret"));
    assert_true(opens(make_file(), "p", "i", sealed));
    assert_true(opens(read_file(), "p", "i", sealed));
}

static void *make_in_thread(void *object)
{
    struct error err = { .code = ERR_NONE };
    struct arena *own = arena_new(0);
    struct seal_ring *ring = NULL;
    if (key_file_make(own, path, &ring, &err))
        seal_ring_fingerprint(ring, object);
    arena_free(own);
    return NULL;
}

static void test_all_who_make_it_at_once_get_the_same(void **state)
{
    (void)state;
    enum { THREADS = 8, ROUNDS = 20 };
    static const unsigned char nothing[SEAL_FINGERPRINT_BYTES];
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char fingerprints[THREADS][SEAL_FINGERPRINT_BYTES] = { { 0 } };
        pthread_t threads[THREADS];
        unlink(path);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, make_in_thread, fingerprints[i]), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_memory_not_equal(fingerprints[0], nothing, sizeof(nothing));
        for (int i = 1; i < THREADS; i++)
            assert_memory_equal(fingerprints[i], fingerprints[0], SEAL_FINGERPRINT_BYTES);
    }
}

static void test_keys_are_added(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct stat info;
    int id = 0;
    struct bytes old = seal(arena, make_file(), "p", "i", of_text("old"));
    assert_int_equal(chmod(path, 0640), 0);
    for (int wanted = 2; wanted <= SEAL_MAX_KEYS; wanted++) {
        assert_ok(key_file_add(arena, path, &id, &err), &err);
        assert_int_equal(id, wanted);
        assert_int_equal(seal_ring_newest(read_file()), wanted);
        assert_int_equal(seal_ring_count(read_file()), wanted);
    }
    assert_true(opens(read_file(), "p", "i", old));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_false(key_file_add(arena, path, &id, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
}

static void *add_in_thread(void *object)
{
    struct error err = { .code = ERR_NONE };
    struct arena *own = arena_new(0);
    *(bool *)object = true;
    for (int i = 0; i < 3; i++) {
        int id;
        *(bool *)object &= key_file_add(own, path, &id, &err);
    }
    arena_free(own);
    return NULL;
}

static void test_keys_added_at_once_are_all_kept(void **state)
{
    (void)state;
    enum { THREADS = 5 };
    bool done[THREADS];
    pthread_t threads[THREADS];
    make_file();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_in_thread, &done[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(done[i]);
    }
    assert_int_equal(seal_ring_count(read_file()), 1 + 3 * THREADS);
}

/* The file may be a link to where a deployment keeps its secrets: the link stays, and so does what was there. */
static void test_a_link_is_followed(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct stat info;
    int id = 0;
    const char *target = arena_printf(arena, "%s/elsewhere", folder);
    unlink(target);
    make_file();
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_ok(key_file_add(arena, path, &id, &err), &err);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(seal_ring_count(read_file()), 2);
}

static void test_there_is_nothing_to_add_to(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int id = 0;
    assert_false(key_file_add(arena, path, &id, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_int_equal(access(path, F_OK), -1);
}

#define KEY_TEXT "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static void assert_unreadable(const char *text, mode_t mode, const char *cause)
{
    struct error err = { .code = ERR_NONE };
    struct seal_ring *ring = NULL;
    write_file(text, mode);
    assert_false(key_file_read(arena, path, &ring, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    if (strstr(err.cause, cause) == NULL)
        fail_msg("%s instead of %s", err.cause, cause);
    /* Neither the caller nor the log learns the key. */
    assert_null(strstr(err.cause, "AQAA"));
    assert_null(strstr(err.message, folder));
}

static void test_files_by_hand(void **state)
{
    (void)state;
    write_file("# a comment\n\n3 " KEY_TEXT "\r\n1 " KEY_TEXT, 0600);
    struct seal_ring *ring = read_file();
    assert_int_equal(seal_ring_count(ring), 2);
    assert_int_equal(seal_ring_newest(ring), 1);
    assert_int_equal(seal_ring_next(ring), 4);
    /* A last line without its end stays a line of its own. */
    struct error err = { .code = ERR_NONE };
    int id = 0;
    assert_ok(key_file_add(arena, path, &id, &err), &err);
    assert_int_equal(id, 4);
    assert_int_equal(seal_ring_count(read_file()), 3);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    assert_unreadable("", 0600, "has no key");
    assert_unreadable("# nothing\n", 0600, "has no key");
    assert_unreadable("1 " KEY_TEXT "\n1 " KEY_TEXT "\n", 0600, "line 2");
    assert_unreadable("0 " KEY_TEXT "\n", 0600, "line 1");
    assert_unreadable("256 " KEY_TEXT "\n", 0600, "line 1");
    assert_unreadable("one " KEY_TEXT "\n", 0600, "line 1");
    assert_unreadable("1\n", 0600, "line 1");
    assert_unreadable("\n1 AQAA\n", 0600, "line 2");
    assert_unreadable("1 not base64\n", 0600, "line 1");
    assert_unreadable("1 " KEY_TEXT "\n", 0604, "can be read by everybody");
    char *long_text = arena_alloc(arena, 10001);
    memset(long_text, '#', 10000);
    assert_unreadable(long_text, 0600, "too long");
}

static void test_a_folder_that_is_not_there(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct seal_ring *ring = NULL;
    assert_false(key_file_make(arena, arena_printf(arena, "%s/none/master.key", folder), &ring, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_secrets_come_back),
        TEST(test_the_same_secret_never_looks_the_same),
        TEST(test_sealed_values_stay_where_they_belong),
        TEST(test_tampering_is_seen),
        TEST(test_the_newest_key_seals_and_all_open),
        TEST(test_an_unknown_key_is_named),
        TEST(test_rings_are_bounded),
        TEST(test_fingerprints_tell_keys_apart),
        TEST(test_secrets_are_wiped),
        TEST(test_a_key_file_is_made_once),
        TEST(test_all_who_make_it_at_once_get_the_same),
        TEST(test_keys_are_added),
        TEST(test_keys_added_at_once_are_all_kept),
        TEST(test_a_link_is_followed),
        TEST(test_there_is_nothing_to_add_to),
        TEST(test_files_by_hand),
        TEST(test_bad_files_are_refused),
        TEST(test_a_folder_that_is_not_there),
    };
    return cmocka_run_group_tests_name("crypto: sealing", tests, begin, end);
}
