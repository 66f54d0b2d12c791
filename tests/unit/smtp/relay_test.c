/* Relays: parsing of their addresses, and the choice of a relay when some of them fail. */
#include "smtp/relay_state.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct smtp_settings read_settings(const char *url)
{
    struct smtp_settings settings;
    const char *why = NULL;
    bool is_read = smtp_settings_read(url, &settings, &why);
    if (!is_read)
        print_error("%s: %s\n", url, why);
    assert_true(is_read);
    return settings;
}

/* ---- Addresses ---- */

static void an_address_alone_has_the_defaults(void **state)
{
    (void)state;
    struct smtp_settings settings = read_settings("smtp://mail.there.test");
    assert_string_equal(settings.name, "mail.there.test:25");
    assert_null(settings.user);
    assert_int_equal(settings.tls, SMTP_TLS_IF_OFFERED);
    assert_false(settings.takes_any_certificate);
    assert_false(settings.ignores_return_path);
    assert_int_equal(settings.connections, 10);
    assert_int_equal(settings.per_destination, 0);
    assert_int_equal(settings.messages, 1000);
    assert_int_equal(settings.timeout_s, 60);
    assert_int_equal(settings.final_timeout_s, 600);
    smtp_settings_done(&settings);
}

static void every_part_is_read(void **state)
{
    (void)state;
    struct smtp_settings settings =
        read_settings("smtp://us%40er:p%3A%2F%20w@[::1]:2525/?tls=none&connections=200&per_destination=5"
                      "&messages=7&timeout=3&final_timeout=9&verify=no&ca=%2Fdev%2Fnull&return_path=off");
    assert_string_equal(settings.name, "[::1]:2525");
    assert_string_equal(settings.user, "us@er");
    assert_string_equal(settings.password, "p:/ w");
    assert_int_equal(settings.tls, SMTP_TLS_NEVER);
    assert_true(settings.takes_any_certificate);
    assert_true(settings.ignores_return_path);
    assert_int_equal(settings.connections, 200);
    assert_int_equal(settings.per_destination, 5);
    assert_int_equal(settings.messages, 7);
    assert_int_equal(settings.timeout_s, 3);
    assert_int_equal(settings.final_timeout_s, 9);
    assert_string_equal(settings.ca_file, "/dev/null");
    smtp_settings_done(&settings);
}

static void the_port_follows_from_the_rest(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        int port;
        enum smtp_tls tls;
    } cases[] = {
        { "smtp://there.test", 25, SMTP_TLS_IF_OFFERED },
        { "smtp://u:p@there.test", 587, SMTP_TLS_REQUIRED }, /* a password needs TLS, unless told otherwise */
        { "smtp://u:p@there.test?tls=starttls", 587, SMTP_TLS_REQUIRED },
        { "smtp://u:p@there.test?tls=none", 587, SMTP_TLS_NEVER },
        { "smtps://there.test", 465, SMTP_TLS_AT_ONCE },
        { "smtps://u:p@there.test?tls=required", 465, SMTP_TLS_AT_ONCE },
        { "smtp://there.test:26?tls=required", 26, SMTP_TLS_REQUIRED },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct smtp_settings settings = read_settings(cases[i].url);
        assert_int_equal(settings.port, cases[i].port);
        assert_int_equal(settings.tls, cases[i].tls);
        smtp_settings_done(&settings);
    }
}

static void what_cannot_be_used_is_told_without_the_address(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *why;
    } cases[] = {
        { "", "form" },
        { "there.test", "form" },
        { "http://user:hush@there.test", "begin with smtp" },
        { "smtp://", "form" },
        { "smtp://user@there.test", "log-in" },
        { "smtp://:hush@there.test", "log-in" },
        { "smtp://us%0Aer:hush@there.test", "log-in" },
        { "smtp://user:hush%0D@there.test", "log-in" },
        { "smtp://user:hu/sh@there.test", "" },
        { "smtp://user:hush@there.test/path", "%XX" },
        { "smtp://there.test#hush", "%XX" },
        { "smtp://there%4.test", "a host" }, /* a_host_has_no_percent */
        { "smtp://%39", "a host" },          /* a_host_is_the_same_again: 9, and then 0.0.0.9 */
        { "smtp://there.test:0", "" },
        { "smtp://there.test:70000", "" },
        { "smtp://there.test?hush=1", "parameters are" },
        { "smtp://there.test?tls=hush", "tls must be" },
        { "smtps://there.test?tls=none", "does not allow none" },
        { "smtp://there.test?connections=0", "connections must be" },
        { "smtp://there.test?connections=201", "connections must be" },
        { "smtp://there.test?connections=1e2", "connections must be" },
        { "smtp://there.test?per_destination=-1", "per_destination must be" },
        { "smtp://there.test?reports=mailer", "reports must be ses, sendgrid or postmark" },
        { "smtp://there.test?messages=0", "messages must be" },
        { "smtp://there.test?timeout=601", "timeout must be" },
        { "smtp://there.test?final_timeout=0", "final_timeout must be" },
        { "smtp://there.test?verify=hush", "verify must be" },
        { "smtp://there.test?ca=/hush/none", "cannot be read" },
        { "smtp://there.test?tls=%zz", "malformed" },
        { "smtp://there.test?tls", "tls must be" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *urls[] = { "smtp://fine.test", cases[i].url, NULL };
        struct smtp_relays *relays = NULL;
        struct error err = { .code = ERR_NONE };
        assert_false(smtp_relays_new(urls, &relays, &err));
        if (strstr(err.message, cases[i].why) == NULL)
            print_error("%s: %s\n", cases[i].url, err.message);
        assert_non_null(strstr(err.message, cases[i].why));
        assert_non_null(strstr(err.message, "Relay 2 "));
        assert_null(strstr(err.message, "hush"));
        assert_null(strstr(err.message, "there.test"));
        assert_string_equal(err.param, "--relay");
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
    }
}

static void relays_are_one_to_eight(void **state)
{
    (void)state;
    const char *urls[SMTP_MAX_RELAYS + 2] = { NULL };
    struct smtp_relays *relays = NULL;
    struct error err = { .code = ERR_NONE };
    assert_false(smtp_relays_new(urls, &relays, &err));
    for (int i = 0; i < SMTP_MAX_RELAYS; i++)
        urls[i] = "smtp://there.test";
    error_clear(&err);
    assert_true(smtp_relays_new(urls, &relays, &err));
    assert_int_equal(smtp_relays_count(relays), SMTP_MAX_RELAYS);
    smtp_relays_free(relays);
    urls[SMTP_MAX_RELAYS] = "smtp://there.test";
    assert_false(smtp_relays_new(urls, &relays, &err));
}

/* ---- Choice of a relay ---- */

static struct smtp_relays *make_relays(const char *url)
{
    const char *urls[] = { url, NULL };
    struct smtp_relays *relays = NULL;
    struct error err = { .code = ERR_NONE };
    assert_true(smtp_relays_new(urls, &relays, &err));
    return relays;
}

static void sessions_are_counted_to_their_bound(void **state)
{
    (void)state;
    struct smtp_relays *relays = make_relays("smtp://there.test?connections=2");
    struct smtp_relay *relay = &relays->items[0];
    assert_true(smtp_relay_open(relay));
    assert_true(smtp_relay_open(relay));
    assert_false(smtp_relay_open(relay));
    smtp_relay_close(relay);
    assert_true(smtp_relay_open(relay));
    smtp_relays_free(relays);
}

static struct smtp_relay_state look(struct smtp_relays *relays)
{
    struct smtp_relay_state state;
    smtp_relay_look(relays, 0, &state);
    return state;
}

/* Lets the rest be over, without waiting for it. */
static void end_rest(struct smtp_relay *relay)
{
    relay->backoff_until_us = clock_monotonic_us();
}

static void rests_double_and_end_with_a_success(void **state)
{
    (void)state;
    struct smtp_relays *relays = make_relays("smtp://there.test");
    struct smtp_relay *relay = &relays->items[0];
    struct smtp_permit turn = { .failure_epoch = 0 };
    int64_t expected_ms = 1000;
    for (int i = 0; i < 12; i++) {
        assert_true(smtp_relay_begin(relay, &turn));
        smtp_relay_failed(relay, &turn, "it does not answer");
        struct smtp_relay_state how = look(relays);
        assert_true(how.is_resting);
        assert_in_range(how.rests_for_ms, expected_ms * 8 / 10 - 5, expected_ms * 12 / 10 + 5);
        assert_string_equal(how.trouble, "it does not answer");
        assert_false(smtp_relay_begin(relay, &turn));
        expected_ms = expected_ms * 2 < 300000 ? expected_ms * 2 : 300000;
        end_rest(relay);
    }
    assert_true(smtp_relay_begin(relay, &turn));
    smtp_relay_worked(relay, &turn, true);
    assert_false(look(relays).is_resting);
    assert_string_equal(look(relays).trouble, "");
    assert_true(smtp_relay_begin(relay, &turn));
    smtp_relay_failed(relay, &turn, "again");
    assert_in_range(look(relays).rests_for_ms, 795, 1205);
    smtp_relays_free(relays);
}

static void failures_of_one_cause_are_one_rest(void **state)
{
    (void)state;
    struct smtp_relays *relays = make_relays("smtp://there.test");
    struct smtp_relay *relay = &relays->items[0];
    struct smtp_permit turns[10] = { { .failure_epoch = 0 } };
    for (size_t i = 0; i < 10; i++)
        assert_true(smtp_relay_begin(relay, &turns[i]));
    for (size_t i = 0; i < 10; i++)
        smtp_relay_failed(relay, &turns[i], "gone");
    assert_in_range(look(relays).rests_for_ms, 700, 1205);
    smtp_relays_free(relays);
}

static void one_tries_a_relay_that_recovers(void **state)
{
    (void)state;
    struct smtp_relays *relays = make_relays("smtp://there.test");
    struct smtp_relay *relay = &relays->items[0];
    struct smtp_permit old = { .failure_epoch = 0 };
    struct smtp_permit first = { .failure_epoch = 0 };
    struct smtp_permit second = { .failure_epoch = 0 };
    assert_true(smtp_relay_begin(relay, &old));
    assert_true(smtp_relay_begin(relay, &first));
    smtp_relay_failed(relay, &first, "gone");
    end_rest(relay);
    assert_true(smtp_relay_begin(relay, &first));
    assert_false(smtp_relay_begin(relay, &first)); /* it has its message */
    assert_false(smtp_relay_begin(relay, &second));
    smtp_relay_worked(relay, &old, true); /* began before the rest: says nothing about now */
    assert_false(smtp_relay_begin(relay, &second));
    smtp_relay_abandon(relay, &first); /* nothing came of it: another one may try */
    assert_true(smtp_relay_begin(relay, &second));
    assert_false(smtp_relay_begin(relay, &first));
    smtp_relay_worked(relay, &second, false);
    assert_true(smtp_relay_begin(relay, &first));
    assert_true(smtp_relay_begin(relay, &second));
    assert_int_equal(look(relays).accepted, 1);
    assert_int_equal(look(relays).refused, 1);
    smtp_relays_free(relays);
}

/* ---- Destinations ---- */

static void destinations_are_counted_for_each_relay(void **state)
{
    (void)state;
    const char *urls[] = { "smtp://a.test?per_destination=2", "smtp://b.test?per_destination=1", "smtp://c.test", NULL };
    struct smtp_relays *relays = NULL;
    struct error err = { .code = ERR_NONE };
    assert_true(smtp_relays_new(urls, &relays, &err));
    struct smtp_relay *items = relays->items;
    uint64_t keys[3];
    for (size_t i = 0; i < 3; i++)
        keys[i] = smtp_destination_key(&items[i], "there.test", 10);
    assert_int_equal(keys[2], 0);
    assert_true(smtp_destination_take(&items[0], keys[0]));
    assert_true(smtp_destination_take(&items[0], keys[0]));
    assert_false(smtp_destination_take(&items[0], keys[0]));
    assert_true(smtp_destination_take(&items[0], smtp_destination_key(&items[0], "else.test", 9)));
    assert_true(smtp_destination_take(&items[1], keys[1]));
    assert_false(smtp_destination_take(&items[1], keys[1]));
    assert_true(smtp_destination_take(&items[2], keys[2]));
    smtp_destination_end(&items[0], keys[0]);
    assert_true(smtp_destination_take(&items[0], keys[0]));
    smtp_relays_free(relays);
}

static void counts_stay_true_while_keys_come_and_go(void **state)
{
    (void)state;
    enum { KEYS = 3200, STEPS = 200000, CLUSTER = 16 };
    static int counts[KEYS];
    struct smtp_destinations *destinations = smtp_destinations_new();
    unsigned seed = 1;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned at = (seed >> 8) % KEYS;
        uint64_t key = 1 + at % CLUSTER + (uint64_t)(at / CLUSTER) * 16384; /* many with one home */
        if ((seed >> 24) % 2 == 0 || counts[at] == 0) {
            smtp_destinations_add(destinations, key);
            counts[at]++;
        } else {
            smtp_destinations_end(destinations, key);
            counts[at]--;
        }
        assert_int_equal(smtp_destinations_count(destinations, key), counts[at]);
    }
    for (unsigned at = 0; at < KEYS; at++)
        assert_int_equal(smtp_destinations_count(destinations, 1 + at % CLUSTER + (uint64_t)(at / CLUSTER) * 16384), counts[at]);
    smtp_destinations_free(destinations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_alone_has_the_defaults),
        cmocka_unit_test(every_part_is_read),
        cmocka_unit_test(the_port_follows_from_the_rest),
        cmocka_unit_test(what_cannot_be_used_is_told_without_the_address),
        cmocka_unit_test(relays_are_one_to_eight),
        cmocka_unit_test(sessions_are_counted_to_their_bound),
        cmocka_unit_test(rests_double_and_end_with_a_success),
        cmocka_unit_test(failures_of_one_cause_are_one_rest),
        cmocka_unit_test(one_tries_a_relay_that_recovers),
        cmocka_unit_test(destinations_are_counted_for_each_relay),
        cmocka_unit_test(counts_stay_true_while_keys_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
