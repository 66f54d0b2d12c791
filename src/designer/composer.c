#include "designer/composer.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_text.h"
#include "designer/composer_blocks.h"
#include "designer/composer_places.h"
#include "designer/fixed_phrases.h"
#include "designer/recipes.h"

#include <string.h>

enum {
    SUBJECT_MAX_CHARS = 120,
    PREVIEW_MAX_CHARS = 140,
    TITLE_MAX_CHARS = 120,
    TAKEN_MAX_CHARS = 80,
    TEXT_MAX_BYTES = 128 * 1024,
};

/* ---- Texts ---- */

/* Inline Markdown as plain text: links are their labels. */
static const char *plain_of(struct arena *arena, const char *text)
{
    struct buf *out = buf_in_arena(arena, TEXT_MAX_BYTES);
    for (const char *at = text; *at != '\0'; at++) {
        const char *close = *at == '[' ? strstr(at, "](") : NULL;
        const char *end = close != NULL ? strchr(close, ')') : NULL;
        if (end != NULL) {
            buf_add(out, at + 1, (size_t)(close - at) - 1);
            at = end;
        } else if (text_starts_with(at, "**")) {
            at++;
        } else {
            buf_add_char(out, *at);
        }
    }
    return line_of(arena, buf_text(out), out->size);
}

static const char *first_text(const struct composer *composer)
{
    const json_t *body = composer->facts->body;
    for (size_t i = 0; i < json_array_size(body); i++) {
        const char *text = json_get_text(json_array_get(body, i), "body");
        const char *point = json_string_value(json_array_get(json_object_get(json_array_get(body, i), "items"), 0));
        if (text != NULL || point != NULL)
            return text != NULL ? text : point;
    }
    return NULL;
}

static const char *first_sentence(const struct composer *composer)
{
    const char *text = first_text(composer);
    return text != NULL ? line_of(composer->arena, text, sentence_size(text)) : NULL;
}

/* ---- The whole document ---- */

/* The first sentence of the body as a heading, without its full stop; NULL: it is too long, or the body begins with no text. */
static const char *take_first_sentence(struct composer *composer)
{
    const json_t *first = json_array_get(composer->facts->body, 0);
    const char *sentence = composer_is_paragraph(first) ? first_sentence(composer) : NULL;
    if (sentence == NULL || utf8_length(sentence) > TAKEN_MAX_CHARS || *sentence == '\0')
        return NULL;
    composer->took_first = true;
    size_t size = strlen(sentence);
    return arena_dup_bytes(composer->arena, sentence, sentence[size - 1] == '.' ? size - 1 : size);
}

static const char *heading_of(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    const char *fixed = fixed_heading(composer->arena, facts->language, facts->category, composer->brief->brand.name);
    if (facts->heading != NULL || facts->is_verbatim)
        return facts->heading != NULL ? plain_of(composer->arena, facts->heading) : NULL;
    const char *sentence = fixed != NULL ? fixed : facts->topic;
    if (sentence == NULL && facts->lead == NULL)
        sentence = take_first_sentence(composer);
    if (sentence == NULL)
        sentence = first_sentence(composer);
    if (sentence == NULL)
        sentence = facts->offer != NULL ? json_get_text(facts->offer, "value") : composer->brief->brand.name;
    return sentence != NULL ? cut_line(composer->arena, plain_of(composer->arena, sentence), 90) : NULL;
}

static const char *subject_of(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    if (composer->brief->subject_line != NULL || facts->subject != NULL)
        return composer->brief->subject_line != NULL ? composer->brief->subject_line : facts->subject;
    const char *offer = facts->is_verbatim ? NULL : json_get_text(facts->offer, "value");
    const char *text = composer->heading != NULL ? composer->heading : first_sentence(composer);
    if (text != NULL && offer != NULL && strstr(text, offer) == NULL && utf8_length(text) + utf8_length(offer) < 70)
        text = arena_printf(composer->arena, "%s: %s", text, offer);
    return text != NULL ? cut_line(composer->arena, plain_of(composer->arena, text), SUBJECT_MAX_CHARS) : NULL;
}

static const char *preview_of(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    const char *lead = composer_repeats_heading(composer) ? NULL : facts->lead;
    const char *text = facts->preview != NULL ? facts->preview : lead != NULL ? lead : first_text(composer);
    if (text == NULL)
        text = json_get_text(facts->offer, "value");
    return text != NULL ? cut_line(composer->arena, plain_of(composer->arena, text), PREVIEW_MAX_CHARS) : NULL;
}

static void set_title(struct composer *composer, json_t *document)
{
    const char *subject = json_get_text(document, "subjectLine");
    const char *text = composer->heading != NULL ? composer->heading : subject;
    const char *title = text != NULL ? without_tags(composer->arena, text) : "";
    title = line_of(composer->arena, title, strlen(title));
    if (*title == '\0' && subject != NULL)
        title = line_of(composer->arena, without_tags(composer->arena, subject), strlen(without_tags(composer->arena, subject)));
    title = *title != '\0' ? title : composer->facts->category;
    json_object_set_new(document, "title", json_string(cut_line(composer->arena, title, TITLE_MAX_CHARS)));
}

static size_t choice_of(const struct brief *brief)
{
    return ((size_t)brief->seed[0] << 8 | brief->seed[1]) % RECIPES_PER_CATEGORY;
}

static const json_t *document_of(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    json_t *document =
        json_in_arena(composer->arena, json_pack("{si ss ss}", "schema", 1, "lang", facts->language, "category", facts->category));
    const json_t *theme = json_object_get(composer->brief->reference, "theme");
    set_text(composer->arena, document, "subjectLine", subject_of(composer), 250);
    set_text(composer->arena, document, "previewText", preview_of(composer), 250);
    set_title(composer, document);
    if (json_is_object(theme))
        json_object_set(document, "theme", json_for_iteration(theme));
    json_object_set(document, "blocks", composer->blocks);
    return document;
}

const struct composed *compose(struct arena *arena, const struct brief *brief)
{
    struct composer composer = { .arena = arena, .brief = brief, .facts = brief_read(arena, brief) };
    struct composed *composed = arena_alloc(arena, sizeof(*composed));
    composer.phrases = fixed_phrases(composer.facts->language);
    composer.blocks = json_in_arena(arena, json_array());
    composer.warnings = arena_array(arena, COMPOSER_WARNINGS_MAX, sizeof(*composer.warnings));
    composer.recipe = recipe_of(composer.facts->category, choice_of(brief));
    composer.heading = heading_of(&composer);
    for (size_t i = 0; i < composer.facts->warnings.count; i++)
        composer_warn(&composer, composer.facts->warnings.items[i]);
    composer_place_all(&composer);
    composer_warn_of_missing(&composer);
    composed->document = document_of(&composer);
    composed->warnings = (struct text_list){ .items = composer.warnings, .count = composer.warning_count };
    return composed;
}
