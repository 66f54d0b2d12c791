/*
 * Internal to db: PostgreSQL's binary formats (the *_send and *_recv functions
 * of the server). Numbers are in network byte order. A time is microseconds since
 * 2000-01-01. An array has a header, one dimension and elements with their
 * lengths. jsonb has a version byte and text.
 */
#pragma once

#include "db/db.h"

#include <endian.h>
#include <string.h>

enum {
    WIRE_TEXT = 0,
    WIRE_BINARY = 1,
    WIRE_JSONB_VERSION = 1,
    WIRE_ARRAY_HEADER_BYTES = 12,   /* dimensions, has-null flag, element type */
    WIRE_ARRAY_DIMENSION_BYTES = 8, /* length, lower bound */
};

/* PostgreSQL's epoch, in microseconds since the Unix epoch. */
#define WIRE_EPOCH_US INT64_C(946684800000000)

static inline void wire_put_u32(char *bytes, uint32_t value)
{
    value = htobe32(value);
    memcpy(bytes, &value, sizeof(value));
}

static inline void wire_put_i64(char *bytes, int64_t value)
{
    uint64_t bits = htobe64((uint64_t)value);
    memcpy(bytes, &bits, sizeof(bits));
}

static inline int32_t wire_get_i32(const char *bytes)
{
    uint32_t bits;
    memcpy(&bits, bytes, sizeof(bits));
    return (int32_t)be32toh(bits);
}

static inline int64_t wire_get_i64(const char *bytes)
{
    uint64_t bits;
    memcpy(&bits, bytes, sizeof(bits));
    return (int64_t)be64toh(bits);
}

/* The extreme values mean infinity in both forms. */
static inline int64_t wire_time_to_server(int64_t time_us)
{
    int64_t server_us;
    if (time_us == DB_TIME_INFINITY || __builtin_sub_overflow(time_us, WIRE_EPOCH_US, &server_us))
        return time_us;
    return server_us;
}

static inline int64_t wire_time_from_server(int64_t server_us)
{
    int64_t time_us;
    if (server_us == DB_TIME_MINUS_INFINITY || __builtin_add_overflow(server_us, WIRE_EPOCH_US, &time_us))
        return server_us;
    return time_us;
}
