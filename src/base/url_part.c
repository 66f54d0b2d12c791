#include "base/url_part.h"

#include "base/panic.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *url_part_copy(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    char *copy = strdup(text);
    curl_free(text);
    if (copy == NULL)
        panic(PANIC_NO_MEMORY);
    return copy;
}

/* The host of an address that has nothing but this host. */
static char *read_host_again(const char *host)
{
    char address[2048];
    CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    int size = snprintf(address, sizeof(address), "http://%s", host);
    bool is_read = size < (int)sizeof(address) && curl_url_set(url, CURLUPART_URL, address, 0) == CURLUE_OK;
    char *again = is_read ? url_part_copy(url, CURLUPART_HOST, 0) : NULL;
    curl_url_cleanup(url);
    return again;
}

char *url_host_copy(CURLU *url)
{
    char *host = url_part_copy(url, CURLUPART_HOST, 0);
    if (host == NULL)
        return NULL;
    char *again = read_host_again(host);
    bool is_same = again != NULL && strcmp(again, host) == 0;
    free(again);
    if (is_same && strchr(host, '%') == NULL)
        return host;
    free(host);
    return NULL;
}
