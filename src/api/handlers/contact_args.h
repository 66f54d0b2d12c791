/*
 * Contact arguments: turns the contacts of several operations into changes for
 * the engine. Private to the handlers. Texts are borrowed.
 */
#pragma once

#include "catalogue/operations.h"
#include "engine/contacts/contacts.h"

/* Sets the proof of consent; `consent` is NULL when none was given. */
void contact_args_consent(struct contact_change *change, const struct contact_consent *consent) NONNULL(1);

/* Turns the rows of a batch into changes. */
struct contact_change *contact_args_rows(struct arena *arena, struct contact_input_list rows) NONNULL(1) RETURNS_NONNULL;
