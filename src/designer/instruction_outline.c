/* The grammar for outlines of imported designs: texts and addresses that are there get other ones. Elements stay. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/instruction_read.h"
#include "designer/texts.h"

#include <string.h>

enum { EDITS_MAX = 50 }; /* of one request to the renderer (limits.mjs) */

/* ---- Edits ---- */

/* What an earlier clause has given a place, or what it has. */
static const char *current_text(const struct reading *reading, const char *id, const char *first)
{
    const char *edited = json_get_text(json_object_get(reading->edits, id), "with");
    return edited != NULL ? edited : first;
}

static bool edit(struct reading *reading, const char *id, const char *first, const char *with)
{
    const char *before = current_text(reading, id, first);
    json_t *edits = json_in_arena(reading->arena, json_copy(reading->edits));
    if (!reading_keeps(reading, json_in_arena(reading->arena, json_string(before)),
                       json_in_arena(reading->arena, json_string(with))))
        return false;
    json_object_set_new(edits, id, json_pack("{ss ss}", "before", first, "with", with));
    if (json_object_size(edits) > EDITS_MAX)
        return reading_refuse(reading, "The instruction changes too many places of the design.");
    reading->edits = edits;
    return true;
}

/* ---- Replace ---- */

static const json_t *list_of(const struct reading *reading, const char *name)
{
    return json_object_get(reading->outline, name);
}

static bool replace_in_list(struct reading *reading, const char *list, const char *member, const char *find, const char *with,
                            size_t *count)
{
    enum instruction_place place = text_equal(list, "texts") ? PLACE_TEXT : PLACE_ADDRESS;
    for (size_t i = 0; i < json_array_size(list_of(reading, list)); i++) {
        const json_t *entry = json_array_get(list_of(reading, list), i);
        const char *id = json_get_text(entry, "id");
        const char *first = json_get_text(entry, member);
        if (json_get_bool(entry, "isProtected", false))
            continue;
        const char *written = text_replace(reading, current_text(reading, id, first), find, with, place, count);
        if (written != NULL && !edit(reading, id, first, written))
            return false;
    }
    return true;
}

/* Whether a button or the link to unsubscribe would have no text. */
static bool leaves_empty_link(const struct reading *reading)
{
    for (size_t i = 0; i < json_array_size(list_of(reading, "links")); i++) {
        const json_t *link = json_array_get(list_of(reading, "links"), i);
        const json_t *texts = json_object_get(link, "texts");
        bool needs_text = json_get_bool(link, "isButton", false) || json_get_bool(link, "isProtected", false);
        const char *with =
            current_text(reading, json_array_size(texts) == 1 ? json_string_value(json_array_get(texts, 0)) : "", NULL);
        if (needs_text && with != NULL && with[strspn(with, " ")] == '\0')
            return true;
    }
    return false;
}

static bool replace_words(struct reading *reading, const char *find, const char *with)
{
    size_t count = 0;
    if (*find == '\0' || text_equal(find, with))
        return reading_refuse(reading, "Give a text to find, and another one in its place.");
    if (!text_has_whole_tags(find) || !text_has_whole_tags(with))
        return reading_refuse(reading, "A merge tag is not complete.");
    if (!replace_in_list(reading, "texts", "text", find, with, &count))
        return false;
    if (count == 0 && text_is_address_like(find)) {
        reading->names_links = true;
        if (!replace_in_list(reading, "links", "href", find, with, &count) ||
            !replace_in_list(reading, "images", "src", find, with, &count))
            return false;
    }
    if (count == 0)
        return reading_refuse(reading, arena_printf(reading->arena, "“%s” is not in the design.", find));
    if (leaves_empty_link(reading))
        return reading_refuse(reading, "A button and the link to unsubscribe keep a text.");
    reading->done = arena_printf(reading->arena, "Replace “%s” with “%s” (found: %zu).", find, with, count);
    return true;
}

static bool read_replace(struct reading *reading)
{
    words_take(&reading->words, "the words|the word|the phrase|the text|the");
    const char *find = words_take_kind(&reading->words, WORD_QUOTED);
    if (find == NULL || !words_take(&reading->words, "with|by|to|for"))
        return false;
    const char *with = words_take_kind(&reading->words, WORD_QUOTED);
    return with != NULL ? replace_words(reading, find, with) : reading_refuse(reading, "Put the new text in quotation marks.");
}

/* ---- Links and buttons ---- */

static const json_t *text_entry(const struct reading *reading, const char *id)
{
    for (size_t i = 0; i < json_array_size(list_of(reading, "texts")); i++)
        if (text_equal(json_get_text(json_array_get(list_of(reading, "texts"), i), "id"), id))
            return json_array_get(list_of(reading, "texts"), i);
    return NULL;
}

/* The only text of a link; NULL: it has none of its own, or several. */
static const json_t *text_of_link(const struct reading *reading, const json_t *link)
{
    const json_t *texts = json_object_get(link, "texts");
    return json_array_size(texts) == 1 ? text_entry(reading, json_string_value(json_array_get(texts, 0))) : NULL;
}

static bool set_address(struct reading *reading, const json_t *link, const char *address)
{
    if (json_get_bool(link, "isProtected", false))
        return reading_refuse(reading, "The link to unsubscribe keeps its address.");
    reading->names_links = true;
    reading->done = arena_printf(reading->arena, "Set the link (%s) to %s.", json_get_text(link, "id"), address);
    return edit(reading, json_get_text(link, "id"), json_get_text(link, "href"), address);
}

static bool read_link(struct reading *reading)
{
    const json_t *found = NULL;
    words_take(&reading->words, "the words|the word|the text|the button|the");
    const char *label = words_take_kind(&reading->words, WORD_QUOTED);
    const char *address =
        label != NULL && words_take(&reading->words, "to|with") ? words_take_kind(&reading->words, WORD_ADDRESS) : NULL;
    if (label == NULL || address == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(list_of(reading, "links")); i++) {
        const json_t *link = json_array_get(list_of(reading, "links"), i);
        if (!text_equal(json_get_text(text_of_link(reading, link), "text"), label))
            continue;
        if (found != NULL)
            return reading_refuse(reading, "Several links have this text.");
        found = link;
    }
    if (found == NULL)
        return reading_refuse(reading, "No link has this text of its own. An imported design gets no new links by an instruction.");
    return set_address(reading, found, address);
}

/* Takes "the second button". NULL: there is none, or it is refused. */
static const json_t *take_button(struct reading *reading)
{
    const json_t *last = NULL;
    const json_t *found = NULL;
    int count = 0;
    words_take(&reading->words, "the|our|my");
    int ordinal = ordinal_take(&reading->words);
    if (!words_take(&reading->words, "button|call to action|cta"))
        return NULL;
    for (size_t i = 0; i < json_array_size(list_of(reading, "links")); i++) {
        const json_t *link = json_array_get(list_of(reading, "links"), i);
        if (!json_get_bool(link, "isButton", false) || json_get_bool(link, "isProtected", false))
            continue;
        last = link;
        if (++count == ordinal)
            found = link;
    }
    if (ordinal == ORDINAL_LAST || (ordinal == ORDINAL_ANY && count == 1))
        found = last;
    if (found == NULL)
        reading_refuse(reading,
                       arena_printf(reading->arena, "Say which button: the first, the second. Number of buttons: %d.", count));
    return found;
}

static bool set_button(struct reading *reading, const json_t *button, bool is_link)
{
    words_take(&reading->words, "to");
    const char *value = words_take_kind(&reading->words, is_link ? WORD_ADDRESS : WORD_QUOTED);
    if (value == NULL)
        return reading_refuse(reading, is_link ? "Give the whole address, with https://." : "Put the new text in quotation marks.");
    if (is_link)
        return set_address(reading, button, value);
    const json_t *text = text_of_link(reading, button);
    if (text == NULL || value[strspn(value, " ")] == '\0')
        return reading_refuse(reading, "The button has not one text of its own, or would have none.");
    reading->done = arena_printf(reading->arena, "Set the text of the button (%s) to “%s”.", json_get_text(text, "id"), value);
    return edit(reading, json_get_text(text, "id"), json_get_text(text, "text"), value);
}

static bool read_button(struct reading *reading)
{
    static const char texts[] = "text|label";
    static const char links[] = "link|url|address";
    size_t start = reading->words.at;
    words_take(&reading->words, "the");
    bool is_text = words_take(&reading->words, texts);
    bool is_link = !is_text && words_take(&reading->words, links);
    if ((is_text || is_link) && words_take(&reading->words, "of|on")) {
        const json_t *button = take_button(reading);
        return button != NULL && set_button(reading, button, is_link);
    }
    reading->words.at = start;
    const json_t *button = take_button(reading);
    if (button == NULL)
        return false;
    is_link = words_take(&reading->words, links);
    return (is_link || words_take(&reading->words, texts)) && set_button(reading, button, is_link);
}

/* ---- Remove ---- */

static bool remove_alt(struct reading *reading)
{
    words_take(&reading->words, "the");
    int ordinal = ordinal_take(&reading->words);
    size_t count = json_array_size(list_of(reading, "images"));
    if (!words_take(&reading->words, "image|picture"))
        return false;
    size_t index = ordinal > 0 ? (size_t)ordinal - 1 : count - 1;
    const json_t *image = ordinal != ORDINAL_ANY || count == 1 ? json_array_get(list_of(reading, "images"), index) : NULL;
    const char *id = json_get_text(image, "altId");
    if (id == NULL)
        return reading_refuse(reading, "Say which image: the first, the second. It needs a text to remove.");
    reading->done = arena_printf(reading->arena, "Remove the alternative text of the image (%s).", id);
    return edit(reading, id, json_get_text(image, "alt"), "");
}

static bool read_remove(struct reading *reading)
{
    size_t start = reading->words.at;
    words_take(&reading->words, "the words|the word|the phrase|the text|the link|the");
    const char *find = words_take_kind(&reading->words, WORD_QUOTED);
    if (find != NULL)
        return replace_words(reading, find, "");
    reading->words.at = start;
    words_take(&reading->words, "the");
    if (words_take(&reading->words, "alt text of|alternative text of"))
        return remove_alt(reading);
    return reading_refuse(reading, "The elements of an imported design stay. Their texts can be removed: remove \"…\".");
}

/* ---- The grammar ---- */

bool clause_outline(struct reading *reading)
{
    size_t start = reading->words.at;
    if (words_take(&reading->words, "remove|delete|drop"))
        return read_remove(reading);
    if (words_take(&reading->words, "link"))
        return read_link(reading);
    if (!words_take(&reading->words, "replace|change|swap|set|update|make"))
        return reading_refuse(reading,
                              "In an imported design, texts, links and button texts can change. Nothing is added or moved.");
    if (read_replace(reading))
        return true;
    if (reading->reason != NULL)
        return false;
    reading->words.at = start + 1;
    return read_button(reading) ||
           reading_refuse(reading, "In an imported design, name a text by its words: replace \"…\" with \"…\".");
}
