#include "net/guard_address.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

struct v4_range {
    uint8_t start[4];
    unsigned bits;
};

struct v6_range {
    uint8_t start[16];
    unsigned bits;
};

static const struct v4_range v4_denied[] = {
    { { 0, 0, 0, 0 }, 8 },        /* this network (RFC 791) */
    { { 10, 0, 0, 0 }, 8 },       /* private (RFC 1918) */
    { { 100, 64, 0, 0 }, 10 },    /* shared, CGNAT (RFC 6598); a metadata service at 100.100.100.200 */
    { { 127, 0, 0, 0 }, 8 },      /* loopback */
    { { 168, 63, 129, 16 }, 32 }, /* a cloud's host agent, on a public address */
    { { 169, 254, 0, 0 }, 16 },   /* link-local (RFC 3927); the metadata services at 169.254.169.254 */
    { { 172, 16, 0, 0 }, 12 },    /* private */
    { { 192, 0, 0, 0 }, 24 },     /* protocol assignments (RFC 6890); a metadata service at 192.0.0.192 */
    { { 192, 0, 2, 0 }, 24 },     /* documentation (RFC 5737) */
    { { 192, 31, 196, 0 }, 24 },  /* AS112 (RFC 7535) */
    { { 192, 52, 193, 0 }, 24 },  /* AMT relays (RFC 7450) */
    { { 192, 88, 99, 0 }, 24 },   /* 6to4 relays (RFC 7526) */
    { { 192, 168, 0, 0 }, 16 },   /* private */
    { { 192, 175, 48, 0 }, 24 },  /* AS112 (RFC 7534) */
    { { 198, 18, 0, 0 }, 15 },    /* benchmarks (RFC 2544) */
    { { 198, 51, 100, 0 }, 24 },  /* documentation */
    { { 203, 0, 113, 0 }, 24 },   /* documentation */
    { { 224, 0, 0, 0 }, 4 },      /* multicast */
    { { 240, 0, 0, 0 }, 4 },      /* reserved, broadcast */
};

/* IPv6 global unicast as assigned by IANA (RFC 4291 §2.4). Only this range is allowed, less v6_denied. It excludes
 * loopback, mapped addresses, NAT64 (64:ff9b::/96), unique local, link-local and multicast. */
static const struct v6_range v6_global = { { 0x20 }, 3 };

static const struct v6_range v6_denied[] = {
    { { 0x20, 0x01, 0x00 }, 23 },             /* protocol assignments, Teredo (RFC 4380), ORCHID */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 },       /* documentation (RFC 3849) */
    { { 0x20, 0x02 }, 16 },                   /* 6to4 (RFC 3056) */
    { { 0x26, 0x20, 0x00, 0x4f, 0x80 }, 48 }, /* AS112 (RFC 7534) */
    { { 0x3f, 0xff, 0x00 }, 20 },             /* documentation (RFC 9637) */
};

static bool is_within(const uint8_t *address, const uint8_t *start, unsigned bits)
{
    unsigned bytes = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(address, start, bytes) != 0)
        return false;
    return rest == 0 || ((address[bytes] ^ start[bytes]) >> (8 - rest)) == 0;
}

static bool v4_is_public(const uint8_t address[4])
{
    for (size_t i = 0; i < ARRAY_COUNT(v4_denied); i++)
        if (is_within(address, v4_denied[i].start, v4_denied[i].bits))
            return false;
    return true;
}

static bool v6_is_public(const uint8_t address[16])
{
    if (!is_within(address, v6_global.start, v6_global.bits))
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(v6_denied); i++)
        if (is_within(address, v6_denied[i].start, v6_denied[i].bits))
            return false;
    return true;
}

bool guard_address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return v4_is_public((const uint8_t *)&v4->sin_addr);
    }
    if (address->sa_family == AF_INET6)
        return v6_is_public(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return false; /* Unix sockets and any other family */
}

bool guard_address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return *(const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr == 127;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

bool guard_port_is_web(unsigned port)
{
    return port == 80 || port == 443 || port == 8080 || port == 8443;
}
