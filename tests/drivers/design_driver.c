/*
 * Composes documents of briefs for tests/gallery/designs and the bench of drawing: JSON
 * lines in, JSON lines out.
 *
 *     {"prompt", "brand": {…}, "category"?, "pages"?: […], "now": seconds, "choice"?: 0 to 2, "rounds"?}
 *     → {"document", "look", "warnings", "inventions", "nanoseconds": of one composition} or {"error", "param"}
 *
 * With "document" in a request, that document is judged against the brief in
 * place of the composed one. The members of a brand and of a page are those of
 * designer/brief.h.
 */
#include "base/clock.h"
#include "crypto/keys.h"
#include "designer/composer.h"
#include "designer/theme.h"
#include "json_lines.h"
#include "template/zone.h"

#include <string.h>

enum { MAX_LINE_BYTES = 1024 * 1024 };

static void read_brand(struct arena *arena, const json_t *given, struct brief_brand *ret_brand)
{
    *ret_brand = (struct brief_brand){
        .name = json_get_text(given, "name"),
        .tagline = json_get_text(given, "tagline"),
        .description = json_get_text(given, "description"),
        .address = json_get_text(given, "address"),
        .website = json_get_text(given, "website"),
        .logo = json_get_text(given, "logo"),
        .time_zone = json_get_text(given, "timeZone"),
        .locale = json_get_text(given, "locale"),
        .email_design = json_get_text(given, "emailDesign"),
        .social = json_object_get(given, "social"),
    };
    if (ret_brand->time_zone != NULL)
        ret_brand->zone = template_zone_load(arena, ret_brand->time_zone);
}

static struct brief_page page_of(const json_t *given)
{
    return (struct brief_page){
        .url = json_get_text(given, "url"),
        .problem = json_get_text(given, "problem"),
        .title = json_get_text(given, "title"),
        .description = json_get_text(given, "description"),
        .text = json_get_text(given, "text"),
        .products = json_object_get(given, "products"),
        .events = json_object_get(given, "events"),
        .pictures = json_object_get(given, "pictures"),
    };
}

static void read_pages(struct arena *arena, const json_t *given, struct brief *brief)
{
    struct brief_page *pages = arena_array(arena, json_array_size(given) + 1, sizeof(*pages));
    for (size_t i = 0; i < json_array_size(given); i++)
        pages[i] = page_of(json_array_get(given, i));
    brief->pages = pages;
    brief->page_count = json_array_size(given);
}

/* The seed is the SHA-256 of prompt and brand, or names the recipe. */
static void set_seed(struct arena *arena, const json_t *request, struct brief *brief)
{
    int64_t choice = json_get_int(request, "choice", -1);
    const char *text = arena_printf(arena, "%s\n%s", brief->prompt, brief->brand.name != NULL ? brief->brand.name : "");
    sha256(text, strlen(text), brief->seed);
    if (choice < 0)
        return;
    brief->seed[0] = 0;
    brief->seed[1] = (unsigned char)choice;
}

static struct brief brief_of(struct arena *arena, const json_t *request)
{
    struct brief brief = {
        .prompt = json_get_text(request, "prompt"),
        .category = json_get_text(request, "category"),
        .now_us = json_get_int(request, "now", 0) * US_PER_S,
    };
    read_brand(arena, json_object_get(request, "brand"), &brief.brand);
    read_pages(arena, json_object_get(request, "pages"), &brief);
    set_seed(arena, request, &brief);
    return brief;
}

/* Composes again and again, and gives the time of one. */
static int64_t measure(const struct brief *brief, int64_t rounds)
{
    ARENA_SCOPE scratch = arena_new(0);
    int64_t from_us = clock_monotonic_us();
    for (int64_t i = 0; i < rounds; i++) {
        arena_reset(scratch);
        (void)compose(scratch, brief);
    }
    return (clock_monotonic_us() - from_us) * 1000 / rounds;
}

static bool run(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    int64_t serial = 0;
    const json_t *document;
    struct brief brief = brief_of(arena, request);
    const struct composed *composed = compose(arena, &brief);
    const json_t *given = json_object_get(request, "document");
    if (!document_read(arena, given != NULL ? given : composed->document, &serial, &document, err))
        return false;
    const json_t *brand_theme = theme_read_design(arena, brief.brand.email_design);
    json_key(json, "document");
    json_raw(json, json_compact(arena, document));
    json_key(json, "look");
    json_raw(json, json_compact(arena, theme_look(arena, json_object_get(document, "theme"), brand_theme)));
    json_member_texts(json, "warnings", composed->warnings);
    json_member_texts(json, "inventions", document_find_inventions(arena, document, &brief));
    if (json_get_int(request, "rounds", 0) > 0)
        json_member_int(json, "nanoseconds", measure(&brief, json_get_int(request, "rounds", 0)));
    return true;
}

int main(void)
{
    crypto_start();
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = run });
    return 0;
}
