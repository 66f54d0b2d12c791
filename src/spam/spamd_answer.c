/*
 * Answers of spamd: reads and checks them. The first line has the version of
 * the protocol and a status of sysexits.h, headers follow, then the body.
 *
 * A report is a text for people. Its table of rules comes after a line of
 * dashes. The text above it repeats the beginning of the message, so a line
 * there that looks like a rule counts for nothing.
 */
#include "spam/filter.h"

#include "base/buf.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    STATUS_MAX = 255,
    INDENT_OF_RULES_MAX = 4,
    REASON_MAX_CHARS = 80,
    DASHES_MIN = 4,
    DESCRIPTION_LINES_MAX = 10, /* more than the longest description of SpamAssassin has */
};

/* ---- Lines ---- */

/* Takes the next line off a text; false at its end. The line has no CR. */
static bool next_line(struct arena *arena, const char **at, const char **ret_line)
{
    if (**at == '\0')
        return false;
    size_t size = strcspn(*at, "\n");
    const char *line = *at;
    *at += size + (line[size] == '\n');
    *ret_line = arena_dup_bytes(arena, line, size > 0 && line[size - 1] == '\r' ? size - 1 : size);
    return true;
}

static bool read_decimal(const char *text, const char **ret_end, double *ret_number)
{
    char *end;
    text += strspn(text, " \t");
    if (text[strspn(text, "-+")] < '0' || text[strspn(text, "-+")] > '9')
        return false;
    errno = 0;
    *ret_number = strtod(text, &end);
    *ret_end = end;
    return errno == 0 && spam_is_score(*ret_number);
}

/* ---- Headers ---- */

static bool read_first_line(struct arena *arena, const char *line, struct error *err)
{
    const char *space = strchr(line, ' ');
    if (!text_starts_with(line, "SPAMD/") || space == NULL || space[1] < '0' || space[1] > '9')
        return spam_fail(err, "its answer is not one of spamd");
    long status = strtol(space + 1, NULL, 10);
    if (status < 0 || status > STATUS_MAX)
        return spam_fail(err, "its answer is not one of spamd");
    return status == 0 || spam_fail(err, "spamd answered “%s”", spam_text(arena, space + 1, REASON_MAX_CHARS));
}

/* Spam: True ; 5.6 / 5.0 */
static bool read_verdict(const char *value, struct spamd_answer *answer, struct error *err)
{
    const char *semicolon = strchr(value, ';');
    const char *end;
    value += strspn(value, " \t");
    answer->is_spam = strncasecmp(value, "true", 4) == 0 || strncasecmp(value, "yes", 3) == 0;
    answer->has_verdict = semicolon != NULL && read_decimal(semicolon + 1, &end, &answer->score) &&
                          end[strspn(end, " \t")] == '/' && read_decimal(end + strspn(end, " \t") + 1, &end, &answer->threshold);
    return answer->has_verdict || spam_fail(err, "the score in its answer cannot be read");
}

static const char *header_value(const char *line, const char *name)
{
    size_t size = strlen(name);
    return strncasecmp(line, name, size) == 0 && line[size] == ':' ? line + size + 1 : NULL;
}

static bool read_header(struct arena *arena, const char *line, struct spamd_answer *answer, int64_t *length, struct error *err)
{
    const char *verdict = header_value(line, "spam");
    const char *given = header_value(line, "content-length");
    if (verdict != NULL)
        return read_verdict(verdict, answer, err);
    if (given == NULL)
        return true;
    if (answer->has_body || !int64_parse(text_trim(arena, given), length) || *length < 0)
        return spam_fail(err, "the length in its answer cannot be read");
    answer->has_body = true;
    return true;
}

bool spamd_answer_read(struct arena *arena, const char *bytes, size_t size, struct spamd_answer *ret_answer, struct error *err)
{
    const char *text = arena_dup_bytes(arena, bytes, size);
    const char *at = text;
    const char *line;
    int64_t length = 0;
    *ret_answer = (struct spamd_answer){ .body = "" };
    if (strlen(text) != size || !next_line(arena, &at, &ret_answer->first_line))
        return spam_fail(err, size == 0 ? "it closed the connection without an answer" : "its answer is not one of spamd");
    if (!read_first_line(arena, ret_answer->first_line, err))
        return false;
    bool is_ended = *at == '\0'; /* PONG has no headers and no empty line */
    while (!is_ended && next_line(arena, &at, &line)) {
        is_ended = line[0] == '\0';
        if (!is_ended && !read_header(arena, line, ret_answer, &length, err))
            return false;
    }
    if (!is_ended)
        return spam_fail(err, "its answer was cut short");
    size_t left = size - (size_t)(at - text);
    if (ret_answer->has_body && (size_t)length != left)
        return spam_fail(err, (size_t)length > left ? "its answer was cut short" : "its answer is longer than it says");
    ret_answer->body = at;
    return true;
}

/* ---- The table of rules ---- */

static bool is_rule_above(const char *line)
{
    size_t dashes = strspn(line, "- ");
    return strncmp(line + strspn(line, " "), "----", DASHES_MIN) == 0 && line[dashes] == '\0' && strspn(line, " ") <= 1;
}

/* The text below the last line of dashes. */
static const char *find_table(struct arena *arena, const char *report)
{
    const char *table = NULL;
    const char *line;
    for (const char *at = report; next_line(arena, &at, &line);)
        if (is_rule_above(line))
            table = at;
    return table;
}

/* " 2.7 DEAR_FRIEND            BODY: Dear Friend? That's not very dear!" */
static bool read_rule(struct arena *arena, const char *line, struct spam_rule *ret_rule)
{
    const char *at;
    double score;
    if (strspn(line, " ") > INDENT_OF_RULES_MAX || !read_decimal(line, &at, &score) || *at != ' ')
        return false;
    at += strspn(at, " ");
    size_t size = strcspn(at, " ");
    const char *name = arena_dup_bytes(arena, at, size);
    *ret_rule = (struct spam_rule){
        .name = name,
        .score = score,
        .description = spam_text(arena, at + size, SPAM_DESCRIPTION_MAX_CHARS),
    };
    return spam_is_rule_name(name);
}

/* Adds a line that goes on with the description of a rule. */
static void add_to_description(struct arena *arena, const char *line, struct spam_rule *rule)
{
    const char *longer = arena_printf(arena, "%s %s", rule->description, line + strspn(line, " \t"));
    rule->description = spam_text(arena, longer, SPAM_DESCRIPTION_MAX_CHARS);
}

bool spamd_report_read(struct arena *arena, const char *report, struct spam_rule *rules, size_t *ret_count)
{
    const char *at = find_table(arena, report);
    const char *line;
    size_t count = 0;
    size_t more_lines = 0; /* of the description of the last rule */
    while (at != NULL && count < SPAM_RULES_MAX && next_line(arena, &at, &line)) {
        bool is_rule = read_rule(arena, line, &rules[count]);
        count += is_rule;
        more_lines = is_rule ? 0 : more_lines + 1;
        if (!is_rule && count > 0 && more_lines < DESCRIPTION_LINES_MAX && line[strspn(line, " \t")] != '\0')
            add_to_description(arena, line, &rules[count - 1]);
    }
    *ret_count = count;
    return at != NULL;
}
