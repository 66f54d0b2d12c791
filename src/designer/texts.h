/*
 * The texts of documents. A function gives texts a new value: those of a block
 * with all that is in it, or the subject and the preview text. Also the parts of
 * a text that are found and kept as a whole: merge tags, addresses of links.
 *
 * Pure. Results are new references of the caller. Any thread.
 */
#pragma once

#include "designer/document.h"

struct text_map {
    /* The new value of a text, a new reference: null removes it. NULL: the text stays. `field` says what kind of text it is; those
     * of the document itself are the fields subjectLine and previewText. */
    json_t *(*new_value)(void *context, const struct document_field *field, const char *text);
    void *context;
};

/* A copy of a block with the new values. */
json_t *texts_map_block(const struct text_map *map, const json_t *block) NONNULL(1, 2) RETURNS_NONNULL;

/* Appends the operation (designer/change.h) that gives a block, or the subject and the preview text of a document, their new
 * values; none when every text stays. */
void texts_change_block(const struct text_map *map, const json_t *block, json_t *operations) NONNULL(1, 2, 3);
void texts_change_members(const struct text_map *map, const json_t *document, json_t *operations) NONNULL(1, 2, 3);

/* A text as a value: null when it has spaces and line breaks only. */
json_t *text_value(const char *text) NONNULL(1) RETURNS_NONNULL;

/* The bytes of a merge tag, or of "](address)", at the beginning of a text; 0: there is none. */
size_t merge_tag_size(const char *text) NONNULL(1) PURE;
size_t link_end_size(const char *text) NONNULL(1) PURE;

/* Whether merge tags begin and end in the text; whether the text belongs to an address. */
bool text_has_whole_tags(const char *text) NONNULL(1) PURE;
bool text_is_address_like(const char *text) NONNULL(1) PURE;
