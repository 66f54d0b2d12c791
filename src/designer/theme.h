/*
 * Themes: the colours and forms of an email, read from the design text of its
 * brand and completed so that every text has enough contrast.
 *
 * Contrast is that of WCAG 2.2 §1.4.3: 4.5 for text, 3 for large text and for
 * buttons. A colour that misses it is moved in OKLCH lightness only.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

/* The theme that a brand's design text describes: lines such as "- Accent: #0a7f5a". Lines that are no token are ignored. */
const json_t *theme_read_design(struct arena *arena, const char *email_design) NONNULL(1) RETURNS_NONNULL;

/* The design text of a theme; theme_read_design gives the theme again. */
const char *theme_write_design(struct arena *arena, const json_t *theme) NONNULL(1, 2) RETURNS_NONNULL;

/* A whole theme, with every member: the document's own, else the brand's, else the usual ones; with enough contrast. */
const json_t *theme_complete(struct arena *arena, const json_t *own, const json_t *brand) NONNULL(1) RETURNS_NONNULL;
