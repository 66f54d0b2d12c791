#include "engine/triggers/fire_payload.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { DETAILS_MAX_BYTES = 1024 * 1024 };

/* ---- The address ---- */

static struct contract_finding address_fault(const char *message)
{
    return (struct contract_finding){ .code = "invalid_email", .field = "email", .message = message };
}

/* Returns the number of faults. Spaces around an address are dropped, as for contacts. A line break is a fault there too: it hints
 * at an attack. */
static size_t find_bad_address(const struct work *work, const struct contract_check *check, struct address *ret_address,
                               struct contract_finding *ret_fault)
{
    const char *text = json_get_text(check->payload, "email");
    struct error parsing = { .code = ERR_NONE };
    if (text == NULL && check->error_count > 0)
        return 0; /* a finding of the contract, which requires this text */
    if (text == NULL)
        *ret_fault = address_fault("email is required.");
    else if (text[strcspn(text, "\r\n")] != '\0')
        *ret_fault = address_fault("The address has a line break.");
    else if (!address_parse(work->arena, text_trim(work->arena, text), "email", ret_address, &parsing))
        *ret_fault = address_fault(arena_dup(work->arena, parsing.message));
    else
        return 0;
    return 1;
}

/* ---- The refusal ---- */

static void write_finding(struct json_writer *json, const struct contract_finding *finding)
{
    json_object_begin(json);
    json_member_text(json, "code", finding->code);
    json_member_text(json, "field", finding->field);
    json_member_text(json, "message", finding->message);
    json_member_text_if(json, "expectedType", finding->expected_type);
    json_member_text_if(json, "actualType", finding->actual_type);
    json_object_end(json);
}

static bool refuse_payload(const struct work *work, const struct contract_finding *faults, size_t count, struct error *err)
{
    struct buf *details = buf_in_arena(work->arena, DETAILS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, details);
    json_object_begin(&json);
    json_key(&json, "errors");
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++)
        write_finding(&json, &faults[i]);
    json_array_end(&json);
    json_object_end(&json);
    fail(err, ERR_INVALID_PAYLOAD, "payload", "%s%s", faults[0].message, count > 1 ? " The details list every fault." : "");
    if (faults[0].field[0] != '\0')
        error_set_param(err, "payload.%s", faults[0].field);
    return error_with_details(err, buf_text(details));
}

void fire_payload_find(const struct work *work, const struct contract *contract, const json_t *given,
                       struct contract_check *ret_check, struct address *ret_address)
{
    contract_check(work, contract, given, ret_check);
    struct contract_finding *faults = arena_array(work->arena, ret_check->error_count + 1, sizeof(*faults));
    for (size_t i = 0; i < ret_check->error_count; i++)
        faults[i] = ret_check->errors[i];
    ret_check->error_count += find_bad_address(work, ret_check, ret_address, &faults[ret_check->error_count]);
    ret_check->errors = faults;
}

bool fire_payload_check(const struct work *work, const struct contract *contract, const json_t *given,
                        struct fire_payload *ret_payload, struct error *err)
{
    struct contract_check check;
    struct address address = { .key = NULL };
    fire_payload_find(work, contract, given, &check, &address);
    *ret_payload = (struct fire_payload){
        .object = check.payload,
        .fallbacks = check.fallbacks,
        .address = address,
        .warnings = check.warnings,
        .warning_count = check.warning_count,
    };
    return check.error_count == 0 || refuse_payload(work, check.errors, check.error_count, err);
}
