#include "engine/contacts/contacts.h"

#include "api/handlers/contact_args.h"
#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/contacts/search.h"

/* ---- contacts.save, part of a group commit ---- */

static bool save_check(struct op_context *ctx, const void *raw_args, void **ret_kept, const char **ret_lock_key, struct error *err)
{
    const struct contacts_save_args *args = raw_args;
    struct contact_change change = {
        .email = args->email,
        .first_name = args->first_name,
        .last_name = args->last_name,
        .user_id = args->user_id,
        .source = args->source,
        .subscribed = args->subscribed,
        .subscription_groups = args->subscription_groups,
        .custom_fields = args->custom_fields,
    };
    contact_args_consent(&change, args->consent);
    struct contact_saving *saving;
    if (!contact_save_check(&ctx->work, &change, &saving, err))
        return false;
    *ret_kept = saving;
    *ret_lock_key = contact_saving_key(saving);
    return true;
}

static void save_ask(const struct single_write *writes, size_t count, struct db_batch *batch)
{
    const struct work *work = &writes[0].ctx->work;
    struct contact_saving **savings = arena_array(work->arena, count, sizeof(struct contact_saving *));
    for (size_t i = 0; i < count; i++)
        savings[i] = writes[i].kept;
    contact_save_ask(work, savings, count, batch);
}

static bool save_reply(struct op_context *ctx, void *saving, const struct db_batch *batch, struct reply *reply, struct error *err)
{
    struct contact_saved saved;
    if (!contact_save_take(&ctx->work, saving, batch, &saved, err))
        return false;
    enum { STATUS_CREATED = 201, STATUS_EXISTED = 200 };
    reply->status = saved.inserted ? STATUS_CREATED : STATUS_EXISTED;
    op_context_subject(ctx, work_id(&ctx->work, ID_CONTACT, saved.contact->id));
    contact_write_saved(&ctx->work, &saved, &reply->json);
    return true;
}

const struct op_single_write op_contacts_save_single = { .check = save_check, .ask = save_ask, .reply = save_reply };

/* ---- Many ---- */

bool op_contacts_save_batch(struct op_context *ctx, const struct contacts_save_batch_args *args, struct reply *reply,
                            struct error *err)
{
    size_t count = args->contacts.count;
    struct contact_change *changes = contact_args_rows(ctx->work.arena, args->contacts);
    struct contact_batch batch;
    if (!contact_save_batch(&ctx->work, changes, count, &batch, err))
        return false;
    for (size_t i = 0; i < batch.ids.count; i++)
        op_context_subject(ctx, work_id(&ctx->work, ID_CONTACT, batch.ids.items[i]));
    contact_write_batch(&batch, &reply->json);
    return true;
}

/* ---- Searching ---- */

static const enum contact_order_field order_fields[] = {
    [CONTACTS_SEARCH_SORT_ABSENT] = CONTACT_BY_CREATED,        [CONTACTS_SEARCH_SORT_CREATED_AT] = CONTACT_BY_CREATED,
    [CONTACTS_SEARCH_SORT_UPDATED_AT] = CONTACT_BY_UPDATED,    [CONTACTS_SEARCH_SORT_EMAIL] = CONTACT_BY_EMAIL,
    [CONTACTS_SEARCH_SORT_FIRST_NAME] = CONTACT_BY_FIRST_NAME, [CONTACTS_SEARCH_SORT_LAST_NAME] = CONTACT_BY_LAST_NAME,
};

static bool reply_count(struct op_context *ctx, const struct contact_search *search, struct reply *reply, struct error *err)
{
    int64_t count;
    struct opt_int ignoring_case;
    if (!contact_count(&ctx->work, search, &count, &ignoring_case, err))
        return false;
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "count", count);
    contact_write_ignoring_case(ignoring_case, &reply->json);
    json_object_end(&reply->json);
    return true;
}

bool op_contacts_search(struct op_context *ctx, const struct contacts_search_args *args, struct reply *reply, struct error *err)
{
    struct contact_search search = {
        .text = args->search,
        .filters = args->filters,
        .logic = args->logic != CONTACTS_SEARCH_LOGIC_ABSENT ? contacts_search_logic_names[args->logic - 1] : NULL,
        .audience_id = args->audience_id,
        .order_by = order_fields[args->sort],
        .descending = args->order != CONTACTS_SEARCH_ORDER_ASC,
        .cursor = args->cursor,
        .limit = args->limit,
    };
    if (args->count)
        return reply_count(ctx, &search, reply, err);
    struct contact_page page;
    if (!contact_find(&ctx->work, &search, &page, err))
        return false;
    contact_write_page(&ctx->work, &search, &page, &reply->json);
    return true;
}
