#include "jobs/types/domain_lookup.h"

#include "net/dns_records.h"

#include <string.h>

static enum dns_record_type record_type(const char *type)
{
    if (strcmp(type, "CNAME") == 0)
        return DNS_CNAME;
    return strcmp(type, "MX") == 0 ? DNS_MX : DNS_TXT;
}

void domain_look_up(struct dns *dns, struct arena *arena, struct domain_check *check)
{
    struct dns_question questions[DNS_QUESTIONS_MAX];
    /* Records beyond the limit get no answer. A domain has a pair of keys in use, one that waits, and five suggestions. */
    size_t count = check->count < DNS_QUESTIONS_MAX ? check->count : DNS_QUESTIONS_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct domain_record *record = check->queries[i].record;
        questions[i] = (struct dns_question){
            .name = record->name,
            .type = record_type(record->type),
        };
    }
    dns_find_records(dns, arena, questions, count);
    for (size_t i = 0; i < count; i++) {
        check->queries[i].answer = questions[i].is_answered ? DOMAIN_ANSWER_GIVEN : DOMAIN_ANSWER_NONE;
        check->queries[i].found = questions[i].found;
    }
}
