#include "net/robots.h"

#include "base/buf.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char own_token[] = "posthorn";

struct rule {
    const char *pattern; /* normalized */
    bool allows;
};

struct robots {
    struct rule rules[ROBOTS_MAX_RULES];
    size_t count;
    bool is_own; /* the rules are of a group that names this client */
};

/* ---- Paths ---- */

static bool is_unreserved(unsigned char byte)
{
    return isalnum(byte) || strchr("-._~", byte) != NULL;
}

static bool read_escape(const char *text, unsigned char *ret_byte)
{
    unsigned byte;
    bool is_escape = text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
    if (!is_escape || sscanf(text + 1, "%2x", &byte) != 1) // NOLINT(cert-err34-c): two hexadecimal digits
        return false;
    *ret_byte = (unsigned char)byte;
    return true;
}

/* Equal paths have equal texts (RFC 9309 §2.2.2): escapes of unreserved characters are decoded, other bytes are escaped. */
static const char *normalize(struct arena *arena, const char *path)
{
    struct buf *out = buf_in_arena(arena, 3 * strlen(path) + 1);
    while (*path != '\0') {
        unsigned char byte = (unsigned char)*path;
        bool was_escape = read_escape(path, &byte);
        path += was_escape ? 3 : 1;
        bool must_escape = was_escape ? !is_unreserved(byte) || byte == '\0' : byte >= 0x80;
        if (must_escape)
            buf_printf(out, "%%%02X", byte);
        else
            buf_add_char(out, (char)byte);
    }
    return buf_text(out);
}

/* Whether the pattern matches a beginning of the path. "*" stands for any characters, "$" at the end for the end of the path. The
 * first place of each text between stars will do, so no place is tried again. */
static bool pattern_matches(const char *pattern, const char *path)
{
    const char *end = path + strlen(path);
    bool is_first = true;
    for (;;) {
        size_t size = strcspn(pattern, "*");
        bool is_last = pattern[size] == '\0';
        bool is_end = is_last && size > 0 && pattern[size - 1] == '$';
        size -= is_end;
        if (is_end && !is_first)
            return (size_t)(end - path) >= size && memcmp(end - size, pattern, size) == 0;
        const char *found = is_first ? path : memmem(path, (size_t)(end - path), pattern, size);
        if (found == NULL || strncmp(found, pattern, size) != 0)
            return false;
        path = found + size;
        if (is_last)
            return !is_end || path == end;
        pattern += size + 1;
        is_first = false;
    }
}

/* ---- Parsing ---- */

struct line {
    const char *key; /* in lower case */
    const char *value;
};

static struct line read_line(struct arena *arena, const char *text, size_t size)
{
    const char *hash = memchr(text, '#', size);
    char *copy = arena_dup_bytes(arena, text, hash != NULL ? (size_t)(hash - text) : size);
    char *colon = strchr(copy, ':');
    if (colon == NULL)
        return (struct line){ .key = "", .value = "" };
    *colon = '\0';
    return (struct line){ .key = text_lower(arena, text_trim(arena, copy)), .value = text_trim(arena, colon + 1) };
}

/* The product token of a line "user-agent", without a version. */
static bool names_client(const char *value, const char *token)
{
    size_t size = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    return size == strlen(token) && strncasecmp(value, token, size) == 0;
}

static void add_rule(struct robots *robots, struct arena *arena, const char *pattern, bool allows)
{
    bool is_usable = pattern[0] != '\0' && strlen(pattern) <= ROBOTS_RULE_MAX_BYTES;
    if (!is_usable || robots->count == ROBOTS_MAX_RULES)
        return;
    robots->rules[robots->count++] = (struct rule){ .pattern = normalize(arena, pattern), .allows = allows };
}

struct group {
    bool is_own;
    bool is_for_all;
    bool has_rules; /* the next user agent begins another group */
};

static void read_user_agent(struct group *group, const char *value)
{
    if (group->has_rules)
        *group = (struct group){ .is_own = false };
    group->is_own = group->is_own || names_client(value, own_token);
    group->is_for_all = group->is_for_all || strcmp(value, "*") == 0;
}

static void read_rule(struct robots *robots, struct arena *arena, struct group *group, const struct line *line)
{
    bool allows = strcmp(line->key, "allow") == 0;
    if (!allows && strcmp(line->key, "disallow") != 0)
        return;
    group->has_rules = true;
    if (group->is_own && !robots->is_own) {
        robots->count = 0; /* the rules for all do not count any more */
        robots->is_own = true;
    }
    if (robots->is_own ? group->is_own : group->is_for_all)
        add_rule(robots, arena, line->value, allows);
}

struct robots *robots_parse(struct arena *arena, const char *text, size_t size)
{
    struct robots *robots = arena_alloc(arena, sizeof(*robots));
    struct group group = { .is_own = false };
    size = size < ROBOTS_MAX_BYTES ? size : (size_t)ROBOTS_MAX_BYTES;
    size_t at = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < size) {
        size_t length = 0;
        while (at + length < size && text[at + length] != '\n' && text[at + length] != '\r')
            length++;
        struct line line = read_line(arena, text + at, length);
        if (strcmp(line.key, "user-agent") == 0)
            read_user_agent(&group, line.value);
        else
            read_rule(robots, arena, &group, &line);
        at += length + 1;
    }
    return robots;
}

struct robots *robots_for_all(struct arena *arena, bool allowed)
{
    struct robots *robots = arena_alloc(arena, sizeof(*robots));
    if (!allowed)
        add_rule(robots, arena, "/", false);
    return robots;
}

bool robots_allows(const struct robots *robots, struct arena *arena, const char *path)
{
    if (strlen(path) > ROBOTS_PATH_MAX_BYTES)
        return false;
    const char *normal = normalize(arena, path);
    size_t longest = 0;
    bool allowed = true;
    for (size_t i = 0; i < robots->count; i++) {
        const struct rule *rule = &robots->rules[i];
        size_t size = strlen(rule->pattern);
        bool decides = size > longest || (size == longest && rule->allows);
        if (!decides || !pattern_matches(rule->pattern, normal))
            continue;
        longest = size;
        allowed = rule->allows;
    }
    return allowed;
}
