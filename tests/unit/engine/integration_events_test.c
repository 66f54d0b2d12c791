/*
 * Events of integrations: which proof is accepted by each scheme, which payload
 * each kind of provider gives, and bodies that are hostile (R-401, R-402, R-403,
 * D-28).
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "crypto/verify.h"
#include "engine/integrations/adapter.h"
#include "engine/integrations/connections.h"
#include "fixtures/temp_folder.h"

#include <string.h>

static const int64_t now_us = INT64_C(1800000000) * US_PER_S;
static const char secret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"; /* the example of Svix */
static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const struct integration_provider *provider_of(const char *key)
{
    struct error err = { .code = ERR_NONE };
    const struct integration_provider *provider;
    assert_ok(integration_provider_find(key, &provider, &err), &err);
    return provider;
}

static const json_t *parsed(const char *text)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_ok(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 2 * 1024 * 1024 }, &json, &err), &err);
    return json;
}

static struct proof_request request_of(const char *provider, const char *headers, const char *body)
{
    return (struct proof_request){ .provider = provider_of(provider),
                                   .headers = parsed(headers),
                                   .body = { (const unsigned char *)body, strlen(body) } };
}

static enum error_code proof_of(const char *provider, const char *key, const char *headers, const char *body, int64_t at_us)
{
    struct error err = { .code = ERR_NONE };
    struct proof_request request = request_of(provider, headers, body);
    const char *id;
    return proof_check(arena, &request, key, at_us, &id, &err) ? ERR_NONE : err.code;
}

/* ---- Proofs ---- */

/* The vector of the documentation of Svix. */
static void svix_vector_is_accepted(void **state)
{
    (void)state;
    static const char headers[] = "{\"svix-id\": \"msg_p5jXN8AQM9LWM0D4loKWxJek\", \"svix-timestamp\": \"1614265330\", "
                                  "\"svix-signature\": \"v1,AAAA v2,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"}";
    static const char body[] = "{\"test\": 2432232314}";
    int64_t at_us = INT64_C(1614265330) * US_PER_S;
    int64_t limit_us = PROOF_TOLERANCE_S * US_PER_S;
    struct error err = { .code = ERR_NONE };
    struct proof_request request = request_of("identity", headers, body);
    const char *id;
    assert_ok(proof_check(arena, &request, secret, at_us, &id, &err), &err);
    assert_string_equal(id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
    assert_int_equal(proof_of("identity", secret, headers, body, at_us + limit_us), ERR_NONE);
    assert_int_equal(proof_of("identity", secret, headers, body, at_us - limit_us), ERR_NONE);
    assert_int_equal(proof_of("identity", secret, headers, body, at_us + limit_us + 1), ERR_INVALID_REQUEST);
    assert_int_equal(proof_of("identity", secret, headers, body, at_us - limit_us - 1), ERR_INVALID_REQUEST);
    assert_int_equal(proof_of("identity", secret, headers, "{\"test\": 2432232315}", at_us), ERR_AUTHENTICATION_REQUIRED);
    assert_int_equal(proof_of("identity", secret + strlen("whsec_"), headers, body, at_us), ERR_NONE);
}

static const char *hex_signature(const char *key, const char *text)
{
    unsigned char mac[VERIFY_HMAC_BYTES];
    char *hex = arena_alloc(arena, 2 * sizeof(mac) + 1);
    verify_hmac_sha256((struct bytes){ (const unsigned char *)key, strlen(key) },
                       (struct bytes){ (const unsigned char *)text, strlen(text) }, mac);
    hex_encode(mac, sizeof(mac), hex);
    return hex;
}

/* RFC 4231 §4.3, test case 2. */
static void hmac_is_that_of_the_standard(void **state)
{
    (void)state;
    assert_string_equal(hex_signature("Jefe", "what do ya want for nothing?"),
                        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void stamped_signatures_have_the_unit_of_the_provider(void **state)
{
    (void)state;
    const char *s = hex_signature(secret, "1800000000.{}");
    const char *ms = hex_signature(secret, "1800000000000.{}");
    const char *stripe = arena_printf(arena, "{\"stripe-signature\": \"t=1800000000,v0=00,v1=ff,v1=%s\"}", s);
    const char *workos = arena_printf(arena, "{\"workos-signature\": \"t=1800000000000, v1=%s\"}", ms);
    assert_int_equal(proof_of("payments", secret, stripe, "{}", now_us), ERR_NONE);
    assert_int_equal(proof_of("directory_sync", secret, workos, "{}", now_us), ERR_NONE);
    assert_int_equal(proof_of("payments", secret, stripe, "{}", now_us + 301 * US_PER_S), ERR_INVALID_REQUEST);
    assert_int_equal(proof_of("directory_sync", secret, workos, "{}", now_us - 301 * US_PER_S), ERR_INVALID_REQUEST);
    assert_int_equal(proof_of("payments", "another secret here", stripe, "{}", now_us), ERR_AUTHENTICATION_REQUIRED);
    assert_int_equal(proof_of("payments", secret, stripe, "{ }", now_us), ERR_AUTHENTICATION_REQUIRED);
}

static void proof_without_its_parts_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        const char *headers;
    } rows[] = {
        { "identity", "{}" },
        { "identity", "{\"svix-id\": \"1\", \"svix-timestamp\": \"1800000000\"}" },
        { "identity", "{\"svix-id\": \"1\", \"svix-timestamp\": \"1800000000\", \"svix-signature\": \"\"}" },
        { "identity", "{\"svix-id\": \"1\", \"webhook-timestamp\": \"1800000000\", \"svix-signature\": \"v1,\"}" },
        { "payments", "{\"stripe-signature\": \"\"}" },
        { "payments", "{\"stripe-signature\": \"t=1800000000\"}" },
        { "payments", "{\"stripe-signature\": \"t=,v1=\"}" },
        { "payments", "{\"stripe-signature\": 7}" },
        { "directory_sync", "{\"workos-signature\": \"v1=00, v1=\"}" },
        { "ecommerce", "{\"x-shopify-hmac-sha256\": \"\"}" },
        { "ecommerce", "{}" },
        { "database", "{\"authorization\": \"Bearer \"}" },
        { "database", "{}" },
        { "in_app_purchase", "{\"authorization\": \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSW\"}" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_int_equal(proof_of(rows[i].provider, secret, rows[i].headers, "{}", now_us), ERR_AUTHENTICATION_REQUIRED);
}

static void times_that_are_no_numbers_are_stale(void **state)
{
    (void)state;
    static const char *const stamps[] = { "-1", "9223372036854775807", "99999999999999999999", "1.8e9", "x" };
    for (size_t i = 0; i < ARRAY_COUNT(stamps); i++) {
        const char *mac = hex_signature(secret, arena_printf(arena, "%s.{}", stamps[i]));
        const char *headers = arena_printf(arena, "{\"stripe-signature\": \"t=%s,v1=%s\"}", stamps[i], mac);
        assert_int_equal(proof_of("payments", secret, headers, "{}", now_us), ERR_INVALID_REQUEST);
    }
}

static void only_the_first_signatures_of_a_header_count(void **state)
{
    (void)state;
    const char *mac = hex_signature(secret, "1800000000.{}");
    const char *near = arena_printf(arena, "{\"stripe-signature\": \"t=1800000000,v1=1,v1=2,v1=3,v1=4,v1=5,v1=6,v1=%s\"}", mac);
    const char *far = arena_printf(arena, "{\"stripe-signature\": \"t=1800000000,v1=1,v1=2,v1=3,v1=4,v1=5,v1=6,v1=7,v1=%s\"}", mac);
    assert_int_equal(proof_of("payments", secret, near, "{}", now_us), ERR_NONE);
    assert_int_equal(proof_of("payments", secret, far, "{}", now_us), ERR_AUTHENTICATION_REQUIRED);
}

static void shared_secrets_may_follow_bearer(void **state)
{
    (void)state;
    const char *plain = arena_printf(arena, "{\"authorization\": \"%s\"}", secret);
    const char *bearer = arena_printf(arena, "{\"authorization\": \"bearer %s\"}", secret);
    assert_int_equal(proof_of("in_app_purchase", secret, plain, "{}", now_us), ERR_NONE);
    assert_int_equal(proof_of("database", secret, bearer, "{}", now_us), ERR_NONE);
}

static void new_secrets_can_be_used(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    for (size_t i = 0; i < integration_provider_count; i++) {
        const struct integration_provider *provider = &integration_providers[i];
        const char *made = proof_secret_new(arena, provider);
        assert_ok(proof_secret_check(provider, made, &err), &err);
        assert_string_not_equal(made, proof_secret_new(arena, provider));
    }
    assert_false(proof_secret_check(provider_of("identity"), "whsec_this is no base64", &err));
    assert_false(proof_secret_check(provider_of("identity"), "whsec_%%%%%%%%%%%%", &err));
    assert_false(proof_secret_check(provider_of("payments"), "short", &err));
}

/* ---- Payloads ---- */

static struct integration_notice read_notice(const char *provider, const char *headers, const char *body)
{
    static const char *const tables[] = { "users" };
    static const char *const columns[] = { "plan", "seats" };
    struct integration_settings settings = { .tables = { tables, 1 }, .columns = { columns, 2 } };
    struct integration_notice notice;
    struct proof_request request = request_of(provider, headers, body);
    adapter_read(arena, &request, &settings, parsed(body), NULL, &notice);
    return notice;
}

struct expected {
    const char *provider;
    const char *headers;
    const char *body;
    const char *event; /* as the trigger is named */
    const char *id;
    const char *email;
    const char *person;
    const char *payload; /* canonical */
};

static const struct expected expected_payloads[] = {
    { "identity", "{}",
      "{\"type\": \"user.created\", \"data\": {\"id\": \"user_1\", \"first_name\": \"Ada\", \"last_name\": null, \"username\": "
      "\"\", "
      "\"primary_email_address_id\": \"b\", \"email_addresses\": [{\"id\": \"a\", \"email_address\": \"old@example.com\"}, "
      "{\"id\": \"b\", \"email_address\": \"ada@example.com\"}]}}",
      "user.created", NULL, "ada@example.com", "user_1", "{\"identity_first_name\":\"Ada\",\"identity_user_id\":\"user_1\"}" },
    { "identity", "{}",
      "{\"type\": \"organization.created\", \"data\": {\"id\": \"org_1\", \"name\": \"Acme\", \"slug\": \"acme\", \"created_by\": "
      "\"user_1\"}}",
      "organization.created", NULL, NULL, "user_1",
      "{\"identity_organization_id\":\"org_1\",\"identity_organization_name\":\"Acme\",\"identity_organization_slug\":\"acme\","
      "\"identity_user_id\":\"user_1\"}" },
    { "payments", "{}",
      "{\"id\": \"evt_1\", \"type\": \"customer.subscription.updated\", \"data\": {\"object\": {\"id\": \"sub_1\", \"customer\": "
      "\"cus_1\", "
      "\"status\": \"active\", \"cancel_at_period_end\": false, \"items\": {\"data\": [{\"price\": {\"id\": \"p_1\"}}]}}}}",
      "customer.subscription.updated", "evt_1", NULL, "cus_1",
      "{\"payments_cancel_at_period_end\":false,\"payments_customer_id\":\"cus_1\",\"payments_price_id\":\"p_1\","
      "\"payments_subscription_id\":\"sub_1\",\"payments_subscription_status\":\"active\"}" },
    { "payments", "{}",
      "{\"id\": \"evt_2\", \"type\": \"invoice.paid\", \"data\": {\"object\": {\"id\": \"in_1\", \"customer\": \"cus_1\", "
      "\"customer_email\": \"ada@example.com\", \"amount_paid\": 1250, \"currency\": \"eur\"}}}",
      "invoice.paid", "evt_2", "ada@example.com", "cus_1",
      "{\"payments_amount_paid\":1250,\"payments_currency\":\"eur\",\"payments_customer_id\":\"cus_1\",\"payments_invoice_id\":"
      "\"in_1\"}" },
    { "payments", "{}",
      "{\"id\": \"evt_3\", \"type\": \"customer.deleted\", \"data\": {\"object\": {\"id\": \"cus_1\", \"email\": "
      "\"ada@example.com\"}}}",
      "customer.deleted", "evt_3", "ada@example.com", "cus_1", "{\"payments_customer_id\":\"cus_1\"}" },
    { "ecommerce", "{\"x-shopify-topic\": \"orders/paid\", \"x-shopify-event-id\": \"e-1\"}",
      "{\"id\": 820982911946154508, \"email\": \"jon@example.com\", \"name\": \"#1\", \"total_price\": \"409.94\", \"currency\": "
      "\"USD\", "
      "\"customer\": {\"id\": 115310627314723954, \"first_name\": \"Jon\"}}",
      "orders/paid", "e-1", "jon@example.com", "115310627314723954",
      "{\"ecommerce_currency\":\"USD\",\"ecommerce_customer_id\":\"115310627314723954\",\"ecommerce_first_name\":\"Jon\","
      "\"ecommerce_order_id\":\"820982911946154508\",\"ecommerce_order_name\":\"#1\",\"ecommerce_total_price\":409.94}" },
    { "ecommerce", "{\"x-shopify-topic\": \"customers/update\"}",
      "{\"id\": 7, \"email\": \"jon@example.com\", \"state\": \"enabled\"}", "customers/update", NULL, "jon@example.com", "7",
      "{\"ecommerce_customer_id\":\"7\",\"ecommerce_customer_state\":\"enabled\"}" },
    { "authentication", "{}", "{\"type\": \"session.created\", \"data\": {\"id\": \"sess_1\", \"user_id\": \"user_1\"}}",
      "session.created", NULL, NULL, "user_1", "{\"authentication_session_id\":\"sess_1\",\"authentication_user_id\":\"user_1\"}" },
    { "authentication", "{}", "{\"type\": \"user.deleted\", \"data\": {\"id\": \"user_1\", \"email\": \"ada@example.com\"}}",
      "user.deleted", NULL, "ada@example.com", "user_1", "{\"authentication_user_id\":\"user_1\"}" },
    { "database", "{\"webhook-id\": \"w-1\"}",
      "{\"type\": \"INSERT\", \"table\": \"users\", \"schema\": \"public\", \"record\": {\"id\": 5, \"email\": "
      "\"ada@example.com\", "
      "\"plan\": \"pro\", \"seats\": 3, \"password\": \"x\"}, \"old_record\": null}",
      "INSERT users", "w-1", "ada@example.com", NULL,
      "{\"database_plan\":\"pro\",\"database_row_id\":\"5\",\"database_schema\":\"public\",\"database_seats\":\"3\","
      "\"database_table\":\"users\"}" },
    { "database", "{}",
      "{\"type\": \"DELETE\", \"table\": \"users\", \"record\": null, \"old_record\": {\"id\": 5, \"email\": \"ada@example.com\"}}",
      "DELETE users", NULL, "ada@example.com", NULL, "{\"database_row_id\":\"5\",\"database_table\":\"users\"}" },
    { "directory_sync", "{}",
      "{\"id\": \"event_1\", \"event\": \"dsync.user.updated\", \"data\": {\"id\": \"du_1\", \"directory_id\": \"d_1\", \"state\": "
      "\"active\", "
      "\"emails\": [{\"value\": \"other@example.com\"}, {\"primary\": true, \"value\": \"ada@example.com\"}]}}",
      "dsync.user.updated", "event_1", "ada@example.com", "du_1",
      "{\"directory_sync_directory_id\":\"d_1\",\"directory_sync_state\":\"active\",\"directory_sync_user_id\":\"du_1\"}" },
    { "in_app_purchase", "{}",
      "{\"api_version\": \"1.0\", \"event\": {\"id\": \"e-2\", \"type\": \"RENEWAL\", \"app_user_id\": \"u1\", \"price\": 5, "
      "\"expiration_at_ms\": 1659331174000, \"subscriber_attributes\": {\"$email\": {\"value\": \"ada@example.com\"}}}}",
      "RENEWAL", "e-2", "ada@example.com", "u1",
      "{\"in_app_purchase_expires_at\":\"2022-08-01T05:19:34.000Z\",\"in_app_purchase_price\":5.0,\"in_app_purchase_user_id\":"
      "\"u1\"}" },
};

static void assert_text(const char *found, const char *expected)
{
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found != NULL ? found : "(none)", expected);
}

static void each_provider_gives_a_flat_payload(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(expected_payloads); i++) {
        const struct expected *row = &expected_payloads[i];
        struct integration_notice notice = read_notice(row->provider, row->headers, row->body);
        assert_non_null(notice.event);
        assert_text(notice.trigger_event, row->event);
        assert_text(notice.id, row->id);
        assert_text(notice.email, row->email);
        assert_text(notice.person, row->person);
        assert_string_equal(json_canonical(arena, notice.payload), row->payload);
    }
}

static void unknown_events_are_not_taken(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "payments", "{}", "{\"id\": \"evt_1\", \"type\": \"charge.failed\", \"data\": {}}" },
        { "payments", "{}", "{\"id\": \"evt_1\", \"type\": 7}" },
        { "payments", "{}", "{}" },
        { "ecommerce", "{}", "{\"email\": \"ada@example.com\"}" },
        { "database", "{}", "{\"type\": \"INSERT\", \"table\": \"secrets\", \"record\": {\"email\": \"ada@example.com\"}}" },
        { "database", "{}", "{\"type\": \"INSERT\", \"record\": {\"email\": \"ada@example.com\"}}" },
        { "database", "{}", "{\"type\": \"TRUNCATE\", \"table\": \"users\"}" },
        { "in_app_purchase", "{}", "{\"event\": [], \"type\": \"RENEWAL\"}" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_null(read_notice(rows[i][0], rows[i][1], rows[i][2]).event);
}

/* Every value that the mapping reads is replaced by one of another type, at every depth. */
static void values_of_other_types_are_left_out(void **state)
{
    (void)state;
    static const char *const values[] = {
        "null", "7", "-1.5e300", "true", "\"\"", "[]", "{}", "[[[]]]", "[null, {}]", "{\"id\": {\"id\": []}}", "9223372036854775807"
    };
    static const char *const bodies[] = {
        "{\"type\": \"user.created\", \"data\": %s}",
        "{\"type\": \"user.created\", \"data\": {\"id\": %s, \"primary_email_address_id\": %s, \"email_addresses\": %s}}",
        "{\"type\": \"user.created\", \"data\": {\"email_addresses\": [%s, {\"id\": %s, \"email_address\": %s}]}}",
    };
    for (size_t body = 0; body < ARRAY_COUNT(bodies); body++)
        for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
            const char *parts[3] = { values[i], values[(i + 1) % ARRAY_COUNT(values)], values[(i + 2) % ARRAY_COUNT(values)] };
            struct buf *text = buf_in_arena(arena, 4096);
            size_t part = 0;
            for (const char *at = bodies[body]; *at != '\0'; at++) {
                if (at[0] == '%') {
                    buf_add_text(text, parts[part++]);
                    at++;
                } else {
                    buf_add(text, at, 1);
                }
            }
            struct integration_notice notice = read_notice("identity", "{}", buf_text(text));
            assert_non_null(notice.event);
            assert_null(notice.email);
            const char *key;
            json_t *value;
            json_object_foreach (notice.payload, key, value)
                assert_true(json_is_string(value) && json_string_length(value) > 0);
        }
}

static void texts_are_cleaned_and_bounded(void **state)
{
    (void)state;
    char *name = arena_alloc(arena, 5001);
    memset(name, 'x', 5000);
    const char *body = arena_printf(arena,
                                    "{\"type\": \"user.created\", \"data\": {\"id\": \"a\\u0007\\u200bb\", \"first_name\": \"%s\", "
                                    "\"email\": \"%s@example.com\"}}",
                                    name, name);
    struct integration_notice notice = read_notice("identity", "{}", body);
    assert_string_equal(json_get_text(notice.payload, "identity_user_id"), "ab");
    assert_int_equal(strlen(json_get_text(notice.payload, "identity_first_name")), INTEGRATION_TEXT_MAX_CHARS);
    assert_null(notice.email);
}

static void paths_find_values(void **state)
{
    (void)state;
    const json_t *body =
        parsed("{\"a\": {\"b\": [{\"x\": \"1\", \"y\": 10}, {\"x\": \"2\", \"y\": 20, \"on\": true}]}, \"want\": {\"id\": \"2\"}}");
    static const struct {
        const char *path;
        int64_t found; /* -1: nothing */
    } rows[] = {
        { "a.b[0].y", 10 },
        { "a.b[1].y", 20 },
        { "a.b[2].y", -1 },
        { "a.b[on].y", 20 },
        { "a.b[x=want.id].y", 20 },
        { "a.b[x=want].y", -1 },
        { "a.b[-1].y", -1 },
        { "a.c.y", -1 },
        { "a.b.y", -1 },
        { "want[0]", -1 },
        { "a[on].y", -1 },
        { "a.b[1]", -1 },
        { "a.b[x=nothing.id].y", -1 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const json_t *value = adapter_find(body, rows[i].path);
        assert_int_equal(json_is_integer(value) ? json_integer_value(value) : -1, rows[i].found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(svix_vector_is_accepted, begin, end),
        cmocka_unit_test_setup_teardown(hmac_is_that_of_the_standard, begin, end),
        cmocka_unit_test_setup_teardown(stamped_signatures_have_the_unit_of_the_provider, begin, end),
        cmocka_unit_test_setup_teardown(proof_without_its_parts_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(times_that_are_no_numbers_are_stale, begin, end),
        cmocka_unit_test_setup_teardown(only_the_first_signatures_of_a_header_count, begin, end),
        cmocka_unit_test_setup_teardown(shared_secrets_may_follow_bearer, begin, end),
        cmocka_unit_test_setup_teardown(new_secrets_can_be_used, begin, end),
        cmocka_unit_test_setup_teardown(each_provider_gives_a_flat_payload, begin, end),
        cmocka_unit_test_setup_teardown(unknown_events_are_not_taken, begin, end),
        cmocka_unit_test_setup_teardown(values_of_other_types_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(texts_are_cleaned_and_bounded, begin, end),
        cmocka_unit_test_setup_teardown(paths_find_values, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
