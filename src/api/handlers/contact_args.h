/*
 * Contact arguments: turns the contacts of several operations into changes for
 * the engine. Private to the handlers. Texts are borrowed.
 */
#pragma once

#include "catalogue/operations.h"
#include "engine/contacts/contacts.h"

/* Sets the proof of consent; `consent` is NULL when none was given. */
void contact_args_consent(struct contact_change *change, const struct contact_consent *consent) NONNULL(1);

/* Turns a row of a batch into a change. */
struct contact_change contact_args_row(const struct contact_input *row) NONNULL(1);
