/*
 * Removes the files of spare pictures (engine/emails/preview_images.h).
 */
#pragma once

#include "engine/assets/asset_store.h"

struct db_conn;

/* Removes some of them, the oldest first; the others wait for the next call. A store that is not available is logged, and is no
 * error: its files stay noted. */
MUST_CHECK bool spare_pictures_remove(struct db_conn *conn, struct asset_store *store, int64_t now_us, struct error *err)
    NONNULL(1, 2, 4);
