#include "net/dns_answers.h"

#include <ares.h>
#include <arpa/nameser.h>
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

/* ---- CNAME records, which c-ares has no reader for ---- */

/* A place in a message. */
struct cursor {
    const unsigned char *message;
    long size;
    long at;
};

static unsigned u16_at(const struct cursor *cursor, long at)
{
    return (unsigned)cursor->message[at] << 8 | cursor->message[at + 1];
}

/* Reads a name. NULL in `arena`: it is passed over. */
static bool read_name(struct cursor *cursor, struct arena *arena, const char **ret_name)
{
    char *name = NULL;
    long size;
    if (cursor->at >= cursor->size ||
        ares_expand_name(cursor->message + cursor->at, cursor->message, (int)cursor->size, &name, &size) != ARES_SUCCESS)
        return false;
    cursor->at += size;
    if (arena != NULL)
        *ret_name = arena_dup(arena, name);
    ares_free_string(name);
    return cursor->at <= cursor->size;
}

/* Reads a record. `ret_target` is NULL for another one than a CNAME. */
static bool read_alias(struct cursor *cursor, struct arena *arena, const char **ret_target)
{
    *ret_target = NULL;
    if (!read_name(cursor, NULL, NULL) || cursor->size - cursor->at < NS_RRFIXEDSZ)
        return false;
    unsigned type = u16_at(cursor, cursor->at);
    long end = cursor->at + NS_RRFIXEDSZ + (long)u16_at(cursor, cursor->at + NS_RRFIXEDSZ - 2);
    cursor->at += NS_RRFIXEDSZ;
    if (end > cursor->size || (type == ns_t_cname && !read_name(cursor, arena, ret_target)))
        return false;
    cursor->at = end;
    return true;
}

bool dns_read_aliases(struct arena *arena, const unsigned char *answer, int size, struct text_list *ret_found)
{
    struct cursor cursor = { .message = answer, .size = size, .at = NS_HFIXEDSZ };
    *ret_found = (struct text_list){ NULL, 0 };
    if (size < NS_HFIXEDSZ)
        return false;
    unsigned questions = u16_at(&cursor, 4);
    unsigned records = u16_at(&cursor, 6);
    for (unsigned i = 0; i < questions; i++, cursor.at += NS_QFIXEDSZ)
        if (!read_name(&cursor, NULL, NULL))
            return false;
    const char **found = arena_array(arena, records + 1, sizeof(*found));
    size_t count = 0;
    for (unsigned i = 0; i < records; i++) {
        const char *target;
        if (!read_alias(&cursor, arena, &target))
            return false;
        if (target != NULL)
            found[count++] = target;
    }
    *ret_found = (struct text_list){ found, count };
    return true;
}
