#include "base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *json, struct buf *out)
{
    *json = (struct json_writer){ .out = out };
}

static void value_begins(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    uint64_t bit = UINT64_C(1) << json->depth;
    if (json->has_item & bit)
        buf_add_char(json->out, ',');
    json->has_item |= bit;
}

static void open_level(struct json_writer *json, char bracket)
{
    value_begins(json);
    buf_add_char(json->out, bracket);
    if (++json->depth >= JSON_WRITE_MAX_DEPTH)
        abort();
    json->has_item &= ~(UINT64_C(1) << json->depth);
}

static void close_level(struct json_writer *json, char bracket)
{
    if (json->depth == 0)
        abort();
    json->depth--;
    buf_add_char(json->out, bracket);
}

void json_object_begin(struct json_writer *json)
{
    open_level(json, '{');
}

void json_object_end(struct json_writer *json)
{
    close_level(json, '}');
}

void json_array_begin(struct json_writer *json)
{
    open_level(json, '[');
}

void json_array_end(struct json_writer *json)
{
    close_level(json, ']');
}

static void quote_special(struct buf *out, unsigned char byte)
{
    static const char short_forms[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };

    if (byte == '"' || byte == '\\') {
        char pair[2] = { '\\', (char)byte };
        buf_add(out, pair, sizeof(pair));
    } else if (byte < sizeof(short_forms) && short_forms[byte] != 0) {
        char pair[2] = { '\\', short_forms[byte] };
        buf_add(out, pair, sizeof(pair));
    } else {
        buf_printf(out, "\\u%04x", byte);
    }
}

void json_quote(struct buf *out, const char *text, size_t size)
{
    buf_add_char(out, '"');
    size_t start = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f)
            continue;
        buf_add(out, text + start, i - start);
        quote_special(out, byte);
        start = i + 1;
    }
    if (size > start)
        buf_add(out, text + start, size - start);
    buf_add_char(out, '"');
}

void json_key(struct json_writer *json, const char *name)
{
    value_begins(json);
    json_quote(json->out, name, strlen(name));
    buf_add_char(json->out, ':');
    json->after_key = true;
}

void json_bytes(struct json_writer *json, const char *text, size_t size)
{
    value_begins(json);
    json_quote(json->out, text, size);
}

void json_text(struct json_writer *json, const char *text)
{
    if (text == NULL)
        json_null_value(json);
    else
        json_bytes(json, text, strlen(text));
}

void json_int(struct json_writer *json, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, value);
    value_begins(json);
    buf_add(json->out, digits, (size_t)length);
}

void json_number(struct json_writer *json, double value)
{
    if (!isfinite(value)) {
        json_null_value(json);
        return;
    }
    char digits[40];
    int length = snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) != value)
        length = snprintf(digits, sizeof(digits), "%.17g", value);
    value_begins(json);
    buf_add(json->out, digits, (size_t)length);
}

void json_bool(struct json_writer *json, bool value)
{
    value_begins(json);
    buf_add_text(json->out, value ? "true" : "false");
}

void json_null_value(struct json_writer *json)
{
    value_begins(json);
    buf_add_text(json->out, "null");
}

void json_raw_bytes(struct json_writer *json, const char *text, size_t size)
{
    value_begins(json);
    buf_add(json->out, text, size);
}

void json_raw(struct json_writer *json, const char *text)
{
    if (text == NULL)
        json_null_value(json);
    else
        json_raw_bytes(json, text, strlen(text));
}

void json_member_text(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_text(json, text);
}

void json_member_int(struct json_writer *json, const char *name, int64_t value)
{
    json_key(json, name);
    json_int(json, value);
}

void json_member_bool(struct json_writer *json, const char *name, bool value)
{
    json_key(json, name);
    json_bool(json, value);
}

void json_member_raw(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_raw(json, text);
}

void json_member_text_if(struct json_writer *json, const char *name, const char *text)
{
    if (text != NULL)
        json_member_text(json, name, text);
}
