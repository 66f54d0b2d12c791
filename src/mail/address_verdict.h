/*
 * Verdicts about addresses: what syntax, DNS and the lists say together. Pure
 * rules; whoever calls asks the DNS (net/dns.h) for the domains of a list and
 * hands the answers in.
 *
 *   invalid  no mail can arrive: malformed, no such domain, a domain without mail
 *   risky    mail may arrive and may not be wanted: a throw-away mailbox, a role,
 *            or a domain that could not be asked
 *   valid    nothing is known against it; no mailbox was contacted
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
    ADDRESS_NO_MAIL,        /* null MX (RFC 7505), or neither MX nor address */
    ADDRESS_DISPOSABLE,
    ADDRESS_ROLE,
    ADDRESS_DNS_UNAVAILABLE, /* not checked: the DNS gave no answer in time */
};

/* What the DNS says about mail to a domain. */
enum mail_domain { MAIL_DOMAIN_UNKNOWN, MAIL_DOMAIN_ACCEPTS, MAIL_DOMAIN_REFUSES, MAIL_DOMAIN_ABSENT };

struct address_verdict {
    enum address_status status;
    enum address_reason reason;
    const char *did_you_mean; /* the address that was probably meant, NULL when none is near */
};

/* The names on the wire: "valid"; "no_mail", NULL for ADDRESS_UNOBJECTIONABLE. */
const char *address_status_name(enum address_status status) RETURNS_NONNULL;
const char *address_reason_name(enum address_reason reason);

/* One sentence for a person about a reason other than ADDRESS_UNOBJECTIONABLE. */
const char *address_reason_sentence(enum address_reason reason) RETURNS_NONNULL;

/* ---- One ---- */

/* The verdict about a well-formed address. */
struct address_verdict address_judge(struct arena *arena, const struct address *address, enum mail_domain domain) NONNULL(1, 2);

/* The domain that was probably meant by a near miss of one of the large mail services, NULL when none. */
const char *address_domain_suggestion(struct arena *arena, const char *domain) NONNULL(1, 2);

/* ---- Many ---- */

struct address_check {
    const char *given;
    bool is_well_formed;
    struct address address; /* when well-formed */
    size_t domain;          /* its index in the list's domains, when it must be looked up; else ADDRESS_NO_LOOKUP */
    size_t first;           /* index of the first address of the list that is the same one; its own when it is the first */
    struct address_verdict verdict;
};

#define ADDRESS_NO_LOOKUP SIZE_MAX

/* Addresses that are checked together: each in its place, what must be looked up once. */
struct address_list {
    struct address_check *items;
    size_t count;
    const char **domains;
    size_t domain_count;
};

/* Reads addresses as a caller gave them; white space around them does not count. */
void address_list_read(struct arena *arena, struct text_list given, struct address_list *ret_list) NONNULL(1, 3);

/* Gives every address its verdict; `domains` are the answers about the domains of the list, in their order. */
void address_list_judge(struct arena *arena, struct address_list *list, const enum mail_domain *domains) NONNULL(1, 2);

/* How many different addresses of a judged list were checked. This is what is charged. */
int64_t address_list_checked(const struct address_list *list) NONNULL(1) PURE;

/* Whether an address of a judged list was checked: the DNS answered, or was not needed. */
bool address_was_checked(const struct address_check *check) NONNULL(1) PURE;
