/*
 * SMTP session: one connection to a relay and the conversation on it, as a
 * state machine that never blocks. Internal to the SMTP client, with what a
 * session and its loop know of each other.
 *
 *     free → connecting → open ⇄ (idle) → leaving → free
 *
 * libcurl leads the connecting part (smtp/connect.c). From then on the
 * session speaks: it writes commands and bodies, notes for each what reply is
 * due (`pending_replies`) and where its last byte stands in the stream, and handles the
 * replies in that order. With PIPELINING a write holds a body, its final dot and
 * the envelope of the next message; without, one command.
 *
 * `sending` is the message whose body is on its way, `coming` the one whose
 * envelope is being settled. All belongs to the loop's thread.
 */
#pragma once

#include "smtp/relay_state.h"
#include "smtp/reply_parser.h"
#include "smtp/transaction.h"

#include <curl/curl.h>
#include <stdatomic.h>

enum smtp_phase {
    SMTP_FREE,
    SMTP_CONNECTING,
    SMTP_OPEN,
    SMTP_LEAVING, /* QUIT was said; only its reply is pending_replies */
};

enum smtp_step { SMTP_STEP_RSET, SMTP_STEP_MAIL, SMTP_STEP_RCPT, SMTP_STEP_DATA, SMTP_STEP_FINAL, SMTP_STEP_QUIT };

struct smtp_pending_reply {
    enum smtp_step step;
    uint64_t end; /* in the stream: a reply before this was written is no reply to it */
};

/* What the last EHLO offered. */
struct smtp_extensions {
    bool pipelining; /* RFC 2920 */
    bool size;       /* RFC 1870 */
    bool smtputf8;   /* RFC 6531 */
    bool login;      /* RFC 4954 */
};

enum { SMTP_MAX_PENDING_REPLIES = 8 };

struct smtp_session {
    struct smtp_event_loop *loop;
    uint32_t index; /* in the loop */
    enum smtp_phase phase;
    struct smtp_relay *relay;
    struct smtp_turn turn;
    int64_t deadline_us; /* monotonic */

    /* The connection. */
    CURL *curl;
    int fd;
    bool is_encrypted;
    bool is_watched; /* by our epoll entry, not by one of libcurl */
    bool watches_writing;
    unsigned greetings; /* 220 while connecting: the second is about STARTTLS */
    bool heard_hello;   /* the first line of the reply to EHLO, which is no ability */
    struct smtp_extensions extensions;
    struct smtp_reply_parser reader;

    /* The conversation. */
    struct smtp_transaction letters[2];
    struct smtp_transaction *sending;
    struct smtp_transaction *coming;
    enum smtp_step next_step; /* of `coming`, that was not said yet */
    bool must_reset;          /* the relay keeps a sender that came to nothing */
    bool is_last;             /* nothing follows the message in hand */
    bool is_idle;
    bool did_work; /* the relay decided about a message in this session */
    int begun;     /* messages */
    struct smtp_pending_reply pending_replies[SMTP_MAX_PENDING_REPLIES];
    unsigned pending_first;
    unsigned pending_count;

    /* The stream. */
    const struct buf *out; /* a letter's bytes or `commands`; NULL when all is written */
    size_t out_at;
    uint64_t written; /* since the connection */
    struct buf commands;
};

/* What happens inside `next`, which only has the loop as a constant. */
struct smtp_request_state {
    struct smtp_relay *relay; /* for which a message is asked for, NULL outside */
    uint64_t reserved;        /* the destination that smtp_event_loop_has_room promised room for */
    bool lacked_room;         /* it said no since `next` last gave a message */
};

struct smtp_event_loop {
    struct smtp_relays *relays;
    struct smtp_events events;
    char *helo_name;
    int epoll_fd;
    int wake_fd;
    atomic_bool is_woken;
    atomic_bool must_stop;

    CURLM *multi;
    int64_t curl_due_us; /* when libcurl wants to look at its time-outs; INT64_MAX never */

    struct smtp_session *sessions;
    uint32_t session_count; /* places */
    uint32_t idle_count;
    uint32_t busy_count; /* places that are not free */
    int shares[SMTP_MAX_RELAYS];
    int used[SMTP_MAX_RELAYS];
    size_t first_relay; /* whose turn it is to get a new session */

    int64_t now_us;                        /* monotonic, of this round */
    int64_t earliest_us;                   /* no deadline of a session is before it */
    bool is_dry;                           /* `next` had nothing */
    int64_t ask_us;                        /* when to ask nevertheless, INT64_MAX never */
    int64_t relay_ask_us[SMTP_MAX_RELAYS]; /* before it nothing is begun with the relay */
    bool is_stopping;
    struct smtp_request_state *asking;
};

void smtp_session_init(struct smtp_session *session, struct smtp_event_loop *loop, uint32_t index) NONNULL(1, 2);
void smtp_session_done(struct smtp_session *session) NONNULL(1);

/* Takes a message for a new session with the relay and begins to connect; the place must be free and the relay's connection
 * counted. False: there was no message, and the place is still free. */
MUST_CHECK bool smtp_session_start(struct smtp_session *session, struct smtp_relay *relay) NONNULL(1, 2);

/* Lets an idle session take a message. */
void smtp_session_offer(struct smtp_session *session) NONNULL(1);

/* The connection is made, or could not be. */
void smtp_session_connected(struct smtp_session *session) NONNULL(1);
void smtp_session_unreachable(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* The socket can be read or written. */
void smtp_session_ready(struct smtp_session *session, bool can_write) NONNULL(1);

/* Its deadline has passed. */
void smtp_session_overdue(struct smtp_session *session) NONNULL(1);

/* Ends it, unless it awaits the reply to a final dot and `now` is false. */
void smtp_session_stop(struct smtp_session *session, bool now) NONNULL(1);

/* ---- What the loop does for its sessions ---- */

/* Sets the deadline, from the start of this round. */
void smtp_event_loop_set_deadline(struct smtp_session *session, int64_t after_ms) NONNULL(1);

/* Asks for a message for a session with this relay. */
MUST_CHECK bool smtp_event_loop_next(struct smtp_event_loop *loop, struct smtp_relay *relay, struct smtp_message *ret_message)
    NONNULL(1, 2, 3);

/* The message is over: counted out, told and forgotten. */
void smtp_event_loop_settle(struct smtp_session *session, struct smtp_transaction *letter) NONNULL(1, 2);

/* Whether the session's socket is watched for room to write; reading is always watched. */
void smtp_event_loop_watch(struct smtp_session *session, bool writing) NONNULL(1);

/* The place is free again. */
void smtp_event_loop_vacate(struct smtp_session *session) NONNULL(1);
