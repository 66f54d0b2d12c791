/*
 * Address verdict: the result of address validation, from the syntax, the DNS
 * and the address lists. These are pure rules: the caller looks up the domains
 * of a list (net/dns.h) and passes the answers.
 *
 *   invalid  no mail can arrive: malformed, no such domain, a domain without mail
 *   risky    mail may arrive but may be unwanted: a disposable mailbox, a role,
 *            or a domain whose lookup failed
 *   valid    no problem is known; no mailbox was contacted
 *
 * Lists live in the arena they were read into. No state; any thread.
 */
#pragma once

#include "base/values.h"
#include "mail/address.h"

enum address_status { ADDRESS_VALID, ADDRESS_RISKY, ADDRESS_INVALID };

enum address_reason {
    ADDRESS_UNOBJECTIONABLE,
    ADDRESS_INVALID_SYNTAX, /* RFC 5321, RFC 6531 */
    ADDRESS_NO_SUCH_DOMAIN, /* NXDOMAIN, or a name that never has mail (RFC 6761) */
    ADDRESS_NO_MAIL,        /* the domain has a null MX (RFC 7505), or neither MX nor address records */
    ADDRESS_DISPOSABLE,
    ADDRESS_ROLE,
    ADDRESS_DNS_UNAVAILABLE, /* not checked: the DNS gave no answer in time */
};

/* Whether a domain accepts mail, according to the DNS. */
enum mail_domain { MAIL_DOMAIN_UNKNOWN, MAIL_DOMAIN_ACCEPTS, MAIL_DOMAIN_REFUSES, MAIL_DOMAIN_ABSENT };

struct address_verdict {
    enum address_status status;
    enum address_reason reason;
    const char *did_you_mean; /* a suggestion for an address with a probable typo, else NULL */
};

/* The names in the API, such as "valid" and "no_mail". ADDRESS_UNOBJECTIONABLE has none: NULL. */
const char *address_status_name(enum address_status status) RETURNS_NONNULL;
const char *address_reason_name(enum address_reason reason);

/* The reason as one sentence for the caller. */
const char *address_reason_sentence(enum address_reason reason) RETURNS_NONNULL;

/* ---- One address ---- */

/* The verdict about a well-formed address. */
struct address_verdict address_judge(struct arena *arena, const struct address *address, enum mail_domain domain) NONNULL(1, 2);

/* The large mail service that a domain with a typo probably means, NULL when there is none. */
const char *address_domain_suggestion(struct arena *arena, const char *domain) NONNULL(1, 2);

/* ---- Lists ---- */

struct address_check {
    const char *given;
    bool is_well_formed;
    struct address address; /* when well-formed */
    size_t domain;          /* index in the list's domains if it needs a lookup, else ADDRESS_NO_LOOKUP */
    size_t first;           /* index of the first equal address of the list; its own index if it is the first */
    struct address_verdict verdict;
};

#define ADDRESS_NO_LOOKUP SIZE_MAX

/* Addresses that are checked together, and the distinct domains to look up. */
struct address_list {
    struct address_check *items;
    size_t count;
    const char **domains;
    size_t domain_count;
};

/* Parses addresses; white space around them is ignored. */
void address_list_read(struct arena *arena, struct text_list given, struct address_list *ret_list) NONNULL(1, 3);

/* Sets the verdict of every address; `domains` are the answers for the domains of the list, in their order. */
void address_list_judge(struct arena *arena, struct address_list *list, const enum mail_domain *domains) NONNULL(1, 2);

/* The number of distinct addresses of a judged list that were checked, without empty texts. This number is charged. */
int64_t address_list_checked(const struct address_list *list) NONNULL(1) PURE;

/* Whether an address of a judged list was checked: the DNS answered, or was not needed. */
bool address_was_checked(const struct address_check *check) NONNULL(1) PURE;
