/*
 * The job of placementTests.create. A round sends some of the messages that wait,
 * and looks into some of the seed mailboxes that are due; settling notes what was
 * found, and enqueues the next round or ends the test. The call is charged at the
 * end, when the placement of one message is told.
 *
 * A message is marked before it is given to a relay, so that it is never sent
 * twice. Looks of a round run side by side, each on a thread of its own.
 */
#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "engine/placement/placement.h"
#include "engine/placement/seeds.h"
#include "jobs/types/relay_message.h"
#include "jobs/types/seed_look.h"
#include "mail/authentication_results.h"
#include "mail/mime_reader.h"
#include "sender/sender.h"

#include <pthread.h>
#include <string.h>

enum { PLACE_TEST_MAX_ATTEMPTS = 10, MESSAGES_A_ROUND = 4, STATUS_OK = 200 };
static const int64_t elsewhere_us = US_PER_S;

/* A mailbox that is looked into. */
struct mailbox_look {
    const struct placement_due_row *observation;
    struct seed_look look;
    struct placement_look result;
    pthread_t thread;
    bool is_started;
};

/* The result of execute, for settle. */
struct placing {
    struct mailbox_look looks[MESSAGES_A_ROUND];
    size_t count;
    bool is_elsewhere; /* messages wait for a process with a relay */
};

/* ---- Sending ---- */

static enum placement_sending sending_of(bool is_sent, bool is_uncertain, const struct error *why)
{
    if (is_sent)
        return PLACEMENT_SENT;
    if (is_uncertain)
        return PLACEMENT_UNCERTAIN;
    return why->code == ERR_INVALID_REQUEST ? PLACEMENT_REFUSED : PLACEMENT_DEFERRED;
}

/* Composes and relays a message that this round has claimed. An error of one message is a result of that message. */
static bool deliver(struct job *job, const struct placement_mail_row *mail, const struct placement_due_row *observation,
                    struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    struct error why = { .code = ERR_NONE };
    struct relayed_message relayed = {
        .domain_id = mail->domain_id,
        .domain_brand_id = job->work.brand_id,
        .from_address = mail->from_address,
        .to = observation->email,
        .reply_to = mail->reply_to,
    };
    bool is_uncertain = false;
    bool is_sent = placement_compose(&job->work, mail, observation, &relayed.message, &relayed.return_path, &why) &&
                   relay_message(job, &relayed, &is_uncertain, &why);
    return placement_note_sending(&job->work, payload->test_id, mail, observation->id, sending_of(is_sent, is_uncertain, &why),
                                  why.message, err);
}

static bool send_message(struct job *job, const struct placement_mail_row *mail, const struct placement_due_row *observation,
                         struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    bool is_claimed;
    if (!mail->is_ready)
        return placement_note_sending(&job->work, payload->test_id, mail, observation->id, PLACEMENT_REFUSED,
                                      "The domain is not verified any more.", err);
    return placement_claim(&job->work, payload->test_id, observation->id, &is_claimed, err) &&
           (!is_claimed || deliver(job, mail, observation, err));
}

/* Another process may have a relay; until the time is over the message waits for it. */
static bool leave_message(struct job *job, const struct placement_mail_row *mail, const struct placement_due_row *observation,
                          struct placing *placing, struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    placing->is_elsewhere = true;
    if (job->work.now_us - mail->created_at < PLACEMENT_SEND_WINDOW_S * US_PER_S)
        return true;
    return placement_note_sending(&job->work, payload->test_id, mail, observation->id, PLACEMENT_DEFERRED,
                                  "No process with a relay took the message.", err);
}

/* ---- Looking ---- */

static void *look_thread(void *context)
{
    struct mailbox_look *look = context;
    seed_look_run(&look->look, SEED_LOOK_MS);
    return NULL;
}

/* Opens the mailbox of an observation. The look is not started when that fails; its result says why. */
static void prepare_look(struct job *job, const struct placement_mail_row *mail, struct mailbox_look *look)
{
    ARENA_SCOPE secrets = arena_new(0);
    const struct placement_due_row *observation = look->observation;
    struct error why = { .code = ERR_NONE };
    const char *password;
    look->result = (struct placement_look){ .placement = PLACEMENT_UNREAD, .reason = "The seed mailbox was removed." };
    if (observation->address == NULL)
        return;
    if (!seed_password(&job->work, secrets, observation->seed_id, observation->address, observation->password, &password, &why)) {
        look->result.reason = arena_dup(job->work.arena, why.message);
        return;
    }
    bool is_read = imap_address_read(observation->address, &look->look.address);
    look->look.address.password = strdup(password);
    if (look->look.address.password == NULL)
        panic(PANIC_NO_MEMORY);
    look->look.message_id = placement_message_id(&job->work, mail, observation->id);
    look->is_started = is_read;
    look->result.reason = "The address of the seed mailbox cannot be read.";
}

/* The header must be that of the message: the server may have answered with any. */
static bool is_our_message(struct job *job, const struct seed_look *look, struct bytes headers)
{
    const char *id = mime_header(job->work.arena, headers, "Message-ID");
    return id != NULL && strstr(id, look->message_id) != NULL;
}

static void read_found(struct job *job, const struct seed_look *look, struct placement_look *result)
{
    const struct bytes message = { (const unsigned char *)buf_text(&look->header), look->header.size };
    const struct bytes headers = mime_header_block(message, NULL);
    if (!is_our_message(job, look, headers)) {
        result->reason = "The mail server answered with another message.";
        return;
    }
    const struct authentication_results results = authentication_results_read(job->work.arena, headers);
    *result = (struct placement_look){
        .placement = look->found == SEED_IN_INBOX ? PLACEMENT_INBOX : PLACEMENT_SPAM,
        .folder = text_visible(job->work.arena, look->folder, PLACEMENT_FOLDER_MAX_CHARS),
        .spf = results.spf,
        .dkim = results.dkim,
        .dmarc = results.dmarc,
    };
}

static void read_look(struct job *job, const struct seed_look *look, struct placement_look *result)
{
    if (look->found == SEED_ABSENT)
        *result = (struct placement_look){ .placement = PLACEMENT_ABSENT };
    else if (look->found == SEED_UNREAD)
        result->reason = arena_printf(job->work.arena, "The mailbox could not be read: %s", look->problem);
    else
        read_found(job, look, result);
}

/* All looks begin before the first one is waited for. */
static void run_looks(struct job *job, const struct placement_mail_row *mail, struct placing *placing)
{
    for (size_t i = 0; i < placing->count; i++)
        prepare_look(job, mail, &placing->looks[i]);
    for (size_t i = 0; i < placing->count; i++) {
        struct mailbox_look *look = &placing->looks[i];
        if (look->is_started && pthread_create(&look->thread, NULL, look_thread, look) != 0)
            panic(PANIC_NO_THREAD);
    }
    for (size_t i = 0; i < placing->count; i++)
        if (placing->looks[i].is_started)
            pthread_join(placing->looks[i].thread, NULL);
    for (size_t i = 0; i < placing->count; i++) {
        struct mailbox_look *look = &placing->looks[i];
        if (look->is_started)
            read_look(job, &look->look, &look->result);
        seed_look_done(&look->look);
    }
}

/* ---- The round ---- */

static bool execute(struct job *job, struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    struct placing *placing = arena_alloc(job->work.arena, sizeof(*placing));
    struct placement_mail_row *mail;
    struct placement_due_row *due;
    size_t count;
    *placing = (struct placing){ .count = 0 };
    job->result = placing;
    if (!placement_read_mail(&job->work, payload->test_id, &mail, err))
        return false;
    if (mail == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, NULL, "The design of the placement test does not exist any more.");
    if (!placement_read_due(&job->work, payload->test_id, MESSAGES_A_ROUND, &due, &count, err))
        return false;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        if (!text_equal(due[i].state, "waiting"))
            placing->looks[placing->count++].observation = &due[i];
        else if (sender_has_relay(job->services->sender))
            ok = send_message(job, mail, &due[i], err);
        else
            ok = leave_message(job, mail, &due[i], placing, err);
    }
    if (ok)
        run_looks(job, mail, placing);
    return ok;
}

static bool note_looks(struct job *job, const struct placing *placing, struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    struct db_batch *batch = db_batch_new(job->work.conn, job->work.arena);
    for (size_t i = 0; i < placing->count; i++)
        placement_note_look(&job->work, payload->test_id, placing->looks[i].observation, &placing->looks[i].result, batch);
    return placing->count == 0 || db_batch_run(batch, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    const struct placing *placing = job->result;
    struct opt_int next_us;
    int64_t told;
    (void)answer; /* no caller waits for it */
    *ret_status = STATUS_OK;
    if (!note_looks(job, placing, err) || !placement_advance(&job->work, payload->test_id, &next_us, &told, err))
        return false;
    if (next_us.set) {
        int64_t least_us = job->work.now_us + (placing->is_elsewhere ? elsewhere_us : 0);
        job_run_again(job, next_us.value > least_us ? next_us.value : least_us);
        return true;
    }
    job_subject(job, work_id(&job->work, ID_TEST, payload->test_id));
    if (told == 0)
        job_charge_items(job, 0);
    return true;
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const struct place_test_payload *payload = job->payload;
    return payload == NULL || placement_fail(&job->work, payload->test_id, why->message, err);
}

const struct job_type job_place_test = {
    .max_attempts = PLACE_TEST_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
