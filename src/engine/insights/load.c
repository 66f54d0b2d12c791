#include "engine/insights/load.h"

#include "base/clock.h"
#include "engine/insights/load_automations.h"
#include "engine/insights/load_cells.h"
#include "engine/ledger/plans.h"
#include "sql/insight_data.h"

#include <stdlib.h>
#include <string.h>

enum { WEEK_DAYS = 7, FREQUENCY_WEEKS = 4, DORMANT_DAYS = 180, ALLOWANCE_DAYS = 14, SENDING_DOMAINS_MAX = 20 };

static const int64_t day_us = INT64_C(86400) * US_PER_S;

/* ---- Sends ---- */

static bool load_sends(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_sends_params params = {
        .brand_id = work->brand_id,
        .from_time = work->now_us - INSIGHT_DAYS * day_us,
        .now = work->now_us,
        .limit = INSIGHT_SENDS_MAX,
    };
    struct insight_sends_row *rows;
    if (!sql_insight_sends(work->conn, work->arena, &params, &rows, &data->send_count, err))
        return false;
    data->sends = arena_array(work->arena, data->send_count + 1, sizeof(*data->sends));
    for (size_t i = 0; i < data->send_count; i++) {
        const struct insight_sends_row *row = &rows[data->send_count - 1 - i];
        data->sends[i] = (struct insight_send){ .id = row->id, .started_us = row->started_at, .slot = (size_t)row->slot };
    }
    return true;
}

/* The ids of the sends that began after a time, and their number. */
static struct int_list ids_since(const struct work *work, const struct insight_data *data, int64_t since_us)
{
    int64_t *ids = arena_array(work->arena, data->send_count + 1, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < data->send_count; i++) {
        if (data->sends[i].started_us >= since_us)
            ids[count++] = data->sends[i].id;
    }
    return (struct int_list){ ids, count };
}

/* ---- Blocked and delayed messages ---- */

/* The first cell of each send; the cells of a send are together. */
static size_t *first_cells(struct arena *arena, const struct insight_data *data)
{
    size_t *first = arena_array(arena, data->send_count + 1, sizeof(*first));
    for (size_t i = data->cell_count; i > 0; i--)
        first[data->cells[i - 1].send] = i - 1;
    return first;
}

/* Adds a count to the cell of its domain, or to that of all other domains. */
static void add_refusal(struct insight_data *data, const struct insight_refusals_row *row, size_t send, size_t first)
{
    struct insight_cell *place = NULL;
    for (size_t i = first; i < data->cell_count && data->cells[i].send == send; i++) {
        struct insight_cell *cell = &data->cells[i];
        const char *domain = data->domains[cell->domain];
        if (strcmp(domain, row->domain) == 0 || (place == NULL && domain[0] == '\0'))
            place = cell;
    }
    if (place == NULL)
        return;
    place->blocked += (double)row->blocked;
    place->delayed += (double)row->delayed;
}

static bool load_refusals(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_refusals_params params = {
        .brand_id = work->brand_id,
        .send_ids = ids_since(work, data, work->now_us - INSIGHT_PAST_DAYS * day_us),
    };
    struct insight_refusals_row *rows;
    size_t count;
    if (!sql_insight_refusals(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    const struct send_place *places = send_places(work->arena, data);
    const size_t *first = first_cells(work->arena, data);
    for (size_t i = 0; i < count; i++) {
        const struct send_place *place = send_place_find(places, data, rows[i].send_id);
        if (place != NULL)
            add_refusal(data, &rows[i], place->place, first[place->place]);
    }
    return true;
}

/* ---- Contacts ---- */

static bool load_frequencies(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_frequencies_params params = {
        .brand_id = work->brand_id,
        .since = work->now_us - FREQUENCY_WEEKS * WEEK_DAYS * day_us,
        .weeks = FREQUENCY_WEEKS,
    };
    struct insight_frequencies_row *rows;
    size_t count;
    if (!sql_insight_frequencies(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        data->frequency[rows[i].bin] = (struct insight_frequency){
            .contacts = (double)rows[i].contacts,
            .mails = rows[i].mails,
            .clicks = rows[i].clicks,
            .mails_squared = rows[i].mails_squared,
            .clicks_squared = rows[i].clicks_squared,
            .clicks_by_mails = rows[i].clicks_by_mails,
        };
    return true;
}

static bool load_dormant(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_dormant_params params = { .brand_id = work->brand_id, .since = work->now_us - DORMANT_DAYS * day_us };
    struct insight_dormant_row *row;
    if (!sql_insight_dormant(work->conn, work->arena, &params, &row, err))
        return false;
    data->contacts = (double)row->contacts;
    data->dormant = (double)row->dormant;
    return true;
}

/* ---- Domains, the allowance ---- */

static bool load_domains(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_domains_params params = { .brand_id = work->brand_id, .limit = SENDING_DOMAINS_MAX };
    struct insight_domains_row *rows;
    if (!sql_insight_domains(work->conn, work->arena, &params, &rows, &data->sending_domain_count, err))
        return false;
    struct insight_domain *domains = arena_array(work->arena, data->sending_domain_count + 1, sizeof(*domains));
    for (size_t i = 0; i < data->sending_domain_count; i++)
        domains[i] = (struct insight_domain){ .id = rows[i].id, .name = rows[i].name, .is_lost = rows[i].is_lost };
    data->sending_domains = domains;
    return true;
}

static bool load_mail_days(const struct work *work, struct insight_allowance *allowance, struct error *err)
{
    struct insight_mail_days_params params = {
        .organization_id = work->organization_id,
        .since = work->now_us - ALLOWANCE_DAYS * day_us,
        .now = work->now_us,
    };
    struct insight_mail_days_row *rows;
    if (!sql_insight_mail_days(work->conn, work->arena, &params, &rows, &allowance->day_count, err))
        return false;
    double *day = arena_array(work->arena, allowance->day_count + 1, sizeof(*day));
    double *total = arena_array(work->arena, allowance->day_count + 1, sizeof(*total));
    for (size_t i = 0; i < allowance->day_count; i++) {
        day[i] = rows[i].day;
        total[i] = rows[i].total;
    }
    allowance->day = day;
    allowance->total = total;
    return true;
}

static bool load_allowance(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_plan_params params = { .organization_id = work->organization_id, .now = work->now_us };
    struct insight_plan_row *row;
    if (!sql_insight_plan(work->conn, work->arena, &params, &row, err))
        return false;
    int64_t limit = plan_find(row->plan)->email_sends;
    if (limit <= 0)
        return true;
    data->allowance.limit = (double)limit;
    data->allowance.used = (double)row->used;
    data->allowance.days_left = row->days_left;
    return load_mail_days(work, &data->allowance, err);
}

bool insight_data_load(const struct work *work, struct insight_data *ret_data, struct error *err)
{
    *ret_data = (struct insight_data){ .now_us = work->now_us };
    return load_sends(work, ret_data, err) && insight_cells_load(work, ret_data, err) && load_refusals(work, ret_data, err) &&
           load_frequencies(work, ret_data, err) && load_dormant(work, ret_data, err) && load_domains(work, ret_data, err) &&
           load_allowance(work, ret_data, err) && insight_automations_load(work, ret_data, err);
}
