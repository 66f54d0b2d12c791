#include "http/endpoints/query.h"

#include "base/text.h"

#include <string.h>

enum { QUERY_MAX_PAIRS = 64 };

static char *form_decode(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_dup_bytes(arena, text, size);
    for (size_t i = 0; i < size; i++) {
        if (copy[i] == '+')
            copy[i] = ' ';
    }
    return percent_decode(arena, copy, size);
}

static bool add_pair(struct arena *arena, const char *text, size_t size, struct name_value *pairs, size_t *count, struct error *err)
{
    if (*count == QUERY_MAX_PAIRS)
        return fail(err, ERR_INVALID_REQUEST, NULL, "At most %d query parameters are accepted.", QUERY_MAX_PAIRS);
    const char *equals = memchr(text, '=', size);
    size_t name_size = equals != NULL ? (size_t)(equals - text) : size;
    const char *name = form_decode(arena, text, name_size);
    const char *value = equals != NULL ? form_decode(arena, equals + 1, size - name_size - 1) : "";
    if (name == NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The name of a query parameter is not valid percent-encoded UTF-8.");
    if (value == NULL)
        return fail(err, ERR_INVALID_REQUEST, name, "The value is not valid percent-encoded UTF-8.");
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(pairs[i].name, name) == 0)
            return fail(err, ERR_INVALID_REQUEST, name, "The query parameter is given twice.");
    }
    pairs[(*count)++] = (struct name_value){ name, value };
    return true;
}

bool query_read(struct arena *arena, const char *query, struct name_value_list *ret_pairs, struct error *err)
{
    *ret_pairs = (struct name_value_list){ NULL, 0 };
    if (query == NULL || query[0] == '\0')
        return true;
    struct name_value *pairs = arena_array(arena, QUERY_MAX_PAIRS, sizeof(*pairs));
    size_t count = 0;
    for (const char *at = query; *at != '\0';) {
        size_t size = strcspn(at, "&");
        if (size > 0 && !add_pair(arena, at, size, pairs, &count, err))
            return false;
        at += size;
        if (*at == '&')
            at++;
    }
    *ret_pairs = (struct name_value_list){ pairs, count };
    return true;
}
