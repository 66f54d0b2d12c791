/*
 * The chapter COPY of the PostgreSQL manual, "Binary Format", defines the
 * format; wire.h has the formats of the fields.
 */
#include "db/copy_row.h"

#include "db/wire.h"

#include <string.h>

enum { LENGTH_BYTES = 4 };

static void put_u32(struct buf *out, uint32_t value)
{
    char bytes[LENGTH_BYTES];
    wire_put_u32(bytes, value);
    buf_add(out, bytes, sizeof(bytes));
}

static void put_row_field(struct buf *out, const void *bytes, size_t size)
{
    char *room = buf_room(out, LENGTH_BYTES + size);
    if (room == NULL)
        return;
    wire_put_u32(room, (uint32_t)size);
    memcpy(room + LENGTH_BYTES, bytes, size);
    buf_grown(out, LENGTH_BYTES + size);
}

static void put_u16(struct buf *out, uint16_t value)
{
    const char bytes[] = { (char)(value >> 8), (char)value };
    buf_add(out, bytes, sizeof(bytes));
}

void db_row_header(struct buf *out)
{
    static const char signature[] = "PGCOPY\n\377\r\n"; /* including its NUL */
    buf_add(out, signature, sizeof(signature));
    put_u32(out, 0); /* no flags */
    put_u32(out, 0); /* no extension */
}

void db_row_trailer(struct buf *out)
{
    put_u16(out, UINT16_MAX);
}

void db_row_begin(struct buf *out, int fields)
{
    put_u16(out, (uint16_t)fields);
}

void db_row_null(struct buf *out)
{
    put_u32(out, UINT32_MAX);
}

void db_row_bigint(struct buf *out, int64_t value)
{
    char bytes[sizeof(value)];
    wire_put_i64(bytes, value);
    put_row_field(out, bytes, sizeof(bytes));
}

void db_row_boolean(struct buf *out, bool value)
{
    char byte = value ? 1 : 0;
    put_row_field(out, &byte, 1);
}

void db_row_time(struct buf *out, int64_t time_us)
{
    db_row_bigint(out, wire_time_to_server(time_us));
}

void db_row_text(struct buf *out, const char *text)
{
    if (text == NULL)
        db_row_null(out);
    else
        put_row_field(out, text, strlen(text));
}

void db_row_jsonb(struct buf *out, const char *const *pieces, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(pieces[i]);
    put_u32(out, (uint32_t)size);
    buf_add_char(out, WIRE_JSONB_VERSION);
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, pieces[i]);
}
