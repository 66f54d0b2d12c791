/*
 * Fuzzes the adapters of integrations and the checks of their proofs. The first
 * byte chooses the provider, the first line is the value of every header, the rest
 * is the body. Besides not crashing: no proof without the secret is accepted, a
 * payload has declared keys only, and its values are scalar, bounded and valid
 * UTF-8.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/integrations/adapter.h"
#include "fuzz.h"

#include <string.h>

static const int64_t now_us = INT64_C(1800000000) * US_PER_S;

static bool is_declared(const struct integration_provider *provider, const struct integration_notice *notice, const char *key)
{
    const struct integration_mapping *mapping = notice->event->mapping;
    for (size_t i = 0; i < mapping->field_count; i++)
        if (strcmp(mapping->fields[i].key, key) == 0)
            return true;
    return mapping->columns != NULL && text_starts_with(key, provider->key);
}

static void check_notice(const struct integration_provider *provider, const struct integration_notice *notice)
{
    const char *key;
    json_t *value;
    if (notice->event == NULL)
        return;
    require(notice->trigger_event != NULL);
    require(notice->email == NULL || strlen(notice->email) <= INTEGRATION_EMAIL_MAX_BYTES);
    json_object_foreach (notice->payload, key, value) {
        require(is_declared(provider, notice, key));
        require(json_is_string(value) || json_is_number(value) || json_is_boolean(value));
        if (json_is_string(value))
            require(utf8_is_valid(json_string_value(value), json_string_length(value)) &&
                    utf8_length(json_string_value(value)) <= INTEGRATION_TEXT_MAX_CHARS);
    }
}

static const json_t *make_headers(struct arena *arena, const struct integration_provider *provider, const char *value)
{
    json_t *headers = json_in_arena(arena, json_object());
    for (const char *const *name = provider->headers; *name != NULL; name++)
        if (utf8_is_valid(value, strlen(value)))
            json_object_set_new(headers, *name, json_string(value));
    return headers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "users", "plan" };
    const struct integration_settings settings = { .tables = { names, 1 }, .columns = { names + 1, 1 } };
    if (size < 2 || size > 256 * 1024)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    const struct integration_provider *provider = &integration_providers[data[0] % integration_provider_count];
    char *header = arena_dup_bytes(arena, (const char *)data + 1, size - 1);
    char *body = strchr(header, '\n');
    if (body == NULL)
        return 0;
    *body++ = '\0';
    struct proof_request request = { .provider = provider, .headers = make_headers(arena, provider, header) };
    request.body = (struct bytes){ (const unsigned char *)body, strlen(body) };
    struct error err = { .code = ERR_NONE };
    struct integration_notice notice;
    const json_t *json;
    const char *id;
    require(!proof_check(arena, &request, proof_secret_new(arena, provider), now_us, &id, &err));
    require(err.code == ERR_AUTHENTICATION_REQUIRED);
    if (!json_read(arena, body, strlen(body), (struct json_bounds){ .max_bytes = strlen(body), .max_depth = 32 }, &json, &err))
        return 0;
    adapter_read(arena, &request, &settings, json, NULL, &notice);
    check_notice(provider, &notice);
    return 0;
}
