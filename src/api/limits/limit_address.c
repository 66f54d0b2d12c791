#include "api/limits/limit_address.h"

#include "base/panic.h"
#include "base/text.h"
#include "base/url_part.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static const char socket_scheme[] = "unix://";

enum { DEFAULT_PORT = 6379, URL_MAX_BYTES = 1024, DATABASE_MAX = 1 << 20 };

static void url_free(CURLU **url)
{
    curl_url_cleanup(*url);
}

static void secret_free(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

static void text_free(char **text)
{
    free(*text);
}

static bool read_database_number(const char *text, int *ret_database, const char **ret_why)
{
    int64_t number;
    *ret_why = "the database must be a number";
    if (!int64_parse(text, &number) || number < 0 || number > DATABASE_MAX)
        return false;
    *ret_database = (int)number;
    return true;
}

static bool read_store_login(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(text_free) char *raw_user = url_part_copy(url, CURLUPART_USER, 0);
    CLEANUP(secret_free) char *raw_password = url_part_copy(url, CURLUPART_PASSWORD, 0);
    *ret_why = "the login needs a password, and may have a user; write special characters as %XX and use no control characters";
    if (raw_user == NULL && raw_password == NULL)
        return true;
    address->user = url_part_copy(url, CURLUPART_USER, CURLU_URLDECODE);
    address->password = url_part_copy(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    /* A part that is present but cannot be decoded must not be ignored. */
    if (address->password == NULL || (raw_user != NULL && address->user == NULL))
        return false;
    if (address->user != NULL && address->user[0] == '\0') {
        free(address->user);
        address->user = NULL;
    }
    return address->password[0] != '\0';
}

static bool read_store_server(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(text_free) char *host = url_host_copy(url);
    CLEANUP(text_free) char *port = url_part_copy(url, CURLUPART_PORT, 0);
    CLEANUP(text_free) char *path = url_part_copy(url, CURLUPART_PATH, 0);
    CLEANUP(text_free) char *query = url_part_copy(url, CURLUPART_QUERY, 0);
    int64_t number = DEFAULT_PORT;
    *ret_why = "it needs a host without %, and the port must be from 1 to 65535";
    if (host == NULL || (port != NULL && (!int64_parse(port, &number) || number < 1 || number > 65535)))
        return false;
    *ret_why = "nothing may follow the number of the database";
    if (query != NULL)
        return false;
    const char *database = path != NULL ? path + (path[0] == '/') : "";
    if (database[0] != '\0' && !read_database_number(database, &address->database, ret_why))
        return false;
    address->port = (int)number;
    if (asprintf(&address->name, "redis://%s:%d/%d", host, address->port, address->database) < 0)
        panic(PANIC_NO_MEMORY);
    /* The host name has no brackets around an IPv6 address. */
    size_t size = strlen(host);
    bool has_brackets = size > 2 && host[0] == '[' && host[size - 1] == ']';
    address->host = has_brackets ? strndup(host + 1, size - 2) : strdup(host);
    return address->host != NULL;
}

static bool read_store_socket(CURLU *url, struct limit_address *address, const char **ret_why)
{
    static const char parameter[] = "db=";
    CLEANUP(text_free) char *query = url_part_copy(url, CURLUPART_QUERY, 0);
    address->socket_path = url_part_copy(url, CURLUPART_PATH, CURLU_URLDECODE);
    *ret_why = "the path of the socket must begin with a slash and have less than 108 bytes";
    if (address->socket_path == NULL || address->socket_path[0] != '/' || address->socket_path[1] == '\0' ||
        strlen(address->socket_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return false;
    *ret_why = "the only accepted parameter is db";
    if (query != NULL && !text_starts_with(query, parameter))
        return false;
    if (query != NULL && !read_database_number(query + sizeof(parameter) - 1, &address->database, ret_why))
        return false;
    if (asprintf(&address->name, "unix://%s?db=%d", address->socket_path, address->database) < 0)
        panic(PANIC_NO_MEMORY);
    return true;
}

static bool read_parts(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(text_free) char *scheme = url_part_copy(url, CURLUPART_SCHEME, 0);
    CLEANUP(text_free) char *fragment = url_part_copy(url, CURLUPART_FRAGMENT, 0);
    bool is_server = scheme != NULL && strcmp(scheme, "redis") == 0;
    bool is_socket = scheme != NULL && strcmp(scheme, "unix") == 0;
    *ret_why = "TLS is not supported; use a socket, a private network or a tunnel";
    if (scheme != NULL && strcmp(scheme, "rediss") == 0)
        return false;
    *ret_why = "it must begin with redis:// or unix://; write special characters as %XX";
    if ((!is_server && !is_socket) || fragment != NULL || !read_store_login(url, address, ret_why))
        return false;
    return is_server ? read_store_server(url, address, ret_why) : read_store_socket(url, address, ret_why);
}

/* libcurl requires a host in every address. The address of a socket gets a placeholder host. False when it already has one. */
static bool set_url(CURLU *url, const char *text)
{
    const char *login = text_starts_with(text, socket_scheme) ? text + sizeof(socket_scheme) - 1 : NULL;
    if (login == NULL)
        return curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    int size = (int)strcspn(login, "/");
    if (size > 0 && login[size - 1] != '@')
        return false;
    CLEANUP(secret_free) char *whole = NULL;
    if (asprintf(&whole, "%s%.*ssocket%s", socket_scheme, size, login, login + size) < 0)
        panic(PANIC_NO_MEMORY);
    return curl_url_set(url, CURLUPART_URL, whole, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
}

bool limit_address_read(const char *text, struct limit_address *ret_address, const char **ret_why)
{
    CLEANUP(url_free) CURLU *url = curl_url();
    struct limit_address address = { .port = DEFAULT_PORT };
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    *ret_why = "it must have the form redis://user:password@host:port/0 or unix:///path?db=0";
    if (strlen(text) > URL_MAX_BYTES || !set_url(url, text))
        return false;
    if (!read_parts(url, &address, ret_why)) {
        limit_address_done(&address);
        return false;
    }
    *ret_address = address;
    return true;
}

void limit_address_done(struct limit_address *address)
{
    secret_free(&address->password);
    free(address->name);
    free(address->host);
    free(address->socket_path);
    free(address->user);
    *address = (struct limit_address){ .name = NULL };
}
