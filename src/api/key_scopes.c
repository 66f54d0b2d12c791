#include "api/key_scopes.h"

#include "catalogue/policies.h"

#include <string.h>

static uint32_t scope_bit(const char *name)
{
    for (size_t i = 0; i < scope_count; i++)
        if (strcmp(scopes[i].name, name) == 0)
            return scopes[i].bit;
    return 0;
}

bool key_scopes_read(const char *const *names, size_t count, const char *param, uint32_t *ret_scopes, struct error *err)
{
    *ret_scopes = count == 0 ? SCOPE_ALL : 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = scope_bit(names[i]);
        if (bit == 0)
            return fail(err, ERR_INVALID_REQUEST, param, "%.60s is not a known scope.", names[i]);
        *ret_scopes |= bit;
    }
    return true;
}

void key_scopes_write(struct json_writer *json, uint32_t held)
{
    json_array_begin(json);
    for (size_t i = 0; i < scope_count; i++)
        if ((held & scopes[i].bit) != 0)
            json_text(json, scopes[i].name);
    json_array_end(json);
}
