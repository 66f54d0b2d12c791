#include "mail/authentication_results.h"

#include "base/text.h"
#include "mail/mime_reader.h"

#include <string.h>
#include <strings.h>

static const char field_name[] = "Authentication-Results";

/* RFC 8601 §2.7. */
static const char *known_result(const char *word, size_t size)
{
    static const char *const results[] = { "pass", "fail", "softfail", "neutral", "none", "policy", "temperror", "permerror" };
    for (size_t i = 0; i < ARRAY_COUNT(results); i++)
        if (strlen(results[i]) == size && strncasecmp(results[i], word, size) == 0)
            return results[i];
    return NULL;
}

/* Removes comments, which may be nested (RFC 5322 §3.2.2). */
static void drop_comments(char *value)
{
    char *out = value;
    int depth = 0;
    bool is_quoted = false;
    for (const char *at = value; *at != '\0'; at++) {
        is_quoted ^= *at == '"' && depth == 0;
        if (*at == '(' && !is_quoted)
            depth++;
        if (depth == 0)
            *out++ = *at;
        if (*at == ')' && !is_quoted && depth > 0)
            depth--;
    }
    *out = '\0';
}

/* The result of a part such as " spf=pass smtp.mailfrom=…"; NULL when the part is of another method. */
static const char *result_of(const char *part, const char *method)
{
    size_t size = strlen(method);
    part += strspn(part, " ");
    if (strncasecmp(part, method, size) != 0)
        return NULL;
    part += size;
    part += strspn(part, " ");
    if (*part != '=')
        return NULL;
    part += 1 + strspn(part + 1, " ");
    return known_result(part, strcspn(part, " ;"));
}

static void note_result(const char *found, const char **result)
{
    if (found != NULL && (*result == NULL || text_equal(found, "pass")))
        *result = found;
}

static void read_parts(const char *at, struct authentication_results *results)
{
    for (at = strchr(at, ';'); at != NULL; at = strchr(at + 1, ';')) {
        note_result(result_of(at + 1, "spf"), &results->spf);
        note_result(result_of(at + 1, "dkim"), &results->dkim);
        note_result(result_of(at + 1, "dmarc"), &results->dmarc);
    }
}

/* The name of the server that wrote a field. */
static size_t server_size(const char *value)
{
    return strcspn(value, " ;");
}

struct authentication_results authentication_results_read(struct arena *arena, struct bytes headers)
{
    struct authentication_results results = { .spf = NULL };
    const char *first = NULL;
    char *value;
    while ((value = mime_next_header(arena, &headers, field_name)) != NULL) {
        drop_comments(value);
        const char *server = value + strspn(value, " ");
        size_t size = server_size(server);
        if (first == NULL)
            first = server;
        else if (size != server_size(first) || strncasecmp(first, server, size) != 0)
            break;
        read_parts(server, &results);
    }
    return results;
}
