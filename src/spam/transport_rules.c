/*
 * Rules that say nothing about a design. A message that is checked before it is
 * sent has no Received lines, no signature and no peer, and a filter without
 * network asks nobody. A rule of this table is therefore no finding, and its
 * points do not count.
 */
#include "spam/filter.h"

#include <fnmatch.h>

static const char not_delivered[] = "The message was not delivered yet, so it has no Received lines.";
static const char not_signed[] = "The message is signed when it is sent; the authentication checks tell about its domain.";
static const char no_network[] = "The spam filter asks no other servers, or was refused by them.";
static const char own_network[] = "The message comes from this installation, not from a mail server.";

static const struct {
    enum spam_kind kind;
    const char *names; /* with * for any characters */
    const char *reason;
} left_out[] = {
    { SPAM_SPAMD, "NO_RECEIVED", not_delivered },
    { SPAM_SPAMD, "NO_RELAYS", not_delivered },
    { SPAM_SPAMD, "UNPARSEABLE_RELAY", not_delivered },
    { SPAM_SPAMD, "ALL_TRUSTED", own_network },
    { SPAM_SPAMD, "RDNS_*", own_network },
    { SPAM_SPAMD, "NO_RDNS*", own_network },
    { SPAM_SPAMD, "HELO_*", own_network },
    { SPAM_SPAMD, "KHOP_HELO_FCRDNS", own_network },
    { SPAM_SPAMD, "TVD_RCVD_*", own_network },
    { SPAM_SPAMD, "RCVD_IN_*", own_network },
    { SPAM_SPAMD, "SPF_*", own_network },
    { SPAM_SPAMD, "T_SPF_*", own_network },
    { SPAM_SPAMD, "DKIM_*", not_signed },
    { SPAM_SPAMD, "T_DKIM_*", not_signed },
    { SPAM_SPAMD, "DMARC_*", not_signed },
    { SPAM_SPAMD, "NO_DNS_FOR_FROM", no_network },
    { SPAM_SPAMD, "*_BLOCKED", no_network },
    { SPAM_SPAMD, "*_BLOCKED_OPENDNS", no_network },
    { SPAM_RSPAMD, "RCVD_*", not_delivered },
    { SPAM_RSPAMD, "ONCE_RECEIVED*", not_delivered },
    { SPAM_RSPAMD, "MISSING_RECEIVED*", not_delivered },
    { SPAM_RSPAMD, "RDNS_*", own_network },
    { SPAM_RSPAMD, "HFILTER_*", own_network },
    { SPAM_RSPAMD, "RBL_*", own_network },
    { SPAM_RSPAMD, "R_SPF_*", own_network },
    { SPAM_RSPAMD, "AUTH_NA*", not_signed },
    { SPAM_RSPAMD, "R_DKIM_*", not_signed },
    { SPAM_RSPAMD, "DMARC_*", not_signed },
    { SPAM_RSPAMD, "ARC_*", not_signed },
    { SPAM_RSPAMD, "*_BLOCKED", no_network },
    { SPAM_RSPAMD, "*_FAIL_DNS", no_network },
    { SPAM_RSPAMD, "ASN_FAIL", no_network },
};

const char *spam_rule_left_out(enum spam_kind kind, const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(left_out); i++)
        if (left_out[i].kind == kind && fnmatch(left_out[i].names, name, 0) == 0)
            return left_out[i].reason;
    return NULL;
}
