#include "engine/delivery/carriers.h"

#include "db/advisory_locks.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/send_request.h"
#include "sql/carriers.h"

/* ---- Making a carrier ---- */

struct carrier_lookup {
    const struct carrier_find_row *carrier;
    const struct carrier_email_row *email;
    const struct send_domain_row *domain;
};

static bool look_up_design(const struct work *work, const struct carrier_design *design, struct carrier_lookup *ret_found,
                           struct error *err)
{
    struct carrier_find_params carrier = { .brand_id = work->brand_id,
                                           .version_id = design->version_id,
                                           .node_id = design->node_id };
    struct carrier_email_params email = { .brand_id = work->brand_id,
                                          .email_id = design->email_id,
                                          .version_id = design->email_version_id };
    struct send_domain_find_params domain = { .brand_id = work->brand_id, .id = design->domain_id };
    struct send_domain_default_params any = { .brand_id = work->brand_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t carriers = db_batch_add(batch, &carrier_find_statement, &carrier);
    size_t emails = db_batch_add(batch, &carrier_email_statement, &email);
    size_t domains = design->domain_id != 0 ? db_batch_add(batch, &send_domain_find_statement, &domain)
                                            : db_batch_add(batch, &send_domain_default_statement, &any);
    if (!db_batch_run(batch, err))
        return false;
    *ret_found = (struct carrier_lookup){
        .carrier = db_batch_rows(batch, carriers)->rows,
        .email = db_batch_rows(batch, emails)->rows,
        .domain = db_batch_rows(batch, domains)->rows,
    };
    return true;
}

/* Checks what can change after the node was published. */
static bool check_found(const struct carrier_lookup *found, struct error *err)
{
    return (found->email != NULL || send_request_no_email(err)) && send_request_check_domain(found->domain, NULL, err);
}

static bool insert_carrier(const struct work *work, const struct carrier_design *design, const struct checked_request *checked,
                           struct carrier_insert_row **ret_row, struct error *err)
{
    struct carrier_insert_params params = {
        .brand_id = work->brand_id,
        .automation_id = design->automation_id,
        .automation_version_id = design->version_id,
        .node_id = design->node_id,
        .message_class = checked->domain->sending_purpose,
        .email_id = design->email_id,
        .email_version_id = checked->version_id,
        .subject = design->subject,
        .subject_code = checked->subject_code,
        .preview_text = design->preview_text,
        .html_code = checked->html_code,
        .from_address = checked->from_address,
        .sender_name = checked->sender_name,
        .reply_to = checked->reply_to,
        .domain_id = checked->domain->id,
        .can_track = delivery_can_track(work),
        .now = work->now_us,
    };
    return sql_carrier_insert(work->conn, work->arena, &params, ret_row, err);
}

/* Makes the carrier from the config, which is compiled and checked as a campaign is. */
static bool make_carrier(const struct work *work, const struct carrier_design *design, const struct carrier_lookup *found,
                         int64_t *ret_carrier_id, struct error *err)
{
    struct checked_request checked = { .version_id = design->email_version_id, .domain = found->domain };
    struct send_request request = {
        .email_id = design->email_id,
        .domain_id = design->domain_id,
        .subject = design->subject,
        .preview_text = design->preview_text,
        .from_email = design->from_address,
        .from_name = design->sender_name,
        .reply_to = design->reply_to,
    };
    struct carrier_insert_row *made;
    if (!send_request_compile_subject(work, request.subject, &checked.subject_code, err) ||
        !send_request_choose_sender(work, &request, &checked, err))
        return false;
    if (request.preview_text != NULL &&
        !send_request_replace_preview(work, checked.version_id, request.preview_text, &checked.html_code, err))
        return false;
    if (!insert_carrier(work, design, &checked, &made, err))
        return false;
    if (made != NULL) {
        *ret_carrier_id = made->send_id;
        return true;
    }
    struct carrier_find_params find = { .brand_id = work->brand_id, .version_id = design->version_id, .node_id = design->node_id };
    struct carrier_find_row *row;
    if (!sql_carrier_find(work->conn, work->arena, &find, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The mail of a node could not be prepared.");
    *ret_carrier_id = row->send_id;
    return true;
}

bool carrier_ensure(const struct work *work, const struct carrier_design *design, int64_t *ret_carrier_id, struct error *err)
{
    struct carrier_lookup found;
    if (!look_up_design(work, design, &found, err) || !check_found(&found, err))
        return false;
    if (found.carrier == NULL)
        return make_carrier(work, design, &found, ret_carrier_id, err);
    *ret_carrier_id = found.carrier->send_id;
    return true;
}

/* ---- Appending ---- */

/* The allowance is checked under a lock, so that two transactions cannot use the same remainder. */
static bool has_room(const struct work *work, size_t count, bool *ret_has_room, struct error *err)
{
    struct opt_int left;
    *ret_has_room = true;
    if (!send_allowance_left(work, &left, err))
        return false;
    if (!left.set)
        return true;
    struct delivery_allowance_lock_params lock = { .lock = ADVISORY_LOCK_ALLOWANCE, .organization_id = work->organization_id };
    if (!sql_delivery_allowance_lock(work->conn, work->arena, &lock, NULL, err) || !send_allowance_left(work, &left, err))
        return false;
    *ret_has_room = !left.set || (int64_t)count <= left.value;
    return true;
}

static struct carrier_append_params append_params(const struct work *work, const struct carrier_message *messages, size_t count)
{
    int64_t *numbers = arena_array(work->arena, 6 * count, sizeof(*numbers));
    const char **texts = arena_array(work->arena, 2 * count, sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        const int64_t columns[] = { messages[i].run_id,          messages[i].visit,       messages[i].contact_id,
                                    messages[i].audience_run_id, messages[i].instance_id, messages[i].payload_id };
        for (size_t column = 0; column < ARRAY_COUNT(columns); column++)
            numbers[column * count + i] = columns[column];
        texts[i] = messages[i].email;
        texts[count + i] = messages[i].email_key;
    }
    return (struct carrier_append_params){
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .range_size = DELIVERY_RANGE_SIZE,
        .run_ids = { numbers, count },
        .visits = { numbers + count, count },
        .contact_ids = { numbers + 2 * count, count },
        .audience_run_ids = { numbers + 3 * count, count },
        .instance_ids = { numbers + 4 * count, count },
        .payload_ids = { numbers + 5 * count, count },
        .emails = { texts, count },
        .keys = { texts + count, count },
        .now = work->now_us,
    };
}

bool carrier_append(const struct work *work, int64_t carrier_id, const char *node_id, int64_t automation_id,
                    const struct carrier_message *messages, size_t count, bool *ret_has_room, struct int_list *ret_ids,
                    struct error *err)
{
    *ret_ids = (struct int_list){ .count = 0 };
    if (!has_room(work, count, ret_has_room, err))
        return false;
    if (!*ret_has_room || count == 0)
        return true;
    struct carrier_append_params params = append_params(work, messages, count);
    params.carrier_id = carrier_id;
    params.node_id = node_id;
    params.automation_id = automation_id;
    struct carrier_append_row *rows;
    size_t row_count;
    if (!sql_carrier_append(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    if (row_count != count)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The carrier of a node no longer exists.");
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].id;
    *ret_ids = (struct int_list){ ids, count };
    return true;
}

bool carriers_notify(const struct work *work, struct error *err)
{
    return sql_delivery_notify_senders(work->conn, work->arena, NULL, err);
}
