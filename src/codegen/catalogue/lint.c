#include "lint.h"

#include <string.h>

bool is_one_of(const char *value, const char *const *words)
{
    for (; value != NULL && *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_list_of_texts(const json_t *value)
{
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        if (!json_is_string(item)) {
            return false;
        }
    }
    return json_is_array(value);
}

static bool has_type(const json_t *value, char letter)
{
    switch (letter) {
    case 's':
        return json_is_string(value);
    case 'b':
        return json_is_boolean(value);
    case 'n':
        return json_is_number(value);
    case 'i':
        return json_is_integer(value);
    case 'o':
        return json_is_object(value);
    case 'a':
        return json_is_array(value);
    case 't':
        return is_list_of_texts(value);
    case 'z':
        return json_is_null(value);
    default:
        return letter == '*';
    }
}

/* The type letters of a known member; NULL for an unknown name. */
static const char *known_types(const char *name, const char *const *known)
{
    size_t length = strlen(name);
    for (; *known != NULL; known++) {
        if (strncmp(*known, name, length) == 0 && (*known)[length] == '=') {
            return *known + length + 1;
        }
    }
    return NULL;
}

void lint_members(json_t *object, const char *const *known, const char *place)
{
    if (!json_is_object(object)) {
        problem(place, "must be an object");
        return;
    }
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        const char *types = known_types(name, known);
        if (types == NULL) {
            problem(place, "has the unknown member %s", name);
            continue;
        }
        bool fits = false;
        for (const char *letter = types; *letter != '\0'; letter++) {
            fits = fits || has_type(value, *letter);
        }
        if (!fits) {
            problem(place, "%s has a wrong type", name);
        }
    }
}

bool lint_text(const json_t *object, const char *member, const char *place)
{
    const char *value = member_text(object, member);
    if (value == NULL || value[0] == '\0') {
        problem(place, "has no %s", member);
        return false;
    }
    return true;
}
