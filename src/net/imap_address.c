#include "net/imap_address.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "base/url_part.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_S = 60, EVERY_MAX_S = 86400 };

static void free_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

static bool read_parameters(const char *query, struct imap_address *address)
{
    while (query != NULL && *query != '\0') {
        size_t size = strcspn(query, "&");
        char word[32] = "";
        int64_t seconds;
        if (size >= sizeof(word))
            return false;
        memcpy(word, query, size);
        if (strcmp(word, "tls=none") == 0)
            address->is_plain = true;
        else if (text_starts_with(word, "every=") && int64_parse(word + 6, &seconds) && seconds >= 1 && seconds <= EVERY_MAX_S)
            address->every_us = seconds * US_PER_S;
        else
            return false;
        query += size + (query[size] == '&');
    }
    return true;
}

bool imap_address_read(const char *text, struct imap_address *ret_address)
{
    *ret_address = (struct imap_address){ .every_us = EVERY_S * US_PER_S };
    CLEANUP(free_url) CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    bool has_scheme = text_starts_with(text, "imap://") || text_starts_with(text, "imaps://");
    if (!has_scheme || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return false;
    ret_address->user = url_part_copy(url, CURLUPART_USER, CURLU_URLDECODE);
    ret_address->password = url_part_copy(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    char *query = url_part_copy(url, CURLUPART_QUERY, 0);
    char *path = url_part_copy(url, CURLUPART_PATH, 0);
    bool is_read = ret_address->user != NULL && read_parameters(query, ret_address);
    ret_address->has_folder = path != NULL && strlen(path) > 1;
    free(query);
    free(path);
    static const CURLUPart removed[] = { CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT };
    for (size_t i = 0; i < ARRAY_COUNT(removed); i++)
        (void)curl_url_set(url, removed[i], NULL, 0);
    ret_address->url = url_part_copy(url, CURLUPART_URL, 0);
    return is_read && ret_address->url != NULL;
}

void imap_address_done(struct imap_address *address)
{
    if (address->password != NULL)
        explicit_bzero(address->password, strlen(address->password));
    free(address->url);
    free(address->user);
    free(address->password);
    *address = (struct imap_address){ .url = NULL };
}
