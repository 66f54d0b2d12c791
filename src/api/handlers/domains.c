#include "engine/domains/domains.h"

#include "api/request.h"
#include "catalogue/operations.h"
#include "engine/page.h"

bool op_domains_list(struct request *rq, const struct domains_list_args *args, struct reply *reply, struct error *err)
{
    const char *binding = args->sendable_only ? "domains.list sendable" : "domains.list";
    struct page_place place;
    if (!page_place_read(&rq->work, binding, args->cursor, &place, err))
        return false;
    struct domain_page_params params = {
        .brand_id = rq->work.brand_id,
        .sendable_only = args->sendable_only,
        .after_id = place.id,
        .limit = args->limit + 1,
    };
    struct domain_row *domains;
    size_t count;
    if (!sql_domain_page(rq->work.conn, rq->work.arena, &params, &domains, &count, err))
        return false;

    size_t shown = count > (size_t)args->limit ? (size_t)args->limit : count;
    json_object_begin(&reply->json);
    json_key(&reply->json, "data");
    json_array_begin(&reply->json);
    for (size_t i = 0; i < shown; i++)
        domain_write(&rq->work, &domains[i], &reply->json);
    json_array_end(&reply->json);
    struct page_place last = { .set = true, .id = shown > 0 ? domains[shown - 1].id : 0 };
    page_write(&reply->json, args->limit, count > shown ? page_cursor(&rq->work, binding, &last) : NULL);
    json_object_end(&reply->json);
    return true;
}
