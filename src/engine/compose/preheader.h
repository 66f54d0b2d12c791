/*
 * The preview text of a message: what a mailbox shows behind the subject. A
 * send may replace that of its design.
 */
#pragma once

#include "base/arena.h"

/* A copy of prepared HTML whose body begins with `preview_text`, hidden, and enough filler that nothing of the design
 * shows behind it in a list of messages. Slots in the text are kept. HTML without a body tag is copied as it is. */
char *email_html_with_preview(struct arena *arena, const char *html, const char *preview_text) NONNULL(1, 2, 3) RETURNS_NONNULL;
