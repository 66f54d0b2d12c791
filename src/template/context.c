#include "template/context.h"

#include <string.h>

static bool is_html_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
}

static bool is_tag_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static char html_lower(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    return byte;
}

static void name_clear(struct html_name *name)
{
    *name = (struct html_name){ .size = 0 };
}

static void name_add(struct html_name *name, char byte)
{
    if (name->size + 1 < sizeof(name->text))
        name->text[name->size] = html_lower(byte);
    name->size++;
}

static bool name_is_one_of(const struct html_name *name, const char *const *names, size_t count)
{
    if (name->size >= sizeof(name->text))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name->text, names[i]) == 0)
            return true;
    return false;
}

void html_scanner_init(struct html_scanner *scanner)
{
    *scanner = (struct html_scanner){ .state = HTML_TEXT };
}

static void value_begin(struct html_scanner *scanner, char quote)
{
    scanner->state = HTML_VALUE;
    scanner->quote = quote;
    memset(scanner->url_head, 0, sizeof(scanner->url_head));
    scanner->value_bytes = 0;
    scanner->value_has_query = false;
    scanner->value_is_ambiguous = false;
}

static void value_add(struct html_scanner *scanner, char byte)
{
    if (scanner->value_bytes == 0 && is_html_space(byte))
        return;
    if (scanner->value_bytes + 1 < sizeof(scanner->url_head))
        scanner->url_head[scanner->value_bytes] = html_lower(byte);
    scanner->value_bytes++;
    if (byte == '?' || byte == '#')
        scanner->value_has_query = true;
}

static void tag_begin(struct html_scanner *scanner, char byte, bool is_end_tag)
{
    scanner->state = HTML_TAG_NAME;
    scanner->is_end_tag = is_end_tag;
    name_clear(&scanner->tag);
    name_add(&scanner->tag, byte);
}

static bool is_void(const struct html_name *tag)
{
    static const char *const names[] = { "area", "base",  "basefont", "br",   "col",   "embed",  "frame", "hr",
                                         "img",  "input", "link",     "meta", "param", "source", "track", "wbr" };
    return name_is_one_of(tag, names, ARRAY_COUNT(names));
}

/* Handles the '>' of a tag. The following text of some elements is not tokenised. */
static void tag_end(struct html_scanner *scanner)
{
    if (!scanner->in_conditional && !is_void(&scanner->tag))
        scanner->open_elements += scanner->is_end_tag ? -1 : 1;
    static const char *const raw[] = { "style", "script", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext" };
    static const char *const title[] = { "title", "textarea" };
    scanner->state = HTML_TEXT;
    scanner->matched = 0;
    if (scanner->is_end_tag)
        return;
    if (name_is_one_of(&scanner->tag, raw, ARRAY_COUNT(raw)))
        scanner->state = HTML_RAW_TEXT;
    else if (name_is_one_of(&scanner->tag, title, ARRAY_COUNT(title)))
        scanner->state = HTML_TITLE;
}

/* Searches for "</tag" and a delimiter, which end raw text. */
static void scan_raw(struct html_scanner *scanner, char byte)
{
    const struct html_name *tag = &scanner->tag;
    size_t whole = 2 + tag->size;
    if (scanner->matched == whole && (is_html_space(byte) || byte == '/' || byte == '>')) {
        scanner->is_end_tag = true;
        scanner->state = HTML_BEFORE_ATTRIBUTE;
        if (byte == '>')
            tag_end(scanner);
        return;
    }
    bool continues = false;
    if (scanner->matched == 1)
        continues = byte == '/';
    else if (scanner->matched >= 2 && scanner->matched < whole)
        continues = html_lower(byte) == tag->text[scanner->matched - 2];
    if (continues)
        scanner->matched++;
    else
        scanner->matched = byte == '<';
}

/* After "<!": "--" begins a comment; any other markup ends at '>'. */
static void scan_markup(struct html_scanner *scanner, char byte)
{
    if (byte == '-') {
        scanner->matched++;
        if (scanner->matched == 2) {
            scanner->state = HTML_COMMENT;
            scanner->matched = 0;
        }
        return;
    }
    scanner->state = byte == '>' ? HTML_TEXT : HTML_BOGUS;
}

static void scan_comment(struct html_scanner *scanner, char byte)
{
    static const char conditional[] = "[if";
    if (byte == '>' && scanner->dashes >= 2) { /* also of "<!-->", which is a whole comment */
        scanner->state = HTML_TEXT;
        return;
    }
    if (scanner->matched > sizeof(conditional) - 1)
        return;
    if (scanner->matched == sizeof(conditional) - 1) {
        if (byte == '>') {
            scanner->in_conditional = true;
            scanner->state = HTML_TEXT;
        }
        return;
    }
    bool continues = html_lower(byte) == conditional[scanner->matched];
    scanner->matched = continues ? scanner->matched + 1 : sizeof(conditional);
}

static void scan_before_attribute(struct html_scanner *scanner, char byte)
{
    if (is_html_space(byte) || byte == '/')
        return;
    if (byte == '>') {
        tag_end(scanner);
        return;
    }
    scanner->state = HTML_ATTRIBUTE_NAME;
    name_clear(&scanner->attribute);
    name_add(&scanner->attribute, byte);
}

static void scan_after_name(struct html_scanner *scanner, char byte)
{
    if (byte == '=')
        scanner->state = HTML_BEFORE_VALUE;
    else if (is_html_space(byte))
        scanner->state = HTML_AFTER_ATTRIBUTE_NAME;
    else if (byte == '/' || byte == '>' || scanner->state == HTML_AFTER_ATTRIBUTE_NAME)
        scan_before_attribute(scanner, byte);
    else
        name_add(&scanner->attribute, byte);
    if (byte == '/')
        scanner->state = HTML_BEFORE_ATTRIBUTE;
}

static void scan_value(struct html_scanner *scanner, char byte)
{
    if (scanner->quote != 0 ? byte == scanner->quote : is_html_space(byte))
        scanner->state = HTML_BEFORE_ATTRIBUTE;
    else if (scanner->quote == 0 && byte == '>')
        tag_end(scanner);
    else
        value_add(scanner, byte);
}

static void scan_before_value(struct html_scanner *scanner, char byte)
{
    if (is_html_space(byte))
        return;
    if (byte == '>') {
        tag_end(scanner);
    } else if (byte == '"' || byte == '\'') {
        value_begin(scanner, byte);
    } else {
        value_begin(scanner, 0);
        value_add(scanner, byte);
    }
}

static void scan_tag_open(struct html_scanner *scanner, char byte)
{
    bool is_end_tag = scanner->state == HTML_END_TAG_OPEN;
    scanner->matched = 0;
    if (is_tag_letter(byte))
        tag_begin(scanner, byte, is_end_tag);
    else if (is_end_tag)
        scanner->state = byte == '>' ? HTML_TEXT : HTML_BOGUS;
    else if (byte == '/')
        scanner->state = HTML_END_TAG_OPEN;
    else if (byte == '!')
        scanner->state = HTML_MARKUP;
    else if (byte == '?')
        scanner->state = HTML_BOGUS;
    else if (byte != '<')
        scanner->state = HTML_TEXT;
}

static void scan_tag_name(struct html_scanner *scanner, char byte)
{
    if (is_html_space(byte) || byte == '/')
        scanner->state = HTML_BEFORE_ATTRIBUTE;
    else if (byte == '>')
        tag_end(scanner);
    else
        name_add(&scanner->tag, byte);
}

static void scan_byte(struct html_scanner *scanner, char byte)
{
    switch (scanner->state) {
    case HTML_TEXT:
        if (byte == '<')
            scanner->state = HTML_TAG_OPEN;
        break;
    case HTML_TAG_OPEN:
    case HTML_END_TAG_OPEN:
        scan_tag_open(scanner, byte);
        break;
    case HTML_TAG_NAME:
        scan_tag_name(scanner, byte);
        break;
    case HTML_BEFORE_ATTRIBUTE:
        scan_before_attribute(scanner, byte);
        break;
    case HTML_ATTRIBUTE_NAME:
    case HTML_AFTER_ATTRIBUTE_NAME:
        scan_after_name(scanner, byte);
        break;
    case HTML_BEFORE_VALUE:
        scan_before_value(scanner, byte);
        break;
    case HTML_VALUE:
        scan_value(scanner, byte);
        break;
    case HTML_MARKUP:
        scan_markup(scanner, byte);
        break;
    case HTML_BOGUS:
        if (byte == '>')
            scanner->state = HTML_TEXT;
        break;
    case HTML_COMMENT:
        scan_comment(scanner, byte);
        break;
    case HTML_RAW_TEXT:
    case HTML_TITLE:
        scan_raw(scanner, byte);
        break;
    }
}

void html_scan(struct html_scanner *scanner, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        bool ends_conditional = scanner->in_conditional && byte == '>' && scanner->dashes >= 2;
        if (ends_conditional) {
            /* Every client except Word ends the comment here, even inside an open element. */
            scanner->in_conditional = false;
            scanner->state = HTML_TEXT;
        } else {
            scan_byte(scanner, byte);
        }
        if (byte != '-')
            scanner->dashes = 0;
        else
            scanner->dashes++;
    }
}

static bool set_refusal(const char **ret_refusal, const char *where)
{
    *ret_refusal = where;
    return false;
}

static enum template_escape url_escape(const struct html_scanner *scanner)
{
    static const char *const opaque[] = { "tel:", "sms:", "mailto:" };
    if (scanner->value_bytes == 0)
        return TEMPLATE_ESCAPE_URL_START;
    for (size_t i = 0; i < ARRAY_COUNT(opaque); i++)
        if (strncmp(scanner->url_head, opaque[i], strlen(opaque[i])) == 0 && !scanner->value_has_query)
            return TEMPLATE_ESCAPE_URL_OPAQUE;
    return TEMPLATE_ESCAPE_URL_PART;
}

static bool is_url(const struct html_name *attribute)
{
    static const char *const names[] = { "href", "src",      "action", "formaction", "background",
                                         "cite", "longdesc", "poster", "data",       "xlink:href" };
    return name_is_one_of(attribute, names, ARRAY_COUNT(names));
}

static bool placeholder_in_value(struct html_scanner *scanner, enum template_escape *ret_escape, const char **ret_refusal)
{
    static const char *const style[] = { "style" };
    static const char *const lists[] = { "srcset", "srcdoc", "ping" };
    const struct html_name *name = &scanner->attribute;
    if (scanner->quote == 0)
        return set_refusal(ret_refusal, "in an attribute without quotes");
    if (strncmp(name->text, "on", 2) == 0)
        return set_refusal(ret_refusal, "in an event handler attribute");
    if (name_is_one_of(name, style, ARRAY_COUNT(style)))
        return set_refusal(ret_refusal, "in a style attribute");
    if (name_is_one_of(name, lists, ARRAY_COUNT(lists)))
        return set_refusal(ret_refusal, "in a srcset, srcdoc or ping attribute");

    *ret_escape = TEMPLATE_ESCAPE_HTML;
    if (is_url(name)) {
        if (scanner->value_is_ambiguous)
            return set_refusal(ret_refusal, "in a URL whose beginning depends on a tag before it");
        *ret_escape = url_escape(scanner);
        value_add(scanner, '.'); /* represents the value, so that the following text is inside the URL */
    }
    return true;
}

bool html_scan_placeholder(struct html_scanner *scanner, enum template_escape *ret_escape, const char **ret_refusal)
{
    scanner->dashes = 0;
    *ret_escape = TEMPLATE_ESCAPE_HTML;
    switch (scanner->state) {
    case HTML_TEXT:
        return true;
    case HTML_TITLE:
        return scanner->matched == 0 || set_refusal(ret_refusal, "inside a tag");
    case HTML_VALUE:
        return placeholder_in_value(scanner, ret_escape, ret_refusal);
    case HTML_BEFORE_VALUE:
        return set_refusal(ret_refusal, "in an attribute without quotes");
    case HTML_COMMENT:
        return set_refusal(ret_refusal, "inside a comment");
    case HTML_RAW_TEXT:
        if (strcmp(scanner->tag.text, "style") == 0)
            return set_refusal(ret_refusal, "inside a style element");
        if (strcmp(scanner->tag.text, "script") == 0)
            return set_refusal(ret_refusal, "inside a script element");
        return set_refusal(ret_refusal, "inside an element whose text is not HTML");
    case HTML_MARKUP:
    case HTML_BOGUS:
        return set_refusal(ret_refusal, "inside a declaration");
    case HTML_TAG_OPEN:
    case HTML_END_TAG_OPEN:
    case HTML_TAG_NAME:
    case HTML_BEFORE_ATTRIBUTE:
    case HTML_ATTRIBUTE_NAME:
    case HTML_AFTER_ATTRIBUTE_NAME:
        return set_refusal(ret_refusal, "inside a tag");
    }
    return set_refusal(ret_refusal, "inside a tag");
}

/* ---- Branches ---- */

bool html_scan_tag(const struct html_scanner *scanner, const char **ret_refusal)
{
    switch (scanner->state) {
    case HTML_TEXT:
    case HTML_VALUE:
    case HTML_RAW_TEXT:
    case HTML_TITLE:
    case HTML_BEFORE_ATTRIBUTE:
        return true;
    case HTML_COMMENT:
        return set_refusal(ret_refusal, "inside a comment");
    case HTML_MARKUP:
    case HTML_BOGUS:
        return set_refusal(ret_refusal, "inside a declaration");
    case HTML_BEFORE_VALUE:
        return set_refusal(ret_refusal, "in an attribute without quotes");
    case HTML_TAG_OPEN:
    case HTML_END_TAG_OPEN:
    case HTML_TAG_NAME:
    case HTML_ATTRIBUTE_NAME:
    case HTML_AFTER_ATTRIBUTE_NAME:
        break;
    }
    return set_refusal(ret_refusal, "inside an HTML name");
}

bool html_scan_is_text(const struct html_scanner *scanner)
{
    return scanner->state == HTML_TEXT && !scanner->in_conditional;
}

bool html_scan_is_link(const struct html_scanner *scanner)
{
    static const char *const href[] = { "href" };
    static const char *const tags[] = { "a", "area" };
    if (scanner->state != HTML_VALUE || scanner->quote == 0 || scanner->is_end_tag)
        return false;
    return name_is_one_of(&scanner->attribute, href, ARRAY_COUNT(href)) &&
           (name_is_one_of(&scanner->tag, tags, ARRAY_COUNT(tags)) || strncmp(scanner->tag.text, "v:", 2) == 0);
}

static bool names_are_equal(const struct html_name *left, const struct html_name *right)
{
    return left->size == right->size && strcmp(left->text, right->text) == 0;
}

/* True when a later placeholder would need different escapes after the two branches. */
static bool urls_differ(const struct html_scanner *left, const struct html_scanner *right)
{
    return url_escape(left) != url_escape(right) || left->value_is_ambiguous != right->value_is_ambiguous;
}

static bool tags_are_equal(const struct html_scanner *left, const struct html_scanner *right)
{
    return names_are_equal(&left->tag, &right->tag) && left->is_end_tag == right->is_end_tag;
}

bool html_scan_join(struct html_scanner *scanner, const struct html_scanner *branch, const char **ret_refusal)
{
    bool quotes_differ = scanner->state == HTML_VALUE && scanner->quote != branch->quote;
    if (scanner->state != branch->state || quotes_differ)
        return set_refusal(ret_refusal, "ends in a different part of the HTML than it begins in, or than its other branches");
    if (scanner->in_conditional != branch->in_conditional)
        return set_refusal(ret_refusal, "begins or ends a conditional comment");
    if (scanner->open_elements != branch->open_elements)
        return set_refusal(ret_refusal, "opens or closes an element that it does not close or open itself");
    bool in_tag = scanner->state == HTML_BEFORE_ATTRIBUTE || scanner->state == HTML_VALUE;
    bool in_raw = scanner->state == HTML_RAW_TEXT || scanner->state == HTML_TITLE;
    if ((in_tag || in_raw) && !tags_are_equal(scanner, branch))
        return set_refusal(ret_refusal, "ends in a different element than it begins in");
    if (in_raw && scanner->matched != branch->matched)
        return set_refusal(ret_refusal, "divides an end tag");
    if (scanner->in_conditional && scanner->dashes != branch->dashes)
        return set_refusal(ret_refusal, "divides the end of a comment");
    if (scanner->state == HTML_VALUE && !names_are_equal(&scanner->attribute, &branch->attribute))
        return set_refusal(ret_refusal, "ends in a different attribute than it begins in");
    if (scanner->state == HTML_VALUE && is_url(&scanner->attribute) && urls_differ(scanner, branch)) {
        scanner->value_is_ambiguous = true;
        if (branch->value_bytes > scanner->value_bytes)
            scanner->value_bytes = branch->value_bytes;
    }
    return true;
}
