#include "engine/account/account.h"

#include "api/request.h"
#include "catalogue/operations.h"

bool op_usage_read(struct request *rq, const struct usage_read_args *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct usage_row *usage;
    if (!account_usage(&rq->work, &usage, err))
        return false;
    account_write_usage(usage, &reply->json);
    return true;
}

bool op_capabilities_account(struct request *rq, const struct capabilities_account_args *args, struct reply *reply, struct error *err)
{
    (void)args;
    return account_write_facts(&rq->work, &reply->json, err);
}
