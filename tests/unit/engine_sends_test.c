/*
 * Sends: what is refused, how a campaign is expanded and delivered, and that a
 * crash at any step neither misses nor doubles a recipient.
 */
#include "engine_world.h"

#include "engine/ledger/ledger.h"
#include "engine/sends/delivery.h"
#include "engine/sends/sends.h"
#include "engine/sends/test_message.h"

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
    run_sql("insert into contacts (brand_id, email, email_key, first_name, source, subscribed, custom_fields, created_at, updated_at)"
            "select %lld, 'reader' || n || '@example.com', 'reader' || n || '@example.com', 'Reader ' || n, 'API', true,"
            "       jsonb_build_object('city', 'City ' || n), now(), now() from generate_series(1, %d) n",
            (long long)work.brand_id, count);
}

static struct send_order order_to_all(int64_t email_id)
{
    return (struct send_order){
        .email_id = email_id, .domain_id = sandbox_id(), .audience = "all", .subject = "News for {{ firstName | default: 'you' }}"
    };
}

/* As the handler does it: the send, its job, and their bond. */
static int64_t create_send(const struct send_order *order, int64_t *ret_job_id)
{
    struct error err;
    struct send_accepted accepted;
    assert_ok(send_create(&work, order, &accepted, &err), &err);
    const char *payload = arena_printf(arena, "{\"sendId\":%lld}", (long long)accepted.id);
    assert_ok(ledger_enqueue(&work, "campaign", payload, work.now_us, NULL, ret_job_id, &err), &err);
    assert_ok(send_set_job(&work, accepted.id, *ret_job_id, &err), &err);
    return accepted.id;
}

/* ---- The outbox ---- */

static size_t outbox_count(void)
{
    struct outbox_usage usage;
    struct error err;
    assert_ok(outbox_measure(outbox, &usage, &err), &err);
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

static char *outbox_read(const char *name)
{
    FILE *file = fopen(arena_printf(arena, "%s/new/%s", outbox_path, name), "r");
    assert_non_null(file);
    char *bytes = arena_alloc(arena, 65536);
    bytes[fread(bytes, 1, 65535, file)] = '\0';
    fclose(file);
    return bytes;
}

/* ---- Workers ---- */

static void run_workers_until(const char *sql, int64_t wanted)
{
    struct job_services services = { .outbox = outbox, .worker_name = "posthorn unit test" };
    struct workers *workers = workers_start(installation, &services, 2);
    int64_t until_us = clock_monotonic_us() + 30 * US_PER_S;
    while (number_of(sql) != wanted && clock_monotonic_us() < until_us)
        usleep(20000);
    workers_stop(workers);
    assert_int_equal(number_of(sql), wanted);
}

static void test_campaign_reaches_everybody_once(void **state)
{
    (void)state;
    make_contacts(1234);
    run_sql("update contacts set subscribed = false where email = 'reader7@example.com'");
    outbox_empty();
    int64_t job_id;
    struct send_order order = order_to_all(design_of(html, text));
    int64_t send_id = create_send(&order, &job_id);
    run_workers_until("select count(*) from jobs where state in ('queued', 'running')", 0);

    assert_int_equal(number_of("select count(*) from sends where status = 'completed'"), 1);
    assert_int_equal(number_of("select recipient_count from sends"), 1233);
    assert_int_equal(outbox_count(), 1233);
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered'"), 1233);
    assert_int_equal(number_of("select count(*) from events where event_type = 'sent'"), 1233);
    assert_int_equal(number_of("select count(distinct recipient_key) from events where event_type = 'delivered'"), 1233);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type = 'sent'"), 1233);
    assert_int_equal(number_of("select delivered from send_stats"), 1233);
    assert_int_equal(number_of("select sent from email_usage"), 1233);

    char *message = outbox_read(arena_printf(arena, "%s.1", work_id(&work, ID_SEND, send_id)));
    assert_non_null(strstr(message, "To: reader1@example.com\r\n"));
    assert_non_null(strstr(message, "Subject: News for Reader 1\r\n"));
    assert_non_null(strstr(message, "Hello Reader 1 from City 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_campaign_reaches_everybody_once),
    };
    return cmocka_run_group_tests_name("engine_sends", tests, world_begin, world_end);
}
