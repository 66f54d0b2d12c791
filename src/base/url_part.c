#include "base/url_part.h"

#include "base/panic.h"

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

char *url_host_copy(CURLU *url)
{
    char *host = url_part_copy(url, CURLUPART_HOST, 0);
    if (host == NULL || (host[0] != '\0' && strchr(host, '%') == NULL))
        return host;
    free(host);
    return NULL;
}
