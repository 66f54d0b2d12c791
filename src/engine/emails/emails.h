/*
 * Email designs and their versions. Everything costly about a design is done
 * when a version is saved: its HTML is sanitised by the renderer, and what
 * the send path evaluates for each recipient is compiled here (prepare.c).
 *
 * A design of another brand is not found. Rows live in the arena of the work.
 */
#pragma once

#include "engine/assets/asset_report.h"
#include "engine/core/work.h"
#include "sql/emails.h"

#include <jansson.h>

enum { EMAIL_TITLE_MAX_CHARS = 200, EMAIL_VERSIONS_SHOWN = 100 };

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
    struct text_list paths;     /* that the slots name */
    const json_t *report;       /* what was removed, and warnings; NULL: nothing to tell */
    struct asset_report images; /* what became of them; email_prepare knows of none */
};

/* Whether a default subject can be sent. Errors: INVALID_REQUEST (subjectLine). */
MUST_CHECK bool email_check_subject(const struct work *work, const char *subject_line, struct error *err) NONNULL(1, 2, 3);

/* Checks what does not depend on the content. Errors: INVALID_REQUEST (subjectLine, groupName), EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_check_import(const struct work *work, const struct email_import *import, struct error *err) NONNULL(1, 2, 3);

/* Compiles what the send path evaluates: html and text must be set, code and paths are made. Errors: as email_prepare. */
MUST_CHECK bool email_compile(struct arena *arena, struct email_content *content, struct error *err) NONNULL(1, 2, 3);

/* Compiles the answer of the renderer. Errors: INVALID_REQUEST with the param `content`, naming the place;
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

/* A design with its first version, as it stands in `saved` but for the ids, which are set. */
MUST_CHECK bool email_insert_design(const struct work *work, const struct email_content *content, const char *subject_line,
                                    struct email_saved *saved, struct error *err) NONNULL(1, 2, 4, 5);

/* Saves a finished design with its first version. Errors: EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_save_import(const struct work *work, const struct email_import *import, const struct email_content *content,
                                  struct email_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Changing (edit.c) ---- */

/* Where a design is put: in the folder named, in none (groupId null or "ungrouped"), or where it is. */
struct email_folder {
    struct opt_text group_id; /* as the caller wrote it */
    const char *group_name;   /* NULL: not said; made when missing */
};

struct email_change {
    const char *title; /* NULL: stays */
    struct opt_text subject_line;
    struct email_folder folder;
};

/* Changes what is known about a design; no version is made.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY (a subject without a version to stand on),
 * EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_change(const struct work *work, int64_t email_id, const struct email_change *change,
                             struct email_find_row **ret_email, struct error *err) NONNULL(1, 3, 4, 5);

struct email_deletion {
    bool deleted;              /* by this call */
    struct opt_int deleted_at; /* unset: there never was such a design */
};

/* A deleted design is not found any more; its versions stay, because sends were made of them. */
MUST_CHECK bool email_delete(const struct work *work, int64_t email_id, struct email_deletion *ret_deletion, struct error *err)
    NONNULL(1, 3, 4);

/* A version by its id or by its number; one of both is set. */
struct email_version_name {
    int64_t id;            /* 0: not named by id */
    struct opt_int number; /* unset: not named by number */
};

/* Makes a saved version the latest again, as a new version. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS,
 * EMAIL_VERSION_NOT_FOUND. */
MUST_CHECK bool email_restore(const struct work *work, int64_t email_id, const struct email_version_name *version,
                              struct email_find_row **ret_email, struct error *err) NONNULL(1, 3, 4, 5);

/* ---- Copying (clone.c) ---- */

struct email_copy {
    const char *email_id; /* as the caller wrote it: a design of the brand, or a template of the gallery */
    int64_t version_id;   /* 0: the latest */
    const char *title;    /* NULL: made from the title of the source */
    struct email_folder folder;
};

/* A new design with the content of another one, or of a template.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND, EMAIL_NOT_READY, EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_clone(const struct work *work, const struct email_copy *copy, struct email_find_row **ret_email,
                            struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Elsewhere ---- */

/* Whether a design could be exported to a provider now. Nothing can be connected yet, so in the end it never can.
 * Errors: EMAIL_NOT_FOUND, EMAIL_NOT_READY, INTEGRATION_NOT_CONNECTED. */
MUST_CHECK bool email_check_export(const struct work *work, int64_t email_id, const char *provider, struct error *err)
    NONNULL(1, 3, 4);

/* Whether a frame of the design tool could be read now. No design tool can be connected yet, so in the end it never can.
 * Errors: FIGMA_URL_INVALID with the param given, FIGMA_NOT_CONNECTED. */
MUST_CHECK bool email_check_figma(const char *url, const char *param, struct error *err) NONNULL(1, 2, 3);

/* ---- Wire shapes (emails_json.c) ---- */

/* The resource "emailSummary". */
void email_write_summary(const struct work *work, const struct email_summary_row *email, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "email". */
void email_write(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more,
                 struct json_writer *json) NONNULL(1, 2, 4);

/* The resource "importedEmail". */
void email_write_imported(const struct work *work, const struct email_import *import, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json) NONNULL(1, 2, 3, 4, 5);
