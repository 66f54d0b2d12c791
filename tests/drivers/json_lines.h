/*
 * The loop of drivers: a line of standard input is a request in JSON, a line of
 * standard output its answer. An answer is what the function writes, or the
 * error: {"error", "param", "code"}. Private to tests/drivers.
 */
#pragma once

#include "base/error.h"
#include "base/json_read.h"
#include "base/json_write.h"

/* Writes the members of the answer to one request. The arena is freed behind it. */
typedef bool json_answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err);

struct json_lines {
    size_t line_max_bytes; /* a longer line is refused */
    size_t arena_bytes;    /* of one answer; 0: as arena_new says */
    json_answer *answer;
};

/* Answers lines until standard input ends. */
void json_lines_run(const struct json_lines *lines) NONNULL(1);
