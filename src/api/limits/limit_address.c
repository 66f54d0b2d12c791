#include "api/limits/limit_address.h"

#include "base/text.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static const char socket_scheme[] = "unix://";

enum { DEFAULT_PORT = 6379, URL_MAX_BYTES = 1024, DATABASE_MAX = 1 << 20 };

static void free_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

static void free_secret(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

static void free_text(char **text)
{
    free(*text);
}

/* A part of the address as a string of ours; NULL when it has none. */
static char *take_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    char *taken = strdup(text);
    curl_free(text);
    if (taken == NULL)
        abort();
    return taken;
}

static bool read_database(const char *text, int *ret_database, const char **ret_why)
{
    int64_t number;
    *ret_why = "the database is a number";
    if (!int64_parse(text, &number) || number < 0 || number > DATABASE_MAX)
        return false;
    *ret_database = (int)number;
    return true;
}

static bool read_login(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(free_text) char *raw_user = take_part(url, CURLUPART_USER, 0);
    CLEANUP(free_secret) char *raw_password = take_part(url, CURLUPART_PASSWORD, 0);
    *ret_why = "a log-in is a password, with or without a user, special characters as %XX, without control characters";
    if (raw_user == NULL && raw_password == NULL)
        return true;
    address->user = take_part(url, CURLUPART_USER, CURLU_URLDECODE);
    address->password = take_part(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    /* What is there but cannot be decoded must not become nothing. */
    if (address->password == NULL || (raw_user != NULL && address->user == NULL))
        return false;
    if (address->user != NULL && address->user[0] == '\0') {
        free(address->user);
        address->user = NULL;
    }
    return address->password[0] != '\0';
}

static bool read_server(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(free_text) char *host = take_part(url, CURLUPART_HOST, 0);
    CLEANUP(free_text) char *port = take_part(url, CURLUPART_PORT, 0);
    CLEANUP(free_text) char *path = take_part(url, CURLUPART_PATH, 0);
    CLEANUP(free_text) char *query = take_part(url, CURLUPART_QUERY, 0);
    int64_t number = DEFAULT_PORT;
    *ret_why = "it needs a host, and a port from 1 to 65535 if any";
    if (host == NULL || host[0] == '\0' || (port != NULL && (!int64_parse(port, &number) || number < 1 || number > 65535)))
        return false;
    *ret_why = "it has nothing behind the number of the database";
    if (query != NULL)
        return false;
    const char *database = path != NULL ? path + (path[0] == '/') : "";
    if (database[0] != '\0' && !read_database(database, &address->database, ret_why))
        return false;
    address->port = (int)number;
    if (asprintf(&address->name, "redis://%s:%d/%d", host, address->port, address->database) < 0)
        abort();
    /* The name of a host: without the brackets of an IPv6 address. */
    size_t size = strlen(host);
    bool has_brackets = size > 2 && host[0] == '[' && host[size - 1] == ']';
    address->host = has_brackets ? strndup(host + 1, size - 2) : strdup(host);
    return address->host != NULL;
}

static bool read_socket(CURLU *url, struct limit_address *address, const char **ret_why)
{
    static const char parameter[] = "db=";
    CLEANUP(free_text) char *query = take_part(url, CURLUPART_QUERY, 0);
    address->socket_path = take_part(url, CURLUPART_PATH, CURLU_URLDECODE);
    *ret_why = "the path of a socket begins with a slash and has less than 108 bytes";
    if (address->socket_path == NULL || address->socket_path[0] != '/' || address->socket_path[1] == '\0' ||
        strlen(address->socket_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return false;
    *ret_why = "the only parameter is db";
    if (query != NULL && !text_starts_with(query, parameter))
        return false;
    if (query != NULL && !read_database(query + sizeof(parameter) - 1, &address->database, ret_why))
        return false;
    if (asprintf(&address->name, "unix://%s?db=%d", address->socket_path, address->database) < 0)
        abort();
    return true;
}

static bool read_parts(CURLU *url, struct limit_address *address, const char **ret_why)
{
    CLEANUP(free_text) char *scheme = take_part(url, CURLUPART_SCHEME, 0);
    CLEANUP(free_text) char *fragment = take_part(url, CURLUPART_FRAGMENT, 0);
    bool is_server = scheme != NULL && strcmp(scheme, "redis") == 0;
    bool is_socket = scheme != NULL && strcmp(scheme, "unix") == 0;
    *ret_why = "TLS is not built; use a socket, a private network or a tunnel";
    if (scheme != NULL && strcmp(scheme, "rediss") == 0)
        return false;
    *ret_why = "it begins with redis:// or unix://, and special characters are written as %XX";
    if ((!is_server && !is_socket) || fragment != NULL || !read_login(url, address, ret_why))
        return false;
    return is_server ? read_server(url, address, ret_why) : read_socket(url, address, ret_why);
}

/* libcurl wants a host in every address; that of a socket gets one, which nobody asks for. False when it had one. */
static bool set_url(CURLU *url, const char *text)
{
    const char *login = text_starts_with(text, socket_scheme) ? text + sizeof(socket_scheme) - 1 : NULL;
    if (login == NULL)
        return curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    int size = (int)strcspn(login, "/");
    if (size > 0 && login[size - 1] != '@')
        return false;
    CLEANUP(free_secret) char *whole = NULL;
    if (asprintf(&whole, "%s%.*ssocket%s", socket_scheme, size, login, login + size) < 0)
        abort();
    return curl_url_set(url, CURLUPART_URL, whole, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
}

bool limit_address_read(const char *text, struct limit_address *ret_address, const char **ret_why)
{
    CLEANUP(free_url) CURLU *url = curl_url();
    struct limit_address address = { .port = DEFAULT_PORT };
    if (url == NULL)
        abort();
    *ret_why = "it is not of the form redis://user:password@host:port/0 or unix:///path?db=0";
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
    free_secret(&address->password);
    free(address->name);
    free(address->host);
    free(address->socket_path);
    free(address->user);
    *address = (struct limit_address){ .name = NULL };
}
