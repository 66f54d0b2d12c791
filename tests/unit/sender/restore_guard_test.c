/*
 * The restore guard: when a database counts as restored, what is held then, and
 * that no kill between its writes raises an alarm.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/core/restore_holds.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/explain.h"
#include "engine/sends/sends.h"
#include "sender/generation_file.h"
#include "sender/restore_guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folders[2];
static int64_t held; /* by the last check */

static char *generation_path(size_t at)
{
    return arena_printf(arena, "%s/generation.json", folders[at]);
}

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from data_folders");
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        folders[i] = arena_printf(arena, "%s/guarded-%zu", folder, i);
        mkdir(folders[i], 0700);
        unlink(generation_path(i));
    }
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, scheduled_at, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', 1, 1, v.status, v.subject, '', 'a@b.example', 1, 'all', '', v.at, now(), now()"
        "  from (values ('running', 'running', null), ('queued', 'queued', null), ('paused', 'paused', null),"
        "               ('scheduled', 'due', now() - interval '1 hour'), ('scheduled', 'later', now() + interval '1 day'),"
        "               ('completed', 'completed', null)) v (status, subject, at)",
        (long long)work.brand_id);
    run_sql("insert into send_stats (brand_id, send_id) select brand_id, id from sends");
    return failed;
}

static enum restore_finding check(size_t at)
{
    struct error err;
    enum restore_finding finding;
    assert_ok(restore_guard_check(&work, folders[at], &finding, &held, &err), &err);
    return finding;
}

static void go_away(void)
{
    work.now_us += 2 * RESTORE_AWAY_US;
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    int source = open(from, O_RDONLY);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t size = read(source, bytes, sizeof(bytes));
    assert_true(size > 0);
    assert_int_equal(write(target, bytes, (size_t)size), size);
    close(source);
    close(target);
}

/* As a dump does it, and its restore. */
static void dump(void)
{
    run_sql("drop table if exists dumped; create table dumped as select * from data_folders");
}

static void restore(void)
{
    run_sql("delete from data_folders; insert into data_folders select * from dumped; drop table dumped");
}

/* ---- No alarm ---- */

static void test_a_new_installation_and_one_that_was_away(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    go_away();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from sends where held_at is not null"), 0);
    assert_int_equal(number_of("select generation from data_folders"), 3);
}

static void test_folders_share_a_database_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(check(1), RESTORE_NOT_FOUND);
    for (int i = 0; i < 5; i++)
        assert_int_equal(check(1), RESTORE_NOT_FOUND);
    go_away();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    go_away();
    assert_int_equal(check(1), RESTORE_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from data_folders"), 2);
}

/* Killed after the commit: the file is one behind. */
static void test_a_kill_between_the_writes(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    run_sql("update data_folders set generation = generation + 1");
    go_away();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(number_of("select generation from data_folders"), 3);
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
}

/* Killed at the first start: before the database knows the folder, and before the file has its generation. */
static void test_a_kill_at_the_first_start(void **state)
{
    (void)state;
    struct error err;
    int fd;
    struct generation_file file = { true, work.engine->name, 4711, 0 };
    assert_ok(generation_folder_lock(folders[0], &fd, &err), &err);
    assert_ok(generation_file_write(fd, &file, &err), &err);
    close(fd);
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from data_folders where folder = 4711 and generation = 1"), 1);
    assert_ok(generation_folder_lock(folders[0], &fd, &err), &err);
    assert_ok(generation_file_write(fd, &file, &err), &err);
    close(fd);
    go_away();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
}

/* A database that moves to a new machine in a few minutes. */
static void test_a_new_folder_soon_after_the_old_one(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    work.now_us += RESTORE_AWAY_US / 2;
    assert_int_equal(check(1), RESTORE_NOT_FOUND);
}

/* ---- Alarms ---- */

static void assert_open_sends_are_held(void)
{
    assert_int_equal(held, 4);
    assert_int_equal(
        number_of("select count(*) from sends where held_at is not null and subject in ('running', 'queued', 'paused', 'due')"), 4);
    assert_int_equal(number_of("select count(*) from sends where held_at is null and subject in ('later', 'completed')"), 2);
}

static void test_an_older_database_is_found_once(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    dump();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    restore();
    assert_int_equal(check(0), RESTORE_OF_DATABASE);
    assert_open_sends_are_held();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(number_of("select generation from data_folders"), 4);
}

static void test_a_database_from_before_the_folder(void **state)
{
    (void)state;
    dump();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    restore();
    assert_int_equal(check(0), RESTORE_OF_DATABASE);
    assert_open_sends_are_held();
}

/* Another folder that was not there in between cannot know; the one that was finds it. */
static void test_the_folder_that_was_there_finds_it(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(check(1), RESTORE_NOT_FOUND);
    dump();
    assert_int_equal(check(1), RESTORE_NOT_FOUND);
    restore();
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(check(1), RESTORE_OF_DATABASE);
}

static void test_a_new_folder_long_after_the_old_one(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    go_away();
    assert_int_equal(check(1), RESTORE_UNCLEAR);
    assert_open_sends_are_held();
}

static void test_a_copied_folder_long_after_the_original(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    copy_file(generation_path(0), generation_path(1));
    go_away();
    assert_int_equal(check(1), RESTORE_UNCLEAR);
    assert_open_sends_are_held();
    assert_int_equal(number_of("select count(*) from data_folders"), 2);
}

static void test_a_damaged_file_counts_as_none(void **state)
{
    (void)state;
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(truncate(generation_path(0), 10), 0);
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    assert_int_equal(truncate(generation_path(0), 10), 0);
    go_away();
    assert_int_equal(check(0), RESTORE_UNCLEAR);
}

/* A folder that was used with another database proves nothing about this one. */
static void test_a_file_of_another_installation_counts_as_none(void **state)
{
    (void)state;
    struct error err;
    int fd;
    struct generation_file file = { true, "another", 4711, 9 };
    assert_int_equal(check(0), RESTORE_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assert_ok(generation_folder_lock(folders[1], &fd, &err), &err);
        assert_ok(generation_file_write(fd, &file, &err), &err);
        close(fd);
        assert_int_equal(check(1), i == 0 ? RESTORE_NOT_FOUND : RESTORE_UNCLEAR);
        go_away();
    }
    assert_int_equal(number_of("select count(*) from data_folders where folder = 4711"), 0);
}

static void test_a_folder_that_is_missing_is_an_error(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    enum restore_finding finding;
    assert_false(restore_guard_check(&work, "/nonexistent/posthorn", &finding, &held, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

/* ---- What is held ---- */

static void hold_all(void)
{
    check(0);
    run_sql("delete from data_folders");
    assert_int_equal(check(0), RESTORE_OF_DATABASE);
}

static void test_a_held_send_is_not_begun_and_new_ones_are(void **state)
{
    (void)state;
    run_sql("delete from sends; delete from send_stats");
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "values (%lld, 'ada@example.com', 'ada@example.com', 'API', true, now(), now())",
            (long long)work.brand_id);
    struct error err;
    struct send_accepted accepted[2];
    struct send_request request = { .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
                                    .audience = "all",
                                    .subject = "News" };
    for (size_t i = 0; i < 2; i++) {
        request.email_id = design_of("<p>Hi</p>", "Hi\n");
        run_sql("begin");
        assert_ok(send_create(&work, &request, &accepted[i], &err), &err);
        run_sql("commit");
        if (i == 0)
            hold_all();
    }
    bool begun[2];
    for (size_t i = 0; i < 2; i++) {
        run_sql("begin");
        assert_ok(delivery_begin(&work, accepted[i].id, &begun[i], &err), &err);
        run_sql("commit");
    }
    assert_false(begun[0]);
    assert_true(begun[1]);
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 1);

    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    json_writer_init(&json, out);
    assert_ok(send_why(&work, "ada@example.com", accepted[0].id, &json, &err), &err);
    assert_non_null(strstr(buf_text(out), "because the database was restored from an older state"));

    /* Ranges of a held send are not leased. */
    run_sql("update sends set held_at = now() where status = 'running'");
    int64_t count;
    run_until((struct job_services){ .outbox = outbox }, "select count(*) from sends where status = 'completed'", 0);
    assert_ok(restore_release_holds(&work, work_id(&work, ID_SEND, accepted[1].id), &count, &err), &err);
    assert_int_equal(count, 1);
    run_until((struct job_services){ .outbox = outbox }, "select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(number_of("select count(*) from sends where held_at is not null and status = 'queued'"), 1);
}

static void test_holds_are_listed_and_released(void **state)
{
    (void)state;
    hold_all();
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    json_writer_init(&json, out);
    assert_ok(restore_write_holds(&work, &json, &err), &err);
    assert_non_null(strstr(buf_text(out), "{\"held\":4,"));
    assert_non_null(strstr(buf_text(out), "\"subject\":\"due\""));
    assert_null(strstr(buf_text(out), "\"subject\":\"later\""));

    int64_t count;
    int64_t due = number_of("select id from sends where subject = 'due'");
    run_sql("insert into jobs (kind, brand_id, payload, run_after, created_at)"
            "values ('campaign', %lld, '{}', now() + interval '1 hour', now())",
            (long long)work.brand_id);
    run_sql("update sends set job_id = (select max(id) from jobs) where id = %lld", (long long)due);
    assert_ok(restore_release_holds(&work, work_id(&work, ID_SEND, due), &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(number_of("select count(*) from sends where held_at is not null"), 3);
    assert_int_equal(number_of("select count(*) from jobs where run_after <= now() + interval '1 minute'"), 1);
    assert_false(restore_release_holds(&work, work_id(&work, ID_SEND, due), &count, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
    err = (struct error){ .code = ERR_NONE };
    assert_false(restore_release_holds(&work, "nonsense", &count, &err));
    err = (struct error){ .code = ERR_NONE };
    assert_ok(restore_release_holds(&work, NULL, &count, &err), &err);
    assert_int_equal(count, 3);
}

static void test_due_runs_of_automations_are_held_and_released(void **state)
{
    (void)state;
    run_sql(
        "delete from automation_runs; delete from automations;"
        "insert into automations (brand_id, id, name, latest_version_id, is_paused, created_at, updated_at) overriding system value"
        " values (%1$lld, 8, 'Paused', 1, true, now(), now());"
        "insert into automation_runs (brand_id, automation_id, version_id, email, email_key, node_id, due_at, is_held, started_at)"
        " values (%1$lld, 7, 1, 'due', 'due', 'n', now() - interval '1 hour', false, now()),"
        "        (%1$lld, 7, 1, 'later', 'later', 'n', now() + interval '1 day', false, now()),"
        "        (%1$lld, 8, 1, 'paused', 'paused', 'n', now() - interval '1 hour', true, now())",
        (long long)work.brand_id);
    hold_all();
    assert_int_equal(number_of("select count(*) from automation_runs where is_held and email = 'due'"), 1);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held and email = 'later'"), 0);
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    json_writer_init(&json, out);
    assert_ok(restore_write_holds(&work, &json, &err), &err);
    assert_non_null(strstr(buf_text(out), "\"runs\":1,"));
    int64_t count;
    assert_ok(restore_release_holds(&work, NULL, &count, &err), &err);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held"), 1);
    run_sql("delete from automation_runs; delete from automations");
}

#define GUARD_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARD_TEST(test_a_new_installation_and_one_that_was_away),
        GUARD_TEST(test_folders_share_a_database_in_any_order),
        GUARD_TEST(test_a_kill_between_the_writes),
        GUARD_TEST(test_a_kill_at_the_first_start),
        GUARD_TEST(test_a_new_folder_soon_after_the_old_one),
        GUARD_TEST(test_an_older_database_is_found_once),
        GUARD_TEST(test_a_database_from_before_the_folder),
        GUARD_TEST(test_the_folder_that_was_there_finds_it),
        GUARD_TEST(test_a_new_folder_long_after_the_old_one),
        GUARD_TEST(test_a_copied_folder_long_after_the_original),
        GUARD_TEST(test_a_damaged_file_counts_as_none),
        GUARD_TEST(test_a_file_of_another_installation_counts_as_none),
        GUARD_TEST(test_a_folder_that_is_missing_is_an_error),
        GUARD_TEST(test_a_held_send_is_not_begun_and_new_ones_are),
        GUARD_TEST(test_holds_are_listed_and_released),
        GUARD_TEST(test_due_runs_of_automations_are_held_and_released),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
