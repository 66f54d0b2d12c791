#include "engine/sends/confirm.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/compose/composer.h"
#include "engine/sends/target.h"
#include "sql/confirm.h"

#include <stdarg.h>
#include <string.h>

enum {
    SUBJECT_MAX_CHARS = 250,
    SENDER_MAX_CHARS = 500,
    MUCH_MORE = 2,      /* times the largest send so far */
    UNUSUAL_ABOVE = 50, /* recipients; smaller sends are no news */
};

/* What is known while a preview is made. */
struct look {
    const struct work *work;
    const struct confirmable *asked;
    const struct send_preview_facts_row *facts;
    struct composer *composer;
    struct text_list fields; /* custom fields whose absence is told */
    struct target_stats stats;
    struct send_preview *preview;
};

static void warn(struct look *look, const char *format, ...) PRINTF_LIKE(2, 3);
static void warn(struct look *look, const char *format, ...)
{
    struct send_preview *preview = look->preview;
    if (preview->warning_count == PREVIEW_WARNINGS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    preview->warnings[preview->warning_count++] = arena_vprintf(look->work->arena, format, arguments);
    va_end(arguments);
}

/* ---- Finding out ---- */

static bool find_facts(struct look *look, struct error *err)
{
    const struct work *work = look->work;
    const struct checked_request *checked = look->asked->checked;
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
    look->facts = facts;
    return true;
}

static bool make_composer(struct look *look, struct error *err)
{
    const struct checked_request *checked = look->asked->checked;
    struct composer_design design = {
        .subject_code = checked->subject_code,
        .html_code = checked->html_code.data != NULL ? checked->html_code : look->facts->html_code,
        .text_code = look->facts->text_code,
        .from_address = checked->from_address,
        .sender_name = checked->sender_name,
        .reply_to = checked->reply_to,
        .domain = checked->domain->name,
        .brand_json = look->facts->brand,
        .message_class = MESSAGE_MARKETING,
    };
    return composer_new(look->work, &design, &look->composer, err);
}

/* Who lacks what the design names. "" stands for all fields and is nothing that could be lacking. */
static bool stats(struct look *look, struct error *err)
{
    const struct checked_request *checked = look->asked->checked;
    struct text_list all = composer_fields(look->composer);
    const char **names = arena_array(look->work->arena, TARGET_STATS_MAX_FIELDS, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < all.count && count < TARGET_STATS_MAX_FIELDS; i++)
        if (all.items[i][0] != '\0')
            names[count++] = all.items[i];
    look->fields = (struct text_list){ names, count };
    struct target_stats_query question = {
        .target = { .is_all = strcmp(checked->target, "all") == 0, .audience_id = checked->audience_id },
        .keys = look->asked->keys,
        .fields = look->fields,
    };
    return send_target_stats(look->work, &question, &look->stats, err);
}

/* The message as one of the recipients would get it. What contacts bring is cleaned before a model reads it. */
static bool compose_sample(struct look *look, struct composer_sample *ret_sample, struct error *err)
{
    const struct work *work = look->work;
    const char *key = look->stats.sample_key != NULL ? look->stats.sample_key : "";
    struct send_preview_sample_params params = { .brand_id = work->brand_id,
                                                 .email_key = key,
                                                 .fields = composer_fields(look->composer) };
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
    if (!composer_preview(look->composer, &recipient, ret_sample, err))
        return false;
    look->preview->sample_recipient = recipient.email;
    look->preview->subject = text_visible(work->arena, ret_sample->subject, SUBJECT_MAX_CHARS);
    look->preview->text = text_visible(work->arena, ret_sample->text, PREVIEW_TEXT_CHARS);
    return true;
}

/* ---- Warnings ---- */

static void warn_of_lack(struct look *look, const char *name, int64_t count)
{
    if (count > 0)
        warn(look, "%s is not known of %lld of %lld recipients; they see the fallback of the design, or nothing.", name,
             (long long)count, (long long)look->stats.count);
}

static void warn_of_names(struct look *look)
{
    if (composer_uses_first_name(look->composer))
        warn_of_lack(look, "firstName", look->stats.without_first_name);
    if (composer_uses_last_name(look->composer))
        warn_of_lack(look, "lastName", look->stats.without_last_name);
    for (size_t i = 0; i < look->fields.count && i < look->stats.without_field.count; i++)
        warn_of_lack(look, look->fields.items[i], look->stats.without_field.items[i]);
}

static void warn_of_number(struct look *look)
{
    const struct opt_int *largest = &look->facts->largest;
    int64_t count = look->stats.count;
    if (count <= UNUSUAL_ABOVE)
        return;
    if (!largest->set)
        warn(look, "This would be the first send of this brand.");
    else if (count > MUCH_MORE * largest->value)
        warn(look, "This is many more than usual: the largest send of this brand so far went to %lld.", (long long)largest->value);
}

static void warn_of_the_rest(struct look *look, const struct composer_sample *sample)
{
    const struct checked_request *checked = look->asked->checked;
    struct opt_int scheduled_at_us = look->asked->request->scheduled_at_us;
    if (!sample->shows_link)
        warn(look, "The design shows no unsubscribe link; a last line with one is added.");
    if (look->asked->keys.items != NULL && checked->list.count > look->asked->keys.count)
        warn(look, "%zu of the addresses may not be mailed and are skipped.", checked->list.count - look->asked->keys.count);
    if (scheduled_at_us.set)
        warn(look, "It goes out at %s%s.", clock_iso(look->work->arena, scheduled_at_us.value),
             look->asked->keys.items != NULL ? "" : ", to whoever is in the target then");
    if (!checked->domain->is_sandbox && look->work->engine->public_url == NULL)
        warn(look, "This server has no public address (--public-url), so nobody serves the unsubscribe links.");
    if (checked->domain->is_sandbox)
        warn(look, "The domain is the sandbox: messages are captured in the outbox and leave this server for nobody.");
}

/* ---- The whole ---- */

bool confirm_preview(const struct work *work, const struct confirmable *asked, const struct send_preview **ret_preview,
                     struct error *err)
{
    const struct checked_request *checked = asked->checked;
    struct send_preview *preview = arena_alloc(work->arena, sizeof(*preview));
    struct look look = { .work = work, .asked = asked, .preview = preview };
    struct composer_sample sample;
    *preview = (struct send_preview){ .target = checked->target, .reply_to = checked->reply_to };
    if (!find_facts(&look, err) || !make_composer(&look, err) || !stats(&look, err) || !compose_sample(&look, &sample, err))
        return false;
    preview->recipient_count = look.stats.count;
    preview->audience_name =
        look.facts->audience_name != NULL ? text_visible(work->arena, look.facts->audience_name, SENDER_MAX_CHARS) : NULL;
    preview->from = checked->sender_name != NULL ? arena_printf(work->arena, "%s <%s>", checked->sender_name, checked->from_address)
                                                 : checked->from_address;
    preview->from = text_visible(work->arena, preview->from, SENDER_MAX_CHARS);
    preview->scheduled_at_us = asked->request->scheduled_at_us;
    warn_of_names(&look);
    warn_of_number(&look);
    warn_of_the_rest(&look, &sample);
    preview->token = confirm_seal(work, asked, look.stats.count, &preview->expires_at_us);
    *ret_preview = preview;
    return true;
}
