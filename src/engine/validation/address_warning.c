#include "engine/validation/address_warning.h"

const char *address_warning_code(const struct address_check *check)
{
    if (!check->is_well_formed) /* reported as an error of its row already */
        return NULL;
    if (!address_was_checked(check))
        return "ADDRESS_UNCHECKED";
    switch (check->verdict.status) {
    case ADDRESS_VALID:
        return check->verdict.did_you_mean != NULL ? "ADDRESS_MISSPELLED" : NULL;
    case ADDRESS_RISKY:
        return "ADDRESS_RISKY";
    case ADDRESS_INVALID:
        break;
    }
    return "ADDRESS_INVALID";
}

void address_warning_write(struct arena *arena, const struct address_check *check, struct json_writer *json)
{
    const char *code = address_warning_code(check);
    if (code == NULL)
        return;
    const char *meant = check->verdict.did_you_mean;
    const char *question = meant != NULL ? arena_printf(arena, " Did you mean %s?", meant) : "";
    json_object_begin(json);
    json_member_text(json, "code", code);
    json_member_text(json, "field", "email");
    json_member_text(json, "message", arena_printf(arena, "%s%s", address_reason_sentence(check->verdict.reason), question));
    json_member_text(json, "original", check->given);
    json_member_text_if(json, "normalized", meant);
    json_object_end(json);
}
