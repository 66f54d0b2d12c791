/*
 * SMTP event loop: sends messages to relays over many sessions from one thread
 * (RFC 5321, pipelining of RFC 2920). A transaction has one recipient. Each
 * sending thread has a loop; the relays' bounds hold over all loops of a set.
 *
 * The loop asks for work when a session can take a message (`next`), so no
 * message is composed before it can be sent. A relay that stalls delays only
 * the messages of its sessions. A session waits for at most one final reply at
 * a time: the envelope of the next message travels with the end of the one
 * before, but its body only after that final reply and its own 354.
 *
 * libcurl makes the connection, TLS and the log-in (CURLOPT_CONNECT_ONLY);
 * the SMTP client writes the commands itself.
 *
 * All calls of `events` happen on the thread that runs the loop.
 */
#pragma once

#include "smtp/relay.h"

#include "base/values.h"

/* A message to send. The loop copies it, so it is borrowed only until the next call of `next`. */
struct smtp_message {
    void *tag;               /* names the message in the calls below */
    const char *mail_from;   /* envelope sender; "" for the null sender. ASCII, without CR, LF or spaces */
    const char *return_path; /* the envelope sender in place of mail_from, at relays with return_path=on; NULL: none */
    const char *rcpt_to;     /* envelope recipient, its domain in A-labels */
    bool needs_smtputf8;     /* a local part beyond ASCII: 5.6.7 where the relay has no SMTPUTF8 (RFC 6531) */
    struct bytes parts[2];   /* the message: CRLF line ends, 7-bit, no dot-stuffing; the first part (signatures) may be empty */
};

enum smtp_stage { SMTP_STAGE_CONNECT, SMTP_STAGE_MAIL, SMTP_STAGE_RCPT, SMTP_STAGE_DATA, SMTP_STAGE_FINAL };

enum smtp_end {
    SMTP_REPLIED,   /* the relay decided, or the client in its place (no SMTPUTF8, invalid addresses): see code */
    SMTP_NOT_SENT,  /* the session was lost or refused before the final dot: retry the message. The relay backs off if it caused
                     * the loss; the caller counts the losses of a message */
    SMTP_UNCERTAIN, /* the session was lost after the final dot, before its reply */
};

enum { SMTP_TEXT_MAX_BYTES = 240 };

struct smtp_outcome {
    enum smtp_end end;
    /* A 421 to RCPT, DATA or the dot is a reply to the message and ends the session: SMTP_REPLIED. A 421 to the greeting or to
     * MAIL is a reply to no message: SMTP_NOT_SENT. */
    enum smtp_stage stage;          /* that the reply belongs to, or that was reached */
    int code;                       /* of the reply, such as 250; 0 without one */
    char enhanced[12];              /* "5.1.1", "" without one (RFC 3463) */
    char text[SMTP_TEXT_MAX_BYTES]; /* of the reply without its codes, printable ASCII; or what went wrong */
    const char *relay;              /* host:port, lives as long as the relays */
};

struct smtp_events {
    void *context;
    /* Gives the next message, or returns false when there is none for now; after smtp_event_loop_wake the loop asks again. The
     * implementer skips messages whose recipient domain is at its bound, with smtp_event_loop_has_room. */
    bool (*next)(void *context, struct smtp_message *ret_message);
    /* Called before the bytes with the final dot are written. False drops the session, and the message ends SMTP_NOT_SENT. After
     * true, the message ends SMTP_NOT_SENT too if the connection is lost before the kernel gets the dot. */
    bool (*before_dot)(void *context, void *tag);
    /* Reports the end of every message that `next` gave, exactly once. */
    void (*done)(void *context, void *tag, const struct smtp_outcome *outcome);
};

struct smtp_event_loop;

/* Makes one of `loop_count` loops over the same relays. It opens its share of their connections when there is work, and closes
 * sessions that were idle for 15 s. `helo_name`: the name of this host in EHLO. `relays` and `events` are borrowed. */
struct smtp_event_loop *smtp_event_loop_new(struct smtp_relays *relays, int loop_count, const char *helo_name,
                                            const struct smtp_events *events) NONNULL(1, 3, 4) RETURNS_NONNULL;

/* Runs until smtp_event_loop_stop: then messages whose final dot was sent get up to `stop_ms` for their reply, all others end
 * SMTP_NOT_SENT. */
void smtp_event_loop_run(struct smtp_event_loop *loop, int stop_ms) NONNULL(1);

/* Makes the loop ask `next` again. Any thread. */
void smtp_event_loop_wake(struct smtp_event_loop *loop) NONNULL(1);
/* Makes smtp_event_loop_run end. Any thread. */
void smtp_event_loop_stop(struct smtp_event_loop *loop) NONNULL(1);

/* Whether another message to this domain (lower case) may be in progress; for use inside `next`. True reserves room for the
 * message given next, until the next call. After false, `next` is called again when a message to the domain may have ended. */
bool smtp_event_loop_has_room(const struct smtp_event_loop *loop, const char *domain) NONNULL(1, 2);

void smtp_event_loop_free(struct smtp_event_loop *loop);
