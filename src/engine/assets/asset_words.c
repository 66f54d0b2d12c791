#include "engine/assets/asset_words.h"

#include "base/text.h"
#include "designer/colour.h"
#include "engine/search/search_data.h"
#include "engine/search/tokens.h"

#include <math.h>
#include <string.h>

enum {
    TOKENS_OF_A_TEXT = 120,
    WORDS_MAX_BYTES = 64 * 1024, /* of all tokens with their places */
};

/* ---- Colours ---- */

/* The first hue of a name, in degrees of OKLCH, in order; below the first one the last name continues. */
struct hue_name {
    double from;
    const char *name;
};
static const struct hue_name hue_names[] = {
    { 12, "red" },        { 42, "orange" }, { 75, "yellow" },  { 118, "green" },
    { 168, "turquoise" }, { 222, "blue" },  { 285, "purple" }, { 328, "pink" },
};

static const double chroma_of_grey = 0.035;

static const char *name_of_grey(double lightness)
{
    if (lightness < 0.3)
        return "black";
    return lightness > 0.92 ? "white" : "grey";
}

static const char *name_of_hue(struct colour colour)
{
    static const double turn = 360;
    double degrees = fmod(colour.hue * turn / (2 * M_PI) + turn, turn);
    const char *name = "pink";
    for (size_t i = 0; i < ARRAY_COUNT(hue_names); i++)
        if (degrees >= hue_names[i].from)
            name = hue_names[i].name;
    bool is_warm = strcmp(name, "orange") == 0 || strcmp(name, "yellow") == 0;
    if (is_warm && colour.lightness < 0.6)
        return "brown";
    return strcmp(name, "red") == 0 && colour.lightness > 0.75 ? "pink" : name;
}

static const char *colour_name(const char *text)
{
    struct colour colour;
    if (!colour_read(text, &colour))
        return NULL;
    return colour.chroma < chroma_of_grey ? name_of_grey(colour.lightness) : name_of_hue(colour);
}

/* ---- The vector ---- */

struct words_writer {
    struct arena *arena;
    struct buf *out;
    size_t place;
};

static void add_words(struct words_writer *writer, const char *text, char weight)
{
    struct text_list tokens = tokens_of(writer->arena, text, TOKENS_OF_A_TEXT);
    for (size_t i = 0; i < tokens.count; i++)
        buf_printf(writer->out, "'%s':%zu%c ", tokens.items[i], ++writer->place, weight);
}

static void add_colour(struct words_writer *writer, const char *text)
{
    const char *name = colour_name(text);
    for (const struct colour_words *colour = search_colours; name != NULL && colour->name != NULL; colour++)
        for (size_t word = 0; strcmp(colour->name, name) == 0 && colour->words[word] != NULL; word++)
            add_words(writer, colour->words[word], 'D');
}

static void add_colours(struct words_writer *writer, const char *colours)
{
    while (colours != NULL && *colours != '\0') {
        size_t size = strcspn(colours, ",");
        add_colour(writer, arena_dup_bytes(writer->arena, colours, size));
        colours += size + (colours[size] == ',');
    }
}

/* The last part of the path, without its extension; NULL when the address has none. */
static const char *file_name(struct arena *arena, const char *url)
{
    if (url == NULL)
        return NULL;
    char *path = arena_dup_bytes(arena, url, strcspn(url, "?#"));
    char *name = strrchr(path, '/');
    if (name == NULL || (name > path && name[-1] == '/'))
        return NULL;
    char *dot = strrchr(name, '.');
    if (dot != NULL)
        *dot = '\0';
    const char *decoded = percent_decode(arena, name + 1, strlen(name + 1));
    return decoded != NULL ? decoded : name + 1;
}

const char *asset_words(struct arena *arena, const struct asset *asset)
{
    struct words_writer writer = { .arena = arena, .out = buf_in_arena(arena, WORDS_MAX_BYTES) };
    add_words(&writer, asset->alt, 'A');
    add_words(&writer, asset->description, 'B');
    add_words(&writer, asset->heading, 'C');
    add_words(&writer, asset->page_title, 'C');
    add_words(&writer, file_name(arena, asset->source_url), 'C');
    add_colours(&writer, asset->colours);
    return buf_text(writer.out);
}
