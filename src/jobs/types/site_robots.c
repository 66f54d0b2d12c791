#include "jobs/types/site_robots.h"

#include "base/text.h"
#include "jobs/types/site_fetch.h"
#include "net/robots.h"

#include <string.h>

enum { HOSTS_MAX = 8, STATUS_CLIENT_ERROR = 400, STATUS_SERVER_ERROR = 500 };

struct site_robots {
    const char *origins[HOSTS_MAX];
    struct robots *rules[HOSTS_MAX];
    size_t count;
};

static const char *after_scheme(const char *url)
{
    const char *end = strstr(url, "://");
    return end != NULL ? end + 3 : url;
}

const char *site_host_of(struct arena *arena, const char *url)
{
    const char *host = after_scheme(url);
    return text_lower(arena, arena_dup_bytes(arena, host, strcspn(host, "/?#")));
}

struct site_robots *site_robots_new(struct arena *arena)
{
    return arena_alloc(arena, sizeof(struct site_robots));
}

struct robots_fetch {
    struct arena *arena;
    struct robots *rules;
};

/* RFC 9309 §2.3.1: without the file everything is allowed; when the server fails or cannot be reached, nothing. */
static void robots_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct robots_fetch *fetch = context;
    (void)index;
    bool is_missing = answer->status >= STATUS_CLIENT_ERROR && answer->status < STATUS_SERVER_ERROR;
    fetch->rules = answer->outcome == FETCH_OK ? robots_parse(fetch->arena, (const char *)answer->bytes, answer->size)
                                               : robots_for_all(fetch->arena, is_missing);
}

static struct robots *fetch_robots(const struct site *site, const char *origin)
{
    struct robots_fetch fetch = { .arena = site->arena };
    const char *url = arena_printf(site->arena, "%s/robots.txt", origin);
    site_fetch(site, &url, 1, ROBOTS_MAX_BYTES, ROBOTS_MAX_BYTES, robots_arrived, &fetch);
    return fetch.rules != NULL ? fetch.rules : robots_for_all(site->arena, false);
}

/* The rules of a host; NULL: the website has too many hosts. */
static const struct robots *rules_of(struct site *site, const char *origin)
{
    struct site_robots *robots = site->robots;
    for (size_t i = 0; i < robots->count; i++)
        if (strcmp(robots->origins[i], origin) == 0)
            return robots->rules[i];
    if (robots->count == HOSTS_MAX)
        return NULL;
    robots->origins[robots->count] = origin;
    robots->rules[robots->count] = fetch_robots(site, origin);
    return robots->rules[robots->count++];
}

bool site_robots_allow(struct site *site, const char *url)
{
    const char *rest = after_scheme(url);
    size_t host = strcspn(rest, "/?#");
    const char *origin = text_lower(site->arena, arena_dup_bytes(site->arena, url, (size_t)(rest - url) + host));
    const struct robots *rules = rules_of(site, origin);
    const char *path = arena_dup_bytes(site->arena, rest + host, strcspn(rest + host, "#"));
    return rules != NULL && robots_allows(rules, site->arena, path[0] != '\0' ? path : "/");
}
