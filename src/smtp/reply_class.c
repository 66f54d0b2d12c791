#include "smtp/reply_class.h"

#include <stddef.h>
#include <string.h>

/* ---- Words, for servers that give the reason without an enhanced code ---- */

static bool says_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(text, words[i]) != NULL)
            return true;
    return false;
}

static bool says_unknown_user(const char *text)
{
    static const char *const words[] = {
        "user unknown",
        "unknown user",
        "no such user",
        "no such recipient",
        "no such mailbox",
        "unknown recipient",
        "recipient unknown",
        "unknown mailbox",
        "mailbox not found",
        "mailbox unavailable",
        "user not found",
        "recipient not found",
        "unknown local part",
        "unknown address",
        "address unknown",
        "does not exist",
        "doesn't exist",
        "invalid recipient",
        "invalid mailbox",
        "not a valid mailbox",
        "no mailbox here",
        "account disabled",
        "mailbox is disabled",
        "account is disabled",
        "no longer valid",
        "account closed",
        "no longer available",
        "mailbox has been disabled",
        "user doesn't have",
        "no account",
        "user not exist",
        "address not found",
        "no valid recipient",
        "not listed in",
        "invalid domain",
        "no such domain",
        "recipient address rejected.",
        "address is correct",
        "final delivery user",
        "recipient name is not",
    };
    return says_any(text, words, ARRAY_COUNT(words));
}

/* The refusal is about the sender, whose host or domain may be unknown too. */
static bool says_sender(const char *text)
{
    static const char *const words[] = { "sender",   "helo",        "ehlo",        "mail from",
                                         "mailfrom", "reverse dns", "client host", "your host" };
    return says_any(text, words, ARRAY_COUNT(words));
}

/* The recipient or its domain does not exist, in words that have no other meaning. They decide whatever the code is. */
static bool says_unknown_for_sure(const char *text)
{
    static const char *const words[] = {
        "delivery error: dd this user doesn't have",
        "recipient address rejected: access denied", /* a large service, for an address that its directory lacks */
        "host unknown",
        "host not found",
        "unknown host",
        "domain is not reachable",
        "find a mail exchanger",
        "find any host named",
        "illegal host/domain name",
        "unrouteable address",
        "host does not accept mail",
        "no mx record found",
        "no smtp service",
        "type=mx: malformed or unexpected name server reply", /* a null MX */
        "#5.1.0 address rejected",
        "mail.local: unknown user",
    };
    return !says_sender(text) && says_any(text, words, ARRAY_COUNT(words));
}

/* The sender is on a list, or sends too much, also when the server gives a code of the recipient. */
static bool says_listed(const char *text)
{
    static const char *const words[] = { "spamhaus",  "spamcop", "barracudacentral",    "blacklist",
                                         "blocklist", "dnsbl",   "too many recipients", "recipient preferences" };
    return says_any(text, words, ARRAY_COUNT(words));
}

/* The sender, its address or the content is refused. */
static bool says_blocked(const char *text)
{
    static const char *const words[] = {
        "blacklist",  "blocklist",     "block list",     "black list",
        "denylist",   "spamhaus",      "spamcop",        "barracuda",
        "dnsbl",      "rbl:",          "blocked",        "banned",
        "reputation", "spam",          "junk",           "unsolicited",
        "dmarc",      "dkim",          "spf check",      "spf fail",
        "policy",     "relay denied",  "relaying",       "not allowed to send",
        "virus",      "malware",       "content reject", "phish",
        "proofpoint", "access denied", "client host",    "authentication required",
    };
    return says_any(text, words, ARRAY_COUNT(words));
}

static bool says_full(const char *text)
{
    static const char *const words[] = { "mailbox full",         "mailbox is full",
                                         "over quota",           "overquota",
                                         "quota exceeded",       "exceeded storage",
                                         "out of storage",       "insufficient storage",
                                         "exceeded the storage", "storage limit",
                                         "mailfolder is full",   "over disk quota",
                                         "disk quota exceeded",  "over the maximum allowed quota",
                                         "exceeded quota",       "quota has been",
                                         "exceeds the quota",    "not enough storage" };
    return says_any(text, words, ARRAY_COUNT(words));
}

/* A large service uses the code of a disabled mailbox for a mailbox that receives too much at a time. */
static bool says_too_fast(const char *text)
{
    static const char *const words[] = { "receiving mail at a rate", "receiving mail too quickly", "too many messages" };
    return says_any(text, words, ARRAY_COUNT(words));
}

/* ---- Codes ---- */

static bool enhanced_is_among(const char *enhanced, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(enhanced, codes[i]) == 0)
            return true;
    return false;
}

/* No such mailbox, domain or syntax, moved without address, null MX (RFC 3463 §3.2, RFC 7505 §4.2). */
static bool is_no_such_recipient(const char *enhanced)
{
    static const char *const codes[] = { "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10" };
    return enhanced_is_among(enhanced, codes, ARRAY_COUNT(codes));
}

/* The code is unspecific: the words of the reply decide. */
static bool is_vague(const char *enhanced)
{
    static const char *const codes[] = { "",      "5.0.0", "5.1.0", "5.1.351", "5.2.0", "5.3.0",
                                         "5.4.0", "5.4.1", "5.4.4", "5.5.0",   "5.5.1" };
    return enhanced_is_among(enhanced, codes, ARRAY_COUNT(codes));
}

/* The message is too large for the system or the mailbox, whichever command the reply came to. */
static bool is_too_large(int code, const char *enhanced, const char *text)
{
    if (strcmp(enhanced, "5.3.4") == 0 || strcmp(enhanced, "5.2.3") == 0)
        return true;
    return code == 552 && enhanced[0] == '\0' && !says_full(text);
}

/* The verdict by the words of a reply with an unspecific code. */
static enum smtp_verdict verdict_of_words(int code, const char *text)
{
    if (says_full(text))
        return SMTP_VERDICT_SOFT;
    if (says_unknown_for_sure(text))
        return SMTP_VERDICT_HARD;
    if (says_blocked(text))
        return SMTP_VERDICT_BLOCK;
    bool is_about_mailbox = code == 550 || code == 551 || code == 553;
    return is_about_mailbox && says_unknown_user(text) ? SMTP_VERDICT_HARD : SMTP_VERDICT_REFUSED;
}

enum smtp_verdict smtp_classify_reply(int code, const char *enhanced, const char *text, bool about_recipient)
{
    if (code >= 200 && code < 300)
        return SMTP_VERDICT_ACCEPTED;
    if (code < 500)
        return SMTP_VERDICT_SOFT;
    if (is_too_large(code, enhanced, text))
        return SMTP_VERDICT_REFUSED;
    if (!about_recipient)
        return SMTP_VERDICT_SOFT;
    if (is_no_such_recipient(enhanced))
        return says_full(text) ? SMTP_VERDICT_SOFT : says_listed(text) ? SMTP_VERDICT_BLOCK : SMTP_VERDICT_HARD;
    if (strcmp(enhanced, "5.2.1") == 0)
        return says_too_fast(text) ? SMTP_VERDICT_SOFT : SMTP_VERDICT_HARD;
    if (strcmp(enhanced, "5.2.2") == 0)
        return SMTP_VERDICT_SOFT;
    if (strncmp(enhanced, "5.7.", 4) == 0)
        return SMTP_VERDICT_BLOCK;
    return is_vague(enhanced) ? verdict_of_words(code, text) : SMTP_VERDICT_REFUSED;
}

bool smtp_says_mailbox_full(const char *enhanced, const char *text)
{
    return strcmp(enhanced, "4.2.2") == 0 || strcmp(enhanced, "5.2.2") == 0 || says_full(text);
}

bool smtp_reply_is_full(const char *enhanced, const char *text)
{
    return enhanced_is_among(enhanced, (const char *const[]){ "4.2.2", "5.2.2" }, 2) || says_full(text);
}

const char *smtp_verdict_name(enum smtp_verdict verdict)
{
    static const char *const names[] = {
        [SMTP_VERDICT_ACCEPTED] = "accepted", [SMTP_VERDICT_HARD] = "hard", [SMTP_VERDICT_BLOCK] = "block",
        [SMTP_VERDICT_REFUSED] = "refused",   [SMTP_VERDICT_SOFT] = "soft",
    };
    return names[verdict];
}
