#include "mail/header.h"

#include "base/text.h"
#include "mail/address.h"
#include "mail/encode.h"

#include <string.h>

/* A display name that is longer than this in quotes is split into encoded words rather than folded. */
enum { PHRASE_QUOTED_MAX_BYTES = 62 };

/* Control characters in UTF-8: C0, DEL and C1, which some mail programs interpret. */
static bool has_control(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at < 0x20 || *at == 0x7F || (at[0] == 0xC2 && at[1] >= 0x80 && at[1] <= 0x9F))
            return true;
    return false;
}

static bool check_header_text(const char *value, size_t max_bytes, const char *param, struct error *err)
{
    size_t size = strnlen(value, max_bytes + 1);
    if (size > max_bytes)
        return fail(err, ERR_INVALID_REQUEST, param, "The text is longer than %zu bytes.", max_bytes);
    if (has_control(value))
        return fail(err, ERR_INVALID_REQUEST, param, "The text contains a line break or another control character.");
    if (!utf8_is_valid(value, size))
        return fail(err, ERR_INVALID_REQUEST, param, "The text is not valid UTF-8.");
    return true;
}

bool header_check_text(const char *value, const char *param, struct error *err)
{
    return check_header_text(value, HEADER_TEXT_MAX_BYTES, param, err);
}

/* Appends ASCII text, folded before a blank where the line would exceed its preferred length. False when a word makes a
 * line longer than the standard allows. */
static bool add_folded_text(struct buf *out, size_t column, const char *text)
{
    const char *at = text;
    while (*at != '\0') {
        size_t blanks = strspn(at, " \t");
        size_t piece = blanks + strcspn(at + blanks, " \t");
        bool is_first = at == text;
        if (!is_first && column + piece > ENCODE_HEADER_LINE_MAX_BYTES) {
            buf_add_text(out, "\r\n");
            column = 0;
        }
        buf_add(out, at, piece);
        column += piece;
        if (column > ENCODE_HEADER_HARD_MAX_BYTES)
            return false;
        at += piece;
    }
    return true;
}

/* Whether folding and unfolding preserve the text without encoding: single inner blanks, and no word that is too long or
 * looks like an encoded word. */
static bool is_plain_text(const char *text, size_t column)
{
    if (!text_is_ascii(text) || strstr(text, "=?") != NULL || strstr(text, "  ") != NULL)
        return false;
    size_t size = strlen(text);
    if (size > 0 && (text[0] == ' ' || text[size - 1] == ' '))
        return false;
    for (const char *at = text; *at != '\0'; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (column + word > ENCODE_HEADER_LINE_MAX_BYTES)
            return false;
        column = 1;
        at += word;
    }
    return true;
}

/* Appends "Name: " and returns the column after it. */
static size_t add_field_name(struct buf *out, const char *name)
{
    size_t size = strlen(name);
    buf_add(out, name, size);
    buf_add(out, ": ", 2);
    return size + 2;
}

bool header_add_text(struct buf *out, const char *name, const char *value, const char *param, struct error *err)
{
    if (!check_header_text(value, HEADER_TEXT_MAX_BYTES, param, err))
        return false;
    size_t column = add_field_name(out, name);
    if (!is_plain_text(value, column))
        encoded_words_add(out, column, value, strlen(value));
    else if (!add_folded_text(out, column, value))
        return fail(err, ERR_INVALID_REQUEST, param, "A word of the text is too long for a header.");
    buf_add_text(out, "\r\n");
    return true;
}

/* A word of RFC 5322 atoms and blanks needs no quotes. */
static bool is_atoms(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool is_atext = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                        strchr("!#$%&'*+-/=?^_`{|}~ ", *at) != NULL;
        if (!is_atext)
            return false;
    }
    return true;
}

static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *at);
    }
    buf_add_char(out, '"');
}

/* The size of a text in quotes. */
static size_t quoted_size(const char *text)
{
    size_t size = strlen("\"\"");
    for (const char *at = text; *at != '\0'; at++)
        size += *at == '"' || *at == '\\' ? 2 : 1;
    return size;
}

/* Appends a display name (phrase, RFC 5322 §3.2.5) and returns the column after it. */
static size_t add_phrase(struct buf *out, size_t column, const char *name)
{
    size_t start = out->size;
    size_t size = strlen(name);
    if (quoted_size(name) > PHRASE_QUOTED_MAX_BYTES || !is_plain_text(name, 0))
        return encoded_words_add(out, column, name, size);
    if (is_atoms(name))
        buf_add(out, name, size);
    else
        add_quoted(out, name);
    return column + (out->size - start);
}

/* A safety check; address_parse does the full check. */
static bool check_mailbox_address(const char *address, const char *param, struct error *err)
{
    if (address == NULL || address[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, param, "The email address is missing.");
    if (!check_header_text(address, ADDRESS_MAX_BYTES, param, err))
        return false;
    const char *at = strrchr(address, '@');
    if (at == NULL || strpbrk(address, " <>()[]\\,;:\"") != NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "The email address is not valid; give it without a name or brackets.");
    if (!text_is_ascii(at))
        return fail(err, ERR_INVALID_REQUEST, param, "The domain of the address is not in A-labels.");
    return true;
}

bool header_add_mailbox(struct buf *out, const char *name, const struct mailbox *mailbox, const char *name_param,
                        const char *address_param, struct error *err)
{
    if (!check_mailbox_address(mailbox->address, address_param, err))
        return false;
    bool has_name = mailbox->name != NULL && mailbox->name[0] != '\0';
    if (has_name && !check_header_text(mailbox->name, HEADER_TEXT_MAX_BYTES, name_param, err))
        return false;

    size_t column = add_field_name(out, name);
    if (!has_name) {
        buf_add_text(out, mailbox->address);
        buf_add_text(out, "\r\n");
        return true;
    }
    column = add_phrase(out, column, mailbox->name);
    bool fits = column + strlen(" <>") + strlen(mailbox->address) <= ENCODE_WORD_LINE_MAX_BYTES;
    buf_add_text(out, fits ? " <" : "\r\n <");
    buf_add_text(out, mailbox->address);
    buf_add_text(out, ">\r\n");
    return true;
}

static bool check_field_name(const char *name, struct error *err)
{
    size_t size = strnlen(name, HEADER_NAME_MAX_BYTES + 1);
    bool is_valid = size > 0 && size <= HEADER_NAME_MAX_BYTES;
    for (const char *at = name; is_valid && *at != '\0'; at++)
        is_valid = *at > ' ' && *at < 0x7F && *at != ':'; /* ftext, RFC 5322 §3.6.8 */
    return is_valid || fail(err, ERR_INVALID_REQUEST, "headers", "A header name is not valid.");
}

bool header_add_structured(struct buf *out, const struct header *header, struct error *err)
{
    if (!check_field_name(header->name, err) || !check_header_text(header->value, HEADER_VALUE_MAX_BYTES, header->name, err))
        return false;
    if (!text_is_ascii(header->value))
        return fail(err, ERR_INVALID_REQUEST, header->name, "The header value is not ASCII.");
    size_t blanks = strspn(header->value, " ");
    if (header->value[blanks] == '\0' || blanks > 0)
        return fail(err, ERR_INVALID_REQUEST, header->name, "The header value is empty or begins with a blank.");
    if (!add_folded_text(out, add_field_name(out, header->name), header->value))
        return fail(err, ERR_INVALID_REQUEST, header->name, "A word of the header value is too long for a line.");
    buf_add_text(out, "\r\n");
    return true;
}
