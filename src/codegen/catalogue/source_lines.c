#include "source_lines.h"

#include <stdlib.h>
#include <string.h>

static FILE *open_declaration_file(const struct catalogue *all, const char *file)
{
    return fopen(text("%s/%s", all->root, file), "r");
}

int line_of_text(const struct catalogue *all, const char *file, const char *wanted)
{
    FILE *stream = open_declaration_file(all, file);
    if (stream == NULL) {
        return 0;
    }
    char *row = NULL;
    size_t size = 0;
    int line = 0;
    bool found = false;
    while (!found && getline(&row, &size, stream) >= 0) {
        found = strstr(row, wanted) != NULL;
        line++;
    }
    free(row);
    fclose(stream);
    return found ? line : 0;
}

/* A position in valid JSON. */
struct json_place {
    int line;
    int depth; /* open objects and lists */
    bool in_text;
};

static void step_over(struct json_place *place, FILE *stream, int byte)
{
    place->line += byte == '\n';
    if (place->in_text) {
        if (byte == '\\') {
            (void)fgetc(stream);
        }
        place->in_text = byte != '"';
        return;
    }
    place->in_text = byte == '"';
    place->depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
}

int line_of_item(const struct catalogue *all, const char *file, size_t index)
{
    enum { IN_FILE_LIST = 2, IN_MEMBER_LIST = 3 }; /* the file's list or its object and a list, then the item */
    FILE *stream = open_declaration_file(all, file);
    if (stream == NULL) {
        return 0;
    }
    struct json_place place = { .line = 1 };
    size_t opened = 0;
    int item_depth = 0;
    int byte;
    while (opened <= index && (byte = fgetc(stream)) != EOF) {
        bool was_in_text = place.in_text;
        step_over(&place, stream, byte);
        if (item_depth == 0 && place.depth == 1) {
            item_depth = byte == '[' ? IN_FILE_LIST : IN_MEMBER_LIST;
        }
        opened += !was_in_text && byte == '{' && place.depth == item_depth;
    }
    fclose(stream);
    return opened > index ? place.line : 0;
}

const char *place_of_text(const struct catalogue *all, const char *place, const char *wanted)
{
    const char *colon = strchr(place, ':');
    const char *file = colon != NULL ? text("%.*s", (int)(colon - place), place) : place;
    return text("%s:%d%s", file, line_of_text(all, file, wanted), colon != NULL ? colon : "");
}
