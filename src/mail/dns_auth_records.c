#include "mail/dns_auth_records.h"

#include <string.h>
#include <strings.h>

/* ---- Lists of tags (RFC 6376 §3.2), which DMARC has too ---- */

/* A piece of the record, without white space around it; `at` NULL: not there. */
struct piece {
    const char *at;
    size_t size;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct piece piece_of(const char *at, size_t size)
{
    for (; size > 0 && is_blank(*at); at++)
        size--;
    while (size > 0 && is_blank(at[size - 1]))
        size--;
    return (struct piece){ at, size };
}

static bool piece_is(struct piece piece, const char *text)
{
    return piece.at != NULL && piece.size == strlen(text) && memcmp(piece.at, text, piece.size) == 0;
}

/* The next tag of the list at `at`, which is moved behind it. False at the end; `ret_name->at` is NULL when it is no tag. */
static bool next_tag(const char **at, struct piece *ret_name, struct piece *ret_value)
{
    while (**at != '\0') {
        size_t size = strcspn(*at, ";");
        struct piece tag = piece_of(*at, size);
        *at += size + ((*at)[size] == ';');
        if (tag.size == 0)
            continue;
        const char *equals = memchr(tag.at, '=', tag.size);
        *ret_name = (struct piece){ NULL, 0 };
        if (equals == NULL)
            return true;
        size_t name_size = (size_t)(equals - tag.at);
        *ret_name = piece_of(tag.at, name_size);
        *ret_value = piece_of(equals + 1, tag.size - name_size - 1);
        return true;
    }
    return false;
}

enum tag { TAG_V, TAG_K, TAG_P, TAG_H, TAG_S, TAGS };

/* The tags that say whether a key serves. False when the list is not one: no tag, a tag twice, a version that is not first. */
static bool read_tags(const char *text, struct piece ret_tags[TAGS])
{
    static const char *const names[TAGS] = { "v", "k", "p", "h", "s" };
    struct piece name;
    struct piece value;
    size_t count = 0;
    for (size_t i = 0; i < TAGS; i++)
        ret_tags[i] = (struct piece){ NULL, 0 };
    for (; next_tag(&text, &name, &value); count++) {
        if (name.at == NULL)
            return false;
        for (size_t i = 0; i < TAGS; i++) {
            if (!piece_is(name, names[i]))
                continue;
            if (ret_tags[i].at != NULL || (i == TAG_V && count > 0))
                return false;
            ret_tags[i] = value;
        }
    }
    return count > 0;
}

/* ---- DKIM ---- */

/* A list with colons, such as h=sha1:sha256; not there, it excludes nothing. */
static bool allows(struct piece list, const char *wanted, const char *also)
{
    if (list.at == NULL)
        return true;
    const char *end = list.at + list.size;
    for (const char *at = list.at; at <= end;) {
        const char *colon = at < end ? memchr(at, ':', (size_t)(end - at)) : NULL;
        const char *stop = colon != NULL ? colon : end;
        struct piece item = piece_of(at, (size_t)(stop - at));
        if (piece_is(item, wanted) || (also != NULL && piece_is(item, also)))
            return true;
        at = stop + 1;
    }
    return false;
}

static bool equals_without_blanks(struct piece piece, const char *text)
{
    for (size_t i = 0; i < piece.size; i++) {
        if (is_blank(piece.at[i]))
            continue;
        if (piece.at[i] != *text)
            return false;
        text++;
    }
    return *text == '\0';
}

static bool is_this_key(const struct piece tags[TAGS], const char *kind, const char *public_key)
{
    const char *default_kind = "rsa";
    bool is_kind = tags[TAG_K].at != NULL ? piece_is(tags[TAG_K], kind) : strcmp(kind, default_kind) == 0;
    return is_kind && (tags[TAG_V].at == NULL || piece_is(tags[TAG_V], "DKIM1")) && allows(tags[TAG_H], "sha256", NULL) &&
           allows(tags[TAG_S], "email", "*") && equals_without_blanks(tags[TAG_P], public_key);
}

bool dns_auth_has_dkim_key(struct text_list texts, const char *kind, const char *public_key)
{
    bool found = false;
    for (size_t i = 0; i < texts.count; i++) {
        struct piece tags[TAGS];
        if (!read_tags(texts.items[i], tags) || tags[TAG_P].at == NULL)
            continue; /* not the record of a key */
        if (!is_this_key(tags, kind, public_key))
            return false; /* which of two keys a receiver takes is up to him */
        found = true;
    }
    return found;
}

/* ---- SPF and DMARC ---- */

bool dns_auth_has_spf(struct text_list texts)
{
    static const char version[] = "v=spf1";
    const size_t size = sizeof(version) - 1;
    size_t count = 0;
    for (size_t i = 0; i < texts.count; i++) {
        const char *text = texts.items[i];
        count += strncasecmp(text, version, size) == 0 && (text[size] == '\0' || text[size] == ' ');
    }
    return count == 1;
}

bool dns_auth_has_dmarc(struct text_list texts)
{
    size_t count = 0;
    bool has_policy = false;
    for (size_t i = 0; i < texts.count; i++) {
        struct piece tags[TAGS];
        if (!read_tags(texts.items[i], tags) || !piece_is(tags[TAG_V], "DMARC1"))
            continue;
        count++;
        has_policy = piece_is(tags[TAG_P], "none") || piece_is(tags[TAG_P], "quarantine") || piece_is(tags[TAG_P], "reject");
    }
    return count == 1 && has_policy;
}
