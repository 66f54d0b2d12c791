#include "designer/brief.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_body.h"
#include "designer/brief_facts.h"
#include "designer/brief_text.h"
#include "designer/brief_words.h"
#include "designer/fixed_phrases.h"
#include "template/zone.h"

#include <ctype.h>
#include <string.h>

enum {
    TEXT_MAX_BYTES = 128 * 1024,
    HEADING_MAX_CHARS = 90,
    LABEL_NAME_MAX_BYTES = 40,
    STORY_MAX_CHARS = 320,
    PRODUCTS_MAX = 12,
    LEAD_MAX_CHARS = 400,
    EYEBROW_MAX_BYTES = 32,
    EYEBROW_HEADING_MIN = 12,
    ACTION_NAME_MAX_BYTES = 30,
    SECONDS_PER_DAY = 24 * 60 * 60,
};

/* ---- Sentences of a prompt ---- */

/* "Summer sale email" is the topic "Summer sale". */
static const char *without_kind(struct brief_reader *reader, const char *topic)
{
    static const char *const kinds[] = { " email", " e-mail", " mail", " newsletter", NULL };
    size_t size = strlen(topic);
    for (const char *const *kind = kinds; *kind != NULL; kind++)
        if (size > strlen(*kind) && strcasecmp(topic + size - strlen(*kind), *kind) == 0)
            return line_of(reader->arena, topic, size - strlen(*kind));
    return topic;
}

/* The heading of a topic: "our spring sale" becomes "Our spring sale". */
static const char *topic_heading(struct brief_reader *reader, const char *topic, size_t size)
{
    const char *lower = text_lower(reader->arena, topic);
    size_t skip = words_determiner(lower, reader->facts->language);
    const char *text = size > skip ? line_of(reader->arena, topic + skip, size - skip) : "";
    size_t quote = strspn(text, "\"'");
    text = without_kind(reader, text);
    return cut_line(reader->arena, capital(reader->arena, text + quote), HEADING_MAX_CHARS);
}

/* Words behind the topic that say more of it, and the whole topic when they belong to it. */
static const char *topic_lead(struct brief_reader *reader, const char *topic, size_t size)
{
    const char *rest = topic + size;
    size_t address;
    rest += strspn(rest, " ");
    bool is_apart = strspn(rest, ":;.-") > 0 || text_starts_with(rest, "–") || text_starts_with(rest, "—");
    if (is_apart)
        rest += strspn(rest, ":;,.- ") > 0 ? strspn(rest, ":;,.- ") : 4;
    const char *lead = is_apart ? rest : topic;
    if (*line_of(reader->arena, rest, strcspn(rest, ".!?")) == '\0' || find_address(lead, &address) == lead ||
        utf8_length(lead) > LEAD_MAX_CHARS)
        return NULL;
    return capital(reader->arena, line_of(reader->arena, lead, strlen(lead)));
}

static bool has_fixed_heading(const struct brief_reader *reader)
{
    return fixed_heading(reader->arena, reader->facts->language, reader->facts->category, "") != NULL;
}

/* "New feature: invoices are matched" has an eyebrow and a heading. */
static bool read_eyebrow(struct brief_reader *reader, const char *sentence)
{
    size_t colon = strcspn(sentence, ":");
    size_t size;
    if (sentence[colon] != ':' || sentence[colon + 1] != ' ' || colon > EYEBROW_MAX_BYTES || has_fixed_heading(reader))
        return false;
    const char *rest = line_of(reader->arena, sentence + colon + 2, strlen(sentence + colon + 2));
    size_t length = strlen(rest);
    if (utf8_length(rest) > HEADING_MAX_CHARS || length < EYEBROW_HEADING_MIN || find_address(rest, &size) != NULL)
        return false;
    rest = arena_dup_bytes(reader->arena, rest, rest[length - 1] == '.' ? length - 1 : length);
    reader->facts->eyebrow = capital(reader->arena, line_of(reader->arena, sentence, colon));
    reader->facts->topic = capital(reader->arena, rest);
    return true;
}

/* Where the topic of an instruction such as "Write an email: …" begins; 0: it has none. */
static size_t instruction_topic(const char *lower)
{
    size_t at = words_topic(lower);
    size_t colon = strcspn(lower, ":");
    bool has_colon = lower[colon] == ':' && lower[colon + 1] == ' ';
    static const char writes[] =
        "write|create|make|draft|design|schreib|erstell|verfass|écri|rédig|crée|escrib|redacta|crea|prepar";
    size_t size;
    if (at == 0 && has_colon && find_phrase(lower, writes, &size) == lower)
        at = colon + 2;
    return at;
}

/* The size of several topics, such as "tea, cake and music", at the beginning of a text; 0: there are not several, or they are too
 * long for a heading. Behind "Newsletter: ", two are enough. */
static size_t topics_size(const char *lower, bool is_said)
{
    size_t size = sentence_size(lower);
    size_t commas = 0;
    while (size > 0 && strchr(" .!?\n", lower[size - 1]) != NULL)
        size--;
    for (size_t i = 0; i < size; i++) {
        commas += lower[i] == ',' && lower[i + 1] == ' ';
        if (isdigit((unsigned char)lower[i]) || strchr(":;({%\n", lower[i]) != NULL)
            return 0;
    }
    size_t wanted = is_said || words_join_topics(lower, size) ? 1 : 2;
    return commas >= wanted && size <= HEADING_MAX_CHARS ? size : 0;
}

/* Where the topics begin behind "Newsletter: " or "Newsletter with three topics: "; 0: the sentence has no such words. */
static size_t said_topic(const char *lower, size_t size)
{
    size_t colon = strcspn(lower, ":.!?\n");
    if (lower[size] == ':')
        return size + 1 + strspn(lower + size + 1, " ");
    return words_topic(lower) == 0 && text_starts_with(lower + colon, ": ") ? colon + 2 : 0;
}

static void read_topic(struct brief_reader *reader, const char *sentence)
{
    const char *lower = text_lower(reader->arena, sentence);
    bool instructs = words_instruct(lower);
    size_t at = instructs ? instruction_topic(lower) : 0;
    if (instructs && at == 0)
        return;
    size_t size = words_topic_size(lower + at);
    bool names_email = words_name_email(arena_dup_bytes(reader->arena, lower + at, size));
    if (!instructs && !names_email && read_eyebrow(reader, sentence))
        return;
    bool is_said = lower[at + size] == ':';
    if (!instructs && names_email) {
        size_t said = said_topic(lower, size);
        is_said = is_said || said > 0;
        at = said > 0 ? said : words_topic(lower);
        size = words_topic_size(lower + at);
    }
    size_t all = topics_size(lower + at, is_said);
    size = all > 0 ? all : size;
    const char *heading = topic_heading(reader, sentence + at, size);
    if (*heading == '\0')
        return;
    if (reader->facts->topic == NULL)
        reader->facts->topic = heading;
    if (reader->facts->lead == NULL)
        reader->facts->lead = all > 0 ? heading : topic_lead(reader, sentence + at, size);
    /* "Ask for feedback on the last order" is no text for readers. */
    if ((instructs || (names_email && !is_said)) && has_fixed_heading(reader) && reader->facts->lead != NULL &&
        strcasestr(reader->facts->lead, heading) != NULL)
        reader->facts->lead = NULL;
}

/* "Mention our loyalty card" asks for a point; "Include a link" is about the email. */
static void read_wish(struct brief_reader *reader, const char *sentence, const char *lower)
{
    static const char wishes[] = "mention |also mention |highlight |erwähne |mentionne |mentionnez |menciona ";
    static const char about_email[] =
        "link|button|image|picture|photo|logo|tone|short|emoji|greeting|bild|knopf|bouton|botón|imagen";
    size_t size;
    size_t other;
    const char *wish = find_phrase(lower, wishes, &size);
    if (wish != lower || find_phrase(lower, about_email, &other) != NULL)
        return;
    const char *point = line_of(reader->arena, sentence + size, strcspn(sentence + size, ".!?"));
    if (*point != '\0')
        json_array_append_new(reader->points,
                              json_string(safe_template(reader->arena, capital(reader->arena, point), &reader->has_mistake)));
}

/* "Full notes: https://…" is the main button with its label. */
static bool read_named_link(struct brief_reader *reader, const char *line, size_t size, const char *value)
{
    struct brief_facts *facts = reader->facts;
    size_t address;
    bool is_bare = find_address(value, &address) == value && value[address] == '\0' && address < 2048;
    if (!is_bare || facts->action_href != NULL || facts->action_label != NULL)
        return false;
    size_t skip = strspn(line, "*-• ");
    facts->action_label = capital(reader->arena, line_of(reader->arena, line + skip, size - skip));
    facts->action_href = arena_dup(reader->arena, value);
    return true;
}

/* A line "Label: value". */
static bool read_labelled(struct brief_reader *reader, const char *line, const char **ret_value)
{
    size_t size = strcspn(line, ":");
    if (line[size] != ':' || size == 0 || size > LABEL_NAME_MAX_BYTES || (line[size + 1] != ' ' && line[size + 1] != '\0'))
        return false;
    const char *name = line_of(reader->arena, line + strspn(line, "*-• "), size - strspn(line, "*-• "));
    const char *value = line_of(reader->arena, line + size + 1, strlen(line + size + 1));
    name = text_lower(reader->arena, name);
    value += text_starts_with(value, "** ") ? 3 : 0;
    if (words_label(name) == LABEL_INSTRUCTION)
        *ret_value = value;
    if (words_label(name) == LABEL_NONE && size <= ACTION_NAME_MAX_BYTES && read_named_link(reader, line, size, value))
        return true;
    return words_label(name) == LABEL_INSTRUCTION ||
           brief_read_label(reader, name, safe_template(reader->arena, value, &reader->has_mistake));
}

/* "ships at once and that it is free" begins a main clause without its "that". */
static const char *without_that(struct arena *arena, const char *text)
{
    const char *that = strstr(text, " and that ");
    return that == NULL ? text : arena_printf(arena, "%.*s and %s", (int)(that - text), text, that + strlen(" and that "));
}

/* Sentences that begin like an instruction to us and are one to readers: "Write to help@…", "Invite a friend and …". */
static bool is_for_readers(const struct brief_reader *reader, const char *sentence, const char *lower)
{
    static const char friends[] = "invite a friend|invite your|share your|tell a friend|lade freunde|laden sie|invitez |invita a ";
    size_t size;
    bool is_referral = text_equal(reader->facts->category, "referral") && find_phrase(lower, friends, &size) == lower;
    return is_referral || strchr(sentence, '@') != NULL;
}

/* The words of a sentence for readers; NULL: it is an instruction. */
static const char *read_sentence(struct brief_reader *reader, const char *sentence)
{
    const char *lower = text_lower(reader->arena, sentence);
    const char *value = NULL;
    bool is_first = reader->is_first;
    size_t address;
    if (find_address(sentence, &address) == sentence && sentence[address] == '\0')
        return NULL;
    if (read_labelled(reader, sentence, &value) && value == NULL)
        return NULL;
    reader->is_first = false;
    size_t skip = words_mention(lower);
    if (skip > 0)
        return capital(reader->arena, without_that(reader->arena, sentence + skip));
    if (words_instruct(lower) && (is_first || !is_for_readers(reader, sentence, lower))) {
        if (is_first || reader->facts->topic == NULL)
            read_topic(reader, sentence);
        read_wish(reader, sentence, lower);
        return NULL;
    }
    if (is_first && reader->facts->topic == NULL && words_topic_size(lower) <= HEADING_MAX_CHARS) {
        read_topic(reader, sentence);
        return NULL;
    }
    return sentence;
}

static const char *edit_paragraph(void *context, const char *paragraph)
{
    struct brief_reader *reader = context;
    struct buf *kept = buf_in_arena(reader->arena, TEXT_MAX_BYTES);
    while (*paragraph != '\0') {
        size_t size = sentence_size(paragraph);
        const char *sentence = line_of(reader->arena, paragraph, size);
        const char *words = *sentence != '\0' ? read_sentence(reader, sentence) : NULL;
        if (words != NULL)
            buf_printf(kept, "%s%s", kept->size > 0 ? " " : "", words);
        paragraph += size;
    }
    return kept->size > 0 ? arena_dup(reader->arena, buf_text(kept)) : NULL;
}

/* The prompt without its labelled lines. */
static const char *take_labels(struct brief_reader *reader)
{
    struct buf *rest = buf_in_arena(reader->arena, TEXT_MAX_BYTES);
    for (const char *at = reader->prompt; *at != '\0';) {
        size_t size = strcspn(at, "\n");
        const char *line = line_of(reader->arena, at, size);
        const char *value = "";
        bool is_labelled = read_labelled(reader, line, &value);
        buf_add_text(rest, is_labelled ? value : arena_printf(reader->arena, "%.*s", (int)size, at));
        buf_add_char(rest, '\n');
        at += size + (at[size] == '\n');
    }
    return arena_dup(reader->arena, buf_text(rest));
}

/* ---- Markdown that is taken word for word ---- */

static const char *fence_of(const char *text, size_t *ret_begin, size_t *ret_size)
{
    const char *open = strstr(text, "```");
    const char *line = open != NULL ? strchr(open, '\n') : NULL;
    const char *close = line != NULL ? strstr(line, "\n```") : NULL;
    if (close == NULL)
        return NULL;
    *ret_begin = (size_t)(open - text);
    *ret_size = (size_t)(close - line);
    return line + 1;
}

static const char *after_rule(const char *text, size_t *ret_begin)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        size_t size = strcspn(line, "\r\n");
        if (size == 3 && strncmp(line, "---", 3) == 0) {
            *ret_begin = (size_t)(line - text);
            return line + 3 + strspn(line + 3, "\r\n");
        }
    }
    return NULL;
}

static void split_prompt(struct brief_reader *reader)
{
    size_t begin = 0;
    size_t size = 0;
    const char *raw = reader->brief->prompt;
    const char *markdown = fence_of(raw, &begin, &size);
    if (markdown != NULL)
        markdown = arena_printf(reader->arena, "%.*s", (int)size, markdown);
    else
        markdown = after_rule(raw, &begin);
    if (markdown != NULL && *text_trim(reader->arena, markdown) == '\0')
        markdown = NULL;
    reader->markdown = markdown;
    reader->prompt = markdown != NULL ? arena_printf(reader->arena, "%.*s", (int)begin, raw) : raw;
    reader->lower = text_lower(reader->arena, reader->prompt);
    reader->facts->is_verbatim = markdown != NULL;
}

static void read_markdown(struct brief_reader *reader)
{
    struct body body;
    body_init(&body, reader->arena);
    body_read(&body, reader->markdown);
    reader->facts->heading = body.title;
    reader->facts->lead = NULL;
    reader->facts->body = body.blocks;
    reader->has_mistake = reader->has_mistake || body.has_mistake;
}

static void add_points(struct brief_reader *reader, json_t *blocks)
{
    if (json_array_size(reader->points) > 0)
        json_array_append_new(blocks, json_pack("{ss so}", "type", "list", "items", json_deep_copy(reader->points)));
}

static void read_prompt(struct brief_reader *reader, const char *rest)
{
    struct body body;
    body_init(&body, reader->arena);
    body.edit = edit_paragraph;
    body.context = reader;
    reader->is_first = true;
    body_read(&body, rest);
    if (body.title != NULL)
        reader->facts->heading = body.title;
    add_points(reader, body.blocks);
    reader->facts->body = body.blocks;
    reader->has_mistake = reader->has_mistake || body.has_mistake;
}

/* ---- Pages ---- */

static const char *safe_address(struct brief_reader *reader, const char *address)
{
    size_t size;
    bool is_address = address != NULL && strlen(address) < 2048 && find_address(address, &size) == address && address[size] == '\0';
    return is_address ? arena_dup(reader->arena, address) : NULL;
}

static json_t *picture_of(struct brief_reader *reader, const char *source, const char *alt)
{
    if (safe_address(reader, source) == NULL)
        return NULL;
    json_t *picture = json_in_arena(reader->arena, json_pack("{ss}", "src", source));
    json_object_set_new(
        picture, "alt",
        json_string(without_tags(reader->arena, line_of(reader->arena, alt != NULL ? alt : "", alt != NULL ? strlen(alt) : 0))));
    return picture;
}

static void set_page_text(struct brief_reader *reader, json_t *object, const char *name, const char *text, size_t max)
{
    if (text != NULL)
        set_text(reader->arena, object, name, without_tags(reader->arena, line_of(reader->arena, text, strlen(text))), max);
}

static void add_product(struct brief_reader *reader, const json_t *declared, json_t *products)
{
    json_t *item = json_in_arena(reader->arena, json_object());
    set_page_text(reader, item, "name", json_get_text(declared, "name"), 200);
    set_page_text(reader, item, "text", json_get_text(declared, "text"), STORY_MAX_CHARS);
    set_page_text(reader, item, "price", json_get_text(declared, "price"), 60);
    json_t *picture = picture_of(reader, json_get_text(declared, "image"), json_get_text(declared, "name"));
    if (picture != NULL)
        json_object_set(item, "image", picture);
    set_text(reader->arena, item, "href", safe_address(reader, json_get_text(declared, "href")), 2048);
    if (json_object_get(item, "name") != NULL && json_array_size(products) < PRODUCTS_MAX)
        json_array_append(products, item);
}

static void add_event(struct brief_reader *reader, const json_t *declared)
{
    const char *starts = json_get_text(declared, "starts");
    size_t size = starts == NULL ? 0 : strlen(starts) >= MOMENT_CHARS ? MOMENT_CHARS : 10;
    bool is_moment = size > 0 && strlen(starts) >= 10 && starts[4] == '-' && starts[7] == '-' && (size == 10 || starts[10] == 'T');
    if (!is_moment || reader->facts->event != NULL)
        return;
    json_t *event = json_in_arena(reader->arena, json_object());
    json_object_set_new(event, "starts", json_stringn(starts, size));
    set_page_text(reader, event, "place", json_get_text(declared, "place"), 200);
    set_page_text(reader, event, "address", json_get_text(declared, "address"), 300);
    reader->facts->event = event;
}

static json_t *story_of(struct brief_reader *reader, const struct brief_page *page, json_t *picture)
{
    json_t *story = json_in_arena(reader->arena, json_object());
    if (picture != NULL)
        json_object_set(story, "image", picture);
    set_page_text(reader, story, "heading", page->title, 200);
    size_t paragraph = page->text != NULL ? strcspn(page->text, "\n") : 0;
    const char *text = page->description != NULL ? page->description
                       : page->text != NULL      ? line_of(reader->arena, page->text, paragraph)
                                                 : NULL;
    set_page_text(reader, story, "text", text, STORY_MAX_CHARS);
    return story;
}

static void read_page(struct brief_reader *reader, const struct brief_page *page, json_t *products, json_t *stories)
{
    if (page->problem != NULL) {
        brief_warn(reader, page->problem);
        return;
    }
    const json_t *first = json_array_get(page->pictures, 0);
    json_t *picture = picture_of(reader, json_get_text(first, "src"), json_get_text(first, "alt"));
    for (size_t i = 0; i < json_array_size(page->products); i++)
        add_product(reader, json_array_get(page->products, i), products);
    add_event(reader, json_array_get(page->events, 0));
    if (reader->facts->picture == NULL)
        reader->facts->picture = picture;
    if (reader->facts->action_href == NULL)
        reader->facts->action_href = safe_address(reader, page->url);
    json_t *story = story_of(reader, page, picture);
    if (json_array_size(page->products) > 0 || json_object_get(story, "heading") == NULL)
        return;
    json_object_set_new(story, "href", json_string(page->url));
    json_array_append(stories, story);
}

static void read_pages(struct brief_reader *reader)
{
    json_t *products = json_in_arena(reader->arena, json_array());
    json_t *stories = json_in_arena(reader->arena, json_array());
    for (size_t i = 0; i < reader->brief->page_count && i < BRIEF_PAGES_MAX; i++)
        read_page(reader, &reader->brief->pages[i], products, stories);
    reader->facts->products = products;
    reader->facts->stories = stories;
}

/* ---- The whole brief ---- */

static int64_t today_of(const struct brief *brief)
{
    int64_t now = brief->now_us / 1000000;
    return (now + template_zone_offset_s(brief->brand.zone, now)) / SECONDS_PER_DAY;
}

static void read_language(struct brief_reader *reader)
{
    const char *words = reader->markdown != NULL ? reader->markdown : reader->prompt;
    reader->facts->language = words_language(reader->arena, words, reader->brief->brand.locale);
}

static void read_category(struct brief_reader *reader)
{
    bool is_bare = reader->markdown != NULL && *text_trim(reader->arena, reader->prompt) == '\0';
    const char *text = is_bare ? reader->markdown : reader->prompt;
    const char *words = text_lower(reader->arena, text);
    const char *first = words_category(arena_dup_bytes(reader->arena, words, sentence_size(text)));
    /* "Children are welcome" at the end of an invitation makes no welcome email. */
    const char *found = text_equal(first, "general") ? words_category(words) : first;
    reader->facts->category = reader->brief->category != NULL ? reader->brief->category : found;
}

static void make_safe(struct brief_reader *reader)
{
    struct brief_facts *facts = reader->facts;
    const char **texts[] = { &facts->subject, &facts->preview, &facts->heading,     &facts->topic,
                             &facts->eyebrow, &facts->lead,    &facts->action_label };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (*texts[i] != NULL)
            *texts[i] = safe_template(reader->arena, *texts[i], &reader->has_mistake);
    if (facts->lead != NULL)
        facts->lead = link_addresses(reader->arena, facts->lead);
    if (reader->has_mistake)
        brief_warn(reader, "A merge tag of the brief has a mistake. It is left out.");
}

const struct brief_facts *brief_read(struct arena *arena, const struct brief *brief)
{
    struct brief_reader *reader = arena_alloc(arena, sizeof(*reader));
    struct brief_facts *facts = arena_alloc(arena, sizeof(*facts));
    *reader = (struct brief_reader){ .arena = arena, .brief = brief, .facts = facts, .time = -1 };
    reader->points = json_in_arena(arena, json_array());
    reader->warnings = arena_array(arena, BRIEF_WARNINGS_MAX, sizeof(*reader->warnings));
    facts->warnings.items = reader->warnings;
    split_prompt(reader);
    read_language(reader);
    read_category(reader);
    reader->date_count =
        dates_find(reader->lower, today_of(brief), text_starts_with(facts->language, "en"), reader->dates, BRIEF_DATES_MAX);
    const char *rest = take_labels(reader);
    brief_read_words(reader);
    read_prompt(reader, rest);
    if (reader->markdown != NULL)
        read_markdown(reader);
    brief_settle(reader);
    read_pages(reader);
    make_safe(reader);
    return facts;
}
