#include "net/imap_client.h"

#include "base/panic.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MAX_BYTES = 8192, LEAST_BYTES_A_S = 1024 };

struct imap_client {
    CURL *curl;
    bool (*has_stopped)(void *context);
    void *context;
    const struct imap_address *address;
    CURLcode code;     /* of the last command */
    size_t line_bytes; /* of the answer of the command */
};

static size_t add_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct buf *out = context;
    buf_add(out, bytes, size * count);
    return out->overflowed ? 0 : size * count;
}

/* libcurl gives every line of the server to it. */
static size_t count_line(char *bytes, size_t size, size_t count, void *context)
{
    struct imap_client *client = context;
    (void)bytes;
    client->line_bytes += size * count;
    return client->line_bytes > IMAP_ANSWER_MAX_BYTES ? 0 : size * count;
}

static int check_stop(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    struct imap_client *client = context;
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return client->has_stopped != NULL && client->has_stopped(client->context);
}

struct imap_client *imap_client_new(bool (*has_stopped)(void *context), void *context)
{
    struct imap_client *client = calloc(1, sizeof(*client));
    CURL *curl = curl_easy_init();
    if (client == NULL || curl == NULL)
        panic(PANIC_NO_MEMORY);
    *client = (struct imap_client){ .curl = curl, .has_stopped = has_stopped, .context = context };
    return client;
}

void imap_client_free(struct imap_client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    free(client);
}

void imap_client_use(struct imap_client *client, const struct imap_address *address, int64_t command_ms)
{
    CURL *curl = client->curl;
    client->address = address;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "imap,imaps");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_USERNAME, address->user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, address->password);
    curl_easy_setopt(curl, CURLOPT_USE_SSL, address->is_plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)IMAP_CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_bytes);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, count_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, client);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stop);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    imap_client_set_timeout(client, command_ms);
}

void imap_client_set_timeout(struct imap_client *client, int64_t command_ms)
{
    curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, (long)command_ms);
}

/* libcurl counts the bytes of a message only, and the time of each other answer. */
void imap_client_set_silence(struct imap_client *client, int silence_s)
{
    curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_LIMIT, (long)LEAST_BYTES_A_S);
    curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_TIME, (long)silence_s);
    curl_easy_setopt(client->curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, (long)silence_s);
}

const char *imap_client_run(struct imap_client *client, const char *path, const char *command, struct buf *out)
{
    BUF_SCOPE url;
    buf_init(&url, URL_MAX_BYTES);
    buf_printf(&url, "%s%s", client->address->url, path);
    buf_clear(out);
    client->line_bytes = 0;
    curl_easy_setopt(client->curl, CURLOPT_URL, buf_text(&url));
    curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, command);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, out);
    client->code = curl_easy_perform(client->curl);
    return client->code == CURLE_OK ? NULL : curl_easy_strerror(client->code);
}

bool imap_client_was_refused(const struct imap_client *client)
{
    return client->code == CURLE_QUOTE_ERROR || client->code == CURLE_LOGIN_DENIED; /* also of a folder that is not selected */
}

bool imap_client_was_stopped(const struct imap_client *client)
{
    return client->code == CURLE_ABORTED_BY_CALLBACK;
}

const struct imap_address *imap_client_address(const struct imap_client *client)
{
    return client->address;
}

void imap_add_folder(struct buf *path, const char *folder)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    for (const char *at = folder; *at != '\0'; at++) {
        if (strchr(kept, *at) != NULL)
            buf_printf(path, "%c", *at);
        else
            buf_printf(path, "%%%02X", (unsigned)(unsigned char)*at);
    }
}

size_t imap_read_uids(const char *answer, int64_t *ret_uids, size_t max)
{
    static const char prefix[] = "* SEARCH";
    const char *at = strstr(answer, prefix);
    size_t count = 0;
    at = at != NULL ? at + strlen(prefix) : "";
    while (*at == ' ' && count < max) {
        char *end;
        ret_uids[count] = strtoll(at, &end, 10);
        if (end == at || ret_uids[count] <= 0)
            break;
        count++;
        at = end;
    }
    return count;
}
