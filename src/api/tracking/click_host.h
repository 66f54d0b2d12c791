/*
 * Click hosts: which links the host of a request may lead to. Plain values; any
 * thread.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* The host name of a URL, in the arena. NULL without a URL. */
const char *click_host_of_url(struct arena *arena, const char *url) NONNULL(1);

/* False when `host` is click.DOMAIN of another sending domain than `domain`, so that no brand can use the name of another.
 * `public_host`, the host of the public URL, may be any name. The other two may be NULL: unknown. */
bool click_host_allows(const char *public_host, const char *host, const char *domain) NONNULL(3);
