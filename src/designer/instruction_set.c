/* Clauses that give parts new values: texts, links, colours. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/instruction_read.h"

#include <string.h>

static const char verbs[] = "set|change|update|make|edit|rename|use";

/* ---- Values ---- */

/* The rest of a sentence without quotation marks, where it cannot have another clause. */
static const char *take_bare_text(struct reading *reading)
{
    size_t start = reading->words.at;
    const char *text = words_take_rest(&reading->words);
    for (size_t i = start; i < reading->words.at; i++) {
        const struct word *word = &reading->words.items[i];
        if (word->kind != WORD_PLAIN || text_equal(word->text, "and") || text_equal(word->text, "then")) {
            reading_refuse(reading, "Put the new text in quotation marks.");
            return NULL;
        }
    }
    if (*text == '\0')
        reading_refuse(reading, "The new value is missing.");
    return *text != '\0' ? text : NULL;
}

/* The value behind "to". NULL: there is none, or it is refused. */
static const char *take_value(struct reading *reading)
{
    bool has_to = words_take(&reading->words, "to say|to read|to be|to|as|into|say|read");
    const char *text = words_take_kind(&reading->words, WORD_QUOTED);
    if (text == NULL)
        text = words_take_kind(&reading->words, WORD_ADDRESS);
    if (text != NULL || !has_to)
        return text;
    return take_bare_text(reading);
}

/* ---- Members of the document ---- */

static const struct {
    const char *phrases;
    const char *member;
    const char *name;
} metas[] = {
    { "subject line|subject", "subjectLine", "subject" },
    { "preview text|preheader text|preheader|preview", "previewText", "preview text" },
    { "design title|design name|name of the design|title of the design", "title", "name of the design" },
};

enum { META_COUNT = sizeof(metas) / sizeof(metas[0]) };

static bool set_meta(struct reading *reading, size_t meta)
{
    const char *value = take_value(reading);
    if (value == NULL)
        return false;
    return reading_apply(reading, json_pack("{ss s{ss}}", "op", "meta", "values", metas[meta].member, value),
                         arena_printf(reading->arena, "Set the %s to “%s”.", metas[meta].name, value));
}

/* ---- Members of blocks ---- */

enum attribute { ATTRIBUTE_NONE, ATTRIBUTE_TEXT, ATTRIBUTE_LINK, ATTRIBUTE_ALT };

static enum attribute take_attribute(struct words *words)
{
    if (words_take(words, "alt text|alternative text|alt"))
        return ATTRIBUTE_ALT;
    if (words_take(words, "text|label|wording|words"))
        return ATTRIBUTE_TEXT;
    if (words_take(words, "link|url|address|target|href"))
        return ATTRIBUTE_LINK;
    return ATTRIBUTE_NONE;
}

static bool has_member(const struct reading *reading, const struct part *part, const char *name)
{
    const struct document_block_type *type = document_block_type(json_get_text(part_block(reading, part), "type"));
    for (size_t i = 0; i < type->field_count; i++)
        if (text_equal(type->fields[i].name, name))
            return true;
    return false;
}

/* The member of a target that an attribute names; false: it has none. */
static bool find_value_part(struct reading *reading, const struct target *target, enum attribute attribute, struct part *ret_part)
{
    static const char *const members[] = { [ATTRIBUTE_LINK] = "href", [ATTRIBUTE_ALT] = "alt" };
    *ret_part = target->parts[0];
    bool is_text = attribute == ATTRIBUTE_NONE || attribute == ATTRIBUTE_TEXT;
    const char *value = is_text ? target->noun->value : members[attribute];
    if (is_text && value == NULL && ret_part->count == 0 && attribute == ATTRIBUTE_TEXT && has_member(reading, ret_part, "text"))
        value = "text";
    if (value != NULL)
        *ret_part = part_below(*ret_part, value);
    bool is_possible = value != NULL ? ret_part->count > 1 || has_member(reading, ret_part, value)
                                     : ret_part->count > 0 &&
                                           (part_value(reading, ret_part) == NULL || json_is_string(part_value(reading, ret_part)));
    return is_possible || reading_refuse(reading, "The part has no such text or link.");
}

/* Takes "the text of the second button" or "the second button text". */
static bool take_value_target(struct reading *reading, struct target *ret_target, enum attribute *ret_attribute)
{
    size_t start = reading->words.at;
    words_take(&reading->words, "the|our|my");
    *ret_attribute = take_attribute(&reading->words);
    if (*ret_attribute != ATTRIBUTE_NONE && words_take(&reading->words, "of|on|for"))
        return target_take(reading, true, true, ret_target);
    reading->words.at = start;
    if (!target_take(reading, true, true, ret_target))
        return false;
    *ret_attribute = take_attribute(&reading->words);
    return true;
}

static bool set_part(struct reading *reading)
{
    struct target target;
    struct part part;
    enum attribute attribute;
    if (!take_value_target(reading, &target, &attribute) || !find_value_part(reading, &target, attribute, &part))
        return false;
    const char *value = take_value(reading);
    if (value == NULL)
        return false;
    reading->names_links = attribute == ATTRIBUTE_LINK || text_equal(target.noun->value, "src");
    static const char *const names[] = { "", " text", " link", " alternative text" };
    return reading_apply(reading, part_set(reading, &part, json_string(value)),
                         arena_printf(reading->arena, "Set the %s%s (%s) to “%s”.", target.noun->name, names[attribute],
                                      part_block_id(reading, &part), value));
}

bool clause_set(struct reading *reading)
{
    if (!words_take(&reading->words, verbs))
        return false;
    size_t start = reading->words.at;
    words_take(&reading->words, "the|our|my");
    for (size_t i = 0; i < META_COUNT; i++)
        if (words_take(&reading->words, metas[i].phrases))
            return set_meta(reading, i);
    reading->words.at = start;
    return set_part(reading);
}

/* ---- Colours ---- */

static const struct {
    const char *phrases;
    const char *member;
    const char *name;
} colour_roles[] = {
    { "buttons|button|accent|brand|links|link", "accent", "accent colour" },
    { "page background|background|page", "ground", "background colour" },
    { "content background|surface|card", "surface", "surface colour" },
    { "text|body text", "ink", "text colour" },
};

static const struct {
    const char *name;
    const char *value;
} colours[] = {
    { "black", "#000000" },  { "white", "#ffffff" },  { "red", "#c81e1e" },       { "green", "#15803d" },  { "blue", "#1d4ed8" },
    { "navy", "#1e2a5a" },   { "teal", "#0f766e" },   { "purple", "#7e22ce" },    { "violet", "#6d28d9" }, { "pink", "#be185d" },
    { "orange", "#c2410c" }, { "yellow", "#facc15" }, { "gold", "#b7860b" },      { "brown", "#7c4a21" },  { "beige", "#f5f0e1" },
    { "grey", "#6b7280" },   { "gray", "#6b7280" },   { "turquoise", "#0d9488" },
};

/* The colour of a word as # and six digits; NULL: it is none. */
static const char *read_colour(struct arena *arena, const char *word)
{
    size_t digits = *word == '#' ? strspn(word + 1, "0123456789abcdefABCDEF") : 0;
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (text_equal(colours[i].name, word))
            return colours[i].value;
    if (digits == 3 && word[4] == '\0')
        return arena_printf(arena, "#%c%c%c%c%c%c", word[1], word[1], word[2], word[2], word[3], word[3]);
    return digits == 6 && word[7] == '\0' ? word : NULL;
}

static const char *take_colour(struct reading *reading)
{
    const struct word *word = words_next(&reading->words);
    const char *colour = word->kind == WORD_PLAIN || word->kind == WORD_QUOTED ? read_colour(reading->arena, word->text) : NULL;
    reading->words.at += colour != NULL ? 1 : 0;
    return colour;
}

static bool take_role(struct reading *reading, size_t *ret_role)
{
    words_take(&reading->words, "the|our|my|all the|all");
    for (*ret_role = 0; *ret_role < sizeof(colour_roles) / sizeof(colour_roles[0]); ++*ret_role)
        if (words_take(&reading->words, colour_roles[*ret_role].phrases))
            return true;
    return false;
}

static bool set_colour(struct reading *reading, size_t role, const char *colour)
{
    return reading_apply(reading, json_pack("{ss s{ss}}", "op", "theme", "values", colour_roles[role].member, colour),
                         arena_printf(reading->arena, "Set the %s to %s.", colour_roles[role].name, colour));
}

bool clause_colour(struct reading *reading)
{
    static const char word[] = "colours|colors|colour|color";
    size_t role;
    if (!words_take(&reading->words, "paint|set|change|update|make|use"))
        return false;
    const char *first = take_colour(reading);
    if (first != NULL) {
        bool is_whole = words_take(&reading->words, "as|for") && take_role(reading, &role);
        words_take(&reading->words, word);
        return is_whole && set_colour(reading, role, first);
    }
    if (!take_role(reading, &role))
        return false;
    bool says_colour = words_take(&reading->words, word);
    words_take(&reading->words, "to|in|into");
    const char *colour = take_colour(reading);
    if (colour == NULL && says_colour)
        return reading_refuse(reading, "Give a colour as # and six hexadecimal digits, or by a common name such as green.");
    return colour != NULL && set_colour(reading, role, colour);
}
