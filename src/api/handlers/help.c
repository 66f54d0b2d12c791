/*
 * Help: health, the public catalogue, and focused help for assistants, all
 * answered from memory. The overview is the same for every call, so it is
 * written once.
 */
#include "api/op_context.h"

#include "base/nearest.h"
#include "catalogue/operations.h"
#include "catalogue/texts.h"
#include "designer/document.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OVERVIEW_MAX_BYTES = 64 * 1024, TOOLS_MAX = 256 };

bool op_health_read(struct op_context *ctx, const struct health_read_args *args, struct reply *reply, struct error *err)
{
    (void)ctx;
    (void)args;
    (void)err;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "status", "ok");
    json_member_text(&reply->json, "version", "v1");
    json_object_end(&reply->json);
    return true;
}

bool op_help_read(struct op_context *ctx, const struct help_read_args *args, struct reply *reply, struct error *err)
{
    const char *engine = ctx->work.engine->design_engine;
    (void)args;
    (void)err;
    json_object_begin(&reply->json);
    json_raw_bytes(&reply->json, catalogue_help_json + 1, strlen(catalogue_help_json) - 2);
    json_member_text(&reply->json, "designEngine", engine);
    json_object_end(&reply->json);
    return true;
}

bool op_capabilities_document_schema(struct op_context *ctx, const struct capabilities_document_schema_args *args,
                                     struct reply *reply, struct error *err)
{
    (void)ctx;
    (void)args;
    (void)err;
    json_raw(&reply->json, document_schema());
    return true;
}

/* ---- capabilities.get ---- */

static const char overview[] =
    "Posthorn designs, sends and tracks email. Usual order: get_capabilities with topic account (brand, domains, audiences), "
    "save_contact, import_email, send_email with test true, then send_email, then get_email_analytics. "
    "Ask again with a topic or a tool for focused help. Call a tool that is not available to learn what to use in its place.";

static void write_tool(struct json_writer *json, const struct tool *tool)
{
    json_object_begin(json);
    json_member_text(json, "name", tool->name);
    json_member_text(json, "title", tool->title);
    json_member_bool(json, "available", tool->listed);
    json_member_text(json, "cost", tool->cost);
    json_member_text_if(json, "instead", tool->instead);
    json_object_end(json);
}

static bool name_is_listed(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The tools that a connection can see. Tools of the organization are hidden from connections that are bound to a brand. */
enum view { VIEW_ORGANIZATION, VIEW_BRAND, VIEW_COUNT };

static enum view view_of(const struct op_context *ctx)
{
    const struct call *call = ctx->call;
    return call->who.bound_brand_id != 0 || call->credentials.brand != NULL ? VIEW_BRAND : VIEW_ORGANIZATION;
}

static bool tool_is_visible(const struct tool *tool, enum view view)
{
    return view == VIEW_ORGANIZATION || !tool->organization;
}

static void write_topics(struct json_writer *json)
{
    json_key(json, "topics");
    json_array_begin(json);
    for (size_t i = 0; i < help_topic_count; i++)
        json_text(json, help_topics[i].name);
    json_array_end(json);
}

/* Writes the help on a subject. `names` lists its tools; `only` selects a single tool. */
static void write_help(struct json_writer *json, enum view view, const char *subject, const char *help, const char *const *names,
                       const struct tool *only, const char *engine)
{
    json_object_begin(json);
    json_member_text(json, "subject", subject);
    json_member_text(json, "help", help);
    json_member_text_if(json, "designEngine", engine);
    json_key(json, "tools");
    json_array_begin(json);
    for (size_t i = 0; i < tool_count; i++) {
        bool wanted = only != NULL ? &tools[i] == only : name_is_listed(tools[i].name, names);
        if (wanted && tool_is_visible(&tools[i], view))
            write_tool(json, &tools[i]);
    }
    json_array_end(json);
    write_topics(json);
    json_object_end(json);
}

/* ---- The overview ---- */

/* The names of the tools of a set that are listed, or of those that are not. */
static void write_names(struct json_writer *json, enum view view, const char *toolset, const char *member, bool listed)
{
    json_key(json, member);
    json_array_begin(json);
    for (size_t i = 0; i < tool_count; i++)
        if (strcmp(tools[i].toolset, toolset) == 0 && tools[i].listed == listed && tool_is_visible(&tools[i], view))
            json_text(json, tools[i].name);
    json_array_end(json);
}

/* The tools by toolset, by name only: tools/list describes them. The table has the tools of a set together. */
static void write_overview(struct json_writer *json, enum view view)
{
    json_object_begin(json);
    json_member_text(json, "subject", "overview");
    json_member_text(json, "help", overview);
    json_key(json, "toolsets");
    json_array_begin(json);
    for (size_t i = 0; i < tool_count; i++) {
        if (i > 0 && strcmp(tools[i].toolset, tools[i - 1].toolset) == 0)
            continue;
        json_object_begin(json);
        json_member_text(json, "name", tools[i].toolset);
        write_names(json, view, tools[i].toolset, "tools", true);
        write_names(json, view, tools[i].toolset, "notAvailable", false);
        json_object_end(json);
    }
    json_array_end(json);
    write_topics(json);
    json_object_end(json);
}

static struct buf overview_json[VIEW_COUNT];
static pthread_once_t overview_once = PTHREAD_ONCE_INIT;

static void write_overviews(void)
{
    for (int view = 0; view < VIEW_COUNT; view++) {
        struct json_writer json;
        buf_init(&overview_json[view], OVERVIEW_MAX_BYTES);
        json_writer_init(&json, &overview_json[view]);
        write_overview(&json, (enum view)view);
    }
}

static bool suggest_tool(const char *name, enum view view, struct error *err)
{
    const char *names[TOOLS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < tool_count && count < TOOLS_MAX; i++)
        if (tools[i].built && tool_is_visible(&tools[i], view))
            names[count++] = tools[i].name;
    const char *nearest = name_nearest(name, names, count);
    return nearest != NULL ? error_suggest(err, "Use %s.", nearest)
                           : error_suggest(err, "Call get_capabilities without arguments; it lists all tools.");
}

static bool help_about_tool(const char *name, enum view view, struct reply *reply, struct error *err)
{
    for (size_t i = 0; i < tool_count; i++) {
        if (strcmp(tools[i].name, name) != 0 || !tool_is_visible(&tools[i], view))
            continue;
        write_help(&reply->json, view, name, tools[i].help, NULL, &tools[i], NULL);
        return true;
    }
    return fail(err, ERR_INVALID_REQUEST, "tool", "There is no tool named %.60s.", name) || suggest_tool(name, view, err);
}

/* The text of a topic. The members of documents come from their declaration. */
static const char *topic_text(struct arena *arena, const struct help_topic *topic)
{
    bool is_document = strcmp(topic->name, "document") == 0;
    return is_document ? arena_printf(arena, "%s\n\n%s", topic->text, document_help()) : topic->text;
}

bool op_capabilities_get(struct op_context *ctx, const struct capabilities_get_args *args, struct reply *reply, struct error *err)
{
    enum view view = view_of(ctx);
    if (args->tool != NULL)
        return help_about_tool(args->tool, view, reply, err);
    if (args->topic != CAPABILITIES_GET_TOPIC_ABSENT) {
        const struct help_topic *topic = &help_topics[args->topic - 1];
        bool is_of_designs = strcmp(topic->name, "emails") == 0;
        write_help(&reply->json, view, topic->name, topic_text(ctx->work.arena, topic), topic->tools, NULL,
                   is_of_designs ? ctx->work.engine->design_engine : NULL);
        return true;
    }
    pthread_once(&overview_once, write_overviews);
    json_raw_bytes(&reply->json, overview_json[view].data, overview_json[view].size);
    return true;
}
