#include "designer/instruction_words.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct scanner {
    struct words *words;
    struct word *items;
    size_t count;
    size_t at;
    bool is_broken;
};

static const char *here(const struct scanner *scanner)
{
    return scanner->words->source + scanner->at;
}

static void add(struct scanner *scanner, enum word_kind kind, const char *text, size_t size)
{
    if (scanner->count >= INSTRUCTION_MAX_WORDS) {
        scanner->is_broken = true;
        return;
    }
    scanner->items[scanner->count++] = (struct word){ .kind = kind, .text = text, .start = scanner->at, .end = scanner->at + size };
    scanner->at += size;
}

/* ---- Quotation marks ---- */

static const struct {
    const char *open;
    const char *closes[2];
} marks[] = {
    { "\"", { "\"" } }, { "“", { "”", "“" } }, { "„", { "“", "”" } }, { "«", { "»" } },
    { "`", { "`" } },   { "‘", { "’" } },      { "'", { "'" } },
};

/* The end of a quotation: an apostrophe inside of a word is none. */
static const char *find_close(const char *from, const char *close)
{
    for (const char *found = strstr(from, close); found != NULL; found = strstr(found + 1, close)) {
        bool can_be_apostrophe = text_equal(close, "'") || text_equal(close, "’");
        if (!can_be_apostrophe || !isalnum((unsigned char)found[strlen(close)]))
            return found;
    }
    return NULL;
}

static const char *first_close(const char *from, size_t mark, size_t *ret_size)
{
    const char *first = NULL;
    for (size_t i = 0; i < 2 && marks[mark].closes[i] != NULL; i++) {
        const char *found = find_close(from, marks[mark].closes[i]);
        if (found != NULL && (first == NULL || found < first)) {
            first = found;
            *ret_size = strlen(marks[mark].closes[i]);
        }
    }
    return first;
}

static bool scan_quoted(struct scanner *scanner)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (!text_starts_with(here(scanner), marks[i].open))
            continue;
        size_t close_size = 0;
        const char *text = here(scanner) + strlen(marks[i].open);
        const char *close = first_close(text, i, &close_size);
        if (close == NULL)
            scanner->is_broken = true;
        else
            add(scanner, WORD_QUOTED, arena_dup_bytes(scanner->words->arena, text, (size_t)(close - text)),
                (size_t)(close + close_size - here(scanner)));
        return true;
    }
    return false;
}

/* ---- Addresses and words ---- */

static bool is_address(const char *text)
{
    static const char *const schemes[] = { "https://", "http://", "mailto:", "tel:" };
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return text_starts_with(text, "{{");
}

/* The length of an address: up to white space that is not in a merge tag, without the marks that end a sentence. */
static size_t address_size(const char *text)
{
    size_t size = 0;
    size_t tag_end = 0;
    while (text[size] != '\0' && (size < tag_end || !isspace((unsigned char)text[size]))) {
        const char *close = text_starts_with(text + size, "{{") ? strstr(text + size, "}}") : NULL;
        if (close != NULL)
            tag_end = (size_t)(close - text) + strlen("}}");
        size++;
    }
    while (size > tag_end && strchr(".,;!?", text[size - 1]) != NULL)
        size--;
    return size;
}

static bool ends_word(const char *text)
{
    bool is_mark = *text == '\0' || strchr(",;:!?\"", *text) != NULL || isspace((unsigned char)*text);
    return is_mark || (*text == '.' && (text[1] == '\0' || isspace((unsigned char)text[1])));
}

static void scan_word(struct scanner *scanner)
{
    size_t size = 1;
    while (!ends_word(here(scanner) + size))
        size++;
    char *word = arena_dup_bytes(scanner->words->arena, here(scanner), size);
    add(scanner, WORD_PLAIN, text_lower(scanner->words->arena, word), size);
}

/* ---- Marks ---- */

/* The size of a mark of a list at the beginning of a line: "- ", "* ", "• ", "1. ", "2) ". */
static size_t list_mark_size(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (text_starts_with(text, "• "))
        return strlen("• ");
    if ((*text == '-' || *text == '*') && text[1] == ' ')
        return 2;
    return digits > 0 && (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ' ? digits + 2 : 0;
}

static bool is_at_line_start(const struct scanner *scanner)
{
    return scanner->count == 0 || scanner->words->source[scanner->items[scanner->count - 1].start] == '\n';
}

static bool scan_mark(struct scanner *scanner)
{
    const char *text = here(scanner);
    if (*text == ',')
        add(scanner, WORD_COMMA, ",", 1);
    else if (*text == '\n' || strchr(";!?", *text) != NULL || (*text == '.' && ends_word(text)))
        add(scanner, WORD_STOP, ".", 1);
    else if (isspace((unsigned char)*text) || *text == ':')
        scanner->at++;
    else if (is_at_line_start(scanner) && list_mark_size(text) > 0)
        scanner->at += list_mark_size(text);
    else
        return false;
    return true;
}

bool words_read(struct arena *arena, const char *source, struct words *ret_words)
{
    *ret_words = (struct words){ .arena = arena, .source = source };
    struct scanner scanner = { .words = ret_words };
    scanner.items = arena_array(arena, INSTRUCTION_MAX_WORDS + 1, sizeof(*scanner.items));
    while (*here(&scanner) != '\0' && !scanner.is_broken) {
        if (scan_mark(&scanner) || scan_quoted(&scanner))
            continue;
        if (is_address(here(&scanner))) {
            size_t size = address_size(here(&scanner));
            add(&scanner, WORD_ADDRESS, arena_dup_bytes(arena, here(&scanner), size), size);
        } else
            scan_word(&scanner);
    }
    scanner.items[scanner.count] = (struct word){ .kind = WORD_END, .text = "", .start = scanner.at, .end = scanner.at };
    ret_words->items = scanner.items;
    return !scanner.is_broken;
}

/* ---- Phrases ---- */

const struct word *words_next(const struct words *words)
{
    return &words->items[words->at];
}

/* The number of words that a phrase takes; 0: it is not next. */
static size_t phrase_words(const struct words *words, const char *phrase, size_t size)
{
    size_t count = 0;
    for (size_t at = 0; at < size; count++) {
        const struct word *word = &words->items[words->at + count];
        const char *space = memchr(phrase + at, ' ', size - at);
        size_t length = space != NULL ? (size_t)(space - phrase) - at : size - at;
        if (word->kind != WORD_PLAIN || strlen(word->text) != length || memcmp(word->text, phrase + at, length) != 0)
            return 0;
        at += length + 1;
    }
    return count;
}

bool words_take(struct words *words, const char *phrases)
{
    while (*phrases != '\0') {
        size_t size = strcspn(phrases, "|");
        size_t count = phrase_words(words, phrases, size);
        words->at += count;
        if (count > 0)
            return true;
        phrases += size + (phrases[size] == '|' ? 1 : 0);
    }
    return false;
}

const char *words_take_kind(struct words *words, enum word_kind kind)
{
    const struct word *word = words_next(words);
    if (word->kind != kind || kind == WORD_END)
        return NULL;
    words->at++;
    return word->text;
}

bool words_are_at_end(const struct words *words)
{
    enum word_kind kind = words_next(words)->kind;
    return kind == WORD_STOP || kind == WORD_END;
}

const char *words_source(const struct words *words, size_t from, size_t to)
{
    if (to <= from)
        return "";
    size_t start = words->items[from].start;
    return arena_dup_bytes(words->arena, words->source + start, words->items[to - 1].end - start);
}

const char *words_take_rest(struct words *words)
{
    size_t from = words->at;
    while (!words_are_at_end(words))
        words->at++;
    return words_source(words, from, words->at);
}
