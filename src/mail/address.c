#include "mail/address.h"

#include "base/text.h"

#include <idn2.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

/* A bound for the input. U-labels may be longer than their A-labels, so it exceeds ADDRESS_MAX_BYTES. */
enum { ADDRESS_INPUT_MAX_BYTES = 1024 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* atext of RFC 5322 §3.2.3. check_characters checks the characters above ASCII. */
static bool is_atext(char byte)
{
    return is_letter(byte) || is_digit(byte) || (unsigned char)byte >= 0x80 ||
           (byte != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", byte) != NULL);
}

/* Invisible or line-breaking characters: controls, formats (zero width, bidirectional), spaces, private use. */
static bool is_hidden(ucs4_t point)
{
    const uint32_t hidden = UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf | UC_CATEGORY_MASK_Co | UC_CATEGORY_MASK_Z;
    bool is_noncharacter = (point & 0xFFFEU) == 0xFFFEU || (point >= 0xFDD0 && point <= 0xFDEF);
    return is_noncharacter || uc_is_general_category_withtable(point, hidden);
}

/* Checks the characters of the whole text, before its structure. */
static bool check_characters(const char *text, const char *what, const char *param, struct error *err)
{
    size_t size = strnlen(text, ADDRESS_INPUT_MAX_BYTES + 1);
    if (size == 0)
        return fail(err, ERR_INVALID_REQUEST, param, "The %s is empty.", what);
    if (size > ADDRESS_INPUT_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, param, "The %s is too long.", what);
    if (!utf8_is_valid(text, size))
        return fail(err, ERR_INVALID_REQUEST, param, "The %s is not valid UTF-8.", what);

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == ' ')
            return fail(err, ERR_INVALID_REQUEST, param, "The %s contains a space.", what);
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return fail(err, ERR_INVALID_REQUEST, param, "The %s contains a line break or another control character.", what);
    }
    if (text_is_ascii(text))
        return true;

    const uint8_t *at = (const uint8_t *)text;
    const uint8_t *end = at + size;
    while (at < end) {
        ucs4_t point;
        at += u8_mbtoucr(&point, at, (size_t)(end - at));
        if (is_hidden(point))
            return fail(err, ERR_INVALID_REQUEST, param, "The %s contains an invisible character (U+%04X).", what, (unsigned)point);
    }
    return true;
}

/* dot-atom (RFC 5322 §3.2.3). */
static bool check_dot_atom(const char *local, size_t size, const char *param, struct error *err)
{
    for (size_t i = 0; i < size; i++) {
        if (local[i] == '.') {
            bool is_separator = i > 0 && i + 1 < size && local[i - 1] != '.';
            if (!is_separator)
                return fail(err, ERR_INVALID_REQUEST, param,
                            "The part before the '@' begins or ends with a dot, or has two dots in a row.");
        } else if (!is_atext(local[i])) {
            return fail(err, ERR_INVALID_REQUEST, param, "The character '%c' is not allowed before the '@'.", local[i]);
        }
    }
    return true;
}

static bool check_local(const char *local, size_t size, const char *param, struct error *err)
{
    if (size == 0)
        return fail(err, ERR_INVALID_REQUEST, param, "The part before the '@' is missing.");
    if (memchr(local, '"', size) != NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "Quotation marks before the '@' are not accepted.");
    if (memchr(local, '(', size) != NULL || memchr(local, ')', size) != NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "Comments in parentheses are not accepted.");
    if (size > ADDRESS_LOCAL_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, param, "The part before the '@' is longer than %d bytes.", ADDRESS_LOCAL_MAX_BYTES);
    return check_dot_atom(local, size, param, err);
}

/* One label of letters, digits and hyphens (RFC 1123 §2.1). */
static bool check_label(const char *label, size_t size, const char *param, struct error *err)
{
    if (size == 0)
        return fail(err, ERR_INVALID_REQUEST, param, "The domain has an empty label; remove the extra dot.");
    if (size > ADDRESS_LABEL_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, param, "A label of the domain is longer than %d bytes.", ADDRESS_LABEL_MAX_BYTES);
    if (label[0] == '-' || label[size - 1] == '-')
        return fail(err, ERR_INVALID_REQUEST, param, "A label of the domain begins or ends with a hyphen.");
    for (size_t i = 0; i < size; i++)
        if (!is_letter(label[i]) && !is_digit(label[i]) && label[i] != '-')
            return fail(err, ERR_INVALID_REQUEST, param, "The character '%c' is not allowed in a domain.", label[i]);
    return true;
}

static bool check_domain_name(const char *domain, const char *param, struct error *err)
{
    size_t labels = 0;
    const char *label = domain;
    for (;;) {
        size_t size = strcspn(label, ".");
        if (!check_label(label, size, param, err))
            return false;
        labels++;
        if (label[size] == '\0')
            break;
        label += size + 1;
    }
    if (labels < 2)
        return fail(err, ERR_INVALID_REQUEST, param, "The domain has no top-level domain, such as '.com'.");
    if (strspn(label, "0123456789") == strlen(label))
        return fail(err, ERR_INVALID_REQUEST, param, "The domain ends with a number instead of a top-level domain.");
    if (strlen(domain) > ADDRESS_DOMAIN_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, param, "The domain is longer than %d bytes.", ADDRESS_DOMAIN_MAX_BYTES);
    return true;
}

static void a_labels_free(char **text)
{
    idn2_free(*text);
}

static bool to_a_labels(struct arena *arena, const char *domain, const char *param, const char **ret_domain, struct error *err)
{
    CLEANUP(a_labels_free) char *ascii = NULL;
    int status = idn2_to_ascii_8z(domain, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (status != IDN2_OK) {
        fail(err, ERR_INVALID_REQUEST, param, "The domain is not a valid internationalised domain name.");
        return error_because(err, "libidn2: %s", idn2_strerror_name(status));
    }
    *ret_domain = text_lower(arena, ascii);
    return true;
}

static bool domain_parse(struct arena *arena, const char *text, const char *param, const char **ret_domain, struct error *err)
{
    if (text[0] == '[')
        return fail(err, ERR_INVALID_REQUEST, param, "Address literals in brackets are not accepted; give a domain name.");
    const char *domain = NULL;
    if (text_is_ascii(text))
        domain = text_lower(arena, text);
    else if (!to_a_labels(arena, text, param, &domain, err))
        return false;
    /* Also needed after the conversion, whose mapping may produce any ASCII character. */
    if (!check_domain_name(domain, param, err))
        return false;
    *ret_domain = domain;
    return true;
}

bool address_domain_parse(struct arena *arena, const char *text, const char *param, const char **ret_domain, struct error *err)
{
    return check_characters(text, "domain", param, err) && domain_parse(arena, text, param, ret_domain, err);
}

bool address_parse(struct arena *arena, const char *text, const char *param, struct address *ret_address, struct error *err)
{
    if (!check_characters(text, "address", param, err))
        return false;
    if (strpbrk(text, "<>") != NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "Give the bare address, without a name or angle brackets.");
    const char *at = strrchr(text, '@');
    if (at == NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "The address has no '@'.");
    size_t local_size = (size_t)(at - text);
    if (memchr(text, '@', local_size) != NULL && memchr(text, '"', local_size) == NULL)
        return fail(err, ERR_INVALID_REQUEST, param, "The address has more than one '@'.");
    if (!check_local(text, local_size, param, err))
        return false;
    if (at[1] == '\0')
        return fail(err, ERR_INVALID_REQUEST, param, "The domain after the '@' is missing.");

    const char *domain = NULL;
    if (!domain_parse(arena, at + 1, param, &domain, err))
        return false;
    if (local_size + 1 + strlen(domain) > ADDRESS_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, param, "The address is longer than %d bytes.", ADDRESS_MAX_BYTES);

    const char *local = arena_dup_bytes(arena, text, local_size);
    const char *key = text_lower_unicode(arena, local);
    /* Unicode has characters that normalise to ASCII, such as U+037E to ';'. */
    if (!check_dot_atom(key, strlen(key), param, err))
        return false;
    *ret_address = (struct address){
        .key = arena_printf(arena, "%s@%s", key, domain),
        .mailbox = arena_printf(arena, "%s@%s", local, domain),
        .local = local,
        .domain = domain,
        .needs_smtputf8 = !text_is_ascii(local),
    };
    return true;
}
