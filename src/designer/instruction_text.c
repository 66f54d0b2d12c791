#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/instruction_read.h"
#include "designer/texts.h"

#include <ctype.h>
#include <string.h>

/* A change of texts: `find` becomes `with`. Merge tags and addresses of links are whole. */
struct replacement {
    struct reading *reading;
    const char *find;
    const char *with;
    bool is_address; /* `find` belongs to an address, so addresses are searched, too */
    bool is_link;    /* `with` is a link, which only inline texts take */
    size_t count;
};

/* ---- One text ---- */

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* Whether `find` is here as whole words. */
static bool is_found(const struct replacement *replacement, const char *start, const char *at)
{
    size_t size = strlen(replacement->find);
    if (strncmp(at, replacement->find, size) != 0)
        return false;
    bool cuts_before = at > start && is_word_byte(at[-1]) && is_word_byte(at[0]);
    return !cuts_before && !(is_word_byte(at[size - 1]) && is_word_byte(at[size]));
}

/* The bytes that are copied without a search: a merge tag, the address of a link. */
static size_t protected_size(const struct replacement *replacement, const char *at)
{
    size_t size = merge_tag_size(at);
    return size == 0 && !replacement->is_address ? link_end_size(at) : size;
}

/* Whether words that are removed leave a space too many. */
static bool leaves_two_spaces(const struct replacement *replacement, const struct buf *written, const char *rest)
{
    bool is_after_space = written->size == 0 || written->data[written->size - 1] == ' ';
    return *replacement->with == '\0' && *rest == ' ' && is_after_space;
}

/* The text with the replacement, or NULL when it is not there. */
static const char *replace_text(struct replacement *replacement, const char *text)
{
    size_t before = replacement->count;
    if (strstr(text, replacement->find) == NULL)
        return NULL;
    struct buf *written = buf_in_arena(replacement->reading->arena, DOCUMENT_MAX_BYTES);
    for (const char *at = text; *at != '\0';) {
        if (is_found(replacement, text, at)) {
            buf_add_text(written, replacement->with);
            at += strlen(replacement->find);
            replacement->count++;
            at += leaves_two_spaces(replacement, written, at) ? 1 : 0;
            continue;
        }
        size_t size = protected_size(replacement, at);
        buf_add(written, at, size > 0 ? size : 1);
        at += size > 0 ? size : 1;
    }
    return replacement->count > before ? buf_text(written) : NULL;
}

const char *text_replace(struct reading *reading, const char *text, const char *find, const char *with,
                         enum instruction_place place, size_t *count)
{
    struct replacement replacement = { .reading = reading, .find = find, .with = with, .is_address = place == PLACE_ADDRESS };
    const char *written = replace_text(&replacement, text);
    *count += replacement.count;
    return written;
}

/* ---- The texts of a block ---- */

static bool is_searched(const struct replacement *replacement, const struct document_field *field)
{
    if (replacement->is_link)
        return field->kind == DOCUMENT_INLINE;
    bool is_text = field->kind == DOCUMENT_INLINE || field->kind == DOCUMENT_PLAIN ||
                   (field->kind == DOCUMENT_NAME && field->pattern == DOCUMENT_PATTERN_NONE);
    return is_text || (replacement->is_address && (field->kind == DOCUMENT_LINK || field->kind == DOCUMENT_SOURCE));
}

static json_t *replace_value(void *context, const struct document_field *field, const char *text)
{
    struct replacement *replacement = context;
    const char *written = is_searched(replacement, field) ? replace_text(replacement, text) : NULL;
    return written != NULL ? text_value(written) : NULL;
}

static json_t *replace_everywhere(struct replacement *replacement, const struct part *only)
{
    const json_t *blocks = json_object_get(replacement->reading->document, "blocks");
    json_t *operations = json_in_arena(replacement->reading->arena, json_array());
    const struct text_map map = { .new_value = replace_value, .context = replacement };
    replacement->count = 0;
    if (only == NULL && !replacement->is_link)
        texts_change_members(&map, replacement->reading->document, operations);
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (only == NULL || only->block == i)
            texts_change_block(&map, json_array_get(blocks, i), operations);
    return operations;
}

static bool apply_all(struct reading *reading, const json_t *operations, const char *done)
{
    for (size_t i = 0; i < json_array_size(operations); i++)
        if (!reading_apply(reading, json_incref(json_array_get(operations, i)), done))
            return false;
    return true;
}

/* ---- Replace ---- */

bool texts_replace(struct reading *reading, const char *find, const char *with, const struct part *only)
{
    struct arena *arena = reading->arena;
    struct replacement replacement = { .reading = reading, .find = find, .with = with };
    if (*find == '\0' || text_equal(find, with))
        return reading_refuse(reading, "Give a text to find, and another one in its place.");
    if (!text_has_whole_tags(find) || !text_has_whole_tags(with))
        return reading_refuse(reading, "A merge tag is not complete.");
    json_t *operations = replace_everywhere(&replacement, only);
    if (replacement.count == 0 && text_is_address_like(find)) {
        replacement.is_address = true;
        reading->names_links = true;
        operations = replace_everywhere(&replacement, only);
    }
    if (replacement.count == 0)
        return reading_refuse(reading, arena_printf(arena, "“%s” is not in the texts of the design.", find));
    return apply_all(reading, operations,
                     arena_printf(arena, "Replace “%s” with “%s” (found: %zu).", find, with, replacement.count));
}

/* Takes "in the hero" or "everywhere" behind the texts. */
static bool take_scope(struct reading *reading, struct target *ret_scope)
{
    *ret_scope = (struct target){ .count = 0 };
    if (words_take(&reading->words, "everywhere|in all places|in the whole email|in the email"))
        return true;
    if (!words_take(&reading->words, "in|of"))
        return true;
    return target_take(reading, true, false, ret_scope);
}

bool clause_replace(struct reading *reading)
{
    struct target scope;
    if (!words_take(&reading->words, "replace|change|swap|substitute|rename"))
        return false;
    words_take(&reading->words, "all|every|each");
    words_take(&reading->words, "the words|the word|the phrase|the text|the");
    const char *find = words_take_kind(&reading->words, WORD_QUOTED);
    if (find == NULL || !take_scope(reading, &scope) || !words_take(&reading->words, "with|by|to|for|into"))
        return false;
    const char *with = words_take_kind(&reading->words, WORD_QUOTED);
    if (with == NULL)
        return reading_refuse(reading, "Put the new text in quotation marks.");
    if (scope.count == 0 && !take_scope(reading, &scope))
        return false;
    return texts_replace(reading, find, with, scope.count > 0 ? scope.parts : NULL);
}

/* ---- Link ---- */

struct labelled {
    const struct reading *reading;
    const char *label;
    struct part found;
    size_t count;
};

static void find_label(struct labelled *labelled, const struct document_field *fields, size_t count, const json_t *object,
                       struct part at)
{
    if (text_equal(json_get_text(object, "label"), labelled->label) && json_object_get(object, "href") != NULL) {
        labelled->found = part_below(at, "href");
        labelled->count++;
    }
    for (size_t i = 0; i < count; i++) {
        const struct document_field *field = &fields[i];
        const json_t *value = json_object_get(object, field->name);
        struct part below = part_below(at, field->name);
        if (value != NULL && field->kind == DOCUMENT_GROUP)
            find_label(labelled, field->fields, field->field_count, value, below);
        for (size_t j = 0; value != NULL && field->kind == DOCUMENT_LIST && j < json_array_size(value); j++)
            find_label(labelled, field->fields->fields, field->fields->field_count, json_array_get(value, j),
                       part_below(below, arena_printf(labelled->reading->arena, "%zu", j)));
    }
}

/* Finds the button or the link of a row with this label. */
static struct labelled find_labelled(const struct reading *reading, const char *label)
{
    struct labelled labelled = { .reading = reading, .label = label };
    const json_t *blocks = json_object_get(reading->document, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *block = json_array_get(blocks, i);
        const struct document_block_type *type = document_block_type(json_get_text(block, "type"));
        find_label(&labelled, type->fields, type->field_count, block, (struct part){ .block = i });
    }
    return labelled;
}

/* The address of "[label](address)" in the inline texts; NULL: there is no such link. */
static const char *linked_address(const struct reading *reading, const char *label)
{
    const char *text = json_compact(reading->arena, reading->document);
    const char *mark = arena_printf(reading->arena, "[%s](", label);
    const char *found = strstr(text, mark);
    if (found == NULL)
        return NULL;
    found += strlen(mark);
    return arena_dup_bytes(reading->arena, found, strcspn(found, ")\""));
}

static bool link_words(struct reading *reading, const char *label, const char *address, const char *done)
{
    struct replacement replacement = { .reading = reading, .find = label, .is_link = true };
    const char *old = linked_address(reading, label);
    replacement.with = arena_printf(reading->arena, "[%s](%s)", label, address);
    if (old != NULL) {
        replacement.find = arena_printf(reading->arena, "[%s](%s)", label, old);
        reading->names_links = true;
    }
    const json_t *operations = replace_everywhere(&replacement, NULL);
    if (replacement.count == 1)
        return apply_all(reading, operations, done);
    return reading_refuse(reading, replacement.count == 0 ? "The words are not in a text that can have links."
                                                          : "The words are there more than once. Give more of the text.");
}

bool clause_link(struct reading *reading)
{
    if (!words_take(&reading->words, "link"))
        return false;
    words_take(&reading->words, "the words|the word|the text|the button|the");
    const char *label = words_take_kind(&reading->words, WORD_QUOTED);
    if (label == NULL || !words_take(&reading->words, "to|with"))
        return false;
    const char *address = words_take_kind(&reading->words, WORD_ADDRESS);
    if (address == NULL)
        return reading_refuse(reading, "Give the whole address, with https://.");
    if (strpbrk(label, "[]") != NULL || strpbrk(address, "()<>\"\\") != NULL)
        return reading_refuse(reading, "The words or the address have brackets, which a link cannot have.");
    const char *done = arena_printf(reading->arena, "Link “%s” to %s.", label, address);
    struct labelled labelled = find_labelled(reading, label);
    if (labelled.count == 0)
        return link_words(reading, label, address, done);
    reading->names_links = true;
    if (labelled.count > 1)
        return reading_refuse(reading, "Several links have this text.");
    return reading_apply(reading, part_set(reading, &labelled.found, json_string(address)), done);
}
