#include "engine/contacts/contacts.h"

#include "api/request.h"
#include "catalogue/operations.h"
#include "engine/contacts/search.h"

static void take_consent(struct contact_change *change, const struct contact_consent *consent)
{
    change->has_proof = consent != NULL;
    if (consent != NULL)
        change->proof = (struct contact_proof){ consent->source, consent->captured_at, consent->policy_version, consent->evidence };
}

bool op_contacts_save(struct request *rq, const struct contacts_save_args *args, struct reply *reply, struct error *err)
{
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
    take_consent(&change, args->consent);
    struct contact_saved saved;
    if (!contact_save(&rq->work, &change, &saved, err))
        return false;
    enum { STATUS_CREATED = 201, STATUS_EXISTED = 200 };
    reply->status = saved.inserted ? STATUS_CREATED : STATUS_EXISTED;
    request_subject(rq, work_id(&rq->work, ID_CONTACT, saved.contact->id));
    contact_write_saved(&rq->work, &saved, &reply->json);
    return true;
}

static struct contact_change change_of_row(const struct contact_input *row)
{
    struct contact_change change = {
        .email = row->email.value,
        .first_name = row->first_name,
        .last_name = row->last_name,
        .user_id = row->user_id,
        .source = row->source,
        .subscribed = row->subscribed,
        .subscription_groups = row->subscription_groups,
        .custom_fields = row->custom_fields,
    };
    take_consent(&change, row->consent);
    return change;
}

bool op_contacts_save_batch(struct request *rq, const struct contacts_save_batch_args *args, struct reply *reply, struct error *err)
{
    size_t count = args->contacts.count;
    struct contact_change *changes = arena_array(rq->work.arena, count, sizeof(*changes));
    for (size_t i = 0; i < count; i++)
        changes[i] = change_of_row(&args->contacts.items[i]);
    struct contact_batch batch;
    if (!contact_save_batch(&rq->work, changes, count, &batch, err))
        return false;
    for (size_t i = 0; i < batch.ids.count; i++)
        request_subject(rq, work_id(&rq->work, ID_CONTACT, batch.ids.items[i]));
    contact_write_batch(&batch, &reply->json);
    return true;
}

/* ---- Searching ---- */

static const enum contact_order_field order_fields[] = {
    [CONTACTS_SEARCH_SORT_ABSENT] = CONTACT_BY_CREATED,        [CONTACTS_SEARCH_SORT_CREATED_AT] = CONTACT_BY_CREATED,
    [CONTACTS_SEARCH_SORT_UPDATED_AT] = CONTACT_BY_UPDATED,    [CONTACTS_SEARCH_SORT_EMAIL] = CONTACT_BY_EMAIL,
    [CONTACTS_SEARCH_SORT_FIRST_NAME] = CONTACT_BY_FIRST_NAME, [CONTACTS_SEARCH_SORT_LAST_NAME] = CONTACT_BY_LAST_NAME,
};

static bool reply_count(struct request *rq, const struct contact_search *search, struct reply *reply, struct error *err)
{
    int64_t count;
    if (!contact_count(&rq->work, search, &count, err))
        return false;
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "count", count);
    json_object_end(&reply->json);
    return true;
}

bool op_contacts_search(struct request *rq, const struct contacts_search_args *args, struct reply *reply, struct error *err)
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
        return reply_count(rq, &search, reply, err);
    struct contact_page page;
    if (!contact_find(&rq->work, &search, &page, err))
        return false;
    struct json_writer *json = &reply->json;
    page_begin(json, args->limit, page.count);
    for (size_t i = 0; i < page.count; i++) {
        json_object_begin(json);
        contact_write_members(&rq->work, &page.contacts[i], json);
        json_object_end(json);
    }
    page_end(json, args->limit, page.next);
    json_object_end(json);
    return true;
}
