/* The robots.txt of the hosts of one website, each fetched once, when a page of the host is judged. Private to the reader of
 * websites. */
#pragma once

#include "jobs/types/site_reader.h"

/* The host of an address with its port, in lower case. */
const char *site_host_of(struct arena *arena, const char *url) NONNULL(1, 2) RETURNS_NONNULL;

struct site_robots *site_robots_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Whether the rules of its host allow to fetch the address. */
bool site_robots_allow(struct site *site, const char *url) NONNULL(1, 2);
