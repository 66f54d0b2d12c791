#include "engine/delivery/carriers.h"
#include "engine/runs/stepped_run.h"

#include <stdlib.h>
#include <string.h>

static const int64_t plan_wait_us = INT64_C(15) * 60 * 1000 * 1000;
static const char no_room[] = "The allowance of the plan has no room for the message. The run tries again every 15 minutes.";

/* The runs that mail from one node of one version. */
struct mail_group {
    struct stepped_run **runs;
    size_t count;
    int64_t carrier_id;
};

/* ---- Groups ---- */

static int compare_nodes(const void *a, const void *b)
{
    const struct stepped_run *one = *(const struct stepped_run *const *)a;
    const struct stepped_run *other = *(const struct stepped_run *const *)b;
    if (one->row->version_id != other->row->version_id)
        return one->row->version_id < other->row->version_id ? -1 : 1;
    int nodes = strcmp(one->node->id, other->node->id);
    return nodes != 0 ? nodes : (one->row->id > other->row->id) - (one->row->id < other->row->id);
}

static int compare_carriers(const void *a, const void *b)
{
    int64_t one = ((const struct mail_group *)a)->carrier_id;
    int64_t other = ((const struct mail_group *)b)->carrier_id;
    return (one > other) - (one < other);
}

static struct stepped_run **mailing_runs(struct step_batch *batch, size_t *ret_count)
{
    struct stepped_run **runs = arena_array(batch->work.arena, batch->count, sizeof(*runs));
    *ret_count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].state == RUN_MAILS)
            runs[(*ret_count)++] = &batch->runs[i];
    if (*ret_count > 0)
        qsort(runs, *ret_count, sizeof(struct stepped_run *), compare_nodes);
    return runs;
}

static bool is_same_node(const struct stepped_run *one, const struct stepped_run *other)
{
    return one->row->version_id == other->row->version_id && one->node == other->node;
}

static struct mail_group *make_groups(struct step_batch *batch, struct stepped_run **runs, size_t run_count, size_t *ret_count)
{
    struct mail_group *groups = arena_array(batch->work.arena, run_count, sizeof(*groups));
    *ret_count = 0;
    for (size_t i = 0; i < run_count; i++) {
        if (i == 0 || !is_same_node(runs[i - 1], runs[i]))
            groups[(*ret_count)++].runs = &runs[i];
        groups[*ret_count - 1].count++;
    }
    return groups;
}

/* ---- Carriers ---- */

static struct carrier_design design_of(const struct stepped_run *run)
{
    const struct send_email_config *config = run->node->config;
    return (struct carrier_design){
        .automation_id = run->row->automation_id,
        .version_id = run->row->version_id,
        .node_id = run->node->id,
        .email_id = config->email_id,
        .email_version_id = config->email_version_id,
        .domain_id = config->domain_id,
        .subject = config->subject != NULL ? config->subject : "",
        .preview_text = config->preview_text,
        .sender_name = config->from_name,
        .from_address = config->from_address,
        .reply_to = config->reply_to,
    };
}

/* An error that a caller can mend: the design was deleted, the domain is not verified. */
static bool is_reason(const struct error *err)
{
    int status = error_info(err->code)->http_status;
    return status >= 400 && status < 500 && err->code != ERR_PAYLOAD_TOO_LARGE && err->sqlstate[0] == '\0';
}

/* A node whose mail is impossible fails its runs only. */
static bool find_carrier(struct step_batch *batch, struct mail_group *group, struct error *err)
{
    struct carrier_design design = design_of(group->runs[0]);
    struct error why = { .code = ERR_NONE };
    if (carrier_ensure(&batch->work, &design, &group->carrier_id, &why))
        return true;
    if (!is_reason(&why)) {
        *err = why;
        return false;
    }
    const char *reason = arena_dup(batch->work.arena, why.message);
    for (size_t i = 0; i < group->count; i++)
        stepped_run_fail(batch, group->runs[i], reason);
    group->count = 0;
    return true;
}

/* ---- Messages ---- */

static struct carrier_message message_of(const struct stepped_run *run)
{
    return (struct carrier_message){
        .run_id = run->row->id,
        .visit = run->visit,
        .contact_id = run->row->contact_id.value,
        .email = run->row->email,
        .email_key = run->row->email_key,
        .audience_run_id = run->row->audience_run_id.value,
        .instance_id = run->row->trigger_instance_id.value,
        .payload_id = run->row->payload_id.value,
    };
}

static void add_launch(struct step_batch *batch, struct int_list *launches, const struct stepped_run *run)
{
    if (!run->row->audience_run_id.set)
        return;
    int64_t *items = arena_array(batch->work.arena, launches->count + 1, sizeof(*items));
    for (size_t i = 0; i < launches->count; i++) {
        if (launches->items[i] == run->row->audience_run_id.value)
            return;
        items[i] = launches->items[i];
    }
    items[launches->count] = run->row->audience_run_id.value;
    *launches = (struct int_list){ items, launches->count + 1 };
}

static void note_sent(struct step_batch *batch, struct stepped_run *run, int64_t message_id)
{
    if (run->row->is_short)
        add_launch(batch, &batch->resumed_launches, run);
    stepped_run_mailed(batch, run, message_id);
}

static void refuse(struct step_batch *batch, struct stepped_run **runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_launch(batch, &batch->refused_launches, runs[i]);
        stepped_run_put_off(batch, runs[i], batch->work.now_us + plan_wait_us, no_room);
    }
}

static bool append_all(struct step_batch *batch, int64_t carrier_id, struct stepped_run **runs, size_t count, bool *ret_has_room,
                       struct error *err)
{
    struct carrier_message *messages = arena_array(batch->work.arena, count, sizeof(*messages));
    struct int_list ids;
    for (size_t i = 0; i < count; i++)
        messages[i] = message_of(runs[i]);
    if (!carrier_append(&batch->work, carrier_id, runs[0]->node->id, runs[0]->row->automation_id, messages, count, ret_has_room,
                        &ids, err))
        return false;
    for (size_t i = 0; *ret_has_room && i < count; i++)
        note_sent(batch, runs[i], ids.items[i]);
    return true;
}

/* Where not all have room, the half of the runs that waits longest is tried, and so on. */
static bool append_group(struct step_batch *batch, const struct mail_group *group, struct error *err)
{
    size_t done = 0;
    size_t size = group->count;
    while (done < group->count && size > 0) {
        bool has_room;
        size_t count = size < group->count - done ? size : group->count - done;
        if (!append_all(batch, group->carrier_id, group->runs + done, count, &has_room, err))
            return false;
        if (has_room)
            done += count;
        else
            size /= 2;
    }
    refuse(batch, group->runs + done, group->count - done);
    return true;
}

/* Counts the messages of launches that failed because their node has no carrier. */
static bool count_failed(const struct step_batch *batch, struct stepped_run **runs, size_t run_count, struct error *err)
{
    int64_t *launches = arena_array(batch->work.arena, run_count, sizeof(*launches));
    const char **nodes = arena_array(batch->work.arena, run_count, sizeof(*nodes));
    size_t count = 0;
    for (size_t i = 0; i < run_count; i++) {
        if (runs[i]->state != RUN_FAILED || !runs[i]->row->audience_run_id.set)
            continue;
        nodes[count] = runs[i]->node->id;
        launches[count++] = runs[i]->row->audience_run_id.value;
    }
    struct step_count_failed_messages_params params = { .brand_id = batch->work.brand_id,
                                                        .audience_run_ids = { launches, count },
                                                        .node_ids = { nodes, count } };
    return count == 0 || sql_step_count_failed_messages(batch->work.conn, batch->work.arena, &params, NULL, err);
}

bool step_mail_append(struct step_batch *batch, struct error *err)
{
    size_t run_count;
    size_t group_count;
    struct stepped_run **runs = mailing_runs(batch, &run_count);
    struct mail_group *groups = make_groups(batch, runs, run_count, &group_count);
    if (run_count == 0)
        return true;
    batch->has_appended = true;
    for (size_t i = 0; i < group_count; i++)
        if (!find_carrier(batch, &groups[i], err))
            return false;
    if (!count_failed(batch, runs, run_count, err))
        return false;
    qsort(groups, group_count, sizeof(*groups), compare_carriers);
    for (size_t i = 0; i < group_count; i++)
        if (groups[i].count > 0 && !append_group(batch, &groups[i], err))
            return false;
    return true;
}
