#include "designer/fragments.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

bool fragment_is_address(const char *fragment)
{
    return text_starts_with(fragment, "https://") || text_starts_with(fragment, "http://") || text_starts_with(fragment, "mailto:");
}

/* The length of a merge tag or an address at the beginning of a text; 0: there is none. */
static size_t fragment_size(const char *text, bool with_links)
{
    const char *close = text_starts_with(text, "{{")   ? strstr(text, "}}")
                        : text_starts_with(text, "{%") ? strstr(text, "%}")
                                                       : NULL;
    if (close != NULL)
        return (size_t)(close - text) + 2;
    return with_links && fragment_is_address(text) ? strcspn(text, " )\n\"") : 0;
}

void fragments_collect_text(struct arena *arena, const char *text, bool with_links, json_t *set)
{
    while (*text != '\0') {
        size_t size = *text == '{' || *text == 'h' || *text == 'm' ? fragment_size(text, with_links) : 0;
        if (size > 0)
            json_object_set_new(set, arena_dup_bytes(arena, text, size), json_true());
        text += size > 0 ? size : 1;
    }
}

void fragments_collect(struct arena *arena, const json_t *value, bool with_links, json_t *set)
{
    const char *name;
    json_t *member;
    if (json_is_string(value))
        fragments_collect_text(arena, json_string_value(value), with_links, set);
    for (size_t i = 0; i < json_array_size(value); i++)
        fragments_collect(arena, json_array_get(value, i), with_links, set);
    json_object_foreach (json_for_iteration(value), name, member) {
        fragments_collect(arena, member, with_links, set);
    }
}
