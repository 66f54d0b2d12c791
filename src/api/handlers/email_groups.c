#include "engine/emails/groups.h"

#include "api/request.h"
#include "catalogue/operations.h"

bool op_email_groups_list(struct request *rq, const struct email_groups_list_args *args, struct reply *reply, struct error *err)
{
    return email_group_list(&rq->work, args->limit, args->cursor, &reply->json, err);
}

static bool answer_group(struct request *rq, const struct email_group_row *group, struct reply *reply)
{
    request_subject(rq, work_id(&rq->work, ID_GROUP, group->id));
    email_group_write(&rq->work, group, &reply->json);
    return true;
}

bool op_email_groups_create(struct request *rq, const struct email_groups_create_args *args, struct reply *reply, struct error *err)
{
    struct email_group_row *group;
    return email_group_create(&rq->work, args->name, &group, err) && answer_group(rq, group, reply);
}

bool op_email_groups_rename(struct request *rq, const struct email_groups_rename_args *args, struct reply *reply, struct error *err)
{
    struct email_group_row *group;
    return email_group_rename(&rq->work, args->group_id, args->name, &group, err) && answer_group(rq, group, reply);
}

bool op_email_groups_delete(struct request *rq, const struct email_groups_delete_args *args, struct reply *reply, struct error *err)
{
    bool deleted;
    if (!email_group_delete(&rq->work, args->group_id, &deleted, err))
        return false;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "groupId", args->group_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    if (deleted)
        request_subject(rq, args->group_id);
    return true;
}
