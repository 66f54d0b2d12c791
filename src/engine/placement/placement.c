#include "engine/placement/placement.h"

#include "base/clock.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "engine/compose/return_path.h"
#include "engine/placement/seeds.h"
#include "engine/sends/send_request.h"
#include "engine/sends/test_message.h"

static const int64_t send_again_us = INT64_C(60) * US_PER_S;
static const int64_t first_look_us = PLACEMENT_FIRST_LOOK_S * US_PER_S;
static const int64_t window_us = PLACEMENT_WINDOW_S * US_PER_S;
static const int64_t send_window_us = PLACEMENT_SEND_WINDOW_S * US_PER_S;

/* ---- Checks ---- */

static bool find_design(const struct work *work, const struct placement_request *request, struct placement_design_row **ret_design,
                        struct error *err)
{
    struct placement_design_params params = {
        .brand_id = work->brand_id,
        .email_id = request->email_id,
        .version_id = { .set = request->version_id != 0, .value = request->version_id },
    };
    if (!sql_placement_design(work->conn, work->arena, &params, ret_design, err))
        return false;
    const struct placement_design_row *design = *ret_design;
    if (design == NULL)
        return send_request_no_email(err);
    if (request->version_id != 0 && !design->version_id.set)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This design has no version with this id.");
    return send_request_check_email(design->status, design->version_id, err);
}

/* D-140: the only domain that can send needs no name. */
static bool find_only_domain(const struct work *work, const struct send_domain_row **ret_domain, struct error *err)
{
    struct send_domains_ready_params params = { .brand_id = work->brand_id, .limit = 2 };
    struct send_domain_row *rows;
    size_t count;
    if (!sql_send_domains_ready(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    if (count == 0)
        return fail(err, ERR_DOMAIN_NOT_READY, "domainId", "This brand has no verified domain to send the test from.");
    if (count > 1)
        return fail(err, ERR_INVALID_REQUEST, "domainId", "This brand has several verified domains; name one of them.");
    *ret_domain = rows;
    return true;
}

static bool find_domain(const struct work *work, int64_t id, const struct send_domain_row **ret_domain, struct error *err)
{
    struct send_domain_find_params params = { .brand_id = work->brand_id, .id = id };
    struct send_domain_row *row;
    if (id == 0)
        return find_only_domain(work, ret_domain, err);
    if (!sql_send_domain_find(work->conn, work->arena, &params, &row, err) || !send_request_check_domain(row, NULL, err))
        return false;
    *ret_domain = row;
    return !row->is_sandbox || fail(err, ERR_DOMAIN_NOT_READY, "domainId",
                                    "Mail of the sandbox domain does not leave this machine; name a verified domain.");
}

static bool check_subject(const struct work *work, const struct placement_request *request,
                          const struct placement_design_row *design, const char **ret_subject, struct error *err)
{
    struct bytes ignored;
    *ret_subject = request->subject != NULL ? request->subject : design->subject_line;
    if (*ret_subject == NULL || text_trim(work->arena, *ret_subject)[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "subject", "This design has no subject of its own; pass one.");
    return send_request_compile_subject(work, *ret_subject, &ignored, err) &&
           send_request_check_preview(work, request->preview_text, err);
}

/* ---- Creating ---- */

static void set_seeds(struct arena *arena, const struct seed_mailboxes_of_row *seeds, size_t count,
                      struct placement_test_insert_params *params)
{
    int64_t *organizations = arena_array(arena, count, sizeof(*organizations));
    int64_t *ids = arena_array(arena, count, sizeof(*ids));
    const char **providers = arena_array(arena, count, sizeof(*providers));
    const char **emails = arena_array(arena, count, sizeof(*emails));
    for (size_t i = 0; i < count; i++) {
        organizations[i] = seeds[i].organization_id;
        ids[i] = seeds[i].id;
        providers[i] = seeds[i].provider;
        emails[i] = seeds[i].email;
    }
    params->seed_organizations = (struct int_list){ organizations, count };
    params->seeds = (struct int_list){ ids, count };
    params->providers = (struct text_list){ providers, count };
    params->emails = (struct text_list){ emails, count };
}

bool placement_create(const struct work *work, const struct placement_request *request, int64_t *ret_id, struct error *err)
{
    const struct send_request sender = { .email_id = request->email_id };
    struct checked_request checked = { .target = "inline" };
    struct placement_design_row *design;
    struct seed_mailboxes_of_row *seeds;
    struct placement_test_insert_row *row;
    size_t count;
    struct placement_test_insert_params params = {
        .brand_id = work->brand_id,
        .email_id = request->email_id,
        .preview_text = request->preview_text,
        .now = work->now_us,
    };
    if (!find_design(work, request, &design, err) || !find_domain(work, request->domain_id, &checked.domain, err) ||
        !check_subject(work, request, design, &params.subject, err) || !send_request_choose_sender(work, &sender, &checked, err) ||
        !seeds_choose(work, request->providers, &seeds, &count, err) || !send_request_check_relay(checked.domain, err))
        return false;
    params.version_id = design->version_id.value;
    params.domain_id = checked.domain->id;
    params.from_address = checked.from_address;
    params.sender_name = checked.sender_name;
    params.reply_to = checked.reply_to;
    set_seeds(work->arena, seeds, count, &params);
    if (!sql_placement_test_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return true;
}

bool placement_set_job(const struct work *work, int64_t email_id, int64_t test_id, int64_t job_id, struct json_writer *json,
                       struct error *err)
{
    struct placement_test_set_job_params params = { .brand_id = work->brand_id, .id = test_id, .job_id = job_id };
    return sql_placement_test_set_job(work->conn, work->arena, &params, NULL, err) &&
           placement_write(work, email_id, test_id, json, err);
}

/* ---- The job: sending ---- */

bool placement_read_mail(const struct work *work, int64_t test_id, struct placement_mail_row **ret_mail, struct error *err)
{
    struct placement_mail_params params = { .brand_id = work->brand_id, .id = test_id };
    return sql_placement_mail(work->conn, work->arena, &params, ret_mail, err);
}

bool placement_read_due(const struct work *work, int64_t test_id, int64_t limit, struct placement_due_row **ret_due,
                        size_t *ret_count, struct error *err)
{
    struct placement_recover_params recover = {
        .brand_id = work->brand_id,
        .test_id = test_id,
        .due_at = work->now_us + first_look_us,
    };
    struct placement_due_params due = { .brand_id = work->brand_id, .test_id = test_id, .now = work->now_us, .limit = limit };
    return sql_placement_recover(work->conn, work->arena, &recover, NULL, err) &&
           sql_placement_due(work->conn, work->arena, &due, ret_due, ret_count, err);
}

bool placement_claim(const struct work *work, int64_t test_id, int64_t id, bool *ret_is_claimed, struct error *err)
{
    struct placement_claim_params params = { .brand_id = work->brand_id, .test_id = test_id, .id = id, .now = clock_now_us() };
    struct placement_claim_row *row;
    if (!sql_placement_claim(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_is_claimed = row != NULL;
    return true;
}

/* The numbers of test messages are positive. */
static struct message_origin origin_of(const struct work *work, int64_t id)
{
    return (struct message_origin){ .brand_id = work->brand_id, .ordinal = -id };
}

bool placement_compose(const struct work *work, const struct placement_mail_row *mail, const struct placement_due_row *observation,
                       struct bytes *ret_message, const char **ret_return_path, struct error *err)
{
    const struct message_origin origin = origin_of(work, observation->id);
    struct address to;
    if (!address_parse(work->arena, observation->email, "to", &to, err))
        return false;
    const struct test_send_payload message = {
        .email_version_id = mail->version_id,
        .to = to.mailbox,
        .to_key = to.key,
        .subject = mail->subject,
        .preview_text = mail->preview_text,
        .from_address = mail->from_address,
        .sender_name = mail->sender_name,
        .reply_to = mail->reply_to,
        .domain = mail->domain,
        .is_marketing = mail->is_marketing,
    };
    *ret_return_path =
        mail->receives_reports ? return_path_address(work->engine, work->arena, RETURN_PATH_BOUNCE, &origin, mail->domain) : NULL;
    return send_single_compose(work, &message, &origin, mail->receives_reports, ret_message, NULL, err);
}

const char *placement_message_id(const struct work *work, const struct placement_mail_row *mail, int64_t id)
{
    const struct message_origin origin = origin_of(work, id);
    return arena_printf(work->arena, "%s@%s", message_id_token(work->engine, work->arena, &origin), mail->domain);
}

bool placement_note_sending(const struct work *work, int64_t test_id, const struct placement_mail_row *mail, int64_t id,
                            enum placement_sending sending, const char *reason, struct error *err)
{
    int64_t now_us = clock_now_us();
    bool has_left = sending == PLACEMENT_SENT || sending == PLACEMENT_UNCERTAIN;
    bool waits = sending == PLACEMENT_DEFERRED && now_us + send_again_us - mail->created_at <= send_window_us;
    struct placement_note_sending_params params = {
        .brand_id = work->brand_id,
        .test_id = test_id,
        .id = id,
        .state = has_left ? "sent"
                 : waits  ? "waiting"
                          : "done",
        .is_uncertain = sending == PLACEMENT_UNCERTAIN,
        .due_at = now_us + (has_left ? first_look_us : send_again_us),
        .reason = has_left || reason == NULL ? NULL : text_visible(work->arena, reason, PLACEMENT_REASON_MAX_CHARS),
    };
    return sql_placement_note_sending(work->conn, work->arena, &params, NULL, err);
}

/* ---- The job: looking ---- */

/* The last look is at the end of the window. */
static int64_t next_look_us(int64_t sent_us, int64_t now_us)
{
    int64_t after_us = first_look_us;
    while (sent_us + after_us <= now_us)
        after_us *= 2;
    return sent_us + (after_us < window_us ? after_us : window_us);
}

static void end_without_message(const struct placement_due_row *observation, const struct placement_look *look,
                                struct placement_note_look_params *params)
{
    params->state = "done";
    if (look->placement == PLACEMENT_UNREAD)
        params->reason = look->reason;
    else if (observation->is_uncertain)
        params->reason = "It is not certain that the relay took the message, and it was not found.";
    else
        params->placement = "missing";
}

void placement_note_look(const struct work *work, int64_t test_id, const struct placement_due_row *observation,
                         const struct placement_look *look, struct db_batch *batch)
{
    int64_t sent_us = observation->sent_at.set ? observation->sent_at.value : observation->due_at;
    struct placement_note_look_params *params = arena_alloc(work->arena, sizeof(*params));
    *params = (struct placement_note_look_params){
        .brand_id = work->brand_id,
        .test_id = test_id,
        .id = observation->id,
        .state = "sent",
        .due_at = next_look_us(sent_us, work->now_us),
    };
    if (look->placement == PLACEMENT_INBOX || look->placement == PLACEMENT_SPAM) {
        params->state = "done";
        params->placement = look->placement == PLACEMENT_INBOX ? "inbox" : "spam";
        params->folder = look->folder;
        params->spf = look->spf;
        params->dkim = look->dkim;
        params->dmarc = look->dmarc;
    } else if (work->now_us >= sent_us + window_us) {
        end_without_message(observation, look, params);
    } else {
        params->reason = look->reason;
    }
    db_batch_add(batch, &placement_note_look_statement, params);
}

/* ---- The job: its end ---- */

static const char *final_status(const struct placement_progress_row *progress)
{
    if (progress->told == 0)
        return "failed";
    return progress->told == progress->messages ? "completed" : "partially_completed";
}

bool placement_advance(const struct work *work, int64_t test_id, struct opt_int *ret_next_us, int64_t *ret_told, struct error *err)
{
    struct placement_progress_params find = { .brand_id = work->brand_id, .test_id = test_id };
    struct placement_test_note_params note = { .brand_id = work->brand_id, .id = test_id, .now = work->now_us };
    struct placement_progress_row *progress;
    if (!sql_placement_progress(work->conn, work->arena, &find, &progress, err))
        return false;
    *ret_next_us = progress->next_at;
    *ret_told = progress->told;
    note.status = progress->next_at.set ? NULL : final_status(progress);
    return sql_placement_test_note(work->conn, work->arena, &note, NULL, err);
}

bool placement_fail(const struct work *work, int64_t test_id, const char *reason, struct error *err)
{
    struct placement_give_up_params end = {
        .brand_id = work->brand_id,
        .test_id = test_id,
        .reason = text_visible(work->arena, reason, PLACEMENT_REASON_MAX_CHARS),
    };
    struct placement_test_note_params note = { .brand_id = work->brand_id, .id = test_id, .status = "failed", .now = work->now_us };
    return sql_placement_give_up(work->conn, work->arena, &end, NULL, err) &&
           sql_placement_test_note(work->conn, work->arena, &note, NULL, err);
}
