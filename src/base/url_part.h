/*
 * Parts of a parsed URL as texts that the caller frees. Any thread; a machine
 * without memory ends the process.
 */
#pragma once

#include "base/compiler.h"

#include <curl/curl.h>

/* A copy of a part for free(); NULL when the URL has no such part. `flags` are those of curl_url_get. */
char *url_part_copy(CURLU *url, CURLUPart part, unsigned flags) NONNULL(1);

/* A copy of the host for free(); NULL when the URL has none, or one with %XX that is another host when it is read again: libcurl
 * decodes a host once, leaves what is malformed, and takes a number for an IPv4 address only before. */
char *url_host_copy(CURLU *url) NONNULL(1);
