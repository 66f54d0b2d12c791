#include "net/dns_records.h"

#include "base/clock.h"
#include "base/panic.h"
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

static void on_record_answer(void *argument, int status, int timeouts, unsigned char *answer, int size)
{
    (void)timeouts;
    struct record_query *record_query = argument;
    struct dns_question *question = record_query->question;
    (*record_query->open)--;
    if (status == ARES_ENODATA || status == ARES_ENOTFOUND)
        question->is_answered = dns_denies(answer, size);
    else if (status == ARES_SUCCESS && question->type == DNS_TXT)
        question->is_answered = dns_read_texts(record_query->arena, answer, size, &question->found);
    else if (status == ARES_SUCCESS)
        question->is_answered = dns_read_mail_hosts(record_query->arena, answer, size, &question->found);
}

/* ---- Queries ---- */

void dns_find_records(struct dns *dns, struct arena *arena, struct dns_question *questions, size_t count)
{
    static const int types[] = { [DNS_TXT] = ns_t_txt, [DNS_MX] = ns_t_mx };
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
