/*
 * Fuzzes what the HTTP room reads of a request by itself: the forms of header
 * values, hosts and origins, cookies, queries and paths. The first byte chooses
 * the reader, the rest is its text. Besides not crashing, an accepted host or
 * origin must really name this server, a query must hold no key twice, and a
 * matched path must give as many parameters as its route has.
 */
#include "fuzz.h"
#include "http/credentials.h"
#include "http/endpoints/query.h"
#include "http/endpoints/routes.h"
#include "http/guard.h"
#include "http/headers.h"

#include <string.h>
#include <strings.h>

enum { TEXT_MAX_BYTES = 16 * 1024 };

static const struct operation *const no_candidates[] = { NULL };
static const struct route rows[] = {
    { "GET", "/v1/emails", no_candidates },           { "POST", "/v1/emails/import", no_candidates },
    { "GET", "/v1/emails/{emailId}", no_candidates }, { "POST", "/v1/emails/{emailId}/versions/{version}/restore", no_candidates },
    { "PUT", "/v1/contacts/{email}", no_candidates },
};

static void read_values(struct arena *arena, const char *text)
{
    struct header_values headers = { .contradictory = false };
    (void)accept_takes(text, "text", "event-stream");
    (void)accept_takes(text, "application", "json");
    if (content_type_is_json(text))
        require(strcasestr(text, "json") != NULL);
    const char *token = bearer_token(text);
    require(token == NULL || (token > text && token <= text + strlen(text)));
    require(header_by_name(text, strlen(text)) < HEADER_COUNT);

    headers.values[HEADER_COOKIE] = text;
    struct credentials credentials = credentials_read(arena, &headers, true);
    require((credentials.kind == CREDENTIAL_SESSION) == (credentials.secret != NULL));
    require(credentials.secret == NULL || strstr(text, credentials.secret) != NULL);
}

static struct guard *the_guard(struct arena *arena)
{
    static const char *const hosts[] = { "mail.example.com", NULL };
    const struct guard_config config = { .allowed_hosts = hosts };
    struct socket_address listen;
    struct guard *guard = NULL;
    struct error err = { .code = ERR_NONE };
    require(socket_address_parse("127.0.0.1:8420", "listen", &listen, &err));
    require(guard_new(arena, &config, &listen, &guard, &err));
    return guard;
}

static bool names_us(const char *text)
{
    return strncasecmp(text, "localhost", 9) == 0 || strncasecmp(text, "mail.example.com", 16) == 0 ||
           strncmp(text, "127.0.0.1", 9) == 0 || strncmp(text, "[::1]", 5) == 0;
}

static void read_host(struct arena *arena, const char *text)
{
    struct guard *guard = the_guard(arena);
    if (guard_host_is_known(guard, text))
        require(names_us(text));
    if (guard_origin_is_known(guard, text))
        require(strncasecmp(text, "http", 4) == 0 && names_us(strstr(text, "//") + 2));

    struct socket_address address;
    struct error err = { .code = ERR_NONE };
    if (socket_address_parse(text, "listen", &address, &err)) {
        char host[SOCKET_ADDRESS_HOST_BYTES];
        socket_address_host((const struct sockaddr *)&address.socket, host);
        require(host[0] != '\0' && strcmp(host, "unknown") != 0);
    } else {
        require(err.code == ERR_INVALID_REQUEST);
    }
}

static void read_query(struct arena *arena, const char *text)
{
    struct name_value_list pairs;
    struct error err = { .code = ERR_NONE };
    if (!query_read(arena, text, &pairs, &err)) {
        require(err.code == ERR_INVALID_REQUEST);
        return;
    }
    for (size_t i = 0; i < pairs.count; i++) {
        for (size_t j = 0; j < i; j++)
            require(strcmp(pairs.items[i].name, pairs.items[j].name) != 0);
    }
}

static size_t count_of(const char *text, char wanted)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == wanted ? 1 : 0;
    return count;
}

static void match_path(struct arena *arena, const char *text)
{
    static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE" };
    struct route_table *table = route_table_new(arena, rows, ARRAY_COUNT(rows));
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        struct route_match match = route_match(table, arena, methods[i], text, strlen(text));
        require(match.path_known == (match.allow != NULL));
        if (match.route == NULL)
            continue;
        require(match.parameters.count == count_of(match.route->path, '{'));
        require(count_of(match.route->path, '/') == count_of(text, '/'));
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static void (*const readers[])(struct arena * arena, const char *text) = { read_values, read_host, read_query, match_path };
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    const char *text = arena_dup_bytes(arena, data + 1, size - 1);
    readers[data[0] % ARRAY_COUNT(readers)](arena, text);
    return 0;
}
