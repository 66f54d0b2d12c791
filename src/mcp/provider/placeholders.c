/* Placeholders: {name} in the texts of prompts and in the URIs of resources. */
#include "mcp/provider/provider_private.h"

#include <string.h>

enum { URI_MAX_BYTES = 1024 };

/* The value of a parameter in the object of parameters. */
static const char *parameter(const json_t *parameters, const char *name, size_t size)
{
    json_t *value = json_object_getn(parameters, name, size);
    return json_is_string(value) ? json_string_value(value) : NULL;
}

void provider_fill_text(struct buf *out, const char *text, const json_t *parameters)
{
    for (const char *at = text; *at != '\0';) {
        const char *open = strchr(at, '{');
        const char *close = open != NULL ? strchr(open, '}') : NULL;
        if (close == NULL) {
            buf_add_text(out, at);
            return;
        }
        buf_add(out, at, (size_t)(open - at));
        const char *value = parameter(parameters, open + 1, (size_t)(close - open - 1));
        if (value != NULL)
            buf_add_text(out, value);
        at = close + 1;
    }
}

const char *provider_fill_uri(struct arena *arena, const char *template, const json_t *arguments)
{
    struct buf *uri = buf_in_arena(arena, URI_MAX_BYTES);
    for (const char *open = strchr(template, '{'); open != NULL; open = strchr(open + 1, '{')) {
        const char *value = parameter(arguments, open + 1, strcspn(open + 1, "}"));
        if (value == NULL || value[0] == '\0')
            return NULL;
    }
    provider_fill_text(uri, template, arguments);
    return buf_text(uri);
}
