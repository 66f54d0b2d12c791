#include "designer/theme.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/colour.h"
#include "designer/document_read.h"

#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Design texts ---- */

struct token {
    const char *label;
    const char *member;
    bool is_dark;   /* a member of `dark` */
    bool is_number; /* "8 px" */
};

static const struct token tokens[] = {
    { "Ground", "ground", false, false },
    { "Surface", "surface", false, false },
    { "Ink", "ink", false, false },
    { "Muted", "muted", false, false },
    { "Accent", "accent", false, false },
    { "On accent", "onAccent", false, false },
    { "Dark ground", "ground", true, false },
    { "Dark surface", "surface", true, false },
    { "Dark ink", "ink", true, false },
    { "Dark muted", "muted", true, false },
    { "Dark accent", "accent", true, false },
    { "Dark on accent", "onAccent", true, false },
    { "Heading font", "headingFont", false, false },
    { "Body font", "bodyFont", false, false },
    { "Headings", "scale", false, false },
    { "Spacing", "density", false, false },
    { "Corners", "radius", false, true },
    { "Buttons", "buttonStyle", false, false },
    { "Width", "width", false, true },
};

static const struct token *token_named(struct arena *arena, const char *label)
{
    const char *lower = text_lower(arena, label);
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
        if (text_equal(lower, text_lower(arena, tokens[i].label)))
            return &tokens[i];
    return NULL;
}

/* Adds a member when a theme may have it. */
static void add_checked(struct arena *arena, json_t *theme, const struct token *token, json_t *value)
{
    struct error ignored = { .code = ERR_NONE };
    json_t *inner = json_pack("{so}", token->member, value);
    json_t *given = json_in_arena(arena, token->is_dark ? json_pack("{so}", "dark", inner) : inner);
    json_t *checked = document_read_theme(arena, given, &ignored);
    if (checked == NULL)
        return;
    json_t *dark = json_object_get(theme, "dark");
    if (token->is_dark && dark != NULL)
        json_object_update(dark, json_object_get(checked, "dark"));
    else
        json_object_update(theme, checked);
}

static void read_line(struct arena *arena, const char *line, json_t *theme)
{
    const char *colon = strchr(line, ':');
    const char *label = line + strspn(line, " \t-*");
    if (colon == NULL || label > colon)
        return;
    const struct token *token = token_named(arena, text_trim(arena, arena_dup_bytes(arena, label, (size_t)(colon - label))));
    char *value = text_trim(arena, colon + 1);
    if (token != NULL)
        add_checked(arena, theme, token, token->is_number ? json_integer(strtol(value, NULL, 10)) : json_string(value));
}

const json_t *theme_read_design(struct arena *arena, const char *email_design)
{
    json_t *theme = json_in_arena(arena, json_object());
    char *rest = arena_dup(arena, email_design);
    for (char *line = rest != NULL ? strtok_r(rest, "\n", &rest) : NULL; line != NULL; line = strtok_r(NULL, "\n", &rest))
        read_line(arena, line, theme);
    return theme;
}

const char *theme_write_design(struct arena *arena, const json_t *theme)
{
    struct buf *lines = buf_in_arena(arena, 8192);
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        const json_t *holder = tokens[i].is_dark ? json_object_get(theme, "dark") : theme;
        const json_t *value = holder != NULL ? json_object_get(holder, tokens[i].member) : NULL;
        if (json_is_string(value))
            buf_printf(lines, "- %s: %s\n", tokens[i].label, json_string_value(value));
        else if (json_is_integer(value))
            buf_printf(lines, "- %s: %lld px\n", tokens[i].label, (long long)json_integer_value(value));
    }
    return buf_text(lines);
}

/* ---- Palettes ---- */

struct palette {
    struct colour ground;
    struct colour surface;
    struct colour ink;
    struct colour muted;
    struct colour accent;
    struct colour on_accent;
    struct colour band; /* the accent behind large areas */
    struct colour on_band;
};

static struct colour usual(const char *text)
{
    struct colour colour = { .lightness = 0 };
    return colour_read(text, &colour) ? colour : (struct colour){ .lightness = 0 };
}

static struct colour pick(const json_t *own, const json_t *brand, const char *member, struct colour otherwise)
{
    struct colour colour;
    if (own != NULL && colour_read(json_get_text(own, member), &colour))
        return colour;
    return brand != NULL && colour_read(json_get_text(brand, member), &colour) ? colour : otherwise;
}

static struct palette light_palette(const json_t *own, const json_t *brand)
{
    struct colour accent = pick(own, brand, "accent", usual("#1f5fbf"));
    struct colour on_accent = pick(own, brand, "onAccent", usual("#ffffff"));
    return (struct palette){
        .ground = pick(own, brand, "ground", usual("#f4f4f2")),
        .surface = pick(own, brand, "surface", usual("#ffffff")),
        .ink = pick(own, brand, "ink", usual("#1d1f23")),
        .muted = pick(own, brand, "muted", usual("#5d6168")),
        .accent = accent,
        .on_accent = on_accent,
        .band = accent,
        .on_band = on_accent,
    };
}

static bool has_member(const json_t *own, const json_t *brand, const char *member)
{
    return (own != NULL && json_get_text(own, member) != NULL) || (brand != NULL && json_get_text(brand, member) != NULL);
}

/* Dark colours that nobody has given keep the hues of the light ones. Large areas are deeper than buttons, which would glare. */
static struct palette dark_palette(const json_t *own, const json_t *brand, const struct palette *light)
{
    static const double grey_chroma = 0.012;
    double hue = light->accent.hue;
    double chroma = light->accent.chroma < 0.14 ? light->accent.chroma : 0.14;
    struct colour ink = pick(own, brand, "ink", (struct colour){ 0.95, grey_chroma / 2, hue });
    struct colour accent = pick(own, brand, "accent", (struct colour){ 0.78, chroma, hue });
    struct colour on_accent = pick(own, brand, "onAccent", (struct colour){ 0.2, 0.03, hue });
    bool is_given = has_member(own, brand, "accent");
    return (struct palette){
        .ground = pick(own, brand, "ground", (struct colour){ 0.16, grey_chroma, hue }),
        .surface = pick(own, brand, "surface", (struct colour){ 0.21, grey_chroma, hue }),
        .ink = ink,
        .muted = pick(own, brand, "muted", (struct colour){ 0.76, grey_chroma, hue }),
        .accent = accent,
        .on_accent = on_accent,
        .band = is_given ? accent : (struct colour){ 0.4, chroma, hue },
        .on_band = is_given ? on_accent : ink,
    };
}

/* ---- Tones ---- */

static const double text_contrast = 4.5;
static const double card_share = 0.045;
static const double line_share = 0.16;

struct tone {
    struct colour ground;
    struct colour ink;
    struct colour muted;
    struct colour link;
    struct colour button;
    struct colour on_button;
    struct colour band; /* behind large headings */
    struct colour on_band;
    struct colour card;
    struct colour line;
};

/* Texts are readable on the ground of the block and on its cards. A card that no text fits besides the ground is not shown. */
static struct tone finish(struct tone tone)
{
    struct colour ink = colour_readable(tone.ink, tone.ground, tone.card, text_contrast);
    if (colour_contrast(ink, tone.ground) < text_contrast || colour_contrast(ink, tone.card) < text_contrast)
        tone.card = tone.ground;
    tone.ink = colour_readable(tone.ink, tone.ground, tone.card, text_contrast);
    tone.muted = colour_readable(tone.muted, tone.ground, tone.card, text_contrast);
    tone.link = colour_readable(tone.link, tone.ground, tone.card, text_contrast);
    tone.on_button = colour_readable(tone.on_button, tone.button, tone.button, text_contrast);
    tone.on_band = colour_readable(tone.on_band, tone.band, tone.band, text_contrast);
    return tone;
}

static struct tone plain_tone(const struct palette *palette)
{
    return finish((struct tone){
        .ground = palette->surface,
        .ink = palette->ink,
        .muted = palette->muted,
        .link = palette->accent,
        .button = palette->accent,
        .on_button = palette->on_accent,
        .band = palette->band,
        .on_band = palette->on_band,
        .card = colour_mix(palette->surface, palette->ink, card_share),
        .line = colour_mix(palette->surface, palette->ink, line_share),
    });
}

static struct tone tint_tone(const struct palette *palette)
{
    struct tone tone = plain_tone(palette);
    tone.ground = colour_mix(palette->surface, palette->accent, 0.1);
    tone.card = palette->surface;
    tone.line = colour_mix(tone.ground, palette->ink, line_share);
    return finish(tone);
}

/* Cards go away from the ink, so that they only gain contrast. */
static struct tone accent_tone(const struct palette *palette)
{
    struct colour ground = palette->band;
    struct colour ink = colour_readable(palette->on_band, ground, ground, text_contrast);
    struct colour card = ground;
    card.lightness += ink.lightness > card.lightness ? -0.05 : 0.05;
    return finish((struct tone){
        .ground = ground,
        .ink = ink,
        .muted = colour_mix(ink, ground, 0.12),
        .link = ink,
        .button = ink,
        .on_button = ground,
        .band = ink,
        .on_band = ground,
        .card = card,
        .line = colour_mix(ground, ink, 0.35),
    });
}

/* A dark ground in light mode, and one that is darker than the rest in dark mode. */
static struct tone dark_tone(const struct palette *palette, const struct palette *dark)
{
    bool is_dark = palette == dark;
    struct colour ground = is_dark ? dark->ground : dark->surface;
    ground.lightness -= is_dark ? 0.03 : 0;
    return finish((struct tone){
        .ground = ground,
        .ink = dark->ink,
        .muted = dark->muted,
        .link = dark->accent,
        .button = dark->accent,
        .on_button = dark->on_accent,
        .band = dark->band,
        .on_band = dark->on_band,
        .card = colour_mix(ground, dark->ink, card_share),
        .line = colour_mix(ground, dark->ink, line_share),
    });
}

/* ---- Looks ---- */

static json_t *text_of(struct colour colour)
{
    char text[COLOUR_CHARS + 1];
    colour_write(colour, text);
    return json_string(text);
}

static json_t *tone_json(struct tone tone)
{
    return json_pack("{so so so so so so so so so so}", "ground", text_of(tone.ground), "ink", text_of(tone.ink), "muted",
                     text_of(tone.muted), "link", text_of(tone.link), "button", text_of(tone.button), "onButton",
                     text_of(tone.on_button), "card", text_of(tone.card), "line", text_of(tone.line), "band", text_of(tone.band),
                     "onBand", text_of(tone.on_band));
}

static json_t *mode_json(const struct palette *palette, const struct palette *dark)
{
    return json_pack("{so s{so so so so}}", "page", text_of(palette->ground), "tones", "plain", tone_json(plain_tone(palette)),
                     "tint", tone_json(tint_tone(palette)), "accent", tone_json(accent_tone(palette)), "dark",
                     tone_json(dark_tone(palette, dark)));
}

static const char *word(const json_t *own, const json_t *brand, const char *member, const char *otherwise)
{
    const char *text = own != NULL ? json_get_text(own, member) : NULL;
    if (text == NULL && brand != NULL)
        text = json_get_text(brand, member);
    return text != NULL ? text : otherwise;
}

static int64_t number(const json_t *own, const json_t *brand, const char *member, int64_t otherwise)
{
    int64_t of_brand = brand != NULL ? json_get_int(brand, member, otherwise) : otherwise;
    return own != NULL ? json_get_int(own, member, of_brand) : of_brand;
}

struct scale {
    const char *name;
    int h1;
    int h2;
    int h3;
};

static json_t *type_json(const char *name)
{
    static const struct scale scales[] = { { "regular", 40, 25, 19 }, { "small", 32, 22, 18 }, { "large", 52, 29, 20 } };
    size_t at = 0;
    for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
        at = text_equal(scales[i].name, name) ? i : at;
    return json_pack("{si si si si si si}", "h1", scales[at].h1, "h2", scales[at].h2, "h3", scales[at].h3, "lead", 18, "body", 16,
                     "small", 14);
}

static json_t *space_json(const char *density)
{
    int block = text_equal(density, "compact") ? 15 : text_equal(density, "airy") ? 26 : 20;
    return json_pack("{si si}", "gutter", 40, "block", block);
}

static const json_t *dark_of(const json_t *theme)
{
    return theme != NULL ? json_object_get(theme, "dark") : NULL;
}

const json_t *theme_look(struct arena *arena, const json_t *own, const json_t *brand)
{
    static const char fonts[] = "'Helvetica Neue', Helvetica, Arial, sans-serif";
    struct palette light = light_palette(own, brand);
    struct palette dark = dark_palette(dark_of(own), dark_of(brand), &light);
    const char *body_font = word(own, brand, "bodyFont", fonts);
    return json_in_arena(arena, json_pack("{sI ss si ss so so sI ss so so}", "width", (json_int_t)number(own, brand, "width", 600),
                                          "headingFont", word(own, brand, "headingFont", body_font), "headingWeight", 700,
                                          "bodyFont", body_font, "type", type_json(word(own, brand, "scale", "regular")), "space",
                                          space_json(word(own, brand, "density", "regular")), "radius",
                                          (json_int_t)number(own, brand, "radius", 6), "buttonStyle",
                                          word(own, brand, "buttonStyle", "solid"), "light", mode_json(&light, &dark), "dark",
                                          mode_json(&dark, &dark)));
}
