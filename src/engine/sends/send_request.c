#include "engine/sends/send_request.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/compose/preheader.h"
#include "mail/address.h"
#include "mail/message.h"
#include "template/template.h"

#include <stdlib.h>
#include <string.h>

static const char target_all[] = "all";
static const char default_local_part[] = "hello";

/* ---- Checks that need no database ---- */

bool send_request_compile_subject(const struct work *work, const char *subject, struct bytes *ret_code, struct error *err)
{
    if (template_compile(work->arena, TEMPLATE_HEADER, subject, strlen(subject), ret_code, err))
        return true;
    error_param_prefix(err, "subject");
    return false;
}

bool send_request_parse_address(const struct work *work, const char *text, const char *param, struct address *ret_address,
                                struct error *err)
{
    return address_parse(work->arena, text_trim(work->arena, text), param, ret_address, err);
}

static bool has_key(const struct inline_list *list, const char *key)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->keys[i], key) == 0)
            return true;
    return false;
}

static bool read_inline(const struct work *work, const struct text_list *to, struct inline_list *list, struct error *err)
{
    if (to->count > SEND_INLINE_MAX)
        return fail(err, ERR_INVALID_REQUEST, "to", "At most %d addresses are accepted; use audienceId for more.", SEND_INLINE_MAX);
    list->mailboxes = arena_array(work->arena, to->count, sizeof(*list->mailboxes));
    list->keys = arena_array(work->arena, to->count, sizeof(*list->keys));
    list->hashes = arena_array(work->arena, to->count, sizeof(*list->hashes));
    for (size_t i = 0; i < to->count; i++) {
        struct address address;
        if (!send_request_parse_address(work, to->items[i], arena_printf(work->arena, "to.%zu", i), &address, err))
            return false;
        if (has_key(list, address.key)) {
            list->duplicate_count++;
            continue;
        }
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
        address_hash(work->engine->address_key, address.key, hash);
        hex_encode(hash, sizeof(hash), hex);
        list->mailboxes[list->count] = address.mailbox;
        list->keys[list->count] = address.key;
        list->hashes[list->count] = hex;
        list->count++;
    }
    return true;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Equal targets have equal hashes; the order of an inline list does not matter. */
static void hash_target(const struct work *work, struct checked_request *checked)
{
    struct buf *text = buf_in_arena(work->arena, SEND_INLINE_MAX * (ADDRESS_MAX_BYTES + 1) * 4U);
    buf_printf(text, "%s|%lld", checked->target, (long long)checked->audience_id);
    const char **sorted = arena_array(work->arena, checked->list.count, sizeof(*sorted));
    for (size_t i = 0; i < checked->list.count; i++)
        sorted[i] = checked->list.keys[i];
    qsort(sorted, checked->list.count, sizeof(*sorted), compare_texts);
    for (size_t i = 0; i < checked->list.count; i++)
        buf_printf(text, "\n%s", sorted[i]);
    sha256(buf_text(text), text->size, checked->target_hash);
}

bool send_request_check_target(const struct work *work, const struct send_request *request, struct checked_request *checked,
                               struct error *err)
{
    if (request->audience == NULL && request->to.items == NULL)
        return fail(err, ERR_INVALID_REQUEST, "audienceId", "Pass a target: audienceId (an id, or all) or to.");
    if (request->audience != NULL && request->to.items != NULL)
        return fail(err, ERR_INVALID_REQUEST, "to", "Pass either audienceId or to, not both.");
    if (request->audience == NULL) {
        checked->target = "inline";
        if (!read_inline(work, &request->to, &checked->list, err))
            return false;
    } else if (strcmp(request->audience, target_all) == 0) {
        checked->target = target_all;
    } else {
        checked->target = "audience";
        checked->audience_id = id_decode(&work->engine->ids, ID_AUDIENCE, request->audience);
    }
    hash_target(work, checked);
    return true;
}

bool send_request_check_schedule(const struct work *work, struct opt_int scheduled_at_us, struct error *err)
{
    static const int64_t furthest_us = SEND_SCHEDULE_MAX_DAYS * INT64_C(86400) * US_PER_S;
    if (!scheduled_at_us.set)
        return true;
    if (scheduled_at_us.value <= work->now_us)
        return fail(err, ERR_INVALID_REQUEST, "scheduledAt", "scheduledAt is in the past; omit it to send now.");
    if (scheduled_at_us.value - work->now_us > furthest_us)
        return fail(err, ERR_INVALID_REQUEST, "scheduledAt", "scheduledAt must be at most a year from now.");
    return true;
}

/* ---- The sender ---- */

static bool is_on_domain(const struct address *address, const struct send_domain_row *domain)
{
    return strcmp(address->domain, domain->name) == 0;
}

/* Replaces internal field names by those of the caller's arguments. */
static void rename_sender_param(struct error *err)
{
    static const char *const names[][2] = { { "senderName", "from.name" }, { "fromAddress", "from.email" } };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (strcmp(err->param, names[i][0]) == 0)
            snprintf(err->param, sizeof(err->param), "%s", names[i][1]);
}

const char *send_default_address(struct arena *arena, const char *from_email, const char *domain)
{
    return from_email != NULL ? from_email : arena_printf(arena, "%s@%s", default_local_part, domain);
}

bool send_request_choose_sender(const struct work *work, const struct send_request *request, struct checked_request *checked,
                                struct error *err)
{
    const struct send_domain_row *domain = checked->domain;
    struct address address;
    if (request->from_email != NULL) {
        if (!send_request_parse_address(work, request->from_email, "from.email", &address, err))
            return false;
        if (!is_on_domain(&address, domain))
            return fail(err, ERR_INVALID_REQUEST, "from.email", "from.email must be an address at %s, the sending domain.",
                        domain->name);
        checked->from_address = address.mailbox;
    } else {
        checked->from_address = send_default_address(work->arena, domain->from_email, domain->name);
    }
    checked->sender_name = request->from_name != NULL ? request->from_name : domain->sender_name;
    checked->reply_to = domain->reply_to;
    if (request->reply_to != NULL) {
        if (!send_request_parse_address(work, request->reply_to, "replyTo", &address, err))
            return false;
        checked->reply_to = address.mailbox;
    }
    struct message_common common = {
        .from = { .name = checked->sender_name, .address = checked->from_address },
        .reply_to = { .address = checked->reply_to },
    };
    struct message_plan *ignored;
    if (message_plan_new(work->arena, &common, &ignored, err))
        return true;
    rename_sender_param(err);
    return false;
}

/* ---- Checks of design and domain ---- */

bool send_request_check_email(const char *status, struct opt_int version_id, struct error *err)
{
    if (strcmp(status, "ready") == 0 && version_id.set)
        return true;
    return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design is %s; only a ready design can be sent.", status);
}

bool send_request_no_email(struct error *err)
{
    return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
}

bool send_request_check_domain(const struct send_domain_row *domain, const char *purpose, struct error *err)
{
    if (domain == NULL)
        return fail(err, ERR_DOMAIN_NOT_FOUND, "domainId", "No domain with this id in this brand.");
    if (strcmp(domain->status, "verified") != 0)
        return fail(err, ERR_DOMAIN_NOT_READY, "domainId", "The domain %s is not verified yet.", domain->name);
    if (purpose != NULL && strcmp(domain->sending_purpose, purpose) != 0)
        return fail(err, ERR_DOMAIN_PURPOSE_NOT_ALLOWED, "domainId", "The domain %s is for %s mail; a campaign is %s mail.",
                    domain->name, domain->sending_purpose, purpose);
    return true;
}

bool send_request_check_relay(const struct send_domain_row *domain, struct error *err)
{
    return domain->is_sandbox || domain->has_relay ||
           fail(err, ERR_DOMAIN_NOT_READY, "domainId",
                "No mail can leave for %s: no running process has a relay. The operator starts one with --relay. Mail of the "
                "sandbox "
                "domain is captured in the outbox.",
                domain->name);
}

/* ---- The preview text ---- */

bool send_request_check_preview(const struct work *work, const char *preview_text, struct error *err)
{
    struct bytes ignored;
    if (preview_text == NULL)
        return true;
    const char *html = email_html_with_preview(work->arena, "<body></body>", preview_text);
    if (template_compile(work->arena, TEMPLATE_HTML, html, strlen(html), &ignored, err))
        return true;
    error_param_prefix(err, "previewText");
    return false;
}

static bool links_are_equal(const struct template_links *left, const struct template_links *right)
{
    bool are_equal = left->count == right->count;
    for (size_t i = 0; i < left->count && are_equal; i++)
        are_equal = strcmp(left->items[i].target, right->items[i].target) == 0;
    return are_equal;
}

/* The links keep the numbers that they have in the version. Where its own preview text contains a link, the HTML is compiled
 * without numbers, so its links are not tracked. */
static bool compile_with_preview(struct arena *arena, const char *version, const char *html, struct bytes *ret_code,
                                 struct error *err)
{
    struct template_links numbered = { .count = 0 };
    struct template_links links = { .count = 0 };
    struct bytes ignored;
    if (!template_compile_links(arena, TEMPLATE_HTML, version, strlen(version), &numbered, &ignored, err) ||
        !template_compile_links(arena, TEMPLATE_HTML, html, strlen(html), &links, ret_code, err))
        return false;
    return links_are_equal(&numbered, &links) || template_compile(arena, TEMPLATE_HTML, html, strlen(html), ret_code, err);
}

bool send_request_replace_preview(const struct work *work, int64_t version_id, const char *preview_text, struct bytes *ret_code,
                                  struct error *err)
{
    struct send_version_html_params params = { .brand_id = work->brand_id, .id = version_id };
    struct send_version_html_row *row;
    if (!sql_send_version_html(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return send_request_no_email(err);
    const char *html = email_html_with_preview(work->arena, row->html, preview_text);
    if (compile_with_preview(work->arena, row->html, html, ret_code, err))
        return true;
    error_param_prefix(err, "previewText");
    return false;
}
