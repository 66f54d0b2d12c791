/*
 * A DNS server on loopback for unit tests: UDP and TCP on one port, answers from
 * a table of the test, counts what it was asked. It can also misbehave. A test
 * program includes this once.
 */
#pragma once

#include "base/compiler.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_MX = 15, TYPE_TXT = 16, TYPE_AAAA = 28 };
enum { RCODE_SERVFAIL = 2, RCODE_NXDOMAIN = 3, RCODE_REFUSED = 5 };

/* One record of an answer, or how a question is answered without any. The first row that fits counts, and with it every
 * further row of the same name and type. */
struct dns_row {
    const char *name;
    int type; /* 0: any */
    int rcode;
    bool is_silent;   /* never answers */
    bool is_cut;      /* over UDP: truncated, without records */
    bool is_endless;  /* the name of its record points to itself */
    bool is_overlong; /* its record promises more bytes than there are */
    bool is_referral; /* no record, from a server that neither owns the zone nor asks who does */
    bool is_garbage;  /* a header whose counts promise what is not there */
    int record_type;  /* 0: as asked; TYPE_CNAME in front of what was asked */
    unsigned ttl_s;
    unsigned preference;
    const char *data; /* MX, CNAME: a name, "" for the root; A, AAAA: an address; TXT: strings, a '|' between. NULL: no record */
};

static struct {
    const struct dns_row *rows;
    size_t row_count;
    int udp;
    int tcp;
    unsigned port;
    pthread_t thread;
    atomic_bool stopping;
    atomic_int questions;
    atomic_int tcp_questions;
} dns_server;

/* ---- Writing an answer ---- */

struct packet {
    unsigned char bytes[4096];
    size_t size;
};

static inline void put_u16(struct packet *packet, unsigned value)
{
    packet->bytes[packet->size++] = (unsigned char)(value >> 8);
    packet->bytes[packet->size++] = (unsigned char)value;
}

static inline void put_name(struct packet *packet, const char *name)
{
    while (*name != '\0') {
        size_t size = strcspn(name, ".");
        packet->bytes[packet->size++] = (unsigned char)size;
        memcpy(packet->bytes + packet->size, name, size);
        packet->size += size;
        name += size + (name[size] == '.');
    }
    packet->bytes[packet->size++] = 0;
}

static inline void put_strings(struct packet *packet, const char *text)
{
    for (bool more = true; more;) {
        size_t size = strcspn(text, "|");
        packet->bytes[packet->size++] = (unsigned char)size;
        memcpy(packet->bytes + packet->size, text, size);
        packet->size += size;
        more = text[size] == '|';
        text += size + more;
    }
}

static inline void put_record(struct packet *packet, const struct dns_row *row, int type)
{
    if (row->is_endless)
        put_u16(packet, 0xC000U | (unsigned)packet->size);
    else
        put_name(packet, row->name);
    put_u16(packet, (unsigned)type);
    put_u16(packet, 1);
    put_u16(packet, row->ttl_s >> 16);
    put_u16(packet, row->ttl_s & 0xFFFF);
    size_t size_at = packet->size;
    put_u16(packet, 0);
    if (type == TYPE_MX)
        put_u16(packet, row->preference);
    if (type == TYPE_A || type == TYPE_AAAA) {
        int family = type == TYPE_A ? AF_INET : AF_INET6;
        (void)inet_pton(family, row->data, packet->bytes + packet->size);
        packet->size += type == TYPE_A ? 4 : 16;
    } else if (type == TYPE_TXT) {
        put_strings(packet, row->data);
    } else {
        put_name(packet, row->data);
    }
    unsigned size = (unsigned)(packet->size - size_at - 2) + (row->is_overlong ? 1000 : 0);
    packet->bytes[size_at] = (unsigned char)(size >> 8);
    packet->bytes[size_at + 1] = (unsigned char)size;
}

/* The name and type of the first question. Gives where it ends, 0 when it is malformed. */
static inline size_t read_question(const unsigned char *query, size_t size, char *ret_name, int *ret_type)
{
    size_t at = 12;
    size_t used = 0;
    while (at < size && query[at] != 0) {
        size_t label = query[at++];
        if (label > 63 || at + label >= size || used + label + 2 > 256)
            return 0;
        if (used > 0)
            ret_name[used++] = '.';
        memcpy(ret_name + used, query + at, label);
        used += label;
        at += label;
    }
    ret_name[used] = '\0';
    if (at + 5 > size)
        return 0;
    *ret_type = query[at + 1] << 8 | query[at + 2];
    return at + 5;
}

static inline bool row_fits(const struct dns_row *row, const char *name, int type)
{
    return strcasecmp(row->name, name) == 0 && (row->type == 0 || row->type == type);
}

/* Names that no row has do not exist. */
static inline bool answer_question(const unsigned char *query, size_t size, bool is_tcp, struct packet *ret_answer)
{
    char name[256];
    int type = 0;
    size_t question_end = size > 12 ? read_question(query, size, name, &type) : 0;
    if (question_end == 0)
        return false;
    atomic_fetch_add(&dns_server.questions, 1);
    atomic_fetch_add(&dns_server.tcp_questions, is_tcp);
    struct packet answer = { .size = question_end };
    memcpy(answer.bytes, query, question_end);
    unsigned records = 0;
    unsigned rcode = RCODE_NXDOMAIN;
    bool is_cut = false;
    bool is_referral = false;
    for (size_t i = 0; i < dns_server.row_count; i++) {
        const struct dns_row *row = &dns_server.rows[i];
        rcode = strcasecmp(row->name, name) == 0 && rcode == RCODE_NXDOMAIN ? 0 : rcode;
        if (!row_fits(row, name, type))
            continue;
        if (row->is_silent)
            return false;
        if (row->rcode != 0)
            rcode = (unsigned)row->rcode;
        is_cut = row->is_cut && !is_tcp;
        is_referral = row->is_referral;
        records += row->is_garbage ? 7 : 0;
        if (row->data == NULL || is_cut)
            continue;
        put_record(&answer, row, row->record_type != 0 ? row->record_type : type);
        records++;
    }
    size_t whole = answer.size;
    answer.size = 2;
    put_u16(&answer, 0x8100U | (is_referral ? 0 : 0x0080U) | (is_cut ? 0x0200U : 0) | rcode);
    put_u16(&answer, 1);
    put_u16(&answer, records);
    put_u16(&answer, 0);
    put_u16(&answer, 0);
    answer.size = whole;
    *ret_answer = answer;
    return true;
}

/* ---- Serving ---- */

static inline void serve_udp(void)
{
    unsigned char query[1024];
    struct sockaddr_in from;
    socklen_t from_size = sizeof(from);
    ssize_t size = recvfrom(dns_server.udp, query, sizeof(query), 0, (struct sockaddr *)&from, &from_size);
    struct packet answer;
    if (size > 0 && answer_question(query, (size_t)size, false, &answer))
        (void)sendto(dns_server.udp, answer.bytes, answer.size, 0, (struct sockaddr *)&from, from_size);
}

/* One question a connection is enough for the tests that use TCP. */
static inline void serve_tcp(void)
{
    int fd = accept(dns_server.tcp, NULL, NULL);
    unsigned char query[1024];
    struct packet answer;
    ssize_t size = fd >= 0 ? recv(fd, query, sizeof(query), 0) : -1;
    if (size > 2 && answer_question(query + 2, (size_t)size - 2, true, &answer)) {
        unsigned char prefix[2] = { (unsigned char)(answer.size >> 8), (unsigned char)answer.size };
        (void)send(fd, prefix, sizeof(prefix), MSG_MORE | MSG_NOSIGNAL);
        (void)send(fd, answer.bytes, answer.size, MSG_NOSIGNAL);
    }
    if (fd >= 0)
        close(fd);
}

static inline void *dns_server_thread(void *argument)
{
    (void)argument;
    while (!atomic_load(&dns_server.stopping)) {
        struct pollfd fds[2] = { { .fd = dns_server.udp, .events = POLLIN }, { .fd = dns_server.tcp, .events = POLLIN } };
        if (poll(fds, 2, 50) <= 0)
            continue;
        if (fds[0].revents & POLLIN)
            serve_udp();
        if (fds[1].revents & POLLIN)
            serve_tcp();
    }
    return NULL;
}

static inline bool bind_loopback(int fd, unsigned port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    return bind(fd, (struct sockaddr *)&here, sizeof(here)) == 0;
}

/* Starts it on a port of its own; `dns_server.port` tells which. */
static inline void dns_server_start(const struct dns_row *rows, size_t row_count)
{
    dns_server.rows = rows;
    dns_server.row_count = row_count;
    atomic_store(&dns_server.stopping, false);
    atomic_store(&dns_server.questions, 0);
    atomic_store(&dns_server.tcp_questions, 0);
    struct sockaddr_in here;
    socklen_t size = sizeof(here);
    /* The port that UDP got may be taken for TCP. */
    for (int tries = 0; tries < 20; tries++) {
        dns_server.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        dns_server.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind_loopback(dns_server.udp, 0) && getsockname(dns_server.udp, (struct sockaddr *)&here, &size) == 0 &&
            bind_loopback(dns_server.tcp, ntohs(here.sin_port)) && listen(dns_server.tcp, 16) == 0)
            break;
        close(dns_server.udp);
        close(dns_server.tcp);
        assert_true(tries < 19);
    }
    dns_server.port = ntohs(here.sin_port);
    assert_int_equal(pthread_create(&dns_server.thread, NULL, dns_server_thread, NULL), 0);
}

static inline void dns_server_stop(void)
{
    atomic_store(&dns_server.stopping, true);
    pthread_join(dns_server.thread, NULL);
    close(dns_server.udp);
    close(dns_server.tcp);
}

/* "127.0.0.1:PORT" for dns_new. */
static inline const char *dns_server_place(void)
{
    static char place[32];
    snprintf(place, sizeof(place), "127.0.0.1:%u", dns_server.port);
    return place;
}
