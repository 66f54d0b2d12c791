/*
 * Renderer: the Node process that does the HTML work (src/render/sidecar), spoken to
 * in JSON lines: {"id", "op", …} out, {"id", "ok", "result" or "error"} back.
 *
 * The process is started by the first request and lives on. It has one request
 * at a time; callers wait for each other, within their deadline.
 * Whatever goes wrong with it (time-out, crash, a reply that is too large or
 * makes no sense) ends it and gives SERVICE_UNAVAILABLE, which is retryable;
 * the next request starts a new one. A process that died while idle is replaced
 * without an error. It dies with the thread that made the first request, so
 * that should be one that lives long.
 *
 * Any thread may call; the owner frees it when no call is running.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

enum {
    /* Above the renderer's own: 45 s for a preparation, twice 20 s to start a browser, 60 s for JSX. */
    RENDERER_DEADLINE_MS = 150000,
    RENDERER_HEAP_MB = 512,
    RENDERER_MAX_REQUEST_BYTES = 8 * 1024 * 1024,
    RENDERER_MAX_REPLY_BYTES = 32 * 1024 * 1024,
};

struct renderer_config {
    const char *node_path;   /* looked up in PATH when it has no '/' */
    const char *script_path; /* main.mjs, absolute */
    int64_t deadline_ms;     /* of one request, start of the process included; RENDERER_DEADLINE_MS when 0 */
    int heap_mb;             /* --max-old-space-size; RENDERER_HEAP_MB when 0 */
    size_t max_reply_bytes;  /* RENDERER_MAX_REPLY_BYTES when 0 */

    /* Gets each line the process writes to its standard error, without the newline; called by the requesting thread.
     * May be NULL. */
    void (*log)(void *context, const char *line);
    void *log_context;
};

struct renderer;

/* Copies the configuration; starts nothing. */
struct renderer *renderer_new(const struct renderer_config *config) NONNULL(1) RETURNS_NONNULL;

/* Ends the process, if there is one. NULL is allowed. */
void renderer_free(struct renderer *renderer);

/* Prepares an email whose `format` is html, mjml or jsx: the result is the process's answer and belongs to the arena.
 * `base_url` may be NULL. Errors: EMAIL_IMPORT_FAILED, INVALID_REQUEST and PAYLOAD_TOO_LARGE as the process reports them,
 * with its param and message; SERVICE_UNAVAILABLE as above, and for jsx where no browser is installed; INTERNAL_ERROR for
 * a bug in the process. */
MUST_CHECK bool renderer_prepare(struct renderer *renderer, struct arena *arena, const char *format, const char *content,
                                 const char *base_url, const json_t **ret_result, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);

/* Exchanges the addresses of images in prepared HTML: `images_json` is an object that maps those the preparation told to
 * other ones, or to null to take the image away. Errors: as renderer_prepare. */
MUST_CHECK bool renderer_replace_images(struct renderer *renderer, struct arena *arena, const char *html, const char *images_json,
                                        const json_t **ret_result, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Starts the process if need be and asks whether it answers; for `doctor` and for warming up. Errors: as above. */
MUST_CHECK bool renderer_ping(struct renderer *renderer, struct arena *arena, const json_t **ret_result, struct error *err)
    NONNULL(1, 2, 3, 4);
