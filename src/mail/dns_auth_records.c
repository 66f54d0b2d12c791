#include "mail/dns_auth_records.h"

#include <string.h>
#include <strings.h>

/* ---- Tag lists (RFC 6376 §3.2), also used by DMARC ---- */

/* A part of the record, without white space around it; `at` NULL: absent. */
struct slice {
    const char *at;
    size_t size;
};

static bool is_folding_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct slice slice_of(const char *at, size_t size)
{
    for (; size > 0 && is_folding_blank(*at); at++)
        size--;
    while (size > 0 && is_folding_blank(at[size - 1]))
        size--;
    return (struct slice){ at, size };
}

static bool slice_is(struct slice slice, const char *text)
{
    return slice.at != NULL && slice.size == strlen(text) && memcmp(slice.at, text, slice.size) == 0;
}

/* Reads the next tag of the list and moves `at` past it. False at the end; `ret_name->at` is NULL for a malformed tag. */
static bool next_tag(const char **at, struct slice *ret_name, struct slice *ret_value)
{
    while (**at != '\0') {
        size_t size = strcspn(*at, ";");
        struct slice tag = slice_of(*at, size);
        *at += size + ((*at)[size] == ';');
        if (tag.size == 0)
            continue;
        const char *equals = memchr(tag.at, '=', tag.size);
        *ret_name = (struct slice){ NULL, 0 };
        if (equals == NULL)
            return true;
        size_t name_size = (size_t)(equals - tag.at);
        *ret_name = slice_of(tag.at, name_size);
        *ret_value = slice_of(equals + 1, tag.size - name_size - 1);
        return true;
    }
    return false;
}

enum tag { TAG_V, TAG_K, TAG_P, TAG_H, TAG_S, TAGS };

/* Reads the tags that decide whether a key is usable. False for a malformed list: no tag, a tag twice, or a version that is not
 * first. */
static bool read_tags(const char *text, struct slice ret_tags[TAGS])
{
    static const char *const names[TAGS] = { "v", "k", "p", "h", "s" };
    struct slice name;
    struct slice value;
    size_t count = 0;
    for (size_t i = 0; i < TAGS; i++)
        ret_tags[i] = (struct slice){ NULL, 0 };
    for (; next_tag(&text, &name, &value); count++) {
        if (name.at == NULL)
            return false;
        for (size_t i = 0; i < TAGS; i++) {
            if (!slice_is(name, names[i]))
                continue;
            if (ret_tags[i].at != NULL || (i == TAG_V && count > 0))
                return false;
            ret_tags[i] = value;
        }
    }
    return count > 0;
}

/* ---- DKIM ---- */

/* Whether a colon-separated list, such as h=sha1:sha256, has an item; an absent list allows everything. */
static bool allows(struct slice list, const char *wanted, const char *also)
{
    if (list.at == NULL)
        return true;
    const char *end = list.at + list.size;
    for (const char *at = list.at; at <= end;) {
        const char *colon = at < end ? memchr(at, ':', (size_t)(end - at)) : NULL;
        const char *stop = colon != NULL ? colon : end;
        struct slice item = slice_of(at, (size_t)(stop - at));
        if (slice_is(item, wanted) || (also != NULL && slice_is(item, also)))
            return true;
        at = stop + 1;
    }
    return false;
}

static bool equals_without_blanks(struct slice slice, const char *text)
{
    for (size_t i = 0; i < slice.size; i++) {
        if (is_folding_blank(slice.at[i]))
            continue;
        if (slice.at[i] != *text)
            return false;
        text++;
    }
    return *text == '\0';
}

static bool is_this_key(const struct slice tags[TAGS], const char *kind, const char *public_key)
{
    const char *default_kind = "rsa";
    bool is_kind = tags[TAG_K].at != NULL ? slice_is(tags[TAG_K], kind) : strcmp(kind, default_kind) == 0;
    return is_kind && (tags[TAG_V].at == NULL || slice_is(tags[TAG_V], "DKIM1")) && allows(tags[TAG_H], "sha256", NULL) &&
           allows(tags[TAG_S], "email", "*") && equals_without_blanks(tags[TAG_P], public_key);
}

bool dns_auth_has_dkim_key(struct text_list texts, const char *kind, const char *public_key)
{
    bool found = false;
    for (size_t i = 0; i < texts.count; i++) {
        struct slice tags[TAGS];
        if (!read_tags(texts.items[i], tags) || tags[TAG_P].at == NULL)
            continue; /* not the record of a key */
        if (!is_this_key(tags, kind, public_key))
            return false; /* a receiver may use either of two keys */
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
        struct slice tags[TAGS];
        if (!read_tags(texts.items[i], tags) || !slice_is(tags[TAG_V], "DMARC1"))
            continue;
        count++;
        has_policy = slice_is(tags[TAG_P], "none") || slice_is(tags[TAG_P], "quarantine") || slice_is(tags[TAG_P], "reject");
    }
    return count == 1 && has_policy;
}
