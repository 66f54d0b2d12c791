/*
 * Figures of mail as assistants read them: rates beside counts, and null in
 * place of a figure that does not exist. Opens and clicks of mail that was not
 * tracked are not known, so their count 0 means nothing, and is written as null.
 */
#pragma once

#include "engine/core/work.h"

struct mail_figures {
    int64_t sent; /* accepted by the receiving servers */
    int64_t delivered;
    int64_t opened;
    int64_t clicked;
    int64_t bounced; /* refused by the receiving servers; not among `sent` */
    int64_t complained;
    int64_t unsubscribed;
    int64_t bounced_later; /* of `bounced`: accepted first; they are among `sent` */
    bool is_tracked;       /* mail that reports opens and clicks is among the sent */
};

/* The seven members of the resource "sendStats". */
void figures_write(const struct work *work, const struct mail_figures *figures, struct json_writer *json) NONNULL(1, 2, 3);

/* The member `rates`: shares of 0 to 1, null where there is nothing to divide by or the count is not tracked. */
void figures_write_rates(const struct mail_figures *figures, struct json_writer *json) NONNULL(1, 2);

/* The member `notTracked`: the counts that are null because no mail reports them. Absent when there are none. */
void figures_write_not_tracked(const struct mail_figures *figures, struct json_writer *json) NONNULL(1, 2);
