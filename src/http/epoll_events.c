/*
 * epoll_wait(2) as libmicrohttpd 0.9.75 needs it. Its loop takes 128 events a call, and when a call fills that many it waits again,
 * with the time-out of the first call, before it handles any of them. So when all connections of an I/O thread had sent their
 * requests, and there were just as many, none was answered until another event came or a connection timed out, after 75 s.
 *
 * The library calls this function, because the symbols of a program come before those of libc. A call never fills the array, so the
 * loop does not wait again; it takes the events that are left with its next round.
 */
#include <sys/epoll.h>

int epoll_wait(int epoll_fd, struct epoll_event *events, int max_events, int timeout_ms)
{
    return epoll_pwait(epoll_fd, events, max_events > 1 ? max_events - 1 : max_events, timeout_ms, NULL);
}
