/*
 * SMTP watch: the user data of the loop's epoll events: the kind in the upper
 * half, and a socket or the index of a session in the lower. An event of a
 * session that became free in the same round reaches a free or a new session,
 * which then has nothing to read.
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
