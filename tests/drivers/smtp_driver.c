/*
 * Hands messages to relays for smtp_peers.mjs: JSON lines in, JSON lines out.
 *
 *     {"relays": ["smtp://…"], "loops": 1, "repeat": 1, "again": false,
 *      "messages": [{"from", "to", "body", "smtputf8"}, …]}
 *     → {"outcomes": [{"end", "stage", "code", "enhanced", "text", "relay", "dots", "verdict"}, …],
 *        "relays": [{"name", "accepted", "refused", "trouble"}, …], "seconds"}
 *     or {"error", "param"}
 *
 * `repeat` hands all messages over so often; an outcome is that of the last time. With `again` what was not sent is given out
 * again. Messages are given out in their order, as the loops ask for them.
 */
#include "base/clock.h"
#include "json_lines.h"
#include "smtp/event_loop.h"
#include "smtp/reply_class.h"

#include <pthread.h>
#include <string.h>

enum { MAX_LINE_BYTES = 32 * 1024 * 1024, MAX_LOOPS = 8, STOP_MS = 5000 };

struct letter {
    struct smtp_message message;
    int dots;
    struct smtp_outcome outcome;
};

struct post {
    pthread_mutex_t lock;
    struct letter *letters;
    size_t count;
    size_t total; /* to give out, repetitions included */
    size_t given;
    size_t ended;
    struct letter **returned; /* to be given out again */
    size_t returned_count;
    bool gives_again;
    struct smtp_event_loop *loops[MAX_LOOPS];
    int loop_count;
};

static bool next(void *context, struct smtp_message *ret_message)
{
    struct post *post = context;
    const struct letter *letter = NULL;
    pthread_mutex_lock(&post->lock);
    if (post->returned_count > 0)
        letter = post->returned[--post->returned_count];
    else if (post->given < post->total)
        letter = &post->letters[post->given++ % post->count];
    if (letter != NULL)
        *ret_message = letter->message;
    pthread_mutex_unlock(&post->lock);
    return letter != NULL;
}

static bool before_dot(void *context, void *tag)
{
    struct post *post = context;
    struct letter *letter = tag;
    pthread_mutex_lock(&post->lock);
    letter->dots++;
    pthread_mutex_unlock(&post->lock);
    return true;
}

static void done(void *context, void *tag, const struct smtp_outcome *outcome)
{
    struct post *post = context;
    struct letter *letter = tag;
    pthread_mutex_lock(&post->lock);
    letter->outcome = *outcome;
    bool goes_back = post->gives_again && outcome->end == SMTP_NOT_SENT;
    if (goes_back)
        post->returned[post->returned_count++] = letter;
    else
        post->ended++;
    bool is_over = post->ended == post->total;
    pthread_mutex_unlock(&post->lock);
    for (int i = 0; i < post->loop_count && (goes_back || is_over); i++)
        is_over ? smtp_event_loop_stop(post->loops[i]) : smtp_event_loop_wake(post->loops[i]);
}

static void *run_loop(void *loop)
{
    smtp_event_loop_run(loop, STOP_MS);
    return NULL;
}

/* Hands everything over; gives the seconds that took. */
static double run(struct post *post, struct smtp_relays *relays)
{
    const struct smtp_events events = { .context = post, .next = next, .before_dot = before_dot, .done = done };
    pthread_t threads[MAX_LOOPS];
    for (int i = 0; i < post->loop_count; i++)
        post->loops[i] = smtp_event_loop_new(relays, post->loop_count, "driver.test", &events);
    int64_t start_us = clock_monotonic_us();
    for (int i = 0; i < post->loop_count; i++)
        pthread_create(&threads[i], NULL, run_loop, post->loops[i]);
    for (int i = 0; i < post->loop_count; i++)
        pthread_join(threads[i], NULL);
    double seconds = (double)(clock_monotonic_us() - start_us) / (double)US_PER_S;
    for (int i = 0; i < post->loop_count; i++)
        smtp_event_loop_free(post->loops[i]);
    return seconds;
}

/* ---- JSON ---- */

static void read_letters(struct arena *arena, const json_t *request, struct post *post)
{
    const json_t *messages = json_object_get(request, "messages");
    post->count = json_array_size(messages);
    post->total = post->count * (size_t)json_get_int(request, "repeat", 1);
    post->letters = arena_array(arena, post->count, sizeof(*post->letters));
    post->returned = arena_array(arena, post->count, sizeof(struct letter *));
    for (size_t i = 0; i < post->count; i++) {
        const json_t *message = json_array_get(messages, i);
        const char *body = json_get_text(message, "body");
        post->letters[i].message = (struct smtp_message){
            .tag = &post->letters[i],
            .mail_from = json_get_text(message, "from"),
            .rcpt_to = json_get_text(message, "to"),
            .needs_smtputf8 = json_get_bool(message, "smtputf8", false),
            .parts = { { NULL, 0 }, { (const unsigned char *)body, strlen(body) } },
        };
    }
}

static void write_outcome(struct json_writer *json, const struct letter *letter)
{
    static const char *const ends[] = { [SMTP_REPLIED] = "replied", [SMTP_NOT_SENT] = "notSent", [SMTP_UNCERTAIN] = "uncertain" };
    static const char *const stages[] = { "connect", "mail", "rcpt", "data", "final" };
    const struct smtp_outcome *outcome = &letter->outcome;
    bool about_recipient = outcome->stage > SMTP_STAGE_MAIL;
    enum smtp_verdict verdict = smtp_classify_reply(outcome->code, outcome->enhanced, outcome->text, about_recipient);
    json_object_begin(json);
    json_member_text(json, "end", ends[outcome->end]);
    json_member_text(json, "stage", stages[outcome->stage]);
    json_member_int(json, "code", outcome->code);
    json_member_text(json, "enhanced", outcome->enhanced);
    json_member_text(json, "text", outcome->text);
    json_member_text(json, "relay", outcome->relay != NULL ? outcome->relay : "");
    json_member_int(json, "dots", letter->dots);
    json_member_text(json, "verdict", smtp_verdict_name(verdict));
    json_object_end(json);
}

static void write_relay(struct json_writer *json, struct smtp_relays *relays, size_t index)
{
    struct smtp_relay_state state;
    smtp_relay_look(relays, index, &state);
    json_object_begin(json);
    json_member_text(json, "name", state.name);
    json_member_int(json, "accepted", state.accepted);
    json_member_int(json, "refused", state.refused);
    json_member_text(json, "trouble", state.trouble);
    json_object_end(json);
}

static void write_results(struct json_writer *json, const struct post *post, struct smtp_relays *relays, double seconds)
{
    json_key(json, "outcomes");
    json_array_begin(json);
    for (size_t i = 0; i < post->count; i++)
        write_outcome(json, &post->letters[i]);
    json_array_end(json);
    json_key(json, "relays");
    json_array_begin(json);
    for (size_t i = 0; i < smtp_relays_count(relays); i++)
        write_relay(json, relays, i);
    json_array_end(json);
    json_key(json, "seconds");
    json_number(json, seconds);
}

static const char **read_urls(struct arena *arena, const json_t *request)
{
    const json_t *list = json_object_get(request, "relays");
    const char **urls = arena_array(arena, json_array_size(list) + 1, sizeof(char *));
    for (size_t i = 0; i < json_array_size(list); i++)
        urls[i] = json_string_value(json_array_get(list, i));
    return urls;
}

static bool answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    struct smtp_relays *relays = NULL;
    struct post post = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int64_t loops = json_get_int(request, "loops", 1);
    if (!smtp_relays_new(read_urls(arena, request), &relays, err))
        return false;
    post.loop_count = (int)(loops < MAX_LOOPS ? loops : MAX_LOOPS);
    post.gives_again = json_get_bool(request, "again", false);
    read_letters(arena, request, &post);
    write_results(json, &post, relays, run(&post, relays));
    smtp_relays_free(relays);
    return true;
}

int main(void)
{
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = answer });
    return 0;
}
