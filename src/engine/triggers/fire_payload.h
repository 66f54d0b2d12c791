/*
 * The check of the payload of a fire, by the contract of the trigger and of its
 * address. Messages hold no value of the payload.
 */
#pragma once

#include "engine/contracts/contract.h"
#include "mail/address.h"

struct fire_payload {
    const json_t *object;    /* without the keys that the contract prunes */
    const json_t *fallbacks; /* an object */
    struct address address;
    const struct contract_finding *warnings;
    size_t warning_count;
};

/* The check of the contract, and the fault of the address behind its errors. Without errors there is an address. */
void fire_payload_find(const struct work *work, const struct contract *contract, const json_t *given,
                       struct contract_check *ret_check, struct address *ret_address) NONNULL(1, 2, 4, 5);

/* Errors: INVALID_PAYLOAD, with {"errors": [{code, field, message, expectedType?, actualType?}]} in details. */
MUST_CHECK bool fire_payload_check(const struct work *work, const struct contract *contract, const json_t *given,
                                   struct fire_payload *ret_payload, struct error *err) NONNULL(1, 2, 4, 5);
