/*
 * The job of emails.edit: the instruction is read, with the document or the
 * outline of the latest version. Settling begins the run, enqueues edit_design,
 * which pays for the call, and answers the caller. An instruction that is not
 * understood changes nothing and is not charged. When a model is named, no
 * instruction is read here: the model writes the operations of the run.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "catalogue/jobs.h"
#include "designer/instruction.h"
#include "engine/emails/design_edits.h"
#include "engine/generation/generations.h"
#include "jobs/job_renderer.h"

enum { JUDGE_MAX_ATTEMPTS = 2, STATUS_OK = 200, DETAILS_MAX_BYTES = 64 * 1024, SHOWN_CHARS = 500 };

/* The result of execute, for settle. */
struct judged_edit {
    int64_t version_id;
    const struct instruction *instruction; /* NULL: a model writes the operations */
};

static struct text_list shown(struct arena *arena, struct text_list sentences)
{
    const char **items = arena_array(arena, sentences.count, sizeof(*items));
    for (size_t i = 0; i < sentences.count; i++)
        items[i] = text_visible(arena, sentences.items[i], SHOWN_CHARS);
    return (struct text_list){ items, sentences.count };
}

static bool refuse_unclear(struct arena *arena, const struct instruction *instruction, struct error *err)
{
    struct buf *details = buf_in_arena(arena, DETAILS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, details);
    json_object_begin(&json);
    json_member_texts(&json, "understood", shown(arena, instruction->understood));
    json_member_texts(&json, "unclear", shown(arena, instruction->unclear));
    json_object_end(&json);
    fail(err, ERR_EMAIL_GENERATION_FAILED, "prompt", "Not understood, so nothing was changed: %s",
         text_visible(arena, instruction->unclear.items[0], SHOWN_CHARS));
    return error_with_details(err, buf_text(details));
}

static bool read_instruction(struct job *job, const struct email_edit_source *source, const char *prompt,
                             const struct instruction **ret_instruction, struct error *err)
{
    struct arena *arena = job->work.arena;
    const json_t *outline;
    if (source->document != NULL) {
        *ret_instruction = instruction_read(arena, source->document, source->block_serial, prompt);
        return true;
    }
    if (!renderer_outline(job_renderer(job), arena, source->html, &outline, err))
        return false;
    *ret_instruction = instruction_read_outline(arena, outline, prompt);
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    const struct judge_edit_payload *payload = job->payload;
    struct judged_edit *judged = arena_alloc(job->work.arena, sizeof(*judged));
    struct email_edit_source source;
    job->result = judged;
    if (!email_read_edit_source(&job->work, payload->email_id, &source, err))
        return false;
    judged->version_id = source.version_id;
    if (job->services->model != NULL)
        return true;
    if (!read_instruction(job, &source, payload->prompt, &judged->instruction, err))
        return false;
    return judged->instruction->operations != NULL || refuse_unclear(job->work.arena, judged->instruction, err);
}

/* Title, subject and folder that came with the prompt. */
static bool change_members(struct job *job, const struct judge_edit_payload *payload, struct error *err)
{
    struct email_change change = {
        .title = payload->title,
        .subject_line = { .set = payload->sets_subject, .value = payload->subject_line },
        .folder = { .group_id = { .set = payload->sets_group, .value = payload->group_id }, .group_name = payload->group_name },
    };
    struct email_find_row *ignored;
    return email_change_is_empty(&change) || email_change(&job->work, payload->email_id, &change, &ignored, err);
}

static bool begin_run(struct job *job, const struct judged_edit *judged, struct email_find_row **ret_email, int64_t *ret_run_id,
                      struct error *err)
{
    const struct judge_edit_payload *payload = job->payload;
    int64_t job_id;
    if (!change_members(job, payload, err) || !generation_begin_edit(&job->work, payload->email_id, ret_run_id, err))
        return false;
    struct edit_design_payload edit = {
        .run_id = *ret_run_id,
        .email_id = payload->email_id,
        .operations = judged->instruction != NULL ? judged->instruction->operations : json_in_arena(job->work.arena, json_array()),
        .prompt = judged->instruction == NULL ? payload->prompt : NULL,
        .public_url = payload->public_url,
    };
    return job_hand_on(job, edit_design_job(job->work.arena, &edit), &job_id, err) &&
           generation_set_job(&job->work, *ret_run_id, job_id, payload->email_id, ret_email, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct judge_edit_payload *payload = job->payload;
    const struct judged_edit *judged = job->result;
    struct email_lock_row *locked;
    struct email_find_row *email;
    int64_t run_id;
    if (!email_lock_for_edit(&job->work, payload->email_id, &locked, err))
        return false;
    if (locked->latest_version_id.value != judged->version_id) {
        job_run_again(job, job->work.now_us);
        return true;
    }
    if (!begin_run(job, judged, &email, &run_id, err))
        return false;
    *ret_status = STATUS_OK;
    job_subject(job, work_id(&job->work, ID_EMAIL, email->id));
    email_write_generation(&job->work, email, run_id, answer);
    return true;
}

const struct job_type job_judge_edit = {
    .max_attempts = JUDGE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
