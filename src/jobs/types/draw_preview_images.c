/*
 * The job that draws the pictures of a brand's designs for lists
 * (engine/emails/preview_images.h), one design a round. A picture shows the mail
 * of an invented contact, because anybody can read it who knows its address.
 *
 * A design that cannot be drawn has no picture. When the browser does not answer
 * or the job fails, the job ends, and the design is tried again later, after the
 * other designs of the brand.
 */
#include "base/clock.h"
#include "base/log.h"
#include "catalogue/job_types.h"
#include "crypto/keys.h"
#include "engine/emails/preview_images.h"
#include "jobs/job_renderer.h"
#include "jobs/types/content_image.h"
#include "jobs/types/page_picture.h"
#include "jobs/types/sample_pictures.h"

enum { DRAW_MAX_ATTEMPTS = 12, STATUS_OK = 200, WIDTH = 600, MAX_HEIGHT = 900 };
static const int64_t job_us = INT64_C(60) * US_PER_S; /* then jobs of other brands begin */

/* The result of execute, for settle. */
struct drawn_design {
    struct undrawn_email email;
    const char *image; /* its name in the store; NULL: it cannot be drawn */
    bool is_put_off;
};

/* ---- Drawing ---- */

static bool draw(struct job *job, struct image_checker *checker, const struct undrawn_email *email, struct picture *ret_picture,
                 struct error *err)
{
    const struct sample_mail_request request = { .email_id = email->id,
                                                 .version_id = email->version_id,
                                                 .has_invented_contact = true };
    struct arena *arena = job->work.arena;
    struct sample_mail mail;
    struct page_files files;
    const json_t *drawn;
    return sample_mail_compose(&job->work, &request, &mail, err) &&
           sample_pictures_collect(job, checker, &mail, WIDTH, &files, err) && job_renew(job, err) &&
           renderer_draw_page(job_renderer(job), arena, mail.html, WIDTH, MAX_HEIGHT, files.json, &drawn, err) &&
           page_picture_take(job, checker, drawn, ret_picture, err);
}

/* Without the programs of libvips the picture stays as it is. */
static struct picture with_few_colours(struct job *job, struct image_checker *checker, const struct picture *picture)
{
    struct error ignored = { .code = ERR_NONE };
    struct picture indexed;
    if (!vips_is_installed() || !picture_index_colours(job->work.arena, checker, picture, &indexed, &ignored))
        return *picture;
    return indexed;
}

static bool store(struct job *job, const struct picture *picture, const char **ret_image, struct error *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    sha256(picture->bytes.data, picture->bytes.size, hash);
    struct asset_name name = asset_name_of(hash, ASSET_PNG);
    *ret_image = arena_dup(job->work.arena, name.text);
    return content_image_store(job, &name, picture->bytes, err);
}

static bool draw_and_store(struct job *job, struct drawn_design *design, struct error *err)
{
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    struct picture picture;
    if (!draw(job, checker, &design->email, &picture, err))
        return false;
    picture = with_few_colours(job, checker, &picture);
    return store(job, &picture, &design->image, err);
}

static void log_failure(const struct job *job, const struct drawn_design *design, const struct error *why)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, "previewImage.failed");
    json_member_id(&line.json, &job->work, "emailId", ID_EMAIL, design->email.id);
    json_member_bool(&line.json, "isPutOff", design->is_put_off);
    log_error_members(&line, why);
    log_end(&line);
}

static bool execute(struct job *job, struct error *err)
{
    struct drawn_design *design = arena_alloc(job->work.arena, sizeof(*design));
    *design = (struct drawn_design){ .image = NULL };
    job->result = design;
    if (!preview_image_next(&job->work, &design->email, err))
        return false;
    if (design->email.id == 0 || draw_and_store(job, design, err))
        return true;
    if (db_error_is_retryable(err))
        return false;
    design->image = NULL;
    design->is_put_off = error_info(err->code)->retryable;
    log_failure(job, design, err);
    error_clear(err);
    return true;
}

/* ---- Settling ---- */

static bool save(struct job *job, const struct drawn_design *design, struct error *err)
{
    if (design->is_put_off)
        return preview_image_put_off(&job->work, &design->email, err);
    return preview_image_set(&job->work, &design->email, design->image, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for it */
    const struct drawn_design *design = job->result;
    const struct work *work = &job->work;
    *ret_status = STATUS_OK;
    if (design->email.id != 0 && !save(job, design, err))
        return false;
    if (design->email.id != 0 && !design->is_put_off && work->now_us - job->created_us < job_us) {
        job_run_again(job, work->now_us);
        return true;
    }
    return preview_images_enqueue(work->engine, work->conn, work->arena, work->now_us, 1, err);
}

/* The design that failed is the next one still, also when its worker was lost. */
static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    struct undrawn_email email;
    (void)why;
    return preview_image_next(&job->work, &email, err) && (email.id == 0 || preview_image_put_off(&job->work, &email, err));
}

const struct job_type job_draw_preview_images = {
    .max_attempts = DRAW_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
