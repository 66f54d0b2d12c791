#include "designer/instruction.h"

#include "base/json_read.h"
#include "base/text.h"
#include "designer/change.h"
#include "designer/fragments.h"
#include "designer/instruction_read.h"

#include <string.h>

enum { CLAUSES_MAX = 50 };

/* The sentences of an instruction. */
struct sentences {
    const char *items[CLAUSES_MAX + 1];
    size_t count;
};

static void add_sentence(struct sentences *sentences, const char *text)
{
    if (sentences->count <= CLAUSES_MAX)
        sentences->items[sentences->count++] = text;
}

bool reading_refuse(struct reading *reading, const char *reason)
{
    if (reading->reason == NULL)
        reading->reason = reason;
    return false;
}

/* ---- What an edit must keep ---- */

bool reading_keeps(struct reading *reading, const json_t *before, const json_t *after)
{
    const char *fragment;
    json_t *value;
    json_t *old = json_in_arena(reading->arena, json_object());
    json_t *new = json_in_arena(reading->arena, json_object());
    fragments_collect(reading->arena, before, !reading->names_links, old);
    fragments_collect(reading->arena, after, !reading->names_links, new);
    json_object_foreach (old, fragment, value) {
        if (json_object_get(new, fragment) == NULL && strstr(reading->words.source, fragment) == NULL)
            return reading_refuse(
                reading,
                arena_printf(reading->arena, "It would lose %s. Repeat it in the new text, or replace it by name.", fragment));
    }
    return true;
}

/* Checks the members that an operation sets. A block that is removed was named. */
static bool keeps_fragments(struct reading *reading, const json_t *operation, const json_t *inverse)
{
    const char *name;
    json_t *before;
    if (reading->names_part || !text_equal(json_get_text(operation, "op"), json_get_text(inverse, "op")))
        return true;
    const json_t *values = json_object_get(operation, "values");
    json_object_foreach (json_for_iteration(json_object_get(inverse, "values")), name, before) {
        if (!reading_keeps(reading, before, json_object_get(values, name)))
            return false;
    }
    return true;
}

bool reading_apply(struct reading *reading, json_t *operation, const char *done)
{
    struct error err = { .code = ERR_NONE };
    struct document_change change;
    json_t *list = json_in_arena(reading->arena, json_array());
    json_array_append_new(list, operation);
    if (!document_change(reading->arena, reading->document, list, &reading->serial, &change, &err))
        return reading_refuse(reading, arena_dup(reading->arena, err.message));
    if (!keeps_fragments(reading, operation, json_array_get(change.inverse, 0)))
        return false;
    json_array_append(reading->operations, operation);
    reading->document = change.document;
    reading->done = done;
    return true;
}

/* ---- Clauses ---- */

static const char joints[] =
    "and then|and also|and|then|also|please|finally|next|plus|now|can you|could you|i want you to|i would like you to";

static bool skip_joint(struct words *words)
{
    enum word_kind kind = words_next(words)->kind;
    if (kind == WORD_COMMA || kind == WORD_STOP) {
        words->at++;
        return true;
    }
    return words_take(words, joints);
}

static bool is_at_verb(const struct words *words)
{
    struct words ahead = *words;
    return words_take(&ahead,
                      "replace|change|swap|substitute|rename|set|update|make|edit|use|remove|delete|drop|take out|take away|"
                      "get rid of|cut|add|insert|include|put|move|place|shift|link|paint");
}

/* Whether another clause may begin behind these words. */
static bool is_clause_end(const struct words *words)
{
    struct words ahead = *words;
    if (words_are_at_end(words))
        return true;
    bool is_joined = false;
    while (skip_joint(&ahead))
        is_joined = true;
    return is_joined && (is_at_verb(&ahead) || words_next(&ahead)->kind == WORD_END);
}

static void skip_clause(struct words *words)
{
    do {
        if (!words_are_at_end(words))
            words->at++;
    } while (!is_clause_end(words));
}

typedef bool (*clause_reader)(struct reading *reading);

/* The grammars in the order in which they are tried, with a NULL behind. */
static const clause_reader *grammar_of(const struct reading *reading)
{
    static const clause_reader of_outlines[] = { clause_outline, NULL };
    static const clause_reader of_documents[] = { clause_replace, clause_colour, clause_set,  clause_remove,
                                                  clause_add,     clause_move,   clause_link, NULL };
    return reading->outline != NULL ? of_outlines : of_documents;
}

static bool read_by_grammar(struct reading *reading)
{
    const clause_reader *clauses = grammar_of(reading);
    struct reading first = *reading;
    for (size_t i = 0; clauses[i] != NULL; i++) {
        size_t count = json_array_size(reading->operations);
        if (clauses[i](reading) && is_clause_end(&reading->words))
            return true;
        const char *reason = reading->reason;
        *reading = first;
        reading->reason = reason;
        while (json_array_size(reading->operations) > count)
            json_array_remove(reading->operations, count);
        if (reason != NULL)
            return false;
    }
    return false;
}

static void read_clause(struct reading *reading, struct sentences *understood, struct sentences *unclear)
{
    size_t start = reading->words.at;
    reading->reason = NULL;
    reading->done = NULL;
    reading->names_links = false;
    reading->names_part = false;
    if (read_by_grammar(reading)) {
        add_sentence(understood, reading->done);
        return;
    }
    skip_clause(&reading->words);
    const char *reason = reading->reason != NULL ? reading->reason : "The order is not one that is understood.";
    const char *source = words_source(&reading->words, start, reading->words.at);
    add_sentence(unclear, arena_printf(reading->arena, "%s: %s", source, reason));
}

static void read_clauses(struct reading *reading, struct sentences *understood, struct sentences *unclear)
{
    for (;;) {
        while (skip_joint(&reading->words))
            continue;
        if (words_next(&reading->words)->kind == WORD_END)
            return;
        if (understood->count + unclear->count >= CLAUSES_MAX) {
            add_sentence(unclear, "An instruction has at most 50 orders.");
            return;
        }
        read_clause(reading, understood, unclear);
    }
}

/* Reads all clauses. The operations of the result are those of a document. */
static struct instruction *read_whole(struct reading *reading, const char *text)
{
    struct sentences *understood = arena_alloc(reading->arena, sizeof(*understood));
    struct sentences *unclear = arena_alloc(reading->arena, sizeof(*unclear));
    struct instruction *instruction = arena_alloc(reading->arena, sizeof(*instruction));
    reading->operations = json_in_arena(reading->arena, json_array());
    reading->edits = json_in_arena(reading->arena, json_object());
    if (strlen(text) > (size_t)INSTRUCTION_MAX_CHARS * 4 || !words_read(reading->arena, text, &reading->words))
        add_sentence(unclear, "A quotation mark is not closed, or the instruction is too long.");
    else
        read_clauses(reading, understood, unclear);
    if (understood->count + unclear->count == 0)
        add_sentence(unclear, "The instruction has no order.");
    if (json_array_size(reading->operations) > DOCUMENT_OPERATIONS_MAX)
        add_sentence(unclear, "The instruction changes too many blocks.");
    instruction->operations = unclear->count == 0 ? reading->operations : NULL;
    instruction->understood = (struct text_list){ .items = understood->items, .count = understood->count };
    instruction->unclear = (struct text_list){ .items = unclear->items, .count = unclear->count };
    return instruction;
}

const struct instruction *instruction_read(struct arena *arena, const json_t *document, int64_t serial, const char *text)
{
    struct reading reading = { .arena = arena, .document = document, .serial = serial };
    return read_whole(&reading, text);
}

/* The merge tags of a text that another one has not. */
static json_t *lost_tags(struct reading *reading, const char *before, const char *after)
{
    const char *fragment;
    json_t *value;
    json_t *lost = json_array();
    json_t *old = json_in_arena(reading->arena, json_object());
    json_t *new = json_in_arena(reading->arena, json_object());
    fragments_collect_text(reading->arena, before, false, old);
    fragments_collect_text(reading->arena, after, false, new);
    json_object_foreach (old, fragment, value) {
        if (json_object_get(new, fragment) == NULL)
            json_array_append_new(lost, json_string(fragment));
    }
    return lost;
}

/* The edits with the merge tags that they drop. */
static const json_t *edits_of(struct reading *reading)
{
    const char *id;
    json_t *edit;
    json_t *list = json_in_arena(reading->arena, json_array());
    json_object_foreach (reading->edits, id, edit) {
        const char *with = json_get_text(edit, "with");
        json_t *lost = lost_tags(reading, json_get_text(edit, "before"), with);
        json_array_append_new(list, json_pack("{ss ss so}", "id", id, "with", with, "drop", lost));
    }
    return list;
}

const struct instruction *instruction_read_outline(struct arena *arena, const json_t *outline, const char *text)
{
    struct reading reading = { .arena = arena, .outline = outline };
    struct instruction *instruction = read_whole(&reading, text);
    if (instruction->operations != NULL)
        instruction->operations = edits_of(&reading);
    return instruction;
}
