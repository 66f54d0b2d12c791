/* Facts that stand anywhere in a prompt: labels, quoted words, codes, percents, links, offers and events. */
#include "designer/brief_body.h"
#include "designer/brief_facts.h"
#include "designer/brief_text.h"
#include "designer/brief_words.h"
#include "designer/fixed_phrases.h"

#include "base/json_read.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum {
    BEFORE_MAX_BYTES = 28,
    QUOTED_MAX_CHARS = 120,
    ACTION_MAX_CHARS = 40,
    CODE_MIN = 3,
    CODE_MAX = 32,
    VALUE_MAX_CHARS = 70,
    RANGE_GAP_MAX = 9
};

void brief_warn(struct brief_reader *reader, const char *warning)
{
    struct text_list *list = &reader->facts->warnings;
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->items[i], warning))
            return;
    if (list->count < BRIEF_WARNINGS_MAX)
        reader->warnings[list->count++] = warning;
}

/* ---- Labels ---- */

static void read_signer(struct brief_reader *reader, const char *value)
{
    size_t comma = strcspn(value, ",");
    json_t *signature = json_in_arena(reader->arena, json_object());
    set_text(reader->arena, signature, "name", line_of(reader->arena, value, comma), 120);
    if (value[comma] == ',')
        set_text(reader->arena, signature, "role", line_of(reader->arena, value + comma + 1, strlen(value + comma + 1)), 120);
    if (json_object_get(signature, "name") != NULL)
        reader->facts->signature = signature;
}

static const char *first_address(struct brief_reader *reader, const char *text)
{
    size_t size;
    const char *at = find_address(text, &size);
    return at != NULL && size < 2048 ? line_of(reader->arena, at, size) : NULL;
}

static void read_action(struct brief_reader *reader, const char *value)
{
    const char *address = first_address(reader, value);
    size_t size = address != NULL ? (size_t)(strstr(value, address) - value) : strlen(value);
    while (size > 0 && strchr(" (-:,>\"", value[size - 1]) != NULL)
        size--;
    while (size > 0 && strchr(" \"", *value) != NULL) {
        value++;
        size--;
    }
    const char *label = line_of(reader->arena, value, size);
    if (*label != '\0')
        reader->facts->action_label = cut_line(reader->arena, label, ACTION_MAX_CHARS * 2);
    if (address != NULL)
        reader->facts->action_href = address;
}

bool brief_read_label(struct brief_reader *reader, const char *name, const char *value)
{
    struct brief_facts *facts = reader->facts;
    switch (words_label(name)) {
    case LABEL_SUBJECT:
        facts->subject = value;
        return true;
    case LABEL_PREVIEW:
        facts->preview = value;
        return true;
    case LABEL_HEADING:
        facts->heading = value;
        return true;
    case LABEL_ACTION:
        read_action(reader, value);
        return true;
    case LABEL_LINK:
        facts->action_href = first_address(reader, value) != NULL ? first_address(reader, value) : facts->action_href;
        return first_address(reader, value) != NULL;
    case LABEL_TIME:
        (void)time_read(text_lower(reader->arena, value), &reader->time);
        return true;
    case LABEL_PLACE:
        reader->place = value;
        return true;
    case LABEL_ADDRESS:
        reader->address = value;
        return true;
    case LABEL_CODE:
        reader->code = value;
        return true;
    case LABEL_OFFER:
        reader->value = value;
        return true;
    case LABEL_TERMS:
        reader->terms = value;
        return true;
    case LABEL_SIGNER:
        read_signer(reader, value);
        return true;
    case LABEL_WHEN:
    case LABEL_ABOUT:
        return true;
    case LABEL_INSTRUCTION:
    case LABEL_NONE:
        break;
    }
    return false;
}

/* ---- Quoted words ---- */

/* Quoted words are the heading when the first sentence has them, or a word says so. */
static void take_quoted(struct brief_reader *reader, const char *before, const char *words, bool is_first)
{
    struct brief_facts *facts = reader->facts;
    size_t size;
    if (find_phrase(before, "button|cta|label|knopf|schaltfläche|bouton|botón", &size) != NULL)
        facts->action_label =
            facts->action_label != NULL ? facts->action_label : cut_line(reader->arena, words, ACTION_MAX_CHARS * 2);
    else if (find_phrase(before, "subject|betreff|objet|asunto", &size) != NULL)
        facts->subject = facts->subject != NULL ? facts->subject : words;
    else if (find_phrase(before, "code|coupon|voucher|gutschein|código|cupón", &size) != NULL)
        reader->code = reader->code != NULL ? reader->code : words;
    else if (find_phrase(before, "tagline|eyebrow|motto|slogan", &size) != NULL)
        facts->eyebrow = facts->eyebrow != NULL ? facts->eyebrow : words;
    else if (facts->heading == NULL && is_first && strchr(words, ' ') != NULL && utf8_length(words) <= QUOTED_MAX_CHARS)
        facts->heading = words;
    else if (facts->heading == NULL &&
             find_phrase(before, "heading|headline|title|called|named|überschrift|titel|namens|titre|título", &size) != NULL)
        facts->heading = words;
}

static void read_quoted(struct brief_reader *reader)
{
    const char *close;
    size_t first = sentence_size(reader->prompt);
    for (const char *at = reader->prompt; *at != '\0'; at++) {
        size_t size = quote_open(at, &close);
        bool is_start = size > 0 && (at == reader->prompt || !is_word_part(at[-1]) || size > 1);
        const char *end = is_start ? strstr(at + size, close) : NULL;
        const char *tag = strstr(at, "}}");
        if (end == NULL || end == at + size || memchr(at, '\n', (size_t)(end - at)) != NULL ||
            (tag != NULL && strchr(at, '{') > tag))
            continue;
        size_t offset = (size_t)(at - reader->prompt);
        size_t width = offset < BEFORE_MAX_BYTES ? offset : BEFORE_MAX_BYTES;
        const char *before = arena_dup_bytes(reader->arena, reader->lower + offset - width, width);
        take_quoted(reader, before, line_of(reader->arena, at + size, (size_t)(end - at) - size), offset < first);
        at = end + strlen(close) - 1;
    }
}

/* ---- Codes and percents ---- */

static bool is_code(const char *text, size_t size)
{
    size_t letters = 0;
    for (size_t i = 0; i < size; i++)
        letters += isupper((unsigned char)text[i]) != 0;
    return size >= CODE_MIN && size <= CODE_MAX && letters > 0;
}

static void read_code(struct brief_reader *reader)
{
    static const char words[] = "code |code: |gutscheincode |gutschein |coupon |voucher |código |cupón ";
    size_t size;
    for (const char *at = find_phrase(reader->lower, words, &size); at != NULL && reader->code == NULL;
         at = find_phrase(at + size, words, &size)) {
        const char *word = reader->prompt + (at - reader->lower) + size;
        word += strspn(word, "*`\"'");
        size_t width = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
        if (is_code(word, width) && !islower((unsigned char)word[width]))
            reader->code = line_of(reader->arena, word, width);
    }
}

static const char *percent_before(const char *text, const char *sign)
{
    while (sign > text && (sign[-1] == ' ' || (unsigned char)sign[-1] == 0xA0 || (unsigned char)sign[-1] == 0xC2))
        sign--;
    const char *number = sign;
    while (number > text && (isdigit((unsigned char)number[-1]) || strchr(".,", number[-1]) != NULL))
        number--;
    return number < sign && isdigit((unsigned char)*number) ? number : NULL;
}

/* "20% off all tools": a percent with the words of a discount behind it. */
static const char *discount_at(struct brief_reader *reader, const char *sign, size_t width)
{
    static const char words[] =
        " off| discount| rabatt| nachlass| de réduction| de remise| de descuento| de rebaja| günstiger| sparen";
    const char *number = percent_before(reader->lower, sign);
    size_t size;
    const char *word = find_phrase(sign + width, words, &size);
    if (number == NULL || word == NULL || word != sign + width)
        return NULL;
    size_t whole = (size_t)(word - number) + words_topic_size(word);
    const char *text = line_of(reader->arena, reader->prompt + (number - reader->lower), whole);
    size_t least = (size_t)(word - number) + size;
    return whole > least && utf8_length(text) <= VALUE_MAX_CHARS
               ? text
               : line_of(reader->arena, reader->prompt + (number - reader->lower), least);
}

static void read_percent(struct brief_reader *reader)
{
    static const char signs[] = "%|percent|prozent";
    const char *other = NULL;
    size_t size;
    for (const char *at = find_phrase(reader->lower, signs, &size); at != NULL; at = find_phrase(at + size, signs, &size)) {
        const char *value = discount_at(reader, at, size);
        if (value != NULL && reader->value == NULL)
            reader->value = value;
        else if (value != NULL)
            other = value;
    }
    if (other != NULL && !text_equal(other, reader->value))
        brief_warn(reader, "The brief names several discounts. The offer shows the first one.");
}

/* A path such as payload.items, which a block of products repeats. */
static void read_path(struct brief_reader *reader)
{
    const char *at = strstr(reader->prompt, "payload.");
    size_t size = at != NULL ? strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") : 0;
    while (size > 0 && at[size - 1] == '.')
        size--;
    size_t length;
    const char *path = at != NULL ? line_of(reader->arena, at, size) : "";
    if (size > strlen("payload.") && size < 100 && find_phrase(path, "items|products|lines|cart|basket", &length) == NULL)
        return;
    if (size > strlen("payload."))
        reader->facts->each = path;
}

void brief_read_words(struct brief_reader *reader)
{
    read_quoted(reader);
    read_code(reader);
    read_percent(reader);
    read_path(reader);
    if (reader->facts->action_href == NULL)
        reader->facts->action_href = first_address(reader, reader->prompt);
}

/* ---- Offer and event ---- */

static const char *moment_of(struct brief_reader *reader, int64_t day, int minute)
{
    char moment[MOMENT_CHARS + 1];
    moment_write(day, minute, moment);
    return arena_dup(reader->arena, moment);
}

static const struct found_date *end_date(const struct brief_reader *reader)
{
    for (size_t i = 0; i < reader->date_count; i++)
        if (reader->dates[i].is_end)
            return &reader->dates[i];
    return NULL;
}

static void settle_offer(struct brief_reader *reader)
{
    const struct found_date *until = end_date(reader);
    const char *value = reader->value;
    if (value == NULL && reader->code == NULL)
        return;
    const char *heading = reader->facts->heading != NULL ? reader->facts->heading : reader->facts->topic;
    json_t *offer = json_in_arena(reader->arena, json_object());
    /* The topic of a welcome is no offer; its code stands alone. */
    bool is_code = value == NULL && fixed_heading(reader->arena, reader->facts->language, reader->facts->category, "") != NULL;
    const char *words = is_code ? reader->code : heading;
    set_text(reader->arena, offer, "value", value != NULL ? capital(reader->arena, value) : words, 120);
    if (!is_code)
        set_text(reader->arena, offer, "code", reader->code, 60);
    set_text(reader->arena, offer, "terms", reader->terms, 1000);
    if (until != NULL)
        json_object_set_new(offer, "until", json_string(moment_of(reader, until->day, until->minute)));
    if (json_object_get(offer, "value") != NULL)
        reader->facts->offer = offer;
}

/* A time that stands apart from its date. */
static void find_time(struct brief_reader *reader, struct found_date *date)
{
    date->minute = reader->time;
    for (const char *at = reader->lower; *at != '\0' && date->minute < 0; at++)
        if (isdigit((unsigned char)*at) && (at == reader->lower || (!is_word_part(at[-1]) && strchr(".,:/-", at[-1]) == NULL)))
            (void)time_read(at, &date->minute);
}

/* The end of an event; returns the last date that belongs to it. */
static const struct found_date *set_end(struct brief_reader *reader, json_t *event, const struct found_date *start)
{
    const struct found_date *next = start + 1;
    bool is_range = next < reader->dates + reader->date_count && next->begin >= start->end &&
                    next->begin - start->end <= RANGE_GAP_MAX && next->day > start->day &&
                    (next->minute < 0) == (start->minute < 0);
    if (start->end_minute > start->minute)
        json_object_set_new(event, "ends", json_string(moment_of(reader, start->day, start->end_minute)));
    else if (is_range)
        json_object_set_new(event, "ends", json_string(moment_of(reader, next->day, next->minute)));
    return is_range ? next : start;
}

static void warn_of_dates(struct brief_reader *reader, const struct found_date *start, const struct found_date *end)
{
    for (const struct found_date *date = end + 1; date < reader->dates + reader->date_count; date++)
        if (!date->is_end && date->day != start->day && date->day != end->day)
            brief_warn(reader, "The brief names several dates. The event shows the first one.");
}

static void settle_event(struct brief_reader *reader)
{
    bool is_event = text_starts_with(reader->facts->category, "event-") || reader->place != NULL || reader->address != NULL;
    struct found_date *start = NULL;
    for (size_t i = 0; i < reader->date_count && start == NULL; i++)
        if (!reader->dates[i].is_end)
            start = &reader->dates[i];
    if (start == NULL || (!is_event && start->minute < 0))
        return;
    if (start->minute < 0)
        find_time(reader, start);
    json_t *event = json_in_arena(reader->arena, json_object());
    json_object_set_new(event, "starts", json_string(moment_of(reader, start->day, start->minute)));
    warn_of_dates(reader, start, set_end(reader, event, start));
    set_text(reader->arena, event, "place", reader->place, 200);
    set_text(reader->arena, event, "address", reader->address, 300);
    reader->facts->event = event;
}

void brief_settle(struct brief_reader *reader)
{
    const char **moments = arena_array(reader->arena, reader->date_count * 2 + 1, sizeof(*moments));
    settle_event(reader);
    settle_offer(reader);
    for (size_t i = 0; i < reader->date_count; i++) {
        moments[i * 2] = moment_of(reader, reader->dates[i].day, reader->dates[i].minute);
        moments[i * 2 + 1] = moment_of(reader, reader->dates[i].day, reader->dates[i].end_minute);
    }
    reader->facts->moments = (struct text_list){ .items = moments, .count = reader->date_count * 2 };
}
