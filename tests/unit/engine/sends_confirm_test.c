/* Confirmations of sends: the preview and its token; the states in which pause and resume are refused. */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/sends/confirm.h"
#include "engine/sends/confirm_token.h"

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body>"
                           "<p>Hello {{ firstName | default: 'there' }} from {{ customFields.city }}</p></body></html>";
static const char text[] = "Hello {{ firstName | default: 'there' }} from {{ customFields.city }}\n";
static const char linked_html[] = "<!DOCTYPE html><html><head><title>T</title></head><body><p>Hello</p>"
                                  "<a href=\"{{ unsubscribeUrl }}\">Leave</a></body></html>";

/* Contacts 1 … count; every third has no name, the first two a city. */
static void make_contacts(int count)
{
    run_sql(
        "insert into contacts (brand_id, email, email_key, first_name, source, subscribed, custom_fields, created_at, updated_at)"
        "select %lld, 'r' || lpad(n::text, 4, '0') || '@example.com', 'r' || lpad(n::text, 4, '0') || '@example.com',"
        "       case when n %% 3 = 0 then null else 'Reader ' || n end, 'API', true,"
        "       case when n <= 2 then jsonb_build_object('city', 'Ulm') else '{}' end, now(), now()"
        "  from generate_series((select count(*) from contacts) + 1, %d) n",
        (long long)work.brand_id, count);
}

static int64_t sandbox_id(void)
{
    return number_of("select min(id) from domains where kind = 'sandbox'");
}

static struct send_request order_of(int64_t email_id)
{
    return (struct send_request){
        .email_id = email_id,
        .domain_id = sandbox_id(),
        .audience = "all",
        .subject = "News for {{ firstName | default: 'you' }}",
        .confirm_above = { .set = true, .value = 1 },
    };
}

static const struct send_preview *preview_of(const struct send_request *request)
{
    struct error err;
    struct send_accepted accepted;
    assert_ok(send_create(&work, request, &accepted, &err), &err);
    assert_non_null(accepted.preview);
    assert_int_equal(accepted.id, 0);
    return accepted.preview;
}

static void confirm(struct send_request *request)
{
    request->confirmation = NULL;
    request->confirmation = preview_of(request)->token;
}

static int64_t accept(const struct send_request *request)
{
    struct error err;
    struct send_accepted accepted;
    run_sql("begin");
    assert_ok(send_create(&work, request, &accepted, &err), &err);
    run_sql("commit");
    assert_null(accepted.preview);
    return accepted.id;
}

/* As dispatch does it: a refusal takes everything back. */
static void refuse(const struct send_request *request, const char *words)
{
    struct error err = { .code = ERR_NONE };
    struct send_accepted accepted;
    run_sql("begin");
    assert_false(send_create(&work, request, &accepted, &err));
    run_sql("rollback");
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "confirmationToken");
    if (strstr(err.message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, err.message);
    assert_int_equal(number_of("select count(*) from sends where status <> 'canceled'"), 0);
}

static bool warns(const struct send_preview *preview, const char *words)
{
    for (size_t i = 0; i < preview->warning_count; i++)
        if (strstr(preview->warnings[i], words) != NULL)
            return true;
    return false;
}

/* ---- The preview ---- */

static void test_a_preview_names_open_blockers(void **state)
{
    (void)state;
    make_contacts(60);
    struct send_request request = order_of(design_of(html, text));
    run_sql(
        "insert into audits (brand_id, email_id, version_id, kind, purpose, status, score, blockers, errors, warnings, info, kept,"
        " checks, engines, metrics, audited_at, expires_at)"
        " select brand_id, id, latest_version_id, 'full', 'marketing', 'complete', 69, 1, 0, 0, 0, 1, '[]', '[]', '{}', now(),"
        " now() + interval '7 days' from emails;"
        "insert into audit_findings (brand_id, audit_id, position, finding_id, check_id, severity, message)"
        " select brand_id, id, 1, 'f', 'linkLocal', 'blocker', 'A link leads to localhost.' from audits");
    const struct send_preview *preview = preview_of(&request);
    assert_true(warns(preview, "1 open blocker: A link leads to localhost."));
    run_sql("update audits set kind = 'accessibility'");
    assert_true(warns(preview_of(&request), "was not audited"));
    run_sql("delete from audits");
}

static void test_a_preview_shows_and_writes_nothing(void **state)
{
    (void)state;
    make_contacts(60);
    struct send_request request = order_of(design_of(html, text));
    const struct send_preview *preview = preview_of(&request);
    assert_int_equal(preview->recipient_count, 60);
    assert_string_equal(preview->from, "My brand <hello@sandbox.posthorn.localhost>");
    assert_string_equal(preview->sample_recipient, "r0001@example.com");
    assert_string_equal(preview->subject, "News for Reader 1");
    assert_string_equal(preview->text, "Hello Reader 1 from Ulm\n");
    assert_int_equal(preview->expires_at_us, work.now_us + CONFIRM_LIFETIME_S * US_PER_S);
    assert_true(warns(preview, "firstName is missing for 20 of 60 recipients"));
    assert_true(warns(preview, "city is missing for 58 of 60 recipients"));
    assert_true(warns(preview, "no unsubscribe link"));
    assert_true(warns(preview, "first send of this brand"));
    assert_true(warns(preview, "sandbox"));
    assert_true(warns(preview, "was not audited"));
    assert_false(warns(preview, "lastName"));
    assert_false(warns(preview, "starts at"));
    assert_int_equal(
        number_of("select (select count(*) from sends) + (select count(*) from jobs) + (select count(*) from send_stats)"
                  " + (select count(*) from email_usage) + (select count(*) from send_confirmations)"),
        0);
}

static void test_a_preview_warns_of_what_is_so_only(void **state)
{
    (void)state;
    make_contacts(60);
    struct send_request earlier = order_of(design_of(linked_html, "Hello\n"));
    earlier.confirm_above.set = false;
    int64_t id = accept(&earlier);
    run_sql("update sends set status = 'completed', recipient_count = 20 where id = %lld", (long long)id);

    struct send_request request = order_of(design_of(linked_html, "Hello\n"));
    request.subject = "News";
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + 3600 * US_PER_S };
    const struct send_preview *preview = preview_of(&request);
    assert_false(warns(preview, "unsubscribe link"));
    assert_false(warns(preview, "is missing"));
    assert_false(warns(preview, "first send"));
    assert_true(warns(preview, "largest send of this brand so far went to 20"));
    assert_true(warns(preview, "starts at"));
    assert_true(preview->scheduled_at_us.set);
}

static void test_a_preview_of_a_list_counts_whom_it_reaches(void **state)
{
    (void)state;
    make_contacts(3);
    run_sql("update contacts set subscribed = false where email = 'r0001@example.com'");
    struct send_request request = order_of(design_of(html, text));
    static const char *const to[] = { "r0001@example.com", "r0002@example.com", "stranger@example.com" };
    request.audience = NULL;
    request.to = (struct text_list){ to, ARRAY_COUNT(to) };
    const struct send_preview *preview = preview_of(&request);
    assert_int_equal(preview->recipient_count, 2);
    assert_string_equal(preview->sample_recipient, "r0002@example.com");
    assert_true(warns(preview, "1 of the addresses get no mail: r0001@example.com (unsubscribed)."));
    assert_true(warns(preview, "firstName is missing for 1 of 2"));
    assert_null(strstr(send_preview_question(arena, preview), "all subscribed"));
    assert_non_null(strstr(send_preview_question(arena, preview), "Send this email to 2 recipients (the listed addresses), now?"));
}

static void test_a_preview_is_short_and_visible(void **state)
{
    (void)state;
    make_contacts(2);
    run_sql("update contacts set first_name = E'A\\u202Eda\\u200B' where email = 'r0001@example.com'");
    char *long_text = arena_alloc(arena, 2001);
    memset(long_text, 'x', 2000);
    long_text[2000] = '\0';
    struct send_request request = order_of(design_of(html, long_text));
    const struct send_preview *preview = preview_of(&request);
    assert_string_equal(preview->subject, "News for Ada");
    assert_int_equal(strlen(preview->text), PREVIEW_TEXT_CHARS);
}

static struct send_request order_to(const struct text_list to)
{
    struct send_request request = order_of(design_of(linked_html, "Hello\n"));
    request.audience = NULL;
    request.to = to;
    request.confirm_above.value = 50;
    return request;
}

/* However few they are: the caller may have meant somebody else. */
static void test_strangers_and_the_skipped_are_confirmed(void **state)
{
    (void)state;
    make_contacts(3);
    run_sql("update contacts set subscribed = false where email = 'r0001@example.com'");
    static const char *const stranger[] = { "r0002@example.com", "stranger@example.com" };
    static const char *const gone[] = { "r0001@example.com", "r0003@example.com" };
    static const char *const known[] = { "r0002@example.com", "r0003@example.com", "R0002@example.com" };
    struct send_request to_stranger = order_to((struct text_list){ stranger, ARRAY_COUNT(stranger) });
    struct send_request to_gone = order_to((struct text_list){ gone, ARRAY_COUNT(gone) });
    assert_true(warns(preview_of(&to_stranger), "1 of the addresses are no contacts of this brand"));
    assert_true(warns(preview_of(&to_gone), "1 of the addresses get no mail"));
    confirm(&to_stranger);
    accept(&to_stranger);

    struct send_request to_known = order_to((struct text_list){ known, ARRAY_COUNT(known) });
    struct send_accepted accepted;
    struct error err;
    assert_ok(send_create(&work, &to_known, &accepted, &err), &err);
    assert_null(accepted.preview);
    assert_int_equal(accepted.recipient_count.value, 2);
    assert_int_equal(accepted.duplicate_count, 1);
    assert_int_equal(accepted.unknown_count, 0);
    assert_true(accepted.is_captured);
    to_gone.confirm_above.set = false;
    assert_ok(send_create(&work, &to_gone, &accepted, &err), &err);
    assert_null(accepted.preview);
    assert_int_equal(accepted.skipped_count, 1);
}

/* The target of a scheduled send is not known before its time. */
static void test_recipients_are_counted_when_they_are_known(void **state)
{
    (void)state;
    make_contacts(5);
    struct send_request request = order_of(design_of(html, text));
    struct send_accepted accepted;
    struct error err;
    request.confirm_above.set = false;
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + 3600 * US_PER_S };
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_false(accepted.recipient_count.set);
    request.email_id = design_of(html, text);
    request.scheduled_at_us.set = false;
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    assert_int_equal(accepted.recipient_count.value, 5);
}

/* Nothing in a preview unsubscribes anybody. */
static void test_a_preview_has_no_link_of_a_person(void **state)
{
    (void)state;
    make_contacts(2);
    struct send_request request = order_of(design_of(linked_html, "Leave: {{ unsubscribeUrl }}\n"));
    const struct send_preview *preview = preview_of(&request);
    assert_string_equal(preview->text, "Leave: https://example.com/unsubscribe-preview\n");
}

/* The threshold itself needs no confirmation, and without one nothing does. */
static void test_the_threshold(void **state)
{
    (void)state;
    make_contacts(5);
    struct send_request request = order_of(design_of(html, text));
    request.confirm_above.value = 4;
    preview_of(&request);
    request.confirm_above.value = 5;
    accept(&request);
    struct send_request other = order_of(design_of(html, text));
    other.confirm_above.set = false;
    accept(&other);
}

/* ---- The lock of the design ---- */

/* Another send of the design that is not committed. Who would wait for it is refused. */
static struct db_conn *hold_designs(void)
{
    struct error err;
    struct db_conn *other;
    assert_ok(installation_connect(installation, &other, &err), &err);
    assert_ok(db_script(other, "begin; select 1 from emails for no key update", &err), &err);
    run_sql("set lock_timeout = '20ms'");
    return other;
}

static void release_designs(struct db_conn *other)
{
    run_sql("reset lock_timeout");
    db_disconnect(other);
}

static int64_t contacts_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of(
        "select (seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_user_tables where relname = 'contacts'");
}

/* The contacts that are read before the send waits for another one of its design. */
static int64_t contacts_read_without_lock(const struct send_request *request)
{
    struct error err;
    struct send_accepted accepted;
    run_sql("vacuum analyze contacts");
    struct db_conn *other = hold_designs();
    int64_t before = contacts_read();
    assert_false(send_create(&work, request, &accepted, &err));
    int64_t reads = contacts_read() - before;
    release_designs(other);
    return reads;
}

/* Counting may take long, and every other send of the design waits for the lock. */
static void test_recipients_are_counted_before_the_lock(void **state)
{
    (void)state;
    make_contacts(60);
    struct send_request request = order_of(design_of(html, text));
    request.confirm_above.set = false;
    assert_true(contacts_read_without_lock(&request) >= 60);
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + 3600 * US_PER_S };
    request.confirm_above.set = true;
    confirm(&request);
    assert_true(contacts_read_without_lock(&request) >= 60);
}

static void test_a_preview_waits_for_no_send(void **state)
{
    (void)state;
    make_contacts(3);
    struct error err;
    struct send_accepted accepted;
    struct send_request request = order_of(design_of(html, text));
    struct db_conn *other = hold_designs();
    preview_of(&request);
    /* One that turns out to need none waits. */
    request.confirm_above.value = 3;
    assert_false(send_create(&work, &request, &accepted, &err));
    release_designs(other);
    accept(&request);
}

/* ---- The token ---- */

static void test_a_token_sends_once(void **state) /* */
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    int64_t id = accept(&request);
    assert_int_equal(number_of("select send_id from send_confirmations"), id);

    struct error err = { .code = ERR_NONE };
    struct send_accepted accepted;
    assert_false(send_create(&work, &request, &accepted, &err));
    assert_int_equal(err.code, ERR_EMAIL_ALREADY_SENT);
    assert_non_null(strstr(err.details_json, "\"sendState\""));

    /* Also when the first is no obstacle any more, and however the token is written. */
    run_sql("update sends set status = 'canceled'");
    refuse(&request, "has already been used");
    confirm(&request);
    accept(&request);
}

static void test_a_token_outlives_a_refusal(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    struct send_accepted accepted;
    struct error err;
    run_sql("begin");
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    run_sql("rollback");
    accept(&request);
}

static void test_a_token_is_for_one_order(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    static const char *const to[] = { "r0001@example.com", "r0002@example.com" };

    struct send_request changed[8];
    for (size_t i = 0; i < ARRAY_COUNT(changed); i++)
        changed[i] = request;
    changed[0].email_id = design_of(html, text);
    changed[1].subject = "Something else";
    changed[2].preview_text = "Look here";
    changed[3].from_email = "other@sandbox.posthorn.localhost";
    changed[4].from_name = "Somebody";
    changed[5].reply_to = "answers@example.com";
    changed[6].scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + 3600 * US_PER_S };
    changed[7].audience = NULL;
    changed[7].to = (struct text_list){ to, ARRAY_COUNT(to) };
    for (size_t i = 0; i < ARRAY_COUNT(changed); i++)
        refuse(&changed[i], "The arguments differ from the preview");
    accept(&request);
}

static void test_a_token_is_for_one_version(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    run_sql(
        "with v as (insert into email_versions (brand_id, email_id, version, html, plain_text, html_code, text_code, created_at)"
        " select brand_id, email_id, version + 1, html, plain_text, html_code, text_code, now() from email_versions returning id)"
        " update emails set latest_version_id = (select max(id) from v)");
    refuse(&request, "design was changed");
}

static void test_a_token_is_for_one_caller(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    request.key_id = 7;
    confirm(&request);
    request.key_id = 8;
    refuse(&request, "another caller");
    request.key_id = 7;
    char *forged = arena_dup(arena, request.confirmation);
    forged[40] = forged[40] == 'A' ? 'B' : 'A';
    const char *token = request.confirmation;
    request.confirmation = forged;
    refuse(&request, "confirmationToken is not valid");
    request.confirmation = "";
    refuse(&request, "confirmationToken is not valid");
    request.confirmation = token;
    accept(&request);
}

static void test_a_token_expires(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    work.now_us += CONFIRM_LIFETIME_S * US_PER_S - 1;
    run_sql("begin");
    struct send_accepted accepted;
    struct error err;
    assert_ok(send_create(&work, &request, &accepted, &err), &err);
    run_sql("rollback");
    work.now_us += 1;
    refuse(&request, "expired");
}

/* A few more recipients are let pass: ten, or one in a hundred. */
static void test_a_token_is_for_so_many(void **state)
{
    (void)state;
    make_contacts(3);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    make_contacts(3 + CONFIRM_GROWTH + 1);
    refuse(&request, "3 recipients were confirmed and there are 14 now");
    run_sql("delete from contacts where email = 'r0014@example.com'");
    int64_t id = accept(&request);
    run_sql("update sends set status = 'canceled' where id = %lld", (long long)id);

    make_contacts(2000);
    confirm(&request);
    make_contacts(2022);
    refuse(&request, "2000 recipients were confirmed and there are 2022 now");
    run_sql("delete from contacts where email in ('r2021@example.com', 'r2022@example.com')");
    accept(&request);
}

static void test_used_tokens_are_forgotten(void **state)
{
    (void)state;
    make_contacts(3);
    run_sql("insert into send_confirmations values (%lld, '\\x01', 1, now() - interval '25 hours'), (%lld, '\\x02', 1, now())",
            (long long)work.brand_id, (long long)work.brand_id);
    struct send_request request = order_of(design_of(html, text));
    confirm(&request);
    accept(&request);
    assert_int_equal(number_of("select count(*) from send_confirmations"), 2);
}

/* ---- Pause and resume ---- */

static int64_t any_send(void)
{
    make_contacts(2);
    struct send_request request = order_of(design_of(html, text));
    request.confirm_above.set = false;
    return accept(&request);
}

static const char *const states[] = { "scheduled", "queued", "running", "completed", "partially_completed", "failed", "canceled" };

static void test_only_a_gradual_send_can_be_paused(void **state) /* */
{
    (void)state;
    int64_t id = any_send();
    struct send_row *send;
    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        struct error err = { .code = ERR_NONE };
        run_sql("update sends set status = '%s'", states[i]);
        assert_false(send_pause(&work, id, &send, &err));
        assert_int_equal(err.code, ERR_SEND_NOT_PAUSABLE);
        assert_string_equal(err.param, "sendId");
        assert_int_equal(number_of("select count(*) from sends where status = 'paused'"), 0);
    }
    struct error err = { .code = ERR_NONE };
    assert_false(send_pause(&work, id + 1, &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
}

static void test_a_manual_pause_ends_by_hand(void **state) /* */
{
    (void)state;
    int64_t id = any_send();
    struct error err = { .code = ERR_NONE };
    struct send_row *send;
    run_sql("update sends set status = 'paused', pause_reason = 'manual'");
    assert_ok(send_resume(&work, id, &send, &err), &err);
    assert_string_equal(send->status, "running");
    assert_null(send->pause_reason);
    assert_false(send_resume(&work, id, &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_RESUMABLE);
    err.code = ERR_NONE;
    assert_false(send_resume(&work, id + 1, &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
}

static void test_a_pause_for_the_plan_stays(void **state) /* */
{
    (void)state;
    int64_t id = any_send();
    struct error err = { .code = ERR_NONE };
    struct send_row *send;
    run_sql("update sends set status = 'paused', pause_reason = 'plan_limit'");
    assert_false(send_resume(&work, id, &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_RESUMABLE);
    assert_non_null(strstr(err.message, "allowance"));
    assert_int_equal(number_of("select count(*) from sends where status = 'paused' and pause_reason = 'plan_limit'"), 1);
    assert_ok(send_cancel(&work, id, &send, &err), &err);
    assert_string_equal(send->status, "canceled");
    assert_null(send->pause_reason);

    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        err.code = ERR_NONE;
        run_sql("update sends set status = '%s'", states[i]);
        assert_false(send_resume(&work, id, &send, &err));
        assert_int_equal(err.code, ERR_SEND_NOT_RESUMABLE);
    }
}

static int begin_empty(void **state)
{
    int status = world_reset(state);
    run_sql("delete from send_confirmations");
    return status;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_empty, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_preview_names_open_blockers),
        TEST(test_a_preview_shows_and_writes_nothing),
        TEST(test_a_preview_warns_of_what_is_so_only),
        TEST(test_a_preview_of_a_list_counts_whom_it_reaches),
        TEST(test_a_preview_is_short_and_visible),
        TEST(test_strangers_and_the_skipped_are_confirmed),
        TEST(test_recipients_are_counted_when_they_are_known),
        TEST(test_a_preview_has_no_link_of_a_person),
        TEST(test_the_threshold),
        TEST(test_recipients_are_counted_before_the_lock),
        TEST(test_a_preview_waits_for_no_send),
        TEST(test_a_token_sends_once),
        TEST(test_a_token_outlives_a_refusal),
        TEST(test_a_token_is_for_one_order),
        TEST(test_a_token_is_for_one_version),
        TEST(test_a_token_is_for_one_caller),
        TEST(test_a_token_expires),
        TEST(test_a_token_is_for_so_many),
        TEST(test_used_tokens_are_forgotten),
        TEST(test_only_a_gradual_send_can_be_paused),
        TEST(test_a_manual_pause_ends_by_hand),
        TEST(test_a_pause_for_the_plan_stays),
    };
    return cmocka_run_group_tests_name("engine_sends_confirm", tests, world_begin, world_end);
}
