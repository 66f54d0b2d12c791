#include "engine/validation/validation.h"

#include "catalogue/jobs.h"
#include "engine/ledger/ledger.h"
#include "engine/ledger/plans.h"

bool validation_check_credits(const struct work *work, int64_t addresses, struct error *err)
{
    return ledger_check_credits(work, addresses * CREDITS_CONTACT_VALIDATION, err);
}

/* ---- Opening and starting ---- */

bool validation_open(const struct work *work, int64_t *ret_validation_id, struct error *err)
{
    struct validation_open_params params = { .brand_id = work->brand_id, .now = work->now_us };
    struct validation_open_row *row;
    if (!sql_validation_open(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_validation_id = row->id;
    return true;
}

bool validation_add(const struct work *work, int64_t validation_id, struct text_list email_keys, struct error *err)
{
    struct validation_add_params params = {
        .brand_id = work->brand_id,
        .validation_id = validation_id,
        .email_keys = email_keys,
    };
    return sql_validation_add(work->conn, work->arena, &params, NULL, err);
}

static bool bind_job(const struct work *work, int64_t validation_id, int64_t total, int64_t job_id, struct error *err)
{
    struct validation_bind_params params = {
        .brand_id = work->brand_id,
        .validation_id = validation_id,
        .job_id = job_id,
        .total = total,
    };
    return sql_validation_bind(work->conn, work->arena, &params, NULL, err);
}

bool validation_start(const struct work *work, int64_t validation_id, int64_t waiting_job_id, int64_t *ret_job_id,
                      struct error *err)
{
    struct validation_count_params params = { .brand_id = work->brand_id, .validation_id = validation_id };
    struct validation_count_row *row;
    *ret_job_id = 0;
    if (!sql_validation_count(work->conn, work->arena, &params, &row, err))
        return false;
    if (row->total == 0)
        return validation_drop(work, validation_id, err);
    if (waiting_job_id != 0 && row->total <= VALIDATION_MAX_WAITED_FOR) {
        *ret_job_id = waiting_job_id;
        return bind_job(work, validation_id, row->total, waiting_job_id, err);
    }
    struct validate_contacts_payload payload = { .validation_id = validation_id };
    return ledger_enqueue(work, validate_contacts_job(work->arena, &payload), work->now_us, NULL, ret_job_id, err) &&
           bind_job(work, validation_id, row->total, *ret_job_id, err);
}

bool validation_drop(const struct work *work, int64_t validation_id, struct error *err)
{
    struct validation_drop_params params = { .brand_id = work->brand_id, .validation_id = validation_id };
    return sql_validation_drop(work->conn, work->arena, &params, NULL, err);
}

/* ---- Verdicts ---- */

/* Adds a statement that stores the verdicts of a list. Each address occurs once, since a statement can update a row only once. */
static void add_verdicts(const struct work *work, const struct address_list *list, struct db_batch *batch)
{
    const char **keys = arena_array(work->arena, list->count, sizeof(*keys));
    const char **statuses = arena_array(work->arena, list->count, sizeof(*statuses));
    const char **reasons = arena_array(work->arena, list->count, sizeof(*reasons));
    const char **suggestions = arena_array(work->arena, list->count, sizeof(*suggestions));
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct address_check *check = &list->items[i];
        if (!check->is_well_formed || check->first != i || !address_was_checked(check))
            continue;
        keys[count] = check->address.key;
        statuses[count] = address_status_name(check->verdict.status);
        reasons[count] = address_reason_name(check->verdict.reason);
        suggestions[count++] = check->verdict.did_you_mean;
    }
    struct validation_keep_params params = {
        .brand_id = work->brand_id,
        .email_keys = { keys, count },
        .statuses = { statuses, count },
        .reasons = { reasons, count },
        .suggestions = { suggestions, count },
        .now = work->now_us,
    };
    if (count > 0)
        db_batch_add(batch, &validation_keep_statement, &params);
}

bool validation_keep(const struct work *work, const struct address_list *list, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    add_verdicts(work, list, batch);
    return db_batch_run(batch, err);
}

/* ---- Rounds ---- */

/* The addresses of the targets. Deleted contacts are skipped. */
static struct text_list target_addresses(struct arena *arena, const struct validation_targets_row *targets, size_t count)
{
    const char **emails = arena_array(arena, count, sizeof(*emails));
    size_t present = 0;
    for (size_t i = 0; i < count; i++)
        if (targets[i].email != NULL)
            emails[present++] = targets[i].email;
    return (struct text_list){ emails, present };
}

bool validation_round_open(const struct work *work, int64_t job_id, int64_t validation_id, struct validation_round *ret_round,
                           struct error *err)
{
    *ret_round = (struct validation_round){ .validation_id = validation_id, .job_id = job_id };
    struct validation_find_params find = { .brand_id = work->brand_id, .validation_id = validation_id };
    struct validation_find_row *validation;
    if (!sql_validation_find(work->conn, work->arena, &find, &validation, err))
        return false;
    if (validation == NULL)
        return true;
    struct validation_targets_params params = {
        .brand_id = work->brand_id,
        .validation_id = validation_id,
        .cursor_id = validation->cursor_id,
        .limit = VALIDATION_ROUND_TARGETS,
    };
    struct validation_targets_row *targets;
    size_t found;
    int64_t payable;
    if (!sql_validation_targets(work->conn, work->arena, &params, &targets, &found, err) ||
        !ledger_hold_items(work, job_id, CREDITS_CONTACT_VALIDATION, (int64_t)found, &payable, err))
        return false;
    size_t count = (size_t)payable;
    ret_round->is_open = true;
    ret_round->unpaid = (int64_t)found - payable;
    ret_round->from_cursor = validation->cursor_id;
    ret_round->to_cursor = count > 0 ? targets[count - 1].contact_id : validation->cursor_id;
    ret_round->is_last = count == 0;
    address_list_read(work->arena, target_addresses(work->arena, targets, count), &ret_round->list);
    return true;
}

static struct validation_advance_params advance_params(const struct work *work, const struct validation_round *round)
{
    const struct address_list *list = &round->list;
    struct validation_advance_params params = {
        .brand_id = work->brand_id,
        .validation_id = round->validation_id,
        .from_cursor = round->from_cursor,
        .to_cursor = round->to_cursor,
        .credits = address_list_checked(list) * CREDITS_CONTACT_VALIDATION,
    };
    for (size_t i = 0; i < list->count; i++) {
        const struct address_check *check = &list->items[i];
        params.unchecked += !address_was_checked(check);
        params.valid += check->verdict.status == ADDRESS_VALID;
        params.invalid += check->verdict.status == ADDRESS_INVALID;
        params.risky += check->verdict.status == ADDRESS_RISKY && address_was_checked(check);
    }
    return params;
}

static bool end_validation(const struct work *work, int64_t validation_id, struct validation_totals_row **ret_totals,
                           struct error *err)
{
    struct validation_end_params params = { .brand_id = work->brand_id, .validation_id = validation_id, .now = work->now_us };
    struct validation_totals_params totals = { .brand_id = work->brand_id, .validation_id = validation_id };
    return sql_validation_end(work->conn, work->arena, &params, NULL, err) &&
           sql_validation_totals(work->conn, work->arena, &totals, ret_totals, err);
}

bool validation_settle_waited(const struct work *work, const struct validation_round *round, struct error *err)
{
    struct validation_advance_params advance = advance_params(work, round);
    struct validation_forget_targets_params forget = {
        .brand_id = work->brand_id,
        .validation_id = round->validation_id,
        .from_cursor = round->from_cursor,
        .to_cursor = round->to_cursor,
    };
    struct validation_end_params end = { .brand_id = work->brand_id, .validation_id = round->validation_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &validation_advance_statement, &advance);
    add_verdicts(work, &round->list, batch);
    db_batch_add(batch, &validation_forget_targets_statement, &forget);
    db_batch_add(batch, &validation_end_statement, &end);
    return db_batch_run(batch, err);
}

/* Stores the verdicts, deletes the finished targets, and charges the credits. */
static bool settle_targets(const struct work *work, const struct validation_round *round, int64_t credits, struct error *err)
{
    struct validation_forget_targets_params forget = {
        .brand_id = work->brand_id,
        .validation_id = round->validation_id,
        .from_cursor = round->from_cursor,
        .to_cursor = round->to_cursor,
    };
    struct ledger_entry charge = { .credits = credits, .credit_cost = -1, .job_id = round->job_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    add_verdicts(work, &round->list, batch);
    db_batch_add(batch, &validation_forget_targets_statement, &forget);
    return db_batch_run(batch, err) && ledger_settle(work, &charge, 0, NULL, NULL, err);
}

bool validation_round_settle(const struct work *work, const struct validation_round *round,
                             struct validation_totals_row **ret_totals, struct error *err)
{
    *ret_totals = NULL;
    if (!round->is_open)
        return ledger_release_hold(work, round->job_id, err);
    if (round->is_last)
        return end_validation(work, round->validation_id, ret_totals, err) && ledger_release_hold(work, round->job_id, err);
    struct validation_advance_params advance = advance_params(work, round);
    struct validation_advance_row *advanced;
    if (!sql_validation_advance(work->conn, work->arena, &advance, &advanced, err))
        return false;
    if (advanced == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "Another worker has advanced this validation.");
    return settle_targets(work, round, advance.credits, err);
}

bool validation_give_up(const struct work *work, int64_t job_id, int64_t validation_id, struct error *err)
{
    struct validation_totals_row *ignored;
    return end_validation(work, validation_id, &ignored, err) && ledger_release_hold(work, job_id, err);
}
