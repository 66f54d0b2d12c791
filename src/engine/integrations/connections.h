/*
 * Connections of providers: the addresses /integrations/PROVIDER/webhook/ID at
 * which a brand receives events. Each has a secret that proves the provider's
 * requests, and the triggers of its events. The secret is stored sealed.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/integrations/adapter.h"

enum { INTEGRATIONS_MAX = 50, INTEGRATION_CONNECTION_NAME_MAX_CHARS = 200 };

struct integration_connection {
    const char *provider;
    const char *name;         /* NULL: that of the provider */
    const char *secret;       /* NULL: one is made */
    struct text_list tables;  /* of a provider with tables: those whose events are taken, at least one */
    struct text_list columns; /* … and the columns that become fields */
};

/* The provider with this key. Errors: INVALID_REQUEST (provider). */
MUST_CHECK bool integration_provider_find(const char *key, const struct integration_provider **ret_provider, struct error *err)
    NONNULL(2, 3);

/* Makes a connection of work->brand_id and its triggers, in the open transaction. `ret_new_secret` is the secret that was made;
 * NULL when the caller gave one. Errors: INVALID_REQUEST, SERVICE_UNAVAILABLE without a master key. */
MUST_CHECK bool integration_add(const struct work *work, const struct integration_connection *connection, int64_t *ret_id,
                                const char **ret_new_secret, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Replaces the secret of a connection, in the open transaction. `secret` NULL: one is made and set in `ret_new_secret`. The earlier
 * secret ends at once. Errors: NOT_FOUND, INVALID_REQUEST, SERVICE_UNAVAILABLE. */
MUST_CHECK bool integration_rotate(const struct work *work, const char *wire_id, const char *secret, const char **ret_new_secret,
                                   struct error *err) NONNULL(1, 2, 4, 5);

/* Ends a connection, in the open transaction. Its triggers are deleted unless an automation or a recorded fire names them.
 * Errors: NOT_FOUND. */
MUST_CHECK bool integration_revoke(const struct work *work, const char *wire_id, struct error *err) NONNULL(1, 2, 3);

/* Writes the connections of the brand as {"data":[…]}, without secrets. */
MUST_CHECK bool integration_connections_write(const struct work *work, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3);

/* Writes the triggers of a connection as a list. */
MUST_CHECK bool integration_triggers_write(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* The path of a connection: /integrations/PROVIDER/webhook/ID. */
char *integration_path(const struct work *work, const char *provider, int64_t id) NONNULL(1, 2) RETURNS_NONNULL;

/* Opens the secret of a connection into `secrets`, which wipes it at its end. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool integration_secret_open(const struct work *work, struct arena *secrets, int64_t brand_id, int64_t id,
                                        struct bytes sealed, const char **ret_secret, struct error *err) NONNULL(1, 2, 6, 7);

/* Reads the stored settings of a connection. */
void integration_settings_read(struct arena *arena, const char *json, struct integration_settings *ret_settings) NONNULL(1, 2, 3);

/* Seals every secret with the newest master key. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool integrations_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
