/*
 * Preferences: the subscription groups that a person can choose on the page of an
 * unsubscribe link. The operator declares groups of a brand public; all others are
 * private, so the page neither shows nor changes them.
 *
 * A choice changes the public groups of the contact and nothing else. It does not
 * subscribe a person who has unsubscribed. The person can ask for that on the same
 * page: the wish is stored as a consent with its source and time, and lifts
 * the unsubscribe as any later consent does. Bounces and complaints stay.
 *
 * Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/subscriptions/link.h"
#include "sql/preferences.h"

enum { PUBLIC_GROUPS_MAX = 50, PUBLIC_GROUP_TITLE_MAX_CHARS = 100 };

/* The public groups of the link's brand by title, and whether its contact has chosen them. Without a contact none is chosen. The
 * link of a test message shows none. */
MUST_CHECK bool preferences_find(const struct work *work, const struct unsubscribe_link *link, struct preference_row **ret_groups,
                                 size_t *ret_count, struct error *err) NONNULL(1, 2, 3, 4, 5);

struct preference_choice {
    struct text_list groups; /* the chosen ones; the other public groups are not chosen. Ids that are not public are ignored */
    bool subscribes;         /* the person asks for marketing mail again */
};

/* Stores the choice of the link's contact in the open transaction. A contact that was deleted stays deleted, and the link of a test
 * message changes nothing. Errors: INVALID_REQUEST when the contact would have too many groups. */
MUST_CHECK bool preferences_choose(const struct work *work, const struct unsubscribe_link *link,
                                   const struct preference_choice *choice, struct error *err) NONNULL(1, 2, 3, 4);

/* ---- For the operator ---- */

/* Declares a group of the brand public, with its title (NULL: its id), or changes the title.
 * Errors: INVALID_REQUEST (group, name). */
MUST_CHECK bool public_group_set(const struct work *work, const char *name, const char *title, struct error *err) NONNULL(1, 2, 4);

/* Makes a group private. The contacts keep their choice. *ret_changed is false when it was private. */
MUST_CHECK bool public_group_remove(const struct work *work, const char *name, bool *ret_changed, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Writes {"data": [{"group", "title", "createdAt"}]}. */
MUST_CHECK bool public_groups_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);
