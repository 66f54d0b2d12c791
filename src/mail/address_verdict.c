#include "mail/address_verdict.h"

#include "base/json_read.h"
#include "base/text.h"
#include "mail/address_lists.h"

#include <string.h>

/* ---- Names ---- */

const char *address_status_name(enum address_status status)
{
    static const char *const names[] = {
        [ADDRESS_VALID] = "valid",
        [ADDRESS_RISKY] = "risky",
        [ADDRESS_INVALID] = "invalid",
    };
    return names[status];
}

struct reason_text {
    const char *name;
    const char *sentence;
};

static const struct reason_text reasons[] = {
    [ADDRESS_UNOBJECTIONABLE] = { NULL, "No problem is known with this address." },
    [ADDRESS_INVALID_SYNTAX] = { "invalid_syntax", "This is not a valid email address." },
    [ADDRESS_NO_SUCH_DOMAIN] = { "no_such_domain", "The domain of this address does not exist." },
    [ADDRESS_NO_MAIL] = { "no_mail", "The domain of this address does not accept mail." },
    [ADDRESS_DISPOSABLE] = { "disposable", "This domain offers disposable mailboxes." },
    [ADDRESS_ROLE] = { "role", "This is a role mailbox, which several people or nobody may read." },
    [ADDRESS_DNS_UNAVAILABLE] = { "dns_unavailable",
                                  "The address could not be checked, because the DNS did not respond for its domain." },
};

const char *address_reason_name(enum address_reason reason)
{
    return reasons[reason].name;
}

const char *address_reason_sentence(enum address_reason reason)
{
    return reasons[reason].sentence;
}

/* ---- Suggestions ---- */

enum { SUGGESTION_MAX_CHARS = 24, SUGGESTION_MAX_DISTANCE = 2 };

struct large_service {
    const char *name;
    const char *suffix; /* after the first dot */
};

/* The mail services with the most mailboxes. A domain that differs little from one of them is probably a typo. */
static const struct large_service large_services[] = {
    { "gmail", "com" },    { "googlemail", "com" }, { "yahoo", "com" },     { "yahoo", "co.uk" }, { "yahoo", "fr" },
    { "yahoo", "de" },     { "hotmail", "com" },    { "hotmail", "co.uk" }, { "hotmail", "fr" },  { "outlook", "com" },
    { "outlook", "de" },   { "live", "com" },       { "msn", "com" },       { "icloud", "com" },  { "me", "com" },
    { "aol", "com" },      { "protonmail", "com" }, { "proton", "me" },     { "gmx", "de" },      { "gmx", "net" },
    { "gmx", "com" },      { "web", "de" },         { "t-online", "de" },   { "freenet", "de" },  { "orange", "fr" },
    { "wanadoo", "fr" },   { "laposte", "net" },    { "libero", "it" },     { "comcast", "net" }, { "verizon", "net" },
    { "fastmail", "com" }, { "yandex", "ru" },      { "mail", "ru" },       { "qq", "com" },      { "163", "com" },
};

static size_t smaller_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, replacements and swaps of neighbours. */
static size_t typo_distance(const char *left, size_t left_size, const char *right, size_t right_size)
{
    size_t rows[3][SUGGESTION_MAX_CHARS + 1];
    if (left_size > SUGGESTION_MAX_CHARS || right_size > SUGGESTION_MAX_CHARS)
        return SUGGESTION_MAX_DISTANCE + 1;
    for (size_t j = 0; j <= right_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= left_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= right_size; j++) {
            size_t cost = left[i - 1] == right[j - 1] ? 0 : 1;
            row[j] = smaller_size(smaller_size(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            bool is_swap = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if (is_swap)
                row[j] = smaller_size(row[j], above_that[j - 2] + 1);
        }
    }
    return rows[left_size % 3][right_size];
}

/* A short name with one changed letter is often another real name. A long name with one changed letter is a typo. */
static size_t typos_allowed_in_name(const char *name)
{
    size_t size = strlen(name);
    return size < 5 ? 0 : size < 6 ? 1 : SUGGESTION_MAX_DISTANCE;
}

/* Two letters are a country code, which is not taken as a typo of another code; a typo may only have lost a letter. */
static size_t typos_allowed_in_rest(const char *suffix, const char *typed)
{
    if (strlen(typed) > 2)
        return SUGGESTION_MAX_DISTANCE;
    return strlen(suffix) == 2 ? 0 : 1;
}

/* The number of typos between the service and `domain`; more than SUGGESTION_MAX_DISTANCE when it is another domain. */
static size_t typos_from(const struct large_service *service, const char *domain)
{
    size_t name_size = strcspn(domain, ".");
    const char *suffix = domain + name_size + 1;
    size_t in_name = typo_distance(domain, name_size, service->name, strlen(service->name));
    size_t in_rest = typo_distance(suffix, strlen(suffix), service->suffix, strlen(service->suffix));
    bool is_near = in_name <= typos_allowed_in_name(service->name) && in_rest <= typos_allowed_in_rest(service->suffix, suffix);
    return is_near ? in_name + in_rest : SUGGESTION_MAX_DISTANCE + 1;
}

const char *address_domain_suggestion(struct arena *arena, const char *domain)
{
    const struct large_service *nearest = NULL;
    size_t fewest = SUGGESTION_MAX_DISTANCE + 1;
    /* A known mail service is not a typo of a similar one. */
    if (strchr(domain, '.') == NULL || address_domain_is_free(domain))
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(large_services); i++) {
        size_t typos = typos_from(&large_services[i], domain);
        if (typos >= fewest)
            continue;
        nearest = &large_services[i];
        fewest = typos;
    }
    return nearest != NULL && fewest > 0 ? arena_printf(arena, "%s.%s", nearest->name, nearest->suffix) : NULL;
}

/* ---- One address ---- */

/* Names that no mail server can have: RFC 6761 §6.3 and §6.4, RFC 7686 §1. */
static bool never_has_mail(const char *domain)
{
    static const char *const names[] = { "invalid", "localhost", "onion" };
    const char *last = strrchr(domain, '.');
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (last != NULL && strcmp(last + 1, names[i]) == 0)
            return true;
    return false;
}

/* A tag after '+' does not change the mailbox, so it is not compared. */
static bool is_role(struct arena *arena, const char *local)
{
    const char *name = arena_dup_bytes(arena, local, strcspn(local, "+"));
    return address_local_is_role(text_lower(arena, name));
}

/* The most important reason comes first. A role is less important than a missing answer of the DNS. */
static enum address_reason reason_of(struct arena *arena, const struct address *address, enum mail_domain domain)
{
    if (never_has_mail(address->domain) || domain == MAIL_DOMAIN_ABSENT)
        return ADDRESS_NO_SUCH_DOMAIN;
    if (domain == MAIL_DOMAIN_REFUSES)
        return ADDRESS_NO_MAIL;
    if (address_domain_is_disposable(address->domain))
        return ADDRESS_DISPOSABLE;
    if (domain == MAIL_DOMAIN_UNKNOWN)
        return ADDRESS_DNS_UNAVAILABLE;
    return is_role(arena, address->local) ? ADDRESS_ROLE : ADDRESS_UNOBJECTIONABLE;
}

static enum address_status status_of(enum address_reason reason)
{
    switch (reason) {
    case ADDRESS_UNOBJECTIONABLE:
        return ADDRESS_VALID;
    case ADDRESS_INVALID_SYNTAX:
    case ADDRESS_NO_SUCH_DOMAIN:
    case ADDRESS_NO_MAIL:
        return ADDRESS_INVALID;
    case ADDRESS_DISPOSABLE:
    case ADDRESS_ROLE:
    case ADDRESS_DNS_UNAVAILABLE:
        break;
    }
    return ADDRESS_RISKY;
}

struct address_verdict address_judge(struct arena *arena, const struct address *address, enum mail_domain domain)
{
    enum address_reason reason = reason_of(arena, address, domain);
    const char *meant = address_domain_suggestion(arena, address->domain);
    return (struct address_verdict){
        .status = status_of(reason),
        .reason = reason,
        .did_you_mean = meant != NULL ? arena_printf(arena, "%s@%s", address->local, meant) : NULL,
    };
}

/* ---- Lists ---- */

/* The index stored under a name. A new name is stored with `otherwise`, which is returned. */
static size_t index_of(json_t *known, const char *name, size_t otherwise)
{
    const json_t *index = json_object_get(known, name);
    if (index != NULL)
        return (size_t)json_integer_value(index);
    json_object_set_new(known, name, json_integer((json_int_t)otherwise));
    return otherwise;
}

void address_list_read(struct arena *arena, struct text_list given, struct address_list *ret_list)
{
    struct address_list list = {
        .items = arena_array(arena, given.count, sizeof(*list.items)),
        .count = given.count,
        .domains = arena_array(arena, given.count, sizeof(*list.domains)),
    };
    json_t *known_addresses = json_in_arena(arena, json_object());
    json_t *known_domains = json_in_arena(arena, json_object());
    for (size_t i = 0; i < given.count; i++) {
        struct address_check *check = &list.items[i];
        struct error ignored = { .code = ERR_NONE };
        const char *trimmed = text_trim(arena, given.items[i]);
        *check = (struct address_check){ .given = given.items[i], .domain = ADDRESS_NO_LOOKUP };
        check->is_well_formed = address_parse(arena, trimmed, NULL, &check->address, &ignored);
        check->first = index_of(known_addresses, check->is_well_formed ? check->address.key : trimmed, i);
        if (!check->is_well_formed || never_has_mail(check->address.domain))
            continue;
        check->domain = index_of(known_domains, check->address.domain, list.domain_count);
        if (check->domain == list.domain_count)
            list.domains[list.domain_count++] = check->address.domain;
    }
    *ret_list = list;
}

void address_list_judge(struct arena *arena, struct address_list *list, const enum mail_domain *domains)
{
    static const struct address_verdict malformed = { .status = ADDRESS_INVALID, .reason = ADDRESS_INVALID_SYNTAX };
    for (size_t i = 0; i < list->count; i++) {
        struct address_check *check = &list->items[i];
        enum mail_domain domain = check->domain != ADDRESS_NO_LOOKUP ? domains[check->domain] : MAIL_DOMAIN_UNKNOWN;
        check->verdict = check->is_well_formed ? address_judge(arena, &check->address, domain) : malformed;
    }
}

bool address_was_checked(const struct address_check *check)
{
    return check->verdict.reason != ADDRESS_DNS_UNAVAILABLE;
}

int64_t address_list_checked(const struct address_list *list)
{
    int64_t checked = 0;
    for (size_t i = 0; i < list->count; i++)
        checked += list->items[i].first == i && list->items[i].given[0] != '\0' && address_was_checked(&list->items[i]);
    return checked;
}
