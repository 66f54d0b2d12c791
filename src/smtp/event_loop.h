/*
 * SMTP loop: hands messages to relays over many sessions from one thread
 * (RFC 5321, PIPELINING of RFC 2920). One recipient a transaction. Each sending
 * thread has a loop; the relays' bounds hold over all loops of a set.
 *
 * The loop asks for work when a session has room for it (`next`), so nothing
 * is composed before it can be sent, and a relay that stalls holds nothing but
 * the messages its sessions have in hand. At most one message of a session
 * awaits its final reply at any time: the next one's envelope travels with the
 * end of the one before, its body only after that one's reply and its own 354.
 *
 * libcurl makes the connection, TLS and the log-in (CURLOPT_CONNECT_ONLY);
 * the commands are spoken here.
 *
 * All calls of `events` happen on the thread that runs the loop.
 */
#pragma once

#include "smtp/relay.h"

#include "base/values.h"

/* What is handed over; borrowed until `next` is called again or the loop asks for nothing: the loop copies. */
struct smtp_message {
    void *tag;             /* names the message in the calls below */
    const char *mail_from; /* envelope sender; "" for the null sender. ASCII, without CR, LF or spaces */
    const char *rcpt_to;   /* envelope recipient, its domain in A-labels */
    bool needs_smtputf8;   /* a local part beyond ASCII: 5.6.7 where the relay has no SMTPUTF8 (RFC 6531) */
    struct bytes parts[2]; /* the message: CRLF line ends, 7-bit, no dot-stuffing; the first part (signatures) may be empty */
};

enum smtp_stage { SMTP_STAGE_CONNECT, SMTP_STAGE_MAIL, SMTP_STAGE_RCPT, SMTP_STAGE_DATA, SMTP_STAGE_FINAL };

enum smtp_end {
    SMTP_REPLIED,   /* the relay decided, or the client in its place (no SMTPUTF8, addresses that are no addresses): see code */
    SMTP_NOT_SENT,  /* the session was lost, or refused as such, before the final dot: nothing happened, give it out again. The
                     * relay rests where it is to blame; whoever gives out counts how often a message was lost so */
    SMTP_UNCERTAIN, /* the session was lost after the final dot, before its reply */
};

enum { SMTP_TEXT_MAX_BYTES = 240 };

struct smtp_outcome {
    enum smtp_end end;
    /* A 421 to RCPT, DATA or the dot is a reply to the message as well as the end of its session: SMTP_REPLIED. One to the greeting
     * or to MAIL is nobody's: SMTP_NOT_SENT. */
    enum smtp_stage stage;          /* that the reply belongs to, or that was reached */
    int code;                       /* of the reply, such as 250; 0 without one */
    char enhanced[12];              /* "5.1.1", "" without one (RFC 3463) */
    char text[SMTP_TEXT_MAX_BYTES]; /* of the reply without its codes, printable ASCII; or what went wrong */
    const char *relay;              /* host:port, lives as long as the relays */
};

struct smtp_events {
    void *context;
    /* Gives the next message, or false when there is none for now; smtp_event_loop_wake asks again. A message whose recipient's
     * domain is at its bound is not handed over: the implementer skips such with smtp_event_loop_has_room. */
    bool (*next)(void *context, struct smtp_message *ret_message);
    /* The bytes with the final dot are about to be written. False: do not; the session is dropped and the message ends
     * SMTP_NOT_SENT. So it may also end after true, when the connection was lost before the dot was handed to the system. */
    bool (*before_dot)(void *context, void *tag);
    /* The end of every message that `next` gave, exactly once. */
    void (*done)(void *context, void *tag, const struct smtp_outcome *outcome);
};

struct smtp_event_loop;

/* A loop of `loop_count` over the same relays; opens its share of their connections as there is work, and closes sessions that
 * were idle for 15 s. `helo_name`: how this host names itself. `relays` and `events` are borrowed. */
struct smtp_event_loop *smtp_event_loop_new(struct smtp_relays *relays, int loop_count, const char *helo_name,
                                            const struct smtp_events *events) NONNULL(1, 3, 4) RETURNS_NONNULL;

/* Runs until smtp_event_loop_stop: then messages whose final dot was sent get up to `stop_ms` for their reply, all others end
 * SMTP_NOT_SENT. */
void smtp_event_loop_run(struct smtp_event_loop *loop, int stop_ms) NONNULL(1);

/* From any thread: there may be messages again. */
void smtp_event_loop_wake(struct smtp_event_loop *loop) NONNULL(1);
void smtp_event_loop_stop(struct smtp_event_loop *loop) NONNULL(1);

/* Whether another message to this domain (lower case) may be under way; for `next`, where a yes keeps the place for the message
 * given next, until it is asked again. After a no, `next` is called again as places come free. */
bool smtp_event_loop_has_room(const struct smtp_event_loop *loop, const char *domain) NONNULL(1, 2);

void smtp_event_loop_free(struct smtp_event_loop *loop);
