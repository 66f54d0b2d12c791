/* Parses the relay addresses of the operator and makes the set. smtp/relay_state.c has the state of a relay. */
#include "smtp/relay.h"

#include "base/panic.h"
#include "base/text.h"
#include "base/url_part.h"
#include "smtp/relay_state.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PORT_SMTP = 25, PORT_SUBMISSION = 587, PORT_SMTPS = 465, URL_MAX_BYTES = 2048 };

/* ---- Query parameters ---- */

static bool read_bounded_int(const char *value, int64_t least, int64_t most, int *ret_number)
{
    int64_t number;
    if (!int64_parse(value, &number) || number < least || number > most)
        return false;
    *ret_number = (int)number;
    return true;
}

static bool read_tls(const char *value, struct smtp_settings *settings)
{
    static const struct {
        const char *word;
        enum smtp_tls tls;
    } words[] = { { "starttls", SMTP_TLS_IF_OFFERED }, { "required", SMTP_TLS_REQUIRED }, { "none", SMTP_TLS_NEVER } };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (strcmp(value, words[i].word) != 0)
            continue;
        if (settings->tls != SMTP_TLS_AT_ONCE)
            settings->tls = words[i].tls;
        return settings->tls != SMTP_TLS_AT_ONCE || words[i].tls != SMTP_TLS_NEVER;
    }
    return false;
}

static bool read_verify(const char *value, struct smtp_settings *settings)
{
    settings->takes_any_certificate = strcmp(value, "no") == 0;
    return settings->takes_any_certificate || strcmp(value, "yes") == 0;
}

static bool read_return_path(const char *value, struct smtp_settings *settings)
{
    settings->ignores_return_path = strcmp(value, "off") == 0;
    return settings->ignores_return_path || strcmp(value, "on") == 0;
}

static bool read_parameter(const char *name, const char *value, struct smtp_settings *settings, const char **ret_why)
{
    if (strcmp(name, "tls") == 0) {
        *ret_why = "tls must be starttls, required or none; smtps does not allow none";
        return read_tls(value, settings);
    }
    if (strcmp(name, "verify") == 0) {
        *ret_why = "verify must be yes or no";
        return read_verify(value, settings);
    }
    if (strcmp(name, "return_path") == 0) {
        *ret_why = "return_path must be on or off";
        return read_return_path(value, settings);
    }
    if (strcmp(name, "ca") == 0) {
        *ret_why = "the file in ca cannot be read";
        free(settings->ca_file);
        settings->ca_file = strdup(value);
        return access(value, R_OK) == 0;
    }
    if (strcmp(name, "reports") == 0) {
        *ret_why = "reports must be ses, sendgrid or postmark";
        return smtp_reports_from_name(value, &settings->reports);
    }
    const struct {
        const char *name;
        int64_t least;
        int64_t most;
        int *number;
        const char *why;
    } numbers[] = {
        { "connections", 1, SMTP_MAX_CONNECTIONS, &settings->connections, "connections must be a number from 1 to 200" },
        { "per_destination", 0, SMTP_MAX_CONNECTIONS, &settings->per_destination,
          "per_destination must be a number from 0 to 200" },
        { "messages", 1, 1000000, &settings->messages, "messages must be a number from 1 to 1000000" },
        { "timeout", 1, 600, &settings->timeout_s, "timeout must be a number of seconds from 1 to 600" },
        { "final_timeout", 1, 3600, &settings->final_timeout_s, "final_timeout must be a number of seconds from 1 to 3600" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        *ret_why = numbers[i].why;
        return read_bounded_int(value, numbers[i].least, numbers[i].most, numbers[i].number);
    }
    *ret_why = "the parameters are tls, connections, per_destination, messages, timeout, final_timeout, ca, verify, reports and "
               "return_path";
    return false;
}

static bool read_parameters(struct arena *arena, const char *query, struct smtp_settings *settings, const char **ret_why)
{
    for (const char *at = query; *at != '\0';) {
        size_t size = strcspn(at, "&");
        size_t name_size = strcspn(at, "=&");
        const char *raw = name_size < size ? at + name_size + 1 : at + size;
        const char *value = percent_decode(arena, raw, (size_t)(at + size - raw));
        *ret_why = "a parameter is malformed";
        if (value == NULL || !read_parameter(arena_dup_bytes(arena, at, name_size), value, settings, ret_why))
            return false;
        at += size + (at[size] == '&');
    }
    return true;
}

/* ---- The address ---- */

static void free_relay_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

static bool read_host(CURLU *url, struct smtp_settings *settings, const char **ret_why)
{
    char *port = url_part_copy(url, CURLUPART_PORT, 0);
    settings->host = url_host_copy(url);
    bool has_port = port != NULL;
    int fallback = settings->tls == SMTP_TLS_AT_ONCE ? PORT_SMTPS : settings->user != NULL ? PORT_SUBMISSION : PORT_SMTP;
    settings->port = fallback;
    *ret_why = "it needs a host without %; a port is a number from 1 to 65535";
    bool read = settings->host != NULL && (!has_port || read_bounded_int(port, 1, 65535, &settings->port));
    free(port);
    if (!read)
        return false;
    return asprintf(&settings->name, "%s:%d", settings->host, settings->port) > 0;
}

static bool read_credentials(CURLU *url, struct smtp_settings *settings, const char **ret_why)
{
    settings->user = url_part_copy(url, CURLUPART_USER, CURLU_URLDECODE);
    settings->password = url_part_copy(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    *ret_why = "a log-in needs a user and a password, with special characters as %XX and without control characters";
    if ((settings->user == NULL) != (settings->password == NULL))
        return false;
    /* A user that cannot be decoded must not be taken as no user. */
    char *raw = url_part_copy(url, CURLUPART_USER, 0);
    bool is_lost = raw != NULL && settings->user == NULL;
    free(raw);
    return !is_lost && (settings->user == NULL || settings->user[0] != '\0');
}

/* Reads the scheme, and refuses a path and a fragment, which have no meaning. */
static bool read_form(CURLU *url, struct smtp_settings *settings, const char **ret_why)
{
    char *scheme = url_part_copy(url, CURLUPART_SCHEME, 0);
    char *path = url_part_copy(url, CURLUPART_PATH, 0);
    char *fragment = url_part_copy(url, CURLUPART_FRAGMENT, 0);
    bool is_smtps = scheme != NULL && strcmp(scheme, "smtps") == 0;
    bool is_smtp = scheme != NULL && strcmp(scheme, "smtp") == 0;
    bool has_more = (path != NULL && strcmp(path, "/") != 0) || fragment != NULL;
    settings->tls = is_smtps ? SMTP_TLS_AT_ONCE : SMTP_TLS_IF_OFFERED;
    *ret_why = !is_smtp && !is_smtps
                   ? "it must begin with smtp:// or smtps://"
                   : "it must not have a path or a fragment; write special characters of user and password as %XX";
    free(scheme);
    free(path);
    free(fragment);
    return (is_smtp || is_smtps) && !has_more;
}

static bool read_address(CURLU *url, struct smtp_settings *settings, const char **ret_why)
{
    if (!read_form(url, settings, ret_why) || !read_credentials(url, settings, ret_why) || !read_host(url, settings, ret_why))
        return false;
    ARENA_SCOPE arena = arena_new(0);
    char *query = url_part_copy(url, CURLUPART_QUERY, 0);
    bool read = query == NULL || read_parameters(arena, query, settings, ret_why);
    free(query);
    /* A relay without STARTTLS, or an attacker who removes it, must not get the password in the clear. */
    if (settings->user != NULL && settings->tls == SMTP_TLS_IF_OFFERED)
        settings->tls = SMTP_TLS_REQUIRED;
    return read;
}

bool smtp_settings_read(const char *text, struct smtp_settings *ret_settings, const char **ret_why)
{
    CLEANUP(free_relay_url) CURLU *url = curl_url();
    struct smtp_settings settings = {
        .connections = 10,
        .messages = 1000,
        .timeout_s = 60,
        .final_timeout_s = 600,
    };
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    *ret_why = "it is not an address of the form smtp://user:password@host:port?tls=required";
    if (strlen(text) > URL_MAX_BYTES || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return false;
    if (!read_address(url, &settings, ret_why)) {
        smtp_settings_done(&settings);
        return false;
    }
    *ret_settings = settings;
    return true;
}

void smtp_settings_done(struct smtp_settings *settings)
{
    if (settings->password != NULL)
        explicit_bzero(settings->password, strlen(settings->password));
    free(settings->name);
    free(settings->host);
    free(settings->user);
    free(settings->password);
    free(settings->ca_file);
    *settings = (struct smtp_settings){ .name = NULL };
}

/* ---- Sets ---- */

static bool read_relay(struct smtp_relays *relays, size_t index, const char *url, struct error *err)
{
    struct smtp_relay *relay = &relays->items[index];
    const char *why = NULL;
    if (!smtp_settings_read(url, &relay->settings, &why))
        return fail(err, ERR_INVALID_REQUEST, "--relay", "Relay %zu of --relay cannot be used: %s.", index + 1, why);
    relay->set = relays;
    if (relay->settings.per_destination > 0 && relays->destinations == NULL)
        relays->destinations = smtp_destinations_new();
    return true;
}

bool smtp_relays_new(const char *const *urls, struct smtp_relays **ret_relays, struct error *err)
{
    size_t count = 0;
    while (urls[count] != NULL)
        count++;
    if (count == 0 || count > SMTP_MAX_RELAYS)
        return fail(err, ERR_INVALID_REQUEST, "--relay", "--relay names 1 to %d relays, not %zu.", SMTP_MAX_RELAYS, count);

    struct smtp_relays *relays = calloc(1, sizeof(*relays));
    if (relays == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&relays->lock, NULL);
    for (; relays->count < count; relays->count++) {
        if (read_relay(relays, relays->count, urls[relays->count], err))
            continue;
        smtp_relays_free(relays);
        return false;
    }
    *ret_relays = relays;
    return true;
}

void smtp_relays_free(struct smtp_relays *relays)
{
    if (relays == NULL)
        return;
    for (size_t i = 0; i < relays->count; i++)
        smtp_settings_done(&relays->items[i].settings);
    smtp_destinations_free(relays->destinations);
    pthread_mutex_destroy(&relays->lock);
    free(relays);
}

size_t smtp_relays_count(const struct smtp_relays *relays)
{
    return relays->count;
}
