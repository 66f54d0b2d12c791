/*
 * What an edit by an instruction must keep: the merge tags and the links of the
 * version before, the link to unsubscribe among them.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "engine/emails/emails.h"

/* The merge tags and links of a version. */
struct email_parts {
    const char *links_json; /* as the renderer lists them; NULL: none */
    struct text_list paths; /* of the merge tags */
};

/* Checks that `after` has all parts of `before`, except those that are in a text of `named`: the old values of what the edit
 * changes by name. Errors: EMAIL_GENERATION_FAILED names the first lost part. */
MUST_CHECK bool email_check_kept(struct arena *arena, const struct email_parts *before, const struct email_content *after,
                                 const json_t *named, struct error *err) NONNULL(1, 2, 3, 4, 5);
