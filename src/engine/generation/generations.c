#include "engine/generation/generations.h"

#include "base/text.h"
#include "engine/emails/groups.h"

#include <string.h>

enum { TITLE_SOURCE_MAX_CHARS = 400, WARNINGS_JSON_MAX_BYTES = 256 * 1024, RUN_JSON_MAX_BYTES = 512 * 1024 };

static const char running[] = "running";
static const char untitled[] = "New email";

/* ---- Titles ---- */

/* The first line with words, from its first word on. */
static const char *first_words(struct arena *arena, const char *prompt)
{
    static const char marks[] = " \t\r\n#*->`_~|=";
    prompt += strspn(prompt, marks);
    return arena_dup_bytes(arena, prompt, strcspn(prompt, "\r\n"));
}

/* The bytes of the first `points` code points. */
static size_t size_of_points(const char *text, size_t points)
{
    size_t size = 0;
    for (size_t count = 0; text[size] != '\0'; size++) {
        bool begins = ((unsigned char)text[size] & 0xC0) != 0x80;
        if (begins && count++ == points)
            break;
    }
    return size;
}

/* Cuts a long line behind a word, unless its first word is too long. */
static const char *cut_title(struct arena *arena, const char *line)
{
    size_t whole = size_of_points(line, GENERATION_TITLE_MAX_CHARS);
    if (line[whole] == '\0')
        return line;
    size_t size = size_of_points(line, GENERATION_TITLE_MAX_CHARS - 1);
    size_t word = size;
    while (word > 0 && line[word] != ' ')
        word--;
    return arena_printf(arena, "%.*s…", (int)(word > size / 2 ? word : size), line);
}

const char *generation_title(struct arena *arena, const char *prompt)
{
    const char *line = text_visible(arena, first_words(arena, prompt), TITLE_SOURCE_MAX_CHARS);
    const char *title = text_trim(arena, line);
    return title[0] != '\0' ? cut_title(arena, title) : untitled;
}

/* ---- Beginning ---- */

bool generation_begin_design(const struct work *work, const struct generation_begin *begin, int64_t *ret_email_id,
                             int64_t *ret_run_id, struct error *err)
{
    struct generation_insert_design_params params = { .brand_id = work->brand_id, .title = begin->title, .now = work->now_us };
    struct generation_insert_design_row *row;
    bool sets_group;
    if (!email_folder_choose(work, &begin->folder, &sets_group, &params.group_id, err) ||
        !sql_generation_insert_design(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_email_id = row->email_id;
    *ret_run_id = row->run_id;
    return true;
}

bool generation_begin_edit(const struct work *work, int64_t email_id, int64_t *ret_run_id, struct error *err)
{
    struct generation_insert_edit_params params = { .brand_id = work->brand_id, .email_id = email_id, .now = work->now_us };
    struct generation_insert_edit_row *row;
    struct email_lock_row *email;
    if (!email_lock_for_edit(work, email_id, &email, err))
        return false;
    if (!email->latest_version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design has no version yet, so there is nothing to edit.");
    if (!sql_generation_insert_edit(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_run_id = row->run_id;
    return true;
}

bool generation_set_job(const struct work *work, int64_t run_id, int64_t job_id, int64_t email_id,
                        struct email_find_row **ret_email, struct error *err)
{
    struct generation_set_job_params params = { .brand_id = work->brand_id, .id = run_id, .job_id = job_id };
    struct email_find_params find = { .brand_id = work->brand_id, .id = email_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &generation_set_job_statement, &params);
    size_t found = db_batch_add(batch, &email_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    *ret_email = db_batch_rows(batch, found)->rows;
    return true;
}

/* ---- Ending ---- */

static bool find_state(const struct work *work, int64_t run_id, struct generation_state_row **ret_run, struct error *err)
{
    struct generation_state_params params = { .brand_id = work->brand_id, .id = run_id };
    if (!sql_generation_state(work->conn, work->arena, &params, ret_run, err))
        return false;
    return *ret_run != NULL || fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The run of this generation does not exist.");
}

bool generation_is_running(const struct work *work, int64_t run_id, int64_t *ret_email_id, bool *ret_is_running, struct error *err)
{
    struct generation_state_row *run;
    if (!find_state(work, run_id, &run, err))
        return false;
    *ret_email_id = run->email_id;
    *ret_is_running = strcmp(run->status, running) == 0;
    return true;
}

/* Locks the design of a run. The lock comes before the state of the run is read again, because another worker may have ended it. */
static bool lock_run(const struct work *work, int64_t run_id, int64_t *ret_email_id, bool *ret_is_running,
                     struct email_lock_row **ret_email, struct error *err)
{
    struct email_lock_params lock = { .brand_id = work->brand_id };
    if (!generation_is_running(work, run_id, &lock.id, ret_is_running, err) ||
        !sql_email_lock(work->conn, work->arena, &lock, ret_email, err))
        return false;
    return generation_is_running(work, run_id, ret_email_id, ret_is_running, err);
}

static const char *warnings_json(struct arena *arena, struct text_list warnings)
{
    struct buf *out = buf_in_arena(arena, WARNINGS_JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < warnings.count && i < GENERATION_WARNINGS_MAX; i++)
        json_text(&json, text_visible(arena, warnings.items[i], GENERATION_WARNING_MAX_CHARS));
    json_array_end(&json);
    return buf_text(out);
}

bool generation_complete(const struct work *work, int64_t run_id, const struct generation_result *result,
                         struct email_find_row **ret_email, bool *ret_is_current, struct error *err)
{
    struct email_lock_row *email;
    int64_t email_id;
    *ret_email = NULL;
    if (!lock_run(work, run_id, &email_id, ret_is_current, &email, err))
        return false;
    if (!*ret_is_current)
        return true;
    if (email == NULL || email->deleted_at.set)
        return fail(err, ERR_EMAIL_NOT_FOUND, NULL, "The design was deleted while it was being generated.");
    struct generation_end_params end = {
        .brand_id = work->brand_id,
        .id = run_id,
        .status = "completed",
        .engine = result->version.made_by,
        .warnings = warnings_json(work->arena, result->warnings),
        .tokens_in = result->tokens_in,
        .tokens_out = result->tokens_out,
        .now = work->now_us,
    };
    struct generation_end_row *ended;
    return email_append_version(work, email_id, &result->version, ret_email, err) &&
           sql_generation_end(work->conn, work->arena, &end, &ended, err);
}

bool generation_fail(const struct work *work, int64_t run_id, const struct error *why, struct error *err)
{
    struct email_lock_row *email;
    int64_t email_id;
    bool is_running;
    if (!lock_run(work, run_id, &email_id, &is_running, &email, err))
        return false;
    if (!is_running)
        return true;
    struct generation_end_params end = {
        .brand_id = work->brand_id,
        .id = run_id,
        .status = "failed",
        .warnings = "[]",
        .error_code = error_info(ERR_EMAIL_GENERATION_FAILED)->name,
        .error = why->message,
        .now = work->now_us,
    };
    struct generation_leave_design_params leave = { .brand_id = work->brand_id, .email_id = email_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &generation_end_statement, &end);
    db_batch_add(batch, &generation_leave_design_statement, &leave);
    return db_batch_run(batch, err);
}

/* ---- Reading ---- */

bool generation_get(const struct work *work, int64_t email_id, int64_t run_id, struct generation_find_row **ret_run,
                    struct error *err)
{
    struct generation_find_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .run_id = { .set = run_id != 0, .value = run_id },
    };
    return sql_generation_find(work->conn, work->arena, &params, ret_run, err);
}

bool generation_run_has_ended(const struct generation_find_row *run)
{
    return strcmp(run->status, running) != 0;
}

static void write_error(const struct generation_find_row *run, struct json_writer *json)
{
    json_key(json, "error");
    json_object_begin(json);
    json_member_text(json, "code", run->error_code);
    json_member_text(json, "message", run->error);
    json_object_end(json);
}

struct email_run generation_shown(const struct work *work, const struct generation_find_row *run)
{
    struct buf *out = buf_in_arena(work->arena, RUN_JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_id(&json, work, "runId", ID_GENERATION, run->id);
    json_member_text(&json, "status", run->status);
    json_member_text_if(&json, "engine", run->engine);
    json_member_id_if(&json, work, "emailVersionId", ID_VERSION, run->version_id);
    json_member_raw(&json, "warnings", run->warnings);
    if (run->error_code != NULL)
        write_error(run, &json);
    json_object_end(&json);
    return (struct email_run){ .json = buf_text(out), .error = run->error };
}
