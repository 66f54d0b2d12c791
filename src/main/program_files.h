/*
 * Program files: the parts of an installation that run in processes of their
 * own. Each is searched relative to the running program, first in the installed
 * tree and then in the build tree, so that an installed tree can be moved.
 */
#pragma once

#include "cli/options.h"

struct program_files {
    const char *node;            /* --node; the installed Node.js; else "node", which PATH resolves */
    const char *renderer_script; /* main.mjs in --render-dir or in the installed renderer */
    const char *image_program;   /* posthorn-image */
    bool node_is_installed;      /* it is part of this installation, so its version fits */
};

void program_files_find(struct arena *arena, const struct options *options, struct program_files *ret_files) NONNULL(1, 2, 3);

/* Names a missing part without which designs cannot be imported; NULL: none. Checks files, and runs Node.js only when it must be
 * found in PATH. */
const char *program_files_missing(struct arena *arena, const struct program_files *files) NONNULL(1, 2);

/* The same check; also runs a Node.js that is not part of this installation, because it may be too old. */
const char *program_files_problem(struct arena *arena, const struct program_files *files) NONNULL(1, 2);
