/*
 * Slots: what the paths of a template mean for a recipient. They are resolved
 * once a send, so that a message costs array lookups only.
 *
 *     contact.email firstName lastName userId      of the contact
 *     contact.customFields.plan, contact.plan      a custom field, with its type; customFields.plan is the same
 *     payload.order.id                             of the event that caused the message
 *     brand.name domain timeZone locale address …  of the brand and its identity
 *     unsubscribeUrl
 *     plan                                         a bare name: of the payload, if that has it, else of the contact
 *
 * Whatever is not known is nil, and `default` filters see it as such. Values
 * borrow from the recipient and the arena that the values name.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"
#include "template/template.h"

#include <jansson.h>

enum merge_field_kind {
    MERGE_NIL,
    MERGE_EMAIL,
    MERGE_FIRST_NAME,
    MERGE_LAST_NAME,
    MERGE_USER_ID,
    MERGE_FIELD,         /* a custom field */
    MERGE_CUSTOM_FIELDS, /* all of them */
    MERGE_CONTACT,       /* the whole contact */
    MERGE_BRAND,
    MERGE_PAYLOAD,
    MERGE_UNSUBSCRIBE_URL,
};

struct slot {
    enum merge_field_kind kind;
    size_t field;     /* MERGE_FIELD, MERGE_CUSTOM_FIELDS and MERGE_CONTACT: the place of the field in the set */
    const char *rest; /* of the path, to be followed in the value */
    const char *bare; /* a bare path, which the payload may have; NULL otherwise */
    size_t bare_size; /* of its first name */
};

/* The custom fields that the templates of one send name, each once; "" stands for all. Filled by merge_fields_resolve. */
struct merge_custom_fields {
    const char **names;
    size_t count;
    size_t capacity;
};

/* The meaning of each path of a template, in the arena; custom fields are added to `fields`. */
struct slot *merge_fields_resolve(struct arena *arena, const struct template *template, struct merge_custom_fields *fields)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* What a recipient brings to its slots; what is NULL is nil. */
struct merge_values {
    struct arena *arena; /* for what has to be parsed; emptied by the owner after the evaluation */
    const char *email;
    const char *first_name;
    const char *last_name;
    const char *user_id;
    const char *unsubscribe_url;
    struct text_list
        fields; /* in the order of merge_custom_fields: a letter for the type (s text, n number, b truth, j JSON), the text */
    const json_t **parsed; /* room for one more than fields, zeroed: what has been parsed of them, and the whole contact */
    const json_t *brand;
    const json_t *payload;
};

struct template_value merge_value(const struct slot *slot, const struct merge_values *values) NONNULL(1, 2);

/* How a brand writes dates and money: its locale, currency and time zone, of the members of the object `brand`. */
struct template_setting merge_fields_setting(struct arena *arena, const json_t *brand, int64_t now_us) NONNULL(1);
