/*
 * The texts that are sent to a model. Material of others (pages, reference
 * designs, designs that are edited) is sent as JSON, which the prompt declares to
 * be data. Private to src/models.
 */
#pragma once

#include "models/models.h"
#include "models/provider.h"

/* Instructions for a kind of work. With `schema` they contain it, for a provider that does not get or heed it. */
const char *prompt_for_document(struct arena *arena, const char *schema) NONNULL(1) RETURNS_NONNULL;
const char *prompt_for_operations(struct arena *arena, const char *schema) NONNULL(1) RETURNS_NONNULL;
const char *prompt_for_splices(struct arena *arena, const char *schema) NONNULL(1) RETURNS_NONNULL;

/* The request of the caller and the material. */
const char *prompt_brief(struct arena *arena, const struct brief *brief) NONNULL(1, 2) RETURNS_NONNULL;
const char *prompt_edit(struct arena *arena, const struct model_edit *edit) NONNULL(1, 2) RETURNS_NONNULL;

/* The turn that names an error of the answer. With `schema` it contains it. */
const char *prompt_repair(struct arena *arena, const char *problem, const char *schema) NONNULL(1, 2) RETURNS_NONNULL;
