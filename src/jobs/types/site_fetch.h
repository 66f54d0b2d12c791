/* Fetches of one website, through the guarded client. Private to the reader of websites. */
#pragma once

#include "jobs/types/site_reader.h"
#include "net/fetch.h"

/* Fetches addresses through the guarded client within the time that is left. `max_bytes` bounds each, `max_total_bytes` all. */
void site_fetch(const struct site *site, const char *const *urls, size_t count, size_t max_bytes, size_t max_total_bytes,
                void (*arrived)(void *context, size_t index, const struct fetch_answer *answer), void *context) NONNULL(1);
