/*
 * Log: structured, one JSON object per line on standard error. Transports, jobs
 * and main write it; library code returns errors instead. Arguments of calls and
 * secrets are never logged. Lines of several threads do not mix. A line is dropped
 * when the output would block; the next written line has the number of dropped
 * lines.
 */
#pragma once

#include "base/error.h"
#include "base/json_write.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* Sets the lowest level that is written; LOG_INFO at start. */
void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);

/* A line: {"time":…,"level":…,"event":event, …}. Between begin and end the caller adds members to the writer. */
struct log_line {
    struct buf out;
    struct json_writer json;
};
void log_begin(struct log_line *line, enum log_level level, const char *event) NONNULL(1, 3);
void log_end(struct log_line *line) NONNULL(1);

/* A line with one sentence. */
void log_event(enum log_level level, const char *event, const char *format, ...) NONNULL(2, 3) PRINTF_LIKE(3, 4);

/* The members of an error, private part included: errorCode, message, cause, sqlstate, at. Message and cause are left out when the
 * status is below 500, because they may quote arguments of a call. */
void log_error_members(struct log_line *line, const struct error *err) NONNULL(1, 2);

/* All these members, for an operator who has given the arguments. */
void log_operator_error_members(struct log_line *line, const struct error *err) NONNULL(1, 2);
