/*
 * The job that draws a design as mail clients show it. The mail of a sample
 * contact and its images are read once. Each picture is saved as soon as it is
 * drawn, so that a job that runs again draws only what is missing. A client that
 * cannot be drawn is noted with the reason. The job answer_previews answers the
 * call and charges for it.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "engine/quality/previews.h"
#include "jobs/job_renderer.h"
#include "jobs/types/sample_pictures.h"
#include "sql/worker.h"

enum {
    PREVIEWS_MAX_ATTEMPTS = 2,
    STATUS_OK = 200,
    ROUND_MS = 60 * 1000, /* no drawing begins later; well within the lease */
    VIEW_PIXELS = 824,    /* of the widest picture; larger images are made smaller */
    REASON_CHARS = 300,
};

/* What all drawings share; read for the first client. */
struct previewed_mail {
    struct sample_mail mail;
    const char *files_json;
};

static bool read_mail(struct job *job, int64_t preview_id, struct previewed_mail *ret_mail, struct error *err)
{
    struct preview_design_params params = { .brand_id = job->work.brand_id, .id = preview_id };
    struct preview_design_row *design;
    struct page_files files;
    if (!sql_preview_design(job->work.conn, job->work.arena, &params, &design, err))
        return false;
    if (design == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "The design was deleted.");
    const struct sample_mail_request request = { .email_id = design->email_id, .version_id = design->version_id };
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    if (!sample_mail_compose(&job->work, &request, &ret_mail->mail, err) ||
        !sample_pictures_collect(job, checker, &ret_mail->mail, VIEW_PIXELS, &files, err))
        return false;
    ret_mail->files_json = files.json;
    return true;
}

/* ---- One client ---- */

/* The small picture; NULL data without one. */
static struct bytes small_of(struct arena *arena, const json_t *drawn)
{
    const char *small = json_get_text(drawn, "small");
    size_t size = 0;
    const unsigned char *bytes = small != NULL ? base64_decode(arena, small, &size) : NULL;
    return (struct bytes){ bytes, size };
}

static bool save_picture(const struct work *work, int64_t preview_id, const char *client, const json_t *drawn, struct error *err)
{
    const char *png = json_get_text(drawn, "png");
    size_t size;
    const unsigned char *bytes = png != NULL ? base64_decode(work->arena, png, &size) : NULL;
    if (bytes == NULL || size > PREVIEW_PICTURE_MAX_BYTES)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "The picture has more than %d bytes.", PREVIEW_PICTURE_MAX_BYTES);
    struct preview_save_params params = {
        .brand_id = work->brand_id,
        .id = preview_id,
        .client = client,
        .picture = { bytes, size },
        .small = small_of(work->arena, drawn),
        .width = json_get_int(drawn, "width", 0),
        .height = json_get_int(drawn, "height", 0),
        .is_cut = json_get_bool(drawn, "isCut", false),
        .transforms = json_compact(work->arena, json_object_get(drawn, "transforms")),
        .data_date = json_get_text(drawn, "dataDate"),
    };
    return sql_preview_save(work->conn, work->arena, &params, NULL, err);
}

static bool refuse_client(const struct work *work, int64_t preview_id, const char *client, const struct error *why,
                          struct error *err)
{
    struct preview_refuse_params params = {
        .brand_id = work->brand_id,
        .id = preview_id,
        .client = client,
        .reason = text_visible(work->arena, why->message, REASON_CHARS),
        .retryable = error_info(why->code)->retryable,
    };
    return sql_preview_refuse(work->conn, work->arena, &params, NULL, err);
}

/* A browser that has stopped is started again once. */
static bool draw(struct renderer_caller renderer, struct arena *arena, const struct previewed_mail *mail, const char *client,
                 const json_t **ret_drawn, struct error *err)
{
    const struct mail_client *row = mail_client_find(client);
    if (row == NULL)
        return fail(err, ERR_INVALID_REQUEST, "clients", "%s is not a known client any more.", client);
    for (int attempt = 1;; attempt++) {
        if (renderer_draw_client(renderer, arena, mail->mail.html, mail->mail.text, row->declaration, mail->files_json, ret_drawn,
                                 err))
            return true;
        if (attempt == 2 || err->code != ERR_SERVICE_UNAVAILABLE)
            return false;
        error_clear(err);
    }
}

/* False only when the database fails: a client that cannot be drawn is noted. A picture has megabytes, which are freed before the
 * next one is drawn. */
static bool draw_client(struct job *job, int64_t preview_id, const struct previewed_mail *mail, const char *client,
                        struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    const json_t *drawn;
    struct error why = { .code = ERR_NONE };
    struct work work = job->work;
    work.arena = arena;
    if (!draw(job_renderer(job), arena, mail, client, &drawn, &why))
        return refuse_client(&work, preview_id, client, &why, err);
    if (save_picture(&work, preview_id, client, drawn, err))
        return true;
    if (err->code != ERR_PAYLOAD_TOO_LARGE)
        return false;
    why = *err;
    error_clear(err);
    return refuse_client(&work, preview_id, client, &why, err);
}

/* ---- The clients of a job ---- */

static bool take_client(struct job *job, int64_t preview_id, const char **ret_client, struct error *err)
{
    struct preview_take_params params = { .brand_id = job->work.brand_id, .id = preview_id, .job_id = job->id };
    struct preview_take_row *row;
    if (!sql_preview_take(job->work.conn, job->work.arena, &params, &row, err))
        return false;
    *ret_client = row != NULL ? row->client : NULL;
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    const struct draw_previews_payload *payload = job->payload;
    int64_t until_us = clock_now_us() + ROUND_MS * US_PER_MS;
    struct previewed_mail mail = { .files_json = NULL };
    const char *client;
    do {
        if (!take_client(job, payload->preview_id, &client, err))
            return false;
        if (client != NULL && ((mail.files_json == NULL && !read_mail(job, payload->preview_id, &mail, err)) ||
                               !draw_client(job, payload->preview_id, &mail, client, err)))
            return false;
    } while (client != NULL && clock_now_us() < until_us);
    return true;
}

static bool wake_answer(struct job *job, struct error *err)
{
    const struct draw_previews_payload *payload = job->payload;
    struct preview_wake_answer_params params = { .job_id = payload->answer_job_id, .now = job->work.now_us };
    return sql_preview_wake_answer(job->work.conn, job->work.arena, &params, NULL, err) &&
           sql_job_wake_pools(job->work.conn, job->work.arena, NULL, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct draw_previews_payload *payload = job->payload;
    struct preview_left_over_params params = { .brand_id = job->work.brand_id, .id = payload->preview_id, .job_id = job->id };
    struct preview_left_over_row *row;
    (void)answer;
    *ret_status = STATUS_OK;
    if (!sql_preview_left_over(job->work.conn, job->work.arena, &params, &row, err))
        return false;
    if (row->left_over)
        job_run_again(job, job->work.now_us);
    return row->left_over || wake_answer(job, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const struct draw_previews_payload *payload = job->payload;
    if (payload == NULL)
        return true;
    struct preview_refuse_rest_params params = {
        .brand_id = job->work.brand_id,
        .id = payload->preview_id,
        .job_id = job->id,
        .reason = text_visible(job->work.arena, why->message, REASON_CHARS),
        .retryable = error_info(why->code)->retryable,
    };
    return sql_preview_refuse_rest(job->work.conn, job->work.arena, &params, NULL, err) && wake_answer(job, err);
}

const struct job_type job_draw_previews = {
    .max_attempts = PREVIEWS_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
