/*
 * SMTP session: one connection to a relay and its SMTP dialogue, as a state
 * machine that never blocks. Internal to the SMTP client; also declares the data
 * and functions that a session and its event loop share.
 *
 *     free → connecting → open ⇄ (idle) → leaving → free
 *
 * libcurl makes the connection (smtp/connect.c). Then the session writes
 * commands and bodies. For each it records the expected reply and the stream
 * position of its last byte (`pending_replies`), and handles the replies in that
 * order. With pipelining one write holds a body, its final dot and the envelope
 * of the next message; without it, one command.
 *
 * `sending` is the message whose body is being sent, `upcoming` the one whose
 * envelope is being sent. Only the loop's thread uses a session.
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
    SMTP_LEAVING, /* QUIT was written; only its reply is pending */
};

enum smtp_step { SMTP_STEP_RSET, SMTP_STEP_MAIL, SMTP_STEP_RCPT, SMTP_STEP_DATA, SMTP_STEP_FINAL, SMTP_STEP_QUIT };

struct smtp_pending_reply {
    enum smtp_step step;
    uint64_t end; /* stream position behind the command; an earlier reply does not belong to it */
};

/* The extensions in the last reply to EHLO. */
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
    struct smtp_permit permit;
    int64_t deadline_us; /* monotonic */

    /* The connection. */
    CURL *curl;
    int fd;
    bool is_encrypted;
    bool is_watched; /* by an epoll entry of the loop, not of libcurl */
    bool watches_writing;
    unsigned greetings; /* replies 220 while connecting: the second is to STARTTLS */
    bool has_ehlo_line; /* the first line of the reply to EHLO was read; it names no extension */
    struct smtp_extensions extensions;
    struct smtp_reply_parser parser;

    /* The dialogue. */
    struct smtp_transaction transactions[2];
    struct smtp_transaction *sending;
    struct smtp_transaction *upcoming;
    enum smtp_step next_step; /* the next command of `upcoming` to write */
    bool must_reset;          /* the relay still holds the sender of a refused envelope */
    bool is_last;             /* no message follows `sending` */
    bool is_idle;
    bool did_work; /* the relay decided about a message in this session */
    int begun;     /* messages */
    struct smtp_pending_reply pending_replies[SMTP_MAX_PENDING_REPLIES];
    unsigned pending_first;
    unsigned pending_count;

    /* The stream. */
    const struct buf *out; /* the bytes of a transaction or `commands`; NULL when all is written */
    size_t out_at;
    uint64_t written; /* since the connection */
    struct buf commands;
};

/* State during a call of `next`, which gets the loop as a constant. */
struct smtp_next_call {
    struct smtp_relay *relay; /* the relay that needs a message; NULL when `next` is not running */
    uint64_t reserved;        /* the destination that smtp_event_loop_has_room reserved */
    bool was_at_bound;        /* smtp_event_loop_has_room returned false since `next` last gave a message */
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
    int64_t curl_due_us; /* the next timer of libcurl; INT64_MAX: none */

    struct smtp_session *sessions;
    uint32_t session_count; /* including free ones */
    uint32_t idle_count;
    uint32_t busy_count; /* sessions that are not free */
    int shares[SMTP_MAX_RELAYS];
    int used[SMTP_MAX_RELAYS];
    size_t first_relay; /* gets the next new session (round robin) */

    int64_t now_us;                        /* monotonic, of this round */
    int64_t earliest_us;                   /* a lower bound of the sessions' deadlines */
    bool is_queue_empty;                   /* `next` had no message */
    int64_t ask_us;                        /* when to ask `next` again without a wake-up; INT64_MAX: never */
    int64_t relay_ask_us[SMTP_MAX_RELAYS]; /* no message is begun with the relay before this time */
    bool is_stopping;
    struct smtp_next_call *next_call;
};

void smtp_session_init(struct smtp_session *session, struct smtp_event_loop *loop, uint32_t index) NONNULL(1, 2);
void smtp_session_done(struct smtp_session *session) NONNULL(1);

/* Takes a message for a new session with the relay and begins to connect. The session must be free and the relay's connection
 * counted. False: there was no message, and the session is still free. */
MUST_CHECK bool smtp_session_start(struct smtp_session *session, struct smtp_relay *relay) NONNULL(1, 2);

/* Lets an idle session take a message. */
void smtp_session_offer(struct smtp_session *session) NONNULL(1);

/* The connection was made, or could not be made. */
void smtp_session_connected(struct smtp_session *session) NONNULL(1);
void smtp_session_unreachable(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* The socket can be read or written. */
void smtp_session_ready(struct smtp_session *session, bool can_write) NONNULL(1);

/* The deadline has passed. */
void smtp_session_overdue(struct smtp_session *session) NONNULL(1);

/* Ends the session, unless it waits for the reply to a final dot and `now` is false. */
void smtp_session_stop(struct smtp_session *session, bool now) NONNULL(1);

/* ---- Functions of the loop for its sessions ---- */

/* Sets the deadline, counted from the start of this round. */
void smtp_event_loop_set_deadline(struct smtp_session *session, int64_t after_ms) NONNULL(1);

/* Asks for a message for a session with this relay. */
MUST_CHECK bool smtp_event_loop_next(struct smtp_event_loop *loop, struct smtp_relay *relay, struct smtp_message *ret_message)
    NONNULL(1, 2, 3);

/* Ends a message: reports its outcome and clears the transaction. */
void smtp_event_loop_settle(struct smtp_session *session, struct smtp_transaction *transaction) NONNULL(1, 2);

/* Watches the session's socket for reading, and for writing if `writing`. */
void smtp_event_loop_watch(struct smtp_session *session, bool writing) NONNULL(1);

/* Counts a session that became free. */
void smtp_event_loop_vacate(struct smtp_session *session) NONNULL(1);
