#include "jobs/types/check_spam.h"

#include "base/clock.h"
#include "base/text.h"
#include "spam/spam.h"

#include <math.h>
#include <string.h>

enum { ASK_EVERY_MS = 500 };

/* A rule with fewer points is not a finding. A score of this share of the threshold is near it. */
static const double rule_min_points = 0.5;
static const double near_share = 0.6;

static const char test_pattern[] = "GTUBE";

struct spam_check_work {
    struct job *job;
    int64_t asked_us; /* whether the caller has cancelled */
    bool is_cancelled;
};

static bool is_asked_to_stop(void *context)
{
    struct spam_check_work *work = context;
    int64_t now_us = clock_monotonic_us();
    if (!work->is_cancelled && now_us - work->asked_us >= ASK_EVERY_MS * US_PER_MS) {
        work->asked_us = now_us;
        work->is_cancelled = job_is_cancelled(work->job);
    }
    return work->is_cancelled;
}

/* ---- The score ---- */

/* The points of the rules that say nothing about the design. */
static double points_left_out(const struct spam_verdict *verdict)
{
    double points = 0;
    for (size_t i = 0; i < verdict->count; i++)
        points += verdict->rules[i].left_out != NULL ? verdict->rules[i].score : 0;
    return points;
}

/* A filter may take a message for spam below the threshold that it tells. */
static const char *judgement_text(struct arena *arena, const struct spam_verdict *verdict)
{
    if (verdict->is_spam && verdict->score < verdict->threshold && verdict->action != NULL)
        return arena_printf(arena, "takes it for spam (%s)", verdict->action);
    return arena_printf(arena, "takes it for spam from %.1f on", verdict->threshold);
}

static const char *score_text(struct arena *arena, const char *filter, const struct spam_verdict *verdict, double left_out)
{
    const char *text =
        arena_printf(arena, "%s gives the message %.1f points, and %s", filter, verdict->score, judgement_text(arena, verdict));
    /* What is below a tenth is not shown, because reports round to it. */
    if (fabs(left_out) < 0.05)
        return arena_printf(arena, "%s.", text);
    return arena_printf(arena, "%s; %.1f of the points are about the way of a message that was not sent yet.", text, left_out);
}

static void judge_score(struct check_report *report, struct arena *arena, const char *filter, const struct spam_verdict *verdict)
{
    double left_out = points_left_out(verdict);
    double score = verdict->score - left_out;
    bool is_spam = score >= verdict->threshold || (verdict->is_spam && left_out <= 0);
    bool is_near = score >= verdict->threshold * near_share;
    const char *text = score_text(arena, filter, verdict, left_out);
    if (!is_spam && !is_near) {
        check_report_end(report, "spamScore", CHECK_PASSED, text);
        return;
    }
    const struct check_finding finding = {
        .message = text,
        .key = "score",
        .severity = is_spam ? SEVERITY_DECLARED : SEVERITY_WARNING,
    };
    check_report_add(report, "spamScore", &finding);
}

/* ---- The rules ---- */

static void add_rule(struct check_report *report, struct arena *arena, const struct spam_rule *rule)
{
    bool is_pattern = strcmp(rule->name, test_pattern) == 0;
    bool has_description = rule->description[0] != '\0';
    const char *text =
        arena_printf(arena, "%s: %.1f points%s%s", rule->name, rule->score, has_description ? ". " : "", rule->description);
    const struct check_finding finding = { .message = text, .source = rule->name, .key = rule->name };
    check_report_add(report, is_pattern ? "spamTestPattern" : "spamRules", &finding);
}

static bool is_finding(const struct spam_rule *rule)
{
    bool is_pattern = strcmp(rule->name, test_pattern) == 0;
    return rule->left_out == NULL && (is_pattern || rule->score >= rule_min_points);
}

/* The rules with the most points come first, and those with equal points in the order of the filter. */
static const struct spam_rule *hardest_rule(const struct spam_verdict *verdict, const bool *are_told)
{
    const struct spam_rule *hardest = NULL;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct spam_rule *rule = &verdict->rules[i];
        if (!are_told[i] && is_finding(rule) && (hardest == NULL || rule->score > hardest->score))
            hardest = rule;
    }
    return hardest;
}

static void judge_rules(struct check_report *report, struct arena *arena, const struct spam_verdict *verdict)
{
    bool *are_told = arena_array(arena, verdict->count + 1, sizeof(*are_told));
    const struct spam_rule *rule;
    while ((rule = hardest_rule(verdict, are_told)) != NULL) {
        are_told[rule - verdict->rules] = true;
        add_rule(report, arena, rule);
    }
    enum check_status status = verdict->names_rules ? CHECK_PASSED : CHECK_UNAVAILABLE;
    const char *reason = verdict->names_rules ? NULL : "The spam filter is set up to report no rules with their points.";
    check_report_end(report, "spamRules", status, reason);
    check_report_end(report, "spamTestPattern", status, reason);
}

void spam_judge(struct check_report *report, struct arena *arena, const char *filter, const struct spam_verdict *verdict)
{
    judge_score(report, arena, filter, verdict);
    judge_rules(report, arena, verdict);
}

/* ---- The engine ---- */

bool check_spam(struct job *job, const struct sample_mail *mail, struct check_report *report, struct error *err)
{
    struct spam_check_work work = { .job = job, .asked_us = clock_monotonic_us() };
    struct spam_filter *filter = job->services->spam;
    struct error problem = { .code = ERR_NONE };
    struct spam_verdict verdict;
    const struct spam_patience patience = {
        .until_us = clock_monotonic_us() + SPAM_CHECK_MS * US_PER_MS,
        .should_stop = is_asked_to_stop,
        .context = &work,
    };
    if (filter == NULL) {
        check_report_end_engine(report, CHECK_ENGINE_SPAM, CHECK_NOT_APPLICABLE, "The operator has named no spam filter (--spam).");
        return true;
    }
    bool is_answered = spam_check(filter, job->work.arena, mail->message, patience, &verdict, &problem);
    if (work.is_cancelled || job_is_cancelled(job))
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    if (is_answered) {
        check_report_engine(report, CHECK_ENGINE_SPAM, spam_filter_name(filter), verdict.version);
        spam_judge(report, job->work.arena, spam_filter_name(filter), &verdict);
    } else {
        check_report_end_engine(report, CHECK_ENGINE_SPAM, CHECK_UNAVAILABLE, problem.message);
    }
    return true;
}
