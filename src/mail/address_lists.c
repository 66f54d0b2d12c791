#include "mail/address_lists.h"

#include "mail/address_lists_data.h"

#include <stddef.h>
#include <string.h>

/* Entries sorted by their bytes; `offsets` are their starts in `text`. */
struct list {
    const char *text;
    const uint32_t *offsets;
    size_t count;
};

static const struct list disposable = { disposable_text, disposable_places, ARRAY_COUNT(disposable_places) };
static const struct list free_mail = { free_mail_text, free_mail_places, ARRAY_COUNT(free_mail_places) };
static const struct list role = { role_text, role_places, ARRAY_COUNT(role_places) };

static bool sorted_list_has(const struct list *list, const char *entry)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(entry, list->text + list->offsets[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

bool address_domain_is_disposable(const char *domain)
{
    for (const char *at = domain; at != NULL; at = strchr(at, '.')) {
        at += *at == '.';
        if (sorted_list_has(&disposable, at))
            return true;
    }
    return false;
}

bool address_domain_is_free(const char *domain)
{
    return sorted_list_has(&free_mail, domain);
}

bool address_local_is_role(const char *local)
{
    return sorted_list_has(&role, local);
}
