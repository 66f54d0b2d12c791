/*
 * Suggestions: what to do after an error, in the terms of each reader. A text
 * of schemas/errors.json names an operation as {emails.list}, with arguments as
 * {emails.get include=versions}. Programs read it as a route, the command line
 * as a command, an assistant as a tool. The part in [ ] is left out for an
 * assistant that does not see the tool.
 */
#pragma once

#include "model.h"

enum reader { READER_PROGRAM, READER_COMMAND, READER_ASSISTANT, READER_WITHOUT_TOOLS };

/* The suggestion of a row of schemas/errors.json for a reader. The members `mcp` and `command` come before `suggestion`. Reports
 * names that do not exist. For READER_ASSISTANT: the text of READER_WITHOUT_TOOLS when one of its tools is not built. */
const char *suggestion_for(const struct catalogue *all, const json_t *row, enum reader reader) NONNULL(1, 2) RETURNS_NONNULL;

/* The tools that the suggestion for an assistant names, without repetitions; a new reference. */
json_t *suggested_tools(const struct catalogue *all, const json_t *row) NONNULL(1, 2) RETURNS_NONNULL;
