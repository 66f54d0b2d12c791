/*
 * Payloads of fires, sealed with a master key. A payload is stored once for all
 * runs of a fire, and erased when no run and no message can read it
 * (erase_payloads in the migrations). No answer, event or log line holds one.
 *
 * The row is sealed for its brand and id, so a copy in another row does not open.
 * All functions except payloads_reseal run in the open transaction of the work, or read.
 */
#pragma once

#include "crypto/seal.h"
#include "engine/core/work.h"

#include <jansson.h>

enum { PAYLOAD_MAX_BYTES = 64 * 1024, PAYLOAD_MAX_DEPTH = 16, PAYLOAD_MAX_KEYS = 500 };

/* Seals and stores a payload: `payload` is the object that conditions read, `fallbacks` the values that only mail uses for members
 * that the payload lacks (an object, may be empty). Errors: SERVICE_UNAVAILABLE without a master key. */
MUST_CHECK bool payload_store(const struct work *work, const json_t *payload, const json_t *fallbacks, int64_t *ret_id,
                              struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The same for several payloads in a batch of the caller, under ids that were drawn for them (payload_next_id). The batch runs
 * between both. */
struct payload_storing {
    int64_t id;
    const json_t *payload;
    const json_t *fallbacks;
};

/* `ret_index`: the place in the batch, for payloads_store_take. */
MUST_CHECK bool payloads_store_ask(const struct work *work, const struct payload_storing *storings, size_t count,
                                   struct db_batch *batch, size_t *ret_index, struct error *err) NONNULL(1, 2, 4, 5, 6);
MUST_CHECK bool payloads_store_take(const struct work *work, const struct payload_storing *storings, size_t count,
                                    const struct db_batch *batch, size_t index, struct error *err) NONNULL(1, 2, 4, 6);

/* Opens a sealed payload. `is_for_mail`: the fallbacks are merged into it. The JSON belongs to the arena of the work. Errors:
 * SERVICE_UNAVAILABLE when the key is missing. */
MUST_CHECK bool payload_open(const struct work *work, int64_t id, struct bytes sealed, bool is_for_mail, const json_t **ret_payload,
                             struct error *err) NONNULL(1, 5, 6);

/* The same with keys that secrets_opening has read, for many payloads. The key file is read once for all of them. */
MUST_CHECK bool payload_open_with(const struct work *work, const struct seal_ring *ring, int64_t id, struct bytes sealed,
                                  bool is_for_mail, const json_t **ret_payload, struct error *err) NONNULL(1, 2, 6, 7);

/* Reads and opens one payload for mail; NULL when it was erased. Errors: SERVICE_UNAVAILABLE when the key is missing. */
MUST_CHECK bool payload_load_for_mail(const struct work *work, int64_t id, const json_t **ret_payload, struct error *err)
    NONNULL(1, 3, 4);

/* Seals every payload of the installation anew with the newest master key, in several transactions. `ret_count`: resealed ones. No
 * transaction may be open. Errors: SERVICE_UNAVAILABLE when a key is missing. */
MUST_CHECK bool payloads_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);

/* Erases those of these payloads that nothing reads any more. Locks their rows, in the order of their ids. */
MUST_CHECK bool payload_erase_unread(const struct work *work, struct int_list ids, struct error *err) NONNULL(1, 3);
/* The same as a statement of a batch. */
void payload_erase_unread_ask(const struct work *work, struct int_list ids, struct db_batch *batch) NONNULL(1, 3);
