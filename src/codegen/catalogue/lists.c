#include "suggestions.h"
#include "words.h"

#include <string.h>

static const char *credits_in_words(double credits)
{
    return text("%.0f credit%s", credits, credits == 1 ? "" : "s");
}

static const char *price_in_words(const json_t *price)
{
    const char *kind = member_text(price, "kind");
    const char *credits = credits_in_words(member_number(price, "credits", 0));
    if (kind != NULL && strcmp(kind, "perItem") == 0) {
        return text("Costs %s per %s.", credits, member_text(price, "unit"));
    }
    if (kind != NULL && strcmp(kind, "metered") == 0) {
        return text("Metered: %s.", credits);
    }
    return text("Costs %s.", credits);
}

const char *price_sentence(const struct catalogue *all, const struct op_decl *op)
{
    const char *name = member_text(op->json, "price");
    return name == NULL ? "Free." : price_in_words(json_object_get(json_object_get(all->policies, "prices"), name));
}

const char *tool_cost(const struct catalogue *all, const struct tool_decl *tool)
{
    const char *declared = member_text(tool->json, "cost");
    if (declared != NULL) {
        return declared;
    }
    const char *said = NULL;
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->built && !tool->ops[i]->built) {
            continue;
        }
        const char *sentence = price_sentence(all, tool->ops[i]);
        if (said != NULL && strcmp(said, sentence) != 0) {
            problem(tool->where, "its operations cost differently; declare cost");
        }
        said = said != NULL ? said : sentence;
    }
    return said != NULL ? said : "Free.";
}

const char *words_of(const json_t *array)
{
    const char *words = "";
    size_t i;
    const json_t *word;
    json_array_foreach(array, i, word) {
        words = text("%s%s%s", words, i > 0 ? ", " : "", json_string_value(word));
    }
    return words;
}

const char *price_list(const struct catalogue *all)
{
    const char *list = "";
    const char *name;
    json_t *price;
    json_object_foreach(json_object_get(all->policies, "prices"), name, price) {
        list = text("%s- %s: %s\n", list, name, price_in_words(price));
    }
    return list;
}

const char *rate_list(const struct catalogue *all)
{
    const char *list = "";
    const char *name;
    json_t *rate;
    json_object_foreach(json_object_get(all->policies, "rates"), name, rate) {
        list = text("%s- %s: %.0f in %.0f s\n", list, name, member_number(rate, "limit", 0), member_number(rate, "windowS", 60));
    }
    json_object_foreach(json_object_get(all->policies, "dailyBounds"), name, rate) {
        list = text("%s- %s: %.0f a day (UTC) of each %s\n", list, name, member_number(rate, "limit", 0), member_text(rate, "unit"));
    }
    return list;
}

const char *error_list(const struct catalogue *all)
{
    const char *list = "";
    size_t i;
    const json_t *error;
    json_array_foreach(all->errors, i, error) {
        list = text("%s- %s%s: %s\n", list, member_text(error, "code"), member_true(error, "retryable") ? " (retry)" : "",
                    suggestion_for(all, error, READER_WITHOUT_TOOLS));
    }
    return list;
}
