#include "base/json_read.h"
#include "base/text.h"
#include "designer/instruction_read.h"

#include <stdlib.h>
#include <string.h>

static const struct noun nouns[] = {
    { "footer links", "links of the footer", NULL, "links", "footer", NULL },
    { "header links|menu|navigation", "links of the header", NULL, "links", "header", NULL },
    { "social links|social icons|social block", "social links", "social", NULL, NULL, NULL },
    { "buttons|button|call to action|cta", "button", "button", "button", NULL, "label" },
    { "logo", "logo", NULL, "logo", "header", "src" },
    { "images|image|pictures|picture|photos|photo", "image", "image", "image", NULL, "src" },
    { "eyebrow", "eyebrow", NULL, "eyebrow", NULL, NULL },
    { "headings|heading|headlines|headline|title", "heading", NULL, "heading", NULL, NULL },
    { "caption", "caption", NULL, "caption", NULL, NULL },
    { "note", "note", NULL, "note", NULL, NULL },
    { "coupon code|promo code|discount code|code", "code", NULL, "code", NULL, NULL },
    { "terms", "terms", NULL, "terms", NULL, NULL },
    { "prices|price", "price", NULL, "price", NULL, NULL },
    { "author", "author", NULL, "author", NULL, NULL },
    { "postal address|address", "address", NULL, "address", "footer", NULL },
    { "reason", "reason", NULL, "reason", "footer", NULL },
    { "hero text", "text of the hero", NULL, "text", "hero", NULL },
    { "quotes|quote|testimonials|testimonial", "quote", "quote", NULL, NULL, "text" },
    { "paragraphs|paragraph|text blocks|text block|texts|text", "paragraph", "text", NULL, NULL, "body" },
    { "hero", "hero", "hero", NULL, NULL, NULL },
    { "header", "header", "header", NULL, NULL, NULL },
    { "footer", "footer", "footer", NULL, NULL, NULL },
    { "dividers|divider|separators|separator|line", "divider", "divider", NULL, NULL, NULL },
    { "spacers|spacer|gap", "spacer", "spacer", NULL, NULL, NULL },
    { "columns", "columns", "columns", NULL, NULL, NULL },
    { "lists|list|bullets", "list", "list", NULL, NULL, NULL },
    { "product grid|products", "products", "products", NULL, NULL, NULL },
    { "offers|offer|coupon", "offer", "offer", NULL, NULL, "value" },
    { "events|event", "event", "event", NULL, NULL, NULL },
    { "steps", "steps", "steps", NULL, NULL, NULL },
    { "stats|statistics|figures", "figures", "stats", NULL, NULL, NULL },
    { "tables|table", "table", "table", NULL, NULL, NULL },
    { "signature", "signature", "signature", NULL, NULL, "name" },
    { "html block|html", "HTML block", "html", NULL, NULL, NULL },
};

enum { NOUN_COUNT = sizeof(nouns) / sizeof(nouns[0]) };

const struct noun *noun_take(struct words *words)
{
    for (size_t i = 0; i < NOUN_COUNT; i++)
        if (words_take(words, nouns[i].phrases))
            return &nouns[i];
    return NULL;
}

/* ---- Values of parts ---- */

const json_t *part_block(const struct reading *reading, const struct part *part)
{
    return json_array_get(json_object_get(reading->document, "blocks"), part->block);
}

const char *part_block_id(const struct reading *reading, const struct part *part)
{
    return json_get_text(part_block(reading, part), "id");
}

static json_t *step_into(json_t *value, const char *step)
{
    return json_is_array(value) ? json_array_get(value, strtoul(step, NULL, 10)) : json_object_get(value, step);
}

static json_t *value_at(json_t *value, const struct part *part, size_t steps)
{
    for (size_t i = 0; i < steps && value != NULL; i++)
        value = step_into(value, part->steps[i]);
    return value;
}

const json_t *part_value(const struct reading *reading, const struct part *part)
{
    return value_at(json_for_iteration(part_block(reading, part)), part, part->count);
}

struct part part_below(struct part part, const char *step)
{
    if (part.count < PART_STEPS_MAX)
        part.steps[part.count++] = step;
    return part;
}

json_t *part_set(const struct reading *reading, const struct part *part, json_t *value)
{
    json_t *values = json_object();
    const char *id = part_block_id(reading, part);
    if (part->count == 1)
        json_object_set_new(values, part->steps[0], value);
    else if (part->count > 1) {
        json_t *block = json_deep_copy(part_block(reading, part));
        json_object_set_new(value_at(block, part, part->count - 1), part->steps[part->count - 1], value);
        json_object_set(values, part->steps[0], json_object_get(block, part->steps[0]));
        json_decref(block);
    }
    return json_pack("{ss ss so}", "op", "set", "block", id, "values", values);
}

/* ---- Finding parts ---- */

struct finding {
    const struct reading *reading;
    const struct noun *noun;
    struct part *parts; /* NULL: they are only counted */
    size_t count;
};

static void add_part(struct finding *finding, struct part part)
{
    if (finding->parts != NULL)
        finding->parts[finding->count] = part;
    finding->count++;
}

static void find_in_fields(struct finding *finding, const struct document_field *fields, size_t count, const json_t *object,
                           struct part at);

static void find_in_list(struct finding *finding, const struct document_field *entry, const json_t *list, struct part at)
{
    for (size_t i = 0; i < json_array_size(list) && entry->kind == DOCUMENT_GROUP; i++) {
        struct part item = part_below(at, arena_printf(finding->reading->arena, "%zu", i));
        find_in_fields(finding, entry->fields, entry->field_count, json_array_get(list, i), item);
    }
}

static void find_in_fields(struct finding *finding, const struct document_field *fields, size_t count, const json_t *object,
                           struct part at)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        struct part below = part_below(at, fields[i].name);
        if (value != NULL && text_equal(fields[i].name, finding->noun->member))
            add_part(finding, below);
        else if (value != NULL && fields[i].kind == DOCUMENT_LIST)
            find_in_list(finding, fields[i].fields, value, below);
    }
}

static void find_in_block(struct finding *finding, size_t index)
{
    const struct part whole = { .block = index };
    const json_t *block = part_block(finding->reading, &whole);
    const char *name = json_get_text(block, "type");
    const struct document_block_type *type = document_block_type(name);
    if (text_equal(name, finding->noun->type))
        add_part(finding, whole);
    else if (finding->noun->member != NULL && (finding->noun->in == NULL || text_equal(name, finding->noun->in)))
        find_in_fields(finding, type->fields, type->field_count, block, whole);
}

static void find_in_blocks(struct finding *finding, const struct part *only)
{
    finding->count = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(finding->reading->document, "blocks")); i++)
        if (only == NULL || only->block == i)
            find_in_block(finding, i);
}

/* The parts that a noun names, in the document or in one block. */
static struct target find_parts(const struct reading *reading, const struct noun *noun, const struct part *only)
{
    struct finding finding = { .reading = reading, .noun = noun };
    find_in_blocks(&finding, only);
    finding.parts = arena_array(reading->arena, finding.count + 1, sizeof(*finding.parts));
    find_in_blocks(&finding, only);
    return (struct target){ .noun = noun, .parts = finding.parts, .count = finding.count };
}

/* The member that a block could have but has not: "set the eyebrow to …". */
static struct target find_absent(const struct reading *reading, const struct noun *noun, const struct part *only)
{
    struct part *part = arena_alloc(reading->arena, sizeof(*part));
    for (size_t i = 0; i < json_array_size(json_object_get(reading->document, "blocks")) && noun->value == NULL; i++) {
        const char *name = json_get_text(json_array_get(json_object_get(reading->document, "blocks"), i), "type");
        const struct document_block_type *type = document_block_type(name);
        bool is_possible = (only == NULL || only->block == i) && (noun->in == NULL || text_equal(noun->in, name));
        for (size_t j = 0; is_possible && j < type->field_count; j++)
            if (text_equal(type->fields[j].name, noun->member)) {
                *part = part_below((struct part){ .block = i }, noun->member);
                return (struct target){ .noun = noun, .parts = part, .count = 1 };
            }
    }
    return (struct target){ .noun = noun };
}

/* ---- Choosing one of several ---- */

int ordinal_take(struct words *words)
{
    static const char *const ordinals[] = { "first|1st", "second|2nd",  "third|3rd",  "fourth|4th", "fifth|5th",
                                            "sixth|6th", "seventh|7th", "eighth|8th", "ninth|9th",  "tenth|10th" };
    for (size_t i = 0; i < sizeof(ordinals) / sizeof(ordinals[0]); i++)
        if (words_take(words, ordinals[i]))
            return (int)i + 1;
    if (words_take(words, "last|final"))
        return ORDINAL_LAST;
    return ORDINAL_ANY;
}

static bool is_in_hero(const struct reading *reading, const struct part *part)
{
    return text_equal(json_get_text(part_block(reading, part), "type"), "hero");
}

static bool choose(struct target *target, size_t index)
{
    target->parts += index;
    target->count = 1;
    return true;
}

static bool choose_unnumbered(struct reading *reading, bool prefers_hero, struct target *target)
{
    for (size_t i = 0; i < target->count && prefers_hero; i++)
        if (is_in_hero(reading, &target->parts[i]))
            return choose(target, i);
    return reading_refuse(reading, arena_printf(reading->arena,
                                                "The design has %zu parts of this kind (%s). Say which: the first, the second.",
                                                target->count, target->noun->name));
}

static bool choose_part(struct reading *reading, int ordinal, bool is_one, bool prefers_hero, struct target *target)
{
    if (target->count == 0)
        return reading_refuse(reading, arena_printf(reading->arena, "The design has no such part (%s).", target->noun->name));
    if (ordinal == ORDINAL_EACH)
        return !is_one || target->count == 1 || reading_refuse(reading, "Name one part.");
    if (ordinal == ORDINAL_LAST)
        return choose(target, target->count - 1);
    if (ordinal > 0 && (size_t)ordinal > target->count)
        return reading_refuse(reading, arena_printf(reading->arena, "The design has only %zu of these parts (%s).", target->count,
                                                    target->noun->name));
    if (ordinal > 0)
        return choose(target, (size_t)ordinal - 1);
    return target->count == 1 || choose_unnumbered(reading, prefers_hero, target);
}

/* Takes "in the hero" behind a part; a container is one block. */
static bool take_container(struct reading *reading, struct target *ret_container)
{
    size_t start = reading->words.at;
    *ret_container = (struct target){ .count = 0 };
    if (!words_take(&reading->words, "of|in|from|on"))
        return true;
    words_take(&reading->words, "the");
    int ordinal = ordinal_take(&reading->words);
    const struct noun *noun = noun_take(&reading->words);
    if (noun == NULL || noun->type == NULL) {
        reading->words.at = start;
        return true;
    }
    *ret_container = find_parts(reading, noun, NULL);
    return choose_part(reading, ordinal, true, false, ret_container);
}

bool target_take(struct reading *reading, bool is_one, bool prefers_hero, struct target *ret_target)
{
    struct target container;
    int ordinal = words_take(&reading->words, "all of the|all the|all|every|each|both") ? ORDINAL_EACH : ORDINAL_ANY;
    words_take(&reading->words, "the|our|my|this");
    if (ordinal == ORDINAL_ANY)
        ordinal = ordinal_take(&reading->words);
    const struct noun *noun = noun_take(&reading->words);
    if (noun == NULL || !take_container(reading, &container))
        return false;
    const struct part *only = container.count > 0 ? container.parts : NULL;
    *ret_target = find_parts(reading, noun, only);
    if (ret_target->count == 0 && prefers_hero)
        *ret_target = find_absent(reading, noun, only);
    return choose_part(reading, ordinal, is_one, prefers_hero, ret_target);
}
