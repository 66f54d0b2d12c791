#include "engine/compose/link_tracker.h"

#include "base/text.h"
#include "engine/compose/list_mail.h"
#include "engine/tracking/link_token.h"

#include <string.h>

enum {
    BASE_MAX_BYTES = 512,
    URL_MAX_BYTES = BASE_MAX_BYTES + sizeof("/c/") + LINK_TOKEN_MAX_CHARS,
};

struct link_tracker {
    const struct engine *engine;
    struct link_tracker_config config;
    struct buf *url;            /* BASE/c/TOKEN of the current link */
    size_t owner_at;            /* where the recipient's part of the token begins in it */
    const char *picture_before; /* the picture before its token */
    char open_token[LINK_TOKEN_CHARS + 1];
};

struct link_tracker *link_tracker_new(const struct work *work, const struct link_tracker_config *config)
{
    if (strlen(config->base_url) > BASE_MAX_BYTES)
        return NULL;
    struct link_tracker *tracker = arena_alloc(work->arena, sizeof(*tracker));
    tracker->engine = work->engine;
    tracker->config = *config;
    tracker->url = buf_in_arena(work->arena, URL_MAX_BYTES);
    tracker->picture_before = arena_printf(work->arena, "<img src=\"%s/o/", config->base_url);
    buf_printf(tracker->url, "%s/c/", config->base_url);
    tracker->owner_at = tracker->url->size;
    return tracker;
}

bool link_tracker_begin(struct link_tracker *tracker, int64_t ordinal)
{
    const struct token_owner owner = { tracker->config.brand_id, tracker->config.send_id, ordinal };
    char text[TOKEN_OWNER_CHARS + 1];
    tracker->url->size = tracker->owner_at;
    if (!token_owner_write(&tracker->engine->token_keys, &owner, text))
        return false;
    buf_add(tracker->url, text, TOKEN_OWNER_CHARS);
    return true;
}

/* Writes the token of a link behind the recipient's part. */
static void write_number(struct link_tracker *tracker, unsigned number)
{
    tracker->url->size = tracker->owner_at + TOKEN_OWNER_CHARS;
    char *part = buf_room(tracker->url, TOKEN_NUMBER_CHARS + 1);
    if (part == NULL)
        return;
    token_number_write(&tracker->engine->token_keys, tracker->url->data + tracker->owner_at, (uint16_t)number, part);
    buf_grown(tracker->url, TOKEN_NUMBER_CHARS);
}

/* The target of a merged link for this recipient. NULL: it is not tracked. */
static const char *merged_target(const struct link_tracker *tracker, struct arena *scratch, enum template_kind kind,
                                 const char *text, size_t size)
{
    if (size > (size_t)TEMPLATE_LINK_MAX_BYTES)
        return NULL;
    char *decoded = arena_alloc(scratch, size + 1);
    memcpy(decoded, text, size);
    size_t decoded_size = kind == TEMPLATE_HTML ? template_decode_html(text, size, decoded) : size;
    const char *target = template_link_target(scratch, decoded, decoded_size);
    if (target == NULL || strlen(target) > LINK_TOKEN_TARGET_MAX_BYTES || text_starts_with(target, tracker->config.untracked))
        return NULL;
    return target;
}

struct bytes link_tracker_address(struct link_tracker *tracker, struct arena *scratch, enum template_kind kind, unsigned number,
                                  bool is_merged, const char *text, size_t size)
{
    const char *target = is_merged ? merged_target(tracker, scratch, kind, text, size) : NULL;
    if (is_merged && target == NULL)
        return (struct bytes){ .data = NULL };
    write_number(tracker, number);
    if (target != NULL) {
        const char *token = buf_text(tracker->url) + tracker->owner_at;
        buf_add_text(tracker->url, link_token_seal_target(tracker->engine, scratch, token, target));
    }
    return (struct bytes){ (const unsigned char *)tracker->url->data, tracker->url->size };
}

void link_tracker_add_picture(struct link_tracker *tracker, struct buf *html)
{
    static const char after[] = "\" width=\"1\" height=\"1\" alt=\"\" style=\"display:block;border:0\" />";
    write_number(tracker, LINK_NUMBER_OPEN);
    memcpy(tracker->open_token, tracker->url->data + tracker->owner_at, LINK_TOKEN_CHARS);
    const char *const pieces[] = { tracker->picture_before, tracker->open_token, after };
    list_mail_insert_at_body_end(html, pieces, ARRAY_COUNT(pieces));
}
