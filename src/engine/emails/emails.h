/*
 * Email designs and their versions. Everything costly about a design is done
 * when a version is saved: its HTML is sanitised by the side process, and what
 * the send path evaluates for each recipient is compiled here (prepare.c).
 *
 * A design of another brand is not found. Rows live in the arena of the work.
 */
#pragma once

#include "engine/engine.h"
#include "sql/emails.h"

#include <jansson.h>

enum { EMAIL_TITLE_MAX_CHARS = 200 };

/* ---- Reading ---- */

struct email_filter {
    const char *group_id; /* wire id of a folder, "ungrouped", NULL for all */
    const char *status;   /* NULL for all */
    bool by_created;      /* in the order of creation instead of the last change */
};

/* A page of designs, newest first; one row more than `limit` when another page follows.
 * Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool email_list(const struct work *work, const struct email_filter *filter, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* ---- Importing ---- */

struct email_import {
    const char *title;        /* NULL: the document's own */
    const char *subject_line; /* NULL: none */
    int64_t group_id;         /* 0: none */
    const char *group_name;   /* NULL: none; made when missing */
};

/* What a version is made of. */
struct email_content {
    const char *html;
    const char *text;
    struct bytes html_code;
    struct bytes text_code;
    const char *title;        /* NULL: the document has none */
    const char *preview_text; /* NULL: none */
    const char *links_json;
    struct text_list paths; /* that the slots name */
    const json_t *report;   /* what was removed, and warnings */
    int64_t image_count;
};

/* Checks what does not depend on the content. Errors: INVALID_REQUEST (subjectLine, groupName), EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_check_import(const struct work *work, const struct email_import *import, struct error *err) NONNULL(1, 2, 3);

/* Compiles the answer of the side process. Errors: INVALID_REQUEST with the param `content`, naming the place;
 * INTERNAL_ERROR for an answer of another shape. */
MUST_CHECK bool email_prepare(struct arena *arena, const json_t *prepared, struct email_content *ret_content, struct error *err)
    NONNULL(1, 2, 3, 4);

struct email_saved {
    int64_t id;
    int64_t version_id;
    const char *title;
    struct opt_int group_id;
    const char *group_name;
};

/* Saves a finished design with its first version. Errors: EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_save_import(const struct work *work, const struct email_import *import, const struct email_content *content,
                                  struct email_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Wire shapes (emails_json.c) ---- */

/* The resource "emailSummary". */
void email_write_summary(const struct work *work, const struct email_summary_row *email, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "email". */
void email_write(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more, struct json_writer *json)
    NONNULL(1, 2, 4);

/* The resource "importedEmail". */
void email_write_imported(const struct work *work, const struct email_import *import, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json) NONNULL(1, 2, 3, 4, 5);
