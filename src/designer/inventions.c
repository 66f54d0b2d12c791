/*
 * The scanner of inventions: numbers, prices, dates, links, names and addresses of
 * a document that no source of its brief has.
 */
#include "designer/composer.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_dates.h"
#include "designer/brief_text.h"
#include "designer/fixed_phrases.h"
#include "template/zone.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    SOURCES_MAX_BYTES = 4 * 1024 * 1024,
    FINDINGS_MAX = 100,
    WORD_MAX_BYTES = 120,
    SHOWN_MAX_CHARS = 80,
    SECONDS_PER_DAY = 86400
};

struct scanner {
    struct arena *arena;
    const char *sources; /* all sources in lower case, in one line */
    const struct brief_facts *facts;
    int64_t today;
    bool is_german; /* all nouns have a capital */
    const char **findings;
    size_t count;
};

static void add_finding(struct scanner *scanner, const char *kind, const char *text, size_t size, const char *member)
{
    const char *shown = cut_line(scanner->arena, line_of(scanner->arena, text, size), SHOWN_MAX_CHARS);
    const char *finding = arena_printf(scanner->arena, "No source gives the %s \"%s\" (%s).", kind, shown, member);
    for (size_t i = 0; i < scanner->count; i++)
        if (text_equal(scanner->findings[i], finding))
            return;
    if (scanner->count < FINDINGS_MAX)
        scanner->findings[scanner->count++] = finding;
}

/* ---- Sources ---- */

static void add_source(struct buf *out, const char *text)
{
    if (text != NULL)
        buf_printf(out, "%s \n ", text);
}

static void add_json(struct buf *out, const json_t *json)
{
    const char *name;
    json_t *value;
    if (json_is_string(json))
        add_source(out, json_string_value(json));
    for (size_t i = 0; i < json_array_size(json); i++)
        add_json(out, json_array_get(json, i));
    json_object_foreach (json_for_iteration(json), name, value) {
        add_json(out, value);
    }
}

static void add_brand(struct buf *out, const struct brief_brand *brand)
{
    const char *const texts[] = { brand->name,    brand->tagline, brand->description, brand->address,
                                  brand->website, brand->logo,    brand->email_design };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        add_source(out, texts[i]);
    add_json(out, brand->social);
}

static const char *sources_of(struct arena *arena, const struct brief *brief, const struct brief_facts *facts)
{
    struct buf *out = buf_in_arena(arena, SOURCES_MAX_BYTES);
    add_source(out, " ");
    add_source(out, brief->prompt);
    add_source(out, brief->subject_line);
    add_source(out, facts->category);
    add_source(out, fixed_text(arena));
    add_brand(out, &brief->brand);
    add_json(out, brief->reference);
    for (size_t i = 0; i < brief->page_count; i++) {
        const struct brief_page *page = &brief->pages[i];
        const char *const texts[] = { page->url, page->title, page->description, page->text };
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
            add_source(out, texts[j]);
        add_json(out, page->products);
        add_json(out, page->events);
        add_json(out, page->pictures);
    }
    for (size_t i = 0; i < facts->moments.count; i++)
        add_source(out, facts->moments.items[i]);
    return text_lower_unicode(arena, line_of(arena, buf_text(out), out->size));
}

/* Whether the sources have the word, with no letter or digit directly before and behind it. */
static bool has_word(const struct scanner *scanner, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = strstr(scanner->sources, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == scanner->sources || !is_word_part(at[-1]) || !is_word_part(*word) ||
                      (isdigit((unsigned char)*word) && !isalnum((unsigned char)at[-1]));
        bool is_inner = at > scanner->sources + 1 && isdigit((unsigned char)*word) && strchr(".,", at[-1]) != NULL &&
                        isdigit((unsigned char)at[-2]);
        bool goes_on = isdigit((unsigned char)word[size - 1]) &&
                       (isdigit((unsigned char)at[size]) ||
                        (strchr(".,", at[size]) != NULL && at[size] != '\0' && isdigit((unsigned char)at[size + 1])));
        bool ends = !isalpha((unsigned char)word[size - 1]) || !isalpha((unsigned char)at[size]);
        if (begins && ends && !goes_on && !is_inner)
            return true;
    }
    return false;
}

static bool has_text(const struct scanner *scanner, const char *text)
{
    const char *lower = text_lower_unicode(scanner->arena, line_of(scanner->arena, text, strlen(text)));
    size_t size = strlen(lower);
    while (size > 0 && lower[size - 1] == '/')
        size--;
    return *lower == '\0' || strstr(scanner->sources, arena_printf(scanner->arena, "%.*s", (int)size, lower)) != NULL;
}

/* ---- Texts ---- */

static void check_prices(struct scanner *scanner, const char *text, const char *member)
{
    size_t size;
    for (const char *at = find_price(text, &size); at != NULL; at = find_price(at + size, &size))
        if (!has_text(scanner, line_of(scanner->arena, at, size)))
            add_finding(scanner, "price", at, size, member);
}

static bool is_source_moment(const struct scanner *scanner, const struct found_date *date)
{
    char moment[MOMENT_CHARS + 1];
    moment_write(date->day, date->minute, moment);
    return strstr(scanner->sources, text_lower(scanner->arena, moment)) != NULL;
}

/* Dates of the sources may be written in another form. The text comes back without its dates. */
static char *check_dates(struct scanner *scanner, const char *text, const char *member)
{
    struct found_date dates[BRIEF_DATES_MAX];
    char *rest = arena_dup(scanner->arena, text);
    size_t count = dates_find(text_lower(scanner->arena, text), scanner->today, true, dates, BRIEF_DATES_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t size = dates[i].end - dates[i].begin;
        if (!has_text(scanner, line_of(scanner->arena, text + dates[i].begin, size)) && !is_source_moment(scanner, &dates[i]))
            add_finding(scanner, "date", text + dates[i].begin, size, member);
        memset(rest + dates[i].begin, ' ', size);
    }
    return rest;
}

static void check_numbers(struct scanner *scanner, const char *text, const char *member)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (!isdigit((unsigned char)*at))
            continue;
        size_t size = strspn(at, "0123456789.,");
        while (strchr(".,", at[size - 1]) != NULL)
            size--;
        size_t letters = 0;
        while (at - letters > text && isalpha((unsigned char)at[-1 - (ptrdiff_t)letters]))
            letters++;
        bool is_known = letters > 0 ? has_text(scanner, line_of(scanner->arena, at - letters, letters + size))
                                    : has_word(scanner, line_of(scanner->arena, at, size));
        if (!is_known)
            add_finding(scanner, "number", at, size, member);
        at += size - 1;
    }
}

static void check_addresses(struct scanner *scanner, const char *text, const char *member)
{
    size_t size;
    for (const char *at = find_address(text, &size); at != NULL; at = find_address(at + size, &size))
        if (!has_text(scanner, line_of(scanner->arena, at, size)))
            add_finding(scanner, "link", at, size, member);
    for (const char *at = strchr(text, '@'); at != NULL; at = strchr(at + 1, '@')) {
        size_t before = 0;
        while (at - before > text &&
               (is_word_part(at[-1 - (ptrdiff_t)before]) || strchr("._+-", at[-1 - (ptrdiff_t)before]) != NULL))
            before++;
        size_t after = 1;
        while (is_word_part(at[after]) || ((at[after] == '.' || at[after] == '-') && is_word_part(at[after + 1])))
            after++;
        if (before > 0 && after > 1 && !has_text(scanner, line_of(scanner->arena, at - before, before + after)))
            add_finding(scanner, "address", at - before, before + after, member);
    }
}

static bool is_capital(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    return isupper(byte[0]) || (byte[0] == 0xC3 && byte[1] >= 0x80 && byte[1] <= 0x9E);
}

static size_t word_size(const char *text)
{
    size_t size = 0;
    while ((is_word_part(text[size]) && !text_starts_with(text + size, "…")) ||
           ((text[size] == '-' || text[size] == '\'') && is_word_part(text[size + 1])))
        size++;
    return size;
}

/* A capitalised word inside of a sentence, or several in a row, is a name. In German, several in a row. */
static void check_names(struct scanner *scanner, const char *text, const char *member)
{
    bool begins = true;
    for (const char *at = text; *at != '\0';) {
        size_t size = word_size(at);
        if (size == 0 || size >= WORD_MAX_BYTES) {
            begins = begins || strchr(".!?:\n\"“„|", *at) != NULL;
            at += size > 0 ? size : 1;
            continue;
        }
        const char *next = at + size + (at[size] == ' ');
        bool follows = at[size] == ' ' && is_capital(next);
        bool is_name = is_capital(at) && size > 1 && (follows || (!begins && !scanner->is_german));
        const char *word = line_of(scanner->arena, at, size);
        if (is_name && !has_word(scanner, text_lower_unicode(scanner->arena, word)))
            add_finding(scanner, "name", at, follows ? size + 1 + word_size(next) : size, member);
        begins = false;
        at += size;
    }
}

static void check_text(struct scanner *scanner, const char *text, const char *member)
{
    const char *plain = without_tags(scanner->arena, text);
    check_addresses(scanner, plain, member);
    const char *rest = check_dates(scanner, plain, member);
    check_prices(scanner, rest, member);
    check_numbers(scanner, rest, member);
    check_names(scanner, rest, member);
}

/* ---- Members ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (text_equal(name, *names))
            return true;
    return false;
}

static void check_moment(struct scanner *scanner, const char *text, const char *member)
{
    const char *lower = text_lower(scanner->arena, text);
    if (strstr(scanner->sources, lower) == NULL)
        add_finding(scanner, "date", text, strlen(text), member);
}

static void check_link(struct scanner *scanner, const char *text, const char *member)
{
    const char *plain = without_tags(scanner->arena, text);
    const char *colon = strchr(plain, ':');
    bool is_scheme = text_starts_with(plain, "mailto:") || text_starts_with(plain, "tel:");
    if (*plain != '#' && !has_text(scanner, is_scheme ? colon + 1 : plain))
        add_finding(scanner, "link", text, strlen(text), member);
}

static void check_member(struct scanner *scanner, const char *name, const char *text)
{
    static const char *const settings[] = { "id",       "type",   "variant", "tone", "align",   "showIf", "lang",     "dir",
                                            "category", "layout", "style",   "size", "network", "each",   "timeZone", NULL };
    static const char *const moments[] = { "starts", "ends", "until", NULL };
    static const char *const links[] = { "href", "src", NULL };
    static const char *const wholes[] = { "author", "place", "address", "code", NULL };
    if (is_one_of(name, settings))
        return;
    if (is_one_of(name, moments))
        check_moment(scanner, text, name);
    else if (is_one_of(name, links))
        check_link(scanner, text, name);
    else if (is_one_of(name, wholes) && !has_text(scanner, without_tags(scanner->arena, text)))
        add_finding(scanner,
                    text_equal(name, "address") ? "address"
                    : text_equal(name, "code")  ? "code"
                                                : "name",
                    text, strlen(text), name);
    else if (!is_one_of(name, wholes))
        check_text(scanner, text, name);
}

static void scan(struct scanner *scanner, const char *name, const json_t *json)
{
    const char *member;
    json_t *value;
    if (json_is_string(json))
        check_member(scanner, name, json_string_value(json));
    for (size_t i = 0; i < json_array_size(json); i++)
        scan(scanner, name, json_array_get(json, i));
    json_object_foreach (json_for_iteration(json), member, value) {
        if (!text_equal(member, "theme"))
            scan(scanner, member, value);
    }
}

struct text_list document_find_inventions(struct arena *arena, const json_t *document, const struct brief *brief)
{
    struct scanner scanner = { .arena = arena, .facts = brief_read(arena, brief) };
    const char *lang = json_get_text(document, "lang");
    int64_t now = brief->now_us / 1000000;
    scanner.today = (now + template_zone_offset_s(brief->brand.zone, now)) / SECONDS_PER_DAY;
    scanner.is_german = text_starts_with(lang != NULL ? lang : scanner.facts->language, "de");
    scanner.sources = sources_of(arena, brief, scanner.facts);
    scanner.findings = arena_array(arena, FINDINGS_MAX, sizeof(*scanner.findings));
    scan(&scanner, "", document);
    return (struct text_list){ .items = scanner.findings, .count = scanner.count };
}
