/*
 * The job of brand.searchImages when the operator has named an embedding model:
 * the vector of the query is asked for outside of a transaction, and settling
 * writes the page. Without the model, or while it is away, a search is one by
 * words; a following page of a search by meaning then fails.
 */
#include "base/log.h"
#include "catalogue/job_types.h"
#include "engine/assets/asset_search.h"
#include "models/embeddings.h"

enum {
    SEARCH_MAX_ATTEMPTS = 2,
    QUERY_MS = 10 * 1000,
    STATUS_OK = 200,
};

struct found_images {
    struct asset_search search;
    const char *model;         /* NULL: by words */
    struct asset_vector query; /* of the model */
    bool is_new;               /* the vector is not kept yet */
    struct opt_int tokens_in;  /* of a new vector */
    struct asset_nearest nearest;
};

static void log_absence(const struct error *err)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, "search.embeddings");
    log_error_members(&line, err);
    log_end(&line);
}

/* Asks the model. No vector when it is away: the search is then one by words. */
static void ask_for_vector(struct job *job, struct found_images *found)
{
    struct error err = { .code = ERR_NONE };
    struct embedded_texts embedded;
    struct text_list texts = { &found->search.query, 1 };
    if (!embeddings_make(job->work.arena, job->services->embeddings, texts, QUERY_MS, &embedded, &err)) {
        log_absence(&err);
        return;
    }
    found->query = (struct asset_vector){ embedded.vectors, embedded.dimensions };
    found->is_new = true;
    found->tokens_in = embedded.tokens_in;
}

static bool find_nearest(struct job *job, struct found_images *found, struct error *err)
{
    const struct asset_search *search = &found->search;
    const char *model = embeddings_engine(job->services->embeddings);
    if (!query_vector_find(&job->work, model, search->query, &found->query, err))
        return false;
    if (found->query.numbers == NULL)
        ask_for_vector(job, found);
    if (found->query.numbers == NULL)
        return true;
    struct asset_scan scan = {
        .model = model,
        .query = found->query,
        .filter = &search->filter,
        .shape = search->shape,
        .until_image = search->start.set ? search->start.id : INT64_MAX,
        .until_vector = search->until_vector,
    };
    if (!asset_vectors_nearest(&job->work, &scan, &found->nearest, err))
        return false;
    if (found->nearest.until != 0)
        found->model = model;
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    const struct search_images_payload *payload = job->payload;
    struct found_images *found = arena_alloc(job->work.arena, sizeof(*found));
    found->search = (struct asset_search){
        .query = payload->query,
        .filter = {
            .type = payload->type,
            .kind = payload->kind,
            .aspect_ratio = payload->aspect_ratio,
            .oldest_first = payload->is_oldest_first,
        },
        .limit = payload->limit,
        .cursor = payload->cursor,
    };
    job->result = found;
    return asset_search_begin(&job->work, &found->search, err) &&
           (job->services->embeddings == NULL || find_nearest(job, found, err));
}

/* A vector that the model has made is kept for the following pages. Images that wait for theirs get them later. */
static bool keep_vectors(struct job *job, const struct found_images *found, struct error *err)
{
    if (found->is_new &&
        !query_vector_save(&job->work, embeddings_engine(job->services->embeddings), found->search.query, found->query, err))
        return false;
    return !found->nearest.has_waiting || asset_vectors_enqueue(&job->work, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct found_images *found = job->result;
    const struct asset_nearest *nearest = found->model != NULL ? &found->nearest : NULL;
    *ret_status = STATUS_OK;
    if (found->is_new)
        job_used_model(job, embeddings_engine(job->services->embeddings), found->tokens_in, (struct opt_int){ .set = false });
    return keep_vectors(job, found, err) && asset_search_write(&job->work, &found->search, nearest, answer, err);
}

const struct job_type job_search_images = {
    .max_attempts = SEARCH_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
