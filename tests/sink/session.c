#include "sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum state { STATE_COMMANDS, STATE_HEADER, STATE_BODY };

/* How a session ends, once its record is written. */
enum ending { ENDING_NONE, ENDING_QUIT, ENDING_LOST, ENDING_DROPPED };

struct session {
    struct session *next;
    struct session *previous;
    uint64_t id;
    int fd;
    enum state state;
    enum ending ending;
    bool has_sender;
    bool refuses_content;
    bool is_to_be_cut;      /* before the end of this message */
    bool is_waiting;        /* counted in worker.waiting */
    bool is_at_line;        /* of a message: at the beginning of a line */
    char last_byte;         /* of a message: taken last */
    uint64_t replies_at_ns; /* what is in `output` is not sent before */
    uint64_t message_bytes;
    unsigned recipient_count;
    size_t recipients_size;
    size_t left_over_size;
    size_t output_size;
    char left_over[LINE_BYTES]; /* an unfinished line */
    char message_id[MESSAGE_ID_BYTES];
    char recipients[8 * ADDRESS_BYTES]; /* one after the other, each with its NUL */
    char output[OUTPUT_BYTES];
};

/* ---- Life ---- */

static void answer(struct session *session, const char *text)
{
    size_t size = strlen(text);
    if (OUTPUT_BYTES - session->output_size < size) {
        session->ending = ENDING_DROPPED; /* asks without end and reads nothing */
        return;
    }
    memcpy(session->output + session->output_size, text, size);
    session->output_size += size;
}

struct session *session_new(struct worker *worker, int fd, uint64_t id)
{
    struct session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        abort();
    session->fd = fd;
    session->id = id;
    session->next = worker->sessions;
    if (worker->sessions != NULL)
        worker->sessions->previous = session;
    worker->sessions = session;
    answer(session, "220 sink.test ESMTP\r\n");
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = session };
    if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        abort();
    return session;
}

void session_end(struct worker *worker, struct session *session)
{
    switch (session->ending) {
    case ENDING_NONE:
    case ENDING_DROPPED:
        count_more(&counters.dropped, 1);
        break;
    case ENDING_QUIT:
        count_more(&counters.quit, 1);
        break;
    case ENDING_LOST:
        count_more(&counters.lost, 1);
        break;
    }
    worker->waiting -= session->is_waiting;
    if (session->previous == NULL)
        worker->sessions = session->next;
    else
        session->previous->next = session->next;
    if (session->next != NULL)
        session->next->previous = session->previous;
    close(session->fd);
    free(session);
}

struct session *session_following(const struct session *session)
{
    return session->next;
}

static void set_waiting(struct worker *worker, struct session *session, bool waits)
{
    worker->waiting += waits;
    worker->waiting -= session->is_waiting;
    session->is_waiting = waits;
}

bool session_flush(struct worker *worker, struct session *session, uint64_t now)
{
    bool may_speak = !atomic_load_explicit(&behaviour.stalled, memory_order_relaxed) && now >= session->replies_at_ns;
    if (may_speak && session->output_size > 0) {
        ssize_t sent = send(session->fd, session->output, session->output_size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            session->ending = ENDING_LOST;
            return false;
        }
        if (sent > 0) {
            session->output_size -= (size_t)sent;
            memmove(session->output, session->output + sent, session->output_size);
        }
    }
    set_waiting(worker, session, session->output_size > 0);
    return session->ending == ENDING_NONE || session->is_waiting;
}

/* ---- A message ---- */

static void forget_message(struct session *session)
{
    session->has_sender = false;
    session->refuses_content = false;
    session->is_to_be_cut = false;
    session->recipient_count = 0;
    session->recipients_size = 0;
    session->message_bytes = 0;
    session->message_id[0] = '\0';
}

static void begin_message(struct worker *worker, struct session *session)
{
    answer(session, "354 go ahead\r\n");
    session->is_to_be_cut = dice_decide(&worker->dice, atomic_load_explicit(&behaviour.drop_mid_data, memory_order_relaxed));
    session->state = record_is_on() ? STATE_HEADER : STATE_BODY;
    session->is_at_line = true;
}

static void count_taken(const struct session *session, uint64_t now)
{
    unsigned long long none = 0;
    atomic_compare_exchange_strong(&counters.first_ns, &none, now);
    atomic_store_explicit(&counters.last_ns, now, memory_order_relaxed);
    count_more(&counters.messages, 1);
    count_more(&counters.bytes, session->message_bytes);
}

static void take_message(struct worker *worker, struct session *session)
{
    uint64_t now = now_ns();
    bool drops = dice_decide(&worker->dice, atomic_load_explicit(&behaviour.drop_after_dot, memory_order_relaxed));
    count_taken(session, now);
    if (record_is_on()) {
        const char *recipient = session->recipients;
        for (unsigned i = 0; i < session->recipient_count; i++, recipient += strlen(recipient) + 1)
            record_add(&worker->record, now, session->id, recipient, session->message_id, !drops);
    }
    if (drops) {
        count_more(&counters.unanswered, 1);
        session->output_size = 0;
        session->ending = ENDING_DROPPED;
        return;
    }
    long delay_ms = atomic_load_explicit(&behaviour.delay_ms, memory_order_relaxed);
    if (delay_ms > 0)
        session->replies_at_ns = now + (uint64_t)delay_ms * 1000000;
    answer(session, "250 2.0.0 taken\r\n");
}

static void end_message(struct worker *worker, struct session *session)
{
    session->state = STATE_COMMANDS;
    if (session->refuses_content) {
        count_more(&counters.refused, 1);
        answer(session, "554 5.6.0 this content is not welcome\r\n");
    } else {
        take_message(worker, session);
    }
    forget_message(session);
}

/* ---- Commands ---- */

static bool is_command(const char *line, size_t size, const char *word)
{
    size_t length = strlen(word);
    return size >= length && strncasecmp(line, word, length) == 0;
}

/* The address between the angle brackets; false when there is none of a reasonable size. */
static bool find_address(const char *line, size_t size, const char **ret_address, size_t *ret_size)
{
    const char *begin = memchr(line, '<', size);
    const char *end = begin == NULL ? NULL : memchr(begin, '>', size - (size_t)(begin - line));
    if (end == NULL || end - begin - 1 >= ADDRESS_BYTES)
        return false;
    *ret_address = begin + 1;
    *ret_size = (size_t)(end - begin) - 1;
    return true;
}

static void take_sender(struct worker *worker, struct session *session)
{
    if (dice_decide(&worker->dice, atomic_load_explicit(&behaviour.say_421, memory_order_relaxed))) {
        count_more(&counters.said_421, 1);
        answer(session, "421 4.3.2 not now\r\n");
        session->ending = ENDING_DROPPED;
        return;
    }
    forget_message(session);
    session->has_sender = true;
    answer(session, "250 2.1.0 ok\r\n");
}

static void take_recipient(struct session *session, const char *line, size_t size)
{
    const char *address;
    size_t length;
    if (!session->has_sender) {
        answer(session, "503 5.5.1 MAIL first\r\n");
        return;
    }
    if (!find_address(line, size, &address, &length)) {
        answer(session, "501 5.1.3 no address\r\n");
        return;
    }
    if (session->recipient_count == RECIPIENTS || sizeof(session->recipients) - session->recipients_size <= length) {
        answer(session, "452 4.5.3 too many recipients\r\n");
        return;
    }
    switch (script_of(address, length)) {
    case SCRIPT_UNKNOWN:
        count_more(&counters.refused, 1);
        answer(session, "550 5.1.1 no such mailbox\r\n");
        return;
    case SCRIPT_BLOCK:
        count_more(&counters.refused, 1);
        answer(session, "550 5.7.1 blocked\r\n");
        return;
    case SCRIPT_FULL:
        count_more(&counters.deferred, 1);
        answer(session, "452 4.2.2 mailbox full\r\n");
        return;
    case SCRIPT_LATER:
        count_more(&counters.deferred, 1);
        answer(session, "451 4.7.1 come back later\r\n");
        return;
    case SCRIPT_REFUSE_CONTENT:
        session->refuses_content = true;
        break;
    case SCRIPT_ACCEPT:
        break;
    }
    memcpy(session->recipients + session->recipients_size, address, length);
    session->recipients[session->recipients_size + length] = '\0';
    session->recipients_size += length + 1;
    session->recipient_count++;
    answer(session, "250 2.1.5 ok\r\n");
}

static void take_command(struct worker *worker, struct session *session, const char *line, size_t size)
{
    if (is_command(line, size, "MAIL FROM:")) {
        take_sender(worker, session);
    } else if (is_command(line, size, "RCPT TO:")) {
        take_recipient(session, line, size);
    } else if (is_command(line, size, "DATA")) {
        if (session->recipient_count > 0)
            begin_message(worker, session);
        else
            answer(session, "503 5.5.1 no valid recipients\r\n");
    } else if (is_command(line, size, "EHLO")) {
        forget_message(session);
        answer(session, "250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n"
                        "250 SIZE 52428800\r\n");
    } else if (is_command(line, size, "HELO") || is_command(line, size, "RSET")) {
        forget_message(session);
        answer(session, "250 2.0.0 ok\r\n");
    } else if (is_command(line, size, "NOOP")) {
        answer(session, "250 2.0.0 ok\r\n");
    } else if (is_command(line, size, "QUIT")) {
        answer(session, "221 2.0.0 bye\r\n");
        session->ending = ENDING_QUIT;
    } else {
        answer(session, "500 5.5.2 unknown command\r\n");
    }
}

/* ---- Input ---- */

/* Each of these looks at `size` bytes and gives how many it is done with; 0: more bytes are needed. */

static size_t take_line(struct worker *worker, struct session *session, const char *bytes, size_t size)
{
    const char *end = memchr(bytes, '\n', size);
    if (end == NULL)
        return 0;
    size_t length = (size_t)(end - bytes);
    take_command(worker, session, bytes, length > 0 && end[-1] == '\r' ? length - 1 : length);
    return length + 1;
}

static void keep_message_id(struct session *session, const char *value, size_t size)
{
    while (size > 0 && (*value == ' ' || *value == '\t'))
        value++, size--;
    size_t length = 0;
    while (length < size && (unsigned char)value[length] > ' ')
        length++;
    if (length < MESSAGE_ID_BYTES) {
        memcpy(session->message_id, value, length);
        session->message_id[length] = '\0';
    }
}

/* Where the line break before a dot is, or NULL. Read in blocks that a compiler turns into vectors: this is most of what the
 * sink does. */
static const char *find_dot_line(const char *bytes, size_t size)
{
    enum { BLOCK = 64 };
    size_t i = 0;
    for (; i + BLOCK < size; i += BLOCK) {
        unsigned char found = 0;
        for (size_t k = 0; k < BLOCK; k++)
            found |= (unsigned char)((bytes[i + k] == '\n') & (bytes[i + k + 1] == '.'));
        if (found)
            break;
    }
    for (; i + 1 < size; i++)
        if (bytes[i] == '\n' && bytes[i + 1] == '.')
            return bytes + i;
    return NULL;
}

/* Goes to the next line that begins with a dot, or to the end. */
static size_t skip_text(struct session *session, const char *bytes, size_t size)
{
    const char *end = find_dot_line(bytes, size);
    const char *last = end == NULL ? bytes + size - 1 : end;
    char before = last > bytes ? last[-1] : session->last_byte;
    session->is_at_line = *last == '\n' && before == '\r';
    session->last_byte = *last;
    return (size_t)(last - bytes) + 1;
}

static size_t take_body(struct worker *worker, struct session *session, const char *bytes, size_t size)
{
    static const char dot[] = ".\r\n";
    size_t seen = size < 3 ? size : 3;
    if (!session->is_at_line || memcmp(bytes, dot, seen) != 0) {
        size_t done = skip_text(session, bytes, size);
        session->message_bytes += done;
        return done;
    }
    if (seen < 3)
        return 0;
    end_message(worker, session);
    return 3;
}

/* Looks at the lines of the header until the one that is wanted. */
static size_t take_header(struct worker *worker, struct session *session, const char *bytes, size_t size)
{
    static const char wanted[] = "Message-ID:";
    if (*bytes == '.') {
        session->state = STATE_BODY;
        return take_body(worker, session, bytes, size);
    }
    const char *end = memchr(bytes, '\n', size);
    if (end == NULL)
        return 0;
    size_t length = (size_t)(end - bytes);
    bool is_wanted = is_command(bytes, length, wanted);
    if (is_wanted)
        keep_message_id(session, bytes + sizeof(wanted) - 1, length - (sizeof(wanted) - 1));
    if (is_wanted || length <= 1)
        session->state = STATE_BODY;
    session->last_byte = '\n';
    session->message_bytes += length + 1;
    return length + 1;
}

static size_t take_some(struct worker *worker, struct session *session, const char *bytes, size_t size)
{
    switch (session->state) {
    case STATE_COMMANDS:
        return take_line(worker, session, bytes, size);
    case STATE_HEADER:
        return take_header(worker, session, bytes, size);
    case STATE_BODY:
        return take_body(worker, session, bytes, size);
    }
    abort();
}

static void cut(struct session *session)
{
    count_more(&counters.cut, 1);
    session->output_size = 0;
    session->ending = ENDING_DROPPED;
}

static void take_input(struct worker *worker, struct session *session, size_t size)
{
    const char *bytes = worker->input;
    while (size > 0 && session->ending == ENDING_NONE) {
        if (session->state != STATE_COMMANDS && session->is_to_be_cut) {
            cut(session);
            return;
        }
        size_t done = take_some(worker, session, bytes, size);
        if (done == 0)
            break;
        bytes += done;
        size -= done;
    }
    if (size > LINE_BYTES) {
        session->ending = ENDING_DROPPED; /* no line is as long as that */
        return;
    }
    memcpy(session->left_over, bytes, size);
    session->left_over_size = size;
}

void session_read(struct worker *worker, struct session *session)
{
    memcpy(worker->input, session->left_over, session->left_over_size);
    ssize_t received = recv(session->fd, worker->input + session->left_over_size, READ_BYTES, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received > 0 && session->ending == ENDING_NONE)
        take_input(worker, session, session->left_over_size + (size_t)received);
    if (received > 0)
        return;
    session->output_size = 0; /* nobody is there to read it */
    if (session->ending == ENDING_NONE)
        session->ending = ENDING_LOST;
}
