#include "engine/samples/sample_mail.h"

#include "base/text.h"
#include "engine/compose/composer.h"
#include "engine/compose/message_id.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/sends.h"
#include "engine/sends/target.h"
#include "sql/compose.h"
#include "sql/sample_mail.h"
#include "template/template.h"

#include <string.h>

/* The contact of a brand that has none. */
static const char invented_address[] = "ada@example.com";
static const char invented_first_name[] = "Ada";
static const char invented_last_name[] = "Lovelace";

/* ---- The design ---- */

static bool find_source(const struct work *work, const struct sample_mail_request *request,
                        struct sample_mail_source_row **ret_source, struct error *err)
{
    struct sample_mail_source_params params = {
        .brand_id = work->brand_id,
        .email_id = request->email_id,
        .version_id = { .set = request->version_id != 0, .value = request->version_id },
    };
    struct sample_mail_source_row *source;
    if (!sql_sample_mail_source(work->conn, work->arena, &params, &source, err))
        return false;
    if (source == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (request->version_id != 0 && !source->version_id.set)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This design has no version with this id.");
    bool is_ready = strcmp(source->status, "ready") == 0 || request->version_id != 0;
    if (!is_ready || !source->version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This email is not ready yet.");
    *ret_source = source;
    return true;
}

static bool is_marketing(const struct sample_mail_request *request, const struct sample_mail_source_row *source)
{
    if (request->is_marketing || request->is_transactional)
        return request->is_marketing;
    return text_equal(source->sending_purpose, "marketing");
}

/* NULL: no link of the message would be tracked. */
static const char *tracking_url(const struct work *work, const struct sample_mail_source_row *source, bool marketing)
{
    bool brand_tracks = marketing ? source->tracks_marketing : source->tracks_transactional;
    if (!delivery_can_track(work) || !brand_tracks)
        return NULL;
    return source->has_click_host ? delivery_click_url(work, source->domain) : work->engine->public_url;
}

static bool design_of(const struct work *work, const struct sample_mail_source_row *source, bool marketing,
                      struct composer_design *ret_design, struct error *err)
{
    const char *subject = source->subject_line != NULL ? source->subject_line : "";
    *ret_design = (struct composer_design){
        .html_code = source->html_code,
        .text_code = source->text_code,
        .from_address = send_default_address(work->arena, source->from_email, source->domain),
        .sender_name = source->sender_name,
        .reply_to = source->reply_to,
        .domain = source->domain,
        .brand_json = source->brand,
        .message_class = marketing ? MESSAGE_MARKETING : MESSAGE_TRANSACTIONAL,
        .receives_reports = source->receives_reports,
    };
    return template_compile(work->arena, TEMPLATE_HEADER, subject, strlen(subject), &ret_design->subject_code, err);
}

/* ---- The contact ---- */

static struct composer_recipient invented_recipient(const struct work *work, size_t field_count)
{
    return (struct composer_recipient){
        .email = invented_address,
        .email_key = invented_address,
        .first_name = invented_first_name,
        .last_name = invented_last_name,
        .fields = { arena_array(work->arena, field_count + 1, sizeof(const char *)), field_count },
    };
}

static bool find_recipient(const struct work *work, const struct composer *composer, bool is_invented,
                           struct composer_recipient *ret_recipient, struct error *err)
{
    struct sample_mail_contact_params find = { .brand_id = work->brand_id };
    struct sample_mail_contact_row *found = NULL;
    struct compose_test_recipient_row *contact = NULL;
    if (!is_invented && !sql_sample_mail_contact(work->conn, work->arena, &find, &found, err))
        return false;
    struct compose_test_recipient_params read = {
        .brand_id = work->brand_id,
        .email_key = found != NULL ? found->email_key : "",
        .fields = composer_fields(composer),
    };
    if (found != NULL && !sql_compose_test_recipient(work->conn, work->arena, &read, &contact, err))
        return false;
    *ret_recipient = invented_recipient(work, composer_fields(composer).count);
    if (contact == NULL)
        return true;
    *ret_recipient = (struct composer_recipient){
        .email = found->email,
        .email_key = found->email_key,
        .first_name = contact->first_name,
        .last_name = contact->last_name,
        .user_id = contact->user_id,
        .fields = contact->fields,
    };
    return true;
}

/* ---- Values that contacts do not have ---- */

static void add_empty(struct sample_mail *mail, const char *path, const struct target_stats *stats, int64_t empty)
{
    if (empty > 0)
        mail->empty_values[mail->empty_value_count++] = (struct sample_empty_values){ path, stats->count, empty };
}

static bool count_empty_values(const struct work *work, const struct composer *composer, struct sample_mail *mail,
                               struct error *err)
{
    struct text_list all = composer_fields(composer);
    const char **names = arena_array(work->arena, TARGET_STATS_MAX_FIELDS, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < all.count && count < TARGET_STATS_MAX_FIELDS; i++)
        if (all.items[i][0] != '\0') /* "" means all fields */
            names[count++] = all.items[i];
    struct target_stats_query query = { .target = { .is_all = true }, .fields = { names, count } };
    struct target_stats stats;
    if (!send_target_stats(work, &query, &stats, err))
        return false;
    mail->empty_values = arena_array(work->arena, TARGET_STATS_MAX_FIELDS + 2, sizeof(*mail->empty_values));
    if (composer_uses_first_name(composer))
        add_empty(mail, "firstName", &stats, stats.without_first_name);
    if (composer_uses_last_name(composer))
        add_empty(mail, "lastName", &stats, stats.without_last_name);
    for (size_t i = 0; i < count && i < stats.without_field.count; i++)
        add_empty(mail, names[i], &stats, stats.without_field.items[i]);
    return true;
}

/* ---- Composing ---- */

static bool write_message(const struct work *work, struct composer *composer, const struct composer_recipient *recipient,
                          struct bytes *ret_message, struct error *err)
{
    const struct message_origin origin = { .brand_id = work->brand_id };
    const char *token = message_id_token(work->engine, work->arena, &origin);
    return composer_write(composer, recipient, token, work->now_us, ret_message, err);
}

static bool write_shown(const struct work *work, const struct composer_design *design, const struct sample_mail_request *request,
                        struct sample_mail *mail, struct composer_recipient *ret_recipient, struct error *err)
{
    struct composer *composer;
    struct bytes message;
    if (!composer_new(work, design, &composer, err) ||
        !find_recipient(work, composer, request->has_invented_contact, ret_recipient, err) ||
        (request->counts_empty_values && !count_empty_values(work, composer, mail, err)) ||
        !write_message(work, composer, ret_recipient, &message, err))
        return false;
    struct composer_texts texts = composer_last_texts(composer);
    mail->message = message;
    mail->shown_subject = texts.subject;
    mail->html = texts.html;
    mail->text = texts.text;
    mail->tracked_html = texts.html;
    mail->recipient = ret_recipient->email;
    return true;
}

/* Tracked links make the HTML longer. A composer of its own keeps the texts of the other one. */
static bool write_tracked(const struct work *work, struct composer_design design, const char *base_url,
                          const struct composer_recipient *recipient, struct sample_mail *mail, struct error *err)
{
    struct composer *composer;
    struct bytes ignored;
    design.tracking_url = base_url;
    design.is_sample = true;
    if (base_url == NULL)
        return true;
    if (!composer_new(work, &design, &composer, err) || !write_message(work, composer, recipient, &ignored, err))
        return false;
    mail->tracked_html = composer_last_texts(composer).html;
    return true;
}

bool sample_mail_compose(const struct work *work, const struct sample_mail_request *request, struct sample_mail *ret_mail,
                         struct error *err)
{
    struct sample_mail_source_row *source;
    struct composer_design design;
    struct composer_recipient recipient;
    if (!find_source(work, request, &source, err))
        return false;
    bool marketing = is_marketing(request, source);
    if (!design_of(work, source, marketing, &design, err))
        return false;
    *ret_mail = (struct sample_mail){
        .email_id = request->email_id,
        .version_id = source->version_id.value,
        .is_marketing = marketing,
        .design_html = source->html,
        .design_text = source->plain_text,
        .subject = source->subject_line != NULL ? source->subject_line : "",
        .preview_text = source->preview_text,
        .postal_address = source->address,
        .domain_id = source->domain_id,
        .domain = source->domain,
        .is_sandbox = source->is_sandbox,
        .from_address = design.from_address,
    };
    return write_shown(work, &design, request, ret_mail, &recipient, err) &&
           write_tracked(work, design, tracking_url(work, source, marketing), &recipient, ret_mail, err);
}
