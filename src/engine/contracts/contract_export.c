#include "engine/contracts/contract_export.h"

const char *contract_export(const struct work *work, enum contract_format format, const struct contract *contract,
                            const struct contract_subject *subject)
{
    struct buf *out = buf_in_arena(work->arena, CONTRACT_EXPORT_MAX_BYTES);
    switch (format) {
    case CONTRACT_TS:
        contract_add_ts(work, contract, subject, out);
        break;
    case CONTRACT_ZOD:
        contract_add_zod(work, contract, subject, out);
        break;
    case CONTRACT_JSON_SCHEMA:
        contract_add_json_schema(work, contract, subject, out);
        break;
    case CONTRACT_SKILL:
        contract_add_skill(work, contract, subject, out);
        break;
    }
    return buf_text(out);
}
