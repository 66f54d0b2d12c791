#include "engine/operator/operator_audit.h"

#include "engine/ledger/ledger.h"

bool operator_commit(const struct work *work, struct db_tx *tx, const char *operation, const char *subject, struct error *err)
{
    const char *subjects[1] = { subject };
    struct ledger_entry entry = {
        .operation = operation,
        .transport = "admin",
        .request_id = "admin",
        .credit_cost = -1,
        .writes_audit = true,
        .subjects = subjects,
        .subject_count = 1,
    };
    return ledger_settle(work, &entry, 200, NULL, tx, err);
}
