#include "net/dns_records.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/unwind.h"
#include "net/dns_answers.h"
#include "net/dns_channel.h"

#include <arpa/nameser.h>
#include <string.h>

struct record_query {
    struct arena *arena;
    struct dns_question *question;
    size_t *open; /* unfinished questions */
};

/* ---- Answers ---- */

struct record_answer {
    const struct record_query *query;
    int status;
    const unsigned char *bytes;
    int size;
};

static void read_answer(void *context)
{
    const struct record_answer *answer = context;
    struct dns_question *question = answer->query->question;
    if (answer->status == ARES_ENODATA || answer->status == ARES_ENOTFOUND)
        question->is_answered = dns_denies(answer->bytes, answer->size);
    else if (answer->status == ARES_SUCCESS && question->type == DNS_TXT)
        question->is_answered = dns_read_texts(answer->query->arena, answer->bytes, answer->size, &question->found);
    else if (answer->status == ARES_SUCCESS && question->type == DNS_CNAME)
        question->is_answered = dns_read_aliases(answer->query->arena, answer->bytes, answer->size, &question->found);
    else if (answer->status == ARES_SUCCESS)
        question->is_answered = dns_read_mail_hosts(answer->query->arena, answer->bytes, answer->size, &question->found);
}

/* Called by c-ares, whose functions cannot be left by unwind_throw. An answer that does not fit into the arena is none. */
static void on_record_answer(void *argument, int status, int timeouts, unsigned char *bytes, int size)
{
    (void)timeouts;
    const struct record_query *record_query = argument;
    struct record_answer answer = { record_query, status, bytes, size };
    (*record_query->open)--;
    if (!unwind_catch(read_answer, &answer))
        record_query->question->is_answered = false;
}

/* ---- Queries ---- */

void dns_find_records(struct dns *dns, struct arena *arena, struct dns_question *questions, size_t count)
{
    static const int types[] = { [DNS_TXT] = ns_t_txt, [DNS_MX] = ns_t_mx, [DNS_CNAME] = ns_t_cname };
    struct record_query record_queries[DNS_QUESTIONS_MAX];
    size_t open = count;
    ares_channel channel;
    if (count > DNS_QUESTIONS_MAX)
        panic("too many DNS questions at once");
    for (size_t i = 0; i < count; i++) {
        questions[i].is_answered = false;
        questions[i].found = (struct text_list){ NULL, 0 };
    }
    if (!dns_channel_open(dns_servers(dns), &channel))
        return;
    for (size_t i = 0; i < count; i++) {
        record_queries[i] = (struct record_query){ .arena = arena, .question = &questions[i], .open = &open };
        ares_query(channel, questions[i].name, ns_c_in, types[questions[i].type], on_record_answer, &record_queries[i]);
    }
    int64_t end_us = clock_monotonic_us() + DNS_LOOKUP_MS * US_PER_MS;
    while (open > 0 && clock_monotonic_us() < end_us)
        dns_channel_wait(channel);
    ares_destroy(channel); /* ends the open queries without an answer */
}
