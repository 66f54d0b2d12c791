/*
 * Private to the triggers module: what a fire saves on its contact. Declared
 * scalars at the top of the payload become core columns or custom fields. A value
 * that the contact cannot take is left out with a warning, and the fire goes on.
 */
#pragma once

#include "engine/triggers/fire.h"
#include "engine/triggers/fire_payload.h"

/* A declared scalar and the contact's field that it belongs to. */
struct declared_value {
    const struct contract_field *field;
    const json_t *value;
    const char *name;
};

struct fire_contact {
    const struct work *work;
    const struct contract *contract;
    const json_t *payload;
    struct field_registry known;   /* the custom fields that the values need, with their types */
    struct declared_value *values; /* for custom fields */
    size_t value_count;
    json_t *custom; /* camelCase name → value */
    struct contact_change change;
    struct fire_warning *warnings;
    size_t warning_count;
};

/* The names of the custom fields that the scalars at the top of a payload could need, whatever its contract declares. */
struct text_list fire_field_names(const struct work *work, const json_t *payload) NONNULL(1);

/* Adds a warning for each finding of the contract. */
void fire_contact_begin(struct fire_contact *contact, const struct work *work, const struct contract *contract,
                        const struct fire_payload *payload) NONNULL(1, 2, 3, 4);

/* Reads the values that the contact may take; core columns are set. `found` are the definitions of the fields of fire_field_names.
 * Adds the fields that do not exist to `missing`, with the types that the contract declares. */
void fire_contact_read(struct fire_contact *contact, const struct db_rows *found, struct field_registry *missing) NONNULL(1, 2, 3);

/* Sets the custom fields of contact->change. `defined`: the missing fields, with the types that they have now. */
void fire_contact_fill(struct fire_contact *contact, const struct field_registry *defined) NONNULL(1, 2);
