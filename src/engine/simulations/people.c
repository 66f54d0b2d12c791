#include "engine/simulations/people.h"

#include "engine/contacts/search.h"
#include "engine/simulations/draft.h"

enum {
    FIRES_READ_MAX = 1000, /* one contact may fire often */
    FIRES_DAYS = 30,
};

static const int64_t day_us = INT64_C(86400) * 1000000;
static const struct scenario nothing_happens = { 0 };

static bool load(const struct work *work, struct int_list ids, struct people *ret_people, struct error *err)
{
    struct simulation_contacts_params params = { .brand_id = work->brand_id, .ids = ids };
    return sql_simulation_contacts(work->conn, work->arena, &params, &ret_people->rows, &ret_people->count, err);
}

bool people_of_audience(const struct work *work, int64_t audience_id, size_t limit, struct people *ret_people, struct error *err)
{
    struct contact_page page;
    struct contact_search search = { .audience_id = audience_id, .order_by = CONTACT_BY_EMAIL, .limit = (int64_t)limit };
    if (!contact_find(work, &search, &page, err))
        return false;
    int64_t *ids = arena_array(work->arena, page.count, sizeof(*ids));
    for (size_t i = 0; i < page.count; i++)
        ids[i] = page.contacts[i].id;
    return load(work, (struct int_list){ ids, page.count }, ret_people, err);
}

bool people_of_trigger(const struct work *work, int64_t trigger_id, size_t limit, struct people *ret_people, struct error *err)
{
    struct simulation_fired_params params = {
        .brand_id = work->brand_id,
        .trigger_id = trigger_id,
        .since = work->now_us - FIRES_DAYS * day_us,
        .fires = FIRES_READ_MAX,
        .limit = (int64_t)limit,
    };
    struct simulation_fired_row *fired;
    size_t count;
    if (!sql_simulation_fired(work->conn, work->arena, &params, &fired, &count, err))
        return false;
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = fired[i].contact_id;
    return load(work, (struct int_list){ ids, count }, ret_people, err);
}

bool people_walk(const struct work *work, struct arena *arena, const struct walked_graph *walked,
                 const struct simulation_contact_row *row, struct simulation *ret_simulation, struct error *err)
{
    struct simulated_run run = {
        .graph = walked->graph,
        .scenario = &nothing_happens,
        .seed = walked->seed,
        .contact_id = row->id,
        .started_us = work->now_us,
        .time_zone = walked->time_zone,
        .max_compared = walked->max_compared,
    };
    if (!draft_read_contact(arena, row->contact, &run.contact, err))
        return false;
    simulate(arena, &run, ret_simulation);
    return true;
}
