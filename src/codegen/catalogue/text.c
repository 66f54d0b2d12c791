#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LITERAL_LINE_BYTES = 110 };

/* All returned values are on these two lists, so that a leak checker finds them reachable. */
struct kept_text {
    struct kept_text *next;
    char bytes[];
};
static struct kept_text *kept_texts;
static json_t *kept_values;
static int problems;

static NORETURN void fail_with_errno(const char *what, const char *which)
{
    fprintf(stderr, "catalogue: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

static char *keep_bytes(size_t size)
{
    struct kept_text *kept = malloc(sizeof(*kept) + size);
    if (kept == NULL) {
        fail_with_errno("cannot allocate", "text");
    }
    kept->next = kept_texts;
    kept_texts = kept;
    return kept->bytes;
}

char *text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *made = keep_bytes(size);
    made[0] = '\0';
    vsnprintf(made, size, format, again);
    va_end(again);
    return made;
}

const char *snake_case(const char *name)
{
    char *made = keep_bytes(strlen(name) * 2 + 1);
    size_t at = 0;
    for (const char *p = name; *p != '\0'; p++) {
        if (isupper((unsigned char)*p) && p != name && p[-1] != '.') {
            made[at++] = '_';
        }
        made[at++] = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) : '_';
    }
    made[at] = '\0';
    return made;
}

const char *kebab_case(const char *name)
{
    char *made = text("%s", snake_case(name));
    for (char *p = made; *p != '\0'; p++) {
        if (*p == '_') {
            *p = '-';
        }
    }
    return made;
}

const char *upper_case(const char *name)
{
    char *made = text("%s", snake_case(name));
    for (char *p = made; *p != '\0'; p++) {
        *p = (char)toupper((unsigned char)*p);
    }
    return made;
}

json_t *keep(json_t *value)
{
    if (kept_values == NULL) {
        kept_values = json_array();
    }
    if (value == NULL || kept_values == NULL || json_array_append_new(kept_values, value) != 0) {
        fail_with_errno("cannot allocate", "JSON");
    }
    return value;
}

const char *json_text(const json_t *value)
{
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (dumped == NULL) {
        fail_with_errno("cannot write", "JSON");
    }
    const char *made = text("%s", dumped);
    free(dumped);
    return made;
}

const char *member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool member_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

double member_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool list_has(const json_t *array, const char *wanted)
{
    size_t i;
    const json_t *item;
    json_array_foreach(array, i, item) {
        if (json_is_string(item) && strcmp(json_string_value(item), wanted) == 0) {
            return true;
        }
    }
    return false;
}

void problem(const char *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", where);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    problems++;
}

int problem_count(void)
{
    return problems;
}

static void make_folder(const char *path)
{
    char *partial = text("%s", path);
    for (char *slash = partial + 1; *slash != '\0'; slash++) {
        if (*slash == '/') {
            *slash = '\0';
            (void)mkdir(partial, 0777);
            *slash = '/';
        }
    }
    if (mkdir(partial, 0777) != 0 && errno != EEXIST) {
        fail_with_errno("cannot make the folder", path);
    }
}

void output_open(struct output *out, const char *folder, const char *name)
{
    make_folder(folder);
    *out = (struct output){ .path = text("%s/%s", folder, name) };
    out->stream = open_memstream(&out->bytes, &out->size);
    if (out->stream == NULL) {
        fail_with_errno("cannot start", out->path);
    }
}

void put(struct output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out->stream, format, arguments);
    va_end(arguments);
}

static void put_c_byte(FILE *stream, unsigned char byte)
{
    switch (byte) {
    case '"':
        fputs("\\\"", stream);
        return;
    case '\\':
        fputs("\\\\", stream);
        return;
    case '\n':
        fputs("\\n", stream);
        return;
    default:
        if (byte < 0x20 || byte == 0x7f) {
            fprintf(stream, "\\%03o", byte);
            return;
        }
        fputc(byte, stream);
    }
}

void put_c_string(struct output *out, const char *value)
{
    if (value == NULL) {
        fputs("NULL", out->stream);
        return;
    }
    fputc('"', out->stream);
    size_t on_line = 0;
    for (const unsigned char *p = (const unsigned char *)value; *p != '\0'; p++) {
        bool inside_character = (*p & 0xc0) == 0x80; /* a literal is not split within a UTF-8 sequence */
        if (on_line >= LITERAL_LINE_BYTES && !inside_character) {
            fputs("\"\n    \"", out->stream);
            on_line = 0;
        }
        put_c_byte(out->stream, *p);
        on_line++;
    }
    fputc('"', out->stream);
}

static bool is_unchanged(const struct output *out)
{
    FILE *old = fopen(out->path, "rb");
    if (old == NULL) {
        return false;
    }
    bool same = true;
    for (size_t i = 0; same && i < out->size; i++) {
        same = fgetc(old) == (unsigned char)out->bytes[i];
    }
    same = same && fgetc(old) == EOF;
    fclose(old);
    return same;
}

void output_close(struct output *out)
{
    if (fclose(out->stream) != 0) {
        fail_with_errno("cannot write", out->path);
    }
    if (!is_unchanged(out)) {
        FILE *file = fopen(out->path, "wb");
        if (file == NULL || fwrite(out->bytes, 1, out->size, file) != out->size || fclose(file) != 0) {
            fail_with_errno("cannot write", out->path);
        }
    }
    free(out->bytes);
    out->bytes = NULL;
}

void put_origin(struct output *out, const char *purpose)
{
    put(out, "/* %s\n * Generated from schemas/ and tools/; edit those instead. */\n", purpose);
}
