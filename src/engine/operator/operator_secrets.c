#include "engine/operator/operator.h"

#include "base/text.h"
#include "crypto/key_file.h"
#include "engine/domains/domain_keys.h"
#include "engine/integrations/connections.h"
#include "engine/operator/operator_audit.h"
#include "engine/payloads/payloads.h"
#include "engine/placement/seeds.h"
#include "engine/reports/mailboxes.h"
#include "engine/secrets/model_keys.h"

/* Writes only an audit row. */
static bool write_audit(const struct work *work, const char *operation, const char *subject, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && operator_commit(work, &tx, operation, subject, err);
}

bool operator_add_master_key(const struct work *work, int *ret_id, struct error *err)
{
    return key_file_add(work->arena, work->engine->key_file, ret_id, err) &&
           write_audit(work, "admin.keys.add", arena_printf(work->arena, "%d", *ret_id), err);
}

/* Every kind of sealed secret must be resealed here. */
bool operator_rewrap(const struct work *work, int64_t *ret_count, struct error *err)
{
    int64_t integrations;
    int64_t payloads;
    int64_t mailboxes;
    int64_t models;
    int64_t seeds;
    if (!domain_keys_reseal(work, ret_count, err) || !integrations_reseal(work, &integrations, err) ||
        !payloads_reseal(work, &payloads, err) || !mailboxes_reseal(work, &mailboxes, err) ||
        !model_keys_reseal(work, &models, err) || !seeds_reseal(work, &seeds, err))
        return false;
    *ret_count += integrations + payloads + mailboxes + models + seeds;
    return write_audit(work, "admin.keys.rewrap", arena_printf(work->arena, "%lld", (long long)*ret_count), err);
}
