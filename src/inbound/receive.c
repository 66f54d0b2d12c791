#include "inbound/receive.h"

#include "base/guard.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/reports/receive.h"
#include "inbound/report_class.h"
#include "mail/mail_report.h"
#include "mail/mime_reader.h"

#include <jansson.h>
#include <pthread.h>
#include <string.h>

/* ---- The arguments ---- */

static enum report_kind kind_of(enum mail_report_kind kind)
{
    static const enum report_kind kinds[] = {
        [MAIL_REPORT_FAILED] = REPORT_BOUNCE,       [MAIL_REPORT_DELAYED] = REPORT_DELAY,
        [MAIL_REPORT_DELIVERED] = REPORT_OTHER,     [MAIL_REPORT_COMPLAINT] = REPORT_COMPLAINT,
        [MAIL_REPORT_OPT_OUT] = REPORT_UNSUBSCRIBE, [MAIL_REPORT_AUTO_REPLY] = REPORT_AUTO_REPLY,
        [MAIL_REPORT_OTHER] = REPORT_OTHER,
    };
    return kinds[kind];
}

static void set_text(json_t *body, const char *name, const char *text)
{
    if (text != NULL && *text != '\0')
        json_object_set_new(body, name, json_string(text));
}

/* The start of the message, readable: without control characters, in valid UTF-8. */
static const char *excerpt_of(struct arena *arena, struct bytes message)
{
    /* A character has at most four bytes, so the bound holds for characters too. */
    size_t size = message.size < UNMATCHED_EXCERPT_MAX_BYTES ? message.size : UNMATCHED_EXCERPT_MAX_BYTES;
    char *text = arena_dup_bytes(arena, message.data, size);
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte != '\r')
            text[count++] = (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f ? ' ' : (char)byte;
    }
    text[count] = '\0';
    utf8_drop_malformed(text);
    return text;
}

/* The address that a message was delivered to, as the last mail system noted it. */
static const char *delivered_to(struct arena *arena, struct bytes message)
{
    static const char *const names[] = { "X-Original-To", "Delivered-To", "Envelope-To", "X-Envelope-To", "To" };
    struct bytes headers = mime_header_block(message, NULL);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        const char *value = mime_header(arena, headers, names[i]);
        if (value != NULL && strcasestr(value, "@bounce.") != NULL)
            return strchr(value, '<') != NULL ? strchr(value, '<') : value;
    }
    return NULL;
}

static json_t *arguments_of(struct arena *arena, const struct inbound_mail *mail)
{
    struct mail_report report;
    mail_report_read(arena, mail->message, &report);
    json_t *body = json_in_arena(arena, json_object());
    json_t *ids = json_array();
    const char *return_path = mail->return_path != NULL ? mail->return_path : delivered_to(arena, mail->message);
    for (size_t i = 0; i < report.message_id_count; i++)
        json_array_append_new(ids, json_string(report.message_ids[i]));
    set_text(body, "source", mail->source);
    set_text(body, "kind", report_kind_name(kind_of(report.kind)));
    if (report.kind == MAIL_REPORT_FAILED)
        set_text(body, "bounce", bounce_class_name(report_class(&report)));
    set_text(body, "returnPath", return_path);
    json_object_set_new(body, "messageIds", ids);
    set_text(body, "listUnsubscribe", report.list_unsubscribe);
    set_text(body, "recipient", report.recipient);
    set_text(body, "diagnostic", report.diagnostic);
    set_text(body, "excerpt", excerpt_of(arena, mail->message));
    return body;
}

struct reading {
    struct arena *arena;
    const struct inbound_mail *mail;
    json_t *arguments;
};

static bool read_mail(void *context, struct error *err)
{
    (void)err;
    struct reading *reading = context;
    reading->arguments = arguments_of(reading->arena, reading->mail);
    return true;
}

bool inbound_read(struct arena *arena, const struct inbound_mail *mail, json_t **ret_arguments, struct error *err)
{
    struct reading reading = { arena, mail, NULL };
    bool is_read = guard_run(read_mail, &reading, "message", err);
    *ret_arguments = is_read ? reading.arguments : NULL;
    return is_read;
}

/* The members are shared: nobody changes them. */
json_t *inbound_arguments_for(struct arena *arena, json_t *arguments, const char *return_path)
{
    json_t *body = json_in_arena(arena, json_copy(arguments));
    set_text(body, "returnPath", return_path);
    return body;
}

void inbound_call_fill(struct call *call, struct arena *arena, const struct inbound_mail *mail)
{
    *call = (struct call){
        .arena = arena,
        .transport = strcmp(mail->source, "command") == 0 ? TRANSPORT_COMMAND_LINE : TRANSPORT_MAIL,
        .candidates = api_mail_report,
        .input = { .flat = true, .reading = INPUT_EXACT },
        .request_id = api_request_id(arena),
        .credit_cost = -1,
    };
}

/* ---- Waiting for the record ---- */

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t completion;
    bool is_completed;
};

static void on_received(struct call *call)
{
    struct waiting *waiting = call->transport_data;
    pthread_mutex_lock(&waiting->lock);
    waiting->is_completed = true;
    pthread_cond_signal(&waiting->completion);
    pthread_mutex_unlock(&waiting->lock);
}

bool inbound_receive(struct api *api, struct arena *arena, const struct inbound_mail *mail, const char **ret_answer,
                     struct error *err)
{
    struct waiting waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .completion = PTHREAD_COND_INITIALIZER };
    struct call *call = arena_alloc(arena, sizeof(*call));
    json_t *arguments;
    if (!inbound_read(arena, mail, &arguments, err))
        return false;
    inbound_call_fill(call, arena, mail);
    call->input.body = arguments;
    call->on_completed = on_received;
    call->transport_data = &waiting;
    api_submit(api, call);
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.is_completed)
        pthread_cond_wait(&waiting.completion, &waiting.lock);
    pthread_mutex_unlock(&waiting.lock);
    *ret_answer = call->ok ? buf_text(call->reply.body) : NULL;
    if (!call->ok)
        *err = call->error;
    return call->ok;
}
