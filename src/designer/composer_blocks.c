#include "designer/composer_blocks.h"

#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_text.h"
#include "designer/recipes.h"

#include <string.h>

enum { LONG_BODY_BYTES = 900 };

bool composer_is_paragraph(const json_t *block)
{
    return text_equal(json_get_text(block, "type"), "text") && json_object_get(block, "heading") == NULL;
}

/* ---- Blocks ---- */

/* The word of a recipe for a type: "offer:coupon/tint"; false: it has none. */
bool composer_recipe_word(const char *recipe, const char *type, char ret_word[RECIPE_WORD_MAX_BYTES])
{
    size_t length = strlen(type);
    for (const char *at = recipe; *at != '\0';) {
        size_t size = strcspn(at, " ");
        bool is_it = size < RECIPE_WORD_MAX_BYTES && size > length && strncmp(at, type, length) == 0 &&
                     (at[length] == ':' || at[length] == '!');
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
    char word[RECIPE_WORD_MAX_BYTES];
    if (!composer_recipe_word(composer->recipe, name, word) || json_object_get(block, "variant") != NULL)
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

void composer_place(struct composer *composer, json_t *block, const char *name)
{
    dress(composer, block, name);
    if (json_array_size(composer->blocks) < DOCUMENT_BLOCKS_MAX - 1)
        json_array_append(composer->blocks, block);
}

json_t *composer_new_block(const struct composer *composer, const char *type, const json_t *members)
{
    json_t *block = json_in_arena(composer->arena, json_pack("{ss}", "type", type));
    if (members != NULL)
        json_object_update(block, json_for_iteration(members));
    return block;
}

/* A text of the brand, which is no template. */
void composer_set_brand_text(const struct composer *composer, json_t *block, const char *name, const char *text, size_t max)
{
    if (text != NULL)
        set_text(composer->arena, block, name, without_tags(composer->arena, line_of(composer->arena, text, strlen(text))), max);
}

void composer_place_header(struct composer *composer)
{
    const struct brief_brand *brand = &composer->brief->brand;
    json_t *block = composer_new_block(composer, "header", NULL);
    composer_set_brand_text(composer, block, "name", brand->name, 80);
    size_t size;
    bool has_logo = brand->logo != NULL && find_address(brand->logo, &size) == brand->logo && brand->logo[size] == '\0';
    if (has_logo) {
        json_t *logo = json_in_arena(composer->arena, json_pack("{ss}", "src", brand->logo));
        composer_set_brand_text(composer, logo, "alt", brand->name, 80);
        json_object_set(block, "logo", logo);
    }
    if (json_object_size(block) > 1)
        composer_place(composer, block, "header");
    else
        composer_warn(composer, "The brand has no name and no logo. The email has no header.");
}

void composer_place_footer(struct composer *composer)
{
    const struct brief_brand *brand = &composer->brief->brand;
    json_t *block = composer_new_block(composer, "footer", NULL);
    composer_set_brand_text(composer, block, "address", brand->address, 300);
    if (composer->phrases != NULL && brand->name != NULL && !text_equal(composer->facts->category, "internal")) {
        const char *mark = strstr(composer->phrases->reason, "%s");
        const char *before =
            arena_printf(composer->arena, "%.*s", (int)(mark - composer->phrases->reason), composer->phrases->reason);
        composer_set_brand_text(composer, block, "reason", arena_printf(composer->arena, "%s%s%s", before, brand->name, mark + 2),
                                300);
    }
    composer_place(composer, block, "footer");
}

/* ---- The main button ---- */

const char *composer_host_of(const struct composer *composer, const char *address)
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
json_t *composer_main_button(const struct composer *composer)
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
    set_text(composer->arena, button, "label", label != NULL ? label : composer_host_of(composer, address), 80);
    return json_object_get(button, "label") != NULL ? button : NULL;
}

static size_t body_bytes(const struct composer *composer)
{
    size_t size = json_array_size(composer->facts->products) + json_array_size(composer->facts->stories) > 2 ? LONG_BODY_BYTES : 0;
    for (size_t i = 0; i < json_array_size(composer->facts->body); i++)
        size += strlen(json_compact(composer->arena, json_array_get(composer->facts->body, i)));
    return size;
}

void composer_place_button(struct composer *composer)
{
    json_t *button = composer_main_button(composer);
    bool has_stories = json_array_size(composer->facts->stories) > 1 && composer->facts->action_label == NULL;
    bool repeats = has_stories || (composer->has_button && body_bytes(composer) < LONG_BODY_BYTES);
    composer->has_button = composer->has_button || has_stories; /* each story has its own */
    if (button == NULL || repeats)
        return;
    composer->has_button = true;
    composer_place(composer, composer_new_block(composer, "button", button), "button");
}
