#include "engine/integrations/integrations.h"

#include "api/request.h"
#include "catalogue/operations.h"

bool op_integrations_list(struct request *rq, const struct integrations_list_args *args, struct reply *reply, struct error *err)
{
    return integration_list(&rq->work, args->limit, args->cursor, &reply->json, err);
}
