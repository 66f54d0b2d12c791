#include "engine/simulations/test_run.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/payloads/payloads.h"
#include "engine/sends/test_message.h"
#include "engine/simulations/draft.h"
#include "engine/triggers/triggers.h"
#include "mail/address.h"
#include "sql/simulations.h"

#include <string.h>

enum { SERVER_FAULT = 500 };

/* ---- Whom the run is for ---- */

struct test_person {
    const char *email; /* "": nobody */
    const char *key;
    struct opt_int contact_id;
    const json_t *contact; /* NULL: none */
};

static bool choose_address(const struct work *work, const struct test_run_request *request, struct test_person *person,
                           struct error *err)
{
    struct address address;
    struct error ignored = { 0 };
    const char *in_payload = json_get_text(request->payload, "email");
    *person = (struct test_person){ .email = "", .key = "" };
    if (request->recipient != NULL) {
        if (!address_parse(work->arena, request->recipient, "testRecipient", &address, err))
            return false;
        person->email = address.mailbox;
        person->key = address.key;
    }
    if (in_payload != NULL && address_parse(work->arena, text_trim(work->arena, in_payload), "payload", &address, &ignored)) {
        person->email = address.mailbox;
        person->key = address.key;
    }
    return true;
}

static bool find_person(const struct work *work, const struct test_run_request *request, struct test_person *person,
                        struct error *err)
{
    struct simulation_contact_row *row;
    if (!choose_address(work, request, person, err))
        return false;
    struct simulation_contact_params params = { .brand_id = work->brand_id, .email_key = person->key };
    if (!sql_simulation_contact(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    person->contact_id = (struct opt_int){ true, row->id };
    return draft_read_contact(work->arena, row->contact, &person->contact, err);
}

/* ---- Messages ---- */

static bool check_payload(const struct work *work, const json_t *payload, struct error *err)
{
    return payload == NULL || strlen(json_compact(work->arena, payload)) <= PAYLOAD_MAX_BYTES ||
           fail(err, ERR_INVALID_REQUEST, "payload", "A payload has at most %d bytes.", PAYLOAD_MAX_BYTES);
}

/* The fallbacks that the contract of the trigger has for the payload. A trigger that was deleted has none. */
static bool find_fallbacks(const struct work *work, const struct draft *draft, const json_t *payload, const json_t **ret_fallbacks,
                           struct error *err)
{
    const struct trigger_config *config = draft->graph->nodes[draft->graph->trigger].config;
    struct error why = { .code = ERR_NONE };
    struct trigger_contract found;
    struct contract_check check;
    *ret_fallbacks = json_in_arena(work->arena, json_object());
    if (payload == NULL || config->trigger_event_id <= 0)
        return true;
    if (!trigger_contract(work, config->trigger_event_id, &found, &why)) {
        if (why.code == ERR_TRIGGER_EVENT_NOT_FOUND)
            return true;
        *err = why;
        return false;
    }
    contract_check(work, &found.contract, payload, &check);
    *ret_fallbacks = check.fallbacks;
    return true;
}

/* Each message has a payload of its own, which its job erases. */
static bool store_payload(const struct work *work, const struct test_run_request *request, const json_t *fallbacks,
                          struct test_send_payload *message, struct error *err)
{
    return request->payload == NULL || payload_store(work, request->payload, fallbacks, &message->event_payload_id, err);
}

/* Makes one message as a test of a send would be, with the version of the node. */
static bool make_message(const struct work *work, const struct test_run_request *request, const struct send_email_config *config,
                         const json_t *fallbacks, struct test_send_payload *ret_message, struct error *err)
{
    const struct send_request send = {
        .email_id = config->email_id,
        .domain_id = config->domain_id,
        .to = { &request->recipient, 1 },
        .subject = config->subject != NULL ? config->subject : "",
        .preview_text = config->preview_text,
        .from_email = config->from_address,
        .from_name = config->from_name,
        .reply_to = config->reply_to,
    };
    if (!send_check_test(work, &send, ret_message, err))
        return false;
    ret_message->email_version_id = config->email_version_id;
    return store_payload(work, request, fallbacks, ret_message, err);
}

/* Cuts the simulation behind a step that failed. */
static void fail_at(struct simulation *simulation, size_t index, const char *reason)
{
    struct simulated_visit *visit = &simulation->visits[index];
    visit->status = "failed";
    visit->error = reason;
    simulation->count = index + 1;
    simulation->error = reason;
    simulation->ended_us = visit->left_us;
}

/* False only for an error of the service; a message that is refused fails its step. */
static bool add_message(const struct work *work, const struct test_run_request *request, const json_t *fallbacks,
                        struct simulation *simulation, size_t index, struct test_run *run, struct error *err)
{
    struct simulated_visit *visit = &simulation->visits[index];
    struct error why = { 0 };
    if (run->message_count == TEST_RUN_MESSAGES_MAX) {
        visit->status = "skipped";
        visit->error = "A test sends its first 10 messages only.";
        return true;
    }
    if (make_message(work, request, visit->node->config, fallbacks, &run->messages[run->message_count], &why)) {
        run->message_count++;
        return true;
    }
    if (error_info(why.code)->http_status >= SERVER_FAULT) {
        *err = why;
        return false;
    }
    fail_at(simulation, index, arena_dup(work->arena, why.message));
    return true;
}

static bool add_messages(const struct work *work, const struct test_run_request *request, const json_t *fallbacks,
                         struct simulation *simulation, struct test_run *run, struct error *err)
{
    for (size_t i = 0; request->recipient != NULL && i < simulation->count; i++)
        if (simulation->visits[i].is_mail && !add_message(work, request, fallbacks, simulation, i, run, err))
            return false;
    return true;
}

/* ---- The rows ---- */

static void fill_steps(const struct work *work, const struct simulation *simulation, struct simulation_insert_run_params *params)
{
    enum { TEXTS = 6 };
    size_t count = simulation->count;
    const char **texts[TEXTS];
    int64_t *entered = arena_array(work->arena, count, sizeof(*entered));
    int64_t *left = arena_array(work->arena, count, sizeof(*left));
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = arena_array(work->arena, count, sizeof(const char *));
    for (size_t i = 0; i < count; i++) {
        const struct simulated_visit *visit = &simulation->visits[i];
        texts[0][i] = visit->node->id;
        texts[1][i] = node_types[visit->node->type].name;
        texts[2][i] = visit->status;
        texts[3][i] = visit->branch;
        texts[4][i] = visit->facts_json;
        texts[5][i] = visit->error;
        entered[i] = visit->entered_us;
        left[i] = visit->left_us;
    }
    params->node_ids = (struct text_list){ texts[0], count };
    params->node_types = (struct text_list){ texts[1], count };
    params->statuses = (struct text_list){ texts[2], count };
    params->branches = (struct text_list){ texts[3], count };
    params->facts = (struct text_list){ texts[4], count };
    params->errors = (struct text_list){ texts[5], count };
    params->entered_ats = (struct int_list){ entered, count };
    params->left_ats = (struct int_list){ left, count };
}

static bool insert_run(const struct work *work, const struct test_run_request *request, const struct draft *draft,
                       const struct test_person *person, const struct simulation *simulation, int64_t *ret_id, struct error *err)
{
    struct simulation_insert_run_row *row;
    struct simulation_insert_run_params params = {
        .brand_id = work->brand_id,
        .automation_id = request->automation_id,
        .version_id = draft->version_id,
        .contact_id = person->contact_id,
        .email = person->email,
        .email_key = person->key,
        .status = simulation->error != NULL ? "failed" : "completed",
        .node_id = simulation->visits[simulation->count - 1].node->id,
        .error = simulation->error,
        .started_at = work->now_us,
        .completed_at = simulation->ended_us,
    };
    fill_steps(work, simulation, &params);
    if (!sql_simulation_insert_run(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return true;
}

bool test_run_store(const struct work *work, const struct test_run_request *request, struct test_run *ret_run, struct error *err)
{
    struct draft draft;
    struct test_person person;
    struct simulation simulation;
    const json_t *fallbacks;
    *ret_run = (struct test_run){ 0 };
    if (!check_payload(work, request->payload, err) || !draft_load(work, request->automation_id, &draft, err) ||
        !scenario_check(draft.graph, &request->scenario, err) || !find_person(work, request, &person, err) ||
        !find_fallbacks(work, &draft, request->payload, &fallbacks, err))
        return false;
    const struct simulated_run run = {
        .graph = draft.graph,
        .scenario = &request->scenario,
        .contact = person.contact,
        .payload = request->payload,
        .seed = request->automation_id,
        .contact_id = person.contact_id.value,
        .started_us = work->now_us,
        .time_zone = draft.time_zone,
        .max_compared = SIMULATION_COMPARED_MAX,
    };
    simulate(work->arena, &run, &simulation);
    return add_messages(work, request, fallbacks, &simulation, ret_run, err) &&
           insert_run(work, request, &draft, &person, &simulation, &ret_run->id, err);
}
