/*
 * Fuzzes templates. The first byte chooses: text that is compiled as HTML,
 * plain text or a header line, then loaded and evaluated; or the bytes of a
 * blob, which are loaded with a right checksum, so that the checks behind it
 * are reached, and evaluated when they pass.
 *
 * Besides not crashing: what the compiler makes must load, a value must not
 * bring markup into HTML or a control into a header line, an evaluation ends
 * (by its budget when the template does not), and one that fails must leave the
 * output as it was.
 */
#include "fuzz.h"
#include "template/format.h"
#include "template/template.h"

#include <string.h>

/* Bytes that must never come through HTML or a header line. */
#define HOSTILE "\x01\"'<>\r\n javascript:\x1F"

/* Texts that must be escaped, truths, numbers, lists of lists, and nothing. */
static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    static const struct template_value inner[] = { { .kind = TEMPLATE_STRING, .size = sizeof(HOSTILE) - 1, .text = HOSTILE },
                                                   { .kind = TEMPLATE_INTEGER, .integer = -7 } };
    static const struct template_value items[] = { { .kind = TEMPLATE_STRING, .size = sizeof(HOSTILE) - 1, .text = HOSTILE },
                                                   { .kind = TEMPLATE_LIST, .size = 2, .items = inner },
                                                   { .kind = TEMPLATE_NUMBER, .number = 2.5 },
                                                   { .kind = TEMPLATE_NIL } };
    (void)context;
    switch ((index + strlen(path)) % 6) {
    case 0:
        *value = (struct template_value){ .kind = TEMPLATE_STRING, .size = strlen(HOSTILE), .text = HOSTILE };
        break;
    case 1:
        *value = (struct template_value){ .kind = TEMPLATE_BOOL, .truth = index % 2 == 0 };
        break;
    case 2:
        *value = (struct template_value){ .kind = TEMPLATE_STRING,
                                          .size = 7,
                                          .text = "stra\xC3\x9F"
                                                  "e" };
        break;
    case 3:
        *value = (struct template_value){ .kind = TEMPLATE_LIST, .size = sizeof(items) / sizeof(items[0]), .items = items };
        break;
    case 4:
        *value = (struct template_value){ .kind = TEMPLATE_INTEGER, .integer = (int64_t)index * 1000003 };
        break;
    default:
        break;
    }
}

/* The value in one piece is the sign that it was not escaped. */
static void check_output(const struct template *template, const struct buf *out)
{
    bool is_escaped = template->kind != TEMPLATE_TEXT;
    require(!is_escaped || out->size == 0 || memmem(out->data, out->size, HOSTILE, strlen(HOSTILE)) == NULL);
    for (size_t i = 0; template->kind == TEMPLATE_HEADER && i < out->size; i++)
        require((unsigned char)out->data[i] >= 0x20);
}

static void evaluate(const struct template *template, struct arena *arena, bool is_compiled)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_OUTPUT_BYTES * 2);
    buf_add_text(out, "before");
    size_t before = out->size;
    if (!template_evaluate(template, (struct template_lookup){ .value = look_up }, arena, out, &err)) {
        require(out->size == before && err.code != ERR_NONE);
        return;
    }
    buf_drop_front(out, before);
    if (is_compiled)
        check_output(template, out);
}

static void fuzz_blob(struct arena *arena, const unsigned char *data, size_t size)
{
    struct error err = { .code = ERR_NONE };
    struct template template;
    unsigned char *blob = (unsigned char *)arena_dup_bytes(arena, data, size);
    if (size >= TEMPLATE_HEADER_BYTES)
        template_seal(blob, size);
    if (!template_load((struct bytes){ .data = blob, .size = size }, &template, &err))
        return;
    for (size_t i = 0; i < template_path_count(&template); i++)
        require(strlen(template_path(&template, i)) <= size);
    evaluate(&template, arena, false);
}

static void fuzz_source(struct arena *arena, enum template_kind kind, const unsigned char *data, size_t size)
{
    struct error err = { .code = ERR_NONE };
    struct bytes blob;
    struct template template;
    const char *source = arena_dup_bytes(arena, data, size);
    if (!template_compile(arena, kind, source, size, &blob, &err)) {
        require(err.code == ERR_INVALID_REQUEST && err.message[0] != '\0');
        return;
    }
    require(template_load(blob, &template, &err));
    evaluate(&template, arena, strstr(source, HOSTILE) == NULL);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    switch (data[0]) {
    case 'h':
        fuzz_source(arena, TEMPLATE_HTML, data + 1, size - 1);
        break;
    case 't':
        fuzz_source(arena, TEMPLATE_TEXT, data + 1, size - 1);
        break;
    case 's':
        fuzz_source(arena, TEMPLATE_HEADER, data + 1, size - 1);
        break;
    default:
        fuzz_blob(arena, data + 1, size - 1);
        break;
    }
    return 0;
}
