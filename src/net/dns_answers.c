#include "net/dns_answers.h"

#include <ares.h>
#include <string.h>

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

bool dns_read_texts(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
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

bool dns_read_mail_hosts(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
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
