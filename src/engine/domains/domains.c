#include "engine/domains/domains.h"

#include <string.h>

void domain_write(const struct work *work, const struct domain_row *domain, struct json_writer *json)
{
    bool verified = strcmp(domain->status, "verified") == 0;
    json_object_begin(json);
    json_member_id(json, work, "domainId", ID_DOMAIN, domain->id);
    json_member_text(json, "name", domain->name);
    json_member_text(json, "status", domain->status);
    json_member_bool(json, "sendable", verified);
    json_member_text(json, "sendingPurpose", domain->sending_purpose);
    /* The records to publish come with the DNS work; a sandbox domain never has any. */
    json_key(json, "records");
    json_array_begin(json);
    json_array_end(json);
    json_member_text_if(json, "defaultSenderName", domain->default_sender_name);
    json_member_text_if(json, "defaultFromEmail", domain->default_from_email);
    json_member_text_if(json, "defaultReplyToEmail", domain->default_reply_to);
    json_member_time(json, "createdAt", domain->created_at);
    json_member_time(json, "updatedAt", domain->updated_at);
    json_member_time_if(json, "verifiedAt", domain->verified_at);
    json_object_end(json);
}
