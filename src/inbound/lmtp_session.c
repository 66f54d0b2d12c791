#include "inbound/lmtp_session.h"

#include "base/panic.h"
#include "base/text.h"
#include "engine/compose/return_path.h"
#include "inbound/receive.h"
#include "mail/mime_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LINE_MAX_BYTES = 4096,
    OUTPUT_MAX_BYTES = 256 * 1024,
    ADDRESS_MAX_BYTES = 320,
    QUICK_MESSAGE_BYTES = 64 * 1024, /* a larger one is read in the pool of slow calls */
};

/* Where the reader of a message is in its lines (RFC 5321 §4.5.2). Only CRLF . CRLF ends a message. */
enum data_state { DATA_LINE_START, DATA_DOT, DATA_DOT_CR, DATA_TEXT, DATA_CR };

/* The call of the first recipient is made before those of the others. */
enum session_phase { PHASE_COMMANDS, PHASE_DATA, PHASE_FIRST_CALL, PHASE_OTHER_CALLS, PHASE_ENDED };

/* One recipient of a message, and its call. A recipient that was named before has no call, but the result of the first. */
struct delivery {
    char address[ADDRESS_MAX_BYTES + 1];
    struct lmtp_session *session;
    const struct delivery *first; /* of the same address; NULL: this one */
    struct arena *arena;
    struct call call;
    bool is_submitted;
    bool is_completed; /* under the lock of the session */
    enum error_code error;
};

struct lmtp_session {
    struct lmtp_host *host;
    enum session_phase phase;
    bool has_greeted;
    bool has_sender;
    char line[LINE_MAX_BYTES];
    size_t line_size;
    enum data_state data_state;
    bool is_out_of_memory;
    struct buf message;
    struct buf output;
    struct delivery *deliveries[LMTP_MAX_RECIPIENTS];
    size_t delivery_count;
    json_t *arguments; /* of the message, read by the call of the first recipient; NULL: not read */
    pthread_mutex_t lock;
    size_t open_calls; /* under the lock */
};

static void reply(struct lmtp_session *session, const char *text)
{
    buf_printf(&session->output, "%s\r\n", text);
}

struct lmtp_session *lmtp_session_new(struct lmtp_host *host)
{
    struct lmtp_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        panic(PANIC_NO_MEMORY);
    session->host = host;
    buf_init(&session->message, MIME_MESSAGE_MAX_BYTES);
    buf_init(&session->output, OUTPUT_MAX_BYTES);
    pthread_mutex_init(&session->lock, NULL);
    buf_printf(&session->output, "220 %s LMTP\r\n", host->name);
    return session;
}

static void drop_message(struct lmtp_session *session)
{
    for (size_t i = 0; i < session->delivery_count; i++) {
        arena_free(session->deliveries[i]->arena);
        free(session->deliveries[i]);
    }
    session->host->message_bytes -= session->message.size;
    buf_done(&session->message);
    buf_init(&session->message, MIME_MESSAGE_MAX_BYTES);
    session->delivery_count = 0;
    session->arguments = NULL;
    session->has_sender = false;
    session->is_out_of_memory = false;
}

void lmtp_session_free(struct lmtp_session *session)
{
    if (session == NULL)
        return;
    drop_message(session);
    buf_done(&session->message);
    buf_done(&session->output);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

struct buf *lmtp_session_output(struct lmtp_session *session)
{
    return &session->output;
}

bool lmtp_session_has_ended(const struct lmtp_session *session)
{
    return session->phase == PHASE_ENDED;
}

/* ---- Commands ---- */

static const char *argument_after(const char *line, const char *word)
{
    size_t size = strlen(word);
    return strncasecmp(line, word, size) == 0 ? line + size + strspn(line + size, " ") : NULL;
}

/* Reads <ADDRESS>; false when it is malformed or too long. `ret_rest` is what follows. */
static bool read_path(const char *text, char ret_address[ADDRESS_MAX_BYTES + 1], const char **ret_rest)
{
    if (*text != '<')
        return false;
    size_t size = strcspn(text + 1, ">");
    if (text[1 + size] != '>' || size > ADDRESS_MAX_BYTES)
        return false;
    memcpy(ret_address, text + 1, size);
    ret_address[size] = '\0';
    *ret_rest = text + size + 2;
    return true;
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

/* Judges the parameters of MAIL; NULL: all are fine. */
static const char *refuse_parameters(const char *at)
{
    while (*(at += strspn(at, " ")) != '\0') {
        size_t size = strcspn(at, " ");
        bool is_known = is_word(at, size, "BODY=7BIT") || is_word(at, size, "BODY=8BITMIME") || is_word(at, size, "SMTPUTF8");
        if (strncasecmp(at, "SIZE=", 5) == 0) {
            if (strtoull(at + 5, NULL, 10) > MIME_MESSAGE_MAX_BYTES)
                return "552 5.3.4 The message is too large";
        } else if (!is_known) {
            return "555 5.5.4 This parameter is not supported";
        }
        at += size;
    }
    return NULL;
}

static void on_lhlo(struct lmtp_session *session)
{
    drop_message(session);
    session->has_greeted = true;
    buf_printf(&session->output,
               "250-%s\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE %d\r\n",
               session->host->name, MIME_MESSAGE_MAX_BYTES);
}

static void on_mail(struct lmtp_session *session, const char *path)
{
    char address[ADDRESS_MAX_BYTES + 1];
    const char *rest;
    if (!session->has_greeted || session->has_sender)
        return reply(session, session->has_greeted ? "503 5.5.1 A sender was given" : "503 5.5.1 LHLO comes first");
    if (!read_path(path, address, &rest))
        return reply(session, "501 5.1.7 The sender is malformed");
    const char *refusal = refuse_parameters(rest);
    session->has_sender = refusal == NULL;
    reply(session, refusal != NULL ? refusal : "250 2.1.0 Ok");
}

static bool is_role_address(const char *address)
{
    static const char *const roles[] = { "abuse", "bounces", "fbl", "postmaster" };
    const char *at = strchr(address, '@');
    for (size_t i = 0; at != NULL && i < ARRAY_COUNT(roles); i++)
        if ((size_t)(at - address) == strlen(roles[i]) && strncasecmp(address, roles[i], strlen(roles[i])) == 0)
            return strncasecmp(at + 1, RETURN_PATH_HOST, strlen(RETURN_PATH_HOST)) == 0;
    return false;
}

static bool is_own_address(const struct lmtp_session *session, const char *address)
{
    ARENA_SCOPE arena = arena_new(0);
    struct message_origin ignored;
    const struct engine *engine = installation_engine(api_installation(session->host->api));
    return is_role_address(address) || return_path_open(engine, arena, address, &ignored) != RETURN_PATH_NONE;
}

static const struct delivery *find_recipient(const struct lmtp_session *session, const char *address)
{
    for (size_t i = 0; i < session->delivery_count; i++)
        if (strcasecmp(session->deliveries[i]->address, address) == 0)
            return session->deliveries[i]->first != NULL ? session->deliveries[i]->first : session->deliveries[i];
    return NULL;
}

static void add_recipient(struct lmtp_session *session, const char *address)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    if (delivery == NULL)
        panic(PANIC_NO_MEMORY);
    memcpy(delivery->address, address, strlen(address) + 1);
    delivery->session = session;
    delivery->first = find_recipient(session, address);
    delivery->arena = delivery->first == NULL ? arena_new(0) : NULL;
    session->deliveries[session->delivery_count++] = delivery;
}

static void on_rcpt(struct lmtp_session *session, const char *path)
{
    char address[ADDRESS_MAX_BYTES + 1];
    const char *rest;
    if (!session->has_sender)
        return reply(session, "503 5.5.1 MAIL comes first");
    if (session->delivery_count == LMTP_MAX_RECIPIENTS)
        return reply(session, "452 4.5.3 There are too many recipients");
    if (!read_path(path, address, &rest) || !is_own_address(session, address))
        return reply(session, "550 5.1.1 This address does not exist here");
    add_recipient(session, address);
    reply(session, "250 2.1.5 Ok");
}

static void on_data(struct lmtp_session *session)
{
    if (session->delivery_count == 0)
        return reply(session, "503 5.5.1 There is no recipient");
    session->phase = PHASE_DATA;
    session->data_state = DATA_LINE_START;
    reply(session, "354 End with a line that has a dot only");
}

static void on_command(struct lmtp_session *session, const char *line)
{
    const char *path;
    if (argument_after(line, "LHLO") != NULL) {
        on_lhlo(session);
    } else if ((path = argument_after(line, "MAIL FROM:")) != NULL) {
        on_mail(session, path);
    } else if ((path = argument_after(line, "RCPT TO:")) != NULL) {
        on_rcpt(session, path);
    } else if (strcasecmp(line, "DATA") == 0) {
        on_data(session);
    } else if (strcasecmp(line, "RSET") == 0) {
        drop_message(session);
        reply(session, "250 2.0.0 Ok");
    } else if (argument_after(line, "NOOP") != NULL) {
        reply(session, "250 2.0.0 Ok");
    } else if (strcasecmp(line, "QUIT") == 0) {
        session->phase = PHASE_ENDED;
        reply(session, "221 2.0.0 Bye");
    } else {
        reply(session, "500 5.5.1 This command is not known");
    }
}

/* Takes the bytes of one line. A line that is too long ends the session. */
static size_t take_command(struct lmtp_session *session, const char *bytes, size_t size)
{
    const char *feed = memchr(bytes, '\n', size);
    size_t taken = feed != NULL ? (size_t)(feed - bytes) + 1 : size;
    if (taken > sizeof(session->line) - session->line_size - 1) {
        session->phase = PHASE_ENDED;
        reply(session, "500 5.5.2 The line is too long");
        return taken;
    }
    memcpy(session->line + session->line_size, bytes, taken);
    session->line_size += taken;
    if (feed == NULL)
        return taken;
    while (session->line_size > 0 && strchr("\r\n ", session->line[session->line_size - 1]) != NULL)
        session->line_size--;
    session->line[session->line_size] = '\0';
    session->line_size = 0;
    on_command(session, session->line);
    return taken;
}

/* ---- The message ---- */

static void on_delivered(struct call *call)
{
    struct delivery *delivery = call->transport_data;
    struct lmtp_session *session = delivery->session;
    struct lmtp_host *host = session->host;
    pthread_mutex_lock(&session->lock);
    delivery->error = call->ok ? ERR_NONE : call->error.code;
    delivery->is_completed = true;
    session->open_calls--;
    /* The session may be freed as soon as the lock is released. */
    host->wake(host->context);
    pthread_mutex_unlock(&session->lock);
}

static void reply_for(struct lmtp_session *session, const struct delivery *delivery)
{
    enum error_code error = delivery->first != NULL ? delivery->first->error : delivery->error;
    if (session->is_out_of_memory)
        return reply(session, "452 4.3.1 There is no memory for this message now");
    if (session->message.overflowed)
        return reply(session, "552 5.3.4 The message is too large");
    if (error == ERR_NONE)
        return reply(session, "250 2.0.0 The report is recorded");
    bool is_final = error == ERR_INVALID_REQUEST || error == ERR_PAYLOAD_TOO_LARGE;
    reply(session, is_final ? "554 5.6.0 The report cannot be read" : "451 4.3.0 The report cannot be recorded now");
}

static void end_message(struct lmtp_session *session)
{
    for (size_t i = 0; i < session->delivery_count; i++)
        reply_for(session, session->deliveries[i]);
    drop_message(session);
    session->phase = PHASE_COMMANDS;
}

static struct inbound_mail mail_of(const struct delivery *delivery)
{
    const struct buf *message = &delivery->session->message;
    return (struct inbound_mail){
        .message = { (const unsigned char *)buf_text(message), message->size },
        .return_path = delivery->address,
        .source = "lmtp",
    };
}

/* On a thread of the api. No other call of the session is in progress. */
static void read_message(struct call *call)
{
    struct delivery *delivery = call->transport_data;
    struct lmtp_session *session = delivery->session;
    const struct inbound_mail mail = mail_of(delivery);
    if (inbound_read(delivery->arena, &mail, &session->arguments, &call->input.refusal))
        call->input.body = session->arguments;
}

static void prepare_call(struct lmtp_session *session, struct delivery *delivery)
{
    const struct inbound_mail mail = mail_of(delivery);
    struct call *call = &delivery->call;
    inbound_call_fill(call, delivery->arena, &mail);
    if (session->arguments != NULL) {
        call->input.body = inbound_arguments_for(delivery->arena, session->arguments, delivery->address);
    } else {
        call->read_input = read_message;
        call->reads_much = session->message.size > QUICK_MESSAGE_BYTES;
    }
    call->on_completed = on_delivered;
    call->transport_data = delivery;
    delivery->is_submitted = true;
    session->open_calls++;
}

/* Submits the calls of the recipients from `start` to `end`. A call may complete while it is submitted, so the lock is not held. */
static void submit_calls(struct lmtp_session *session, size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        if (session->deliveries[i]->first == NULL)
            prepare_call(session, session->deliveries[i]);
    for (size_t i = start; i < end; i++)
        if (session->deliveries[i]->is_submitted)
            api_submit(session->host->api, &session->deliveries[i]->call);
}

/* The call of the first recipient reads the message, for all of them. */
static void begin_calls(struct lmtp_session *session)
{
    session->phase = PHASE_FIRST_CALL;
    if (!session->message.overflowed && !session->is_out_of_memory)
        submit_calls(session, 0, 1);
    else
        session->phase = PHASE_OTHER_CALLS;
    lmtp_session_advance(session);
}

/* Submits the calls of the other recipients. A message that the first call could not read is not read again. */
static void continue_calls(struct lmtp_session *session)
{
    enum error_code error = session->deliveries[0]->error;
    session->phase = PHASE_OTHER_CALLS;
    if (session->arguments != NULL)
        submit_calls(session, 1, session->delivery_count);
    for (size_t i = 1; session->arguments == NULL && i < session->delivery_count; i++)
        session->deliveries[i]->error = error;
}

bool lmtp_session_is_waiting(struct lmtp_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool is_waiting = session->open_calls > 0;
    pthread_mutex_unlock(&session->lock);
    return is_waiting;
}

void lmtp_session_advance(struct lmtp_session *session)
{
    if (session->phase == PHASE_FIRST_CALL && !lmtp_session_is_waiting(session))
        continue_calls(session);
    if (session->phase == PHASE_OTHER_CALLS && !lmtp_session_is_waiting(session))
        end_message(session);
}

void lmtp_session_cancel(struct lmtp_session *session)
{
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->delivery_count; i++)
        if (session->deliveries[i]->is_submitted && !session->deliveries[i]->is_completed)
            api_stop(session->host->api, &session->deliveries[i]->call);
    pthread_mutex_unlock(&session->lock);
}

static void add_byte(struct lmtp_session *session, char byte)
{
    struct lmtp_host *host = session->host;
    if (session->message.overflowed || session->is_out_of_memory)
        return;
    if (host->message_bytes >= LMTP_MESSAGES_MAX_BYTES) {
        session->is_out_of_memory = true;
        return;
    }
    size_t before = session->message.size;
    buf_add_char(&session->message, byte);
    host->message_bytes += session->message.size - before;
}

/* A byte of ordinary text, at whatever place of its line. */
static enum data_state after_text(char byte)
{
    return byte == '\r' ? DATA_CR : DATA_TEXT;
}

/* Returns true behind the last byte of the message. */
static bool take_data_byte(struct lmtp_session *session, char byte)
{
    switch (session->data_state) {
    case DATA_LINE_START:
        session->data_state = byte == '.' ? DATA_DOT : after_text(byte);
        if (byte != '.')
            add_byte(session, byte);
        return false;
    case DATA_DOT:
        session->data_state = byte == '\r' ? DATA_DOT_CR : DATA_TEXT;
        if (byte != '\r')
            add_byte(session, byte);
        return false;
    case DATA_DOT_CR:
        if (byte == '\n')
            return true;
        add_byte(session, '\r');
        break;
    case DATA_CR:
        if (byte == '\n') {
            add_byte(session, byte);
            session->data_state = DATA_LINE_START;
            return false;
        }
        break;
    case DATA_TEXT:
        break;
    }
    add_byte(session, byte);
    session->data_state = after_text(byte);
    return false;
}

static size_t take_data(struct lmtp_session *session, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (take_data_byte(session, bytes[i])) {
            begin_calls(session);
            return i + 1;
        }
    }
    return size;
}

size_t lmtp_session_take(struct lmtp_session *session, const char *bytes, size_t size)
{
    size_t taken = 0;
    while (taken < size && !session->output.overflowed) {
        if (session->phase == PHASE_COMMANDS)
            taken += take_command(session, bytes + taken, size - taken);
        else if (session->phase == PHASE_DATA)
            taken += take_data(session, bytes + taken, size - taken);
        else
            return session->phase == PHASE_ENDED ? size : taken;
    }
    return taken;
}
