/* SMTP client against relays with and without faults: its commands, and the result of each message. */
#include "smtp/event_loop.h"

#include "base/clock.h"
#include "fixtures/fake_relay.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_LETTERS = 512, LONG_MS = 60 * 1000, SHORT_MS = 500 };

/* ---- Letters, given out in order, and what became of them ---- */

struct letter {
    const char *return_path; /* NULL: none */
    const char *from;        /* NULL: sender@from.test */
    const char *to;
    const char *head; /* the first part; NULL: none */
    const char *body; /* NULL: a short message */
    bool needs_smtputf8;
    bool forbids_dot; /* before_dot says no */

    int dots;       /* calls of before_dot */
    int64_t dot_us; /* the last of them; monotonic */
    int ends;       /* calls of done */
    struct smtp_outcome outcome;
};

struct post {
    struct letter *letters;
    size_t count;
    size_t next;
    size_t ended;
    size_t end_at;    /* the loops stop when so many have ended; 0: all */
    bool gives_again; /* what was not sent */
    int given_again;
    pthread_mutex_t lock;
    struct smtp_event_loop *loops[4];
    int loop_count;
    struct smtp_relays *relays;
    int most_under_way; /* to busy.test */
    int under_way;
    int peeks; /* runs on each before_dot */
    void (*at_dot)(struct post *post, struct letter *letter);
    int stop_ms; /* how long a loop that stops waits for replies; 0: LONG_MS */
};

static bool next(void *context, struct smtp_message *ret_message)
{
    static const char short_body[] = "Subject: Hello\r\n\r\nHello.\r\n";
    struct post *post = context;
    pthread_mutex_lock(&post->lock);
    struct letter *letter = post->next < post->count ? &post->letters[post->next] : NULL;
    bool is_busy = letter != NULL && strstr(letter->to, "@busy.test") != NULL;
    if (is_busy && !smtp_event_loop_has_room(post->loops[0], "busy.test"))
        letter = NULL;
    if (letter != NULL) {
        const char *body = letter->body != NULL ? letter->body : short_body;
        const char *head = letter->head != NULL ? letter->head : "";
        post->next++;
        post->under_way += is_busy;
        post->most_under_way = post->under_way > post->most_under_way ? post->under_way : post->most_under_way;
        *ret_message = (struct smtp_message){
            .tag = letter,
            .mail_from = letter->from != NULL ? letter->from : "sender@from.test",
            .return_path = letter->return_path,
            .rcpt_to = letter->to,
            .needs_smtputf8 = letter->needs_smtputf8,
            .parts = { { (const unsigned char *)head, strlen(head) }, { (const unsigned char *)body, strlen(body) } },
        };
    }
    pthread_mutex_unlock(&post->lock);
    return letter != NULL;
}

static bool before_dot(void *context, void *tag)
{
    struct post *post = context;
    struct letter *letter = tag;
    pthread_mutex_lock(&post->lock);
    letter->dots++;
    letter->dot_us = clock_monotonic_us();
    if (post->at_dot != NULL)
        post->at_dot(post, letter);
    pthread_mutex_unlock(&post->lock);
    return !letter->forbids_dot;
}

static void done(void *context, void *tag, const struct smtp_outcome *outcome)
{
    struct post *post = context;
    struct letter *letter = tag;
    pthread_mutex_lock(&post->lock);
    post->under_way -= strstr(letter->to, "@busy.test") != NULL;
    if (post->gives_again && outcome->end == SMTP_NOT_SENT && letter == &post->letters[post->next - 1]) {
        post->next--;
        post->given_again++;
    } else {
        letter->ends++;
        letter->outcome = *outcome;
        post->ended++;
    }
    bool is_over = post->ended >= (post->end_at != 0 ? post->end_at : post->count);
    pthread_mutex_unlock(&post->lock);
    for (int i = 0; i < post->loop_count; i++)
        is_over ? smtp_event_loop_stop(post->loops[i]) : smtp_event_loop_wake(post->loops[i]);
}

static void *run_loop(void *loop)
{
    smtp_event_loop_run(loop, LONG_MS);
    return NULL;
}

/* Sends the messages through relays at these addresses. Returns when every message has a result and the loops have ended. */
static void run_post(struct post *post, const char *const *urls, int loop_count)
{
    const struct smtp_events events = { .context = post, .next = next, .before_dot = before_dot, .done = done };
    struct error err = { .code = ERR_NONE };
    pthread_t threads[4];
    pthread_mutex_init(&post->lock, NULL);
    assert_true(smtp_relays_new(urls, &post->relays, &err));
    post->loop_count = loop_count;
    for (int i = 0; i < loop_count; i++)
        post->loops[i] = smtp_event_loop_new(post->relays, loop_count, "client.test", &events);
    for (int i = 1; i < loop_count; i++)
        pthread_create(&threads[i], NULL, run_loop, post->loops[i]);
    smtp_event_loop_run(post->loops[0], post->stop_ms != 0 ? post->stop_ms : LONG_MS);
    for (int i = 1; i < loop_count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < loop_count; i++)
        smtp_event_loop_free(post->loops[i]);
}

static void end_post(struct post *post)
{
    smtp_relays_free(post->relays);
    pthread_mutex_destroy(&post->lock);
}

/* ---- One relay and its letters ---- */

static struct fake_relay relay;

static void start_relay(const struct relay_quirk *quirks, size_t count)
{
    relay_free_bodies(&relay);
    relay = (struct fake_relay){ .quirks = quirks, .quirk_count = count };
    relay_start(&relay);
}

static char url[256];

static const char *relay_url(const char *parameters)
{
    snprintf(url, sizeof(url), "smtp://127.0.0.1:%u?%s", relay_port(&relay), parameters);
    return url;
}

/* Runs the letters over the relay that was started, and stops it. */
static void send_letters(struct post *post, const char *parameters)
{
    const char *urls[] = { relay_url(parameters), NULL };
    run_post(post, urls, 1);
    relay_stop(&relay);
    for (size_t i = 0; i < post->count && post->end_at == 0; i++)
        assert_int_equal(post->letters[i].ends, 1);
}

static void assert_end(const struct letter *letter, enum smtp_end end, enum smtp_stage stage, int code)
{
    if ((int)letter->outcome.end != (int)end)
        print_error("to %s: %s\n", letter->to, letter->outcome.text);
    assert_int_equal(letter->outcome.end, end);
    assert_int_equal(letter->outcome.stage, stage);
    assert_int_equal(letter->outcome.code, code);
}

static void assert_accepted(const struct letter *letter)
{
    assert_end(letter, SMTP_REPLIED, SMTP_STAGE_FINAL, 250);
    assert_int_equal(letter->dots, 1);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* ---- A relay without faults ---- */

static void one_message_arrives_as_it_was_given(void **state)
{
    (void)state;
    struct letter letters[] = {
        { .to = "to@there.test", .head = "DKIM-Signature: a=b\r\n", .body = "Subject: x\r\n\r\nHello\r\n" }
    };
    struct post post = { .letters = letters, .count = 1 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_string_equal(letters[0].outcome.enhanced, "2.0.0");
    assert_string_equal(letters[0].outcome.text, "Taken");
    assert_int_equal(relay.body_count, 1);
    assert_string_equal(relay.bodies[0], "DKIM-Signature: a=b\r\nSubject: x\r\n\r\nHello\r\n");
    assert_non_null(strstr(relay.commands[0], "EHLO client.test\n"));
    assert_non_null(strstr(relay.commands[0], "MAIL FROM:<sender@from.test> SIZE=42\nRCPT TO:<to@there.test>\nDATA\n"));
    end_post(&post);
}

static void an_envelope_travels_with_the_dot_before_it(void **state)
{
    (void)state;
    struct letter letters[20] = { { .to = NULL } };
    struct post post = { .letters = letters, .count = 20 };
    for (size_t i = 0; i < 20; i++)
        letters[i].to = "to@there.test";
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    for (size_t i = 0; i < 20; i++)
        assert_accepted(&letters[i]);
    assert_int_equal(relay.connections, 1);
    assert_int_equal(relay.body_count, 20);
    assert_int_equal(relay.envelopes_with_dot, 19);
    end_post(&post);
}

/* A return path for each message costs no round trip, and a relay can do without. */
static void each_message_has_its_return_path(void **state)
{
    (void)state;
    static const char *const queries[] = { "connections=1", "connections=1&return_path=off" };
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        struct letter letters[] = { { .to = "a@there.test", .return_path = "b1@bounce.test" },
                                    { .to = "b@there.test" },
                                    { .to = "c@there.test", .return_path = "b3@bounce.test" } };
        struct post post = { .letters = letters, .count = ARRAY_COUNT(letters) };
        start_relay(NULL, 0);
        send_letters(&post, queries[i]);
        assert_int_equal(relay.envelopes_with_dot, 2);
        assert_int_equal(strstr(relay.commands[0], "MAIL FROM:<b1@bounce.test>") != NULL, i == 0);
        assert_int_equal(strstr(relay.commands[0], "MAIL FROM:<b3@bounce.test>") != NULL, i == 0);
        assert_non_null(strstr(relay.commands[0], "MAIL FROM:<sender@from.test>"));
        end_post(&post);
    }
}

static void without_pipelining_each_command_waits(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "one@there.test" }, { .to = "gone@there.test" }, { .to = "three@there.test" } };
    struct post post = { .letters = letters, .count = 3 };
    static const struct relay_quirk quirks[] = { { .command = "RCPT TO:<gone@", .say = "550 5.1.1 Nobody\r\n" } };
    start_relay(quirks, 1);
    relay.extensions = "250-8BITMIME\r\n";
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_end(&letters[1], SMTP_REPLIED, SMTP_STAGE_RCPT, 550);
    assert_accepted(&letters[2]);
    assert_int_equal(relay.connections, 1);
    assert_int_equal(relay.envelopes_with_dot, 0);
    /* No DATA behind the refusal, and the sender that was taken is taken back. */
    assert_non_null(strstr(relay.commands[0], "RCPT TO:<gone@there.test>\nRSET\nMAIL FROM:<sender@from.test>\nRCPT TO:<three@"));
    end_post(&post);
}

static void dots_are_doubled_behind_every_line_end(void **state)
{
    (void)state;
    struct letter letters[] = {
        { .to = "a@there.test", .head = ".first\r\n..two\r\n", .body = ".\r\nmid.dle\r\n.\r\nend." },
        { .to = "b@there.test", .body = "bare\n.\n and\r.\r end\r\n" },
    };
    struct post post = { .letters = letters, .count = 2 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_accepted(&letters[1]);
    assert_int_equal(relay.body_count, 2);
    assert_string_equal(relay.bodies[0], "..first\r\n...two\r\n..\r\nmid.dle\r\n..\r\nend.\r\n");
    assert_string_equal(relay.bodies[1], "bare\n..\n and\r..\r end\r\n");
    end_post(&post);
}

static void replies_may_be_split_anywhere(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" }, { .to = "c@there.test" } };
    struct post post = { .letters = letters, .count = 3 };
    static const struct relay_quirk quirks[] = { { .command = "DOT",
                                                   .say = "250-2.6.0 In several\r\n250-2.6.0 lines,\r\n250 2.6.0 all taken\r\n" } };
    start_relay(quirks, 1);
    relay.byte_by_byte = true;
    send_letters(&post, "connections=1");
    for (size_t i = 0; i < 3; i++)
        assert_accepted(&letters[i]);
    assert_string_equal(letters[0].outcome.enhanced, "2.6.0");
    assert_string_equal(letters[0].outcome.text, "In several lines, all taken");
    end_post(&post);
}

static void a_large_message_is_whole(void **state)
{
    (void)state;
    enum { LARGE = 3 * 1000 * 1000 };
    char *body = malloc(LARGE + 1);
    for (int i = 0; i < LARGE; i++)
        body[i] = (char)(i % 78 == 76 ? '\r' : i % 78 == 77 ? '\n' : 'a' + i % 26);
    snprintf(body + LARGE - 2, 3, "\r\n");
    struct letter letters[] = { { .to = "a@there.test", .body = body }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_accepted(&letters[1]);
    assert_string_equal(relay.bodies[0], body);
    free(body);
    end_post(&post);
}

static void a_session_is_renewed_after_its_messages(void **state)
{
    (void)state;
    struct letter letters[7] = { { .to = NULL } };
    struct post post = { .letters = letters, .count = 7 };
    for (size_t i = 0; i < 7; i++)
        letters[i].to = "to@there.test";
    start_relay(NULL, 0);
    send_letters(&post, "connections=1&messages=3");
    for (size_t i = 0; i < 7; i++)
        assert_accepted(&letters[i]);
    assert_int_equal(relay.connections, 3);
    assert_int_equal(relay.most_open, 1);
    assert_int_equal(count_of(relay.commands[0], "MAIL "), 3);
    assert_int_equal(count_of(relay.commands[0], "QUIT\n"), 1);
    assert_int_equal(count_of(relay.commands[1], "QUIT\n"), 1);
    end_post(&post);
}

static void sessions_share_the_work_up_to_their_bound(void **state)
{
    (void)state;
    static struct letter letters[300];
    struct post post = { .letters = letters, .count = 300 };
    memset(letters, 0, sizeof(letters));
    for (size_t i = 0; i < 300; i++)
        letters[i].to = "to@there.test";
    start_relay(NULL, 0);
    relay.greets_at = 4;
    send_letters(&post, "connections=4");
    for (size_t i = 0; i < 300; i++)
        assert_accepted(&letters[i]);
    assert_int_equal(relay.connections, 4);
    assert_int_equal(relay.most_open, 4);
    assert_int_equal(relay.body_count, 300);
    end_post(&post);
}

static void two_loops_keep_the_bounds_together(void **state)
{
    (void)state;
    static struct letter letters[400];
    struct post post = { .letters = letters, .count = 400 };
    memset(letters, 0, sizeof(letters));
    for (size_t i = 0; i < 400; i++)
        letters[i].to = "to@there.test";
    start_relay(NULL, 0);
    const char *urls[] = { relay_url("connections=3&messages=40"), NULL };
    run_post(&post, urls, 2);
    relay_stop(&relay);
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(letters[i].ends, 1);
        assert_accepted(&letters[i]);
    }
    assert_true(relay.most_open <= 3);
    assert_int_equal(relay.body_count, 400);
    end_post(&post);
}

static void a_destination_gets_no_more_than_its_bound_at_a_time(void **state)
{
    (void)state;
    static struct letter letters[60];
    struct post post = { .letters = letters, .count = 60 };
    memset(letters, 0, sizeof(letters));
    for (size_t i = 0; i < 60; i++)
        letters[i].to = i % 3 == 0 ? "to@there.test" : "to@busy.test";
    start_relay(NULL, 0);
    send_letters(&post, "connections=8&per_destination=2");
    for (size_t i = 0; i < 60; i++)
        assert_accepted(&letters[i]);
    assert_int_equal(post.most_under_way, 2);
    end_post(&post);
}

/* ---- Envelopes that are not sent ---- */

static void line_ends_never_get_into_a_command(void **state)
{
    (void)state;
    struct letter letters[] = {
        { .to = "a@there.test>\r\nRCPT TO:<evil@there.test" },
        { .to = "a b@there.test" },
        { .to = "" },
        { .to = "a\x7f@there.test" },
        { .to = "\xc3\xa4@there.test" },
        { .to = "a@there.test", .from = "x@from.test> SIZE=1\nRSET" },
        { .to = "good@there.test", .from = "" },
    };
    struct post post = { .letters = letters, .count = 7 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    for (size_t i = 0; i < 5; i++) {
        assert_end(&letters[i], SMTP_REPLIED, SMTP_STAGE_RCPT, 553);
        assert_string_equal(letters[i].outcome.enhanced, "5.1.3");
    }
    assert_end(&letters[5], SMTP_REPLIED, SMTP_STAGE_MAIL, 553);
    assert_string_equal(letters[5].outcome.enhanced, "5.1.7");
    assert_accepted(&letters[6]);
    assert_string_equal(relay.commands[0], "EHLO client.test\nMAIL FROM:<> SIZE=26\nRCPT TO:<good@there.test>\nDATA\nQUIT\n");
    end_post(&post);
}

static void smtputf8_is_asked_for_where_it_is_needed_only(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "plain@there.test" }, { .to = "j\xc3\xb6rg@there.test", .needs_smtputf8 = true } };
    struct post post = { .letters = letters, .count = 2 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_accepted(&letters[1]);
    assert_non_null(strstr(relay.commands[0], "SIZE=26\nRCPT TO:<plain@"));
    assert_non_null(strstr(relay.commands[0], "SIZE=26 BODY=8BITMIME SMTPUTF8\nRCPT TO:<j\xc3\xb6rg@"));
    end_post(&post);
}

static void without_smtputf8_such_an_address_is_refused_here(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "j\xc3\xb6rg@there.test", .needs_smtputf8 = true },
                                { .to = "plain@there.test" },
                                { .to = "\xc3\xa4@there.test", .needs_smtputf8 = true },
                                { .to = "last@there.test" } };
    struct post post = { .letters = letters, .count = 4 };
    start_relay(NULL, 0);
    relay.extensions = "250-PIPELINING\r\n";
    send_letters(&post, "connections=1");
    for (size_t i = 0; i < 4; i += 2) {
        assert_end(&letters[i], SMTP_REPLIED, SMTP_STAGE_RCPT, 553);
        assert_string_equal(letters[i].outcome.enhanced, "5.6.7");
    }
    assert_accepted(&letters[1]);
    assert_accepted(&letters[3]);
    assert_null(strstr(relay.commands[0], "\xc3"));
    end_post(&post);
}

/* ---- Refusals ---- */

static void a_refused_recipient_costs_neither_session_nor_neighbours(void **state)
{
    (void)state;
    struct letter letters[] = {
        { .to = "one@there.test" }, { .to = "gone@there.test" }, { .to = "gone@there.test" }, { .to = "four@there.test" }
    };
    struct post post = { .letters = letters, .count = 4 };
    static const struct relay_quirk quirks[] = {
        { .command = "RCPT TO:<gone@", .say = "550-5.1.1 There is nobody\r\n550 5.1.1 of this name\r\n" },
        { .command = "DATA", .nth = 2, .say = "554 5.5.1 No recipients\r\n" },
        { .command = "DATA", .nth = 3, .say = "503 5.5.1 No recipients\r\n" },
    };
    start_relay(quirks, 3);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    for (size_t i = 1; i < 3; i++) {
        assert_end(&letters[i], SMTP_REPLIED, SMTP_STAGE_RCPT, 550);
        assert_string_equal(letters[i].outcome.enhanced, "5.1.1");
        assert_string_equal(letters[i].outcome.text, "There is nobody of this name");
        assert_int_equal(letters[i].dots, 0);
    }
    assert_accepted(&letters[3]);
    assert_int_equal(relay.connections, 1);
    assert_int_equal(count_of(relay.commands[0], "RSET\nMAIL "), 2);
    struct smtp_relay_state how;
    smtp_relay_look(post.relays, 0, &how);
    assert_int_equal(how.accepted, 2);
    assert_int_equal(how.refused, 2);
    assert_false(how.is_resting);
    assert_int_equal(how.open, 0);
    end_post(&post);
}

static void a_relay_that_lets_in_after_a_refusal_gets_no_empty_message(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "gone@there.test" }, { .to = "two@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    static const struct relay_quirk quirks[] = { { .command = "RCPT TO:<gone@", .say = "550 5.1.1 Nobody\r\n" } };
    start_relay(quirks, 1); /* and says 354 to DATA */
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_RCPT, 550);
    assert_accepted(&letters[1]);
    assert_int_equal(relay.connections, 2);
    assert_int_equal(relay.body_count, 1);
    end_post(&post);
}

static void a_refused_data_is_the_messages_outcome(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    static const struct relay_quirk quirks[] = { { .command = "DATA", .nth = 1, .say = "451 4.3.0 Later\r\n" } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_DATA, 451);
    assert_accepted(&letters[1]);
    assert_int_equal(relay.connections, 1);
    end_post(&post);
}

static void a_refused_body_is_the_messages_outcome(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" }, { .to = "c@there.test" } };
    struct post post = { .letters = letters, .count = 3 };
    static const struct relay_quirk quirks[] = { { .command = "DOT", .nth = 1, .say = "554 5.7.1 Spam\r\n" },
                                                 { .command = "DOT", .nth = 2, .say = "452 4.3.1 Full\r\n" } };
    start_relay(quirks, 2);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_FINAL, 554);
    assert_end(&letters[1], SMTP_REPLIED, SMTP_STAGE_FINAL, 452);
    assert_accepted(&letters[2]);
    assert_int_equal(relay.connections, 1);
    end_post(&post);
}

static void a_refused_sender_is_told_and_the_relay_rests(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    static const struct relay_quirk quirks[] = { { .command = "MAIL", .nth = 1, .say = "550 5.7.1 Not you\r\n" },
                                                 { .command = "RCPT", .nth = 1, .say = "503 5.5.1 MAIL first\r\n" },
                                                 { .command = "DATA", .nth = 1, .say = "503 5.5.1 RCPT first\r\n" } };
    start_relay(quirks, 3);
    int64_t start_us = clock_monotonic_us();
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_MAIL, 550);
    assert_accepted(&letters[1]);
    assert_true(clock_monotonic_us() - start_us >= 700 * US_PER_MS);
    end_post(&post);
}

static void a_refused_size_is_no_reason_to_rest(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    static const struct relay_quirk quirks[] = { { .command = "MAIL", .nth = 1, .say = "552 5.3.4 Too large\r\n" },
                                                 { .command = "RCPT", .nth = 1, .say = "503 5.5.1 MAIL first\r\n" },
                                                 { .command = "DATA", .nth = 1, .say = "503 5.5.1 RCPT first\r\n" } };
    start_relay(quirks, 3);
    send_letters(&post, "connections=1");
    struct smtp_relay_state how;
    smtp_relay_look(post.relays, 0, &how);
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_MAIL, 552);
    assert_accepted(&letters[1]);
    assert_string_equal(how.trouble, "");
    end_post(&post);
}

/* ---- 421, drops and silence ---- */

static void a_421_to_the_envelope_gives_the_message_back_and_rests(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2, .gives_again = true };
    static const struct relay_quirk quirks[] = {
        { .connection = 1, .command = "MAIL", .nth = 2, .say = "421 4.7.0 Too many\r\n", .then = THEN_CLOSE }
    };
    start_relay(quirks, 1);
    int64_t start_us = clock_monotonic_us();
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_accepted(&letters[1]);
    assert_int_equal(post.given_again, 1);
    assert_int_equal(relay.connections, 2);
    assert_true(clock_monotonic_us() - start_us >= 700 * US_PER_MS);
    end_post(&post);
}

static void a_421_to_a_recipient_or_a_body_is_a_reply_to_it(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2 };
    static const struct relay_quirk quirks[] = {
        { .connection = 1, .command = "RCPT", .say = "421 4.7.0 Not this one\r\n", .then = THEN_CLOSE },
        { .connection = 2, .command = "DOT", .say = "421-4.7.0 Nor\r\n421 4.7.0 this\r\n", .then = THEN_CLOSE },
    };
    start_relay(quirks, 2);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_RCPT, 421);
    assert_end(&letters[1], SMTP_REPLIED, SMTP_STAGE_FINAL, 421);
    assert_string_equal(letters[1].outcome.text, "Nor this");
    struct smtp_relay_state how;
    smtp_relay_look(post.relays, 0, &how);
    /* The second in a row: 2 s, a fifth less or more, from the failure on, which came after the dot. */
    int64_t since_dot_ms = (clock_monotonic_us() - letters[1].dot_us) / US_PER_MS;
    assert_true(how.rests_for_ms <= 2401 && how.rests_for_ms + since_dot_ms + 1 >= 1600);
    assert_non_null(strstr(how.trouble, "421 4.7.0 Nor this"));
    end_post(&post);
}

static void a_drop_after_the_dot_is_uncertain_and_before_it_is_not(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" }, { .to = "c@there.test" } };
    struct post post = { .letters = letters, .count = 3 };
    static const struct relay_quirk quirks[] = { { .connection = 1, .command = "DOT", .nth = 2, .then = THEN_CLOSE } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_end(&letters[1], SMTP_UNCERTAIN, SMTP_STAGE_FINAL, 0);
    assert_end(&letters[2], SMTP_NOT_SENT, SMTP_STAGE_MAIL, 0); /* its envelope was on the way */
    assert_int_equal(letters[1].dots, 1);
    assert_int_equal(letters[2].dots, 0);
    end_post(&post);
}

static void a_reset_in_the_middle_of_a_body_is_not_sent(void **state)
{
    (void)state;
    enum { LARGE = 20 * 1000 * 1000 }; /* more than both sockets hold */
    char *body = malloc(LARGE + 1);
    for (int i = 0; i < LARGE; i++)
        body[i] = (char)(i % 78 == 76 ? '\r' : i % 78 == 77 ? '\n' : 'a');
    body[LARGE] = '\0';
    struct letter letters[] = { { .to = "a@there.test", .body = body } };
    struct post post = { .letters = letters, .count = 1 };
    static const struct relay_quirk quirks[] = { { .command = "BODY", .then = THEN_RESET } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_NOT_SENT, SMTP_STAGE_DATA, 0);
    assert_int_equal(letters[0].dots, 0);
    free(body);
    end_post(&post);
}

static void a_relay_may_refuse_a_body_half_way(void **state)
{
    (void)state;
    enum { LARGE = 20 * 1000 * 1000 };
    char *body = malloc(LARGE + 1);
    for (int i = 0; i < LARGE; i++)
        body[i] = (char)(i % 78 == 76 ? '\r' : i % 78 == 77 ? '\n' : 'a');
    body[LARGE] = '\0';
    struct letter letters[] = { { .to = "a@there.test", .body = body } };
    struct post post = { .letters = letters, .count = 1 };
    static const struct relay_quirk quirks[] = { { .command = "BODY", .say = "552 5.3.4 Enough\r\n", .then = THEN_STALL } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_REPLIED, SMTP_STAGE_FINAL, 552);
    free(body);
    end_post(&post);
}

static void a_relay_that_closes_at_once_is_left_alone(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" } };
    struct post post = { .letters = letters, .count = 1 };
    static const struct relay_quirk quirks[] = { { .command = "HELLO", .then = THEN_CLOSE } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_NOT_SENT, SMTP_STAGE_CONNECT, 0);
    struct smtp_relay_state how;
    smtp_relay_look(post.relays, 0, &how);
    assert_string_not_equal(how.trouble, "");
    assert_int_equal(how.open, 0);
    end_post(&post);
}

static void a_greeting_of_no_is_told(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" } };
    struct post post = { .letters = letters, .count = 1 };
    static const struct relay_quirk quirks[] = {
        { .command = "HELLO", .say = "554 5.7.1 We do not know you\r\n", .then = THEN_CLOSE }
    };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_end(&letters[0], SMTP_NOT_SENT, SMTP_STAGE_CONNECT, 0);
    assert_non_null(strstr(letters[0].outcome.text, "554 5.7.1 We do not know you"));
    end_post(&post);
}

static void nobody_listening_is_told(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" } };
    struct post post = { .letters = letters, .count = 1 };
    start_relay(NULL, 0);
    const char *urls[] = { relay_url("connections=2"), NULL };
    relay_stop(&relay);
    run_post(&post, urls, 1);
    assert_end(&letters[0], SMTP_NOT_SENT, SMTP_STAGE_CONNECT, 0);
    assert_string_equal(letters[0].outcome.text, "it cannot be reached");
    end_post(&post);
}

static void silence_has_an_end_at_every_step(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        enum smtp_end end;
        enum smtp_stage stage;
    } steps[] = {
        { "HELLO", SMTP_NOT_SENT, SMTP_STAGE_CONNECT }, { "EHLO", SMTP_NOT_SENT, SMTP_STAGE_CONNECT },
        { "MAIL", SMTP_NOT_SENT, SMTP_STAGE_MAIL },     { "RCPT", SMTP_NOT_SENT, SMTP_STAGE_RCPT },
        { "DATA", SMTP_NOT_SENT, SMTP_STAGE_DATA },     { "DOT", SMTP_UNCERTAIN, SMTP_STAGE_FINAL },
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        const struct relay_quirk quirks[] = { { .command = steps[i].command, .then = THEN_STALL } };
        struct letter letters[] = { { .to = "a@there.test" } };
        struct post post = { .letters = letters, .count = 1 };
        start_relay(quirks, 1);
        send_letters(&post, "connections=1&timeout=1&final_timeout=1");
        assert_end(&letters[0], steps[i].end, steps[i].stage, 0);
        struct smtp_relay_state how;
        smtp_relay_look(post.relays, 0, &how);
        assert_string_not_equal(how.trouble, "");
        end_post(&post);
    }
}

static void a_stalled_relay_holds_up_no_other(void **state)
{
    (void)state;
    static struct fake_relay slow;
    static const struct relay_quirk quirks[] = { { .command = "MAIL", .then = THEN_STALL } };
    static struct letter letters[200];
    struct post post = { .letters = letters, .count = 200, .end_at = 198 };
    char slow_url[128];
    memset(letters, 0, sizeof(letters));
    for (size_t i = 0; i < 200; i++)
        letters[i].to = "to@there.test";
    slow = (struct fake_relay){ .quirks = quirks, .quirk_count = 1 };
    relay_start(&slow);
    start_relay(NULL, 0);
    snprintf(slow_url, sizeof(slow_url), "smtp://127.0.0.1:%u?connections=2", relay_port(&slow));
    const char *urls[] = { slow_url, relay_url("connections=2"), NULL };
    run_post(&post, urls, 1);
    relay_stop(&slow);
    relay_stop(&relay);
    int accepted = 0;
    for (size_t i = 0; i < 200; i++)
        accepted += letters[i].outcome.code == 250;
    assert_int_equal(accepted, 198); /* all but what the stalled sessions had in hand */
    assert_int_equal(relay.body_count, 198);
    end_post(&post);
}

static void nonsense_ends_the_session(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        const char *say;
        enum smtp_end end;
    } cases[] = {
        { "RCPT", "hello there\r\n", SMTP_NOT_SENT },
        { "RCPT", "354 too soon\r\n", SMTP_NOT_SENT },
        { "DATA", "250 not yet\r\n", SMTP_NOT_SENT },
        { "MAIL", "250-one\r\n251 another\r\n", SMTP_NOT_SENT },
        { "DOT", "354 again\r\n", SMTP_UNCERTAIN },
        { "DOT", "999 what\r\n", SMTP_UNCERTAIN },
        { "RCPT", "250 a\r\n250 b\r\n250 c\r\n250 d\r\n", SMTP_NOT_SENT },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct relay_quirk quirks[] = { { .command = cases[i].command, .say = cases[i].say } };
        struct letter letters[] = { { .to = "a@there.test" } };
        struct post post = { .letters = letters, .count = 1 };
        start_relay(quirks, 1);
        send_letters(&post, "connections=1&timeout=5");
        assert_int_equal(letters[0].outcome.end, cases[i].end);
        end_post(&post);
    }
}

static void an_endless_reply_ends_the_session(void **state)
{
    (void)state;
    static char line[4000];
    static char lines[4000];
    memset(line, 'x', sizeof(line) - 3);
    memcpy(line, "250 ", 4);
    memcpy(line + sizeof(line) - 3, "\r\n", 3);
    for (size_t i = 0; i + 8 < sizeof(lines); i += 7)
        memcpy(lines + i, "250-a\r\n", 8);
    const char *const says[] = { line, lines };
    for (size_t i = 0; i < 2; i++) {
        const struct relay_quirk quirks[] = { { .command = "MAIL", .say = says[i] } };
        struct letter letters[] = { { .to = "a@there.test" } };
        struct post post = { .letters = letters, .count = 1 };
        start_relay(quirks, 1);
        send_letters(&post, "connections=1&timeout=5");
        assert_end(&letters[0], SMTP_NOT_SENT, SMTP_STAGE_MAIL, 0);
        assert_string_equal(letters[0].outcome.text, "the relay's reply is malformed");
        end_post(&post);
    }
}

static void a_relay_recovers_with_one_trial(void **state)
{
    (void)state;
    static struct letter letters[12];
    struct post post = { .letters = letters, .count = 12 };
    static const struct relay_quirk quirks[] = {
        { .connection = 1, .command = "HELLO", .say = "421 4.3.2 Later\r\n", .then = THEN_CLOSE },
        { .connection = 2, .command = "HELLO", .say = "421 4.3.2 Later\r\n", .then = THEN_CLOSE },
        { .connection = 3, .command = "HELLO", .say = "421 4.3.2 Later\r\n", .then = THEN_CLOSE },
        { .connection = 4, .command = "HELLO", .say = "421 4.3.2 Later\r\n", .then = THEN_CLOSE },
        { .connection = 5, .command = "HELLO", .say = "421 4.3.2 Later\r\n", .then = THEN_CLOSE },
    };
    memset(letters, 0, sizeof(letters));
    for (size_t i = 0; i < 12; i++)
        letters[i].to = "to@there.test";
    start_relay(quirks, 5);
    send_letters(&post, "connections=4");
    /* Four at once are one failure; the fifth is the trial, which fails too; the sixth is the next, and works. */
    for (size_t i = 0; i < 5; i++)
        assert_end(&letters[i], SMTP_NOT_SENT, SMTP_STAGE_CONNECT, 0);
    for (size_t i = 5; i < 12; i++)
        assert_accepted(&letters[i]);
    struct smtp_relay_state how;
    smtp_relay_look(post.relays, 0, &how);
    assert_false(how.is_resting);
    assert_string_equal(how.trouble, "");
    end_post(&post);
}

/* ---- The owner's word ---- */

static void a_forbidden_dot_is_not_written(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test", .forbids_dot = true }, { .to = "c@there.test" } };
    struct post post = { .letters = letters, .count = 3 };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_end(&letters[1], SMTP_NOT_SENT, SMTP_STAGE_DATA, 0);
    assert_int_equal(relay.body_count >= 1, 1);
    for (int i = 0; i < relay.body_count; i++)
        assert_string_equal(relay.bodies[i], "Subject: Hello\r\n\r\nHello.\r\n");
    end_post(&post);
}

static void stop_at_dot(struct post *post, struct letter *letter)
{
    if (letter == &post->letters[1])
        smtp_event_loop_stop(post->loops[0]);
}

static void stopping_waits_for_the_replies_to_dots_only(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" }, { .to = "c@there.test" } };
    struct post post = { .letters = letters, .count = 3, .at_dot = stop_at_dot };
    start_relay(NULL, 0);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_accepted(&letters[1]);
    assert_end(&letters[2], SMTP_NOT_SENT, SMTP_STAGE_MAIL, 0);
    end_post(&post);
}

static void stopping_ends_in_time_with_what_is_uncertain(void **state)
{
    (void)state;
    struct letter letters[] = { { .to = "a@there.test" }, { .to = "b@there.test" } };
    struct post post = { .letters = letters, .count = 2, .at_dot = stop_at_dot, .stop_ms = SHORT_MS };
    static const struct relay_quirk quirks[] = { { .command = "DOT", .nth = 2, .then = THEN_STALL } };
    start_relay(quirks, 1);
    send_letters(&post, "connections=1");
    assert_accepted(&letters[0]);
    assert_end(&letters[1], SMTP_UNCERTAIN, SMTP_STAGE_FINAL, 0);
    end_post(&post);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_arrives_as_it_was_given),
        cmocka_unit_test(an_envelope_travels_with_the_dot_before_it),
        cmocka_unit_test(each_message_has_its_return_path),
        cmocka_unit_test(without_pipelining_each_command_waits),
        cmocka_unit_test(dots_are_doubled_behind_every_line_end),
        cmocka_unit_test(replies_may_be_split_anywhere),
        cmocka_unit_test(a_large_message_is_whole),
        cmocka_unit_test(a_session_is_renewed_after_its_messages),
        cmocka_unit_test(sessions_share_the_work_up_to_their_bound),
        cmocka_unit_test(two_loops_keep_the_bounds_together),
        cmocka_unit_test(a_destination_gets_no_more_than_its_bound_at_a_time),
        cmocka_unit_test(line_ends_never_get_into_a_command),
        cmocka_unit_test(smtputf8_is_asked_for_where_it_is_needed_only),
        cmocka_unit_test(without_smtputf8_such_an_address_is_refused_here),
        cmocka_unit_test(a_refused_recipient_costs_neither_session_nor_neighbours),
        cmocka_unit_test(a_relay_that_lets_in_after_a_refusal_gets_no_empty_message),
        cmocka_unit_test(a_refused_data_is_the_messages_outcome),
        cmocka_unit_test(a_refused_body_is_the_messages_outcome),
        cmocka_unit_test(a_refused_sender_is_told_and_the_relay_rests),
        cmocka_unit_test(a_refused_size_is_no_reason_to_rest),
        cmocka_unit_test(a_421_to_the_envelope_gives_the_message_back_and_rests),
        cmocka_unit_test(a_421_to_a_recipient_or_a_body_is_a_reply_to_it),
        cmocka_unit_test(a_drop_after_the_dot_is_uncertain_and_before_it_is_not),
        cmocka_unit_test(a_reset_in_the_middle_of_a_body_is_not_sent),
        cmocka_unit_test(a_relay_may_refuse_a_body_half_way),
        cmocka_unit_test(a_relay_that_closes_at_once_is_left_alone),
        cmocka_unit_test(a_greeting_of_no_is_told),
        cmocka_unit_test(nobody_listening_is_told),
        cmocka_unit_test(silence_has_an_end_at_every_step),
        cmocka_unit_test(a_stalled_relay_holds_up_no_other),
        cmocka_unit_test(nonsense_ends_the_session),
        cmocka_unit_test(an_endless_reply_ends_the_session),
        cmocka_unit_test(a_relay_recovers_with_one_trial),
        cmocka_unit_test(a_forbidden_dot_is_not_written),
        cmocka_unit_test(stopping_waits_for_the_replies_to_dots_only),
        cmocka_unit_test(stopping_ends_in_time_with_what_is_uncertain),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    relay_free_bodies(&relay);
    return failed;
}
