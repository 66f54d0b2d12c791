/*
 * Slots: what the paths of a template mean for a recipient. They are resolved
 * once a send, so that a message costs array lookups only.
 *
 *     email firstName lastName userId     of the contact, also as contact.firstName …
 *     customFields.plan, plan             a custom field
 *     brand.name  unsubscribeUrl
 *
 * Whatever is not known is nil, and `default` filters see it as such.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"
#include "mail/template.h"

enum slot_kind {
    SLOT_EMAIL,
    SLOT_FIRST_NAME,
    SLOT_LAST_NAME,
    SLOT_USER_ID,
    SLOT_BRAND_NAME,
    SLOT_UNSUBSCRIBE_URL,
    SLOT_FIELD,
};

struct slot {
    enum slot_kind kind;
    size_t field; /* SLOT_FIELD: its place in the set */
};

/* The custom fields that the templates of one send name, each once. Filled by slots_resolve; names borrow from the blobs. */
struct slot_fields {
    const char **names;
    size_t count;
    size_t capacity;
};

/* The meaning of each path of a template, in the arena; custom fields are added to `fields`. */
struct slot *slots_resolve(struct arena *arena, const struct template *template, struct slot_fields *fields)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* What a recipient brings to its slots; what is NULL is nil. */
struct slot_values {
    const char *email;
    const char *first_name;
    const char *last_name;
    const char *user_id;
    const char *brand_name;
    const char *unsubscribe_url;
    struct text_list fields; /* in the order of slot_fields */
};

const char *slot_value(const struct slot *slot, const struct slot_values *values) NONNULL(1, 2);
