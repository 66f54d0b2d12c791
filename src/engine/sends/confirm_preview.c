#include "engine/sends/confirm.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/compose/composer.h"
#include "engine/quality/audits.h"
#include "engine/sends/target.h"
#include "sql/confirm.h"

#include <stdarg.h>
#include <string.h>

enum {
    SUBJECT_MAX_CHARS = 250,
    SENDER_MAX_CHARS = 500,
    MUCH_MORE = 2,      /* warn above this multiple of the largest send so far */
    UNUSUAL_ABOVE = 50, /* recipients; smaller sends get no warning */
    SKIPPED_MAX_BYTES = SEND_INLINE_MAX * 1024,
};

/* The state while a preview is built. */
struct preview_builder {
    const struct work *work;
    const struct confirmable *asked;
    const struct send_preview_facts_row *facts;
    struct composer *composer;
    struct text_list fields; /* custom fields whose missing values are counted */
    size_t uncounted_fields;
    struct target_stats stats;
    struct send_preview *preview;
};

static void warn(struct preview_builder *builder, const char *format, ...) PRINTF_LIKE(2, 3);
static void warn(struct preview_builder *builder, const char *format, ...)
{
    struct send_preview *preview = builder->preview;
    if (preview->warning_count == PREVIEW_WARNINGS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    preview->warnings[preview->warning_count++] = arena_vprintf(builder->work->arena, format, arguments);
    va_end(arguments);
}

/* ---- Collecting data ---- */

static bool find_facts(struct preview_builder *builder, struct error *err)
{
    const struct work *work = builder->work;
    const struct checked_request *checked = builder->asked->checked;
    struct send_preview_facts_params params = {
        .brand_id = work->brand_id,
        .version_id = checked->version_id,
        .audience_id = checked->audience_id,
    };
    struct send_preview_facts_row *facts;
    if (!sql_send_preview_facts(work->conn, work->arena, &params, &facts, err))
        return false;
    if (facts == NULL)
        return send_request_no_email(err);
    builder->facts = facts;
    return true;
}

static bool make_composer(struct preview_builder *builder, struct error *err)
{
    const struct checked_request *checked = builder->asked->checked;
    struct composer_design design = {
        .subject_code = checked->subject_code,
        .html_code = checked->html_code.data != NULL ? checked->html_code : builder->facts->html_code,
        .text_code = builder->facts->text_code,
        .from_address = checked->from_address,
        .sender_name = checked->sender_name,
        .reply_to = checked->reply_to,
        .domain = checked->domain->name,
        .brand_json = builder->facts->brand,
        .message_class = MESSAGE_MARKETING,
    };
    return composer_new(builder->work, &design, &builder->composer, err);
}

/* Counts the recipients, and those without a value that the design uses. "" means all fields and is not counted. */
static bool count_missing_values(struct preview_builder *builder, struct error *err)
{
    const struct checked_request *checked = builder->asked->checked;
    struct text_list all = composer_fields(builder->composer);
    const char **names = arena_array(builder->work->arena, TARGET_STATS_MAX_FIELDS, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (all.items[i][0] == '\0')
            continue;
        if (count < TARGET_STATS_MAX_FIELDS)
            names[count++] = all.items[i];
        else
            builder->uncounted_fields++;
    }
    builder->fields = (struct text_list){ names, count };
    struct target_stats_query query = {
        .target = { .is_all = strcmp(checked->target, "all") == 0, .audience_id = checked->audience_id },
        .keys = builder->asked->keys,
        .fields = builder->fields,
    };
    return send_target_stats(builder->work, &query, &builder->stats, err);
}

/* Composes the message for one of the recipients. Contact data is sanitised before a model reads it. */
static bool compose_sample(struct preview_builder *builder, struct composer_sample *ret_sample, struct error *err)
{
    const struct work *work = builder->work;
    const char *key = builder->stats.sample_key != NULL ? builder->stats.sample_key : "";
    struct send_preview_sample_params params = { .brand_id = work->brand_id,
                                                 .email_key = key,
                                                 .fields = composer_fields(builder->composer) };
    struct send_preview_sample_row *contact;
    if (!sql_send_preview_sample(work->conn, work->arena, &params, &contact, err))
        return false;
    struct composer_recipient recipient = { .email = key, .email_key = key };
    if (contact != NULL)
        recipient = (struct composer_recipient){
            .email = contact->email,
            .email_key = key,
            .first_name = contact->first_name,
            .last_name = contact->last_name,
            .user_id = contact->user_id,
            .fields = contact->fields,
        };
    if (!composer_preview(builder->composer, &recipient, ret_sample, err))
        return false;
    builder->preview->sample_recipient = recipient.email;
    builder->preview->subject = text_visible(work->arena, ret_sample->subject, SUBJECT_MAX_CHARS);
    builder->preview->text = text_visible(work->arena, ret_sample->text, PREVIEW_TEXT_CHARS);
    return true;
}

/* ---- Warnings ---- */

static void warn_of_missing_values(struct preview_builder *builder, const char *name, int64_t count)
{
    if (count > 0)
        warn(builder, "%s is missing for %lld of %lld recipients; they see the design's fallback text, or nothing.", name,
             (long long)count, (long long)builder->stats.count);
}

static void warn_of_missing_fields(struct preview_builder *builder)
{
    if (composer_uses_first_name(builder->composer))
        warn_of_missing_values(builder, "firstName", builder->stats.without_first_name);
    if (composer_uses_last_name(builder->composer))
        warn_of_missing_values(builder, "lastName", builder->stats.without_last_name);
    for (size_t i = 0; i < builder->fields.count && i < builder->stats.without_field.count; i++)
        warn_of_missing_values(builder, builder->fields.items[i], builder->stats.without_field.items[i]);
    if (builder->uncounted_fields > 0)
        warn(builder, "%zu more custom fields of the design were not checked for missing values.", builder->uncounted_fields);
}

static void warn_of_recipient_count(struct preview_builder *builder)
{
    const struct opt_int *largest = &builder->facts->largest;
    int64_t count = builder->stats.count;
    if (count <= UNUSUAL_ABOVE)
        return;
    if (!largest->set)
        warn(builder, "This would be the first send of this brand.");
    else if (count > MUCH_MORE * largest->value)
        warn(builder, "This is far more than usual: the largest send of this brand so far went to %lld recipients.",
             (long long)largest->value);
}

/* "ada@example.com (unsubscribed), bob@example.com (suppressed)" */
static const char *skipped_in_words(const struct preview_builder *builder)
{
    struct buf *words = buf_in_arena(builder->work->arena, SKIPPED_MAX_BYTES);
    const struct send_accepted *accepted = builder->asked->accepted;
    for (size_t i = 0; i < accepted->skipped_count; i++)
        buf_printf(words, "%s%s (%s)", i > 0 ? ", " : "", accepted->skipped[i].email, accepted->skipped[i].reason);
    return buf_text(words);
}

static void warn_of_list(struct preview_builder *builder)
{
    const struct send_accepted *accepted = builder->asked->accepted;
    if (accepted->skipped_count > 0)
        warn(builder, "%zu of the addresses get no mail: %s.", accepted->skipped_count, skipped_in_words(builder));
    if (accepted->unknown_count > 0)
        warn(builder, "%lld of the addresses are no contacts of this brand; they get the mail.",
             (long long)accepted->unknown_count);
    if (accepted->duplicate_count > 0)
        warn(builder, "%lld addresses are given twice; each gets one message.", (long long)accepted->duplicate_count);
}

static void warn_of_delivery(struct preview_builder *builder, const struct composer_sample *sample)
{
    const struct checked_request *checked = builder->asked->checked;
    struct opt_int scheduled_at_us = builder->asked->request->scheduled_at_us;
    if (!sample->shows_link)
        warn(builder, "The design shows no unsubscribe link; a footer with one is added.");
    if (checked->needs_approval)
        warn(builder, "After the confirmation, an administrator of the organization must approve the send before it starts.");
    if (scheduled_at_us.set)
        warn(builder, "The send starts at %s%s.", clock_iso(builder->work->arena, scheduled_at_us.value),
             builder->asked->keys.items != NULL ? "" : ", for the recipients in the target at that time");
    if (!checked->domain->is_sandbox && builder->work->engine->public_url == NULL)
        warn(builder, "This server has no public URL (--public-url), so the unsubscribe links do not work.");
    if (checked->domain->is_sandbox)
        warn(builder, "The domain is the sandbox: messages are captured in the outbox and never leave this server.");
}

/* Open blockers of the version, or that it was never audited. */
static bool warn_of_audit(struct preview_builder *builder, struct error *err)
{
    const char *sentence;
    if (!audit_warning(builder->work, builder->asked->request->email_id, builder->asked->checked->version_id, &sentence, err))
        return false;
    if (sentence != NULL)
        warn(builder, "%s", sentence);
    return true;
}

/* ---- Preview ---- */

bool confirm_preview(const struct work *work, const struct confirmable *asked, const struct send_preview **ret_preview,
                     struct error *err)
{
    const struct checked_request *checked = asked->checked;
    struct send_preview *preview = arena_alloc(work->arena, sizeof(*preview));
    struct preview_builder builder = { .work = work, .asked = asked, .preview = preview };
    struct composer_sample sample;
    *preview = (struct send_preview){ .target = checked->target, .reply_to = checked->reply_to };
    if (!find_facts(&builder, err) || !make_composer(&builder, err) || !count_missing_values(&builder, err) ||
        !compose_sample(&builder, &sample, err))
        return false;
    preview->recipient_count = builder.stats.count;
    preview->audience_name =
        builder.facts->audience_name != NULL ? text_visible(work->arena, builder.facts->audience_name, SENDER_MAX_CHARS) : NULL;
    preview->from = checked->sender_name != NULL ? arena_printf(work->arena, "%s <%s>", checked->sender_name, checked->from_address)
                                                 : checked->from_address;
    preview->from = text_visible(work->arena, preview->from, SENDER_MAX_CHARS);
    preview->scheduled_at_us = asked->request->scheduled_at_us;
    preview->gradual = asked->request->gradual;
    preview->first_tranche_us = preview->scheduled_at_us.set ? preview->scheduled_at_us.value : work->now_us;
    if (!warn_of_audit(&builder, err))
        return false;
    warn_of_missing_fields(&builder);
    warn_of_recipient_count(&builder);
    warn_of_list(&builder);
    warn_of_delivery(&builder, &sample);
    preview->token = confirm_seal(work, asked, builder.stats.count, &preview->expires_at_us);
    *ret_preview = preview;
    return true;
}
