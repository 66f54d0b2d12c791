/*
 * SMTP watch: what the loop's epoll is told to hand back with an event: the
 * kind in the upper half, and a socket or the index of a session in the lower.
 * An event of a place that was vacated in the same round finds another session
 * or none, which then sees that there is nothing to read.
 */
#pragma once

#include <stdint.h>

enum smtp_watch { SMTP_WATCH_WAKE, SMTP_WATCH_CURL, SMTP_WATCH_SESSION };

static inline uint64_t smtp_watch_curl(int fd)
{
    return (uint64_t)SMTP_WATCH_CURL << 32 | (uint32_t)fd;
}

static inline uint64_t smtp_watch_session(uint32_t index)
{
    return (uint64_t)SMTP_WATCH_SESSION << 32 | index;
}
