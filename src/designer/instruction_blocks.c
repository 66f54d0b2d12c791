/* Clauses that remove, add and move parts. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/instruction_read.h"

/* ---- Remove ---- */

static bool remove_part(struct reading *reading, const struct target *target, const struct part *part)
{
    const char *id = part_block_id(reading, part);
    const char *done = arena_printf(reading->arena, "Remove the %s (%s).", target->noun->name, id);
    if (part->count > 0)
        return reading_apply(reading, part_set(reading, part, json_null()), done);
    if (text_equal(json_get_text(part_block(reading, part), "type"), "footer"))
        return reading_refuse(reading, "The footer has the postal address and the link to unsubscribe, which an email needs.");
    return reading_apply(reading, json_pack("{ss ss}", "op", "remove", "block", id), done);
}

/* Takes the words behind the verb when they are a quoted text. */
static bool remove_words(struct reading *reading, const char *find)
{
    struct target scope = { .count = 0 };
    bool is_scoped = words_take(&reading->words, "from|in");
    if (is_scoped && !target_take(reading, true, false, &scope))
        return false;
    return texts_replace(reading, find, "", is_scoped ? scope.parts : NULL);
}

bool clause_remove(struct reading *reading)
{
    struct target target;
    if (!words_take(&reading->words, "remove|delete|drop|take out|take away|get rid of|cut"))
        return false;
    size_t start = reading->words.at;
    words_take(&reading->words, "the words|the word|the phrase|the text|the sentence|the");
    const char *find = words_take_kind(&reading->words, WORD_QUOTED);
    if (find != NULL)
        return remove_words(reading, find);
    if (words_take(&reading->words, "unsubscribe link|unsubscribe|link to unsubscribe"))
        return reading_refuse(reading, "An email needs the link to unsubscribe.");
    reading->words.at = start;
    if (!target_take(reading, false, false, &target))
        return false;
    reading->names_part = true;
    for (size_t i = target.count; i > 0; i--)
        if (!remove_part(reading, &target, &target.parts[i - 1]))
            return false;
    return true;
}

/* ---- Places ---- */

static const char *type_at(const struct reading *reading, size_t index)
{
    return json_get_text(json_array_get(json_object_get(reading->document, "blocks"), index), "type");
}

/* The number of the block before which something at the end belongs: the footer stays the last one. */
static size_t end_of(const struct reading *reading)
{
    size_t count = json_array_size(json_object_get(reading->document, "blocks"));
    return count > 0 && text_equal(type_at(reading, count - 1), "footer") ? count - 1 : count;
}

/* Takes a place: `ret_index` is the number of the block before which it is. False: there is none. */
static bool take_place(struct reading *reading, size_t *ret_index)
{
    struct target target;
    *ret_index = end_of(reading);
    if (words_take(&reading->words, "at the end|to the end|at the bottom|to the bottom"))
        return true;
    if (words_take(&reading->words, "at the top|to the top|at the beginning|to the beginning|at the start|to the start")) {
        *ret_index = text_equal(type_at(reading, 0), "header") ? 1 : 0;
        return true;
    }
    bool is_behind =
        words_take(&reading->words, "right after|directly after|after|right below|directly below|below|under|beneath|underneath");
    if (!is_behind && !words_take(&reading->words, "right before|directly before|before|right above|directly above|above|over"))
        return false;
    if (!target_take(reading, true, false, &target))
        return false;
    *ret_index = target.parts[0].block + (is_behind ? 1 : 0);
    return true;
}

static json_t *id_before(const struct reading *reading, size_t index)
{
    return index > 0 ? json_string(part_block_id(reading, &(struct part){ .block = index - 1 })) : json_null();
}

/* ---- Add ---- */

static const char *take_quoted(struct reading *reading)
{
    words_take(&reading->words,
               "with the text|with the label|with the words|that says|which says|saying|labelled|labeled|with|called|reading");
    return words_take_kind(&reading->words, WORD_QUOTED);
}

static const char *take_address(struct reading *reading)
{
    bool is_linked = words_take(
        &reading->words, "that links to|which links to|that goes to|linking to|linked to|pointing to|leading to|with the link|"
                         "with link|to|for");
    const char *address = is_linked ? words_take_kind(&reading->words, WORD_ADDRESS) : NULL;
    return address != NULL || !is_linked ? address : words_take_kind(&reading->words, WORD_QUOTED);
}

static json_t *read_button(struct reading *reading)
{
    const char *label = take_quoted(reading);
    const char *address = take_address(reading);
    if (label == NULL)
        label = take_quoted(reading);
    if (label == NULL || address == NULL) {
        reading_refuse(reading, "Give the text of the button in quotation marks, and its link: linking to https://…");
        return NULL;
    }
    return json_pack("{ss ss ss}", "type", "button", "label", label, "href", address);
}

static json_t *read_text(struct reading *reading)
{
    const char *text = take_quoted(reading);
    if (text == NULL)
        reading_refuse(reading, "Put the text in quotation marks.");
    return text != NULL ? json_pack("{ss ss}", "type", "text", "body", text) : NULL;
}

static json_t *read_heading(struct reading *reading)
{
    const char *heading = take_quoted(reading);
    if (heading == NULL) {
        reading_refuse(reading, "Put the heading in quotation marks.");
        return NULL;
    }
    size_t start = reading->words.at;
    bool has_body = words_take(&reading->words, "with the text|with the paragraph|and the text|and the paragraph");
    const char *body = has_body ? words_take_kind(&reading->words, WORD_QUOTED) : NULL;
    if (body != NULL)
        return json_pack("{ss ss ss}", "type", "text", "heading", heading, "body", body);
    reading->words.at = start;
    return json_pack("{ss ss ss}", "type", "hero", "variant", "minimal", "heading", heading);
}

static json_t *read_quote(struct reading *reading)
{
    const char *text = take_quoted(reading);
    if (text == NULL) {
        reading_refuse(reading, "Put the words in quotation marks.");
        return NULL;
    }
    const char *author = words_take(&reading->words, "by|from|of") ? words_take_kind(&reading->words, WORD_QUOTED) : NULL;
    return json_pack("{ss ss ss*}", "type", "quote", "text", text, "author", author);
}

static json_t *read_picture(struct reading *reading)
{
    words_take(&reading->words, "from|at|with the address");
    const char *address = words_take_kind(&reading->words, WORD_ADDRESS);
    if (address == NULL) {
        reading_refuse(reading, "Give the address of the picture, with https://.");
        return NULL;
    }
    bool has_alt = words_take(&reading->words, "with the alt text|with alt text|with the alternative text|with alt");
    const char *alt = has_alt ? words_take_kind(&reading->words, WORD_QUOTED) : NULL;
    return json_pack("{ss ss ss*}", "type", "image", "src", address, "alt", alt);
}

static json_t *read_divider(struct reading *reading)
{
    (void)reading;
    return json_pack("{ss}", "type", "divider");
}

static json_t *read_spacer(struct reading *reading)
{
    (void)reading;
    return json_pack("{ss}", "type", "spacer");
}

static const struct {
    const char *phrases;
    const char *name;
    json_t *(*read)(struct reading *reading);
} added[] = {
    { "button|call to action|cta", "button", read_button }, { "paragraph|text block|text|sentence", "paragraph", read_text },
    { "heading|headline|title", "heading", read_heading },  { "quote|testimonial", "quote", read_quote },
    { "image|picture|photo", "image", read_picture },       { "divider|separator|line", "divider", read_divider },
    { "spacer|space|gap", "spacer", read_spacer },
};

static bool add_block(struct reading *reading, size_t kind)
{
    size_t index;
    json_t *block = added[kind].read(reading);
    if (block == NULL)
        return false;
    bool has_place = take_place(reading, &index);
    if (reading->reason != NULL) {
        json_decref(block);
        return false;
    }
    if (!has_place)
        index = end_of(reading);
    return reading_apply(reading, json_pack("{ss so so}", "op", "insert", "after", id_before(reading, index), "value", block),
                         arena_printf(reading->arena, "Add a %s.", added[kind].name));
}

bool clause_add(struct reading *reading)
{
    if (!words_take(&reading->words, "add|insert|include|put") || !words_take(&reading->words, "a new|a|an|another|the"))
        return false;
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
        if (words_take(&reading->words, added[i].phrases))
            return add_block(reading, i);
    return false;
}

/* ---- Move ---- */

bool clause_move(struct reading *reading)
{
    size_t index;
    struct target target;
    if (!words_take(&reading->words, "move|put|place|shift") || !target_take(reading, true, false, &target))
        return false;
    struct part part = target.parts[0];
    if (!take_place(reading, &index))
        return false;
    if (part.count > 0)
        return reading_refuse(reading, "The part belongs to a block. Only whole blocks can be moved.");
    if (index == part.block || index == part.block + 1)
        return reading_refuse(reading, "The block already stands there.");
    const char *id = part_block_id(reading, &part);
    return reading_apply(reading, json_pack("{ss ss so}", "op", "move", "block", id, "after", id_before(reading, index)),
                         arena_printf(reading->arena, "Move the %s (%s).", target.noun->name, id));
}
