/*
 * posthorn-sink: a mail server on loopback that takes everything, faster than
 * any sender here, writes down what it took before it says so, and misbehaves
 * on command. Tests judge a sender by what the sink recorded.
 *
 * It speaks as much SMTP as a sender needs (RFC 5321; PIPELINING of RFC 2920,
 * 8BITMIME, SMTPUTF8, SIZE), without TLS and authentication. One thread accepts
 * and reads commands from standard input; each worker thread has an epoll and
 * the sessions it was given. Nothing of a session is shared.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- How it behaves (behaviour.c) ---- */

/* Set by commands, read by every worker. Probabilities are in millionths. */
struct behaviour {
    atomic_uint drop_after_dot;
    atomic_uint drop_mid_data;
    atomic_uint say_421;
    atomic_bool stalled;
    atomic_long delay_ms; /* before the reply to a final dot */
    uint64_t seed;
};
extern struct behaviour behaviour;

enum { PROBABILITY_ONE = 1000000 };

/* A generator of a worker (splitmix64); repeatable from the seed and the number of the worker. */
struct dice {
    uint64_t state;
};
bool dice_decide(struct dice *dice, unsigned probability);

/* What a recipient's local part asks for; the part after the last '+'. */
enum script { SCRIPT_ACCEPT, SCRIPT_UNKNOWN, SCRIPT_BLOCK, SCRIPT_FULL, SCRIPT_LATER, SCRIPT_REFUSE_CONTENT };
/* `address` has `size` bytes. The first time an address ends in "+grey" it is to come later, from then on it is accepted. */
enum script script_of(const char *address, size_t size);
void script_forget(void);

/* ---- What it counted (main.c) ---- */

struct counters {
    atomic_ullong sessions;   /* accepted connections */
    atomic_ullong quit;       /* of those, ended by QUIT */
    atomic_ullong lost;       /* of those, left by the client without QUIT: it died, or gave up */
    atomic_ullong dropped;    /* of those, closed by the sink */
    atomic_ullong messages;   /* taken and recorded */
    atomic_ullong unanswered; /* of those, without a reply: dropped after the dot */
    atomic_ullong cut;        /* messages dropped before their end, not recorded */
    atomic_ullong bytes;      /* of messages taken */
    atomic_ullong refused;    /* recipients refused for good, or for their content */
    atomic_ullong deferred;   /* recipients put off */
    atomic_ullong said_421;
    atomic_ullong first_ns; /* when the first and the last message came, 0: none yet */
    atomic_ullong last_ns;
};
extern struct counters counters;

static inline void count_more(atomic_ullong *counter, unsigned long long more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/* ---- The recorder (record.c) ---- */

/*
 * A line a recipient of every message taken:
 *
 *     <monotonic ns> <session> <recipient> <message id, or "-"> <250, or "-" when no reply was given>
 *
 * Lines are gathered while a worker handles what it was woken for, and written by one write(2), before any reply they cover.
 */
struct record {
    char *bytes;
    size_t size;
    size_t capacity;
};

/* Opens the file to append to; NULL counts only. */
void record_open(const char *path);
bool record_is_on(void);
void record_add(struct record *record, uint64_t at_ns, uint64_t session, const char *recipient, const char *message_id,
                bool replied);
/* Ends the program when the file cannot be written: a recorder that forgets judges wrongly. */
void record_write(struct record *record);

/* ---- A session (session.c) ---- */

enum {
    READ_BYTES = 256 * 1024,
    LINE_BYTES = 4096,
    OUTPUT_BYTES = 32 * 1024,
    ADDRESS_BYTES = 512,
    RECIPIENTS = 100, /* of one message (RFC 5321 §4.5.3.1.8) */
    MESSAGE_ID_BYTES = 256,
};

struct session;

/* What the sessions of one thread share. */
struct worker {
    struct record record;
    struct dice dice;
    char *input; /* READ_BYTES, behind up to LINE_BYTES that a session had left over */
    struct session *sessions;
    int epoll_fd;
    unsigned waiting; /* sessions with replies that are not sent yet */
};

/* Takes the socket; the greeting is sent by the next session_flush. */
struct session *session_new(struct worker *worker, int fd, uint64_t id);

/* Reads what is there, puts messages taken into the worker's record and prepares the replies. */
void session_read(struct worker *worker, struct session *session);

/* Sends what may be sent by now; the record must be written before. False: the session has come to its end. */
bool session_flush(struct worker *worker, struct session *session, uint64_t now);

void session_end(struct worker *worker, struct session *session);
struct session *session_following(const struct session *session);
