#include "net/dns_answers.h"

#include "net/dns_message.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <string.h>

/* ---- TXT and MX records ---- */

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
    *ret_found = (struct text_list){ NULL, 0 };
    if (!dns_message_is_valid(answer, size))
        return false;
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
    *ret_found = (struct text_list){ NULL, 0 };
    if (!dns_message_is_valid(answer, size))
        return false;
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

/* ---- CNAME records, which c-ares has no reader for ---- */

static bool copy_name(const struct dns_message *message, long at, struct arena *arena, const char **ret_name)
{
    char *name = NULL;
    long size;
    if (ares_expand_name(message->bytes + at, message->bytes, (int)message->size, &name, &size) != ARES_SUCCESS)
        return false;
    *ret_name = arena_dup(arena, name);
    ares_free_string(name);
    return true;
}

bool dns_read_aliases(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
{
    struct dns_message message;
    struct dns_record record;
    size_t count = 0;
    *ret_found = (struct text_list){ NULL, 0 };
    if (!dns_message_begin(answer, size, &message))
        return false;
    const char **found = arena_array(arena, message.left + 1, sizeof(*found));
    while (dns_message_next(&message, &record))
        if (record.type == ns_t_cname && !copy_name(&message, record.name_at, arena, &found[count++]))
            return false;
    *ret_found = (struct text_list){ found, count };
    return true;
}
