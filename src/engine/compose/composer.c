#include "engine/compose/composer.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/compose/link_tracker.h"
#include "engine/compose/list_mail.h"
#include "engine/compose/merge_fields.h"
#include "engine/compose/return_path.h"
#include "engine/subscriptions/link.h"

#include <string.h>

enum {
    SUBJECT_MAX_BYTES = HEADER_TEXT_MAX_BYTES,
    BODY_MAX_BYTES = TEMPLATE_MAX_OUTPUT_BYTES + LIST_MAIL_FOOTER_MAX_BYTES + LINK_TRACKER_PICTURE_MAX_BYTES,
    BRAND_MAX_BYTES = 64 * 1024,
};

/* One template and the merge fields that its paths resolve to. */
struct composer_part {
    struct template template;
    const struct merge_field *slots;
    struct buf *out;
};

struct composer {
    const struct engine *engine;
    int64_t brand_id;
    int64_t send_id;
    const json_t *brand;
    struct template_setting setting;
    const char *domain;
    struct buf *link;      /* the unsubscribe link of the current recipient */
    size_t link_base_size; /* bytes of the link before its token */
    struct buf *message_id;
    struct buf *unsubscribe_header; /* the value of List-Unsubscribe */
    int64_t date_us;
    const char *date; /* date_us as text; NULL before the first message */
    bool is_marketing;
    bool receives_reports;
    struct list_mail list;        /* of marketing mail */
    struct link_tracker *tracker; /* NULL: nothing is tracked */
    bool is_tracked;              /* the current message */
    struct message_plan *plan;
    struct composer_part subject;
    struct composer_part html;
    struct composer_part text;
    struct merge_custom_fields fields;
    bool needs_link;
    struct arena *scratch; /* emptied for each message */
    struct arena *dates;   /* emptied for each date */
    struct buf *message;
};

static void release_scratch(void *object)
{
    arena_free(object);
}

static struct arena *new_scratch(struct arena *arena)
{
    struct arena *scratch = arena_new(0);
    arena_defer(arena, release_scratch, scratch);
    return scratch;
}

static bool composer_part_load(struct composer *composer, struct arena *arena, struct bytes code, size_t max_bytes,
                               struct composer_part *ret_part, struct error *err)
{
    if (!template_load(code, &ret_part->template, err))
        return false;
    struct merge_field *slots = merge_fields_resolve(arena, &ret_part->template, &composer->fields);
    for (size_t i = 0; i < template_path_count(&ret_part->template); i++)
        composer->needs_link |= slots[i].kind == MERGE_UNSUBSCRIBE_URL;
    ret_part->slots = slots;
    ret_part->out = buf_in_arena(arena, max_bytes);
    return true;
}

enum { LINK_MAX_BYTES = 900, MAILTO_MAX_BYTES = 400 }; /* the header's name and the link fit one line (RFC 5322 §2.1.1) */

/* Without a public URL, captured mail shows links of the same form on the sender's domain. Then no header offers the link. */
static bool init_link(struct composer *composer, const struct work *work, struct error *err)
{
    const char *public_url = work->engine->public_url;
    composer->link = buf_in_arena(work->arena, LINK_MAX_BYTES);
    if (public_url != NULL)
        buf_printf(composer->link, "%s/u/", public_url);
    else
        buf_printf(composer->link, "https://%s/u/", composer->domain);
    composer->link_base_size = composer->link->size;
    bool fits = !composer->link->overflowed && composer->link->size + UNSUBSCRIBE_TOKEN_CHARS <= LINK_MAX_BYTES;
    return fits || fail(err, ERR_INVALID_REQUEST, "publicUrl", "publicUrl is too long for unsubscribe links.");
}

static void add_list_mail(struct composer *composer, const struct work *work)
{
    const struct list_mail_names names = {
        .send_id = composer->send_id,
        .class_name = "marketing",
        .domain = composer->domain,
        .brand_name = json_get_text(composer->brand, "name"),
        .brand_address = json_get_text(composer->brand, "address"),
    };
    composer->is_marketing = true;
    composer->needs_link = true;
    composer->list = list_mail_new(work, &names);
}

static void add_tracker(struct composer *composer, const struct work *work, const struct composer_design *design)
{
    const struct link_tracker_config config = {
        .base_url = design->tracking_url,
        .brand_id = work->brand_id,
        .send_id = design->send_id,
        .untracked = arena_dup(work->arena, buf_text(composer->link)),
    };
    composer->tracker = link_tracker_new(work, &config);
}

bool composer_new(const struct work *work, const struct composer_design *design, struct composer **ret_composer, struct error *err)
{
    struct arena *arena = work->arena;
    struct composer *composer = arena_alloc(arena, sizeof(*composer));
    composer->engine = work->engine;
    composer->brand_id = work->brand_id;
    composer->send_id = design->send_id;
    composer->domain = design->domain;
    composer->receives_reports = design->receives_reports;
    composer->message_id = buf_in_arena(arena, MESSAGE_ID_MAX_BYTES + 1);
    composer->unsubscribe_header = buf_in_arena(arena, LINK_MAX_BYTES + MAILTO_MAX_BYTES);
    composer->message = buf_in_arena(arena, MESSAGE_MAX_BYTES);
    const struct json_bounds bounds = { .max_bytes = BRAND_MAX_BYTES };
    if (!init_link(composer, work, err) ||
        !json_read(arena, design->brand_json, strlen(design->brand_json), bounds, &composer->brand, err))
        return false;
    composer->setting = merge_fields_setting(arena, composer->brand, work->now_us);
    if (design->message_class == MESSAGE_MARKETING)
        add_list_mail(composer, work);
    if (design->tracking_url != NULL && (design->send_id != 0 || design->is_sample))
        add_tracker(composer, work, design);
    struct message_common common = {
        .from = { .name = design->sender_name, .address = design->from_address },
        .reply_to = { .address = design->reply_to },
        .headers = composer->list.headers,
        .header_count = composer->list.header_count,
    };
    if (!message_plan_new(arena, &common, &composer->plan, err) ||
        !composer_part_load(composer, arena, design->subject_code, SUBJECT_MAX_BYTES, &composer->subject, err) ||
        !composer_part_load(composer, arena, design->html_code, BODY_MAX_BYTES, &composer->html, err) ||
        !composer_part_load(composer, arena, design->text_code, BODY_MAX_BYTES, &composer->text, err))
        return false;
    composer->scratch = new_scratch(arena);
    composer->dates = new_scratch(arena);
    *ret_composer = composer;
    return true;
}

struct text_list composer_fields(const struct composer *composer)
{
    static const char *const none[] = { NULL };
    bool any = composer->fields.count > 0;
    return (struct text_list){ any ? composer->fields.names : none, composer->fields.count };
}

/* ---- One message ---- */

struct evaluation {
    const struct composer *composer;
    const struct composer_part *part;
    const struct merge_values *values;
    bool *shows_link;
};

static void composer_look_up_value(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)path;
    const struct evaluation *evaluation = context;
    const struct merge_field *merge_field = &evaluation->part->slots[index];
    *evaluation->shows_link |= merge_field->kind == MERGE_UNSUBSCRIBE_URL;
    *value = merge_value(merge_field, evaluation->values);
}

static struct bytes composer_link_address(const void *context, unsigned number, bool is_merged, const char *text, size_t size)
{
    const struct evaluation *evaluation = context;
    const struct composer *composer = evaluation->composer;
    return link_tracker_address(composer->tracker, composer->scratch, evaluation->part->template.kind, number, is_merged, text,
                                size);
}

/* `ret_shows_link`: this recipient's text contains the unsubscribe link. It can depend on conditions in the template. */
static bool composer_part_write(const struct composer *composer, const struct composer_part *part,
                                const struct merge_values *values, bool *ret_shows_link, struct error *err)
{
    *ret_shows_link = false;
    struct evaluation evaluation = { composer, part, values, ret_shows_link };
    struct template_lookup lookup = {
        .value = composer_look_up_value,
        .context = &evaluation,
        .setting = &composer->setting,
        .link = composer->is_tracked ? composer_link_address : NULL,
    };
    buf_clear(part->out);
    return template_evaluate(&part->template, lookup, composer->scratch, part->out, err);
}

static bool write_parts(struct composer *composer, const struct merge_values *values, struct error *err)
{
    bool html_shows;
    bool text_shows;
    bool ignored;
    if (!composer_part_write(composer, &composer->subject, values, &ignored, err) ||
        !composer_part_write(composer, &composer->html, values, &html_shows, err) ||
        !composer_part_write(composer, &composer->text, values, &text_shows, err))
        return false;
    if (composer->is_marketing && !html_shows)
        list_mail_add_to_html(&composer->list, values->unsubscribe_url, composer->html.out);
    if (composer->is_marketing && !text_shows)
        list_mail_add_to_text(&composer->list, values->unsubscribe_url, composer->text.out);
    if (composer->is_tracked)
        link_tracker_add_picture(composer->tracker, composer->html.out);
    if (composer->html.out->overflowed || composer->text.out->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The composed message is too large.");
    return true;
}

static void make_link(struct composer *composer, const struct composer_recipient *recipient)
{
    struct unsubscribe_link link = {
        .brand_id = composer->brand_id,
        .send_id = composer->send_id,
        .ordinal = recipient->ordinal,
    };
    address_hash(composer->engine->address_key, recipient->email_key, link.address_hash);
    composer->link->size = composer->link_base_size;
    buf_add_text(composer->link, unsubscribe_token(composer->engine, composer->scratch, &link));
}

/* All messages of a range have the same date, so its text is cached. */
static const char *date_text(struct composer *composer, int64_t date_us)
{
    if (composer->date == NULL || composer->date_us != date_us) {
        composer->date_us = date_us;
        arena_reset(composer->dates);
        composer->date = clock_rfc5322(composer->dates, date_us);
    }
    return composer->date;
}

static const char *join_texts(struct buf *out, const char *const *pieces, size_t count)
{
    buf_clear(out);
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, pieces[i]);
    return buf_text(out);
}
#define JOIN_TEXTS(out, ...)                                                                                                       \
    join_texts((out), (const char *const[]){ __VA_ARGS__ }, ARRAY_COUNT(((const char *const[]){ __VA_ARGS__ })))

/* The address of unsubscribing by mail; NULL while no mail is received. */
static const char *unsubscribe_mailto(struct composer *composer, const struct composer_recipient *recipient)
{
    const struct message_origin origin = { composer->brand_id, composer->send_id, recipient->ordinal };
    if (!composer->is_marketing || !composer->receives_reports)
        return NULL;
    return return_path_address(composer->engine, composer->scratch, RETURN_PATH_UNSUBSCRIBE, &origin, composer->domain);
}

/* The value of List-Unsubscribe: the link, the address, or both. */
static const char *unsubscribe_ways(struct composer *composer, const char *mailto)
{
    const char *link = composer->list.has_link_header ? buf_text(composer->link) : NULL;
    if (link == NULL && mailto == NULL)
        return "";
    if (mailto == NULL)
        return JOIN_TEXTS(composer->unsubscribe_header, "<", link, ">");
    if (link == NULL)
        return JOIN_TEXTS(composer->unsubscribe_header, "<mailto:", mailto, ">");
    return JOIN_TEXTS(composer->unsubscribe_header, "<", link, ">, <mailto:", mailto, ">");
}

static bool compose_message(struct composer *composer, const struct composer_recipient *recipient, const char *token,
                            int64_t date_us, struct error *err)
{
    struct header unsubscribe_header = { "List-Unsubscribe", "" };
    const char *mailto = unsubscribe_mailto(composer, recipient);
    struct message message = {
        .to = { .address = recipient->email },
        .subject = buf_text(composer->subject.out),
        .text = buf_text(composer->text.out),
        .text_size = composer->text.out->size,
        .html = buf_text(composer->html.out),
        .html_size = composer->html.out->size,
        .date_us = date_us,
        .date = date_text(composer, date_us),
        .message_id = JOIN_TEXTS(composer->message_id, "<", token, "@", composer->domain, ">"),
        .headers = &unsubscribe_header,
        .header_count = composer->list.has_link_header || mailto != NULL,
    };
    unsubscribe_header.value = unsubscribe_ways(composer, mailto);
    buf_clear(composer->message);
    return message_compose(composer->plan, &message, composer->scratch, composer->message, err);
}

/* The values of the merge fields for one recipient. */
static struct merge_values recipient_merge_values(struct composer *composer, const struct composer_recipient *recipient)
{
    if (composer->needs_link)
        make_link(composer, recipient);
    return (struct merge_values){
        .arena = composer->scratch,
        .email = recipient->email,
        .first_name = recipient->first_name,
        .last_name = recipient->last_name,
        .user_id = recipient->user_id,
        .unsubscribe_url = composer->needs_link ? buf_text(composer->link) : NULL,
        .fields = recipient->fields,
        .parsed = arena_array(composer->scratch, recipient->fields.count + 1, sizeof(json_t *)),
        .brand = composer->brand,
        .payload = recipient->payload,
    };
}

bool composer_write(struct composer *composer, const struct composer_recipient *recipient, const char *token, int64_t date_us,
                    struct bytes *ret_message, struct error *err)
{
    arena_reset(composer->scratch);
    composer->setting.now_us = date_us;
    composer->is_tracked = composer->tracker != NULL && link_tracker_begin(composer->tracker, recipient->ordinal);
    struct merge_values values = recipient_merge_values(composer, recipient);
    if (!write_parts(composer, &values, err) || !compose_message(composer, recipient, token, date_us, err))
        return false;
    *ret_message = (struct bytes){ (const unsigned char *)buf_text(composer->message), composer->message->size };
    return true;
}

struct composer_texts composer_last_texts(const struct composer *composer)
{
    return (struct composer_texts){
        .subject = buf_text(composer->subject.out),
        .html = buf_text(composer->html.out),
        .text = buf_text(composer->text.out),
    };
}

/* ---- Empty values ---- */

static bool is_empty_value(struct template_value value)
{
    return value.kind == TEMPLATE_NIL || (value.kind == TEMPLATE_STRING && value.size == 0);
}

static struct empty_value *find_empty_value(struct empty_values *values, const char *path)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i].path, path) == 0)
            return &values->items[i];
    return NULL;
}

/* A path of several parts has a fallback only when it has the same in all of them. */
static void add_empty_value(struct empty_values *values, const char *path, const char *fallback)
{
    struct empty_value *earlier = find_empty_value(values, path);
    if (earlier != NULL) {
        if (!text_equal(earlier->fallback, fallback))
            earlier->fallback = NULL;
        return;
    }
    values->has_more = values->count == COMPOSER_EMPTY_VALUES_MAX;
    if (!values->has_more)
        values->items[values->count++] = (struct empty_value){ path, fallback };
}

static void add_empty_values(const struct composer_part *part, const struct merge_values *merge, struct empty_values *values)
{
    for (size_t i = 0; i < template_path_count(&part->template) && !values->has_more; i++) {
        const char *path = template_path(&part->template, i);
        if (template_path_is_listed(&part->template, i) && strstr(path, "[]") == NULL &&
            is_empty_value(merge_value(&part->slots[i], merge)))
            add_empty_value(values, path, template_path_default(&part->template, i));
    }
}

void composer_empty_values(struct composer *composer, const struct composer_recipient *recipient, struct empty_values *ret_values)
{
    const struct composer_part *const parts[] = { &composer->subject, &composer->html, &composer->text };
    arena_reset(composer->scratch);
    struct merge_values merge = recipient_merge_values(composer, recipient);
    ret_values->count = 0;
    ret_values->has_more = false;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        add_empty_values(parts[i], &merge, ret_values);
}

/* ---- Previews ---- */

static bool uses_merge_field(const struct composer *composer, enum merge_field_kind kind)
{
    const struct composer_part *const parts[] = { &composer->subject, &composer->html, &composer->text };
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        for (size_t j = 0; j < template_path_count(&parts[i]->template); j++)
            if (parts[i]->slots[j].kind == kind)
                return true;
    return false;
}

bool composer_uses_first_name(const struct composer *composer)
{
    return uses_merge_field(composer, MERGE_FIRST_NAME);
}

bool composer_uses_last_name(const struct composer *composer)
{
    return uses_merge_field(composer, MERGE_LAST_NAME);
}

bool composer_preview(struct composer *composer, const struct composer_recipient *recipient, struct composer_sample *ret_sample,
                      struct error *err)
{
    bool ignored;
    arena_reset(composer->scratch);
    composer->is_tracked = false;
    struct merge_values values = recipient_merge_values(composer, recipient);
    values.unsubscribe_url = UNSUBSCRIBE_PREVIEW_URL;
    if (!composer_part_write(composer, &composer->subject, &values, &ignored, err) ||
        !composer_part_write(composer, &composer->html, &values, &ret_sample->shows_link, err) ||
        !composer_part_write(composer, &composer->text, &values, &ignored, err))
        return false;
    ret_sample->subject = buf_text(composer->subject.out);
    ret_sample->text = buf_text(composer->text.out);
    return true;
}
