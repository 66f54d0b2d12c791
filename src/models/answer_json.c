#include "models/answer_json.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { OBJECT_MAX_BYTES = 2 * 1024 * 1024 };

static const json_t *read_object(struct arena *arena, const char *text, size_t size)
{
    struct error ignored = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = OBJECT_MAX_BYTES, .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    const json_t *json = NULL;
    return json_read(arena, text, size, bounds, &json, &ignored) && json_is_object(json) ? json : NULL;
}

/* Local models may write their reasoning before the answer. */
static const char *behind_reasoning(const char *text)
{
    static const char end[] = "</think>";
    const char *mark = strstr(text, end);
    return mark != NULL ? mark + strlen(end) : text;
}

/* The end of the object that begins at a brace; NULL: it is not closed. */
static const char *object_end(const char *text)
{
    size_t depth = 0;
    bool in_string = false;
    for (; *text != '\0'; text++) {
        if (in_string && *text == '\\' && text[1] != '\0')
            text++;
        else if (*text == '"')
            in_string = !in_string;
        else if (!in_string && *text == '{')
            depth++;
        else if (!in_string && *text == '}' && --depth == 0)
            return text + 1;
    }
    return NULL;
}

/* Finds the objects among prose. An object that is closed is skipped, and one that is not ends the search, so that each byte is
 * read twice at most. */
static size_t find_objects(struct arena *arena, const char *text, const json_t **ret_first, bool *ret_is_cut)
{
    size_t count = 0;
    while ((text = strchr(text, '{')) != NULL) {
        const char *end = object_end(text);
        *ret_is_cut = end == NULL;
        if (end == NULL)
            return count;
        const json_t *object = read_object(arena, text, (size_t)(end - text));
        if (object != NULL && count++ == 0)
            *ret_first = object;
        text = end;
    }
    return count;
}

const json_t *answer_find_object(struct arena *arena, const char *text, const char **ret_problem)
{
    const char *answer = behind_reasoning(text);
    const json_t *object = read_object(arena, answer, strlen(answer));
    bool is_cut = false;
    size_t count = object != NULL ? 1 : find_objects(arena, answer, &object, &is_cut);
    if (count == 1)
        return object;
    *ret_problem = count > 1 ? "The answer has several JSON objects. Give one."
                   : is_cut  ? "The JSON object of the answer is cut off."
                             : "The answer has no valid JSON object.";
    return NULL;
}
