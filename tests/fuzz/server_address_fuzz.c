/*
 * Fuzzes the addresses of servers that an operator gives: relays (--relay) when
 * the first byte is even, limit stores (--limit-store) otherwise. Besides not
 * crashing: a refusal has a reason, an accepted address keeps the bounds and
 * shows no password in its name, and the address made of its parts is read as
 * the same parts.
 */
#include "api/limits/limit_address.h"
#include "base/text.h"
#include "fuzz.h"
#include "smtp/relay_state.h"

#include <string.h>

static void check_same(const char *left, const char *right)
{
    require((left == NULL) == (right == NULL) && (left == NULL || strcmp(left, right) == 0));
}

static void check_login(const char *user, const char *password)
{
    for (const char *text = user; text != NULL; text = text == user ? password : NULL)
        for (const char *at = text; *at != '\0'; at++)
            require((unsigned char)*at >= ' ');
}

static const char *login_of(struct arena *arena, const char *user, const char *password)
{
    if (password == NULL)
        return "";
    return arena_printf(arena, "%s:%s@", percent_encode(arena, user != NULL ? user : ""), percent_encode(arena, password));
}

static const char *relay_text(struct arena *arena, const struct smtp_settings *settings)
{
    static const char *const tls[] = { "starttls", "required", "none", "required" };
    const char *ca = settings->ca_file != NULL ? arena_printf(arena, "&ca=%s", percent_encode(arena, settings->ca_file)) : "";
    return arena_printf(
        arena, "%s://%s%s:%d?tls=%s&connections=%d&per_destination=%d&messages=%d&timeout=%d&final_timeout=%d&verify=%s%s",
        settings->tls == SMTP_TLS_AT_ONCE ? "smtps" : "smtp", login_of(arena, settings->user, settings->password), settings->host,
        settings->port, tls[settings->tls], settings->connections, settings->per_destination, settings->messages,
        settings->timeout_s, settings->final_timeout_s, settings->takes_any_certificate ? "no" : "yes", ca);
}

static void check_same_relay(const struct smtp_settings *left, const struct smtp_settings *right)
{
    check_same(left->name, right->name);
    check_same(left->host, right->host);
    check_same(left->user, right->user);
    check_same(left->password, right->password);
    check_same(left->ca_file, right->ca_file);
    require(left->port == right->port && left->tls == right->tls && left->connections == right->connections);
    require(left->per_destination == right->per_destination && left->messages == right->messages);
    require(left->timeout_s == right->timeout_s && left->final_timeout_s == right->final_timeout_s);
    require(left->takes_any_certificate == right->takes_any_certificate);
}

static void feed_relay(struct arena *arena, const char *text)
{
    struct smtp_settings settings;
    struct smtp_settings again;
    const char *why = NULL;
    if (!smtp_settings_read(text, &settings, &why)) {
        require(why != NULL && why[0] != '\0');
        return;
    }
    require(settings.host[0] != '\0' && settings.port >= 1 && settings.port <= 65535);
    require(settings.connections >= 1 && settings.connections <= SMTP_MAX_CONNECTIONS);
    require(settings.user == NULL || settings.tls != SMTP_TLS_IF_OFFERED);
    require(strchr(settings.name, '@') == NULL);
    check_login(settings.user, settings.password);
    const char *whole = relay_text(arena, &settings);
    if (strlen(whole) <= 2048) {
        require(smtp_settings_read(whole, &again, &why));
        check_same_relay(&settings, &again);
        smtp_settings_done(&again);
    }
    smtp_settings_done(&settings);
}

/* libcurl resolves the segments "." and ".." of a path, unless their dots are encoded. */
static const char *encoded_path(struct arena *arena, const char *path)
{
    const char *encoded = percent_encode(arena, path);
    char *whole = arena_alloc(arena, 3 * strlen(encoded) + 1);
    char *end = whole;
    for (const char *at = encoded; *at != '\0'; at++)
        end = *at == '.' ? stpcpy(end, "%2E") : stpncpy(end, at, 1);
    *end = '\0';
    return whole;
}

static const char *store_text(struct arena *arena, const struct limit_address *address)
{
    const char *login = login_of(arena, address->user, address->password);
    if (address->socket_path != NULL)
        return arena_printf(arena, "unix://%s/%s?db=%d", login, encoded_path(arena, address->socket_path + 1), address->database);
    bool is_v6 = strchr(address->host, ':') != NULL;
    return arena_printf(arena, is_v6 ? "redis://%s[%s]:%d/%d" : "redis://%s%s:%d/%d", login, address->host, address->port,
                        address->database);
}

static void feed_store(struct arena *arena, const char *text)
{
    struct limit_address address;
    struct limit_address again;
    const char *why = NULL;
    if (!limit_address_read(text, &address, &why)) {
        require(why != NULL && why[0] != '\0');
        return;
    }
    require((address.host == NULL) != (address.socket_path == NULL));
    require(address.socket_path == NULL || (address.socket_path[0] == '/' && strlen(address.socket_path) < 108));
    require(address.host == NULL || (address.host[0] != '\0' && address.port >= 1 && address.port <= 65535));
    require(address.socket_path != NULL || strchr(address.name, '@') == NULL);
    check_login(address.user, address.password);
    const char *whole = store_text(arena, &address);
    if (strlen(whole) <= 1024) {
        require(limit_address_read(whole, &again, &why));
        check_same(address.name, again.name);
        check_same(address.host, again.host);
        check_same(address.socket_path, again.socket_path);
        check_same(address.user, again.user);
        check_same(address.password, again.password);
        require(address.port == again.port && address.database == again.database);
        limit_address_done(&again);
    }
    limit_address_done(&address);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    if (size == 0)
        return 0;
    const char *text = arena_dup_bytes(arena, (const char *)data + 1, size - 1);
    if (data[0] % 2 == 0)
        feed_relay(arena, text);
    else
        feed_store(arena, text);
    return 0;
}
