/*
 * Sends: refusals, expansion and delivery of a campaign. A crash at any step neither
 * loses nor duplicates a recipient.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/analytics/partitions.h"
#include "engine/delivery/delivery.h"
#include "engine/events/recipient_events.h"
#include "engine/ledger/ledger.h"
#include "engine/operator/operator.h"
#include "engine/reports/reports.h"
#include "engine/sends/explain.h"
#include "engine/sends/sends.h"
#include "engine/sends/test_message.h"
#include "sender/crash_slots.h"
#include "sender/journal.h"
#include "sql/leasing.h"

#include <dirent.h>

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body class=\"a>b\"><p>Hello "
                           "{{ firstName | default: 'there' }} from {{ customFields.city | default: 'nowhere' }}</p>"
                           "<a href=\"{{ unsubscribeUrl }}\">Leave</a></body></html>";
static const char text[] = "Hello {{ firstName | default: 'there' }}\n";

static int64_t sandbox_id(void)
{
    return number_of("select min(id) from domains where kind = 'sandbox'");
}

static void make_contacts(int count)
{
    run_sql(
        "insert into contacts (brand_id, email, email_key, first_name, source, subscribed, custom_fields, created_at, updated_at)"
        "select %lld, 'reader' || n || '@example.com', 'reader' || n || '@example.com', 'Reader ' || n, 'API', true,"
        "       jsonb_build_object('city', 'City ' || n), now(), now() from generate_series(1, %d) n",
        (long long)work.brand_id, count);
}

static struct send_request send_request_to_all(int64_t email_id)
{
    return (struct send_request){
        .email_id = email_id, .domain_id = sandbox_id(), .audience = "all", .subject = "News for {{ firstName | default: 'you' }}"
    };
}

/* As the handler does it: the send, its job, and their bond. */
static int64_t create_send(const struct send_request *request, int64_t *ret_job_id)
{
    struct error err;
    struct send_accepted accepted;
    assert_ok(send_create(&work, request, &accepted, &err), &err);
    struct campaign_payload payload = { .send_id = accepted.id };
    assert_ok(ledger_enqueue(&work, campaign_job(arena, &payload), work.now_us, NULL, ret_job_id, &err), &err);
    assert_ok(send_set_job(&work, accepted.id, *ret_job_id, &err), &err);
    return accepted.id;
}

/* ---- The outbox ---- */

static size_t outbox_count(void)
{
    struct capture_amount usage;
    struct error err;
    assert_ok(capture_maildir_measure(outbox, &usage, &err), &err);
    return usage.messages;
}

static void outbox_empty(void)
{
    char *path = arena_printf(arena, "%s/new", outbox_path);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (entry->d_name[0] != '.')
            unlink(arena_printf(arena, "%s/%s", path, entry->d_name));
    closedir(dir);
}

/* With the soft line breaks of quoted-printable (RFC 2045 §6.7) taken out. */
static char *outbox_read(const char *id)
{
    FILE *file = outbox_open(id);
    char *bytes = arena_alloc(arena, 65536);
    bytes[fread(bytes, 1, 65535, file)] = '\0';
    fclose(file);
    for (char *soft = strstr(bytes, "=\r\n"); soft != NULL; soft = strstr(soft, "=\r\n"))
        memmove(soft, soft + 3, strlen(soft + 3) + 1);
    return bytes;
}

static void run_workers_until(const char *sql, int64_t wanted)
{
    run_until((struct job_services){ .outbox = outbox }, sql, wanted);
}

static void test_campaign_reaches_everybody_once(void **state)
{
    (void)state;
    make_contacts(1234);
    run_sql("update contacts set subscribed = false where email = 'reader7@example.com'");
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    run_workers_until(nothing_to_do, 0);

    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
    assert_int_equal(number_of("select recipient_count from sends"), 1233);
    assert_int_equal(outbox_count(), 1233);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered'"), 1233);
    assert_int_equal(number_of("select count(*) from events where event_type = 'sent'"), 1233);
    assert_int_equal(number_of("select count(distinct recipient_key) from events where event_type = 'delivered'"), 1233);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type = 'sent'"), 1233);
    assert_int_equal(number_of("select delivered from send_stats"), 1233);
    assert_int_equal(number_of("select sent from email_usage"), 1233);

    int64_t ordinal = number_of("select ordinal from send_recipients where email = 'reader1@example.com'");
    char *message = outbox_read(arena_printf(arena, "%s.%lld", work_id(&work, ID_SEND, send_id), (long long)ordinal));
    assert_non_null(strstr(message, "To: reader1@example.com\r\n"));
    assert_non_null(strstr(message, "Subject: News for Reader 1\r\n"));
    assert_non_null(strstr(message, "Hello Reader 1 from City 1"));
}

/* A number can be counted with, and what is false does not hold, although both travel as text. */
static void test_campaign_knows_the_types_of_fields(void **state)
{
    (void)state;
    make_contacts(1);
    run_sql("update contacts set custom_fields = '{\"vip\": false, \"visits\": 41, \"tags\": [\"x\", \"y\"], \"none\": null}'");
    outbox_empty();
    int64_t job_id;
    const char *design =
        "{% if vip %}yes{% else %}no{% endif %} {{ visits | plus: 1 }} {{ contact.tags | join: '+' }} {{ none | default: 'nil' }}";
    struct send_request request =
        send_request_to_all(design_of(arena_printf(arena, "<html><body><p>%s</p></body></html>", design), design));
    int64_t send_id = create_send(&request, &job_id);
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    char *message = outbox_read(arena_printf(arena, "%s.1", work_id(&work, ID_SEND, send_id)));
    assert_non_null(strstr(message, "<p>no 42 x+y nil</p>"));
    assert_non_null(strstr(message, "\r\n\r\nno 42 x+y nil"));
}

/* ---- Refusals ---- */

static void assert_refused(const struct send_request *request, enum error_code code, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct send_accepted accepted;
    assert_false(send_create(&work, request, &accepted, &err));
    if (err.code != code || strcmp(err.param, param) != 0)
        fail_msg("%s %s instead of %s %s: %s", error_info(err.code)->name, err.param, error_info(code)->name, param, err.message);
}

static const char *const one_address[] = { "reader1@example.com" };

static struct send_request send_request_to_one(int64_t email_id)
{
    struct send_request request = send_request_to_all(email_id);
    request.audience = NULL;
    request.to = (struct text_list){ one_address, 1 };
    return request;
}

static void test_target_is_exactly_one(void **state) /* R-245, R-247 */
{
    (void)state;
    int64_t email_id = design_of(html, text);
    struct send_request both = send_request_to_one(email_id);
    both.audience = "all";
    assert_refused(&both, ERR_INVALID_REQUEST, "to");
    struct send_request none = send_request_to_all(email_id);
    none.audience = NULL;
    assert_refused(&none, ERR_INVALID_REQUEST, "audienceId");

    const char *many[SEND_INLINE_MAX + 1];
    for (size_t i = 0; i < ARRAY_COUNT(many); i++)
        many[i] = one_address[0];
    struct send_request crowd = send_request_to_one(email_id);
    crowd.to = (struct text_list){ many, ARRAY_COUNT(many) };
    assert_refused(&crowd, ERR_INVALID_REQUEST, "to");

    static const char *const broken[] = { "fine@example.com", "broken@" };
    struct send_request bad = send_request_to_one(email_id);
    bad.to = (struct text_list){ broken, 2 };
    assert_refused(&bad, ERR_INVALID_REQUEST, "to.1");
}

static void test_texts_are_checked(void **state)
{
    (void)state;
    struct send_request request = send_request_to_one(design_of(html, text));
    request.subject = "Hello {{ firstName";
    assert_refused(&request, ERR_INVALID_REQUEST, "subject");
    request.subject = "two\r\nBcc: lines@example.com";
    assert_refused(&request, ERR_INVALID_REQUEST, "subject");
    request.subject = "Fine";
    request.from_email = "me@other.example";
    assert_refused(&request, ERR_INVALID_REQUEST, "from.email");
    request.from_email = "me@sandbox.posthorn.localhost";
    request.from_name = "A\nB";
    assert_refused(&request, ERR_INVALID_REQUEST, "from.name");
    request.from_name = NULL;
    request.reply_to = "nobody";
    assert_refused(&request, ERR_INVALID_REQUEST, "replyTo");
    request.reply_to = NULL;
    request.preview_text = "{{ broken";
    assert_refused(&request, ERR_INVALID_REQUEST, "previewText");
    request.preview_text = NULL;
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us };
    assert_refused(&request, ERR_INVALID_REQUEST, "scheduledAt");
    request.scheduled_at_us.value = work.now_us + INT64_C(400) * 86400 * US_PER_S;
    assert_refused(&request, ERR_INVALID_REQUEST, "scheduledAt");
}

static void test_design_must_be_ready(void **state) /* R-251, R-252 */
{
    (void)state;
    struct send_request request = send_request_to_one(design_of(html, text));
    run_sql("update emails set status = 'generating'");
    assert_refused(&request, ERR_EMAIL_NOT_READY, "emailId");
    run_sql("update emails set deleted_at = now()");
    assert_refused(&request, ERR_EMAIL_NOT_FOUND, "emailId");
    assert_int_equal(number_of("select count(*) from sends"), 0);
}

static void test_domain_must_be_able(void **state) /* R-250 */
{
    (void)state;
    struct send_request request = send_request_to_one(design_of(html, text));
    request.domain_id = 987654;
    assert_refused(&request, ERR_DOMAIN_NOT_FOUND, "domainId");
    run_sql("insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)"
            "values (%lld, %lld, 'shop.example', 'sending', 'pending', 'transactional', now(), now())",
            (long long)work.brand_id, (long long)work.organization_id);
    request.domain_id = number_of("select id from domains where kind = 'sending'");
    assert_refused(&request, ERR_DOMAIN_NOT_READY, "domainId");
    run_sql("update domains set status = 'verified'");
    assert_refused(&request, ERR_DOMAIN_PURPOSE_NOT_ALLOWED, "domainId");
    run_sql("update domains set sending_purpose = 'marketing'");
    assert_refused(&request, ERR_DOMAIN_NOT_READY, "domainId");
    /* D-146: the caller can mend its arguments, so they are checked first. */
    struct send_request wrong = request;
    wrong.reply_to = "nobody";
    assert_refused(&wrong, ERR_INVALID_REQUEST, "replyTo");
    wrong = request;
    wrong.preview_text = "{{ broken";
    assert_refused(&wrong, ERR_INVALID_REQUEST, "previewText");
    wrong = request;
    wrong.confirmation = "made up";
    assert_refused(&wrong, ERR_INVALID_REQUEST, "confirmationToken");
    run_sql("insert into senders (owner, relays, state, started_at, seen_at) values"
            " ('silent', '{relay.example:25}', '[]', now(), now() - interval '61 seconds'), ('without', '{}', '[]', now(), now())");
    assert_refused(&request, ERR_DOMAIN_NOT_READY, "domainId");
    run_sql("update senders set seen_at = now() - interval '50 seconds' where owner = 'silent'");
    int64_t job_id;
    create_send(&request, &job_id);
}

static void test_another_brand_is_not_found(void **state)
{
    (void)state;
    struct send_request request = send_request_to_one(design_of(html, text));
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            "select %lld, 'Other', 'completed', now(), now() where not exists (select 1 from brands where name = 'Other')",
            (long long)work.organization_id);
    work.brand_id = number_of("select id from brands where name = 'Other'");
    assert_refused(&request, ERR_EMAIL_NOT_FOUND, "emailId");
}

static void test_somebody_must_get_it(void **state)
{
    (void)state;
    struct send_request all = send_request_to_all(design_of(html, text));
    assert_refused(&all, ERR_NO_ELIGIBLE_RECIPIENTS, "audienceId");
    make_contacts(1);
    run_sql("update contacts set subscribed = false");
    assert_refused(&all, ERR_NO_ELIGIBLE_RECIPIENTS, "audienceId");
    struct send_request one = send_request_to_one(all.email_id);
    assert_refused(&one, ERR_NO_ELIGIBLE_RECIPIENTS, "to");
    struct send_request audience = all;
    audience.audience = work_id(&work, ID_AUDIENCE, 5);
    assert_refused(&audience, ERR_AUDIENCE_NOT_FOUND, "audienceId");
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'Old', '[]', now(), now())",
            (long long)work.brand_id);
    audience.audience = work_id(&work, ID_AUDIENCE, number_of("select max(id) from audiences"));
    assert_refused(&audience, ERR_NO_ELIGIBLE_RECIPIENTS, "audienceId");
}

static void suppress(const char *key)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * sizeof(hash) + 1];
    address_hash(work.engine->address_key, key, hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("insert into suppressions (brand_id, address_hash, reason, created_at) values (%lld, '\\x%s', 'hard bounce', now())",
            (long long)work.brand_id, hex);
}

static void test_suppressed_address_is_nobody(void **state)
{
    (void)state;
    suppress("reader1@example.com");
    struct send_request request = send_request_to_one(design_of(html, text));
    assert_refused(&request, ERR_NO_ELIGIBLE_RECIPIENTS, "to");
}

/* A-03: same design and same target, with any order and spelling of the list. R-101 */
static void test_same_target_twice(void **state) /* R-101, A-03 */
{
    (void)state;
    static const char *const list[] = { "a@example.com", "b@example.com" };
    static const char *const turned[] = { "B@example.com ", "a@example.com", "b@EXAMPLE.com" };
    int64_t job_id;
    struct send_request request = send_request_to_one(design_of(html, text));
    request.to = (struct text_list){ list, 2 };
    int64_t first = create_send(&request, &job_id);
    assert_int_equal(number_of("select recipient_count from sends"), 2);
    request.to = (struct text_list){ turned, 3 };
    assert_refused(&request, ERR_EMAIL_ALREADY_SENT, "emailId");

    struct error err = { .code = ERR_NONE };
    struct send_accepted accepted;
    assert_false(send_create(&work, &request, &accepted, &err));
    assert_non_null(strstr(err.details_json, work_id(&work, ID_SEND, first)));

    request.to = (struct text_list){ list, 1 };
    create_send(&request, &job_id);
    run_sql("update sends set status = 'failed'");
    request.to = (struct text_list){ list, 2 };
    create_send(&request, &job_id);
}

/* ---- The allowance ---- */

static void test_immediate_send_needs_room(void **state) /* A-17 */
{
    (void)state;
    make_contacts(3);
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 498)",
            (long long)work.organization_id);
    struct send_request request = send_request_to_all(design_of(html, text));
    assert_refused(&request, ERR_SEND_QUOTA_EXCEEDED, "");
    request = send_request_to_one(request.email_id);
    int64_t job_id;
    create_send(&request, &job_id);
}

static void test_scheduled_send_waits_for_room(void **state) /* R-263, R-277 */
{
    (void)state;
    make_contacts(3);
    struct send_request request = send_request_to_all(design_of(html, text));
    request.scheduled_at_us = (struct opt_int){ .set = true, .value = work.now_us + US_PER_S };
    int64_t job_id;
    create_send(&request, &job_id);
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into email_usage values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 498)",
            (long long)work.organization_id);
    outbox_empty();
    run_workers_until("select count(*) from sends where status = 'paused' and pause_reason = 'plan_limit'", 1);
    assert_int_equal(number_of("select count(*) from send_recipients"), 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued' and run_after > now()"), 1);

    run_sql("update email_usage set sent = 0; update jobs set run_after = now() - interval '1 second'");
    run_workers_until("select count(*) from sends where status = 'completed' and pause_reason is null", 1);
    assert_int_equal(outbox_count(), 3);
    assert_int_equal(number_of("select sent from email_usage"), 3);
}

/* ---- Batches that are interrupted ---- */

static struct delivery_lease_request wish_of(const char *owner)
{
    static const int64_t none[1];
    static const int64_t captured[] = { DELIVERY_CAPTURED, DELIVERY_CAPTURED | DELIVERY_URGENT };
    return (struct delivery_lease_request){
        .owner = owner, .places = { captured, ARRAY_COUNT(captured) }, .full = { none, 0 }, .put_off = { none, 0 }
    };
}

/* Takes and delivers a range, without settling it, as if the process died before the commit. */
static void deliver_without_settling(const char *owner, struct delivery_batch *batch)
{
    struct error err;
    bool found;
    struct composer *composer;
    struct delivery_lease_request wish = wish_of(owner);
    assert_ok(delivery_take_range(&work, &wish, batch, &found, &err), &err);
    assert_true(found);
    assert_ok(delivery_fetch(&work, batch, &err), &err);
    assert_ok(delivery_composer(&work, batch, &composer, &err), &err);
    for (size_t i = 0; i < batch->count; i++) {
        struct bytes message;
        if (batch->results[i].outcome == DELIVERY_SKIPPED)
            continue;
        assert_ok(delivery_compose(&work, batch, i, composer, &message, &err), &err);
        const char *name = delivery_message_name(&work, batch, i, arena);
        const struct captured_message captured = { name, work_id(&work, ID_ORG, batch->organization_id), message };
        bool is_full;
        assert_ok(capture_maildir_deliver(outbox, &captured, &is_full, &err), &err);
        batch->results[i].outcome = DELIVERY_DELIVERED;
        batch->results[i].attempts = 1;
    }
}

/* Time passes until the leases of this process are over. */
static void expire_leases(const char *owner)
{
    struct error err;
    struct delivery_expire_leases_params params = { { &owner, 1 } };
    run_sql("update send_ranges set lease_until = now() - interval '1 day' where lease_owner = '%s'", owner);
    assert_ok(sql_delivery_expire_leases(conn, arena, &params, NULL, &err), &err);
}

static void begin(int64_t send_id)
{
    struct error err;
    bool begun;
    assert_ok(delivery_begin(&work, send_id, &begun, &err), &err);
    assert_true(begun);
}

static void settle(struct delivery_batch *batch)
{
    struct error err;
    assert_ok(delivery_settle(&work, batch, &err), &err);
}

static void test_interrupted_batch_is_repeated(void **state)
{
    (void)state;
    make_contacts(700);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    struct delivery_batch batch;
    begin(send_id);
    deliver_without_settling("one that dies", &batch);
    const char *name = arena_printf(arena, "%s.77", work_id(&work, ID_SEND, send_id));
    char *before = outbox_read(name);
    assert_int_equal(outbox_count(), 500);
    assert_int_equal(number_of("select count(*) from send_results"), 0);

    work.now_us += 5 * US_PER_S; /* the second attempt is later and yet gives the same bytes */
    expire_leases("one that dies");
    deliver_without_settling("another", &batch);
    assert_true(batch.is_abandoned);
    assert_string_equal(outbox_read(name), before);
    run_sql("update send_ranges set lease_until = now() - interval '1 second' where lease_owner is not null");
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(outbox_count(), 700);
    assert_int_equal(number_of("select count(*) from send_results"), 700);
    assert_int_equal(number_of("select count(*) from events"), 1400);
    assert_int_equal(number_of("select sent from send_stats"), 700);
}

static void test_range_belongs_to_one_process(void **state)
{
    (void)state;
    make_contacts(600);
    int64_t job_id;
    struct error err;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    begin(send_id); /* a job that runs again begins nothing twice */
    struct delivery_batch mine;
    struct delivery_batch other;
    struct delivery_batch third;
    bool found;
    deliver_without_settling("me", &mine);
    deliver_without_settling("another", &other);
    assert_int_equal(mine.from_ordinal, 1);
    assert_int_equal(other.from_ordinal, 501);
    struct delivery_lease_request wish = wish_of("a third");
    assert_ok(delivery_take_range(&work, &wish, &third, &found, &err), &err);
    assert_false(found);

    settle(&mine);
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 1);
    mine.is_unsure = true;
    for (size_t i = 0; i < mine.count; i++)
        mine.results[i].is_settled = false;
    settle(&mine); /* settled twice, as when a commit came through unheard: the second says nothing */
    assert_int_equal(number_of("select count(*) from send_results"), 500);
    assert_int_equal(number_of("select delivered from send_stats"), 500);
    settle(&other);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
}

/* An expired lease frees a range only when its process has ended; a jump of the clock does not free it. */
static void test_a_living_process_keeps_its_range(void **state)
{
    (void)state;
    make_contacts(10);
    int64_t job_id;
    struct error err;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    struct delivery_batch mine;
    struct delivery_batch other;
    bool found;
    deliver_without_settling(installation_name(installation), &mine);
    expire_leases(installation_name(installation));
    struct delivery_lease_request wish = wish_of("another");
    assert_ok(delivery_take_range(&work, &wish, &other, &found, &err), &err);
    assert_false(found);
}

/* What another process has settled meanwhile stays as it is. */
static void test_a_lost_range_adds_only_what_is_new(void **state)
{
    (void)state;
    make_contacts(10);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    struct delivery_batch mine;
    struct delivery_batch other;
    deliver_without_settling("me", &mine);
    expire_leases("me");
    deliver_without_settling("another", &other);
    for (size_t i = 5; i < 10; i++)
        other.results[i].outcome = DELIVERY_OPEN;
    settle(&other);
    assert_int_equal(number_of("select count(*) from send_results"), 5);
    settle(&mine);
    assert_int_equal(number_of("select count(*) from send_results"), 10);
    assert_int_equal(number_of("select delivered from send_stats"), 10);
    assert_int_equal(number_of("select count(*) from events where event_type = 'delivered'"), 10);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 0); /* the range is the other's to close */
    for (size_t i = 5; i < 10; i++)
        other.results[i].outcome = DELIVERY_DELIVERED;
    other.is_unsure = true;
    settle(&other);
    assert_int_equal(number_of("select count(*) from send_results"), 10);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
}

/* A process took over what another one may have sent. The results that the journal of the other one proves come first; those that
 * both sent to are marked. */
static void test_a_recipient_that_two_processes_sent_to_is_uncertain(void **state)
{
    (void)state;
    make_contacts(10);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    struct delivery_batch first;
    struct delivery_batch second;
    deliver_without_settling("me", &first);
    expire_leases("me");
    deliver_without_settling("another", &second);
    assert_true(second.is_abandoned);
    for (size_t i = 6; i < 10; i++)
        first.results[i].outcome = DELIVERY_OPEN;
    first.is_unsure = first.is_part = true;
    settle(&first);
    assert_int_equal(number_of("select count(*) from send_results where uncertain"), 0);
    second.results[0].outcome = DELIVERY_BOUNCED;
    second.results[0].reason = "block";
    settle(&second);
    assert_int_equal(number_of("select count(*) from send_results"), 10);
    assert_int_equal(number_of("select count(*) from send_results where uncertain"), 9);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
}

/* The process that took a range over may end as well: a third one knows no more. */
static void test_an_abandoned_range_stays_marked(void **state)
{
    (void)state;
    make_contacts(10);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    struct delivery_batch batch;
    deliver_without_settling("me", &batch);
    assert_false(batch.is_abandoned);
    expire_leases("me");
    deliver_without_settling("another", &batch);
    run_sql("update send_ranges set lease_owner = null, lease_until = null");
    deliver_without_settling("a third", &batch);
    assert_true(batch.is_abandoned);
    settle(&batch);
    assert_int_equal(number_of("select count(*) from send_results where uncertain"), 10);
}

static size_t count_without_sessions(const char *owner)
{
    struct error err;
    struct delivery_end_sessions_params params = { { &owner, 1 } };
    struct delivery_end_sessions_row *rows;
    size_t count;
    assert_ok(sql_delivery_end_sessions(conn, arena, &params, &rows, &count, &err), &err);
    if (count > 0)
        assert_string_equal(rows[0].owner, owner);
    return count;
}

/* A session of an ended process may still lease a range. It is ended before the journal is read and the leases are released. */
static void test_recovery_waits_until_the_sessions_have_ended(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE late = NULL;
    assert_ok(installation_connect(installation, &late, &err), &err);
    assert_ok(db_script(late, "set application_name = 'ended worker'", &err), &err);
    assert_int_equal(count_without_sessions("ended worker"), 0);
    int64_t until_us = clock_monotonic_us() + 60 * US_PER_S;
    while (count_without_sessions("ended worker") == 0 && clock_monotonic_us() < until_us)
        usleep(5000);
    assert_int_equal(count_without_sessions("ended worker"), 1);
    assert_int_equal(number_of("select count(*) from pg_stat_activity where application_name = 'ended worker'"), 0);
}

/* Brands take turns, however much the first of them has. */
static void test_brands_take_turns(void **state)
{
    (void)state;
    make_contacts(1600);
    int64_t job_id;
    struct error err;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " select organization_id, 'Second', 'completed', now(), now() from brands limit 1");
    run_sql("insert into domains overriding system value select b.id, 900, organization_id, 'second.example', 'sandbox', "
            "'verified', false, 'marketing', null, null,"
            " null, now(), now(), null from brands b where name = 'Second'");
    run_sql(
        "insert into sends overriding system value select b.id, 900, s.kind, s.message_class, s.email_id, s.email_version_id, "
        "s.status, s.subject,"
        " s.subject_code, s.preview_text, s.html_code, s.from_address, s.sender_name, s.reply_to, 900, s.target, s.audience_id,"
        " s.inline_to, s.inline_keys, s.target_hash, s.recipient_count, s.scheduled_at, s.started_at, s.completed_at, s.failed_at,"
        " s.error, s.pause_reason, s.job_id, s.created_at, s.updated_at from sends s, brands b where b.name = 'Second'");
    run_sql("insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)"
            " select b.id, 900, f, f + 99, f from brands b, generate_series(1, 201, 100) f where name = 'Second'");
    int64_t brands[4];
    struct delivery_lease_request wish = wish_of("me");
    for (size_t i = 0; i < ARRAY_COUNT(brands); i++) {
        struct delivery_batch batch;
        bool found;
        assert_ok(delivery_take_range(&work, &wish, &batch, &found, &err), &err);
        assert_true(found);
        wish.after_brand = brands[i] = batch.brand_id;
    }
    assert_int_not_equal(brands[0], brands[1]);
    assert_int_equal(brands[0], brands[2]);
    assert_int_equal(brands[1], brands[3]);

    /* Retries: those of the other brand come next, although these have waited longer; and a range comes between them. */
    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            " select s.brand_id, s.id, 1, 1, '2026-01-01', timestamptz '2026-01-01' + s.id * interval '1 s' from sends s");
    int64_t ids[2];
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        struct delivery_batch batch;
        bool found;
        wish.after_brand = brands[i];
        assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
        assert_true(found);
        ids[i] = batch.brand_id;
        run_sql("update send_retries set lease_owner = null");
    }
    assert_int_equal(ids[0], brands[1]);
    assert_int_equal(ids[1], brands[0]);
    for (int range_first = 0; range_first < 2; range_first++) {
        struct delivery_batch batch;
        bool found;
        wish.range_first = range_first;
        assert_ok(delivery_take_batch(&work, &wish, &batch, &found, &err), &err);
        assert_true(found);
        assert_int_equal(batch.from_ordinal != 0, range_first);
    }
    run_sql("delete from send_retries");
    run_sql(
        "delete from send_ranges; delete from sends; delete from domains where id = 900; delete from brands where name = 'Second'");
}

/* ---- What becomes of recipients ---- */

static struct delivery_batch relayed(int count)
{
    make_contacts(count);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    struct delivery_batch batch;
    deliver_without_settling("me", &batch);
    return batch;
}

/* A hard bounce suppresses for ever, a full mailbox for a time; the reply is kept. */
static void test_bounces_suppress(void **state)
{
    (void)state;
    struct delivery_batch batch = relayed(3);
    batch.results[0] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "hard", .reply = "550 5.1.1 Unknown", .attempts = 1 };
    batch.results[1] = (struct delivery_result){ DELIVERY_BOUNCED, .mailbox_full = true, .reason = "expired",
                                                 .reply = "452 4.2.2 Full", .attempts = 9 };
    batch.results[2] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "expired", .reply = "451 4.7.1 Later", .attempts = 9 };
    settle(&batch);
    assert_int_equal(number_of("select count(*) from suppressions"), 2);
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '550 5.1.1 Unknown' and expires_at is null"
                               " and source = 'result' and reason = 'bounce'"),
                     1);
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '452 4.2.2 Full' and source = 'result'"
                               " and expires_at = created_at + interval '14 days'"),
                     1);
}

/* R-288: the report came before the result of the same message. */
static void test_a_bounce_that_was_reported_before_counts_once(void **state)
{
    (void)state;
    struct error err;
    bool is_new;
    DB_TX tx = { .conn = NULL };
    run_sql("delete from contact_activity; delete from event_rollups");
    struct delivery_batch batch = relayed(3);
    const struct recipient_event report = {
        .send_id = batch.send_id, .ordinal = batch.recipients[0].ordinal, .type = "bounced", .at_us = work.now_us
    };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, &report, 1, &is_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_true(is_new);
    batch.results[0] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "hard", .reply = "550 5.1.1 Unknown", .attempts = 1 };
    batch.results[1] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "block", .reply = "550 5.7.1 Spam", .attempts = 1 };
    settle(&batch);
    assert_int_equal(number_of("select delivered * 100 + bounced * 10 + bounced_later from send_stats"), 120);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'bounced'"), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select sum(count)::bigint from event_rollups where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select sum(count)::bigint from contact_activity where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce'"), 1);
    assert_int_equal(number_of("select sent from email_usage"), 3);
}

/* One of two transactions about the same bounce; it has a connection of its own. */
struct rival {
    pthread_t thread;
    struct delivery_batch *batch; /* settled; NULL: the bounce of its first recipient is reported */
    struct message_origin origin;
    enum report_outcome outcome;
    bool ok;
    struct error err;
};

static bool report_bounce(const struct work *mine, struct rival *rival)
{
    struct report report = { .kind = REPORT_BOUNCE,
                             .bounce = BOUNCE_BLOCK,
                             .is_matched = true,
                             .origin = rival->origin,
                             .source = "lmtp",
                             .at_us = mine->now_us };
    return report_record(mine, &report, &rival->outcome, &rival->err);
}

static void *act_as_rival(void *argument)
{
    struct rival *rival = argument;
    ARENA_SCOPE own = arena_new(0);
    DB_CONN_SCOPE link = NULL;
    DB_TX tx = { .conn = NULL };
    struct work mine = work;
    mine.arena = own;
    if (!installation_connect(installation, &link, &rival->err))
        return NULL;
    mine.conn = link;
    if (rival->batch != NULL)
        rival->ok = delivery_settle(&mine, rival->batch, &rival->err);
    else
        rival->ok = db_tx_begin(link, &tx, &rival->err) && report_bounce(&mine, rival) && db_tx_commit(&tx, &rival->err);
    return NULL;
}

static void start_rival(struct rival *rival, int64_t waiting)
{
    assert_int_equal(pthread_create(&rival->thread, NULL, act_as_rival, rival), 0);
    while (number_of("select count(*) from pg_locks where not granted") < waiting)
        usleep(1000);
}

static void end_rival(struct rival *rival)
{
    pthread_join(rival->thread, NULL);
    assert_ok(rival->ok, &rival->err);
}

/* A block suppresses nobody: no other lock makes the two wait for each other. */
static struct delivery_batch bounced_batch(void)
{
    run_sql("delete from contact_activity; delete from event_rollups");
    struct delivery_batch batch = relayed(3);
    batch.results[0] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "block", .reply = "550 5.7.1 Spam", .attempts = 1 };
    return batch;
}

static void assert_one_bounce(void)
{
    assert_int_equal(number_of("select delivered * 100 + bounced * 10 + bounced_later from send_stats"), 210);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'bounced'"), 1);
    assert_int_equal(number_of("select count(*) from events where event_type = 'bounced'"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type = 'bounced'"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from event_rollups where event_type = 'bounced'"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from contact_activity where event_type = 'bounced'"), 1);
}

/* R-288: the settlement begins before the report has committed. */
static void test_a_bounce_that_is_reported_meanwhile_counts_once(void **state)
{
    (void)state;
    struct error err;
    DB_TX tx = { .conn = NULL };
    struct delivery_batch batch = bounced_batch();
    struct rival report = { .origin = { work.brand_id, batch.send_id, batch.recipients[0].ordinal } };
    struct rival settlement = { .batch = &batch };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(report_bounce(&work, &report), &report.err);
    start_rival(&settlement, 1);
    assert_ok(db_tx_commit(&tx, &err), &err);
    end_rival(&settlement);
    assert_int_equal(report.outcome, REPORT_APPLIED);
    assert_one_bounce();
}

/* R-288: the report comes before the settlement has committed. */
static void test_a_bounce_that_is_settled_meanwhile_counts_once(void **state)
{
    (void)state;
    struct error err;
    DB_TX tx = { .conn = NULL };
    struct delivery_batch batch = bounced_batch();
    struct rival report = { .origin = { work.brand_id, batch.send_id, batch.recipients[0].ordinal } };
    struct rival settlement = { .batch = &batch };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_sql("update send_stats set opened = opened");
    start_rival(&settlement, 1);
    start_rival(&report, 2);
    assert_ok(db_tx_commit(&tx, &err), &err);
    end_rival(&settlement);
    end_rival(&report);
    assert_int_equal(report.outcome, REPORT_REPEATED);
    assert_one_bounce();
}

/* R-261, R-262: figures, events and results count the same recipients. */
static void test_every_outcome_is_counted_once(void **state)
{
    (void)state;
    struct delivery_batch batch = relayed(6);
    batch.results[0] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "hard", .reply = "550 5.1.1 Unknown", .attempts = 1 };
    batch.results[1] = (struct delivery_result){ DELIVERY_BOUNCED, .reason = "block", .reply = "550 5.7.1 Spam", .attempts = 1 };
    batch.results[2] = (struct delivery_result){ DELIVERY_HELD, .uncertain = true, .attempts = 1 };
    batch.results[3] =
        (struct delivery_result){ DELIVERY_LATER, .reply = "451 4.7.1 Later", .attempts = 1, .due_us = work.now_us - US_PER_S };
    settle(&batch);
    assert_int_equal(number_of("select count(*) from send_results"), 5);
    assert_int_equal(number_of("select count(*) from send_retries where attempts = 1 and reply like '451%'"), 1);
    assert_int_equal(number_of("select bounced from send_stats"), 2);
    assert_int_equal(number_of("select held from send_stats"), 1);
    assert_int_equal(number_of("select delivered from send_stats"), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'delivered'"), 2);
    assert_int_equal(number_of("select count from event_counts where event_type = 'bounced'"), 2);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce'"),
                     1); /* the block is nobody's fault there */
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 1);

    struct error err;
    bool found;
    struct delivery_batch retries;
    struct delivery_lease_request wish = wish_of("me");
    assert_ok(delivery_take_retries(&work, &wish, &retries, &found, &err), &err);
    assert_true(found);
    assert_ok(delivery_fetch(&work, &retries, &err), &err);
    assert_int_equal(retries.count, 1);
    assert_int_equal(retries.results[0].attempts, 1);
    retries.results[0] = (struct delivery_result){ DELIVERY_DELIVERED, .attempts = 2 };
    settle(&retries);
    assert_int_equal(number_of("select count(*) from send_retries"), 0);
    assert_int_equal(number_of("select delivered from send_stats"), 3);
    assert_int_equal(number_of("select attempts::bigint from send_results where attempts = 2"), 2);
    assert_int_equal(number_of("select count(*) from sends where status = 'partially_completed' and error like '1 messages may%'"),
                     1);
}

/* ---- Retries and their claims ---- */

static struct delivery_batch retried(void)
{
    struct error err;
    bool found;
    struct delivery_batch batch;
    struct delivery_lease_request wish = wish_of("me");
    assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    assert_true(found);
    assert_ok(delivery_fetch(&work, &batch, &err), &err);
    return batch;
}

static void put_off(struct delivery_batch *batch, int64_t attempts)
{
    batch->results[0] = (struct delivery_result){ DELIVERY_LATER, .attempts = attempts, .due_us = work.now_us - US_PER_S };
    settle(batch);
}

/* The commit of a settling went through unheard, and the retry was leased again, when it is settled once more. */
static void test_an_attempt_is_settled_once(void **state)
{
    (void)state;
    struct delivery_batch first = relayed(1);
    put_off(&first, 1);
    struct delivery_batch second = retried();
    put_off(&second, 2);
    struct delivery_batch third = retried();
    second.results[0].is_settled = false;
    settle(&second);
    assert_int_equal(number_of("select count(*) from send_retries where attempts = 2 and lease_owner = 'me'"), 1);
    third.results[0] = (struct delivery_result){ DELIVERY_DELIVERED, .attempts = 3 };
    settle(&third);
    assert_int_equal(number_of("select count(*) from send_retries"), 0);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
}

/* A late process has written a retry although there is a result: the result counts, and the send ends. */
static void test_a_retry_beside_a_result_goes(void **state)
{
    (void)state;
    struct delivery_batch first = relayed(1);
    put_off(&first, 1);
    run_sql("insert into send_results (brand_id, send_id, ordinal, outcome, occurred_at)"
            " select brand_id, send_id, ordinal, 'delivered', now() from send_retries");
    struct delivery_batch second = retried();
    assert_int_equal(second.count, 0);
    settle(&second);
    assert_int_equal(number_of("select count(*) from send_retries"), 0);
    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
}

/* A journal record of an earlier attempt is not mistaken for the one that was under way. */
static void test_the_journal_of_an_earlier_attempt_says_nothing(void **state)
{
    (void)state;
    struct error err;
    struct journal_mark mark = { .offset = 0 };
    struct journal *journal;
    unsigned char hash[SECRET_HASH_BYTES];
    struct journal_location location = { .data_dir = folder };
    sha256(work.engine->token_key, sizeof(work.engine->token_key), hash);
    memcpy(&location.installation, hash, sizeof(location.installation));
    struct delivery_batch first = relayed(1);
    put_off(&first, 1);
    run_sql("update send_retries set uncertain = true, lease_owner = 'gone', lease_until = now() + interval '1 day'");
    struct journal_key key = { work.organization_id, work.brand_id, first.send_id, 1, 0 };
    assert_ok(journal_open(&location, "gone", &journal, &err), &err);
    assert_true(journal_add_dot(journal, &key, &mark));
    journal_close(journal);
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(number_of("select held from send_stats"), 0);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered' and uncertain"), 1);
}

/* ---- Turns ---- */

static bool takes_range(struct delivery_lease_request request, struct delivery_batch *batch)
{
    struct error err;
    bool found;
    assert_ok(delivery_take_range(&work, &request, batch, &found, &err), &err);
    return found;
}

/* A request names the kinds of work that have room, and the brands that have enough of a kind. Urgent mail comes first. */
static void test_a_request_says_what_has_room(void **state)
{
    (void)state;
    make_contacts(1600);
    int64_t job_id;
    struct delivery_batch batch;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    request.subject = "Urgent";
    request.email_id = design_of(html, text);
    int64_t urgent = create_send(&request, &job_id);
    begin(urgent);
    run_sql("update sends set message_class = 'transactional' where id = %lld", (long long)urgent);

    struct delivery_lease_request wish = wish_of("me");
    assert_true(takes_range(wish, &batch));
    assert_int_equal(batch.send_id, urgent);
    const int64_t relayed[] = { DELIVERY_RELAYED, DELIVERY_RELAYED | DELIVERY_URGENT };
    const int64_t marketing[] = { DELIVERY_CAPTURED };
    wish.places = (struct int_list){ relayed, 2 };
    assert_false(takes_range(wish, &batch));
    wish.places = (struct int_list){ marketing, 1 };
    assert_true(takes_range(wish, &batch));
    assert_int_not_equal(batch.send_id, urgent);
    const int64_t full[] = { work.brand_id * DELIVERY_PLACES + DELIVERY_CAPTURED };
    wish.full = (struct int_list){ full, 1 };
    assert_false(takes_range(wish, &batch));
    wish = wish_of("me");
    wish.full = (struct int_list){ full, 1 };
    assert_true(takes_range(wish, &batch));
    assert_int_equal(batch.send_id, urgent);

    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            "select brand_id, send_id, ordinal, 1, now(), now() - interval '1 minute' from send_recipients where ordinal < 10");
    struct error err;
    bool found;
    assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    assert_int_equal(batch.send_id, urgent);
    assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    assert_false(found);
    wish.full = (struct int_list){ full, 0 };
    assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    assert_int_equal(batch.ordinal_count, 9);
}

/* ---- Wide recipients ---- */

/* Each has 800,000 bytes of custom fields. */
static void make_wide_contacts(int count)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)"
            "select %lld, 'wide' || n || '@example.com', 'wide' || n || '@example.com', 'API', true,"
            "       jsonb_build_object('city', 'City ' || n, 'story', repeat(md5(n::text), 25000)), now(), now()"
            "  from generate_series(1, %d) n",
            (long long)work.brand_id, count);
}

static int64_t begin_wide_send(int contacts)
{
    static const char wide[] = "<html><body><p>{{ customFields.city }} {{ customFields.story | size }}</p></body></html>";
    int64_t job_id;
    make_wide_contacts(contacts);
    outbox_empty();
    struct send_request request = send_request_to_all(design_of(wide, "{{ contact.story | size }}"));
    return create_send(&request, &job_id);
}

/* A batch holds few wide recipients, and all get their message. */
static void test_wide_recipients_are_read_by_bytes(void **state)
{
    (void)state;
    int64_t send_id = begin_wide_send(12);
    begin(send_id);
    ARENA_SCOPE small = arena_new(2 * DELIVERY_FETCH_MAX_BYTES);
    struct work own = work;
    struct error err;
    bool found;
    struct delivery_batch batch;
    struct delivery_lease_request wish = wish_of("me");
    own.arena = small;
    assert_ok(delivery_take_range(&own, &wish, &batch, &found, &err), &err);
    assert_ok(delivery_fetch(&own, &batch, &err), &err);
    assert_true(batch.is_part);
    assert_in_range(batch.count, 3, 4);
    for (size_t i = 0; i < batch.count; i++)
        batch.results[i].outcome = DELIVERY_DELIVERED;
    assert_ok(delivery_settle(&own, &batch, &err), &err);
    assert_int_equal(number_of("select count(*) from send_ranges where next_ordinal <= to_ordinal"), 1);
    run_sql("update send_ranges set lease_owner = null");
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(number_of("select delivered from send_stats"), 12);
    assert_int_equal(outbox_count(), 12 - batch.count);
    char *message = outbox_read(arena_printf(arena, "%s.12", work_id(&work, ID_SEND, send_id)));
    assert_non_null(strstr(message, " 800000"));
}

/* Retries that were not read are not in the batch, so their leases are released. */
static void test_wide_retries_are_read_by_bytes(void **state)
{
    (void)state;
    int64_t send_id = begin_wide_send(8);
    begin(send_id);
    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            "select brand_id, send_id, ordinal, 1, now(), now() - interval '1 minute' from send_recipients");
    run_sql("update send_ranges set next_ordinal = to_ordinal + 1");
    struct error err;
    bool found;
    struct delivery_batch batch;
    struct delivery_lease_request wish = wish_of("me");
    assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    assert_int_equal(batch.ordinal_count, 8);
    assert_ok(delivery_fetch(&work, &batch, &err), &err);
    assert_in_range(batch.count, 3, 4);
    assert_int_equal(batch.ordinal_count, batch.count);
    assert_int_equal(batch.ordinals[batch.count - 1], batch.recipients[batch.count - 1].ordinal);
    run_sql("update send_retries set lease_owner = null");
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(number_of("select delivered from send_stats"), 8);
}

/* What a process leaves that was killed while it worked on this recipient or range. */
static void leave_crash(enum crash_slot_kind kind, int64_t send_id, int64_t ordinal)
{
    struct error err;
    struct journal *journal;
    unsigned char hash[SECRET_HASH_BYTES];
    struct journal_location location = { .data_dir = folder };
    sha256(work.engine->token_key, sizeof(work.engine->token_key), hash);
    memcpy(&location.installation, hash, sizeof(location.installation));
    run_sql("update send_ranges set lease_owner = 'gone', lease_until = now() + interval '1 day', started_at = now()");
    assert_ok(journal_open(&location, "gone", &journal, &err), &err);
    struct crash_slots *slots = crash_slots_open(folder, "gone");
    crash_slot_fill(crash_slot_of(slots, 5), kind, work.brand_id, send_id, ordinal);
    crash_slots_close(slots, false);
    journal_close(journal);
}

/* The send is paused meanwhile, so that only recovery touches it. */
static void crash_three_times(enum crash_slot_kind kind, int64_t send_id, int64_t ordinal)
{
    run_sql("update sends set status = 'paused', pause_reason = 'manual'");
    for (int crash = 1; crash <= CRASHES_MAX; crash++) {
        assert_int_equal(number_of("select count(*) from send_results where outcome = 'failed'"), 0);
        leave_crash(kind, send_id, ordinal);
        run_workers_until("select count(*) from send_ranges where lease_owner is null",
                          number_of("select count(*) from send_ranges"));
        assert_int_equal(number_of("select crashes::bigint from send_crashes"), crash);
    }
}

static void test_a_recipient_that_ends_its_process_is_set_aside(void **state)
{
    (void)state;
    make_contacts(10);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    crash_three_times(CRASH_SLOT_RECIPIENT, send_id, 7);
    assert_int_equal(number_of("select ordinal from send_results where outcome = 'failed'"), 7);
    run_sql("update sends set status = 'running', pause_reason = null");
    run_workers_until("select count(*) from sends where status = 'partially_completed'", 1);
    assert_int_equal(outbox_count(), 9);

    struct error err;
    const char *email =
        arena_printf(arena, "reader%lld@example.com",
                     (long long)number_of("select substring(email from '[0-9]+')::bigint from send_recipients where ordinal = 7"));
    struct buf *out = buf_in_arena(arena, 65536);
    struct json_writer json;
    json_writer_init(&json, out);
    assert_ok(send_why(&work, email, send_id, &json, &err), &err);
    assert_non_null(strstr(buf_text(out), "the sender ended three times while it composed this message"));
}

static void test_a_range_that_ends_its_process_is_set_aside(void **state)
{
    (void)state;
    make_contacts(510);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    crash_three_times(CRASH_SLOT_RANGE, send_id, 501);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'failed' and ordinal > 500"), 10);
    run_sql("update sends set status = 'running', pause_reason = null");
    run_workers_until("select count(*) from sends where status = 'partially_completed'", 1);
    assert_int_equal(outbox_count(), 500);
}

/* Ranges of carriers and tranches begin anywhere. */
static void test_only_the_range_that_ends_its_process_is_set_aside(void **state)
{
    (void)state;
    make_contacts(510);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    run_sql("delete from send_ranges; insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)"
            " select %lld, %lld, f, t, f from (values (1, 2), (3, 17), (18, 505), (506, 510)) as r (f, t)",
            (long long)work.brand_id, (long long)send_id);
    crash_three_times(CRASH_SLOT_RANGE, send_id, 20);
    assert_int_equal(number_of("select ordinal from send_crashes"), 18);
    assert_int_equal(number_of("select count(*) from send_results"), 488);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'failed' and ordinal between 18 and 505"), 488);
    run_sql("update sends set status = 'running', pause_reason = null;"
            "insert into send_crashes values (%lld, %lld, 3, true, 2, now()), (%lld, %lld, 506, true, 2, now())",
            (long long)work.brand_id, (long long)send_id, (long long)work.brand_id, (long long)send_id);
    run_workers_until("select count(*) from sends where status = 'partially_completed'", 1);
    assert_int_equal(outbox_count(), 22);
    assert_int_equal(number_of("select count(*) from send_crashes where ordinal <> 18"), 0);
}

/* Only crashes in a row count: a range that could be read meanwhile is not to blame. */
static void test_a_range_that_is_read_loses_its_crashes(void **state)
{
    (void)state;
    make_contacts(10);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    run_sql("insert into send_crashes values (%lld, %lld, 1, true, 2, now())", (long long)work.brand_id, (long long)send_id);
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(number_of("select count(*) from send_crashes"), 0);
    assert_int_equal(outbox_count(), 10);
}

/* The operator can stop what the API may not: a running send. */
static void test_the_operator_stops_a_running_send(void **state)
{
    (void)state;
    make_contacts(10);
    int64_t job_id;
    struct error err = { .code = ERR_NONE };
    const char *status;
    struct operator_canceled canceled;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    const char *wire_id = work_id(&work, ID_SEND, send_id);
    begin(send_id);
    assert_ok(operator_pause_send(&work, wire_id, &status, &err), &err);
    assert_string_equal(status, "paused");
    assert_int_equal(number_of("select count(*) from sends where status = 'paused' and pause_reason = 'manual'"), 1);
    run_sql("update sends set status = 'running', pause_reason = null");
    assert_ok(operator_cancel_send(&work, wire_id, &canceled, &err), &err);
    assert_string_equal(canceled.status, "canceled");
    assert_int_equal(number_of("select count(*) from audit_log where operation like 'admin.send.%'"), 2);
    assert_false(operator_pause_send(&work, "snd_0000000000000", &status, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
}

static void test_consent_is_checked_when_composing(void **state) /* R-246 */
{
    (void)state;
    make_contacts(5);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    begin(create_send(&request, &job_id));
    run_sql("update contacts set subscribed = false where email = 'reader1@example.com'");
    run_sql("delete from contacts where email = 'reader2@example.com'");
    suppress("reader3@example.com");
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    assert_int_equal(outbox_count(), 2);
    assert_int_equal(number_of("select skipped from send_stats"), 3);
    assert_int_equal(number_of("select delivered from send_stats"), 2);
    assert_int_equal(number_of("select count(*) from send_results where reason = 'suppressed'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where reason = 'unsubscribed'"), 1);
    assert_int_equal(number_of("select count(*) from send_results where reason = 'contact deleted'"), 1);
    assert_int_equal(number_of("select sent from email_usage"), 2);
}

static void test_what_cannot_be_composed_fails_alone(void **state)
{
    (void)state;
    make_contacts(3);
    run_sql("update contacts set first_name = repeat('x', 5000) where email = 'reader2@example.com'");
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    create_send(&request, &job_id);
    run_workers_until("select count(*) from sends where status = 'partially_completed'", 1);
    assert_int_equal(outbox_count(), 2);
    assert_int_equal(number_of("select failed from send_stats"), 1);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'failed' and reason <> ''"), 1);
    assert_int_equal(number_of("select sent from email_usage"), 2);
    assert_int_equal(number_of("select count(*) from sends where error is not null"), 1);
}

/* A job is leased again when its worker dies; one that kills its worker each time comes to an end. */
static void test_a_job_that_kills_its_workers_ends(void **state)
{
    (void)state;
    make_contacts(3);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    create_send(&request, &job_id);
    run_sql("update jobs set attempts = 50");
    outbox_empty();
    run_workers_until(nothing_to_do, 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'failed'"), 1);
    assert_int_equal(number_of("select count(*) from sends where status = 'failed' and error like '%broken off 50 times%'"), 1);
    assert_int_equal(outbox_count(), 0);
}

static void test_giving_up_ends_the_send(void **state)
{
    (void)state;
    make_contacts(600);
    struct error err;
    struct delivery_batch batch;
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    deliver_without_settling("me", &batch);
    settle(&batch);
    assert_ok(delivery_give_up(&work, send_id, "Delivery stopped: the design is damaged.", &err), &err);
    assert_int_equal(number_of("select count(*) from sends where status = 'partially_completed' and error like '%damaged%'"), 1);
    assert_int_equal(number_of("select sent from email_usage"), 500);
    struct delivery_batch after;
    bool found;
    struct delivery_lease_request wish = wish_of("me");
    assert_ok(delivery_take_range(&work, &wish, &after, &found, &err), &err);
    assert_false(found);
}

/* ---- Cancel ---- */

static void assert_canceled(int64_t send_id)
{
    struct error err;
    struct send_row *send;
    assert_ok(send_cancel(&work, send_id, &send, &err), &err);
    assert_string_equal(send->status, "canceled");
}

static void test_cancel_before_the_beginning(void **state) /* R-272, R-273 */
{
    (void)state;
    make_contacts(3);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    assert_canceled(send_id);
    assert_canceled(send_id);
    assert_int_equal(number_of("select count(*) from jobs where state = 'canceled'"), 1);

    /* A job that had begun its round already finds nothing to begin. */
    run_sql("update jobs set state = 'queued'");
    run_workers_until("select count(*) from jobs where state = 'done'", 1);
    assert_int_equal(outbox_count(), 0);
    assert_int_equal(number_of("select count(*) from send_recipients"), 0);
}

static void test_cancel_after_the_beginning(void **state) /* R-274, A-02 */
{
    (void)state;
    make_contacts(3);
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    struct error err = { .code = ERR_NONE };
    struct send_row *send;
    assert_false(send_cancel(&work, send_id, &send, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_CANCELLABLE);
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 1);
    run_sql("update sends set status = 'paused', pause_reason = 'plan_limit'");
    assert_canceled(send_id);
    assert_int_equal(number_of("select count(*) from sends where pause_reason is not null"), 0);
}

/* What waits in hand when a send ends has returned its allowance: those that were mailed after all are counted, once. */
static void test_an_ended_send_returns_its_allowance_once(void **state) /* R-272 */
{
    (void)state;
    make_contacts(600);
    struct error err;
    struct delivery_batch batch;
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    deliver_without_settling("me", &batch);
    assert_ok(delivery_give_up(&work, send_id, "Delivery stopped.", &err), &err);
    assert_int_equal(number_of("select sent from email_usage"), 0);
    for (size_t i = 0; i < 100; i++)
        batch.results[i].outcome = i < 50 ? DELIVERY_SKIPPED : DELIVERY_FAILED;
    settle(&batch);
    assert_int_equal(number_of("select delivered from send_stats"), 400);
    assert_int_equal(number_of("select sent from email_usage"), 400);
}

static void test_a_cancel_after_the_beginning_returns_the_allowance(void **state) /* R-272 */
{
    (void)state;
    make_contacts(1200);
    struct delivery_batch settled;
    struct delivery_batch in_hand;
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    deliver_without_settling("me", &settled);
    deliver_without_settling("me", &in_hand);
    settled.results[0].outcome = DELIVERY_SKIPPED;
    settle(&settled);
    assert_int_equal(number_of("select sent from email_usage"), 1199);
    run_sql("update sends set status = 'paused', pause_reason = 'manual'");
    in_hand.results[0].outcome = DELIVERY_SKIPPED;
    for (size_t i = 10; i < 500; i++)
        in_hand.results[i].outcome = DELIVERY_OPEN;
    settle(&in_hand);
    assert_int_equal(number_of("select sent from email_usage"), 1198);
    assert_canceled(send_id);
    assert_canceled(send_id);
    assert_int_equal(number_of("select sent from email_usage"), 499 + 9);
    in_hand.results[10].outcome = DELIVERY_DELIVERED;
    in_hand.results[11].outcome = DELIVERY_SKIPPED;
    settle(&in_hand);
    assert_int_equal(number_of("select sent from email_usage"), 499 + 10);
}

/* The last results came while the send was paused. */
static void test_resuming_a_send_without_open_recipients_ends_it(void **state) /* R-276 */
{
    (void)state;
    make_contacts(10);
    struct error err;
    struct send_row *send;
    struct delivery_batch batch;
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    int64_t send_id = create_send(&request, &job_id);
    begin(send_id);
    deliver_without_settling("me", &batch);
    run_sql("update sends set status = 'paused', pause_reason = 'manual'");
    settle(&batch);
    assert_int_equal(number_of("select count(*) from sends where status = 'paused'"), 1);
    assert_ok(send_resume(&work, send_id, &send, &err), &err);
    assert_string_equal(send->status, "completed");
}

/* The lock of an organization's allowance is not that of another use. */
static void test_advisory_locks_have_classes(void **state)
{
    (void)state;
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    for (int64_t organization = 1; organization <= 3; organization++) {
        struct delivery_allowance_lock_params lock = { .lock = ADVISORY_LOCK_ALLOWANCE, .organization_id = organization };
        assert_ok(sql_delivery_allowance_lock(conn, arena, &lock, NULL, &err), &err);
    }
    assert_ok(months_make(conn, arena, work.now_us, &err), &err);
    assert_int_equal(number_of("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"), 4);
    assert_int_equal(
        number_of("select count(distinct classid) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"), 2);
}

/* ---- The message ---- */

static void test_preview_text_is_replaced(void **state) /* R-249 */
{
    (void)state;
    make_contacts(1);
    outbox_empty();
    int64_t job_id;
    struct send_request request = send_request_to_all(design_of(html, text));
    request.preview_text = "Peek, {{ firstName }} & <you>";
    request.from_email = "Editor@sandbox.posthorn.localhost";
    request.from_name = "The Editor";
    request.reply_to = "answers@example.org";
    int64_t send_id = create_send(&request, &job_id);
    run_workers_until("select count(*) from sends where status = 'completed'", 1);
    char *message = outbox_read(arena_printf(arena, "%s.1", work_id(&work, ID_SEND, send_id)));
    char *body = strstr(message, "<body class=3D\"a>b\"><div style=3D\"display:none");
    assert_non_null(body);
    assert_non_null(strstr(body, "Peek, Reader 1 &amp; &lt;you&gt;&zwnj;"));
    assert_non_null(strstr(message, "From: The Editor <Editor@sandbox.posthorn.localhost>\r\n"));
    assert_non_null(strstr(message, "Reply-To: answers@example.org\r\n"));
    assert_non_null(strstr(message, "Precedence: bulk\r\n"));
    assert_non_null(strstr(message, "href=3D\"https://sandbox.posthorn.localhost/u/"));
}

static void test_test_message_leaves_no_trace(void **state) /* R-256, R-257 */
{
    (void)state;
    make_contacts(1);
    struct send_request request = send_request_to_one(design_of(html, text));
    request.audience = NULL;
    request.domain_id = 0;
    request.from_email = "forged@elsewhere.example";
    struct error err;
    struct test_send_payload test;
    const struct test_send_payload *read;
    assert_ok(send_check_test(&work, &request, &test, &err), &err);
    assert_ok(test_send_payload_decode(arena, test_send_job(arena, &test).payload, &read, &err), &err);
    struct bytes message;
    struct empty_values empty;
    assert_ok(send_test_compose(&work, read, 1, &message, &empty, &err), &err);
    const char *bytes = (const char *)message.data;
    assert_non_null(strstr(bytes, "From: My brand <hello@sandbox.posthorn.localhost>\r\n"));
    assert_non_null(strstr(bytes, "Hello Reader 1"));
    assert_non_null(strstr(bytes, "Precedence: bulk\r\n")); /* as a campaign's message looks */
    assert_int_equal(number_of("select count(*) from sends"), 0);
    assert_int_equal(number_of("select count(*) from events"), 0);

    request.domain_id = 4711;
    err.code = ERR_NONE;
    assert_false(send_check_test(&work, &request, &test, &err));
    assert_int_equal(err.code, ERR_DOMAIN_NOT_FOUND);
}

int main(void)
{
    if (getenv("ONLY") != NULL)
        cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        TEST(test_campaign_reaches_everybody_once),
        TEST(test_campaign_knows_the_types_of_fields),
        TEST(test_target_is_exactly_one),
        TEST(test_texts_are_checked),
        TEST(test_design_must_be_ready),
        TEST(test_domain_must_be_able),
        TEST(test_another_brand_is_not_found),
        TEST(test_somebody_must_get_it),
        TEST(test_suppressed_address_is_nobody),
        TEST(test_same_target_twice),
        TEST(test_immediate_send_needs_room),
        TEST(test_scheduled_send_waits_for_room),
        TEST(test_interrupted_batch_is_repeated),
        TEST(test_range_belongs_to_one_process),
        TEST(test_a_living_process_keeps_its_range),
        TEST(test_a_lost_range_adds_only_what_is_new),
        TEST(test_a_recipient_that_two_processes_sent_to_is_uncertain),
        TEST(test_an_abandoned_range_stays_marked),
        TEST(test_recovery_waits_until_the_sessions_have_ended),
        TEST(test_brands_take_turns),
        TEST(test_bounces_suppress),
        TEST(test_a_bounce_that_was_reported_before_counts_once),
        TEST(test_a_bounce_that_is_reported_meanwhile_counts_once),
        TEST(test_a_bounce_that_is_settled_meanwhile_counts_once),
        TEST(test_every_outcome_is_counted_once),
        TEST(test_an_attempt_is_settled_once),
        TEST(test_a_retry_beside_a_result_goes),
        TEST(test_the_journal_of_an_earlier_attempt_says_nothing),
        TEST(test_a_request_says_what_has_room),
        TEST(test_wide_recipients_are_read_by_bytes),
        TEST(test_wide_retries_are_read_by_bytes),
        TEST(test_a_recipient_that_ends_its_process_is_set_aside),
        TEST(test_a_range_that_ends_its_process_is_set_aside),
        TEST(test_only_the_range_that_ends_its_process_is_set_aside),
        TEST(test_a_range_that_is_read_loses_its_crashes),
        TEST(test_the_operator_stops_a_running_send),
        TEST(test_consent_is_checked_when_composing),
        TEST(test_what_cannot_be_composed_fails_alone),
        TEST(test_a_job_that_kills_its_workers_ends),
        TEST(test_giving_up_ends_the_send),
        TEST(test_cancel_before_the_beginning),
        TEST(test_cancel_after_the_beginning),
        TEST(test_an_ended_send_returns_its_allowance_once),
        TEST(test_a_cancel_after_the_beginning_returns_the_allowance),
        TEST(test_resuming_a_send_without_open_recipients_ends_it),
        TEST(test_advisory_locks_have_classes),
        TEST(test_preview_text_is_replaced),
        TEST(test_test_message_leaves_no_trace),
    };
    return cmocka_run_group_tests_name("engine_sends", tests, world_begin, world_end);
}
