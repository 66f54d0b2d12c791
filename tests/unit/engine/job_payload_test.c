/*
 * Payloads of jobs: an encoded payload decodes to the same values, rows of older
 * versions can be read, and rows that do not match their declaration are refused.
 */
#include "fixtures/base_case.h"

#include "catalogue/jobs.h"

#include <string.h>

static struct arena *arena;
static struct error err;

static int new_arena(void **state)
{
    (void)state;
    arena = arena_new(0);
    err = (struct error){ .code = ERR_NONE };
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void a_payload_is_its_json(void **state)
{
    (void)state;
    struct new_job job = campaign_job(arena, &(struct campaign_payload){ .send_id = INT64_MAX });
    assert_string_equal(job.type->name, "campaign");
    assert_string_equal(job.payload, "{\"sendId\":9223372036854775807}");
    const struct campaign_payload *payload;
    assert_true(campaign_payload_decode(arena, job.payload, &payload, &err));
    assert_true(payload->send_id == INT64_MAX);
}

/* PostgreSQL writes spaces between members. */
static void a_full_payload_survives(void **state)
{
    (void)state;
    const char *const items[] = { "a\"b@example.com", "\xc3\xa9@example.com" };
    struct validate_addresses_payload given = { .emails = { items, 2 } };
    struct new_job job = validate_addresses_job(arena, &given);
    assert_string_equal(job.payload, "{\"emails\":[\"a\\\"b@example.com\",\"\xc3\xa9@example.com\"]}");
    const struct validate_addresses_payload *payload;
    assert_true(validate_addresses_payload_decode(arena, "{\"emails\": [\"x@example.com\", \"\"]}", &payload, &err));
    assert_int_equal(payload->emails.count, 2);
    assert_string_equal(payload->emails.items[0], "x@example.com");
    assert_string_equal(payload->emails.items[1], "");
}

static void absent_members_are_left_out(void **state)
{
    (void)state;
    struct import_email_payload given = { .content = "<p>", .format = "html", .group_id = { true, 7 } };
    struct new_job job = import_email_job(arena, &given);
    assert_string_equal(job.payload, "{\"content\":\"<p>\",\"format\":\"html\",\"flat\":false,\"groupId\":7}");
    const struct import_email_payload *payload;
    assert_true(import_email_payload_decode(arena, job.payload, &payload, &err));
    assert_null(payload->title);
    assert_true(payload->group_id.set && payload->group_id.value == 7);
}

/* The rows that the first version of each job wrote. */
static void older_rows_are_read(void **state)
{
    (void)state;
    const struct import_email_payload *import;
    assert_true(import_email_payload_decode(arena, "{\"content\": \"<p>\", \"flat\": true, \"title\": \"T\"}", &import, &err));
    assert_string_equal(import->format, "html");
    assert_true(import->flat && !import->group_id.set);
    const struct test_send_payload *test;
    assert_true(test_send_payload_decode(
        arena, "{\"to\": \"a@b.c\", \"toKey\": \"a@b.c\", \"domain\": \"d\", \"subject\": \"S\", \"replyTo\": null,"
               " \"fromAddress\": \"f@d\", \"emailVersionId\": 3}", &test, &err));
    assert_true(test->is_sandbox && test->is_marketing && test->domain_id == 0);
    assert_null(test->reply_to);
    assert_int_equal(test->email_version_id, 3);
    const struct save_validated_payload *save;
    assert_true(save_validated_payload_decode(arena, "{\"contacts\": [{}, {}]}", &save, &err));
    assert_false(save->single);
    assert_int_equal(json_array_size(save->contacts), 2);
}

static void assert_refused(const struct job_declaration *type, const char *json, const char *reason)
{
    const void *payload;
    error_clear(&err);
    assert_false(job_payload_decode(arena, type, json, &payload, &err));
    assert_string_equal(err.message, reason);
}

static void wrong_rows_are_refused(void **state)
{
    (void)state;
    const struct job_declaration *campaign = &job_declarations[JOB_CAMPAIGN];
    const struct job_declaration *addresses = &job_declarations[JOB_VALIDATE_ADDRESSES];
    assert_refused(campaign, "{}", "The payload of the job campaign has no member sendId.");
    assert_refused(campaign, "{\"sendId\": null}", "The payload of the job campaign has a wrong type in the member sendId.");
    assert_refused(campaign, "{\"sendId\": 1.5}", "The payload of the job campaign has a wrong type in the member sendId.");
    assert_refused(campaign, "{\"sendId\": 1, \"more\": 2}", "The payload of the job campaign has the unknown member more.");
    assert_refused(campaign, "[1]", "The payload of the job campaign is not an object.");
    assert_refused(addresses, "{\"emails\": [\"a\", 5]}",
                   "The payload of the job validate_addresses has a wrong type in the member emails.");
    assert_refused(&job_declarations[JOB_SAVE_VALIDATED], "{\"contacts\": {}}",
                   "The payload of the job save_validated has a wrong type in the member contacts.");
}

/* Each type bounds its payload, when it is encoded and when it is decoded. */
static void a_payload_is_bounded(void **state)
{
    (void)state;
    char *name = arena_alloc(arena, 2049);
    memset(name, 'x', 1000);
    assert_non_null(delete_field_job(arena, &(struct delete_field_payload){ .field_name = name }).payload);
    memset(name, 'x', 2048);
    assert_null(delete_field_job(arena, &(struct delete_field_payload){ .field_name = name }).payload);
    const struct delete_field_payload *payload;
    const char *json = arena_printf(arena, "{\"fieldName\": \"%s\"}", name);
    assert_false(delete_field_payload_decode(arena, json, &payload, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_null(payload);
}

#define ARENA_TEST(function) cmocka_unit_test_setup_teardown(function, new_arena, free_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_payload_is_its_json), ARENA_TEST(a_full_payload_survives), ARENA_TEST(absent_members_are_left_out),
        ARENA_TEST(older_rows_are_read),   ARENA_TEST(wrong_rows_are_refused),  ARENA_TEST(a_payload_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
