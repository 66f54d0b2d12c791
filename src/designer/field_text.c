#include "designer/field_text.h"

#include "base/text.h"
#include "template/template.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char merge_tag[] = "{{";

/* ---- Characters ---- */

static bool has_line_breaks(enum document_kind kind)
{
    return kind == DOCUMENT_INLINE || kind == DOCUMENT_HTML;
}

/* Control characters have no meaning in any kind but line breaks and tabs. */
static bool has_controls(const char *text, bool allows_lines)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_allowed = allows_lines && (byte == '\n' || byte == '\t' || byte == '\r');
        if ((byte < ' ' || byte == 127) && !is_allowed)
            return true;
    }
    return false;
}

static bool consists_of(const char *text, const char *more)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(more, *text) == NULL)
            return false;
    return true;
}

/* ---- Kinds ---- */

static bool compiles(struct arena *arena, const char *source, struct error *err)
{
    struct bytes blob;
    return template_compile(arena, TEMPLATE_TEXT, source, strlen(source), &blob, err);
}

static bool check_name(const struct document_field *field, const char *text, struct error *err)
{
    static const char *const others[] = {
        [DOCUMENT_PATTERN_LANGUAGE] = "-",
        [DOCUMENT_PATTERN_FONTS] = " -,'\"",
        [DOCUMENT_PATTERN_TIME_ZONE] = "/_+-",
    };
    if (strstr(text, merge_tag) != NULL || strstr(text, "{%") != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "A merge tag is not possible here.");
    if (field->pattern != DOCUMENT_PATTERN_NONE && !consists_of(text, others[field->pattern]))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The text has a character that is not possible here.");
    return true;
}

static bool has_scheme(const char *text, const char *const *schemes)
{
    for (; *schemes != NULL; schemes++)
        if (strncasecmp(text, *schemes, strlen(*schemes)) == 0)
            return true;
    return false;
}

/* A merge tag may give the whole address, or a part behind the scheme. */
static bool check_address(struct arena *arena, const char *text, const char *const *schemes, const char *advice, struct error *err)
{
    if (!text_starts_with(text, merge_tag) && !has_scheme(text, schemes))
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s", advice);
    if (strstr(text, merge_tag) == NULL && strpbrk(text, " \"<>\\") != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The address has a character that is not possible in one.");
    return compiles(arena, text, err);
}

static bool check_link(struct arena *arena, const char *text, struct error *err)
{
    static const char *const schemes[] = { "https://", "http://", "mailto:", "tel:", "#", NULL };
    return check_address(arena, text, schemes, "A link begins with https://, http://, mailto:, tel: or #, or is a merge tag.", err);
}

static bool check_source(struct arena *arena, const char *text, struct error *err)
{
    static const char *const schemes[] = { "https://", "http://", NULL };
    return check_address(arena, text, schemes, "The address of a picture begins with https:// or http://, or is a merge tag.", err);
}

static const char *check_colour(struct arena *arena, const char *text, struct error *err)
{
    bool is_colour = strlen(text) == 7 && text[0] == '#' && strspn(text + 1, "0123456789abcdefABCDEF") == 6;
    if (!is_colour)
        fail(err, ERR_INVALID_REQUEST, NULL, "A colour is # and six hexadecimal digits.");
    return is_colour ? text_lower(arena, text) : NULL;
}

static bool fits_form(const char *text, const char *form)
{
    for (; *form != '\0'; form++, text++)
        if (*form == '0' ? !isdigit((unsigned char)*text) : *form != *text)
            return false;
    return *text == '\0';
}

/* A date, or a date and a time, both without a zone (ISO 8601). The calendar is checked where the time is shown. */
static bool check_moment(const char *text, struct error *err)
{
    static const char *const forms[] = { "0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (fits_form(text, forms[i]))
            return true;
    return fail(err, ERR_INVALID_REQUEST, NULL, "Give a date, or a date and a time without a zone: 2026-05-04T18:30.");
}

static bool check_condition(struct arena *arena, const char *text, struct error *err)
{
    if (strpbrk(text, "{}%") != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "A condition has no braces and no percent sign: contact.plan == 'pro'.");
    return compiles(arena, arena_printf(arena, "{%% if %s %%}1{%% endif %%}", text), err);
}

static bool check_path(const char *text, struct error *err)
{
    static const char root[] = "payload.";
    if (text_starts_with(text, root) && strlen(text) > strlen(root) && consists_of(text, "._"))
        return true;
    return fail(err, ERR_INVALID_REQUEST, NULL, "Give the path of an array in the payload: payload.items.");
}

static bool check_kind(struct arena *arena, const struct document_field *field, const char *text, struct error *err)
{
    switch (field->kind) {
    case DOCUMENT_INLINE:
    case DOCUMENT_PLAIN:
    case DOCUMENT_HTML:
        return compiles(arena, text, err);
    case DOCUMENT_NAME:
        return check_name(field, text, err);
    case DOCUMENT_LINK:
        return check_link(arena, text, err);
    case DOCUMENT_SOURCE:
        return check_source(arena, text, err);
    case DOCUMENT_MOMENT:
        return check_moment(text, err);
    case DOCUMENT_CONDITION:
        return check_condition(arena, text, err);
    case DOCUMENT_PATH:
        return check_path(text, err);
    case DOCUMENT_ID:
    case DOCUMENT_COLOUR:
    case DOCUMENT_ENUM:
    case DOCUMENT_INTEGER:
    case DOCUMENT_GROUP:
    case DOCUMENT_LIST:
        break;
    }
    return true;
}

const char *field_text_check(struct arena *arena, const struct document_field *field, const char *text, struct error *err)
{
    size_t length = utf8_length(text);
    if (field->kind == DOCUMENT_COLOUR)
        return check_colour(arena, text, err);
    if (length < (size_t)field->min || length > (size_t)field->max) {
        fail(err, ERR_INVALID_REQUEST, NULL, "Give %lld to %lld characters.", (long long)field->min, (long long)field->max);
        return NULL;
    }
    if (has_controls(text, has_line_breaks(field->kind))) {
        fail(err, ERR_INVALID_REQUEST, NULL, "The text has control characters.");
        return NULL;
    }
    return check_kind(arena, field, text, err) ? text : NULL;
}
