/*
 * Adapter: turns the body of a provider's event into a flat payload, by the
 * mapping that schemas/integrations.json declares. It trusts nothing in the
 * body: texts are cleaned and bounded, and a value of another type than the
 * declared one is left out.
 *
 * A path names a value: a.b is a member of a member, a[0] an item, a[x] the
 * first item whose member x is true, a[x=p.q] the first item whose member x is
 * the text at the path p.q of the body.
 *
 * Results live in the arena. No state; any thread.
 */
#pragma once

#include "engine/integrations/proof.h"

enum {
    INTEGRATION_TEXT_MAX_CHARS = 500,
    INTEGRATION_EMAIL_MAX_BYTES = 1000, /* a longer one is no address; the fire judges the others */
    INTEGRATION_TABLES_MAX = 20,
    INTEGRATION_COLUMNS_MAX = 40,
    INTEGRATION_NAME_MAX_CHARS = 50, /* of a table or column */
};

/* What the operator has configured for a connection of a provider with tables. */
struct integration_settings {
    struct text_list tables;
    struct text_list columns;
};

struct integration_notice {
    const struct integration_event *event; /* NULL: the connection does not take it */
    const char *trigger_event;             /* its name in the table triggers: INSERT users */
    const char *id;                        /* of the event at the provider; NULL: it has none */
    const char *email;                     /* NULL: none */
    const char *person;                    /* the provider's id of the person; NULL: none */
    json_t *payload;                       /* the declared fields, without the address */
};

/* The value at a path; NULL: there is none. */
const json_t *adapter_find(const json_t *body, const char *path) NONNULL(2);

/* The name that the trigger of an event has: that of the event, followed by the table if there is one. */
const char *adapter_trigger_event(struct arena *arena, const struct integration_event *event, const char *table)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Reads an event whose proof was checked. `signed_id` is the id that the signature covers; NULL: none. */
void adapter_read(struct arena *arena, const struct proof_request *request, const struct integration_settings *settings,
                  const json_t *body, const char *signed_id, struct integration_notice *ret_notice) NONNULL(1, 2, 3, 4, 6);
