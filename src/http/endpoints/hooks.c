/*
 * Events of integrations: POST /integrations/PROVIDER/webhook/CONNECTION,
 * a webhook (webhook.h) whose proof engine/integrations checks. The declaration of
 * the provider names the headers that are read.
 */
#include "api/call.h"
#include "catalogue/integrations.h"
#include "http/endpoints/webhook.h"

#include <microhttpd.h>
#include <string.h>

enum { HEADER_MAX_BYTES = 1000 };

static const char prefix[] = "/integrations/";
static const char middle[] = "/webhook/";

bool hooks_path(const struct http_exchange *exchange)
{
    size_t size = strlen(prefix);
    return exchange->path_size > size && memcmp(exchange->target, prefix, size) == 0;
}

static const struct integration_provider *find_provider(const char *key, size_t size)
{
    for (size_t i = 0; i < integration_provider_count; i++) {
        const char *known = integration_providers[i].key;
        if (strlen(known) == size && memcmp(known, key, size) == 0)
            return &integration_providers[i];
    }
    return NULL;
}

static bool read_path(const struct http_exchange *exchange, const struct integration_provider **ret_provider,
                      const char **ret_connection)
{
    const char *rest = webhook_path_rest(exchange, prefix);
    const char *slash = rest != NULL ? strchr(rest, '/') : NULL;
    if (slash == NULL || strncmp(slash, middle, strlen(middle)) != 0)
        return false;
    *ret_provider = find_provider(rest, (size_t)(slash - rest));
    *ret_connection = slash + strlen(middle);
    return *ret_provider != NULL && webhook_id_is_well_formed(*ret_connection);
}

/* A header that is too long is left out, as if it were absent. */
static json_t *read_headers(const struct http_exchange *exchange, const struct integration_provider *provider)
{
    json_t *headers = json_object();
    for (const char *const *name = provider->headers; *name != NULL; name++) {
        const char *value = MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, *name);
        if (value != NULL && strlen(value) <= HEADER_MAX_BYTES)
            webhook_set_text(headers, *name, value);
    }
    return headers;
}

static bool hooks_read(const struct http_exchange *exchange, json_t *body)
{
    const struct integration_provider *provider;
    const char *connection;
    if (!read_path(exchange, &provider, &connection))
        return false;
    webhook_set_text(body, "provider", provider->key);
    webhook_set_text(body, "connection", connection);
    json_object_set_new(body, "headers", read_headers(exchange, provider));
    return true;
}

static void hooks_begin(struct http_exchange *exchange)
{
    static const struct webhook_kind kind = {
        .candidates = api_integration_event,
        .connection = ID_INTEGRATION,
        .quick_max_bytes = HTTP_EXCHANGE_QUICK_CALL_BYTES,
        .read = hooks_read,
    };
    webhook_begin(exchange, &kind);
}

const struct http_endpoint hooks_endpoint = {
    .begin = hooks_begin,
    .admit = webhook_admit,
    .run = webhook_run,
    .give_up = webhook_give_up,
};
