/*
 * Lines of declarations, for problems. The parser of JSON keeps none, so the
 * file is read again, which happens only when something is wrong with it.
 */
#pragma once

#include "model.h"

/* The first line of a file below the root that holds this text, 0 when none does. */
int line_of_text(const struct catalogue *all, const char *file, const char *wanted) NONNULL(1, 2, 3);

/* The line of an object of the file's list, or of the list that a member of the file's object holds; the objects are counted
 * from 0. */
int line_of_item(const struct catalogue *all, const char *file, size_t index) NONNULL(1, 2);

/* A place "FILE: name" with the first line of the file that holds this text: "FILE:line: name". */
const char *place_of_text(const struct catalogue *all, const char *place, const char *wanted) NONNULL(1, 2, 3) RETURNS_NONNULL;
