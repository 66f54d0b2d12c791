/*
 * Link tracker: writes the tracked addresses of one message after the other, for
 * the composer of a send. A link of the web gets an address on the host of the
 * tracker; the picture that reports opens goes to the end of the HTML body.
 *
 * It belongs to one thread and is allocated in the arena of the composer.
 */
#pragma once

#include "engine/core/work.h"
#include "template/template.h"

struct link_tracker;

enum { LINK_TRACKER_PICTURE_MAX_BYTES = 1024 };

struct link_tracker_config {
    const char *base_url; /* without a trailing slash */
    int64_t brand_id;
    int64_t send_id;
    const char *untracked; /* addresses that begin so are never tracked: the unsubscribe links */
};

/* NULL when the base URL is too long or an id too large; then nothing is tracked. */
struct link_tracker *link_tracker_new(const struct work *work, const struct link_tracker_config *config) NONNULL(1, 2);

/* Begins the message of a recipient. False: its links cannot be tracked. */
bool link_tracker_begin(struct link_tracker *tracker, int64_t ordinal) NONNULL(1);

/* The address for a link, as template_lookup.link wants it. `kind` is that of the text; the arena is scratch memory. */
struct bytes link_tracker_address(struct link_tracker *tracker, struct arena *scratch, enum template_kind kind, unsigned number,
                                  bool is_merged, const char *text, size_t size) NONNULL(1, 2, 6);

/* Adds the picture that reports opens at the end of the body. */
void link_tracker_add_picture(struct link_tracker *tracker, struct buf *html) NONNULL(1, 2);
