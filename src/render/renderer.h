/*
 * Renderer: the client of the sidecar, a Node subprocess for HTML work
 * (src/render/sidecar). The protocol is JSON lines: {"id", "op", …} as the request,
 * {"id", "ok", "result" or "error"} as the reply.
 *
 * There are processes of two kinds with the same program. Those of one kind make
 * and change designs, for callers who wait. The others check mails, draw pictures
 * and read websites; these requests may take minutes, and hold no design of
 * another brand. The first request of a kind starts its first process. The first
 * process of designs then keeps running; each other one ends when it is idle.
 *
 * A process handles one request at a time, and callers wait for each other within
 * their deadline. An organization has one process of a kind at most; a second one
 * is started for another organization that has waited for half a second. A timeout, a crash, and an overlong or malformed reply end
 * the process and give SERVICE_UNAVAILABLE, which is retryable; the next request starts a new process. A process that died while
 * idle is replaced without an error. It ends with the thread that started it, so that thread should live long.
 *
 * Any thread may call. The owner frees the renderer when no call is running.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

#include <jansson.h>
#include <stdint.h>

enum {
    /* Longer than these deadlines of the sidecar (limits.mjs) together: 20 s for each of two attempts to start a browser, 60 s to
     * render a JSX design, 45 s to prepare its HTML. */
    RENDERER_DEADLINE_MS = 150000,
    RENDERER_IDLE_MS = 120000,
    RENDERER_HEAP_MB = 512,
    RENDERER_MAX_REQUEST_BYTES = 8 * 1024 * 1024,
    RENDERER_MAX_REPLY_BYTES = 32 * 1024 * 1024,
};

struct renderer_config {
    const char *node_path;   /* looked up in PATH when it has no '/' */
    const char *script_path; /* main.mjs, absolute */
    int64_t deadline_ms;     /* of one request, including a start of the process; RENDERER_DEADLINE_MS when 0 */
    int64_t idle_ms;         /* after which renderer_end_idle ends a process; RENDERER_IDLE_MS when 0 */
    int heap_mb;             /* --max-old-space-size; RENDERER_HEAP_MB when 0 */
    size_t max_reply_bytes;  /* RENDERER_MAX_REPLY_BYTES when 0 */

    /* Called by the requesting thread with each line of the standard error of its process, without the newline; by a thread of
     * each process at the same time. May be NULL. */
    void (*log)(void *context, const char *line);
    void *log_context;
};

struct renderer;

/* A renderer and the organization whose request it is; 0: of the service itself. */
struct renderer_caller {
    struct renderer *renderer; /* not NULL */
    int64_t organization_id;
};

static inline struct renderer_caller renderer_for(struct renderer *renderer, int64_t organization_id)
{
    return (struct renderer_caller){ .renderer = renderer, .organization_id = organization_id };
}

/* Copies the configuration; does not start the process. */
struct renderer *renderer_new(const struct renderer_config *config) NONNULL(1) RETURNS_NONNULL;

/* Ends the processes that run. NULL is allowed. */
void renderer_free(struct renderer *renderer);

/* Ends each process but the first one of designs when it has had no request for the idle time. To be called from time to time.
 * NULL is allowed. */
void renderer_end_idle(struct renderer *renderer);

/* Prepares an email whose `format` is html, mjml or jsx. The result is the process's reply and belongs to the arena.
 * `base_url` may be NULL. Errors: EMAIL_IMPORT_FAILED, INVALID_REQUEST and PAYLOAD_TOO_LARGE with the param and message of
 * the process; SERVICE_UNAVAILABLE as above, and for jsx without an installed browser; INTERNAL_ERROR for a bug in the
 * process. */
MUST_CHECK bool renderer_prepare(struct renderer_caller caller, struct arena *arena, const char *format, const char *content,
                                 const char *base_url, const json_t **ret_result, struct error *err) NONNULL(2, 3, 4, 6, 7);

/* Replaces the addresses of images in prepared HTML. `images_json` is an object that maps the addresses from the preparation
 * to new ones, or to null to remove the image. Errors: as renderer_prepare. */
MUST_CHECK bool renderer_replace_images(struct renderer_caller caller, struct arena *arena, const char *html,
                                        const char *images_json, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 4, 5, 6);

/* The addresses of the images in finished HTML, each once: `urls`. Errors: as renderer_prepare. */
MUST_CHECK bool renderer_list_images(struct renderer_caller caller, struct arena *arena, const char *html,
                                     const json_t **ret_result, struct error *err) NONNULL(2, 3, 4, 5);

/* Replaces exact texts in prepared HTML and its subject, which may be NULL. `replacements_json` is an array of objects with find,
 * with and all. Errors: as renderer_prepare; INVALID_REQUEST names the replacement: replacements.0.find. */
MUST_CHECK bool renderer_replace_text(struct renderer_caller caller, struct arena *arena, const char *html, const char *subject,
                                      const char *replacements_json, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 5, 6, 7);

/* The texts, links and images of prepared HTML with their ids and places (src/render/sidecar/README.md). Errors: as
 * renderer_prepare. */
MUST_CHECK bool renderer_outline(struct renderer_caller caller, struct arena *arena, const char *html, const json_t **ret_result,
                                 struct error *err) NONNULL(2, 3, 4, 5);

/* Gives places of an outline new texts or addresses, all or none. `edits_json` is an array of objects with id, with and drop, the
 * merge tags that may go. Errors: as renderer_prepare; INVALID_REQUEST names the edit: edits.0.with. */
MUST_CHECK bool renderer_splice(struct renderer_caller caller, struct arena *arena, const char *html, const char *edits_json,
                                const json_t **ret_result, struct error *err) NONNULL(2, 3, 4, 5, 6);

/* Draws a document (src/designer/document.h) with a look (src/designer/theme.h), and prepares the HTML as renderer_prepare does.
 * The result has `blocks` besides: an object for each block with its id and the place of its part in the HTML (begin and end, in
 * bytes). `brand_json` is an object that may have locale and timeZone. Errors: as renderer_prepare. */
MUST_CHECK bool renderer_draw_document(struct renderer_caller caller, struct arena *arena, const char *document_json,
                                       const char *look_json, const char *brand_json, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 4, 5, 6, 7);

/* Reads a fetched web page (src/render/sidecar/page/README.md). `url` is its address, http or https. Errors: as renderer_prepare;
 * EMAIL_IMPORT_FAILED for bytes that are no page with a text. */
MUST_CHECK bool renderer_read_page(struct renderer_caller caller, struct arena *arena, const char *url, struct bytes page,
                                   const json_t **ret_result, struct error *err) NONNULL(2, 3, 5, 6);

/* Requests about a website (src/render/sidecar/site/README.md): reading a page without a browser, showing one in a browser without
 * network, drawing a picture, and what all pages tell about a brand. */
enum renderer_site_op { SITE_READ_PAGE, SITE_SHOW_PAGE, SITE_DRAW_PICTURE, SITE_SUMMARISE };

/* `members` are the members of the request as JSON without braces. Errors: EMAIL_IMPORT_FAILED, INVALID_REQUEST and
 * PAYLOAD_TOO_LARGE when the page cannot be read; SERVICE_UNAVAILABLE and INTERNAL_ERROR as above. */
MUST_CHECK bool renderer_site(struct renderer_caller caller, struct arena *arena, enum renderer_site_op op, const char *members,
                              const json_t **ret_result, struct error *err) NONNULL(2, 4, 5, 6);

/* Draws an HTML page as a PNG, without network and scripts. `files_json` is an object from the addresses of images to objects with
 * type and data (base64). The result has png (base64), width, height, isCut, and missing: addresses of images that it would show.
 * Errors: INVALID_REQUEST (html: it takes too long or too much memory), PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE as above and without
 * an installed browser. */
MUST_CHECK bool renderer_draw_page(struct renderer_caller caller, struct arena *arena, const char *html, int64_t width,
                                   int64_t max_height, const char *files_json, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 6, 7, 8);

/* Draws a mail as a client shows it, without network and scripts. `text` may be NULL. `client_json` is a declaration of
 * catalogue/mail_clients.h; `files_json` as above. The result has png (base64), small (a WebP in base64, or null), width, height,
 * isCut, transforms and dataDate. Errors: INVALID_REQUEST and EMAIL_IMPORT_FAILED (the mail takes too long or too much memory),
 * PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE as above and without an installed browser. */
MUST_CHECK bool renderer_draw_client(struct renderer_caller caller, struct arena *arena, const char *html, const char *text,
                                     const char *client_json, const char *files_json, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 5, 6, 7, 8);

/* Draws frames of a video, given in base64. The result has png (base64; the frames below each other), width, height (of one frame),
 * frames and everyMs. Errors: INVALID_REQUEST (videoUrl: it cannot be read), PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE as above. */
MUST_CHECK bool renderer_draw_frames(struct renderer_caller caller, struct arena *arena, const char *video, int64_t width,
                                     int64_t max_frames, const json_t **ret_result, struct error *err) NONNULL(2, 3, 6, 7);

/* The checks of an audit that need the parsed mail only (src/render/sidecar/quality/static/README.md). `members_json` are the
 * members of the request as JSON without braces: design, and what is known of html, text, subject, shownSubject, previewText,
 * purpose, address, emptyTags and pictures. The result is the report of the engine. A mail within the bounds of a design always has
 * one. Errors: INVALID_REQUEST, PAYLOAD_TOO_LARGE and SERVICE_UNAVAILABLE as above; EMAIL_IMPORT_FAILED for a mail that takes too
 * long. */
MUST_CHECK bool renderer_check_mail(struct renderer_caller caller, struct arena *arena, const char *members_json,
                                    const json_t **ret_result, struct error *err) NONNULL(2, 3, 4, 5);

/* Checks a mail as it is shown, light and dark, on a desktop and a phone, without network and scripts: axe-core and measures of our
 * own (docs/modules/browser-checks.md). `files_json` as in renderer_draw_page. The result is a report of the engine "browser":
 * engine and checks. The same mail gives the same report. Errors: INVALID_REQUEST (html: it takes too long or too much memory, or
 * has too many elements), PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE as above and without an installed browser. */
MUST_CHECK bool renderer_check_shown(struct renderer_caller caller, struct arena *arena, const char *html, const char *files_json,
                                     const json_t **ret_result, struct error *err) NONNULL(2, 3, 4, 5, 6);

/* Health check: starts the process of designs if necessary and pings it; for `doctor` and for a warm start. Errors: as above. */
MUST_CHECK bool renderer_ping(struct renderer_caller caller, struct arena *arena, const json_t **ret_result, struct error *err)
    NONNULL(2, 3, 4);
