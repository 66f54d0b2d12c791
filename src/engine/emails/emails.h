/*
 * Email designs and their versions. The expensive work happens when a version is
 * saved: the renderer sanitises the HTML (sanitiser), and the templates are
 * compiled here (prepare.c), so that a send only evaluates them.
 *
 * A design of another brand is not found. Rows are allocated in the arena of the
 * work.
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
    bool by_created;      /* order by creation instead of the last change */
};

/* Writes a page of designs, newest first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool email_list(const struct work *work, const struct email_filter *filter, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* ---- Importing ---- */

struct email_import {
    const char *title;        /* NULL: the document's own */
    const char *subject_line; /* NULL: none */
    int64_t group_id;         /* 0: none */
    const char *group_name;   /* NULL: none; created when missing */
};

/* The content of a version. */
struct email_content {
    const char *html;
    const char *text;
    struct bytes html_code;
    struct bytes text_code;
    const char *title;        /* NULL: the document has none */
    const char *preview_text; /* NULL: none */
    const char *links_json;
    const char *link_table_json; /* the numbered links (engine/tracking/link_table.h) */
    struct text_list paths;      /* the paths of the placeholders */
    const json_t *report;        /* removed elements and warnings; NULL: none */
    struct asset_report images;  /* the outcome for each image; empty after email_prepare */
};

/* Sentences for callers: what was removed, and images that could not be hosted. */
struct text_list email_content_warnings(struct arena *arena, const struct email_content *content) NONNULL(1, 2);

/* Checks that a default subject compiles. Errors: INVALID_REQUEST (subjectLine). */
MUST_CHECK bool email_check_subject(const struct work *work, const char *subject_line, struct error *err) NONNULL(1, 2, 3);

/* Compiles html and text, which must be set, into code and paths. Errors: as email_prepare. */
MUST_CHECK bool email_compile(struct arena *arena, struct email_content *content, struct error *err) NONNULL(1, 2, 3);

enum { EMAIL_NUMBERED_A_ROUND = 20 };

/* Numbers the links of the next stored versions that have no table of links, in the open transaction. A version that no longer
 * compiles gets an empty table. `ret_left` counts the versions that are left; those that a running send uses wait for its end. */
MUST_CHECK bool email_number_links(const struct work *work, size_t *ret_numbered, int64_t *ret_left, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Reads and compiles the result of the renderer. Errors: INVALID_REQUEST with the param `content` and the line;
 * INTERNAL_ERROR for an incomplete result. */
MUST_CHECK bool email_prepare(struct arena *arena, const json_t *prepared, struct email_content *ret_content, struct error *err)
    NONNULL(1, 2, 3, 4);

struct email_saved {
    int64_t id;
    int64_t version_id;
    const char *title;
    struct opt_int group_id;
    const char *group_name;
};

/* A version to save. */
struct email_version {
    const struct email_content *content; /* compiled */
    const char *subject_line;            /* NULL: none */
    const char *document_json;           /* canonical (designer/document.h); NULL: there is HTML only */
    const char *changes_json;            /* the operations that made it of the version before; NULL: it was made as a whole */
    const char *made_by;                 /* import, composer, caller, instruction, restore, clone, or a model */
    const char *title;                   /* of the design; NULL: unchanged */
    int64_t block_serial;                /* of its last block id; 0 without a document */
};

/* Inserts a design with its first version. Takes title and group from `saved`, and sets the ids in it. */
MUST_CHECK bool email_insert_design(const struct work *work, const struct email_version *version, struct email_saved *saved,
                                    struct error *err) NONNULL(1, 2, 3, 4);

/* Appends a version as the latest one of a locked design, which is ready then. */
MUST_CHECK bool email_append_version(const struct work *work, int64_t email_id, const struct email_version *version,
                                     struct email_find_row **ret_email, struct error *err) NONNULL(1, 3, 4, 5);

/* Saves an imported design with its first version. Errors: EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_save_import(const struct work *work, const struct email_import *import, const struct email_content *content,
                                  struct email_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Changing (edit.c) ---- */

/* Locks a design until the transaction ends, and checks that it can be edited.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS. */
MUST_CHECK bool email_lock_for_edit(const struct work *work, int64_t email_id, struct email_lock_row **ret_email, struct error *err)
    NONNULL(1, 3, 4);

/* The folder of a design: a folder, none (groupId null or "ungrouped"), or unchanged (both unset). */
struct email_folder {
    struct opt_text group_id; /* as the caller wrote it */
    const char *group_name;   /* NULL: not given; created when missing */
};

struct email_change {
    const char *title; /* NULL: unchanged */
    struct opt_text subject_line;
    struct email_folder folder;
};

bool email_change_is_empty(const struct email_change *change) NONNULL(1);

/* Checks a change, which may be empty, before it is made. Errors: INVALID_REQUEST, EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_check_change(const struct work *work, const struct email_change *change, struct error *err) NONNULL(1, 2, 3);

/* Changes the metadata of a design, without a new version.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY (a subject for a design without a version),
 * EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_change(const struct work *work, int64_t email_id, const struct email_change *change,
                             struct email_find_row **ret_email, struct error *err) NONNULL(1, 3, 4, 5);

struct email_deletion {
    bool deleted;              /* by this call */
    struct opt_int deleted_at; /* unset: the design never existed */
};

/* Deletes a design (soft delete). It is not found any more. Its versions stay, because sends use them. */
MUST_CHECK bool email_delete(const struct work *work, int64_t email_id, struct email_deletion *ret_deletion, struct error *err)
    NONNULL(1, 3, 4);

/* Identifies a version by its id or by its number; one of them is set. */
struct email_version_name {
    int64_t id;            /* 0: not given */
    struct opt_int number; /* unset: not given */
};

/* Restores a saved version as a new latest version. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS,
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

/* Clones a design, or a template of the gallery.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND, EMAIL_NOT_READY, EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_clone(const struct work *work, const struct email_copy *copy, struct email_find_row **ret_email,
                            struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Export and import with other services (provider_export.c) ---- */

/* Checks an export to a provider, and always fails, because providers cannot be connected yet. `sender_email` may be NULL.
 * Errors: INVALID_REQUEST (senderEmail), EMAIL_NOT_FOUND, EMAIL_NOT_READY, INTEGRATION_NOT_CONNECTED. */
MUST_CHECK bool email_check_export(const struct work *work, int64_t email_id, const char *provider, const char *sender_email,
                                   struct error *err) NONNULL(1, 3, 5);

/* Checks the URL of a Figma frame, and always fails, because Figma cannot be connected yet.
 * Errors: FIGMA_URL_INVALID with `param`, FIGMA_NOT_CONNECTED. */
MUST_CHECK bool email_check_figma(const char *url, const char *param, struct error *err) NONNULL(1, 2, 3);

/* ---- Wire shapes (emails_json.c) ---- */

/* The resource "emailSummary". */
void email_write_summary(const struct work *work, const struct email_summary_row *email, struct json_writer *json) NONNULL(1, 2, 3);

/* The run of a generation, as the resource "email" shows it. */
struct email_run {
    const char *json;  /* the member `generation` */
    const char *error; /* NULL: it has not failed */
};

/* The resource "email" with its run; `more` and `run` may be NULL. */
void email_write_detail(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more,
                        const struct email_run *run, struct json_writer *json) NONNULL(1, 2, 5);

/* The resource "email". */
void email_write(const struct work *work, const struct email_find_row *email, const struct email_find_long_row *more,
                 struct json_writer *json) NONNULL(1, 2, 4);

/* The resource "emailGeneration". */
void email_write_generation(const struct work *work, const struct email_find_row *email, int64_t run_id, struct json_writer *json)
    NONNULL(1, 2, 4);

/* The resource "editedEmail". `replaced` is the renderer's count of each replacement. */
void email_write_edited(const struct work *work, const struct email_find_row *email, const json_t *replaced,
                        struct json_writer *json) NONNULL(1, 2, 3, 4);

/* The resource "changedEmail". `changes` has the operations as they were applied. */
void email_write_changed(const struct work *work, const struct email_find_row *email, const json_t *changes,
                         const struct email_content *content, struct json_writer *json) NONNULL(1, 2, 3, 4, 5);

/* The resource "composedEmail". `subject_line` NULL: none. */
void email_write_composed(const struct work *work, const char *subject_line, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json) NONNULL(1, 3, 4, 5);

/* The resource "importedEmail". */
void email_write_imported(const struct work *work, const struct email_import *import, const struct email_content *content,
                          const struct email_saved *saved, struct json_writer *json) NONNULL(1, 2, 3, 4, 5);
