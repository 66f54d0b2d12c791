#include "api/tracking/click_host.h"

#include <string.h>
#include <strings.h>

const char *click_host_of_url(struct arena *arena, const char *url)
{
    const char *slashes = url != NULL ? strstr(url, "://") : NULL;
    if (slashes == NULL)
        return NULL;
    return arena_dup_bytes(arena, slashes + 3, strcspn(slashes + 3, ":/"));
}

bool click_host_allows(const char *public_host, const char *host, const char *domain)
{
    static const char prefix[] = "click.";
    if (host == NULL || strncasecmp(host, prefix, strlen(prefix)) != 0)
        return true;
    size_t size = strcspn(host, ":");
    if (public_host != NULL && strlen(public_host) == size && strncasecmp(host, public_host, size) == 0)
        return true;
    size -= strlen(prefix);
    return strlen(domain) == size && strncasecmp(host + strlen(prefix), domain, size) == 0;
}
