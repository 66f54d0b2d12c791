/*
 * The way to a valid answer: strict schema, JSON mode, no mode, one repair turn.
 * Private to src/models.
 */
#pragma once

#include "models/models.h"
#include "models/provider.h"

struct conversation {
    const struct model *model;
    const char *schema_name;
    const char *schema;
    const char *(*rules)(struct arena *arena, const char *schema); /* the instructions, with or without the schema */
    const char *prompt;

    /* Takes the object of an answer. False with the error, whose param and message go back to the model. */
    bool (*take)(void *context, const json_t *object, struct error *err);
    void *context;
    struct model_usage *usage;
};

/* Errors: EMAIL_GENERATION_FAILED with the reason. */
MUST_CHECK bool conversation_hold(struct arena *arena, const struct conversation *conversation, struct error *err) NONNULL(1, 2, 3);
