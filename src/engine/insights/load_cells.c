#include "engine/insights/load_cells.h"

#include "base/clock.h"
#include "sql/insight_data.h"

#include <stdlib.h>
#include <string.h>

/* A page has a few megabytes at most, because a domain has at most 255 characters. */
enum { WEEK_DAYS = 7, PLACES_MAX = INSIGHT_DOMAINS_MAX + 1, SENDS_A_PAGE = 25, COUNTS_A_PAGE = 20000 };

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

/* The counts of one step, day and type; `domains`: their domains, on lines. */
struct rolled {
    const char *type;
    bool in_week;
    const char *domains;
    struct int_list counts;
};

/* Adds to the figures of a send. Returns the domain of the last count. */
static const char *add_rolled(const struct totals *totals, struct sums *of_send, struct rolled rolled)
{
    size_t figure = figure_of(rolled.type);
    const char *name = rolled.domains;
    const char *last = name;
    const char *end_of_all = name + strlen(name);
    for (size_t i = 0; i < rolled.counts.count; i++) {
        const char *line = memchr(name, '\n', (size_t)(end_of_all - name));
        const char *end = line != NULL ? line : end_of_all;
        add_count(&of_send[name_place(totals, name, (size_t)(end - name))], figure, rolled.in_week, rolled.counts.items[i]);
        last = name;
        name = end < end_of_all ? end + 1 : end;
    }
    return last;
}

static struct sums *sums_of(const struct totals *totals, const struct insight_data *data, int64_t send_id)
{
    const struct send_place *place = send_place_find(totals->places, data, send_id);
    return place == NULL ? NULL : &totals->sums[(size_t)(place - totals->places) * PLACES_MAX];
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

/* Adds a page of one send, and moves `params` behind it. Returns the number of its counts. */
static size_t add_page(struct arena *arena, const struct totals *totals, struct sums *of_send,
                       const struct insight_rolled_behind_row *rows, size_t count, struct insight_rolled_behind_params *params)
{
    size_t counts = 0;
    const char *domain = "";
    for (size_t i = 0; i < count; i++) {
        const struct insight_rolled_behind_row *row = &rows[i];
        domain = add_rolled(totals, of_send, (struct rolled){ row->type, row->in_week, row->domains, row->counts });
        counts += row->counts.count;
    }
    if (counts < COUNTS_A_PAGE)
        return counts;
    params->node_id = arena_dup(arena, rows[count - 1].node_id);
    params->day = arena_dup(arena, rows[count - 1].day);
    params->type = arena_dup(arena, rows[count - 1].type);
    params->domain = arena_dup(arena, domain);
    params->source = arena_dup(arena, rows[count - 1].last_source);
    return counts;
}

/* Adds the rollups of one send, however many, page by page. */
static bool add_send(const struct work *work, const struct totals *totals, size_t at, struct error *err)
{
    struct insight_rolled_behind_params params = {
        .brand_id = work->brand_id,
        .send_id = totals->places[at].id,
        .week = week_of(work),
        .node_id = "",
        .day = "-infinity",
        .type = "",
        .domain = "",
        .source = "",
        .limit = COUNTS_A_PAGE,
    };
    size_t counts;
    do {
        ARENA_SCOPE arena = arena_new(0);
        struct insight_rolled_behind_row *rows;
        size_t count;
        if (!sql_insight_rolled_behind(work->conn, arena, &params, &rows, &count, err))
            return false;
        counts = add_page(work->arena, totals, &totals->sums[at * PLACES_MAX], rows, count, &params);
    } while (counts == COUNTS_A_PAGE);
    return true;
}

/* Whether the limit or the size of a page cut off rollups. */
static bool is_cut(const struct insight_rolled_row *rows, struct db_page page)
{
    size_t counts = 0;
    for (size_t i = 0; i < page.count; i++)
        counts += rows[i].counts.count;
    return page.is_cut || counts == COUNTS_A_PAGE;
}

/* Adds the rollups of some sends. When one page does not hold them, nothing is added and `ret_is_cut` is true. */
static bool add_range(const struct work *work, const struct insight_data *data, struct totals *totals, struct send_range range,
                      bool *ret_is_cut, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct insight_rolled_params params = {
        .brand_id = work->brand_id,
        .from_send = totals->places[range.at].id,
        .to_send = totals->places[range.end - 1].id,
        .week = week_of(work),
        .limit = COUNTS_A_PAGE,
    };
    struct insight_rolled_row *rows;
    struct db_page page;
    if (!sql_insight_rolled(work->conn, arena, &params, &rows, &page, err))
        return false;
    *ret_is_cut = is_cut(rows, page);
    for (size_t i = 0; i < page.count && !*ret_is_cut; i++) {
        struct sums *of_send = sums_of(totals, data, rows[i].send_id);
        if (of_send != NULL)
            add_rolled(totals, of_send, (struct rolled){ rows[i].type, rows[i].in_week, rows[i].domains, rows[i].counts });
    }
    return true;
}

static bool add_ranges(const struct work *work, const struct insight_data *data, struct totals *totals, struct error *err)
{
    size_t size = SENDS_A_PAGE;
    struct send_range range = { .at = 0 };
    while (range.at < data->send_count) {
        bool is_larger;
        range.end = range.at + size < data->send_count ? range.at + size : data->send_count;
        if (!add_range(work, data, totals, range, &is_larger, err))
            return false;
        size_t sends = range.end - range.at;
        if (is_larger && sends == 1 && !add_send(work, totals, range.at, err))
            return false;
        if (is_larger && sends > 1)
            size = sends / 2;
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
