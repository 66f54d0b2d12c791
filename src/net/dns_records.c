#include "net/dns_records.h"

#include "base/clock.h"
#include "net/dns_channel.h"

#include <arpa/nameser.h>
#include <assert.h>
#include <string.h>

struct record_query {
    struct arena *arena;
    struct dns_question *question;
    size_t *open; /* unfinished questions */
};

/* ---- Reading answers ---- */

static bool has_nul(const struct ares_txt_ext *text)
{
    return memchr(text->txt, '\0', text->length) != NULL;
}

/* Joins the strings of the record that starts at `first`; NULL when one holds a NUL. `ret_next`: the first string of the next
 * record. */
static const char *join_strings(struct arena *arena, const struct ares_txt_ext *first, const struct ares_txt_ext **ret_next)
{
    size_t size = 0;
    bool is_text = true;
    const struct ares_txt_ext *end = first;
    do {
        size += end->length;
        is_text = is_text && !has_nul(end);
        end = end->next;
    } while (end != NULL && !end->record_start);
    *ret_next = end;
    if (!is_text)
        return NULL;
    char *joined = arena_alloc(arena, size + 1);
    char *at = joined;
    for (const struct ares_txt_ext *text = first; text != end; text = text->next) {
        memcpy(at, text->txt, text->length);
        at += text->length;
    }
    *at = '\0';
    return joined;
}

static bool read_txt(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
{
    struct ares_txt_ext *texts = NULL;
    int status = ares_parse_txt_reply_ext(answer, size, &texts);
    size_t records = 0;
    size_t count = 0;
    for (const struct ares_txt_ext *text = texts; text != NULL; text = text->next)
        records += text->record_start;
    const char **found = arena_array(arena, records + 1, sizeof(*found));
    for (const struct ares_txt_ext *text = texts; text != NULL;) {
        const char *joined = join_strings(arena, text, &text);
        if (joined != NULL)
            found[count++] = joined;
    }
    ares_free_data(texts);
    *ret_found = (struct text_list){ found, count };
    return status == ARES_SUCCESS || status == ARES_ENODATA;
}

static bool read_mx_hosts(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
{
    struct ares_mx_reply *records = NULL;
    int status = ares_parse_mx_reply(answer, size, &records);
    size_t count = 0;
    for (const struct ares_mx_reply *record = records; record != NULL; record = record->next)
        count++;
    const char **found = arena_array(arena, count + 1, sizeof(*found));
    count = 0;
    for (const struct ares_mx_reply *record = records; record != NULL; record = record->next)
        if (record->host[0] != '\0' && strcmp(record->host, ".") != 0) /* a null MX (RFC 7505) */
            found[count++] = arena_dup(arena, record->host);
    ares_free_data(records);
    *ret_found = (struct text_list){ found, count };
    return status == ARES_SUCCESS || status == ARES_ENODATA;
}

static void on_record_answer(void *argument, int status, int timeouts, unsigned char *answer, int size)
{
    (void)timeouts;
    struct record_query *record_query = argument;
    struct dns_question *question = record_query->question;
    (*record_query->open)--;
    if (status == ARES_ENODATA || status == ARES_ENOTFOUND)
        question->is_answered = dns_denies(answer, size);
    else if (status == ARES_SUCCESS && question->type == DNS_TXT)
        question->is_answered = read_txt(record_query->arena, answer, size, &question->found);
    else if (status == ARES_SUCCESS)
        question->is_answered = read_mx_hosts(record_query->arena, answer, size, &question->found);
}

/* ---- Queries ---- */

void dns_find_records(struct dns *dns, struct arena *arena, struct dns_question *questions, size_t count)
{
    static const int types[] = { [DNS_TXT] = ns_t_txt, [DNS_MX] = ns_t_mx };
    struct record_query record_queries[DNS_QUESTIONS_MAX];
    size_t open = count;
    ares_channel channel;
    assert(count <= DNS_QUESTIONS_MAX);
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
