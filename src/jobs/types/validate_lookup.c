#include "jobs/types/validate_lookup.h"

#include "net/dns.h"

enum { RETRY_AFTER_S = 30 };

static enum mail_domain domain_of(enum dns_mail answer)
{
    switch (answer) {
    case DNS_MAIL_UNKNOWN:
        break;
    case DNS_MAIL_ACCEPTED:
        return MAIL_DOMAIN_ACCEPTS;
    case DNS_MAIL_REFUSED:
        return MAIL_DOMAIN_REFUSES;
    case DNS_MAIL_NO_DOMAIN:
        return MAIL_DOMAIN_ABSENT;
    }
    return MAIL_DOMAIN_UNKNOWN;
}

size_t validate_list(struct job *job, struct address_list *list)
{
    struct arena *arena = job->work.arena;
    enum dns_mail *answers = arena_array(arena, list->domain_count, sizeof(*answers));
    enum mail_domain *domains = arena_array(arena, list->domain_count, sizeof(*domains));
    size_t answered = 0;
    dns_find_mail(job->services->dns, list->domains, list->domain_count, VALIDATE_MAX_MS, answers);
    for (size_t i = 0; i < list->domain_count; i++) {
        domains[i] = domain_of(answers[i]);
        answered += answers[i] != DNS_MAIL_UNKNOWN;
    }
    address_list_judge(arena, list, domains);
    return answered;
}

bool validate_unavailable(struct error *err)
{
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The DNS did not answer, so nothing was checked and nothing is charged.");
}
