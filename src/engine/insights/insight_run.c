/* The runs that look for findings. */
#include "base/clock.h"
#include "engine/insights/detect.h"
#include "engine/insights/insight_text.h"
#include "engine/insights/insights.h"
#include "engine/insights/load.h"
#include "sql/insights.h"

enum { ENQUEUE_MAX = 100, FORGET_DAYS = 180 };

bool insight_runs_enqueue(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
{
    struct insight_runs_enqueue_params params = { .kind = "find_insights", .now = now_us, .limit = ENQUEUE_MAX };
    return sql_insight_runs_enqueue(conn, arena, &params, NULL, err);
}

bool insight_run_begin(const struct work *work, int64_t job_id, bool *ret_begun, struct error *err)
{
    struct insight_run_begin_params params = { .brand_id = work->brand_id, .job_id = job_id, .now = work->now_us };
    struct insight_run_begin_row *row;
    if (!sql_insight_run_begin(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_begun = row != NULL;
    return true;
}

bool insight_run_find(const struct work *work, const struct insight_findings **ret_findings, struct error *err)
{
    struct insight_findings *findings = arena_alloc(work->arena, sizeof(*findings));
    struct insight_data data;
    *ret_findings = findings;
    if (!insight_data_load(work, &data, err))
        return false;
    insights_detect(work->arena, &data, findings);
    return true;
}

static bool end_run(const struct work *work, int64_t job_id, const char *status, struct opt_int data_as_of, struct error *err)
{
    struct insight_run_end_params params = {
        .brand_id = work->brand_id,
        .job_id = job_id,
        .status = status,
        .now = work->now_us,
        .data_as_of = data_as_of,
    };
    return sql_insight_run_end(work->conn, work->arena, &params, NULL, err);
}

/* The columns of insights_store. */
struct columns {
    const char **detectors, **subjects, **kinds, **severities, **descriptions, **actions, **details;
    bool *helds;
    int64_t *scores;
};

static void put_column(const struct work *work, const struct insight_finding *finding, struct columns *columns, size_t at)
{
    const struct insight_detector *detector = &insight_detectors[finding->detector];
    columns->detectors[at] = detector->id;
    columns->subjects[at] = finding->key != NULL ? finding->key : finding->subject;
    columns->kinds[at] = detector->kind;
    columns->severities[at] = insight_severity(finding);
    columns->descriptions[at] = insight_text(work->arena, finding, detector->title);
    columns->actions[at] = insight_action_json(work, finding);
    columns->details[at] = insight_detail_json(work, finding);
    columns->helds[at] = finding->is_held;
    columns->scores[at] = (int64_t)(insight_score(finding) * 1000);
}

static struct columns columns_of(const struct work *work, const struct insight_findings *findings)
{
    size_t count = findings->count + 1;
    struct columns columns = {
        .detectors = arena_array(work->arena, count, sizeof(char *)),
        .subjects = arena_array(work->arena, count, sizeof(char *)),
        .kinds = arena_array(work->arena, count, sizeof(char *)),
        .severities = arena_array(work->arena, count, sizeof(char *)),
        .descriptions = arena_array(work->arena, count, sizeof(char *)),
        .actions = arena_array(work->arena, count, sizeof(char *)),
        .details = arena_array(work->arena, count, sizeof(char *)),
        .helds = arena_array(work->arena, count, sizeof(bool)),
        .scores = arena_array(work->arena, count, sizeof(int64_t)),
    };
    for (size_t i = 0; i < findings->count; i++)
        put_column(work, &findings->items[i], &columns, i);
    return columns;
}

bool insight_run_save(const struct work *work, int64_t job_id, const struct insight_findings *findings, int64_t data_as_of_us,
                      int64_t *ret_active, struct error *err)
{
    struct columns columns = columns_of(work, findings);
    size_t count = findings->count;
    struct insights_store_params params = {
        .brand_id = work->brand_id,
        .detectors = { columns.detectors, count },
        .subjects = { columns.subjects, count },
        .helds = { columns.helds, count },
        .kinds = { columns.kinds, count },
        .severities = { columns.severities, count },
        .scores_milli = { columns.scores, count },
        .descriptions = { columns.descriptions, count },
        .actions = { columns.actions, count },
        .details = { columns.details, count },
        .now = work->now_us,
        .forget = work->now_us - FORGET_DAYS * INT64_C(86400) * US_PER_S,
    };
    struct insights_store_row *row;
    struct opt_int data_as_of = { .set = true, .value = data_as_of_us };
    if (!sql_insights_store(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_active = row->active;
    return end_run(work, job_id, "succeeded", data_as_of, err);
}

bool insight_run_fail(const struct work *work, int64_t job_id, struct error *err)
{
    return end_run(work, job_id, "failed", (struct opt_int){ .set = false }, err);
}
