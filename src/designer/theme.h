/*
 * Themes: the colours and forms of an email. The design text of a brand gives
 * the theme of its emails; a document may have members of its own.
 *
 * A look is a theme with everything derived that drawing needs: the colours of
 * each tone in light and dark mode, sizes and spaces
 * (src/render/sidecar/document/README.md). Texts have a contrast of at least
 * 4.5, and large texts one of 3 (WCAG 2.2 §1.4.3): a colour that misses it is
 * moved in lightness only.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

/* The theme that a design text describes by lines such as "- Accent: #0a7f5a". Lines that name no token, or whose value is not
 * possible, are ignored. NULL: no text. */
const json_t *theme_read_design(struct arena *arena, const char *email_design) NONNULL(1) RETURNS_NONNULL;

/* The lines of a theme; theme_read_design gives the theme again. */
const char *theme_write_design(struct arena *arena, const json_t *theme) NONNULL(1, 2) RETURNS_NONNULL;

/* The look of a document: its own theme, else the brand's, else the usual one. Either may be NULL. */
const json_t *theme_look(struct arena *arena, const json_t *own, const json_t *brand) NONNULL(1) RETURNS_NONNULL;
