#include "sender/retry_policy.h"

#include "base/clock.h"
#include "base/text.h"
#include "smtp/reply_class.h"

/* From the first attempt on; then a deferred message bounces as expired. */
static const int64_t marketing_lifetime_us = INT64_C(72) * 3600 * US_PER_S;
static const int64_t transactional_lifetime_us = INT64_C(24) * 3600 * US_PER_S;

int64_t retry_policy_backoff_us(const struct retry_policy *policy, int64_t attempts, double jitter)
{
    static const int64_t multiples[] = { 1, 5, 15, 30, 60, 120, 240 };
    int64_t last = (int64_t)ARRAY_COUNT(multiples) - 1;
    int64_t at = attempts < 1 ? 0 : attempts - 1 < last ? attempts - 1 : last;
    double spread = 0.8 + 0.4 * jitter;
    return (int64_t)((double)(policy->first_retry_us * multiples[at]) * spread);
}

/* The reply as one line: code, enhanced code, text. */
static const char *reply_line(const struct smtp_outcome *outcome, struct arena *arena)
{
    if (outcome->code == 0)
        return arena_dup(arena, outcome->text);
    const char *blank = outcome->enhanced[0] != '\0' ? " " : "";
    return arena_printf(arena, "%d %s%s%s", outcome->code, outcome->enhanced, blank, outcome->text);
}

static bool is_expired(const struct delivery_batch *batch, size_t index, int64_t due_us)
{
    const struct opt_int first = batch->recipients[index].first_at;
    bool is_marketing = text_equal(batch->send->message_class, "marketing");
    int64_t lifetime_us = is_marketing ? marketing_lifetime_us : transactional_lifetime_us;
    return first.set && due_us - first.value > lifetime_us;
}

/* An uncertain message is sent once more at once, with the same Message-ID. It is held when that is uncertain too, or when the
 * operator wants no second copy. */
static void decide_uncertain(const struct retry_policy *policy, bool was_uncertain, int64_t now_us, struct delivery_result *result)
{
    result->uncertain = true;
    result->outcome = policy->hold_uncertain || was_uncertain ? DELIVERY_HELD : DELIVERY_LATER;
    result->reason = result->outcome == DELIVERY_HELD ? "the final reply never came" : NULL;
    result->due_us = now_us;
}

static enum smtp_verdict classify(const struct smtp_outcome *outcome)
{
    bool about_recipient = outcome->stage != SMTP_STAGE_CONNECT && outcome->stage != SMTP_STAGE_MAIL;
    return outcome->end == SMTP_NOT_SENT ? SMTP_VERDICT_SOFT
                                         : smtp_classify_reply(outcome->code, outcome->enhanced, outcome->text, about_recipient);
}

struct delivery_result retry_policy_result(const struct retry_policy *policy, const struct delivery_batch *batch, size_t index,
                                           const struct smtp_outcome *outcome, int64_t now_us, double jitter, struct arena *arena)
{
    const struct delivery_result *before = &batch->results[index];
    struct delivery_result result = {
        .uncertain = before->uncertain,
        .attempts = before->attempts + 1,
        .reply = reply_line(outcome, arena),
        .relay = outcome->relay != NULL ? arena_dup(arena, outcome->relay) : NULL,
    };
    if (outcome->end == SMTP_UNCERTAIN) {
        decide_uncertain(policy, before->uncertain, now_us, &result);
        return result;
    }
    enum smtp_verdict verdict = classify(outcome);
    if (verdict == SMTP_VERDICT_ACCEPTED) {
        result.outcome = DELIVERY_DELIVERED;
        return result;
    }
    result.due_us = now_us + retry_policy_backoff_us(policy, result.attempts, jitter);
    bool expired = verdict == SMTP_VERDICT_SOFT && is_expired(batch, index, result.due_us);
    result.outcome = verdict == SMTP_VERDICT_SOFT && !expired ? DELIVERY_LATER : DELIVERY_BOUNCED;
    if (result.outcome == DELIVERY_BOUNCED)
        result.reason = expired ? "expired" : smtp_verdict_name(verdict);
    result.mailbox_full = expired && smtp_says_mailbox_full(outcome->enhanced, outcome->text);
    return result;
}
