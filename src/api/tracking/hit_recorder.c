#include "api/tracking/hit_recorder.h"

#include "api/service.h"
#include "api/tracking/click_host.h"
#include "api/tracking/hit_of_request.h"
#include "api/tracking/hit_places.h"
#include "api/tracking/hit_spool.h"
#include "api/tracking/link_cache.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/metric_text.h"
#include "base/panic.h"
#include "base/text.h"
#include "engine/tracking/link_token.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)HIT_TOKEN_CHARS == (int)LINK_TOKEN_CHARS, "the spool keeps the token of a link");

enum {
    DRAIN_PAUSE_MS = 1000,
    DRAIN_BATCH = 64,
    ANSWER_MAX_BYTES = 4 * 1024 * 1024,
    LINKS_MAX = 1000,
};

enum hit_state {
    HIT_WAITING, /* its call goes on */
    HIT_LOST,    /* its call failed, or takes too long: it must be spooled */
    HIT_STORED,  /* committed, or spooled, or neither is possible */
};

/* A hit on its way. It has an arena of its own, because its calls can outlive the request. */
struct pending {
    struct hit_recorder *recorder;
    struct arena *arena;
    struct pending *next; /* in the list of the recorder, oldest first */
    struct spooled_hit hit;
    struct link_token token;
    enum hit_state state;
    int64_t deadline_us;         /* of the commit */
    struct hit_request *request; /* NULL: nobody waits for an answer any more */
    bool has_answer;             /* of the request */
    bool is_listed;
    bool is_drained; /* of the spool: the drain counts its end */
    unsigned calls;  /* that have not ended */
    struct call record;
    struct call links;
};

struct hit_recorder {
    struct api *api;
    struct link_cache *cache;
    struct hit_spool *spool;
    const char *public_host; /* without a port; NULL: none */
    struct arena *arena;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the threads */
    pthread_t answers;   /* ends waits, and spools */
    pthread_t drain;     /* drains the spool */
    bool stopping;
    bool is_away; /* the database does not answer: hits go to the spool at once */
    struct pending *first;
    struct pending **last;
    struct hit_places listed;
    struct hit_places calling;
    size_t drain_left; /* calls of the drain that have not ended */
    bool drain_failed;
    uint64_t stored;
    uint64_t spooled;
    uint64_t drained;
    uint64_t dropped;
};

/* ---- Pending hits ---- */

static struct pending *pending_new(struct hit_recorder *recorder)
{
    struct arena *arena = arena_new(0);
    struct pending *pending = arena_alloc(arena, sizeof(*pending));
    *pending = (struct pending){ .recorder = recorder, .arena = arena };
    return pending;
}

/* Under the lock. Frees a hit that nothing refers to any more. */
static void release_if_unused(struct pending *pending)
{
    if (!pending->is_listed && pending->calls == 0)
        arena_free(pending->arena);
}

/* ---- Calls ---- */

static void on_recorded(struct call *call);
static void on_links(struct call *call);

static void fill_call(struct call *call, struct arena *arena, const struct operation *const *candidates, json_t *body,
                      void (*on_completed)(struct call *call), void *context)
{
    *call = (struct call){
        .arena = arena,
        .transport = TRANSPORT_REST,
        .caller = { .is_remote = true },
        .candidates = candidates,
        .input = { .flat = true, .body = json_in_arena(arena, body) },
        .request_id = api_request_id(arena),
        .on_completed = on_completed,
        .transport_data = context,
        .credit_cost = -1,
    };
}

static void submit_record(struct pending *pending)
{
    const struct spooled_hit *hit = &pending->hit;
    json_t *body = json_object();
    json_object_set_new(body, "token", json_string(hit->token));
    json_object_set_new(body, "method", json_string(hit->is_head ? "head" : "get"));
    json_object_set_new(body, "id", json_integer(hit->id));
    json_object_set_new(body, "at", json_integer(hit->at_us));
    if (hit->agent[0] != '\0')
        json_object_set_new(body, "agent", json_string(hit->agent));
    if (hit->address[0] != '\0')
        json_object_set_new(body, "address", json_string(hit->address));
    fill_call(&pending->record, pending->arena, api_tracked_request, body, on_recorded, pending);
    pending->record.turn_brand_id = pending->token.owner.brand_id;
    api_submit(pending->recorder->api, &pending->record);
}

static void submit_links(struct pending *pending)
{
    json_t *body = json_object();
    json_object_set_new(body, "token", json_string(pending->hit.token));
    /* A call keeps its texts in its own arena while the other call uses that of the hit. */
    fill_call(&pending->links, arena_new(0), api_tracked_links, body, on_links, pending);
    pending->links.turn_brand_id = pending->token.owner.brand_id;
    api_submit(pending->recorder->api, &pending->links);
}

/* ---- Answering ---- */

/* Under the lock. Takes the request when it can be answered now; the caller calls on_answer without the lock. */
static struct hit_request *take_answer(struct pending *pending)
{
    struct hit_request *request = pending->request;
    if (request == NULL || !pending->has_answer || pending->state != HIT_STORED)
        return NULL;
    pending->request = NULL;
    return request;
}

static void answer(struct hit_request *request)
{
    if (request != NULL)
        request->on_answer(request);
}

/* Looks for the target in the cache. False: the links of this send are not there. */
static bool find_target(struct hit_recorder *recorder, struct hit_request *request, const struct link_token *token)
{
    const struct link_cache_key key = { token->owner.brand_id, token->owner.send_id };
    struct cached_link link;
    if (!link_cache_find(recorder->cache, request->arena, key, token->number, &link))
        return false;
    request->target = token->target != NULL ? token->target : link.target;
    bool leads = request->target != NULL && click_host_allows(recorder->public_host, request->host, link.domain);
    request->answer = leads ? HIT_REDIRECT : HIT_NOT_FOUND;
    return true;
}

/* ---- Ends of calls ---- */

static void keep_links(struct hit_recorder *recorder, const struct link_token *token, struct call *call)
{
    const json_t *json;
    struct error ignored = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = ANSWER_MAX_BYTES };
    const struct buf *body = call->reply.body;
    if (!json_read(call->arena, buf_text(body), body->size, bounds, &json, &ignored))
        return;
    const json_t *links = json_object_get(json, "links");
    size_t count = json_array_size(links);
    const char **targets = arena_array(call->arena, count + 1, sizeof(*targets));
    for (size_t i = 0; i < count; i++) {
        const json_t *link = json_array_get(links, i);
        targets[i] = json_get_bool(link, "merged", false) ? NULL : json_get_text(link, "target");
    }
    const struct link_cache_key key = { token->owner.brand_id, token->owner.send_id };
    link_cache_put(recorder->cache, key, json_get_text(json, "domain"), (struct text_list){ targets, count });
}

static void on_links(struct call *call)
{
    struct pending *pending = call->transport_data;
    struct hit_recorder *recorder = pending->recorder;
    bool is_unknown = !call->ok && call->error.code == ERR_NOT_FOUND;
    if (call->ok)
        keep_links(recorder, &pending->token, call);
    arena_free(call->arena);
    pthread_mutex_lock(&recorder->lock);
    pending->calls--;
    struct hit_request *request = pending->request;
    if (request != NULL) {
        if (is_unknown)
            request->answer = HIT_NOT_FOUND;
        else if (!find_target(recorder, request, &pending->token))
            request->answer = HIT_LATER;
        pending->has_answer = true;
    }
    request = take_answer(pending);
    release_if_unused(pending);
    pthread_mutex_unlock(&recorder->lock);
    answer(request);
}

/* Under the lock. A hit that is refused is not stored by a repetition either. */
static void note_recorded(struct pending *pending, const struct call *call)
{
    struct hit_recorder *recorder = pending->recorder;
    bool is_final = call->ok || call->error.code == ERR_NOT_FOUND || call->error.code == ERR_INVALID_REQUEST;
    if (pending->is_drained) {
        recorder->drain_left--;
        recorder->drain_failed |= !is_final;
        recorder->drained += call->ok;
        return;
    }
    hit_places_give_back(&recorder->calling, pending->token.owner.brand_id);
    recorder->stored += call->ok;
    if (is_final && pending->state == HIT_WAITING) {
        pending->state = HIT_STORED;
    } else if (pending->state == HIT_WAITING) {
        pending->state = HIT_LOST;
        recorder->is_away = true;
    }
}

static void on_recorded(struct call *call)
{
    struct pending *pending = call->transport_data;
    struct hit_recorder *recorder = pending->recorder;
    pthread_mutex_lock(&recorder->lock);
    pending->calls--;
    note_recorded(pending, call);
    bool must_wake = pending->is_drained || pending->state == HIT_LOST;
    struct hit_request *request = take_answer(pending);
    if (must_wake)
        pthread_cond_broadcast(&recorder->wake);
    release_if_unused(pending);
    pthread_mutex_unlock(&recorder->lock);
    answer(request);
}

/* ---- Taking requests ---- */

/* Under the lock. False: there are too many, or too many of the brand; the hit is dropped. */
static bool list_pending(struct hit_recorder *recorder, struct pending *pending)
{
    if (recorder->stopping || !hit_places_take(&recorder->listed, pending->token.owner.brand_id)) {
        recorder->dropped++;
        return false;
    }
    pending->deadline_us = clock_monotonic_us() + HIT_WAIT_MS * US_PER_MS;
    pending->next = NULL;
    pending->is_listed = true;
    *recorder->last = pending;
    recorder->last = &pending->next;
    return true;
}

/* Stores the hit: by a call, or in the spool while the database is away or too many calls of its brand wait. Reads the links when
 * the target is not known. */
static void begin_storing(struct hit_recorder *recorder, struct pending *pending)
{
    pthread_mutex_lock(&recorder->lock);
    bool needs_links = pending->request != NULL && !pending->has_answer;
    bool records = false;
    struct hit_request *request = NULL;
    if (list_pending(recorder, pending)) {
        records = !recorder->is_away && hit_places_take(&recorder->calling, pending->token.owner.brand_id);
        pending->state = records ? HIT_WAITING : HIT_LOST;
        pending->calls = (unsigned)records + (unsigned)needs_links;
        pthread_cond_broadcast(&recorder->wake);
    } else {
        needs_links = false;
        request = pending->request;
        if (request != NULL && !pending->has_answer)
            request->answer = HIT_LATER;
        arena_free(pending->arena);
    }
    pthread_mutex_unlock(&recorder->lock);
    answer(request);
    if (records)
        submit_record(pending);
    if (needs_links)
        submit_links(pending);
}

static const struct engine *engine_of(const struct hit_recorder *recorder)
{
    return installation_engine(api_installation(recorder->api));
}

bool hit_recorder_take(struct hit_recorder *recorder, struct hit_request *request)
{
    struct link_token token;
    request->answer = HIT_NOT_FOUND;
    if (!link_token_open(engine_of(recorder), request->arena, request->token, &token) ||
        (token.number == LINK_NUMBER_OPEN) != request->is_open)
        return true;
    if (!request->is_open)
        return false;
    request->answer = HIT_PICTURE;
    struct pending *pending = pending_new(recorder);
    pending->token = token;
    pending->hit = hit_of_request(pending->arena, request);
    begin_storing(recorder, pending);
    return true;
}

void hit_recorder_follow(struct hit_recorder *recorder, struct hit_request *request)
{
    struct pending *pending = pending_new(recorder);
    pending->hit = hit_of_request(pending->arena, request);
    pending->request = request;
    (void)link_token_open(engine_of(recorder), request->arena, request->token, &pending->token);
    pending->has_answer = find_target(recorder, request, &pending->token);
    if (pending->has_answer && request->answer == HIT_NOT_FOUND) {
        arena_free(pending->arena);
        answer(request);
        return;
    }
    begin_storing(recorder, pending);
}

/* ---- The thread that ends waits ---- */

enum { SPOOLED_TOGETHER = 256 };

/* Under the lock. Ends the wait for a target; returns when it ends otherwise. While most of the list is in use, nothing waits
 * longer than for its commit, so that other hits have room. */
static int64_t end_wait_for_target(struct pending *pending, int64_t now_us)
{
    const struct hit_recorder *recorder = pending->recorder;
    int64_t until_us = pending->deadline_us + (HIT_TARGET_WAIT_MS - HIT_WAIT_MS) * US_PER_MS;
    bool has_room = !recorder->stopping && recorder->listed.used < HITS_PENDING_MAX / 4 * 3;
    if (pending->request == NULL || pending->has_answer)
        return INT64_MAX;
    if (has_room && until_us > now_us)
        return until_us;
    pending->request->answer = HIT_LATER;
    pending->has_answer = true;
    return INT64_MAX;
}

/* Under the lock. Marks the hits whose wait is over; returns when the next wait ends, INT64_MAX without one. */
static int64_t end_waits(struct hit_recorder *recorder)
{
    int64_t now_us = clock_monotonic_us();
    int64_t next_us = INT64_MAX;
    for (struct pending *pending = recorder->first; pending != NULL; pending = pending->next) {
        if (pending->deadline_us > now_us && !recorder->stopping)
            return next_us < pending->deadline_us ? next_us : pending->deadline_us;
        if (pending->state == HIT_WAITING) {
            pending->state = HIT_LOST;
            recorder->is_away = true;
        }
        int64_t target_us = end_wait_for_target(pending, now_us);
        next_us = target_us < next_us ? target_us : next_us;
    }
    return next_us;
}

/* Under the lock, which is released meanwhile. Spools what is lost. */
static void spool_lost(struct hit_recorder *recorder)
{
    struct spooled_hit hits[SPOOLED_TOGETHER];
    struct pending *lost[SPOOLED_TOGETHER];
    size_t count = 0;
    for (struct pending *pending = recorder->first; pending != NULL && count < SPOOLED_TOGETHER; pending = pending->next)
        if (pending->state == HIT_LOST) {
            hits[count] = pending->hit;
            lost[count++] = pending;
        }
    if (count == 0)
        return;
    struct error err = { .code = ERR_NONE };
    pthread_mutex_unlock(&recorder->lock);
    bool ok = hit_spool_append(recorder->spool, hits, count, &err);
    if (!ok)
        log_event(LOG_WARNING, "tracking.spool", "%s", err.cause);
    error_clear(&err);
    pthread_mutex_lock(&recorder->lock);
    for (size_t i = 0; i < count; i++)
        lost[i]->state = HIT_STORED;
    recorder->spooled += ok ? count : 0;
    recorder->dropped += ok ? 0 : count;
}

/* Under the lock, which is released for each answer. Takes finished hits from the list. */
static void sweep(struct hit_recorder *recorder)
{
    struct hit_request *answers[SPOOLED_TOGETHER];
    size_t count = 0;
    struct pending **at = &recorder->first;
    while (*at != NULL && count < SPOOLED_TOGETHER) {
        struct pending *pending = *at;
        struct hit_request *request = take_answer(pending);
        if (request != NULL)
            answers[count++] = request;
        if (pending->state != HIT_STORED || pending->request != NULL) {
            at = &pending->next;
            continue;
        }
        *at = pending->next;
        hit_places_give_back(&recorder->listed, pending->token.owner.brand_id);
        pending->is_listed = false;
        release_if_unused(pending);
    }
    recorder->last = &recorder->first;
    while (*recorder->last != NULL)
        recorder->last = &(*recorder->last)->next;
    pthread_mutex_unlock(&recorder->lock);
    for (size_t i = 0; i < count; i++)
        answer(answers[i]);
    pthread_mutex_lock(&recorder->lock);
}

static bool has_lost(const struct hit_recorder *recorder)
{
    const struct pending *pending = recorder->first;
    while (pending != NULL && pending->state != HIT_LOST)
        pending = pending->next;
    return pending != NULL;
}

static void wait_until(struct hit_recorder *recorder, int64_t until_us)
{
    int64_t wait_ms = until_us == INT64_MAX ? DRAIN_PAUSE_MS : (until_us - clock_monotonic_us()) / US_PER_MS + 1;
    struct timespec deadline = clock_deadline(wait_ms > 0 ? wait_ms : 0);
    pthread_cond_clockwait(&recorder->wake, &recorder->lock, CLOCK_MONOTONIC, &deadline);
}

static void *answer_thread(void *context)
{
    struct hit_recorder *recorder = context;
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->stopping || recorder->first != NULL) {
        int64_t until_us = end_waits(recorder);
        spool_lost(recorder);
        sweep(recorder);
        if (!has_lost(recorder) && !recorder->stopping)
            wait_until(recorder, until_us);
    }
    pthread_mutex_unlock(&recorder->lock);
    return NULL;
}

/* ---- The thread that drains the spool ---- */

static struct pending *pending_of_spooled(struct hit_recorder *recorder, const struct spooled_hit *hit)
{
    struct pending *pending = pending_new(recorder);
    pending->hit = *hit;
    pending->hit.agent = arena_dup(pending->arena, hit->agent);
    pending->hit.address = arena_dup(pending->arena, hit->address);
    pending->is_drained = true;
    pending->calls = 1;
    return pending;
}

/* Stores hits by calls that share a commit. False: not all are stored. */
static bool drain_batch(struct hit_recorder *recorder, const struct spooled_hit *hits, size_t count)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->drain_left = count;
    recorder->drain_failed = false;
    pthread_mutex_unlock(&recorder->lock);
    for (size_t i = 0; i < count; i++)
        submit_record(pending_of_spooled(recorder, &hits[i]));
    pthread_mutex_lock(&recorder->lock);
    while (recorder->drain_left > 0 && !recorder->stopping)
        pthread_cond_wait(&recorder->wake, &recorder->lock);
    bool ok = recorder->drain_left == 0 && !recorder->drain_failed;
    if (ok)
        recorder->is_away = false;
    pthread_mutex_unlock(&recorder->lock);
    return ok;
}

/* Drains one file. False: there was none, or the database did not take all. */
static bool drain_file(struct hit_recorder *recorder)
{
    struct hit_drain *drain = hit_drain_open(recorder->spool);
    if (drain == NULL)
        return false;
    bool ok = true;
    size_t count = DRAIN_BATCH;
    while (ok && count == DRAIN_BATCH) {
        ARENA_SCOPE arena = arena_new(0);
        struct spooled_hit hits[DRAIN_BATCH];
        count = hit_drain_read(drain, arena, hits, DRAIN_BATCH);
        ok = count == 0 || drain_batch(recorder, hits, count);
    }
    hit_drain_close(drain, ok);
    return ok;
}

/* A database that failed without a spooled hit is tried again by the next hit. */
static void *drain_thread(void *context)
{
    struct hit_recorder *recorder = context;
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->stopping) {
        pthread_mutex_unlock(&recorder->lock);
        bool has_more = drain_file(recorder);
        bool is_empty = !has_more && !hit_spool_has_files(recorder->spool);
        pthread_mutex_lock(&recorder->lock);
        if (is_empty && !has_lost(recorder))
            recorder->is_away = false;
        int64_t until_us = clock_monotonic_us() + DRAIN_PAUSE_MS * US_PER_MS;
        while (!has_more && !recorder->stopping && clock_monotonic_us() < until_us)
            wait_until(recorder, until_us);
    }
    pthread_mutex_unlock(&recorder->lock);
    return NULL;
}

/* ---- Life ---- */

struct hit_recorder *hit_recorder_new(struct api *api, const char *data_dir, const char *public_url)
{
    struct arena *arena = arena_new(0);
    struct hit_recorder *recorder = arena_alloc(arena, sizeof(*recorder));
    *recorder = (struct hit_recorder){
        .api = api,
        .arena = arena,
        .cache = link_cache_new(),
        .spool = hit_spool_new(data_dir),
        .public_host = click_host_of_url(arena, public_url),
        .listed.max = HITS_PENDING_MAX,
        .calling.max = HITS_CALLING_MAX,
    };
    recorder->last = &recorder->first;
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_cond_init(&recorder->wake, NULL);
    if (pthread_create(&recorder->answers, NULL, answer_thread, recorder) != 0 ||
        pthread_create(&recorder->drain, NULL, drain_thread, recorder) != 0)
        panic(PANIC_NO_THREAD);
    return recorder;
}

void hit_recorder_stop(struct hit_recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->stopping = true;
    pthread_cond_broadcast(&recorder->wake);
    pthread_mutex_unlock(&recorder->lock);
    pthread_join(recorder->answers, NULL);
    pthread_join(recorder->drain, NULL);
}

void hit_recorder_free(struct hit_recorder *recorder)
{
    if (recorder == NULL)
        return;
    link_cache_free(recorder->cache);
    hit_spool_free(recorder->spool);
    pthread_cond_destroy(&recorder->wake);
    pthread_mutex_destroy(&recorder->lock);
    arena_free(recorder->arena);
}

void hit_recorder_write_metrics(struct hit_recorder *recorder, struct buf *out)
{
    pthread_mutex_lock(&recorder->lock);
    uint64_t stored = recorder->stored;
    uint64_t spooled = recorder->spooled;
    uint64_t drained = recorder->drained;
    uint64_t dropped = recorder->dropped;
    pthread_mutex_unlock(&recorder->lock);
    metric_write(out, "posthorn_hits_stored_total", "counter", "Requests of tracked links that the database took at once.", stored);
    metric_write(out, "posthorn_hits_spooled_total", "counter", "Requests of tracked links that were spooled.", spooled);
    metric_write(out, "posthorn_hits_drained_total", "counter", "Spooled requests that the database has taken.", drained);
    metric_write(out, "posthorn_hits_dropped_total", "counter", "Requests of tracked links that could not be kept.", dropped);
}
