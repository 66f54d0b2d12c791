/*
 * Composes marketing mail for the bench of composing, as the sender does: JSON lines in, JSON lines out.
 *
 *     {"html", "text", "subject", "publicUrl"?, "tracked"?: true, "bench"?: rounds}
 *     → {"bytes": "…"} or, of that many messages, {"nanoseconds", "processorNs": of one, "size"} or {"error": "…"}
 *
 * The templates name firstName, lastName, email, plan and score.
 */
#include "base/clock.h"
#include "crypto/keys.h"
#include "engine/compose/composer.h"
#include "engine/compose/message_id.h"
#include "json_lines.h"
#include "template/template.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINE_BYTES = 1024 * 1024, NAME_BYTES = 64, SEND_ID = 5, BRAND_ID = 2 };

static bool compile(struct arena *arena, enum template_kind kind, const char *source, struct bytes *ret_blob, struct error *err)
{
    struct template_links links = { .count = 0 };
    const char *given = source != NULL ? source : "";
    return template_compile_links(arena, kind, given, strlen(given), &links, ret_blob, err);
}

static bool make_composer(const struct work *work, const json_t *request, struct composer **ret_composer, struct error *err)
{
    struct composer_design design = {
        .from_address = "news@shop.example",
        .sender_name = "The Harbour Shop",
        .reply_to = "hello@shop.example",
        .domain = "shop.example",
        .brand_json = "{\"name\": \"Harbour\", \"address\": \"1 Quay\"}",
        .message_class = MESSAGE_MARKETING,
        .send_id = SEND_ID,
        .tracking_url = json_get_bool(request, "tracked", false) ? work->engine->public_url : NULL,
    };
    return template_compile(work->arena, TEMPLATE_HEADER, json_get_text(request, "subject"),
                            strlen(json_get_text(request, "subject")), &design.subject_code, err) &&
           compile(work->arena, TEMPLATE_HTML, json_get_text(request, "html"), &design.html_code, err) &&
           compile(work->arena, TEMPLATE_TEXT, json_get_text(request, "text"), &design.text_code, err) &&
           composer_new(work, &design, ret_composer, err);
}

/* A field as the database gives it (engine/compose/merge_fields.h). */
static const char *field_of(const char *name)
{
    if (strcmp(name, "plan") == 0)
        return "sPro";
    return strcmp(name, "score") == 0 ? "n412" : NULL;
}

static bool write_one(const struct work *work, struct composer *composer, int64_t ordinal, struct arena *scratch,
                      struct bytes *ret_message, struct error *err)
{
    char email[NAME_BYTES];
    snprintf(email, sizeof(email), "reader%lld@example.com", (long long)ordinal);
    struct text_list names = composer_fields(composer);
    const char **fields = arena_array(scratch, names.count + 1, sizeof(*fields));
    for (size_t i = 0; i < names.count; i++)
        fields[i] = field_of(names.items[i]);
    const struct composer_recipient recipient = {
        .email = email,
        .email_key = email,
        .ordinal = ordinal,
        .first_name = "Ada",
        .last_name = "M\xC3\xBCller",
        .fields = { fields, names.count },
    };
    const struct message_origin origin = { .brand_id = BRAND_ID, .send_id = SEND_ID, .ordinal = ordinal };
    const char *token = message_id_token(work->engine, scratch, &origin);
    return composer_write(composer, &recipient, token, INT64_C(1795253400) * US_PER_S, ret_message, err);
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * US_PER_S * 1000 + now.tv_nsec;
}

static bool run(const struct work *work, const json_t *request, struct json_writer *json, struct error *err)
{
    struct composer *composer;
    struct bytes message = { .size = 0 };
    if (!make_composer(work, request, &composer, err))
        return false;
    int64_t rounds = json_get_int(request, "bench", 0);
    ARENA_SCOPE scratch = arena_new(0);
    int64_t from_us = clock_monotonic_us();
    int64_t from_ns = processor_ns();
    for (int64_t i = 0; i < (rounds > 0 ? rounds : 1); i++) {
        arena_reset(scratch);
        if (!write_one(work, composer, i + 1, scratch, &message, err))
            return false;
    }
    int64_t took_us = clock_monotonic_us() - from_us;
    if (rounds > 0) {
        json_member_int(json, "nanoseconds", took_us * 1000 / rounds);
        json_member_int(json, "processorNs", (processor_ns() - from_ns) / rounds);
        json_member_int(json, "size", (int64_t)message.size);
        return true;
    }
    json_key(json, "bytes");
    json_bytes(json, (const char *)message.data, message.size);
    return true;
}

static bool answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    struct engine engine = { .public_url = json_get_text(request, "publicUrl") };
    const struct work work = { .engine = &engine, .arena = arena, .organization_id = 1, .brand_id = BRAND_ID };
    return run(&work, request, json, err);
}

int main(void)
{
    crypto_start();
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = answer });
    return 0;
}
