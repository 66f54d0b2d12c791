#include "designer/composer.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_text.h"
#include "designer/composer_work.h"
#include "designer/fixed_phrases.h"
#include "designer/recipes.h"

#include <string.h>

enum {
    WORD_MAX_BYTES = 64,
    SUBJECT_MAX_CHARS = 120,
    PREVIEW_MAX_CHARS = 140,
    TITLE_MAX_CHARS = 120,
    HEADING_MAX_CHARS = 200,
    LONG_BODY_BYTES = 900,
    LEAD_MORE_CHARS = 60,
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

static bool is_paragraph(const json_t *block)
{
    return text_equal(json_get_text(block, "type"), "text") && json_object_get(block, "heading") == NULL;
}

/* ---- Blocks ---- */

/* The word of a recipe for a type: "offer:coupon/tint"; false: it has none. */
static bool recipe_word(const char *recipe, const char *type, char ret_word[WORD_MAX_BYTES])
{
    size_t length = strlen(type);
    for (const char *at = recipe; *at != '\0';) {
        size_t size = strcspn(at, " ");
        bool is_it =
            size < WORD_MAX_BYTES && size > length && strncmp(at, type, length) == 0 && (at[length] == ':' || at[length] == '!');
        if (is_it) {
            memcpy(ret_word, at, size);
            ret_word[size] = '\0';
            return true;
        }
        at += size + strspn(at + size, " ");
    }
    return false;
}

/* The variant of the reference design's first block of a type. */
static const char *reference_variant(const struct composer *composer, const char *type)
{
    const json_t *blocks = json_object_get(composer->brief->reference, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (text_equal(json_get_text(json_array_get(blocks, i), "type"), type))
            return json_get_text(json_array_get(blocks, i), "variant");
    return NULL;
}

/* Gives a block the variant and the tone of the recipe. `name` is its word there. */
static void dress(const struct composer *composer, json_t *block, const char *name)
{
    char word[WORD_MAX_BYTES];
    if (!recipe_word(composer->recipe, name, word) || json_object_get(block, "variant") != NULL)
        return;
    word[strcspn(word, "!")] = '\0';
    char *tone = strchr(word, '/');
    if (tone != NULL)
        *tone = '\0';
    const char *reference = reference_variant(composer, json_get_text(block, "type"));
    json_object_set_new(block, "variant", json_string(reference != NULL ? reference : word + strlen(name) + 1));
    if (tone != NULL)
        json_object_set_new(block, "tone", json_string(tone + 1));
}

static void place(struct composer *composer, json_t *block, const char *name)
{
    dress(composer, block, name);
    if (json_array_size(composer->blocks) < DOCUMENT_BLOCKS_MAX - 1)
        json_array_append(composer->blocks, block);
}

static json_t *new_block(const struct composer *composer, const char *type, const json_t *members)
{
    json_t *block = json_in_arena(composer->arena, json_pack("{ss}", "type", type));
    if (members != NULL)
        json_object_update(block, json_for_iteration(members));
    return block;
}

/* A text of the brand, which is no template. */
static void set_brand_text(const struct composer *composer, json_t *block, const char *name, const char *text, size_t max)
{
    if (text != NULL)
        set_text(composer->arena, block, name, without_tags(composer->arena, line_of(composer->arena, text, strlen(text))), max);
}

static void place_header(struct composer *composer)
{
    const struct brief_brand *brand = &composer->brief->brand;
    json_t *block = new_block(composer, "header", NULL);
    set_brand_text(composer, block, "name", brand->name, 80);
    size_t size;
    bool has_logo = brand->logo != NULL && find_address(brand->logo, &size) == brand->logo && brand->logo[size] == '\0';
    if (has_logo) {
        json_t *logo = json_in_arena(composer->arena, json_pack("{ss}", "src", brand->logo));
        set_brand_text(composer, logo, "alt", brand->name, 80);
        json_object_set(block, "logo", logo);
    }
    if (json_object_size(block) > 1)
        place(composer, block, "header");
    else
        composer_warn(composer, "The brand has no name and no logo. The email has no header.");
}

static void place_footer(struct composer *composer)
{
    const struct brief_brand *brand = &composer->brief->brand;
    json_t *block = new_block(composer, "footer", NULL);
    set_brand_text(composer, block, "address", brand->address, 300);
    if (composer->phrases != NULL && brand->name != NULL && !text_equal(composer->facts->category, "internal")) {
        const char *mark = strstr(composer->phrases->reason, "%s");
        const char *before =
            arena_printf(composer->arena, "%.*s", (int)(mark - composer->phrases->reason), composer->phrases->reason);
        set_brand_text(composer, block, "reason", arena_printf(composer->arena, "%s%s%s", before, brand->name, mark + 2), 300);
    }
    place(composer, block, "footer");
}

/* ---- The main button ---- */

static const char *host_of(const struct composer *composer, const char *address)
{
    const char *begin = strstr(address, "://");
    begin = begin != NULL ? begin + 3 : address;
    begin += text_starts_with(begin, "www.") ? 4 : 0;
    return line_of(composer->arena, begin, strcspn(begin, "/?#"));
}

static const char *action_label(const struct composer *composer, bool is_website)
{
    const struct brief_facts *facts = composer->facts;
    const char *fixed = fixed_action(facts->language, facts->category);
    if (facts->action_label != NULL)
        return facts->action_label;
    if (is_website && composer->phrases != NULL && !text_equal(facts->category, "promotional") &&
        !text_equal(facts->category, "welcome"))
        return composer->phrases->website;
    return fixed != NULL ? fixed : NULL;
}

/* NULL: the brief and the brand have no link, or the Markdown has its own. */
static json_t *main_button(const struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    const char *website = composer->brief->brand.website;
    size_t size;
    bool has_website = website != NULL && find_address(website, &size) == website && website[size] == '\0';
    const char *address = facts->action_href != NULL ? facts->action_href : has_website ? website : NULL;
    bool is_own = facts->is_verbatim && (facts->action_href == NULL || facts->action_label == NULL);
    if (address == NULL || is_own)
        return NULL;
    const char *label = action_label(composer, facts->action_href == NULL);
    json_t *button = json_in_arena(composer->arena, json_pack("{ss}", "href", address));
    set_text(composer->arena, button, "label", label != NULL ? label : host_of(composer, address), 80);
    return json_object_get(button, "label") != NULL ? button : NULL;
}

static size_t body_bytes(const struct composer *composer)
{
    size_t size = json_array_size(composer->facts->products) + json_array_size(composer->facts->stories) > 2 ? LONG_BODY_BYTES : 0;
    for (size_t i = 0; i < json_array_size(composer->facts->body); i++)
        size += strlen(json_compact(composer->arena, json_array_get(composer->facts->body, i)));
    return size;
}

static void place_button(struct composer *composer)
{
    json_t *button = main_button(composer);
    bool has_stories = json_array_size(composer->facts->stories) > 1 && composer->facts->action_label == NULL;
    bool repeats = has_stories || (composer->has_button && body_bytes(composer) < LONG_BODY_BYTES);
    composer->has_button = composer->has_button || has_stories; /* each story has its own */
    if (button == NULL || repeats)
        return;
    composer->has_button = true;
    place(composer, new_block(composer, "button", button), "button");
}

/* ---- Hero and body ---- */

static bool greets(const struct composer *composer)
{
    return composer->phrases != NULL && !composer->facts->is_verbatim && fixed_greets(composer->facts->category);
}

/* "Summer tasting on Friday" says no more than the heading and the event. */
static bool repeats_event(const struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    return facts->event != NULL && facts->topic != NULL && facts->lead != NULL && strcasestr(facts->lead, facts->topic) != NULL &&
           utf8_length(facts->lead) < utf8_length(facts->topic) + 60;
}

/* "20% off all tools until May 31" says no more than the offer below the hero. */
static bool repeats_offer(const struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    const char *value = facts->is_verbatim ? NULL : json_get_text(facts->offer, "value");
    return value != NULL && facts->lead != NULL && strcasestr(facts->lead, value) != NULL &&
           utf8_length(facts->lead) < utf8_length(value) + LEAD_MORE_CHARS;
}

/* "We miss you." below the heading "We miss you" */
static bool repeats_heading(const struct composer *composer)
{
    const char *lead = composer->facts->lead;
    size_t size = composer->heading != NULL ? strlen(composer->heading) : 0;
    return lead != NULL && !composer->facts->is_verbatim && size > 0 && strncmp(lead, composer->heading, size) == 0 &&
           strlen(lead) <= size + 1;
}

static void place_hero(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    char word[WORD_MAX_BYTES] = "";
    json_t *block = new_block(composer, "hero", NULL);
    set_text(composer->arena, block, "heading", composer->heading, HEADING_MAX_CHARS);
    if (json_object_get(block, "heading") == NULL)
        return;
    set_text(composer->arena, block, "eyebrow", facts->eyebrow, 80);
    if (!greets(composer) && !repeats_event(composer) && !repeats_offer(composer) && !repeats_heading(composer))
        set_text(composer->arena, block, "text", facts->lead, 1000);
    if (facts->picture != NULL && json_array_size(facts->stories) < 2)
        json_object_set(block, "image", json_for_iteration(facts->picture));
    json_t *button = main_button(composer);
    if (button != NULL && recipe_word(composer->recipe, "hero", word) && strchr(word, '!') != NULL) {
        json_object_set(block, "button", button);
        composer->has_button = true;
    }
    place(composer, block, "hero");
}

static void set_greeting(struct composer *composer, json_t *block)
{
    const char *body = json_get_text(block, "body");
    static const char hellos[] =
        "hi |hello |hey |dear |hallo |liebe|guten tag|sehr geehrte|bonjour|cher |chère |hola |buenos días|estimad|{{";
    size_t size;
    const char *lower = text_lower(composer->arena, body);
    if (find_phrase(lower, hellos, &size) != lower)
        json_object_set_new(block, "body",
                            json_string(arena_printf(composer->arena, "%s\n\n%s", composer->phrases->greeting, body)));
}

/* A text for a greeting when the body begins with none. */
static void greet(struct composer *composer, json_t *body)
{
    json_t *first = json_array_get(body, 0);
    const char *lead = repeats_event(composer) || repeats_heading(composer) ? NULL : composer->facts->lead;
    if (lead != NULL && is_paragraph(first)) {
        json_object_set_new(first, "body",
                            json_string(arena_printf(composer->arena, "%s\n\n%s", lead, json_get_text(first, "body"))));
    } else if (lead != NULL) {
        json_t *block = new_block(composer, "text", NULL);
        set_text(composer->arena, block, "body", lead, 2000);
        json_array_insert(body, 0, block);
        first = block;
    }
    if (is_paragraph(first))
        set_greeting(composer, first);
}

/* Takes what the heading or the offer says out of the first paragraph. */
static void drop_repetitions(const struct composer *composer, json_t *body)
{
    json_t *first = json_array_get(body, 0);
    const char *text = is_paragraph(first) ? arena_dup(composer->arena, json_get_text(first, "body")) : NULL;
    const char *offer = composer->facts->is_verbatim ? NULL : json_get_text(composer->facts->offer, "value");
    if (text != NULL && composer->took_first)
        text += sentence_size(text);
    if (text != NULL && offer != NULL && strncasecmp(text, offer, strlen(offer)) == 0 && strlen(text) <= strlen(offer) + 1)
        text = "";
    if (text != NULL && *text == '\0')
        json_array_remove(body, 0);
    else if (text != NULL)
        json_object_set_new(first, "body", json_string(text));
}

static json_t *body_of(struct composer *composer)
{
    json_t *body = json_in_arena(composer->arena, json_deep_copy(composer->facts->body));
    drop_repetitions(composer, body);
    const char *description = composer->brief->brand.description;
    bool has_lead = composer->facts->lead != NULL && !repeats_heading(composer);
    bool is_bare = json_array_size(body) == 0 && !composer->took_first && !has_lead && !composer->facts->is_verbatim &&
                   json_array_size(composer->facts->stories) == 0 && json_array_size(composer->facts->products) == 0 &&
                   composer->facts->each == NULL;
    if (is_bare && description != NULL) {
        json_t *block = new_block(composer, "text", NULL);
        set_brand_text(composer, block, "body", description, 600);
        json_array_append(body, block);
    } else if (is_bare) {
        composer_warn(composer, "The brief says little beyond its topic. The email is short.");
    }
    if (greets(composer))
        greet(composer, body);
    return body;
}

/* One column with a heading alone is the heading of the next block. */
static bool is_heading(const json_t *block)
{
    const json_t *items = json_object_get(block, "items");
    return text_equal(json_get_text(block, "type"), "columns") && json_array_size(items) == 1 &&
           json_object_size(json_array_get(items, 0)) == 1 && json_object_get(json_array_get(items, 0), "heading") != NULL;
}

/* A block with a heading before it has the ground of that heading. */
static void place_body(struct composer *composer)
{
    bool follows_heading = false;
    json_t *body = body_of(composer);
    for (size_t i = 0; i < json_array_size(body); i++) {
        json_t *block = json_array_get(body, i);
        composer->has_button = composer->has_button || text_equal(json_get_text(block, "type"), "button");
        place(composer, block, json_get_text(block, "type"));
        if (follows_heading || is_heading(block))
            json_object_del(block, "tone");
        follows_heading = is_heading(block);
    }
}

/* ---- Other places ---- */

static json_t *each_item(const struct composer *composer)
{
    return json_in_arena(composer->arena, json_pack("[{ss ss}]", "name", "{{ item.name }}", "price", "{{ item.price }}"));
}

static void place_products(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    json_t *block = new_block(composer, "products", NULL);
    if (facts->each != NULL)
        json_object_set_new(block, "each", json_string(facts->each));
    json_object_set(block, "items", facts->each != NULL ? each_item(composer) : json_for_iteration(facts->products));
    if (facts->each != NULL || json_array_size(facts->products) > 0)
        place(composer, block, "products");
}

static json_t *story_item(struct composer *composer, const json_t *story)
{
    json_t *item = json_in_arena(composer->arena, json_deep_copy(story));
    const char *address = arena_dup(composer->arena, json_get_text(story, "href"));
    json_object_del(item, "href");
    if (address == NULL)
        return item;
    const char *label = composer->phrases != NULL ? composer->phrases->more : host_of(composer, address);
    json_object_set_new(item, "button", json_pack("{ssss}", "label", label, "href", address));
    return item;
}

static void place_stories(struct composer *composer)
{
    const json_t *stories = composer->facts->stories;
    json_t *items = json_in_arena(composer->arena, json_array());
    for (size_t i = 0; i < json_array_size(stories); i++)
        json_array_append(items, story_item(composer, json_array_get(stories, i)));
    json_t *block = new_block(composer, "columns", NULL);
    json_object_set(block, "items", items);
    if (json_array_size(items) > 0)
        place(composer, block, "stories");
}

static void place_social(struct composer *composer)
{
    json_t *block = new_block(composer, "social", NULL);
    json_t *items = json_in_arena(composer->arena, json_array());
    for (size_t i = 0; i < json_array_size(composer->brief->brand.social) && i < 12; i++)
        json_array_append(items, json_array_get(composer->brief->brand.social, i));
    json_object_set(block, "items", items);
    if (json_array_size(items) > 0)
        place(composer, block, "social");
}

static void place_fact(struct composer *composer, const char *type, const json_t *members)
{
    if (members != NULL)
        place(composer, new_block(composer, type, members), type);
}

/* "20% off" of "20% off all tools", which is the heading already. */
static const char *short_value(struct arena *arena, const char *value)
{
    const char *sign = strchr(value, '%');
    const char *word = sign != NULL && sign[1] == ' ' ? sign + 2 : NULL;
    size_t size = word != NULL ? strcspn(word, " ") : 0;
    if (size < 3) /* "de", "du", "of": the word behind them says it */
        return value;
    return line_of(arena, value, (size_t)(word - value) + size);
}

static void place_offer(struct composer *composer)
{
    const json_t *offer = composer->facts->offer;
    const char *value = composer->facts->is_verbatim ? NULL : json_get_text(offer, "value");
    if (value == NULL)
        return;
    json_t *block = new_block(composer, "offer", offer);
    if (composer->heading != NULL && strcasecmp(value, composer->heading) == 0)
        json_object_set_new(block, "value", json_string(short_value(composer->arena, value)));
    place(composer, block, "offer");
}

static void place_event(struct composer *composer)
{
    if (!composer->facts->is_verbatim || text_starts_with(composer->facts->category, "event-"))
        place_fact(composer, "event", composer->facts->event);
}

static void place_signature(struct composer *composer)
{
    place_fact(composer, "signature", composer->facts->signature);
}

static const struct {
    const char *name;
    void (*place)(struct composer *composer);
} places[] = {
    { "header", place_header },       { "hero", place_hero },         { "body", place_body },       { "offer", place_offer },
    { "event", place_event },         { "products", place_products }, { "stories", place_stories }, { "button", place_button },
    { "signature", place_signature }, { "social", place_social },     { "footer", place_footer },
};

static void place_word(struct composer *composer, const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strlen(places[i].name) == size && strncmp(places[i].name, word, size) == 0)
            places[i].place(composer);
}

/* The main button comes last when the recipe gives it to a hero that is not there. */
static void place_all(struct composer *composer)
{
    for (const char *at = composer->recipe; *at != '\0';) {
        size_t size = strcspn(at, " ");
        size_t name = strcspn(at, ":!/ ");
        if (strncmp(at, "signature", name) == 0 && !composer->has_button)
            place_button(composer);
        place_word(composer, at, name);
        at += size + strspn(at + size, " ");
    }
}

/* ---- The whole document ---- */

/* The first sentence of the body as a heading, without its full stop; NULL: it is too long, or the body begins with no text. */
static const char *take_first_sentence(struct composer *composer)
{
    const json_t *first = json_array_get(composer->facts->body, 0);
    const char *sentence = is_paragraph(first) ? first_sentence(composer) : NULL;
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
    const char *lead = repeats_heading(composer) ? NULL : facts->lead;
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
    place_all(&composer);
    composer_warn_of_missing(&composer);
    composed->document = document_of(&composer);
    composed->warnings = (struct text_list){ .items = composer.warnings, .count = composer.warning_count };
    return composed;
}
