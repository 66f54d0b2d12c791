/*
 * Merge fields: the placeholders of a template and their values for a
 * recipient. Each path is resolved once per send, so a message costs array
 * lookups only.
 *
 *     contact.email firstName lastName userId      of the contact
 *     contact.customFields.plan, contact.plan      a custom field, with its type; customFields.plan is the same
 *     payload.order.id                             of the event that caused the message
 *     brand.name domain timeZone locale address …  of the brand and its identity
 *     unsubscribeUrl
 *     plan                                         a bare name: of the payload if it has that member, else of the contact
 *
 * An unknown path gives nil, so the `default` filter replaces it. Values borrow
 * from the recipient and from the arena in merge_values.
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
    MERGE_CUSTOM_FIELDS, /* all custom fields */
    MERGE_CONTACT,       /* the whole contact */
    MERGE_BRAND,
    MERGE_PAYLOAD,
    MERGE_UNSUBSCRIBE_URL,
};

struct merge_field {
    enum merge_field_kind kind;
    size_t field;     /* MERGE_FIELD, MERGE_CUSTOM_FIELDS and MERGE_CONTACT: the index in merge_custom_fields */
    const char *rest; /* the rest of the path, followed inside the value */
    const char *bare; /* a bare path, looked up in the payload first; NULL otherwise */
    size_t bare_size; /* bytes of its first name */
};

/* The custom fields that the templates of one send use, without duplicates. "" means all. Filled by merge_fields_resolve. */
struct merge_custom_fields {
    const char **names;
    size_t count;
    size_t capacity;
};

/* Resolves each path of a template, in the arena. Adds custom fields to `fields`. */
struct merge_field *merge_fields_resolve(struct arena *arena, const struct template *template, struct merge_custom_fields *fields)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The values of one recipient. NULL gives nil. */
struct merge_values {
    struct arena *arena; /* for parsed values; the owner resets it after the evaluation */
    const char *email;
    const char *first_name;
    const char *last_name;
    const char *user_id;
    const char *unsubscribe_url;
    struct text_list
        fields; /* in the order of merge_custom_fields: a type letter (s string, n number, b boolean, j JSON), then the text */
    const json_t **parsed; /* one more entry than fields, zeroed: cached JSON of each field, then the whole contact */
    const json_t *brand;
    const json_t *payload;
};

struct template_value merge_value(const struct merge_field *merge_field, const struct merge_values *values) NONNULL(1, 2);

/* The locale, currency and time zone in which a brand writes dates and money, from the members of the object `brand`. */
struct template_setting merge_fields_setting(struct arena *arena, const json_t *brand, int64_t now_us) NONNULL(1);
