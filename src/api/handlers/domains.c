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

    size_t shown = page_begin(&reply->json, args->limit, count);
    for (size_t i = 0; i < shown; i++)
        domain_write(&rq->work, &domains[i], &reply->json);
    struct page_place end = { .id = shown > 0 ? domains[shown - 1].id : 0 };
    page_end(&reply->json, args->limit, page_next(&rq->work, binding, args->limit, count, end));
    json_object_end(&reply->json);
    return true;
}
