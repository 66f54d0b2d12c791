#include "jobs/types/site_fetch.h"

#include "base/clock.h"

enum { PARALLEL = 4, SITE_EACH_MS = 15 * 1000 };

static const char agent[] = "Posthorn/" POSTHORN_VERSION " (website reader)";

void site_fetch(const struct site *site, const char *const *urls, size_t count, size_t max_bytes, size_t max_total_bytes,
                void (*arrived)(void *context, size_t index, const struct fetch_answer *answer), void *context)
{
    int64_t left_ms = (site->until_us - clock_monotonic_us()) / US_PER_MS;
    struct fetch_config config = fetch_config_default();
    config.max_bytes = max_bytes;
    config.max_total_bytes = max_total_bytes;
    config.each_ms = SITE_EACH_MS;
    config.all_ms = left_ms > 0 ? left_ms : 1;
    config.max_parallel = PARALLEL;
    config.user_agent = agent;
    config.allow_loopback = site->job->services->fetch_allow_loopback;
    config.arrived = arrived;
    config.context = context;
    if (count > 0)
        fetch_all(&config, urls, count);
}
