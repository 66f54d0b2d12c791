#include "lint.h"

#include "types.h"

#include <string.h>

static const char where[] = "tools/topics.json";

static void lint_topic(const struct catalogue *all, json_t *topic)
{
    static const char *const known[] = { "name=s", "title=s", "text=s", "append=s", "tools=t", NULL };
    static const char *const appendices[] = { "prices", "rates", "errors", "nodes", "clients", NULL };
    const char *name = member_text(topic, "name");
    const char *place = text("%s: %s", where, name != NULL ? name : "a topic without a name");
    lint_members(topic, known, place);
    lint_text(topic, "title", place);
    lint_text(topic, "text", place);
    const char *append = member_text(topic, "append");
    if (append != NULL && !is_one_of(append, appendices)) {
        problem(place, "appends the unknown list %s", append);
    }
    size_t i;
    const json_t *tool;
    json_array_foreach(json_object_get(topic, "tools"), i, tool) {
        if (find_tool(all, json_string_value(tool)) == NULL) {
            problem(place, "names the unknown tool %s", json_is_string(tool) ? json_string_value(tool) : "");
        }
    }
}

/* The values of the argument `topic` must be these topics in the same order, because the enum value is the index. */
static void lint_topic_order(const struct catalogue *all)
{
    const struct op_decl *op = find_op(all, "capabilities.get");
    const struct param *param = op != NULL ? find_param(op, "topic") : NULL;
    if (param == NULL) {
        return;
    }
    const json_t *values = enum_values(param);
    bool same = json_array_size(values) == json_array_size(all->topics);
    size_t i;
    const json_t *topic;
    json_array_foreach(all->topics, i, topic) {
        same = same && json_equal(json_object_get(topic, "name"), json_array_get(values, i));
    }
    if (!same) {
        problem(where, "the topics differ from those of capabilities.get, or are in another order");
    }
}

static bool is_in_topic(const struct catalogue *all, const char *name)
{
    size_t i;
    const json_t *topic;
    json_array_foreach(all->topics, i, topic) {
        if (list_has(json_object_get(topic, "tools"), name)) {
            return true;
        }
    }
    return false;
}

/* get_capabilities describes the tools of a topic, so a built tool without a topic would be missing there. */
static void lint_topics_of_tools(const struct catalogue *all)
{
    for (size_t i = 0; i < all->tool_count; i++) {
        const struct tool_decl *tool = &all->tools[i];
        if (tool->built && !is_in_topic(all, tool->name)) {
            problem(tool->where, "%s is built and in no topic; add its name to the tools of a topic in %s", tool->name, where);
        }
    }
}

void lint_topics(const struct catalogue *all)
{
    size_t i;
    json_t *topic;
    json_array_foreach(all->topics, i, topic) {
        lint_topic(all, topic);
    }
    lint_topic_order(all);
    lint_topics_of_tools(all);
}
