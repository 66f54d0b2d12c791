/*
 * Models: the operator's own model writes documents, and operations on designs.
 * It never writes HTML. Without a named model none of this is called, and
 * nothing is sent anywhere.
 *
 * An answer is always checked here by the rules of documents. The way to one:
 *   1. a request with a strict JSON Schema
 *   2. JSON mode, and then no mode, when the provider refuses the schema
 *   3. one more turn with the errors of the answer, when it is not valid
 * After that the call fails.
 *
 * The texts of pages and of reference designs are sent as JSON strings that the
 * prompt declares to be data. Prompts, answers and keys are never logged and are
 * in no error.
 *
 * A call blocks its caller, at most 120 s. Results belong to the arena. Any
 * thread may call; calls of one model may run at the same time.
 */
#pragma once

#include "base/values.h"
#include "designer/composer.h"

enum { MODEL_TOTAL_MS = 120 * 1000, MODEL_NAME_MAX_CHARS = 200, MODEL_KEY_MAX_BYTES = 1024, MODEL_REQUEST_MAX_BYTES = 1024 * 1024 };

struct model;

struct model_config {
    const char *provider; /* anthropic, openai or compatible; NULL: no model */
    const char *url;      /* the address that client libraries take as base URL; NULL: the provider's own */
    const char *name;     /* the provider's name of the model */
    const char *key;      /* NULL: none */
    int64_t total_ms;     /* of one call, with all its requests; MODEL_TOTAL_MS when 0 */
};

/* Checks and copies the configuration; connects to nothing. `*ret_model` is NULL when no provider is named.
 * Errors: INVALID_REQUEST with the option: --model, --model-url, --model-name, --model-key. */
MUST_CHECK bool model_new(const struct model_config *config, struct model **ret_model, struct error *err) NONNULL(1, 2, 3);

/* NULL is allowed. */
void model_free(struct model *model);

/* The provider and the model, such as anthropic/NAME; for `made_by` and the run. Lives as long as the model. */
const char *model_engine(const struct model *model) NONNULL(1) RETURNS_NONNULL;

/* The tokens of all requests of a call; not set when the provider did not tell. Filled also when the call fails. */
struct model_usage {
    struct opt_int tokens_in;
    struct opt_int tokens_out;
    int requests;
};

struct model_design {
    const json_t *document;    /* canonical, with ids */
    struct text_list warnings; /* what no source says, and what was left out */
};

/* Writes a document of a brief. Blocks get ids after `*serial`, which moves on.
 * Errors: EMAIL_GENERATION_FAILED with the reason. */
MUST_CHECK bool model_write_document(struct arena *arena, const struct model *model, const struct brief *brief, int64_t *serial,
                                     struct model_design *ret_design, struct model_usage *ret_usage, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6, 7);

/* An edit by prompt. The instruction is the prompt of the brief; the reference of the brief is not used. */
struct model_edit {
    const struct brief *brief;
    const json_t *document; /* canonical; NULL: the design was imported */
    const json_t *outline;  /* of an imported design (renderer_outline) */
    int64_t serial;         /* the number of the last block id of the design */

    /* A further check of the operations, whose error goes back to the model once. May be NULL. */
    bool (*check)(void *context, const json_t *operations, struct error *err);
    void *context;
};

struct model_operations {
    const json_t *operations; /* for document_change with the same serial number, or for renderer_splice */
    struct text_list warnings;
};

/* Writes the operations of an edit. The model first declares the blocks that it touches; an operation on another one is refused.
 * Merge tags, addresses, the footer and its link to unsubscribe survive.
 * Errors: EMAIL_GENERATION_FAILED with the reason. */
MUST_CHECK bool model_write_operations(struct arena *arena, const struct model *model, const struct model_edit *edit,
                                       struct model_operations *ret_operations, struct model_usage *ret_usage, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);
