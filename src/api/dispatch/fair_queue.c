#include "api/dispatch/fair_queue.h"

#include "base/panic.h"

#include "api/dispatch/dispatch.h"

#include <stdlib.h>

/* Waiting calls and threads are bounded, and so is the number of organizations and lines in the tables. */
enum { BUCKETS = 256 };

/* The waiting calls of one brand and one kind; at least one. */
struct brand_line {
    struct queue_organization *organization;
    enum queue_kind kind;
    uint64_t brand;
    struct call_state *first;
    struct call_state *last;
    struct brand_line *next; /* of the organization, in the order of their turns */
    struct brand_line *next_in_bucket;
};

/* The waiting calls of an organization of one kind. */
struct organization_lines {
    struct brand_line *first;
    struct brand_line *last;
    struct queue_organization *next; /* in the order of their turns */
    uint64_t turn;
};

/* An organization that has waiting calls, or threads that serve it. */
struct queue_organization {
    int64_t organization_id;
    size_t queued;
    int threads_max; /* of its turn; 0: its share alone */
    int threads;
    int batchers; /* of them */
    uint64_t taken_by;
    struct organization_lines lines[QUEUE_KINDS];
    struct queue_organization *next_in_bucket;
};

struct fair_queue {
    struct queue_shares shares;
    struct activity *activity;
    size_t queued;
    uint64_t turns;
    uint64_t takings; /* numbers the calls of fair_queue_take */
    struct queue_organization *first[QUEUE_KINDS];
    struct queue_organization *last[QUEUE_KINDS];
    struct queue_organization *organizations[BUCKETS];
    struct brand_line *lines[BUCKETS];
};

struct fair_queue *fair_queue_new(struct queue_shares shares, struct activity *activity)
{
    struct fair_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        panic(PANIC_NO_MEMORY);
    queue->shares = shares;
    queue->activity = activity;
    return queue;
}

void fair_queue_free(struct fair_queue *queue)
{
    free(queue);
}

/* ---- The tables ---- */

static size_t bucket_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % BUCKETS;
}

static struct queue_organization *find_organization(const struct fair_queue *queue, int64_t organization_id)
{
    struct queue_organization *organization = queue->organizations[bucket_of((uint64_t)organization_id)];
    while (organization != NULL && organization->organization_id != organization_id)
        organization = organization->next_in_bucket;
    return organization;
}

static struct queue_organization *organization_of(struct fair_queue *queue, int64_t organization_id)
{
    struct queue_organization *organization = find_organization(queue, organization_id);
    if (organization != NULL)
        return organization;
    organization = calloc(1, sizeof(*organization));
    if (organization == NULL)
        panic(PANIC_NO_MEMORY);
    struct queue_organization **bucket = &queue->organizations[bucket_of((uint64_t)organization_id)];
    *organization = (struct queue_organization){ .organization_id = organization_id, .next_in_bucket = *bucket };
    *bucket = organization;
    return organization;
}

static void free_if_idle(struct fair_queue *queue, struct queue_organization *organization)
{
    if (organization->queued > 0 || organization->threads > 0)
        return;
    struct queue_organization **link = &queue->organizations[bucket_of((uint64_t)organization->organization_id)];
    while (*link != organization)
        link = &(*link)->next_in_bucket;
    *link = organization->next_in_bucket;
    free(organization);
}

static struct brand_line **line_bucket(struct fair_queue *queue, const struct queue_organization *organization, uint64_t brand)
{
    return &queue->lines[bucket_of((uint64_t)organization->organization_id * 31 + brand)];
}

static struct brand_line *find_line(struct fair_queue *queue, const struct queue_organization *organization, enum queue_kind kind,
                                    uint64_t brand)
{
    struct brand_line *line = *line_bucket(queue, organization, brand);
    while (line != NULL && (line->organization != organization || line->kind != kind || line->brand != brand))
        line = line->next_in_bucket;
    return line;
}

static void free_line(struct fair_queue *queue, struct brand_line *line)
{
    struct brand_line **link = line_bucket(queue, line->organization, line->brand);
    while (*link != line)
        link = &(*link)->next_in_bucket;
    *link = line->next_in_bucket;
    free(line);
}

/* ---- The order of turns ---- */

static void append_organization(struct fair_queue *queue, struct queue_organization *organization, enum queue_kind kind)
{
    struct queue_organization *last = queue->last[kind];
    organization->lines[kind].next = NULL;
    organization->lines[kind].turn = queue->turns++;
    *(last != NULL ? &last->lines[kind].next : &queue->first[kind]) = organization;
    queue->last[kind] = organization;
}

static void remove_organization(struct fair_queue *queue, struct queue_organization *organization, enum queue_kind kind)
{
    struct queue_organization *before = NULL;
    struct queue_organization **link = &queue->first[kind];
    while (*link != organization) {
        before = *link;
        link = &before->lines[kind].next;
    }
    *link = organization->lines[kind].next;
    if (queue->last[kind] == organization)
        queue->last[kind] = before;
}

static void append_line(struct fair_queue *queue, struct brand_line *line)
{
    struct organization_lines *lines = &line->organization->lines[line->kind];
    if (lines->first == NULL)
        append_organization(queue, line->organization, line->kind);
    line->next = NULL;
    *(lines->last != NULL ? &lines->last->next : &lines->first) = line;
    lines->last = line;
}

static struct brand_line *line_of(struct fair_queue *queue, const struct call_state *state, enum queue_kind kind)
{
    struct queue_organization *organization = organization_of(queue, state->turn.organization_id);
    struct brand_line *line = find_line(queue, organization, kind, state->turn.brand);
    if (line != NULL)
        return line;
    line = calloc(1, sizeof(*line));
    if (line == NULL)
        panic(PANIC_NO_MEMORY);
    struct brand_line **bucket = line_bucket(queue, organization, state->turn.brand);
    *line =
        (struct brand_line){ .organization = organization, .kind = kind, .brand = state->turn.brand, .next_in_bucket = *bucket };
    *bucket = line;
    append_line(queue, line);
    return line;
}

void fair_queue_add(struct fair_queue *queue, struct call_state *state, enum queue_kind kind)
{
    struct brand_line *line = line_of(queue, state, kind);
    state->next = NULL;
    *(line->last != NULL ? &line->last->next : &line->first) = state;
    line->last = state;
    line->organization->threads_max = state->turn.threads_max;
    line->organization->queued++;
    queue->queued++;
}

/* Takes the next call of an organization. The organization and its brand go to the end of the order when more of their calls wait.
 */
static struct call_state *take_call(struct fair_queue *queue, struct queue_organization *organization, enum queue_kind kind)
{
    struct organization_lines *lines = &organization->lines[kind];
    struct brand_line *line = lines->first;
    struct call_state *state = line->first;
    remove_organization(queue, organization, kind);
    lines->first = line->next;
    if (lines->first == NULL)
        lines->last = NULL;
    else
        append_organization(queue, organization, kind);
    line->first = state->next;
    if (line->first != NULL)
        append_line(queue, line);
    else
        free_line(queue, line);
    state->next = NULL;
    organization->queued--;
    queue->queued--;
    return state;
}

/* ---- Taking ---- */

static int share_of(const struct fair_queue *queue, const struct queue_organization *organization)
{
    const struct queue_shares *shares = &queue->shares;
    if (shares->threads_beside >= shares->threads || queue->activity == NULL)
        return shares->threads;
    return activity_has_others(queue->activity, organization->organization_id) ? shares->threads_beside : shares->threads;
}

static int threads_of(const struct fair_queue *queue, const struct queue_organization *organization)
{
    int share = share_of(queue, organization);
    return organization->threads_max > 0 && organization->threads_max < share ? organization->threads_max : share;
}

static int batchers_of(const struct fair_queue *queue, const struct queue_organization *organization)
{
    return organization->organization_id == TURN_ONE_BATCH ? 1 : queue->shares.batchers;
}

static bool has_room(const struct fair_queue *queue, const struct queue_organization *organization, enum queue_kind kind)
{
    return organization->threads < threads_of(queue, organization) &&
           (kind != QUEUE_SINGLES || organization->batchers < batchers_of(queue, organization));
}

bool fair_queue_has_room(const struct fair_queue *queue, int64_t organization_id, enum queue_kind kind)
{
    const struct queue_organization *organization = find_organization(queue, organization_id);
    return organization == NULL || has_room(queue, organization, kind);
}

/* The organization whose turn is next; NULL when all that wait are at their bound. An organization with calls in the batch `taking`
 * may add more of them. At most as many organizations are at their bound as the threads have in their batches. */
static struct queue_organization *next_organization(const struct fair_queue *queue, enum queue_kind kind, uint64_t taking)
{
    struct queue_organization *organization = queue->first[kind];
    while (organization != NULL && !has_room(queue, organization, kind) && (taking == 0 || organization->taken_by != taking))
        organization = organization->lines[kind].next;
    return organization;
}

bool fair_queue_next(const struct fair_queue *queue, bool may_batch, enum queue_kind *ret_kind)
{
    const struct queue_organization *single = may_batch ? next_organization(queue, QUEUE_SINGLES, 0) : NULL;
    const struct queue_organization *other = next_organization(queue, QUEUE_OTHERS, 0);
    bool singles_first = single != NULL && (other == NULL || single->lines[QUEUE_SINGLES].turn < other->lines[QUEUE_OTHERS].turn);
    *ret_kind = singles_first ? QUEUE_SINGLES : QUEUE_OTHERS;
    return single != NULL || other != NULL;
}

/* Counts the thread for an organization, once for all its calls in the batch. */
static void give_thread(struct taken *taken, struct queue_organization *organization, uint64_t taking)
{
    if (organization->taken_by == taking)
        return;
    organization->taken_by = taking;
    organization->threads++;
    organization->batchers += taken->kind == QUEUE_SINGLES;
    taken->organizations[taken->organization_count++] = organization;
}

void fair_queue_take(struct fair_queue *queue, enum queue_kind kind, struct taken *ret_taken)
{
    size_t max = kind == QUEUE_SINGLES ? (size_t)EXECUTOR_BATCH_MAX : 1;
    uint64_t taking = ++queue->takings;
    ret_taken->count = ret_taken->organization_count = 0;
    ret_taken->kind = kind;
    struct queue_organization *organization;
    while (ret_taken->count < max && (organization = next_organization(queue, kind, taking)) != NULL) {
        give_thread(ret_taken, organization, taking);
        ret_taken->states[ret_taken->count++] = take_call(queue, organization, kind);
    }
}

void fair_queue_done(struct fair_queue *queue, const struct taken *taken)
{
    for (size_t i = 0; i < taken->organization_count; i++) {
        struct queue_organization *organization = taken->organizations[i];
        organization->threads--;
        organization->batchers -= taken->kind == QUEUE_SINGLES;
        free_if_idle(queue, organization);
    }
}

struct call_state *fair_queue_clear(struct fair_queue *queue)
{
    struct call_state *all = NULL;
    struct call_state **end = &all;
    for (int kind = 0; kind < QUEUE_KINDS; kind++) {
        struct queue_organization *organization;
        while ((organization = queue->first[kind]) != NULL) {
            *end = take_call(queue, organization, (enum queue_kind)kind);
            end = &(*end)->next;
            free_if_idle(queue, organization);
        }
    }
    return all;
}

bool fair_queue_has(const struct fair_queue *queue, enum queue_kind kind)
{
    return queue->first[kind] != NULL;
}

size_t fair_queue_count(const struct fair_queue *queue)
{
    return queue->queued;
}

size_t fair_queue_count_of(const struct fair_queue *queue, int64_t organization_id)
{
    const struct queue_organization *organization = find_organization(queue, organization_id);
    return organization != NULL ? organization->queued : 0;
}
