/*
 * Reports of mail providers: POST /reports/PROVIDER/CONNECTION (D-119), a webhook
 * (webhook.h) whose proof engine/provider_reports checks.
 */
#include "api/call.h"
#include "http/endpoints/webhook.h"

#include <string.h>

static const char prefix[] = "/reports/";

bool reports_path(const struct http_exchange *exchange)
{
    size_t size = strlen(prefix);
    return exchange->path_size > size && memcmp(exchange->target, prefix, size) == 0;
}

/* The path has exactly two parts after the prefix; any other is an unknown connection. */
static bool read_path(const struct http_exchange *exchange, const char **ret_provider, const char **ret_connection)
{
    static const char *const providers[] = { "ses", "sendgrid", "postmark" };
    char *provider = webhook_path_rest(exchange, prefix);
    char *slash = provider != NULL ? strchr(provider, '/') : NULL;
    if (slash == NULL)
        return false;
    *slash = '\0';
    *ret_provider = provider;
    *ret_connection = slash + 1;
    bool known = false;
    for (size_t i = 0; i < ARRAY_COUNT(providers); i++)
        known |= strcmp(provider, providers[i]) == 0;
    return known && webhook_id_is_well_formed(*ret_connection);
}

static bool reports_read(const struct http_exchange *exchange, json_t *body)
{
    const char *const *headers = exchange->headers.values;
    const char *provider;
    const char *connection;
    if (!read_path(exchange, &provider, &connection))
        return false;
    webhook_set_text(body, "provider", provider);
    webhook_set_text(body, "connection", connection);
    webhook_set_text(body, "signature", headers[HEADER_X_TWILIO_SIGNATURE]);
    webhook_set_text(body, "timestamp", headers[HEADER_X_TWILIO_TIMESTAMP]);
    webhook_set_text(body, "authorization", headers[HEADER_AUTHORIZATION]);
    return true;
}

/* A larger body holds more than some hundred events. Two notifications of a connection at a time are enough: more of them wait for
 * each other's recipients. */
static void reports_begin(struct http_exchange *exchange)
{
    static const struct webhook_kind kind = {
        .candidates = api_reports,
        .connection = ID_REPORT_SOURCE,
        .threads_max = 2,
        .quick_max_bytes = HTTP_EXCHANGE_QUICK_BODY_BYTES,
        .challenge = "Basic realm=\"reports\"",
        .read = reports_read,
    };
    webhook_begin(exchange, &kind);
}

const struct http_endpoint reports_endpoint = {
    .begin = reports_begin,
    .admit = webhook_admit,
    .run = webhook_run,
    .give_up = webhook_give_up,
};
