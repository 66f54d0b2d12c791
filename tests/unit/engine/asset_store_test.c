/*
 * Asset store: file names stay inside the folder, files are complete or absent, equal
 * bytes are stored once; and the rows of assets.
 */
#include "engine/assets/assets.h"

#include "fixtures/temp_folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { THREADS = 8, ROUNDS = 20 };

struct bench {
    char folder[64];
    struct asset_store *store;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    snprintf(bench->folder, sizeof(bench->folder), "/tmp/assets_test.XXXXXX");
    make_folder(bench->folder);
    bench->store = asset_folder_new(bench->folder);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    asset_store_free(bench->store);
    remove_folder(bench->folder);
    free(bench);
    return 0;
}

static struct asset_name name_for(const char *bytes, enum asset_type type)
{
    unsigned char hash[SECRET_HASH_BYTES];
    sha256(bytes, strlen(bytes), hash);
    return asset_name_of(hash, type);
}

static bool exists(struct bench *bench, const struct asset_name *name)
{
    struct error err = { .code = ERR_NONE };
    bool found = true;
    assert_ok(asset_exists(bench->store, name, &found, &err), &err);
    return found;
}

/* The number of files below `folder`, with any name. */
static int files_below(const char *folder)
{
    char command[160];
    snprintf(command, sizeof(command), "find %s -type f | wc -l", folder);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* ---- Names ---- */

static void test_names(void **state)
{
    (void)state;
    struct asset_name name = name_for("hello", ASSET_WEBP);
    struct asset_name read;
    enum asset_type type;
    assert_int_equal(strlen(name.text), 52 + 5);
    assert_true(asset_name_read(name.text, &read, &type));
    assert_string_equal(read.text, name.text);
    assert_int_equal(type, ASSET_WEBP);
    assert_string_not_equal(name.text, name_for("hellp", ASSET_WEBP).text);
}

static void test_other_texts_are_no_names(void **state)
{
    (void)state;
    struct asset_name read;
    enum asset_type type;
    char long_text[5000];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    char digits[] = "0000000000000000000000000000000000000000000000000000.png";
    assert_true(asset_name_read(digits, &read, &type));
    const char *const others[] = {
        "",
        ".",
        "..",
        ".png",
        "../../etc/passwd",
        "tmp",
        "tmp/x.png",
        long_text,
        "000000000000000000000000000000000000000000000000000.png",   /* a digit too few */
        "00000000000000000000000000000000000000000000000000000.png", /* one too many */
        "0000000000000000000000000000000000000000000000000000.svg",
        "0000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000.",
        "0000000000000000000000000000000000000000000000000000.png.png",
        "0000000000000000000000000000000000000000000000000000.PNG",
        "0/00000000000000000000000000000000000000000000000000.png",
        "..00000000000000000000000000000000000000000000000000.png",
        "A000000000000000000000000000000000000000000000000000.png",
        "z000000000000000000000000000000000000000000000000000.png", /* more than 64 bits */
    };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        if (asset_name_read(others[i], &read, &type))
            fail_msg("%s passes for a name", others[i]);
}

/* ---- Files ---- */

static void test_stores_and_reads(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    struct asset_name name = name_for("pixels", ASSET_PNG);
    struct asset_file file;
    bool found = true;
    /* Looking makes nothing. */
    assert_ok(asset_open(bench->store, &name, &file, &found, &err), &err);
    assert_false(found);
    assert_false(exists(bench, &name));
    assert_int_equal(files_below(bench->folder), 0);

    assert_ok(asset_put(bench->store, &name, "pixels", 6, &err), &err);
    assert_ok(asset_put(bench->store, &name, "pixels", 6, &err), &err);
    assert_int_equal(files_below(bench->folder), 1);
    assert_ok(asset_open(bench->store, &name, &file, &found, &err), &err);
    assert_true(found);
    assert_int_equal(file.bytes, 6);
    char read_back[8] = "";
    assert_int_equal(read(file.fd, read_back, sizeof(read_back)), 6);
    assert_string_equal(read_back, "pixels");
    close(file.fd);
}

/* What was stored or stored again since the time stays: somebody may be about to refer to it. */
static void test_removing_spares_what_is_stored_again(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    struct asset_name name = name_for("pixels", ASSET_PNG);
    const int64_t hour_ago = time(NULL) - 3600;
    const struct timespec long_ago[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
    char path[160];
    bool removed = false;
    snprintf(path, sizeof(path), "%s/assets/%.2s/%s", bench->folder, name.text, name.text + 2);
    assert_ok(asset_remove(bench->store, &name, hour_ago, &removed, &err), &err);
    assert_true(removed); /* a missing one */
    assert_ok(asset_put(bench->store, &name, "pixels", 6, &err), &err);
    assert_ok(asset_remove(bench->store, &name, hour_ago, &removed, &err), &err);
    assert_false(removed);
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_ok(asset_put(bench->store, &name, "pixels", 6, &err), &err);
    assert_ok(asset_remove(bench->store, &name, hour_ago, &removed, &err), &err);
    assert_false(removed);
    assert_true(exists(bench, &name));
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_ok(asset_remove(bench->store, &name, hour_ago, &removed, &err), &err);
    assert_true(removed);
    assert_false(exists(bench, &name));
    assert_ok(asset_remove(bench->store, &name, hour_ago, &removed, &err), &err);
    assert_true(removed);
}

/* The type is a part of the name: bytes are not served as what they are not. */
static void test_another_type_is_another_name(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    struct asset_name png = name_for("pixels", ASSET_PNG);
    struct asset_name gif = name_for("pixels", ASSET_GIF);
    assert_ok(asset_put(bench->store, &png, "pixels", 6, &err), &err);
    assert_false(exists(bench, &gif));
}

static void test_what_is_no_file_is_not_found(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    struct asset_name name = name_for("pixels", ASSET_PNG);
    struct asset_name other = name_for("secret", ASSET_PNG);
    char path[160];
    assert_ok(asset_put(bench->store, &name, "pixels", 6, &err), &err);
    snprintf(path, sizeof(path), "%s/assets/%.2s", bench->folder, other.text);
    assert_true(mkdir(path, 0700) == 0 || access(path, F_OK) == 0);
    snprintf(path, sizeof(path), "%s/assets/%.2s/%s", bench->folder, other.text, other.text + 2);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_false(exists(bench, &other));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(exists(bench, &other));
}

static void test_a_full_disk_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    struct asset_name name = name_for("pixels", ASSET_PNG);
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit tight = { .rlim_cur = 3, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    bool done = asset_put(bench->store, &name, "pixels", 6, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(done);
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_false(exists(bench, &name));
    assert_int_equal(files_below(bench->folder), 0);
}

/* Writers are killed repeatedly. Every file found afterwards is complete, and the temporary files are removed later. */
static void test_killed_writers_leave_no_half_file(void **state)
{
    struct bench *bench = *state;
    struct error err = { .code = ERR_NONE };
    enum { SIZE = 2 * 1024 * 1024 };
    char *bytes = malloc(SIZE);
    unsigned char hash[SECRET_HASH_BYTES];
    for (int i = 0; i < ROUNDS; i++) {
        memset(bytes, 'a' + i, SIZE);
        sha256(bytes, SIZE, hash);
        struct asset_name name = asset_name_of(hash, ASSET_PNG);
        pid_t pid = fork();
        if (pid == 0) {
            (void)!asset_put(bench->store, &name, bytes, SIZE, &err);
            _exit(0);
        }
        usleep((useconds_t)(i * 150));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct asset_file file;
        bool found = false;
        assert_ok(asset_open(bench->store, &name, &file, &found, &err), &err);
        if (found) {
            assert_int_equal(file.bytes, SIZE);
            close(file.fd);
        }
    }
    /* The next process that stores a file removes an old temporary file. A recent one may belong to a running writer. */
    char old[160];
    char young[160];
    snprintf(old, sizeof(old), "%s/assets/tmp/old", bench->folder);
    snprintf(young, sizeof(young), "%s/assets/tmp/young", bench->folder);
    close(open(old, O_CREAT | O_WRONLY, 0600));
    close(open(young, O_CREAT | O_WRONLY, 0600));
    const struct timespec long_ago[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
    assert_int_equal(utimensat(AT_FDCWD, old, long_ago, 0), 0);
    struct asset_store *next = asset_folder_new(bench->folder);
    struct asset_name name = name_for("next", ASSET_PNG);
    assert_ok(asset_put(next, &name, "next", 4, &err), &err);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    asset_store_free(next);
    free(bytes);
}

static void *put_many(void *data)
{
    struct bench *bench = data;
    struct error err = { .code = ERR_NONE };
    for (int i = 0; i < ROUNDS; i++) {
        char bytes[16];
        int size = snprintf(bytes, sizeof(bytes), "image %d", i);
        struct asset_name name = name_for(bytes, ASSET_JPEG);
        if (!asset_put(bench->store, &name, bytes, (size_t)size, &err))
            return bench;
    }
    return NULL;
}

static void test_threads_store_the_same(void **state)
{
    struct bench *bench = *state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, bench), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(files_below(bench->folder), ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_other_texts_are_no_names),
        cmocka_unit_test_setup_teardown(test_stores_and_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removing_spares_what_is_stored_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_type_is_another_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_file_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_disk_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_writers_leave_no_half_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_store_the_same, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
