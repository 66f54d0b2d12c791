/*
 * Answers of rspamd: reads the verdict from their JSON.
 *
 * A message is taken for spam from the lowest threshold on whose action puts it
 * apart. The member required_score, which is that of the action reject, is too
 * high for it; it counts when the thresholds are not told. The action then tells more.
 */
#include "spam/filter.h"

#include "base/json_read.h"

#include <string.h>

enum { ACTION_MAX_CHARS = 40 };

static const char *const spam_actions[] = { "add header", "rewrite subject", "quarantine", "reject", "discard" };

static bool get_number(const json_t *object, const char *name, double *ret_number)
{
    const json_t *value = json_object_get(object, name);
    *ret_number = json_number_value(value);
    return json_is_number(value) && spam_is_score(*ret_number);
}

static bool is_spam_action(const char *action)
{
    for (size_t i = 0; action != NULL && i < ARRAY_COUNT(spam_actions); i++)
        if (strcmp(action, spam_actions[i]) == 0)
            return true;
    return false;
}

static double lowest_threshold(const json_t *thresholds, double otherwise)
{
    double lowest = otherwise;
    double value;
    for (size_t i = 0; i < ARRAY_COUNT(spam_actions); i++)
        if (get_number(thresholds, spam_actions[i], &value) && value > 0 && value < lowest)
            lowest = value;
    return lowest;
}

static void read_symbols(struct arena *arena, const json_t *symbols, struct spam_rule *rules, size_t *ret_count)
{
    const char *name;
    json_t *symbol;
    json_object_foreach (json_for_iteration(symbols), name, symbol) {
        const char *description = json_get_text(symbol, "description");
        double score;
        if (*ret_count == SPAM_RULES_MAX)
            return;
        if (spam_is_rule_name(name) && get_number(symbol, "score", &score))
            rules[(*ret_count)++] = (struct spam_rule){
                .name = arena_dup(arena, name),
                .score = score,
                .description = description != NULL ? spam_text(arena, description, SPAM_DESCRIPTION_MAX_CHARS) : "",
            };
    }
}

bool rspamd_answer_read(struct arena *arena, const char *bytes, size_t size, struct spam_verdict *ret_verdict,
                        struct spam_rule *rules, struct error *err)
{
    const struct json_bounds bounds = { .max_bytes = SPAM_ANSWER_MAX_BYTES, .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    struct error ignored = { .code = ERR_NONE };
    const json_t *answer = NULL;
    const json_t *symbols;
    if (!json_read(arena, bytes, size, bounds, &answer, &ignored) || !json_is_object(answer))
        return spam_fail(err, "its answer is not a JSON object");
    if (!get_number(answer, "score", &ret_verdict->score) || !get_number(answer, "required_score", &ret_verdict->threshold))
        return spam_fail(err, "its answer has no score");
    symbols = json_object_get(answer, "symbols");
    /* The test pattern ends the checks early. */
    if (json_get_bool(answer, "is_skipped", false) && json_object_get(symbols, "GTUBE") == NULL)
        return spam_fail(err, "it is set up to skip the message");
    const char *action = json_get_text(answer, "action");
    ret_verdict->is_spam = is_spam_action(action);
    ret_verdict->action = action != NULL ? spam_text(arena, action, ACTION_MAX_CHARS) : NULL;
    ret_verdict->threshold = lowest_threshold(json_object_get(answer, "thresholds"), ret_verdict->threshold);
    ret_verdict->names_rules = json_is_object(symbols);
    ret_verdict->count = 0;
    if (ret_verdict->names_rules)
        read_symbols(arena, symbols, rules, &ret_verdict->count);
    return true;
}
