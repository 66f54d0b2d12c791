/*
 * Embeddings: a model of the operator turns texts into vectors, so that a search
 * finds what means the same. Without a named model none of this is called, and
 * nothing is sent anywhere.
 *
 * The API is that of `/v1/embeddings`, which OpenAI and most local servers have.
 * Texts, answers and keys are never logged and are in no error.
 *
 * A call blocks its caller for at most its time. Results belong to the arena.
 * Any thread may call; calls of one model may run at the same time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

enum {
    EMBEDDINGS_TEXTS_MAX = 32, /* of one call */
    EMBEDDINGS_TEXT_MAX_BYTES = 1500,
    EMBEDDINGS_DIMENSIONS_MAX = 4096,
    EMBEDDINGS_KEY_MAX_BYTES = 1024,
};

struct embeddings;

struct embeddings_config {
    const char *provider; /* openai, or the base address of a server; NULL: no model */
    const char *name;     /* the provider's name of the model */
    const char *key;      /* NULL: none */
};

/* Checks and copies the configuration; connects to nothing. `*ret_embeddings` is NULL when no provider is named.
 * Errors: INVALID_REQUEST with the option: --embeddings, --embeddings-model, --embeddings-key-file, --embeddings-key. */
MUST_CHECK bool embeddings_new(const struct embeddings_config *config, struct embeddings **ret_embeddings, struct error *err)
    NONNULL(1, 2, 3);

/* NULL is allowed. */
void embeddings_free(struct embeddings *embeddings);

/* The provider and the model, such as compatible/NAME. Vectors of different names are never compared. Lives as long as the model.
 */
const char *embeddings_engine(const struct embeddings *embeddings) NONNULL(1) RETURNS_NONNULL;

/* Vectors of length one, one after the other. */
struct embedded_texts {
    const float *vectors;
    size_t count;
    size_t dimensions;        /* of each */
    struct opt_int tokens_in; /* not set when the provider did not tell */
};

/* The vectors of 1 to EMBEDDINGS_TEXTS_MAX texts, of which EMBEDDINGS_TEXT_MAX_BYTES each are read. Errors: SERVICE_UNAVAILABLE
 * with the reason. */
MUST_CHECK bool embeddings_make(struct arena *arena, const struct embeddings *embeddings, struct text_list texts, int64_t total_ms,
                                struct embedded_texts *ret_embedded, struct error *err) NONNULL(1, 2, 5, 6);
