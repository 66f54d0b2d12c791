/*
 * JSON writer, streaming (RFC 8259): it writes directly to a buf without a tree.
 * The writer adds the commas; the caller balances begin and end. json_raw adds
 * JSON text from PostgreSQL or jansson. Text must be valid UTF-8.
 */
#pragma once

#include "base/buf.h"
#include "base/values.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_WRITE_MAX_DEPTH = 64, JSON_NUMBER_MAX_CHARS = 40 };

struct json_writer {
    struct buf *out;
    unsigned depth;
    uint64_t has_item; /* one bit per level: the next item needs a comma */
    bool after_key;
};

void json_writer_init(struct json_writer *json, struct buf *out) NONNULL(1, 2);

void json_object_begin(struct json_writer *json) NONNULL(1);
void json_object_end(struct json_writer *json) NONNULL(1);
void json_array_begin(struct json_writer *json) NONNULL(1);
void json_array_end(struct json_writer *json) NONNULL(1);

/* The name of the next member. */
void json_key(struct json_writer *json, const char *name) NONNULL(1, 2);

/* Values. json_text writes null for NULL. */
void json_text(struct json_writer *json, const char *text) NONNULL(1);
void json_bytes(struct json_writer *json, const char *text, size_t size) NONNULL(1);
void json_int(struct json_writer *json, int64_t value) NONNULL(1);
void json_number(struct json_writer *json, double value) NONNULL(1);
void json_bool(struct json_writer *json, bool value) NONNULL(1);
void json_null_value(struct json_writer *json) NONNULL(1);

/* A value that is already JSON text; NULL writes null. */
void json_raw(struct json_writer *json, const char *text) NONNULL(1);
void json_raw_bytes(struct json_writer *json, const char *text, size_t size) NONNULL(1, 2);

/* The result of a list, {"data":[…]}. Where the object has more members, json_array_end ends the list alone. */
void json_list_begin(struct json_writer *json) NONNULL(1);
void json_list_end(struct json_writer *json) NONNULL(1);

/* A key with its value. */
void json_member_text(struct json_writer *json, const char *name, const char *text) NONNULL(1, 2);
void json_member_int(struct json_writer *json, const char *name, int64_t value) NONNULL(1, 2);
void json_member_bool(struct json_writer *json, const char *name, bool value) NONNULL(1, 2);
void json_member_raw(struct json_writer *json, const char *name, const char *text) NONNULL(1, 2);

/* A key with an array. */
void json_member_texts(struct json_writer *json, const char *name, struct text_list texts) NONNULL(1, 2);
void json_member_ints(struct json_writer *json, const char *name, struct int_list values) NONNULL(1, 2);

/* The member is left out when text is NULL. */
void json_member_text_if(struct json_writer *json, const char *name, const char *text) NONNULL(1, 2);

/* Writes a finite number with the fewest digits that identify it (round trip); returns the number of characters. */
size_t json_digits(double value, char ret_digits[JSON_NUMBER_MAX_CHARS]) NONNULL(2);

/* Appends `text` as a quoted JSON string to a plain buffer. */
void json_quote(struct buf *out, const char *text, size_t size) NONNULL(1);

/* The bytes that json_quote appends. */
size_t json_quoted_size(const char *text, size_t size) PURE;
