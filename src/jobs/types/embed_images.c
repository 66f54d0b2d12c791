/*
 * The job that makes the vectors of a brand's images with the embedding model of
 * the operator. Each step is saved by itself, so a worker that is lost repeats
 * one step. While the model is away the job is tried again; when it has failed
 * for good, the next search or the next image enqueues another one.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/assets/asset_vectors.h"
#include "models/embeddings.h"

#include <assert.h>

enum {
    EMBED_MAX_ATTEMPTS = 8,
    STEPS_A_ROUND = 40,
    PASSES_A_ROUND = 8, /* a model whose vectors change their size would never be done */
    STEP_MS = 30 * 1000,
    STATUS_OK = 200,
};

static_assert((int)ASSET_VECTORS_A_STEP <= (int)EMBEDDINGS_TEXTS_MAX, "a step is one request");

/* Shorter than the lease of a job, with a last step that takes all of its time. */
static const int64_t round_us = 60 * US_PER_S;

struct embedding {
    bool has_more; /* the round has ended before the images */
};

/* Makes the vectors of the images before `*before_id`, which moves on. After the oldest image it begins again at the newest, because
 * an image that came meanwhile has found this job and enqueued no other. */
static bool embed_step(struct job *job, int64_t *before_id, bool *ret_more, struct error *err)
{
    const struct embeddings *model = job->services->embeddings;
    const char *texts[ASSET_VECTORS_A_STEP];
    struct asset_vectors_missing_row *rows;
    struct embedded_texts embedded;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = job->work;
    size_t count;
    work.arena = arena;
    if (!asset_vectors_missing(&work, embeddings_engine(model), *before_id, &rows, &count, err))
        return false;
    bool is_last_page = count < ASSET_VECTORS_A_STEP;
    *ret_more = count > 0;
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        texts[i] = rows[i].text;
    if (!embeddings_make(arena, model, (struct text_list){ texts, count }, STEP_MS, &embedded, err))
        return false;
    *before_id = is_last_page ? INT64_MAX : rows[count - 1].id;
    struct asset_vector vectors = { embedded.vectors, embedded.dimensions };
    return asset_vectors_save(&work, embeddings_engine(model), rows, count, vectors, err);
}

static bool execute(struct job *job, struct error *err)
{
    struct embedding *embedding = arena_alloc(job->work.arena, sizeof(*embedding));
    int64_t until_us = clock_monotonic_us() + round_us;
    int64_t before_id = INT64_MAX;
    job->result = embedding;
    embedding->has_more = job->services->embeddings != NULL;
    size_t passes = 0;
    for (size_t step = 0; embedding->has_more && step < STEPS_A_ROUND && clock_monotonic_us() < until_us; step++) {
        if (!embed_step(job, &before_id, &embedding->has_more, err))
            return false;
        passes += before_id == INT64_MAX ? 1 : 0;
        embedding->has_more = embedding->has_more && passes < PASSES_A_ROUND;
    }
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct embedding *embedding = job->result;
    (void)answer; /* no caller waits for it */
    (void)err;
    *ret_status = STATUS_OK;
    if (embedding->has_more)
        job_run_again(job, job->work.now_us);
    return true;
}

const struct job_type job_embed_images = {
    .max_attempts = EMBED_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
