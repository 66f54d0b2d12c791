#include "designer/composer_places.h"

#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_text.h"
#include "designer/composer_blocks.h"

#include <string.h>

enum { HEADING_MAX_CHARS = 200, LEAD_MORE_CHARS = 60 };

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
bool composer_repeats_heading(const struct composer *composer)
{
    const char *lead = composer->facts->lead;
    size_t size = composer->heading != NULL ? strlen(composer->heading) : 0;
    return lead != NULL && !composer->facts->is_verbatim && size > 0 && strncmp(lead, composer->heading, size) == 0 &&
           strlen(lead) <= size + 1;
}

static void place_hero(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    char word[RECIPE_WORD_MAX_BYTES] = "";
    json_t *block = composer_new_block(composer, "hero", NULL);
    set_text(composer->arena, block, "heading", composer->heading, HEADING_MAX_CHARS);
    if (json_object_get(block, "heading") == NULL)
        return;
    set_text(composer->arena, block, "eyebrow", facts->eyebrow, 80);
    if (!greets(composer) && !repeats_event(composer) && !repeats_offer(composer) && !composer_repeats_heading(composer))
        set_text(composer->arena, block, "text", facts->lead, 1000);
    if (facts->picture != NULL && json_array_size(facts->stories) < 2)
        json_object_set(block, "image", json_for_iteration(facts->picture));
    json_t *button = composer_main_button(composer);
    if (button != NULL && composer_recipe_word(composer->recipe, "hero", word) && strchr(word, '!') != NULL) {
        json_object_set(block, "button", button);
        composer->has_button = true;
    }
    composer_place(composer, block, "hero");
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
    const char *lead = repeats_event(composer) || composer_repeats_heading(composer) ? NULL : composer->facts->lead;
    if (lead != NULL && composer_is_paragraph(first)) {
        json_object_set_new(first, "body",
                            json_string(arena_printf(composer->arena, "%s\n\n%s", lead, json_get_text(first, "body"))));
    } else if (lead != NULL) {
        json_t *block = composer_new_block(composer, "text", NULL);
        set_text(composer->arena, block, "body", lead, 2000);
        json_array_insert(body, 0, block);
        first = block;
    }
    if (composer_is_paragraph(first))
        set_greeting(composer, first);
}

/* Takes what the heading or the offer says out of the first paragraph. */
static void drop_repetitions(const struct composer *composer, json_t *body)
{
    json_t *first = json_array_get(body, 0);
    const char *text = composer_is_paragraph(first) ? arena_dup(composer->arena, json_get_text(first, "body")) : NULL;
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
    bool has_lead = composer->facts->lead != NULL && !composer_repeats_heading(composer);
    bool is_bare = json_array_size(body) == 0 && !composer->took_first && !has_lead && !composer->facts->is_verbatim &&
                   json_array_size(composer->facts->stories) == 0 && json_array_size(composer->facts->products) == 0 &&
                   composer->facts->each == NULL;
    if (is_bare && description != NULL) {
        json_t *block = composer_new_block(composer, "text", NULL);
        composer_set_brand_text(composer, block, "body", description, 600);
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
        composer_place(composer, block, json_get_text(block, "type"));
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
    json_t *block = composer_new_block(composer, "products", NULL);
    if (facts->each != NULL)
        json_object_set_new(block, "each", json_string(facts->each));
    json_object_set(block, "items", facts->each != NULL ? each_item(composer) : json_for_iteration(facts->products));
    if (facts->each != NULL || json_array_size(facts->products) > 0)
        composer_place(composer, block, "products");
}

static json_t *story_item(struct composer *composer, const json_t *story)
{
    json_t *item = json_in_arena(composer->arena, json_deep_copy(story));
    const char *address = arena_dup(composer->arena, json_get_text(story, "href"));
    json_object_del(item, "href");
    if (address == NULL)
        return item;
    const char *label = composer->phrases != NULL ? composer->phrases->more : composer_host_of(composer, address);
    json_object_set_new(item, "button", json_pack("{ssss}", "label", label, "href", address));
    return item;
}

static void place_stories(struct composer *composer)
{
    const json_t *stories = composer->facts->stories;
    json_t *items = json_in_arena(composer->arena, json_array());
    for (size_t i = 0; i < json_array_size(stories); i++)
        json_array_append(items, story_item(composer, json_array_get(stories, i)));
    json_t *block = composer_new_block(composer, "columns", NULL);
    json_object_set(block, "items", items);
    if (json_array_size(items) > 0)
        composer_place(composer, block, "stories");
}

static void place_social(struct composer *composer)
{
    json_t *block = composer_new_block(composer, "social", NULL);
    json_t *items = json_in_arena(composer->arena, json_array());
    for (size_t i = 0; i < json_array_size(composer->brief->brand.social) && i < 12; i++)
        json_array_append(items, json_array_get(composer->brief->brand.social, i));
    json_object_set(block, "items", items);
    if (json_array_size(items) > 0)
        composer_place(composer, block, "social");
}

static void place_fact(struct composer *composer, const char *type, const json_t *members)
{
    if (members != NULL)
        composer_place(composer, composer_new_block(composer, type, members), type);
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
    json_t *block = composer_new_block(composer, "offer", offer);
    if (composer->heading != NULL && strcasecmp(value, composer->heading) == 0)
        json_object_set_new(block, "value", json_string(short_value(composer->arena, value)));
    composer_place(composer, block, "offer");
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
    { "header", composer_place_header },
    { "hero", place_hero },
    { "body", place_body },
    { "offer", place_offer },
    { "event", place_event },
    { "products", place_products },
    { "stories", place_stories },
    { "button", composer_place_button },
    { "signature", place_signature },
    { "social", place_social },
    { "footer", composer_place_footer },
};

static void place_word(struct composer *composer, const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strlen(places[i].name) == size && strncmp(places[i].name, word, size) == 0)
            places[i].place(composer);
}

/* The main button comes last when the recipe gives it to a hero that is not there. */
void composer_place_all(struct composer *composer)
{
    for (const char *at = composer->recipe; *at != '\0';) {
        size_t size = strcspn(at, " ");
        size_t name = strcspn(at, ":!/ ");
        if (strncmp(at, "signature", name) == 0 && !composer->has_button)
            composer_place_button(composer);
        place_word(composer, at, name);
        at += size + strspn(at + size, " ");
    }
}
