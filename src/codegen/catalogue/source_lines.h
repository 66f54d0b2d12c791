/*
 * Line numbers of declarations, for error messages. The JSON parser does not
 * keep them, so the file is read again when an error is reported.
 */
#pragma once

#include "model.h"

/* The first line of a file below the root that contains this text; 0 when there is none. */
int line_of_text(const struct catalogue *all, const char *file, const char *wanted) NONNULL(1, 2, 3);

/* The line of item `index` (from 0) of a list. The list is the whole file, or a member of its top object. */
int line_of_item(const struct catalogue *all, const char *file, size_t index) NONNULL(1, 2);

/* A place "FILE: name" with the first line of the file that holds this text: "FILE:line: name". */
const char *place_of_text(const struct catalogue *all, const char *place, const char *wanted) NONNULL(1, 2, 3) RETURNS_NONNULL;
