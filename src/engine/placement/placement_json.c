/* Placement tests as callers see them. */
#include "engine/core/page.h"
#include "engine/placement/placement.h"
#include "engine/sends/send_request.h"

#include "base/text.h"
#include "sql/emails.h"

enum { AUTHENTICATION_METHODS = 3 };

/* ---- Counts ---- */

struct bucket {
    int64_t total;
    int64_t inbox;
    int64_t spam;
    int64_t missing;
};

static bool is_counted(const struct placement_test_row *test, size_t i, const char *provider)
{
    return provider == NULL || text_equal(test->providers.items[i], provider);
}

/* The messages of a provider; NULL: all. */
static struct bucket count_messages(const struct placement_test_row *test, const char *provider)
{
    struct bucket bucket = { 0 };
    for (size_t i = 0; i < test->providers.count; i++) {
        const char *placement = test->placements.items[i];
        if (!is_counted(test, i, provider))
            continue;
        bucket.total++;
        bucket.inbox += text_equal(placement, "inbox");
        bucket.spam += text_equal(placement, "spam");
        bucket.missing += text_equal(placement, "missing");
    }
    return bucket;
}

static void write_bucket(const char *provider, struct bucket bucket, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text_if(json, "provider", provider);
    json_member_int(json, "total", bucket.total);
    json_member_int(json, "inbox", bucket.inbox);
    json_member_int(json, "spam", bucket.spam);
    json_member_int(json, "missing", bucket.missing);
    json_member_int(json, "pending", bucket.total - bucket.inbox - bucket.spam - bucket.missing);
    json_object_end(json);
}

/* The messages are in the order of their providers. */
static void write_providers(const struct placement_test_row *test, struct json_writer *json)
{
    json_key(json, "byProvider");
    json_array_begin(json);
    for (size_t i = 0; i < test->providers.count; i++) {
        const char *provider = test->providers.items[i];
        if (i == 0 || !text_equal(provider, test->providers.items[i - 1]))
            write_bucket(provider, count_messages(test, provider), json);
    }
    json_array_end(json);
}

/* ---- Authentication ---- */

/* Of the messages that were found: those that passed, those that did not, and those about which the receiver told nothing. */
static void write_method(const struct placement_test_row *test, const char *name, const struct text_list *results,
                         struct json_writer *json)
{
    int64_t passed = 0;
    int64_t failed = 0;
    int64_t unknown = 0;
    for (size_t i = 0; i < results->count; i++) {
        bool is_found = test->folders.items[i] != NULL;
        passed += is_found && text_equal(results->items[i], "pass");
        failed += is_found && results->items[i] != NULL && !text_equal(results->items[i], "pass");
        unknown += is_found && results->items[i] == NULL;
    }
    json_key(json, name);
    json_object_begin(json);
    json_member_int(json, "pass", passed);
    json_member_int(json, "fail", failed);
    json_member_int(json, "unknown", unknown);
    json_object_end(json);
}

static void write_authentication(const struct placement_test_row *test, struct json_writer *json)
{
    const struct text_list *const results[AUTHENTICATION_METHODS] = { &test->spf, &test->dkim, &test->dmarc };
    static const char *const names[AUTHENTICATION_METHODS] = { "spf", "dkim", "dmarc" };
    json_key(json, "authentication");
    json_object_begin(json);
    for (size_t i = 0; i < AUTHENTICATION_METHODS; i++)
        write_method(test, names[i], results[i], json);
    json_object_end(json);
}

/* ---- A test ---- */

static void write_message(const struct placement_test_row *test, size_t i, struct json_writer *json)
{
    const char *placement = test->placements.items[i];
    json_object_begin(json);
    json_member_text(json, "provider", test->providers.items[i]);
    json_member_text(json, "placement", placement != NULL ? placement : "pending");
    json_member_text(json, "folder", test->folders.items[i]);
    json_member_text_if(json, "spf", test->spf.items[i]);
    json_member_text_if(json, "dkim", test->dkim.items[i]);
    json_member_text_if(json, "dmarc", test->dmarc.items[i]);
    json_member_text_if(json, "reason", test->reasons.items[i]);
    json_object_end(json);
}

static void write_results(const struct placement_test_row *test, struct json_writer *json)
{
    const struct bucket all = count_messages(test, NULL);
    if (all.inbox + all.spam + all.missing == 0) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    json_key(json, "overall");
    write_bucket(NULL, all, json);
    write_providers(test, json);
    write_authentication(test, json);
    json_object_end(json);
}

static void write_test(const struct work *work, const struct placement_test_row *test, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "testId", ID_TEST, test->id);
    json_member_id(json, work, "emailId", ID_EMAIL, test->email_id);
    json_member_id(json, work, "domainId", ID_DOMAIN, test->domain_id);
    json_member_text(json, "status", test->status);
    json_member_int(json, "seedCount", (int64_t)test->providers.count);
    json_key(json, "results");
    write_results(test, json);
    json_key(json, "folders");
    json_array_begin(json);
    for (size_t i = 0; i < test->providers.count; i++)
        write_message(test, i, json);
    json_array_end(json);
    json_member_time(json, "createdAt", test->created_at);
    json_member_time(json, "updatedAt", test->updated_at);
    json_object_end(json);
}

bool placement_write(const struct work *work, int64_t email_id, int64_t test_id, struct json_writer *json, struct error *err)
{
    struct placement_test_find_params params = { .brand_id = work->brand_id, .email_id = email_id, .id = test_id };
    struct placement_test_row *test;
    if (!sql_placement_test_find(work->conn, work->arena, &params, &test, err))
        return false;
    if (test == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "testId", "This brand has no such design with a placement test of this id.");
    write_test(work, test, json);
    return true;
}

/* ---- A page ---- */

static bool find_page(const struct work *work, int64_t email_id, int64_t limit, const struct page_cursor *start,
                      struct placement_test_row **ret_tests, struct db_page *ret_found, struct error *err)
{
    struct email_exists_params exists = { .brand_id = work->brand_id, .email_id = email_id };
    struct placement_tests_page_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .before_id = start->set ? start->id : INT64_MAX,
        .limit = limit + 1,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t email = db_batch_add(batch, &email_exists_statement, &exists);
    size_t tests = db_batch_add(batch, &placement_tests_page_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    if (db_batch_rows(batch, email)->count == 0)
        return send_request_no_email(err);
    *ret_tests = db_batch_rows(batch, tests)->rows;
    *ret_found = (struct db_page){ .count = db_batch_rows(batch, tests)->count, .is_cut = db_batch_rows(batch, tests)->is_cut };
    return true;
}

bool placement_list(const struct work *work, int64_t email_id, int64_t limit, const char *cursor, struct json_writer *json,
                    struct error *err)
{
    const char *binding = arena_printf(work->arena, "placementTests.list %lld", (long long)email_id);
    struct page_cursor start;
    struct placement_test_row *tests = NULL;
    struct db_page found;
    if (!page_cursor_read(work, binding, cursor, &start, err) || !find_page(work, email_id, limit, &start, &tests, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_test(work, &tests[page.shown - 1], json);
    page_end(&page, work, binding, (struct page_cursor){ .id = page.shown > 0 ? tests[page.shown - 1].id : 0 });
    json_object_end(json);
    return true;
}
