#include "engine/hits/hit_matches.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "sql/hit_matches.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { REVISION_UNREAD = -1 };

/* ---- Changes ---- */

static bool check_actor(const char *actor, struct error *err)
{
    static const char *const actors[] = { "human", "proxy", "bot", "facts" };
    for (size_t i = 0; i < ARRAY_COUNT(actors); i++)
        if (strcmp(actors[i], actor) == 0)
            return true;
    return fail(err, ERR_INVALID_REQUEST, "actor", "The actor must be human, proxy, bot or facts.");
}

/* The form in which a word or a range is stored. */
static bool read_match(struct arena *arena, const char *fact, const char *text, const char **ret_match, struct error *err)
{
    struct hit_range range;
    if (strcmp(fact, "agent") == 0) {
        *ret_match = text_lower(arena, text);
        return hit_word_check(text, err);
    }
    if (strcmp(fact, "network") != 0)
        return fail(err, ERR_INVALID_REQUEST, "fact", "%.60s must be agent, before a word, or network, before a range.", fact);
    if (!hit_range_read(text, &range, err))
        return false;
    *ret_match = hit_range_text(arena, &range);
    return true;
}

static const char *param_of(const char *fact)
{
    return strcmp(fact, "agent") == 0 ? "word" : "range";
}

bool hit_match_set(const struct work *work, const char *fact, const char *text, const char *actor, struct error *err)
{
    bool is_word = strcmp(fact, "agent") == 0;
    struct hit_match_add_params params = {
        .fact = fact,
        .actor = actor,
        .now = work->now_us,
        .most = is_word ? HIT_WORDS_MAX : HIT_RANGES_MAX,
    };
    struct hit_match_add_row *row;
    if (!read_match(work->arena, fact, text, &params.match, err) || !check_actor(actor, err) ||
        !sql_hit_match_add(work->conn, work->arena, &params, &row, err))
        return false;
    return row->id.set || fail(err, ERR_INVALID_REQUEST, param_of(fact), "There are %d %s; remove one first.", (int)params.most,
                               is_word ? "words" : "ranges");
}

bool hit_match_drop(const struct work *work, const char *fact, const char *text, struct error *err)
{
    struct hit_match_remove_params params = { .fact = fact };
    struct hit_match_remove_row *row;
    if (!read_match(work->arena, fact, text, &params.match, err) ||
        !sql_hit_match_remove(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, param_of(fact), "The operator has not added this %s.", param_of(fact));
}

/* ---- Listing ---- */

static void write_matches(struct json_writer *json, const char *name, const char *fact, const struct hit_match_row *rows,
                          size_t count)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].fact, fact) != 0)
            continue;
        json_object_begin(json);
        json_member_text(json, param_of(fact), rows[i].match);
        json_member_text(json, "actor", rows[i].actor);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_array_end(json);
}

bool hit_matches_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct hit_match_row *rows;
    size_t count;
    if (!sql_hit_matches_find(work->conn, work->arena, &rows, &count, err))
        return false;
    write_matches(json, "words", "agent", rows, count);
    write_matches(json, "ranges", "network", rows, count);
    return true;
}

/* ---- Loading ---- */

bool hit_matches_load(const struct work *work, const struct hit_matcher **ret_matcher, struct error *err)
{
    struct hit_match_row *rows;
    size_t count;
    if (!sql_hit_matches_find(work->conn, work->arena, &rows, &count, err))
        return false;
    struct hit_match *matches = arena_array(work->arena, count, sizeof(*matches));
    for (size_t i = 0; i < count; i++)
        matches[i] = (struct hit_match){ rows[i].id, strcmp(rows[i].fact, "network") == 0, rows[i].match };
    *ret_matcher = hit_matcher_new(work->arena, matches, count);
    return true;
}

/* ---- What a process has read ---- */

struct hit_matchers {
    pthread_mutex_t lock; /* guards the members below */
    int64_t next_read_us; /* monotonic */
    int64_t revision;
    struct arena *arena; /* of the matcher */
    const struct hit_matcher *matcher;
};

struct hit_matchers *hit_matchers_new(void)
{
    struct hit_matchers *matchers = calloc(1, sizeof(*matchers));
    if (matchers == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&matchers->lock, NULL);
    matchers->revision = REVISION_UNREAD;
    return matchers;
}

void hit_matchers_free(struct hit_matchers *matchers)
{
    if (matchers == NULL)
        return;
    pthread_mutex_destroy(&matchers->lock);
    arena_free(matchers->arena);
    free(matchers);
}

void hit_matchers_forget(const struct work *work)
{
    struct hit_matchers *matchers = work->engine->hit_matchers;
    if (matchers == NULL)
        return;
    pthread_mutex_lock(&matchers->lock);
    matchers->next_read_us = 0;
    pthread_mutex_unlock(&matchers->lock);
}

/* True for one thread when it is time to read. */
static bool begin_reading(struct hit_matchers *matchers, int64_t *ret_known)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&matchers->lock);
    bool is_due = now_us >= matchers->next_read_us;
    if (is_due)
        matchers->next_read_us = now_us + HIT_MATCHERS_READ_S * US_PER_S;
    *ret_known = matchers->revision;
    pthread_mutex_unlock(&matchers->lock);
    return is_due;
}

/* Replaces the matcher, and gives the arena of the last one back. */
static struct arena *replace(struct hit_matchers *matchers, int64_t revision, struct arena *arena,
                             const struct hit_matcher *matcher)
{
    pthread_mutex_lock(&matchers->lock);
    struct arena *last = matchers->arena;
    matchers->revision = revision;
    matchers->arena = arena;
    matchers->matcher = matcher;
    pthread_mutex_unlock(&matchers->lock);
    return last;
}

static void read_newer(const struct work *work, struct hit_matchers *matchers, int64_t known)
{
    struct error err = { .code = ERR_NONE };
    struct hit_matches_newer_params params = { .known = (int)known };
    struct hit_matches_newer_row *rows;
    size_t count;
    if (!sql_hit_matches_newer(work->conn, work->arena, &params, &rows, &count, &err)) {
        log_event(LOG_DEBUG, "hits.rules", "New words and ranges could not be read.");
        return;
    }
    if (count == 0 || rows[0].revision == known)
        return;
    struct arena *arena = arena_new(0);
    struct hit_match *matches = arena_array(arena, count, sizeof(*matches));
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].id.set)
            matches[found++] =
                (struct hit_match){ rows[i].id.value, strcmp(rows[i].fact, "network") == 0, arena_dup(arena, rows[i].match) };
    arena_free(replace(matchers, rows[0].revision, arena, hit_matcher_new(arena, matches, found)));
}

void hit_matchers_find(const struct work *work, const char *const *agents, const char *const *addresses, size_t count,
                       struct hit_found *ret_found)
{
    struct hit_matchers *matchers = work->engine->hit_matchers;
    int64_t known;
    memset(ret_found, 0, count * sizeof(*ret_found));
    if (matchers == NULL)
        return;
    if (begin_reading(matchers, &known))
        read_newer(work, matchers, known);
    pthread_mutex_lock(&matchers->lock);
    for (size_t i = 0; matchers->matcher != NULL && i < count; i++)
        ret_found[i] = (struct hit_found){ hit_matcher_word(matchers->matcher, agents[i]),
                                           hit_matcher_range(matchers->matcher, addresses[i]) };
    pthread_mutex_unlock(&matchers->lock);
}
