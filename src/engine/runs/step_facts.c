#include "base/json_read.h"
#include "db/advisory_locks.h"
#include "engine/payloads/payloads.h"
#include "engine/runs/stepped_run.h"

#include <string.h>

enum { CONTACT_MAX_BYTES = 4 * 1024 * 1024 };
static const int64_t payload_wait_us = INT64_C(15) * 60 * 1000 * 1000;

/* ---- What is asked ---- */

/* A list of numbers or texts with room for all runs. */
struct numbers {
    int64_t *items;
    size_t count;
};

static struct numbers make_numbers(const struct step_batch *batch)
{
    return (struct numbers){ arena_array(batch->work.arena, batch->count, sizeof(int64_t)), 0 };
}

static void add_number(struct numbers *list, int64_t number)
{
    list->items[list->count++] = number;
}

static struct int_list list_of(const struct numbers *list)
{
    return (struct int_list){ list->items, list->count };
}

/* The runs that ask for events of a trigger, as the columns of step_events. */
struct event_question {
    struct numbers runs;
    struct numbers triggers;
    struct numbers started;
    struct numbers visits;
    const char **nodes;
    const char **keys;
};

static struct event_question make_event_question(const struct step_batch *batch)
{
    return (struct event_question){
        .runs = make_numbers(batch),
        .triggers = make_numbers(batch),
        .started = make_numbers(batch),
        .visits = make_numbers(batch),
        .nodes = arena_array(batch->work.arena, batch->count, sizeof(const char *)),
        .keys = arena_array(batch->work.arena, batch->count, sizeof(const char *)),
    };
}

static void ask_events(struct event_question *question, const struct stepped_run *run, int64_t trigger_id)
{
    question->keys[question->runs.count] = run->row->email_key;
    question->nodes[question->runs.count] = run->node->id;
    add_number(&question->runs, run->row->id);
    add_number(&question->triggers, trigger_id);
    add_number(&question->started, run->row->started_at);
    add_number(&question->visits, run->visit);
}

/* ---- Statements ---- */

/* The place of a statement that no run needs. It is left out: to plan a read of a partitioned table costs more than the read. */
static const size_t left_out = SIZE_MAX;

/* A statement that was left out has no rows. */
static const struct db_rows *rows_at(const struct db_batch *statements, size_t place)
{
    static const struct db_rows none = { .count = 0 };
    return place != left_out ? db_batch_rows(statements, place) : &none;
}

/* The statements about events, and their places in the batch of statements. */
struct event_places {
    size_t locked;
    size_t events;
};

static struct event_places add_event_statements(const struct step_batch *batch, struct db_batch *statements,
                                                const struct event_question *question)
{
    size_t count = question->runs.count;
    struct step_lock_addresses_params lock = { .lock = ADVISORY_LOCK_RUN_EVENTS,
                                               .brand_id = batch->work.brand_id,
                                               .keys = { question->keys, count } };
    struct step_events_params events = {
        .brand_id = batch->work.brand_id,
        .run_ids = list_of(&question->runs),
        .trigger_ids = list_of(&question->triggers),
        .keys = { question->keys, count },
        .started_ats = list_of(&question->started),
        .visits = list_of(&question->visits),
        .node_ids = { question->nodes, count },
    };
    struct event_places places = { left_out, left_out };
    if (count == 0)
        return places;
    places.locked = db_batch_add(statements, &step_lock_addresses_statement, &lock);
    places.events = db_batch_add(statements, &step_events_statement, &events);
    return places;
}

/* ---- Answers ---- */

static bool is_locked(const struct db_rows *locked, const char *email_key)
{
    const struct step_lock_addresses_row *rows = locked->rows;
    for (size_t i = 0; i < locked->count; i++)
        if (strcmp(rows[i].email_key, email_key) == 0)
            return true;
    return false;
}

/* False: another transaction records an event of the address. */
static bool take_events(struct step_batch *batch, struct stepped_run *run, int64_t trigger_id, const struct db_rows *locked,
                        const struct db_rows *events)
{
    const struct step_events_row *rows = events->rows;
    struct step_event *event = arena_alloc(batch->work.arena, sizeof(*event));
    if (!is_locked(locked, run->row->email_key))
        return false;
    run->knows_trigger = trigger_id;
    run->facts.events = event;
    run->facts.event_count = 0;
    for (size_t i = 0; i < events->count; i++) {
        if (rows[i].run_id != run->row->id)
            continue;
        *event = (struct step_event){ .trigger_id = rows[i].trigger_id, .at_us = rows[i].at };
        run->facts.event_count = 1;
    }
    return true;
}

bool step_facts_load_events(struct step_batch *batch, struct error *err)
{
    struct event_question question = make_event_question(batch);
    for (size_t i = 0; i < batch->count; i++)
        if (stepped_run_asks_events(&batch->runs[i]))
            ask_events(&question, &batch->runs[i], batch->runs[i].waits_trigger);
    if (question.runs.count == 0)
        return true;
    struct db_batch *statements = db_batch_new(batch->work.conn, batch->work.arena);
    struct event_places places = add_event_statements(batch, statements, &question);
    if (!db_batch_run(statements, err))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        struct stepped_run *run = &batch->runs[i];
        if (!stepped_run_asks_events(run))
            continue;
        if (take_events(batch, run, run->waits_trigger, rows_at(statements, places.locked), rows_at(statements, places.events)))
            run->state = RUN_GOES;
        else
            stepped_run_leave(batch, run);
    }
    return true;
}

static const struct step_needs *needs_of(const struct stepped_run *run)
{
    return &run->version->needs[run->node - run->version->graph->nodes];
}

/* A contact that cannot be read is a failure of the run alone. */
static void take_contact(struct step_batch *batch, struct stepped_run *run, const struct db_rows *contacts)
{
    const struct step_contacts_row *rows = contacts->rows;
    const struct json_bounds bounds = { .max_bytes = CONTACT_MAX_BYTES, .from_jsonb = true };
    struct error ignored = { .code = ERR_NONE };
    run->known.contact = true;
    for (size_t i = 0; i < contacts->count; i++)
        if (rows[i].id == run->row->contact_id.value &&
            !json_read(batch->work.arena, rows[i].contact, strlen(rows[i].contact), bounds, &run->facts.contact, &ignored))
            stepped_run_fail(batch, run, "The contact has more data than a run can read.");
}

/* Runs of one fire share the payload. A run waits while the key of its payload is missing. */
static void take_payload(struct step_batch *batch, struct stepped_run *run, const struct db_rows *payloads)
{
    const struct step_payloads_row *rows = payloads->rows;
    struct error why = { .code = ERR_NONE };
    run->known.payload = true;
    for (const struct stepped_run *other = batch->runs; other < run; other++) {
        if (other->row->payload_id.value == run->row->payload_id.value && other->facts.payload != NULL) {
            run->facts.payload = other->facts.payload;
            return;
        }
    }
    for (size_t i = 0; i < payloads->count; i++) {
        if (rows[i].id == run->row->payload_id.value &&
            !payload_open(&batch->work, rows[i].id, rows[i].sealed, false, &run->facts.payload, &why)) {
            stepped_run_put_off(batch, run, batch->work.now_us + payload_wait_us, arena_dup(batch->work.arena, why.message));
            return;
        }
    }
}

static bool is_taken(const struct db_rows *taken, int64_t message_id)
{
    const struct step_lock_messages_row *rows = taken->rows;
    for (size_t i = 0; i < taken->count; i++)
        if (rows[i].id == message_id)
            return true;
    return false;
}

/* The messages are in the order of their runs. */
static size_t first_message_of(const struct db_rows *messages, int64_t run_id)
{
    const struct step_messages_row *rows = messages->rows;
    size_t from = 0;
    size_t to = messages->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (rows[middle].run_id < run_id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct step_message message_of(const struct step_messages_row *row)
{
    return (struct step_message){
        .node_id = row->node_id,
        .id = row->id,
        .handed_over_us = row->handed_over_at,
        .is_settled = row->is_settled,
        .opened_us = row->opened_at.set ? row->opened_at : row->clicked_at,
        .clicked_us = row->clicked_at,
    };
}

/* False: another transaction records what happened to a message of the run. */
static bool take_messages(struct step_batch *batch, struct stepped_run *run, const struct db_rows *messages,
                          const struct db_rows *taken)
{
    const struct step_messages_row *rows = messages->rows;
    size_t first = first_message_of(messages, run->row->id);
    size_t end = first;
    for (; end < messages->count && rows[end].run_id == run->row->id; end++)
        if (is_taken(taken, rows[end].id))
            return false;
    run->messages = arena_array(batch->work.arena, end - first + 1, sizeof(*run->messages));
    for (size_t i = first; i < end; i++)
        run->messages[run->facts.message_count++] = message_of(&rows[i]);
    run->facts.messages = run->messages;
    run->known.messages = true;
    return true;
}

/* ---- All together ---- */

struct questions {
    struct numbers contacts;
    struct numbers payloads;
    struct numbers messages;
    struct event_question events;
};

static struct questions questions_of(const struct step_batch *batch)
{
    struct questions all = {
        .contacts = make_numbers(batch),
        .payloads = make_numbers(batch),
        .messages = make_numbers(batch),
        .events = make_event_question(batch),
    };
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        if (run->state != RUN_GOES)
            continue;
        const struct step_needs *needs = needs_of(run);
        if (needs->contact && run->row->contact_id.set)
            add_number(&all.contacts, run->row->contact_id.value);
        if (needs->payload && run->row->payload_id.set)
            add_number(&all.payloads, run->row->payload_id.value);
        if (needs->messages)
            add_number(&all.messages, run->row->id);
        if (run->row->waits_trigger.set)
            ask_events(&all.events, run, run->row->waits_trigger.value);
    }
    return all;
}

struct answers {
    struct event_places events;
    size_t taken, contacts, payloads, messages;
};

/* Adds a statement about `count` rows, unless there are none. */
static size_t add_if(struct db_batch *statements, size_t count, const struct db_statement *statement, const void *params)
{
    return count > 0 ? db_batch_add(statements, statement, params) : left_out;
}

/* The locks come first: what is read behind them stays true until the commit. */
static struct answers add_statements(const struct step_batch *batch, struct db_batch *statements, const struct questions *all)
{
    int64_t brand_id = batch->work.brand_id;
    struct step_lock_messages_params lock = { .lock = ADVISORY_LOCK_RUN_MESSAGES,
                                              .brand_id = brand_id,
                                              .run_ids = list_of(&all->messages),
                                              .limit = STEP_LOCKED_MESSAGES_MAX };
    struct step_messages_params messages = { .brand_id = brand_id, .run_ids = list_of(&all->messages) };
    struct step_contacts_params contacts = { .brand_id = brand_id, .ids = list_of(&all->contacts) };
    struct step_payloads_params payloads = { .brand_id = brand_id, .ids = list_of(&all->payloads) };
    struct answers places = { .taken = add_if(statements, all->messages.count, &step_lock_messages_statement, &lock) };
    places.events = add_event_statements(batch, statements, &all->events);
    places.messages = add_if(statements, all->messages.count, &step_messages_statement, &messages);
    places.contacts = add_if(statements, all->contacts.count, &step_contacts_statement, &contacts);
    places.payloads = add_if(statements, all->payloads.count, &step_payloads_statement, &payloads);
    return places;
}

static void take_answers(struct step_batch *batch, struct stepped_run *run, const struct db_batch *statements,
                         const struct answers *places)
{
    const struct step_needs *needs = needs_of(run);
    run->messages = arena_array(batch->work.arena, 1, sizeof(*run->messages));
    if (run->row->waits_trigger.set &&
        !take_events(batch, run, run->row->waits_trigger.value, rows_at(statements, places->events.locked),
                     rows_at(statements, places->events.events))) {
        run->state = RUN_SKIPPED;
        return;
    }
    if (needs->messages && !take_messages(batch, run, rows_at(statements, places->messages), rows_at(statements, places->taken))) {
        run->state = RUN_SKIPPED;
        return;
    }
    if (needs->contact)
        take_contact(batch, run, rows_at(statements, places->contacts));
    if (needs->payload && run->state == RUN_GOES)
        take_payload(batch, run, rows_at(statements, places->payloads));
}

bool step_facts_load(struct step_batch *batch, struct error *err)
{
    struct questions all = questions_of(batch);
    struct db_batch *statements = db_batch_new(batch->work.conn, batch->work.arena);
    struct answers places = add_statements(batch, statements, &all);
    if (!db_batch_run(statements, err))
        return false;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].state == RUN_GOES)
            take_answers(batch, &batch->runs[i], statements, &places);
    return true;
}
