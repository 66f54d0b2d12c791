/*
 * Private to the triggers module: what a fire saves on its contact. Declared
 * scalars at the top of the payload become core columns or custom fields. A value
 * that the contact cannot take is left out with a warning, and the fire goes on.
 */
#pragma once

#include "engine/triggers/fire.h"
#include "engine/triggers/fire_payload.h"

struct fire_contact {
    const struct work *work;
    const struct contract *contract;
    const json_t *payload;
    struct field_registry known; /* the custom fields that the values need, with their types */
    json_t *custom;              /* camelCase name → value */
    struct contact_change change;
    struct fire_warning *warnings;
    size_t warning_count;
};

/* The names of the custom fields that the scalars at the top of a payload could need, whatever its contract declares. */
struct text_list fire_field_names(const struct work *work, const json_t *payload) NONNULL(1);

/* Adds a warning for each finding of the contract. */
void fire_contact_begin(struct fire_contact *contact, const struct work *work, const struct contract *contract,
                        const struct fire_payload *payload) NONNULL(1, 2, 3, 4);

/* Makes contact->change. `found` are the definitions of the fields of fire_field_names. A missing field is defined with the type
 * that the contract declares, which takes a round trip. */
MUST_CHECK bool fire_contact_make(struct fire_contact *contact, const struct db_rows *found, struct error *err) NONNULL(1, 2, 3);
