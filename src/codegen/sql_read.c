#include "sql_model.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct sql_type types[] = {
    { "bigint", "DB_BIGINT", "int64_t ", "struct opt_int " },
    { "integer", "DB_INTEGER", "int64_t ", "struct opt_int " },
    { "float8", "DB_FLOAT", "double ", "struct opt_number " },
    { "boolean", "DB_BOOLEAN", "bool ", "struct opt_bool " },
    { "text", "DB_TEXT", "const char *", "const char *" },
    { "jsonb", "DB_JSONB", "const char *", "const char *" },
    { "bytea", "DB_BYTEA", "struct bytes ", "struct bytes " },
    { "timestamptz", "DB_TIMESTAMPTZ", "int64_t ", "struct opt_int " },
    { "bigint[]", "DB_BIGINT_ARRAY", "struct int_list ", "struct int_list " },
    { "timestamptz[]", "DB_TIMESTAMPTZ_ARRAY", "struct int_list ", "struct int_list " },
    { "text[]", "DB_TEXT_ARRAY", "struct text_list ", "struct text_list " },
    { "jsonb[]", "DB_JSONB_ARRAY", "struct text_list ", "struct text_list " },
    { "boolean[]", "DB_BOOLEAN_ARRAY", "struct bool_list ", "struct bool_list " },
};

/* Names that are valid in SQL but not in C. */
static const char *const c_keywords[] = {
    "auto", "bool",     "break",    "case",   "char",     "const",  "continue", "default", "do",     "double",
    "else", "enum",     "extern",   "false",  "float",    "for",    "goto",     "if",      "inline", "int",
    "long", "register", "restrict", "return", "short",    "signed", "sizeof",   "static",  "struct", "switch",
    "true", "typedef",  "typeof",   "union",  "unsigned", "void",   "volatile", "while",
};

struct reader {
    struct arena *arena;
    const char *path;
    const char *at;
    int line;
};

static bool is_name_start(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_name_byte(char byte)
{
    return is_name_start(byte) || (byte >= '0' && byte <= '9');
}

static char *trim_copy(struct arena *arena, const char *text, size_t size)
{
    while (size > 0 && isspace((unsigned char)*text)) {
        text++;
        size--;
    }
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    return arena_dup_bytes(arena, text, size);
}

/* Reads the next line, without surrounding white space; NULL at the end. */
static const char *next_line(struct reader *reader)
{
    if (*reader->at == '\0')
        return NULL;
    size_t size = strcspn(reader->at, "\n");
    const char *line = trim_copy(reader->arena, reader->at, size);
    reader->at += size;
    if (*reader->at == '\n')
        reader->at++;
    reader->line++;
    return line;
}

/* The text after "-- key:" on a line; NULL for any other line. */
static const char *directive(struct reader *reader, const char *line, const char *key)
{
    size_t key_size = strlen(key);
    if (strncmp(line, "-- ", 3) != 0 || strncmp(line + 3, key, key_size) != 0 || line[3 + key_size] != ':')
        return NULL;
    const char *value = line + 3 + key_size + 1;
    return trim_copy(reader->arena, value, strlen(value));
}

static const char *checked_name(const struct reader *reader, const char *name)
{
    bool plain = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');
    for (const char *at = name; *at != '\0'; at++)
        plain = plain && is_name_byte(*at) && !(*at >= 'A' && *at <= 'Z');
    if (!plain)
        generator_fail(reader->path, reader->line, "\"%s\" is not a name of lower-case letters, digits and underscores", name);
    if (strlen(name) > SQL_MAX_NAME_BYTES)
        generator_fail(reader->path, reader->line, "the name %s is longer than %d bytes", name, SQL_MAX_NAME_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(c_keywords); i++) {
        if (strcmp(name, c_keywords[i]) == 0)
            generator_fail(reader->path, reader->line, "%s is a C keyword; rename it with AS", name);
    }
    return name;
}

static const struct sql_type *checked_type(const struct reader *reader, const char *name, const char *type)
{
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(types[i].sql_name, type) == 0)
            return &types[i];
    }
    generator_fail(reader->path, reader->line, "%s has the unknown type \"%s\"", name, type);
}

/* Reads one "name type" or "name type null". */
static void read_sql_field(struct reader *reader, const char *text, struct sql_field_list *fields)
{
    char name[128] = "";
    char type[32] = "";
    char null_word[8] = "";
    char rest[2] = "";
    int words = sscanf(text, "%127s %31s %7s %1s", name, type, null_word, rest);
    if (words < 2 || words > 3 || (words == 3 && strcmp(null_word, "null") != 0))
        generator_fail(reader->path, reader->line, "\"%s\" is not \"name type\" or \"name type null\"", text);
    if (fields->count == SQL_MAX_FIELDS)
        generator_fail(reader->path, reader->line, "more than %d fields", SQL_MAX_FIELDS);
    for (size_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->items[i].name, name) == 0)
            generator_fail(reader->path, reader->line, "%s is declared twice", name);
    }
    fields->items[fields->count++] = (struct sql_field){
        .name = checked_name(reader, arena_dup(reader->arena, name)),
        .type = checked_type(reader, name, type),
        .nullable = words == 3,
    };
}

static void read_sql_fields(struct reader *reader, const char *text, struct sql_field_list *fields)
{
    for (;;) {
        size_t size = strcspn(text, ",");
        const char *field = trim_copy(reader->arena, text, size);
        /* A list that continues on another line of the same kind may end in a comma. */
        if (field[0] != '\0')
            read_sql_field(reader, field, fields);
        else if (text[size] == ',')
            generator_fail(reader->path, reader->line, "an empty field");
        if (text[size] == '\0')
            return;
        text += size + 1;
    }
}

static void read_query_name(struct reader *reader, const char *text, struct sql_query *query)
{
    char name[128] = "";
    char kind[16] = "";
    char rest[2] = "";
    if (sscanf(text, "%127s %15s %1s", name, kind, rest) != 2)
        generator_fail(reader->path, reader->line, "expected \"-- name: query_name :one|:many|:page|:exec\"");
    query->name = checked_name(reader, arena_dup(reader->arena, name));
    query->row = query->name;
    if (strcmp(kind, ":one") == 0)
        query->kind = SQL_ONE;
    else if (strcmp(kind, ":many") == 0)
        query->kind = SQL_MANY;
    else if (strcmp(kind, ":page") == 0)
        query->kind = SQL_PAGE;
    else if (strcmp(kind, ":exec") == 0)
        query->kind = SQL_EXEC;
    else
        generator_fail(reader->path, reader->line, "the kind %s must be :one, :many, :page or :exec", kind);
}

/* Copies the quoted text at the reader, with its delimiters. A doubled quote needs no special case: it ends one quoted text and
 * starts another. */
static void copy_quoted(struct reader *reader, struct buf *out, bool has_backslashes)
{
    const char *start = reader->at;
    char quote = *reader->at++;
    while (*reader->at != '\0' && *reader->at != quote) {
        if (has_backslashes && *reader->at == '\\' && reader->at[1] != '\0')
            reader->at++;
        if (*reader->at == '\n')
            reader->line++;
        reader->at++;
    }
    if (*reader->at == '\0')
        generator_fail(reader->path, reader->line, "a quote is not closed");
    reader->at++;
    buf_add(out, start, (size_t)(reader->at - start));
}

/* Copies $tag$ … $tag$. False when the reader is not at such a tag. */
static bool copy_dollar_quoted(struct reader *reader, struct buf *out)
{
    size_t tag_size = 1;
    while (is_name_byte(reader->at[tag_size]))
        tag_size++;
    if (reader->at[tag_size] != '$' || (reader->at[1] >= '0' && reader->at[1] <= '9'))
        return false;
    tag_size++;
    const char *tag = arena_dup_bytes(reader->arena, reader->at, tag_size);
    const char *end = strstr(reader->at + tag_size, tag);
    if (end == NULL)
        generator_fail(reader->path, reader->line, "%s is not closed", tag);
    for (const char *at = reader->at; at < end; at++)
        reader->line += *at == '\n';
    buf_add(out, reader->at, (size_t)(end - reader->at) + tag_size);
    reader->at = end + tag_size;
    return true;
}

static void copy_param(struct reader *reader, struct buf *out, const struct sql_query *query, bool used[])
{
    size_t size = 1;
    while (is_name_byte(reader->at[size]))
        size++;
    const char *name = arena_dup_bytes(reader->arena, reader->at + 1, size - 1);
    size_t index = 0;
    while (index < query->params.count && strcmp(query->params.items[index].name, name) != 0)
        index++;
    if (index == query->params.count)
        generator_fail(reader->path, reader->line, ":%s is not declared in params of %s", name, query->name);
    used[index] = true;
    buf_printf(out, "$%zu", index + 1);
    reader->at += size;
}

static void skip_line_comment(struct reader *reader, struct buf *out)
{
    reader->at += strcspn(reader->at, "\n");
    while (out->size > 0 && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
}

static void skip_block_comment(struct reader *reader)
{
    const char *end = strstr(reader->at + 2, "*/");
    if (end == NULL)
        generator_fail(reader->path, reader->line, "a comment is not closed");
    for (const char *at = reader->at; at < end; at++)
        reader->line += *at == '\n';
    reader->at = end + 2;
}

/* True when the quote at the reader starts an E'…' string. */
static bool quote_has_backslashes(const struct buf *out)
{
    size_t size = out->size;
    return size > 0 && (out->data[size - 1] == 'e' || out->data[size - 1] == 'E') &&
           (size == 1 || !is_name_byte(out->data[size - 2]));
}

static void read_statement(struct reader *reader, struct sql_query *query)
{
    BUF_SCOPE out;
    buf_init(&out, SQL_MAX_FILE_BYTES);
    bool used[SQL_MAX_FIELDS] = { false };

    while (*reader->at != ';') {
        const char *at = reader->at;
        if (*at == '\0')
            generator_fail(reader->path, reader->line, "%s has no ';' at its end", query->name);
        if (*at == '\'' || *at == '"') {
            copy_quoted(reader, &out, *at == '\'' && quote_has_backslashes(&out));
        } else if (*at == '-' && at[1] == '-') {
            skip_line_comment(reader, &out);
        } else if (*at == '/' && at[1] == '*') {
            skip_block_comment(reader);
        } else if (*at == '$' && (out.size == 0 || !is_name_byte(out.data[out.size - 1])) && copy_dollar_quoted(reader, &out)) {
            continue;
        } else if (*at == '$' && at[1] >= '0' && at[1] <= '9') {
            generator_fail(reader->path, reader->line, "write :name instead of a numbered parameter");
        } else if (*at == ':' && at[1] == ':') {
            buf_add_text(&out, "::");
            reader->at += 2;
        } else if (*at == ':' && is_name_start(at[1])) {
            copy_param(reader, &out, query, used);
        } else {
            reader->line += *at == '\n';
            buf_add_char(&out, *at);
            reader->at++;
        }
    }
    reader->at++;

    for (size_t i = 0; i < query->params.count; i++) {
        if (!used[i])
            generator_fail(reader->path, query->line, "%s does not use its parameter %s", query->name, query->params.items[i].name);
    }
    query->text = trim_copy(reader->arena, buf_text(&out), out.size);
    if (query->text[0] == '\0')
        generator_fail(reader->path, query->line, "%s has no statement", query->name);
}

static void check_query(const struct sql_query *query)
{
    if (query->kind == SQL_EXEC && query->columns.count > 0)
        generator_fail(query->path, query->line, "%s is :exec and must not declare columns", query->name);
    if (query->kind == SQL_EXEC && query->row != query->name)
        generator_fail(query->path, query->line, "%s is :exec and must not name a row", query->name);
    if (query->kind != SQL_EXEC && query->columns.count == 0)
        generator_fail(query->path, query->line, "%s returns rows and must declare columns", query->name);
    if (query->comment[0] == '\0')
        generator_fail(query->path, query->line, "%s needs a comment that describes it", query->name);
    if (strstr(query->comment, "*/") != NULL)
        generator_fail(query->path, query->line, "the comment of %s contains */", query->name);
}

static struct sql_query *read_sql_query(struct reader *reader, const char *name_text, const char *comment)
{
    struct sql_query *query = arena_alloc(reader->arena, sizeof(*query));
    query->path = reader->path;
    query->line = reader->line;
    query->comment = comment;
    read_query_name(reader, name_text, query);

    for (;;) {
        struct reader before = *reader;
        const char *line = next_line(reader);
        const char *value;
        if (line == NULL)
            generator_fail(reader->path, reader->line, "%s has no statement", query->name);
        if ((value = directive(reader, line, "params")) != NULL) {
            read_sql_fields(reader, value, &query->params);
        } else if ((value = directive(reader, line, "columns")) != NULL) {
            read_sql_fields(reader, value, &query->columns);
        } else if ((value = directive(reader, line, "row")) != NULL) {
            query->row = checked_name(reader, value);
        } else if (directive(reader, line, "name") != NULL) {
            generator_fail(reader->path, reader->line, "%s has no statement", query->name);
        } else {
            *reader = before;
            break;
        }
    }
    reader->line++;
    read_statement(reader, query);
    reader->line--;
    const char *rest = next_line(reader);
    if (rest != NULL && rest[0] != '\0' && strncmp(rest, "--", 2) != 0)
        generator_fail(reader->path, reader->line, "unexpected text after the ';' of %s", query->name);
    check_query(query);
    return query;
}

static void add_query(struct sql_file *file, struct sql_query *query)
{
    if (file->count == SQL_MAX_QUERIES)
        generator_fail(file->path, query->line, "more than %d queries", SQL_MAX_QUERIES);
    for (size_t i = 0; i < file->count; i++) {
        const struct sql_query *other = file->queries[i];
        if (query->kind == SQL_EXEC || other->kind == SQL_EXEC || strcmp(other->row, query->row) != 0)
            continue;
        query->row_is_shared = true;
        bool equal = other->columns.count == query->columns.count;
        for (size_t c = 0; equal && c < query->columns.count; c++) {
            const struct sql_field *left = &other->columns.items[c];
            const struct sql_field *right = &query->columns.items[c];
            equal = strcmp(left->name, right->name) == 0 && left->type == right->type && left->nullable == right->nullable;
        }
        if (!equal)
            generator_fail(file->path, query->line, "%s and %s share the row %s and differ in their columns", other->name,
                           query->name, query->row);
    }
    file->queries[file->count++] = query;
}

static const char *stem_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t size = strlen(base);
    if (size <= 4 || strcmp(base + size - 4, ".sql") != 0)
        generator_fail(path, 0, "is not named *.sql");
    return arena_dup_bytes(arena, base, size - 4);
}

struct sql_file *sql_read(struct arena *arena, const char *path)
{
    struct sql_file *file = arena_alloc(arena, sizeof(*file));
    struct reader reader = { .arena = arena, .path = path, .at = generator_read_file(arena, path, SQL_MAX_FILE_BYTES) };
    file->path = path;
    file->stem = checked_name(&reader, stem_of(arena, path));

    const char *comment = "";
    const char *line;
    while ((line = next_line(&reader)) != NULL) {
        const char *name_text = directive(&reader, line, "name");
        if (name_text != NULL) {
            add_query(file, read_sql_query(&reader, name_text, comment));
            comment = "";
        } else if (line[0] == '\0') {
            comment = "";
        } else if (strncmp(line, "--", 2) == 0) {
            const char *words = trim_copy(arena, line + 2, strlen(line + 2));
            comment = comment[0] == '\0' ? words : arena_printf(arena, "%s\n%s", comment, words);
        } else {
            generator_fail(path, reader.line, "a statement needs \"-- name:\" above it");
        }
    }
    return file;
}
