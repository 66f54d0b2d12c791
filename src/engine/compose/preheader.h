/*
 * Preheader: the preview text that a mailbox shows after the subject. A send can
 * replace the preview text of its design.
 */
#pragma once

#include "base/arena.h"

/* Copies prepared HTML, inserts the hidden `preview_text` at the start of its body, and leaves the design's own preheader out.
 * Filler after the text keeps the design's text out of the preview. Placeholders in the text are kept. HTML without a body tag is
 * copied unchanged. */
char *email_html_with_preview(struct arena *arena, const char *html, const char *preview_text) NONNULL(1, 2, 3) RETURNS_NONNULL;
