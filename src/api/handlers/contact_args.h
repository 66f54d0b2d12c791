/*
 * Inside the handlers: contacts as arguments, whichever operation they come
 * with, as changes for the engine. Texts are borrowed.
 */
#pragma once

#include "catalogue/operations.h"
#include "engine/contacts/contacts.h"

/* The proof of consent; `consent` NULL when none was given. */
void contact_args_consent(struct contact_change *change, const struct contact_consent *consent) NONNULL(1);

/* A row of a batch. */
struct contact_change contact_args_row(const struct contact_input *row) NONNULL(1);
