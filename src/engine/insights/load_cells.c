#include "engine/insights/load_cells.h"

#include "base/clock.h"
#include "sql/insight_data.h"

#include <stdlib.h>
#include <string.h>

enum { WEEK_DAYS = 7, PLACES_MAX = INSIGHT_DOMAINS_MAX + 1, SENDS_A_PAGE = 25 };

/* ---- Sends by id ---- */

static int compare_places(const void *a, const void *b)
{
    const struct send_place *x = a;
    const struct send_place *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

struct send_place *send_places(struct arena *arena, const struct insight_data *data)
{
    struct send_place *places = arena_array(arena, data->send_count + 1, sizeof(*places));
    for (size_t i = 0; i < data->send_count; i++)
        places[i] = (struct send_place){ data->sends[i].id, i };
    qsort(places, data->send_count, sizeof(*places), compare_places);
    return places;
}

const struct send_place *send_place_find(const struct send_place *places, const struct insight_data *data, int64_t send_id)
{
    struct send_place key = { .id = send_id };
    return bsearch(&key, places, data->send_count, sizeof(*places), compare_places);
}

/* ---- Adding up ---- */

enum figure_place { SENT, DELIVERED, OPENED, CLICKED, BOUNCED, COMPLAINED, UNSUBSCRIBED, FIGURE_PLACES };

static const char *const figure_types[FIGURE_PLACES] = {
    [SENT] = "sent",
    [DELIVERED] = "delivered",
    [OPENED] = "opened",
    [CLICKED] = "clicked",
    [BOUNCED] = "bounced",
    [COMPLAINED] = "complained",
    [UNSUBSCRIBED] = "unsubscribed",
};

/* The figures of one send and one domain. */
struct sums {
    double all[FIGURE_PLACES];
    double week[FIGURE_PLACES];
    bool is_seen; /* there was a rollup */
};

struct totals {
    const struct send_place *places;
    const char *names[PLACES_MAX]; /* of domains, ascending; the first one is "": all others */
    size_t sizes[PLACES_MAX];
    size_t name_count;
    struct sums *sums; /* by the order of `places`, then of `names` */
};

static size_t figure_of(const char *type)
{
    size_t at = 0;
    while (at < FIGURE_PLACES && strcmp(figure_types[at], type) != 0)
        at++;
    return at;
}

static size_t name_place(const struct totals *totals, const char *name, size_t size)
{
    size_t low = 1;
    size_t high = totals->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t common = totals->sizes[middle] < size ? totals->sizes[middle] : size;
        int order = memcmp(totals->names[middle], name, common);
        if (order == 0 && totals->sizes[middle] == size)
            return middle;
        if (order < 0 || (order == 0 && totals->sizes[middle] < size))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static void add_count(struct sums *sums, size_t figure, bool in_week, int64_t count)
{
    sums->is_seen = true;
    if (figure == FIGURE_PLACES)
        return;
    sums->all[figure] += (double)count;
    if (in_week)
        sums->week[figure] += (double)count;
}

static void add_row(struct totals *totals, const struct insight_data *data, const struct insight_rolled_row *row)
{
    const struct send_place *place = send_place_find(totals->places, data, row->send_id);
    if (place == NULL)
        return;
    struct sums *of_send = &totals->sums[(size_t)(place - totals->places) * PLACES_MAX];
    size_t figure = figure_of(row->type);
    const char *name = row->domains;
    for (size_t i = 0; i < row->counts.count; i++) {
        const char *end = strchrnul(name, '\n');
        add_count(&of_send[name_place(totals, name, (size_t)(end - name))], figure, row->in_week, row->counts.items[i]);
        name = *end == '\0' ? end : end + 1;
    }
}

/* ---- Pages ---- */

/* Sends by their places, from `at` up to `end`. */
struct send_range {
    size_t at, end;
};

static int64_t week_of(const struct work *work)
{
    return work->now_us - WEEK_DAYS * INT64_C(86400) * US_PER_S;
}

static void add_rows(struct totals *totals, const struct insight_data *data, const struct insight_rolled_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_row(totals, data, &rows[i]);
}

/* Adds the rollups of one send behind `last`, page by page. */
static bool add_behind(const struct work *work, const struct insight_data *data, struct totals *totals,
                       const struct insight_rolled_row *last, struct error *err)
{
    struct insight_rolled_behind_params params = {
        .brand_id = work->brand_id,
        .send_id = last->send_id,
        .week = week_of(work),
        .node_id = last->node_id,
        .day = last->day,
        .type = last->type,
    };
    struct db_page page;
    do {
        ARENA_SCOPE arena = arena_new(0);
        struct insight_rolled_row *rows;
        if (!sql_insight_rolled_behind(work->conn, arena, &params, &rows, &page, err))
            return false;
        add_rows(totals, data, rows, page.count);
        if (page.is_cut) {
            params.node_id = arena_dup(work->arena, rows[page.count - 1].node_id);
            params.day = arena_dup(work->arena, rows[page.count - 1].day);
            params.type = arena_dup(work->arena, rows[page.count - 1].type);
        }
    } while (page.is_cut);
    return true;
}

/* Adds the rollups of some sends. When a page does not hold those of several sends, nothing is added and `ret_is_cut` is true. */
static bool add_range(const struct work *work, const struct insight_data *data, struct totals *totals, struct send_range range,
                      bool *ret_is_cut, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct insight_rolled_params params = {
        .brand_id = work->brand_id,
        .from_send = totals->places[range.at].id,
        .to_send = totals->places[range.end - 1].id,
        .week = week_of(work),
    };
    struct insight_rolled_row *rows;
    struct db_page page;
    if (!sql_insight_rolled(work->conn, arena, &params, &rows, &page, err))
        return false;
    *ret_is_cut = page.is_cut && range.end - range.at > 1;
    if (*ret_is_cut)
        return true;
    add_rows(totals, data, rows, page.count);
    return !page.is_cut || add_behind(work, data, totals, &rows[page.count - 1], err);
}

static bool add_ranges(const struct work *work, const struct insight_data *data, struct totals *totals, struct error *err)
{
    size_t size = SENDS_A_PAGE;
    struct send_range range = { .at = 0 };
    while (range.at < data->send_count) {
        bool is_cut;
        range.end = range.at + size < data->send_count ? range.at + size : data->send_count;
        if (!add_range(work, data, totals, range, &is_cut, err))
            return false;
        if (is_cut)
            size = (range.end - range.at) / 2;
        else
            range.at = range.end;
    }
    return true;
}

/* ---- Results ---- */

/* The index of a receiving domain, which is added when it is new; there are few. */
static size_t domain_place(struct insight_data *data, const char *name)
{
    size_t at = 0;
    while (at < data->domain_count && strcmp(data->domains[at], name) != 0)
        at++;
    if (at == data->domain_count)
        data->domains[data->domain_count++] = name;
    return at;
}

static void add_cell(struct insight_data *data, size_t send, const char *domain, const struct sums *sums)
{
    struct insight_send *total = &data->sends[send];
    total->sent += sums->all[SENT];
    total->delivered += sums->all[DELIVERED];
    total->opened += sums->all[OPENED];
    total->clicked += sums->all[CLICKED];
    total->bounced += sums->all[BOUNCED];
    total->complained += sums->all[COMPLAINED];
    total->unsubscribed += sums->all[UNSUBSCRIBED];
    data->cells[data->cell_count++] = (struct insight_cell){
        .send = send,
        .domain = domain_place(data, domain),
        .sent = sums->all[SENT],
        .delivered = sums->all[DELIVERED],
        .opened = sums->all[OPENED],
        .week_delivered = sums->week[DELIVERED],
        .week_complained = sums->week[COMPLAINED],
    };
}

static void take_totals(struct arena *arena, struct insight_data *data, const struct totals *totals)
{
    data->cells = arena_array(arena, data->send_count * PLACES_MAX + 1, sizeof(*data->cells));
    data->domains = arena_array(arena, PLACES_MAX, sizeof(*data->domains));
    for (size_t i = 0; i < data->send_count; i++) {
        for (size_t k = 0; k < totals->name_count; k++) {
            const struct sums *sums = &totals->sums[i * PLACES_MAX + k];
            if (sums->is_seen)
                add_cell(data, totals->places[i].place, totals->names[k], sums);
        }
    }
}

/* ---- Domains and sources with most mail ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void take_leaders(struct arena *arena, struct insight_data *data, const struct insight_leaders_row *rows, size_t count,
                         struct totals *totals)
{
    struct insight_source *sources = arena_array(arena, INSIGHT_SOURCES_MAX, sizeof(*sources));
    data->sources = sources;
    totals->names[0] = "";
    totals->name_count = 1;
    for (size_t i = 0; i < count; i++) {
        const struct insight_leaders_row *row = &rows[i];
        if (row->source != NULL)
            sources[data->source_count++] =
                (struct insight_source){ .name = row->source, .sent = (double)row->sent, .bounced = (double)row->bounced };
        else
            totals->names[totals->name_count++] = row->domain;
    }
    qsort(totals->names + 1, totals->name_count - 1, sizeof(totals->names[0]), compare_names);
    for (size_t i = 0; i < totals->name_count; i++)
        totals->sizes[i] = strlen(totals->names[i]);
}

static bool load_leaders(const struct work *work, struct insight_data *data, struct totals *totals, struct error *err)
{
    int64_t *ids = arena_array(work->arena, data->send_count + 1, sizeof(*ids));
    for (size_t i = 0; i < data->send_count; i++)
        ids[i] = totals->places[i].id;
    struct insight_leaders_params params = {
        .brand_id = work->brand_id,
        .send_ids = { ids, data->send_count },
        .domains = INSIGHT_DOMAINS_MAX,
        .sources = INSIGHT_SOURCES_MAX,
    };
    struct insight_leaders_row *rows;
    size_t count;
    if (!sql_insight_leaders(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    take_leaders(work->arena, data, rows, count, totals);
    return true;
}

bool insight_cells_load(const struct work *work, struct insight_data *data, struct error *err)
{
    struct totals totals = { .places = send_places(work->arena, data) };
    totals.sums = arena_array(work->arena, data->send_count * PLACES_MAX + 1, sizeof(*totals.sums));
    if (!load_leaders(work, data, &totals, err) || !add_ranges(work, data, &totals, err))
        return false;
    take_totals(work->arena, data, &totals);
    return true;
}
