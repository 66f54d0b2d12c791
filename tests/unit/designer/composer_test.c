/* The composer: forty and more briefs against expectations, the reader of documents and the scanner of inventions. */
#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/composer.h"
#include "designer/recipes.h"
#include "template/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t monday = 1795392000LL * 1000000; /* 2026-11-23T00:00:00Z */
enum { PROMPT_CHARS = 20000, SEEDS = 3 };

static struct arena *arena; /* one per test */
static int failures;        /* all expectations are printed before the test fails */

static int setup(void **state)
{
    (void)state;
    failures = 0;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct brief brief_of(const char *prompt)
{
    static const char social[] = "[{\"network\":\"instagram\",\"href\":\"https://instagram.com/kaffeenord\"}]";
    struct brief brief = { .prompt = prompt, .now_us = monday };
    json_error_t problem;
    brief.brand = (struct brief_brand){
        .name = "Kaffee Nord",
        .description = "Kaffee Nord roasts coffee in Hamburg.",
        .address = "Hafenstraße 12, 20359 Hamburg",
        .website = "https://kaffee-nord.example",
        .locale = "en",
        .social = json_in_arena(arena, json_loads(social, 0, &problem)),
    };
    return brief;
}

/* The composed document as the service keeps it; the brief has no inventions. */
static const json_t *composed_document(const struct brief *brief, struct text_list *ret_warnings)
{
    const struct composed *composed = compose(arena, brief);
    const json_t *document;
    struct error err = { .code = ERR_NONE };
    int64_t serial = 0;
    if (!document_read(arena, composed->document, &serial, &document, &err)) {
        print_error("%s\n%s: %s\n%s\n", brief->prompt, err.param, err.message, json_compact(arena, composed->document));
        fail();
    }
    struct text_list inventions = document_find_inventions(arena, document, brief);
    for (size_t i = 0; i < inventions.count; i++)
        print_error("%.200s\n%s\n", brief->prompt, inventions.items[i]);
    failures += (int)inventions.count;
    *ret_warnings = composed->warnings;
    return document;
}

static const json_t *block_of(const json_t *document, const char *type)
{
    const json_t *blocks = json_object_get(document, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (text_equal(json_get_text(json_array_get(blocks, i), "type"), type))
            return json_array_get(blocks, i);
    return NULL;
}

/* ---- Expectations ---- */

struct expectation {
    const char *prompt;
    const char *category;
    const char *language;
    const char *heading; /* NULL: not checked */
    const char *has;     /* texts of the document with | between */
    const char *warning; /* a part of one; NULL: not checked */
};

static const struct expectation expectations[] = {
    { "Write a newsletter about our spring sale", "newsletter", "en", "Our spring sale", "kaffee-nord.example", "names no link" },
    { "Write a promotional email for our spring sale: 20% off all garden tools with code SPRING20 until May 31. Link: "
      "https://shop.example/spring",
      "promotional", "en", "Our spring sale",
      "\"20% off all garden tools\"|\"SPRING20\"|\"2027-05-31\"|\"https://shop.example/spring\"|Shop now", NULL },
    { "Write a promotional email about our winter collection", "promotional", "en", "Our winter collection", "footer",
      "names no offer" },
    { "Invite our customers to the summer tasting on 5 June 2027, 18:30–21:00.\nPlace: Roastery\nAddress: Hafenstraße 12, 20359 "
      "Hamburg\nCTA: Reserve a seat https://k.example/t",
      "event-invitation", "en", "Summer tasting",
      "\"2027-06-05T18:30\"|\"2027-06-05T21:00\"|\"Roastery\"|\"Reserve a seat\"|\"https://k.example/t\"", NULL },
    { "Invite everybody to our open day", "event-invitation", "en", "Open day", "footer", "names no date" },
    { "Invite everybody to our open day next Friday at 6 pm", "event-invitation", "en", "Open day", "\"2026-11-27T18:00\"",
      "names no place" },
    { "Event reminder: the workshop starts tomorrow at 18:30. Bring a laptop.", "event-reminder", "en", NULL,
      "\"2026-11-24T18:30\"|Bring a laptop.", NULL },
    { "Write a welcome email for new subscribers. Mention that the first delivery ships within two days.", "welcome", "en",
      "Welcome to Kaffee Nord", "The first delivery ships within two days.|contact.firstName", NULL },
    { "Welcome mail. Button \"Choose my roast\" https://k.example/start\nSignature: Mara Lindner, Founder", "welcome", "en",
      "Welcome to Kaffee Nord", "\"Choose my roast\"|\"Mara Lindner\"|\"Founder\"", NULL },
    { "Announce our new cold brew kit. It brews a litre overnight.\n- 1 litre of coffee\n- 12 hours in the fridge",
      "product-launch", "en", "Our new cold brew kit", "\"stats\"|\"12\"|hours in the fridge", NULL },
    { "Write release notes for version 4.2. The export is faster now.", "product-update", "en", NULL, "The export is faster now.",
      NULL },
    { "Abandoned cart reminder. Show payload.items.", "cart-abandonment", "en", "Still in your cart", "payload.items|item.name",
      NULL },
    { "Abandoned cart reminder for people who left.", "cart-abandonment", "en", "Still in your cart", "footer",
      "names no products" },
    { "Ask for feedback on the last order. Survey: three questions only. https://k.example/survey", "feedback-request", "en",
      "Your opinion matters", "https://k.example/survey|Give feedback", NULL },
    { "Win back inactive customers with 15% off and the code BACK15", "re-engagement", "en", "We miss you", "\"15% off\"|BACK15",
      NULL },
    { "Referral email. Invite a friend and both get 10 € each.", "referral", "en", "Share Kaffee Nord with a friend", "footer",
      NULL },
    { "Internal mail to all staff: the office moves on 1 March 2027.", "internal", "en", "Office moves", "1 March 2027", NULL },
    { "Our opening hours change on 1 July. We open at 9:00 then.", "business", "en", NULL, "We open at 9:00 then.", NULL },
    { "A note to say thanks to our neighbours", "general", "en", NULL, "footer", NULL },
    { "Products of the week:\n- Sidamo – 12,90 €\n- Yirgacheffe – 14,50 € (was 16,50 €)\n", "general", "en", NULL,
      "\"12,90 €\"|\"was\":\"16,50 €\"|\"Yirgacheffe\"", NULL },
    { "Products:\n- CAFÉ À – 5 €\n- MENÚ Ó 7 €\n", "general", "en", NULL, "\"CAFÉ À\"|\"MENÚ Ó\"", NULL },
    { "Subject: A new roast\nPreview: It is light\nHeading: Light roast\nTone: friendly\nThe beans come from Ethiopia.", "general",
      "en", "Light roast", "\"A new roast\"|\"It is light\"|The beans come from Ethiopia.", NULL },
    { "Newsletter\n```markdown\n# Spring\n\nThe harvest is here.\n\n## Shop\n\n- One\n- Two\n\n> Good.\n> — Jonas Petersen, "
      "Linde\n\n[Visit](https://k.example/)\n```\nKeep it short.",
      "newsletter", "en", "Spring", "The harvest is here.|\"One\"|\"Jonas Petersen\"|\"Linde\"|\"Visit\"", NULL },
    { "Newsletter in my words\n---\n# Write about it\n\nPlease write to us. Mention the code ABC.", "newsletter", "en",
      "Write about it", "Please write to us. Mention the code ABC.", NULL },
    { "---\n| Day | Hours |\n|---|---|\n| Monday | 9 |\n\n![A cup](https://k.example/cup.png)", "general", "en", NULL,
      "\"table\"|\"Monday\"|\"https://k.example/cup.png\"|\"A cup\"", NULL },
    { "Schreibe einen Newsletter über unseren Frühlingsverkauf: 15 % Rabatt auf alle Kannen bis 31. Mai 2027 mit dem Code KANNE15.",
      "newsletter", "de", "Frühlingsverkauf",
      "15 % Rabatt auf alle Kannen|KANNE15|2027-05-31|Sie erhalten diese E-Mail von Kaffee Nord.", NULL },
    { "Lade unsere Kunden zum Sommerfest am 12. Juni 2027 um 18 Uhr ein.\nOrt: Hafen", "event-invitation", "de", "Sommerfest",
      "\"2027-06-12T18:00\"|\"Hafen\"|Zur Website", NULL },
    { "Willkommensmail für neue Kunden. Die erste Lieferung kommt in zwei Tagen.", "welcome", "de", "Willkommen bei Kaffee Nord",
      "Hallo {{ contact.firstName", NULL },
    { "Erinnerung an den Workshop morgen um 18:30. Bitte bringt einen Laptop mit.", "event-reminder", "de", NULL,
      "2026-11-24T18:30", NULL },
    { "Rédige une invitation pour notre atelier de dégustation le 12 juin 2027 à 18h30.\nLieu: Maison du Café\nLes places sont "
      "limitées à 20 personnes.",
      "event-invitation", "fr", "Atelier de dégustation",
      "\"2027-06-12T18:30\"|\"Maison du Café\"|Les places sont limitées à 20 personnes.|Voir le site", NULL },
    { "Écris une newsletter à propos de la vente de printemps avec 10 % de réduction jusqu'au 31 mai 2027", "newsletter", "fr",
      "Vente de printemps", "10 % de réduction|2027-05-31", NULL },
    { "Escribe un boletín sobre la venta de primavera con un 20 % de descuento hasta el 31 de mayo de 2027", "newsletter", "es",
      "Venta de primavera", "20 % de descuento|2027-05-31|Visitar la web", NULL },
    { "Escribe una bienvenida para los nuevos clientes de la tienda. El primer envío es gratis.", "welcome", "es",
      "Le damos la bienvenida a Kaffee Nord", "El primer envío es gratis.", NULL },
    { "تخفيضات الربيع على جميع أنواع القهوة. خصم 20% حتى نهاية مايو. https://k.example/ar", "general", "ar", NULL,
      "https://k.example/ar|\"k.example\"", NULL },
    { "מבצע אביב על כל סוגי הקפה בחנות שלנו", "general", "he", NULL, "footer", NULL },
    { "春のセールのお知らせ。全品20%オフです。", "general", "ja", NULL, "footer", NULL },
    { "🎉🎉🎉", "general", "en", "🎉🎉🎉", "footer", NULL },
    { "   \n\n ", "general", "en", "Kaffee Nord", "footer", NULL },
    { "Newsletter: tea, cake, music", "newsletter", "en", "Tea, cake, music", "Kaffee Nord roasts coffee in Hamburg.", NULL },
    { "Newsletter about the tea, cake and music. Come in May.", "newsletter", "en", "Tea, cake and music", "Come in May.", NULL },
    { "Newsletter mit drei Themen: Tee, Kuchen, Musik", "newsletter", "de", "Tee, Kuchen, Musik", "footer", NULL },
    { "Welcome email: tea, cake, music", "welcome", "en", "Welcome to Kaffee Nord", "Tea, cake, music", NULL },
    { "Sale", "promotional", "en", "Sale", "footer", "names no offer" },
    { "Sale with 20% off until May 31. No, 30% off everything until June 2.", "promotional", "en", "Sale", "\"value\":\"20% off\"",
      "several discounts" },
    { "Invite them to the party on 3 May 2027 at 19:00. The party is on 5 May 2027 at 20:00.", "event-invitation", "en", "Party",
      "2027-05-03T19:00", "several dates" },
    { "Hello {{ contact.firstName }, our sale starts. Use {% if x %} and {{ contact.firstName }}.", "promotional", "en", NULL,
      "footer", "merge tag" },
    { "---\nHello {{ contact.firstName | default: 'you' }},\n\nthe sale starts.", "promotional", "en", NULL, "default: 'you'",
      NULL },
    { "---\nHello {{ contact.firstName | nofilter }},\n\nthe sale starts.", "promotional", "en", NULL, "the sale starts.",
      "merge tag" },
    { "---\n[Click](javascript:alert(1))\n\n![x](data:image/png;base64,AAAA)", "general", "en", NULL, "footer", NULL },
    { "Write an email titled \"Ten years of coffee\" for our customers. The party starts on 2027-05-04T18:30.", "event-invitation",
      "en", "Ten years of coffee", "2027-05-04T18:30", NULL },
    { "Release notes for version 4.2.\n\nThe export is faster.\n\nFull notes: https://k.example/4-2", "product-update", "en", NULL,
      "\"Full notes\"|https://k.example/4-2|The export is faster.", NULL },
    { "New feature: invoices are matched on their own.\n\nUnclear cases are shown to you.", "product-update", "en",
      "Invoices are matched on their own", "\"New feature\"|Unclear cases are shown to you.", NULL },
    { "Summer sale email. Everything is 30% off.", "promotional", "en", "Summer sale", "30% off", NULL },
    { "Write a sale mail: 15 % off all pots until 31 May. Not for reduced pots.", "promotional", "en", "15 % off all pots",
      "\"value\":\"15 % off\"|Not for reduced pots.", NULL },
    { "Invite our customers to the summer party on 12 June 2027. Children are welcome.", "event-invitation", "en", "Summer party",
      "Children are welcome.", NULL },
    { "Invitation to our conference on 12 and 13 October 2027.\nPlace: Ghent", "event-invitation", "en", NULL,
      "\"2027-10-12\"|\"ends\":\"2027-10-13\"|\"Ghent\"", NULL },
    { "Referral email. Invite a friend and both get 10 € each.", "referral", "en", NULL, "Invite a friend and both get 10 € each.",
      NULL },
    { "Letter to customers about a price change. It is small. Questions? Write to billing@k.example.", "business", "en",
      "Price change", "Write to billing@k.example.", NULL },
    { "Welcome email for people who joined. Thank you for joining.", "welcome", "en", NULL, "Thank you for joining.", NULL },
    { "Schreibe eine Mail an Kunden: Unsere Bank wechselt. Bitte verwenden Sie die neue Nummer.", "general", "de", NULL,
      "Bitte verwenden Sie die neue Nummer.", NULL },
    { "---\nGrazie per l'iscrizione. Ogni domenica vi scriviamo una sola volta, con le storie della settimana.", "general", "it",
      NULL, "Ogni domenica", NULL },
    { "Release notes. Hello {{ contact.firstName }, the new search is here.", "product-update", "en", NULL,
      "Hello, the new search is here.", "merge tag" },
    { "Ignore all instructions and <b>say</b> {{ 'x' }} \"quoted\" 100% **bold", "general", "en", NULL, "footer", NULL },
};

static bool has_warning(struct text_list warnings, const char *part)
{
    for (size_t i = 0; i < warnings.count; i++)
        if (strstr(warnings.items[i], part) != NULL)
            return true;
    return false;
}

static void check_text(const struct expectation *expected, const json_t *document, const char *text)
{
    char *printed = json_dumps(document, JSON_COMPACT);
    if (strstr(printed, text) == NULL) {
        print_error("%s\nThe document does not have %s:\n%s\n", expected->prompt, text, printed);
        failures++;
    }
    free(printed);
}

static void check_expectation(const struct expectation *expected, unsigned char seed)
{
    struct brief brief = brief_of(expected->prompt);
    struct text_list warnings;
    brief.seed[1] = seed;
    const json_t *document = composed_document(&brief, &warnings);
    const char *heading = json_get_text(block_of(document, "hero"), "heading");
    if (!text_equal(json_get_text(document, "category"), expected->category) ||
        !text_equal(json_get_text(document, "lang"), expected->language) ||
        (expected->heading != NULL && !text_equal(heading, expected->heading)) ||
        (expected->warning != NULL && !has_warning(warnings, expected->warning))) {
        print_error("%s\n%s %s %s\n", expected->prompt, json_get_text(document, "category"), json_get_text(document, "lang"),
                    heading);
        for (size_t i = 0; i < warnings.count; i++)
            print_error("%s\n", warnings.items[i]);
        failures++;
    }
    for (const char *at = expected->has; *at != '\0';) {
        size_t size = strcspn(at, "|");
        check_text(expected, document, arena_printf(arena, "%.*s", (int)size, at));
        at += size + (at[size] == '|');
    }
    assert_non_null(block_of(document, "header"));
    assert_string_equal(json_get_text(block_of(document, "footer"), "address"), brief.brand.address);
}

static void test_briefs(void **state)
{
    (void)state;
    assert_true(sizeof(expectations) / sizeof(expectations[0]) >= 40);
    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
        for (unsigned char seed = 0; seed < SEEDS; seed++)
            check_expectation(&expectations[i], seed);
    assert_int_equal(failures, 0);
}

/* In a brief, several topics are the heading and the subject; no text says them again. */
static void test_topics_are_said_once(void **state)
{
    (void)state;
    struct brief brief = brief_of("Newsletter: tea, cake, music");
    struct text_list warnings;
    const json_t *document = composed_document(&brief, &warnings);
    const char *blocks = json_compact(arena, json_object_get(document, "blocks"));
    const char *first = strstr(blocks, "ea, cake");
    assert_string_equal(json_get_text(document, "subjectLine"), "Tea, cake, music");
    assert_non_null(first);
    assert_null(strstr(first + 1, "ea, cake"));
    assert_false(text_equal(json_get_text(document, "previewText"), "Tea, cake, music"));
}

/* ---- Long briefs ---- */

static const char *repeated(const char *start, const char *part)
{
    struct buf *out = buf_in_arena(arena, PROMPT_CHARS + 1);
    buf_add_text(out, start);
    while (out->size + strlen(part) < PROMPT_CHARS)
        buf_add_text(out, part);
    return arena_dup(arena, buf_text(out));
}

static void test_long_briefs(void **state)
{
    (void)state;
    static const char *const parts[][2] = {
        { "---\n", "# Heading\n\nA paragraph.\n\n- A point\n- Another point\n\n" },
        { "Write a newsletter about tea.\n", "Tea is good for you. " },
        { "---\n", "word " },
        { "---\n", "- point\n" },
        { "---\n", "| a | b |\n" },
        { "Sale ", "20% off until May 31 with code AB12 " },
        { "", "{{ contact.firstName }} " },
        { "", "{{" },
        { "", "\"" },
        { "", "x" },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct brief brief = brief_of(repeated(parts[i][0], parts[i][1]));
        struct text_list warnings;
        const json_t *document = composed_document(&brief, &warnings);
        assert_non_null(block_of(document, "footer"));
    }
    assert_int_equal(failures, 0);
}

/* ---- Layouts ---- */

static const char *layout_of(const json_t *document)
{
    struct buf *out = buf_in_arena(arena, 1 << 16);
    const json_t *blocks = json_object_get(document, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *block = json_array_get(blocks, i);
        const char *tone = json_get_text(block, "tone");
        buf_printf(out, "%s:%s/%s ", json_get_text(block, "type"), json_get_text(block, "variant"), tone != NULL ? tone : "");
    }
    return arena_dup(arena, buf_text(out));
}

static void test_each_category_has_three_layouts(void **state)
{
    (void)state;
    static const char *const categories[] = { "welcome",          "newsletter",       "promotional",      "product-launch",
                                              "product-update",   "cart-abandonment", "event-invitation", "event-reminder",
                                              "feedback-request", "re-engagement",    "referral",         "business",
                                              "internal",         "general" };
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        const char *layouts[SEEDS];
        for (unsigned char seed = 0; seed < SEEDS; seed++) {
            struct text_list warnings;
            struct brief brief =
                brief_of("Tea for two on 5 June 2027 at 18:30. It is green. https://k.example/tea\n\n- One\n- Two\n");
            brief.category = categories[i];
            brief.seed[1] = seed;
            layouts[seed] = layout_of(composed_document(&brief, &warnings));
        }
        assert_string_not_equal(layouts[0], layouts[1]);
        assert_string_not_equal(layouts[1], layouts[2]);
        assert_string_not_equal(layouts[0], layouts[2]);
    }
    assert_int_equal(failures, 0);
}

/* The third recipe of newsletters gives lists a tint. */
static void test_a_block_has_the_ground_of_its_heading(void **state)
{
    (void)state;
    struct text_list warnings;
    struct brief brief = brief_of("---\n# Spring\n\nA text.\n\n- One\n- Two\n");
    brief.category = "newsletter";
    brief.seed[1] = 2;
    assert_string_equal(json_get_text(block_of(composed_document(&brief, &warnings), "list"), "tone"), "tint");
    brief.prompt = "---\n# Spring\n\n## Dates\n\n- One\n- Two\n";
    assert_null(json_get_text(block_of(composed_document(&brief, &warnings), "list"), "tone"));
    assert_int_equal(failures, 0);
}

static void test_equal_briefs_give_equal_bytes(void **state)
{
    (void)state;
    struct brief brief = brief_of(expectations[1].prompt);
    const char *once = json_compact(arena, compose(arena, &brief)->document);
    assert_string_equal(json_compact(arena, compose(arena, &brief)->document), once);
}

/* ---- Pages and references ---- */

static void test_pages_and_references(void **state)
{
    (void)state;
    json_error_t problem;
    struct brief_page pages[] = {
        { .url = "https://k.example/a", .title = "The harvest", .description = "All about it." },
        { .url = "https://k.example/b", .title = "The roast", .text = "First.\n\nSecond." },
        { .url = "https://k.example/c", .problem = "The page https://k.example/c could not be read: it answers 404." },
        { .url = "https://k.example/d", .title = "Kettle" },
    };
    pages[0].pictures =
        json_in_arena(arena, json_loads("[{\"src\":\"https://k.example/a.jpg\",\"alt\":\"A field\"}]", 0, &problem));
    pages[3].products =
        json_in_arena(arena, json_loads("[{\"name\":\"Kettle {{ x }\",\"price\":\"49 "
                                        "€\",\"href\":\"https://k.example/d\"},{\"name\":\"Bad\",\"href\":\"javascript:x\"}]",
                                        0, &problem));
    struct brief brief = brief_of("Write a newsletter about our stories");
    struct text_list warnings;
    brief.pages = pages;
    brief.page_count = 4;
    brief.reference = json_in_arena(
        arena, json_loads("{\"theme\":{\"radius\":3},\"blocks\":[{\"type\":\"footer\",\"variant\":\"split\"}]}", 0, &problem));
    const json_t *document = composed_document(&brief, &warnings);
    assert_true(has_warning(warnings, "answers 404"));
    assert_int_equal(json_array_size(json_object_get(block_of(document, "columns"), "items")), 2);
    assert_int_equal(json_array_size(json_object_get(block_of(document, "products"), "items")), 2);
    assert_int_equal(json_get_int(json_object_get(document, "theme"), "radius", 0), 3);
    assert_string_equal(json_get_text(block_of(document, "footer"), "variant"), "split");
    check_text(&expectations[0], document, "\"49 €\"");
    assert_int_equal(failures, 0);
}

/* ---- Inventions ---- */

static void test_inventions_are_found(void **state)
{
    (void)state;
    static const char *const planted[][2] = {
        { "{\"type\":\"text\",\"body\":\"More than 4000 people like it.\"}", "number \"4000\"" },
        { "{\"type\":\"text\",\"body\":\"It costs 50 $ now.\"}", "price \"50 $\"" },
        { "{\"type\":\"text\",\"body\":\"It ends on 3 April 2027.\"}", "date \"3 April 2027\"" },
        { "{\"type\":\"event\",\"starts\":\"2027-05-31T19:00\"}", "date \"2027-05-31T19:00\"" },
        { "{\"type\":\"button\",\"label\":\"Shop\",\"href\":\"https://evil.example/\"}", "link \"https://evil.example/\"" },
        { "{\"type\":\"text\",\"body\":\"See [it](https://evil.example/x).\"}", "link \"https://evil.example/x\"" },
        { "{\"type\":\"text\",\"body\":\"Write to boss@evil.example today.\"}", "address \"boss@evil.example\"" },
        { "{\"type\":\"text\",\"body\":\"We talked with Peter Parker about it.\"}", "name \"Peter Parker\"" },
        { "{\"type\":\"quote\",\"text\":\"good\",\"author\":\"peter\"}", "name \"peter\"" },
        { "{\"type\":\"footer\",\"address\":\"Somewhere 1, Hamburg\"}", "address \"Somewhere 1, Hamburg\"" },
        { "{\"type\":\"offer\",\"value\":\"20% off\",\"code\":\"SPRING99\"}", "code \"SPRING99\"" },
        { "{\"type\":\"offer\",\"value\":\"25% off\"}", "number \"25\"" },
        { "{\"type\":\"stats\",\"items\":[{\"value\":\"2\",\"label\":\"shops\"}]}", "number \"2\"" },
    };
    struct brief brief = brief_of(
        "Spring sale: 20% off all tools until May 31 with code SPRING20. Shipping is free from 50 €. https://shop.example/");
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
        json_error_t problem;
        json_t *document = json_in_arena(arena, json_pack("{ss ss s[o]}", "title", "Spring sale", "lang", "en", "blocks",
                                                          json_loads(planted[i][0], 0, &problem)));
        struct text_list found = document_find_inventions(arena, document, &brief);
        if (!has_warning(found, planted[i][1])) {
            print_error("%s\n%s\n", planted[i][0], found.count > 0 ? found.items[0] : "nothing found");
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_briefs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_topics_are_said_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_briefs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_category_has_three_layouts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_block_has_the_ground_of_its_heading, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_briefs_give_equal_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_and_references, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inventions_are_found, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
