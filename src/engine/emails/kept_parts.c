#include "engine/emails/kept_parts.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

/* Whether a text of the value, at any depth, contains a part. */
static bool is_named(const json_t *value, const char *part)
{
    const char *name;
    json_t *member;
    if (json_is_string(value))
        return strstr(json_string_value(value), part) != NULL;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (is_named(json_array_get(value, i), part))
            return true;
    json_object_foreach (json_for_iteration(value), name, member) {
        if (is_named(member, part))
            return true;
    }
    return false;
}

static bool fail_lost(const char *part, struct error *err)
{
    return fail(err, ERR_EMAIL_GENERATION_FAILED, "prompt", "The edit would lose %.200s, which the prompt does not name.", part);
}

static bool has_path(const struct text_list *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i], path) == 0)
            return true;
    return false;
}

static bool check_paths(const struct email_parts *before, const struct email_content *after, const json_t *named, struct error *err)
{
    for (size_t i = 0; i < before->paths.count; i++) {
        const char *path = before->paths.items[i];
        if (!has_path(&after->paths, path) && !is_named(named, path))
            return fail_lost(path, err);
    }
    return true;
}

/* The addresses of a list of links, as the names of an object. */
static bool read_addresses(struct arena *arena, const char *links_json, const json_t **ret_addresses, struct error *err)
{
    const json_t *links;
    json_t *addresses = json_in_arena(arena, json_object());
    *ret_addresses = addresses;
    if (links_json == NULL)
        return true;
    struct json_bounds bounds = { .max_bytes = SIZE_MAX, .from_jsonb = true };
    if (!json_read(arena, links_json, strlen(links_json), bounds, &links, err))
        return false;
    for (size_t i = 0; i < json_array_size(links); i++) {
        const char *href = json_get_text(json_array_get(links, i), "href");
        if (href != NULL)
            json_object_set_new(addresses, href, json_true());
    }
    return true;
}

static bool check_links(struct arena *arena, const struct email_parts *before, const struct email_content *after,
                        const json_t *named, struct error *err)
{
    const char *href;
    json_t *ignored;
    const json_t *old;
    const json_t *new;
    if (!read_addresses(arena, before->links_json, &old, err) || !read_addresses(arena, after->links_json, &new, err))
        return false;
    json_object_foreach (json_for_iteration(old), href, ignored) {
        if (json_object_get(new, href) == NULL && !is_named(named, href))
            return fail_lost(href, err);
    }
    return true;
}

bool email_check_kept(struct arena *arena, const struct email_parts *before, const struct email_content *after, const json_t *named,
                      struct error *err)
{
    return check_paths(before, after, named, err) && check_links(arena, before, after, named, err);
}
