#include "net/dns_channel.h"

#include "base/clock.h"

#include <poll.h>

enum {
    /* The second try waits twice as long. Together the tries take DNS_LOOKUP_MS with one server. */
    TRY_MS = 1000,
    TRIES = 2,
    LOOK_EVERY_MS = 100,
};

bool dns_channel_open(const char *servers, ares_channel *ret_channel)
{
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = TRY_MS,
        .tries = TRIES,
    };
    if (ares_init_options(ret_channel, &options, ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES) != ARES_SUCCESS)
        return false;
    if (servers == NULL || ares_set_servers_ports_csv(*ret_channel, servers) == ARES_SUCCESS)
        return true;
    ares_destroy(*ret_channel);
    return false;
}

bool dns_denies(const unsigned char *answer, int size)
{
    enum { HEADER_BYTES = 12, AUTHORITATIVE = 0x04, RECURSION_AVAILABLE = 0x80 }; /* RFC 1035 §4.1.1 */
    return answer == NULL || (size >= HEADER_BYTES && ((answer[2] & AUTHORITATIVE) != 0 || (answer[3] & RECURSION_AVAILABLE) != 0));
}

void dns_channel_wait(ares_channel channel)
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd fds[ARES_GETSOCK_MAXNUM];
    /* Bit i: socket i waits to read; bit i + 16: it waits to write. The macros of c-ares shift a signed 1 by 31. */
    unsigned bits = (unsigned)ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    nfds_t count = 0;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        bool reads = (bits >> i & 1U) != 0;
        bool writes = (bits >> (i + ARES_GETSOCK_MAXNUM) & 1U) != 0;
        short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
        if (events != 0)
            fds[count++] = (struct pollfd){ .fd = sockets[i], .events = events };
    }
    struct timeval longest = { .tv_usec = LOOK_EVERY_MS * US_PER_MS };
    struct timeval next;
    const struct timeval *wait = ares_timeout(channel, &longest, &next);
    poll(fds, count, (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000) + 1);
    for (nfds_t i = 0; i < count; i++) {
        bool readable = (fds[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
        bool writable = (fds[i].revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
        if (readable || writable)
            ares_process_fd(channel, readable ? fds[i].fd : ARES_SOCKET_BAD, writable ? fds[i].fd : ARES_SOCKET_BAD);
    }
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}
