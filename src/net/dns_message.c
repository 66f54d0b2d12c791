#include "net/dns_message.h"

#include <arpa/nameser.h>

/* ---- Names (RFC 1035 §3.1 and §4.1.4) ---- */

enum { NAME_MAX_OCTETS = 255, LABEL_MAX_OCTETS = 63, POINTER_MARK = 0xC0, POINTER_TARGET = 0x3FFF };

static unsigned u16_at(const struct dns_message *message, long at)
{
    return (unsigned)message->bytes[at] << 8 | message->bytes[at + 1];
}

/* Passes over labels, to a pointer or the end of the name, and adds their octets. False beyond the bounds. */
static bool skip_labels(struct dns_message *message, long *octets, bool *ret_is_pointer)
{
    for (;;) {
        if (message->at >= message->size)
            return false;
        unsigned length = message->bytes[message->at];
        *ret_is_pointer = (length & POINTER_MARK) == POINTER_MARK;
        if (*ret_is_pointer)
            return message->size - message->at >= NS_INT16SZ;
        *octets += length + 1;
        message->at += length + 1;
        if (length > LABEL_MAX_OCTETS || *octets > NAME_MAX_OCTETS)
            return false;
        if (length == 0)
            return true;
    }
}

/* Passes over a name. Each pointer must lead further back, so that a name cannot repeat itself. */
static bool skip_name(struct dns_message *message)
{
    struct dns_message part = *message;
    long octets = 0;
    bool is_pointer;
    for (bool is_first = true;; is_first = false) {
        long start = part.at;
        if (!skip_labels(&part, &octets, &is_pointer))
            return false;
        if (is_first)
            message->at = part.at + (is_pointer ? NS_INT16SZ : 0);
        if (!is_pointer)
            return true;
        part.at = u16_at(&part, part.at) & POINTER_TARGET;
        if (part.at >= start)
            return false;
    }
}

/* ---- Records ---- */

static bool read_record(struct dns_message *message, struct dns_record *ret_record)
{
    enum { TTL_AT = 4, DATA_SIZE_AT = 8 }; /* behind the name (RFC 1035 §4.1.3) */
    if (!skip_name(message) || message->size - message->at < NS_RRFIXEDSZ)
        return false;
    long ttl_at = message->at + TTL_AT;
    long data_at = message->at + NS_RRFIXEDSZ;
    ret_record->type = u16_at(message, message->at);
    ret_record->ttl_s = (int64_t)u16_at(message, ttl_at) << 16 | u16_at(message, ttl_at + NS_INT16SZ);
    ret_record->name_at = data_at + (ret_record->type == ns_t_mx ? NS_INT16SZ : 0);
    message->at = data_at + (long)u16_at(message, message->at + DATA_SIZE_AT);
    return message->at <= message->size;
}

/* Passes over the header and the questions. */
static bool begin(const unsigned char *bytes, int size, struct dns_message *ret_message)
{
    enum { QUESTIONS_AT = 4, ANSWERS_AT = 6 }; /* RFC 1035 §4.1.1 */
    struct dns_message message = { .bytes = bytes, .size = size, .at = NS_HFIXEDSZ };
    if (size < NS_HFIXEDSZ)
        return false;
    message.left = u16_at(&message, ANSWERS_AT);
    for (unsigned left = u16_at(&message, QUESTIONS_AT); left > 0; left--, message.at += NS_QFIXEDSZ)
        if (!skip_name(&message))
            return false;
    *ret_message = message;
    return true;
}

static bool has_valid_name(const struct dns_message *message, const struct dns_record *record)
{
    struct dns_message data = *message;
    data.at = record->name_at;
    return (record->type != ns_t_cname && record->type != ns_t_mx) || skip_name(&data);
}

bool dns_message_is_valid(const unsigned char *bytes, int size)
{
    struct dns_message message;
    struct dns_record record;
    if (!begin(bytes, size, &message))
        return false;
    for (; message.left > 0; message.left--)
        if (!read_record(&message, &record) || !has_valid_name(&message, &record))
            return false;
    return true;
}

bool dns_message_begin(const unsigned char *bytes, int size, struct dns_message *ret_message)
{
    return dns_message_is_valid(bytes, size) && begin(bytes, size, ret_message);
}

bool dns_message_next(struct dns_message *message, struct dns_record *ret_record)
{
    if (message->left == 0)
        return false;
    message->left--;
    return read_record(message, ret_record);
}
