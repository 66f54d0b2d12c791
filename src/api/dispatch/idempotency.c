/*
 * Idempotency keys of calls: their check, the ledger entry that carries them,
 * and the duplicates that wait while a call with the same key is in flight.
 */
#include "api/decode.h"
#include "api/dispatch/dispatch.h"
#include "base/json_read.h"

#include <string.h>

enum { IDEMPOTENCY_KEY_MAX_CHARS = 100 };

static const char key_member[] = "idempotencyKey";

/* The fingerprint is a hash of operation, brand and arguments as canonical JSON. It does not depend on where an argument was
 * placed. A key in the body is no argument (D-132). */
static void make_fingerprint(struct call_state *state, struct arena *arena)
{
    const struct call *call = state->call;
    json_auto_t *all = json_object(); /* its references keep the input alive, so it is not kept */
    if (json_is_object(call->input.body))
        json_object_update(all, json_for_iteration(call->input.body));
    if (call->op->key_in_body)
        json_object_del(all, key_member);
    const struct name_value_list lists[] = { call->input.path, call->input.query };
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        for (size_t j = 0; j < lists[i].count; j++) {
            const char *name = lists[i].items[j].name;
            /* A repeated argument makes a different request from a single one. */
            while (json_object_get(all, name) != NULL)
                name = arena_printf(arena, "%s again", name);
            json_object_set_new(all, name, json_string(lists[i].items[j].value));
        }
    const char *text = arena_printf(arena, "%s\n%lld\n%s", call->op->id, (long long)state->brand_id, json_canonical(arena, all));
    sha256(text, strlen(text), state->fingerprint);
}

void dispatch_take_body_key(struct call *call)
{
    if (call->idempotency_key == NULL && call->op->key_in_body && json_is_object(call->input.body))
        call->idempotency_key = json_get_text(call->input.body, key_member);
}

bool dispatch_has_key(const struct call *call)
{
    return call->idempotency_key != NULL && call->op->idempotent_key;
}

bool dispatch_check_key(const struct call *call, struct error *err)
{
    /* A read has no response to replay, but it refuses an invalid key like a write. */
    bool reads = call->op->mode == OP_READ || call->op->mode == OP_MEMORY;
    bool is_checked = call->idempotency_key != NULL && (call->op->idempotent_key || reads);
    size_t chars = is_checked ? strlen(call->idempotency_key) : 1;
    if (chars > 0 && chars <= IDEMPOTENCY_KEY_MAX_CHARS)
        return true;
    return fail(err, ERR_INVALID_REQUEST, "idempotencyKey", "An idempotency key must have 1 to %d characters.",
                IDEMPOTENCY_KEY_MAX_CHARS);
}

bool dispatch_refused_input(const struct call *call, struct error *err)
{
    if (!dispatch_check_key(call, err))
        return true;
    if (call->input.refusal.code == ERR_NONE)
        return false;
    *err = call->input.refusal;
    return true;
}

static bool is_free(const struct call *call)
{
    const char *free_with = call->op->free_with;
    return call->op->price.kind == PRICE_FREE || (free_with != NULL && decode_is_given(&call->input, free_with));
}

bool dispatch_make_entry(struct call_state *state, struct arena *arena, struct error *err)
{
    const struct call *call = state->call;
    const struct price *price = &call->op->price;
    state->entry = (struct ledger_entry){
        .operation = call->op->id,
        .transport = dispatch_transport_name(call->transport),
        .client = call->client,
        .request_id = call->request_id,
        .key_id = call->who.key_id,
        .session_id = call->who.session_id,
        .credits = is_free(call) ? 0 : price->credits,
        .credit_cost = price->kind == PRICE_FIXED || price->kind == PRICE_PER_ITEM ? price->credits : -1,
        .writes_audit = !call->op->unaudited,
    };
    if (!dispatch_has_key(call))
        return true;
    if (!dispatch_check_key(call, err))
        return false;
    secret_hash(call->idempotency_key, state->key_hash);
    make_fingerprint(state, arena);
    state->entry.idempotency_key = state->key_hash;
    state->entry.fingerprint = state->fingerprint;
    return true;
}

struct call_state *dispatch_leave_key(struct api *api, const struct call_state *state)
{
    if (state->entry.idempotency_key == NULL)
        return NULL;
    return in_flight_keys_leave(api->in_flight, state->call->who.organization_id, state->key_hash);
}

void dispatch_queue_duplicates(struct api *api, struct call_state *parked)
{
    while (parked != NULL) {
        struct call_state *next = parked->next;
        /* A duplicate replays the stored response, so it must not hold up a batch. */
        parked->runs_alone = true;
        dispatch_queue(api, parked);
        parked = next;
    }
}
