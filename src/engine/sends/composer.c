#include "engine/sends/composer.h"

#include "engine/sends/slots.h"

#include <string.h>

enum { UNSUBSCRIBE_BRAND_BYTES = 8, SUBJECT_MAX_BYTES = HEADER_TEXT_MAX_BYTES };

/* A template with the meaning of its paths. */
struct part {
    struct template template;
    const struct slot *slots;
    struct buf *out;
};

struct composer {
    const struct engine *engine;
    int64_t brand_id;
    const char *brand_name;
    const char *domain;
    struct message_plan *plan;
    struct part subject;
    struct part html;
    struct part text;
    struct slot_fields fields;
    bool needs_unsubscribe_url;
    struct arena *scratch; /* emptied for each message */
    struct buf *message;
};

static void release_scratch(void *object)
{
    arena_free(object);
}

static bool part_load(struct composer *composer, struct arena *arena, struct bytes code, size_t max_bytes, struct part *ret_part,
                      struct error *err)
{
    if (!template_load(code, &ret_part->template, err))
        return false;
    struct slot *slots = slots_resolve(arena, &ret_part->template, &composer->fields);
    for (size_t i = 0; i < template_path_count(&ret_part->template); i++)
        composer->needs_unsubscribe_url |= slots[i].kind == SLOT_UNSUBSCRIBE_URL;
    ret_part->slots = slots;
    ret_part->out = buf_in_arena(arena, max_bytes);
    return true;
}

bool composer_new(const struct work *work, const struct composer_design *design, struct composer **ret_composer, struct error *err)
{
    static const struct header bulk[] = { { "Precedence", "bulk" } };
    struct arena *arena = work->arena;
    struct composer *composer = arena_alloc(arena, sizeof(*composer));
    composer->engine = work->engine;
    composer->brand_id = work->brand_id;
    composer->brand_name = design->brand_name;
    composer->domain = design->domain;
    composer->message = buf_in_arena(arena, MESSAGE_MAX_BYTES);
    struct message_common common = {
        .from = { .name = design->sender_name, .address = design->from_address },
        .reply_to = { .address = design->reply_to },
        .headers = bulk,
        .header_count = design->bulk ? ARRAY_COUNT(bulk) : 0,
    };
    if (!message_plan_new(arena, &common, &composer->plan, err) ||
        !part_load(composer, arena, design->subject_code, SUBJECT_MAX_BYTES, &composer->subject, err) ||
        !part_load(composer, arena, design->html_code, TEMPLATE_MAX_OUTPUT_BYTES, &composer->html, err) ||
        !part_load(composer, arena, design->text_code, TEMPLATE_MAX_OUTPUT_BYTES, &composer->text, err))
        return false;
    composer->scratch = arena_new(0);
    arena_defer(arena, release_scratch, composer->scratch);
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
    const struct part *part;
    const struct slot_values *values;
};

static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)path;
    const struct evaluation *evaluation = context;
    const char *text = slot_value(&evaluation->part->slots[index], evaluation->values);
    if (text == NULL)
        return;
    value->kind = TEMPLATE_STRING;
    value->text = text;
    value->size = strlen(text);
}

static bool part_write(const struct part *part, const struct slot_values *values, struct arena *scratch, struct error *err)
{
    struct evaluation evaluation = { part, values };
    buf_clear(part->out);
    return template_evaluate(&part->template, (struct template_lookup){ look_up, &evaluation }, scratch, part->out, err);
}

/* The page behind the link comes with the tracking domain; until then the mail of the outbox shows its form.
 * The token names brand and address, not the contact, so that it outlives a deleted contact. */
static const char *unsubscribe_url(const struct composer *composer, const char *email_key)
{
    unsigned char payload[UNSUBSCRIBE_BRAND_BYTES + SECRET_HASH_BYTES];
    memcpy(payload, &composer->brand_id, UNSUBSCRIBE_BRAND_BYTES);
    address_hash(composer->engine->address_key, email_key, payload + UNSUBSCRIBE_BRAND_BYTES);
    const char *token = token_seal(composer->scratch, composer->engine->token_key, "unsubscribe", payload, sizeof(payload));
    return arena_printf(composer->scratch, "https://%s/u/%s", composer->domain, token);
}

bool composer_write(struct composer *composer, const struct composer_recipient *recipient, const char *token, int64_t date_us,
                    struct bytes *ret_message, struct error *err)
{
    arena_reset(composer->scratch);
    struct slot_values values = {
        .email = recipient->email,
        .first_name = recipient->first_name,
        .last_name = recipient->last_name,
        .user_id = recipient->user_id,
        .brand_name = composer->brand_name,
        .fields = recipient->fields,
    };
    if (composer->needs_unsubscribe_url)
        values.unsubscribe_url = unsubscribe_url(composer, recipient->email_key);
    if (!part_write(&composer->subject, &values, composer->scratch, err) ||
        !part_write(&composer->html, &values, composer->scratch, err) ||
        !part_write(&composer->text, &values, composer->scratch, err))
        return false;

    struct message message = {
        .to = { .address = recipient->email },
        .subject = buf_text(composer->subject.out),
        .text = buf_text(composer->text.out),
        .text_size = composer->text.out->size,
        .html = buf_text(composer->html.out),
        .html_size = composer->html.out->size,
        .date_us = date_us,
        .message_id = arena_printf(composer->scratch, "<%s@%s>", token, composer->domain),
    };
    buf_clear(composer->message);
    if (!message_compose(composer->plan, &message, composer->scratch, composer->message, err))
        return false;
    *ret_message = (struct bytes){ (const unsigned char *)buf_text(composer->message), composer->message->size };
    return true;
}
