/*
 * posthorn call and posthorn tools: call and list the tools, on the local
 * installation or on a running server. The answer is one JSON document on
 * standard output. An error is the envelope on standard error and exit status
 * 1.
 */
#include "cli/commands.h"

#include "api/catalogue.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/values.h"
#include "cli/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX_BYTES = 8 * 1024 * 1024 };

/* Reads JSON as text, @FILE or - for standard input; NULL means no arguments. */
static bool read_arguments(struct arena *arena, const char *word, const json_t **ret_arguments, struct error *err)
{
    struct value_source source = { .arena = arena, .max_bytes = ARGUMENTS_MAX_BYTES };
    *ret_arguments = NULL;
    return word == NULL || value_json(&source, "The arguments", word, ret_arguments, err);
}

static int print_answer(struct arena *arena, bool ok, const char *answer)
{
    print_json_text(arena, ok ? stdout : stderr, answer);
    return ok ? 0 : 1;
}

static int call_local(const struct process *process, const struct options *options, const char *name, const json_t *arguments)
{
    struct local local;
    local_open(&local, process, options);
    struct posthorn_reply *reply =
        local_call(&local, name, arguments != NULL ? json_compact(process->arena, arguments) : NULL, false);
    int status = print_answer(process->arena, reply->ok != 0, reply->body);
    posthorn_reply_free(reply);
    local_close(&local);
    return status;
}

static int call_remote(const struct process *process, const struct options *options, const char *name, const json_t *arguments)
{
    struct remote remote = { .url = options->url, .key = options->key, .brand = options->brand };
    struct error err = { .code = ERR_NONE };
    bool ok;
    const char *answer;
    if (options->idempotency_key != NULL) {
        json_t *own = json_in_arena(process->arena, arguments != NULL ? json_deep_copy(arguments) : json_object());
        json_object_set_new(own, "idempotencyKey", json_string(options->idempotency_key));
        arguments = own;
    }
    if (!remote_call_tool(&remote, process->arena, name, arguments, &ok, &answer, &err))
        return command_failed(&err);
    return print_answer(process->arena, ok, answer);
}

int command_call(const struct process *process, const struct options *options)
{
    struct error err = { .code = ERR_NONE };
    const json_t *arguments;
    const char *name = options->words[0];
    if (name == NULL) {
        fprintf(stderr, "posthorn call: name a tool; posthorn tools lists them\n");
        return 2;
    }
    if (!read_arguments(process->arena, options->words[1], &arguments, &err))
        return command_failed(&err);
    return options->url != NULL ? call_remote(process, options, name, arguments) : call_local(process, options, name, arguments);
}

/* ---- posthorn tools ---- */

static void print_tool_line(struct arena *arena, const char *name, const char *description)
{
    const char *sentence = arena_dup_bytes(arena, description, strcspn(description, ".\n"));
    printf("%-34s %s.\n", visible_text(arena, name), visible_text(arena, sentence));
}

static void json_dump_free(char **text)
{
    free(*text);
}

static int list_tools(struct arena *arena, const json_t *list, const char *wanted)
{
    bool found = wanted == NULL;
    size_t index;
    const json_t *tool;
    json_array_foreach (list, index, tool) {
        const char *name = json_get_text(tool, "name");
        const char *description = json_get_text(tool, "description");
        if (name == NULL || description == NULL)
            continue;
        if (wanted == NULL) {
            print_tool_line(arena, name, description);
        } else if (strcmp(name, wanted) == 0) {
            found = true;
            CLEANUP(json_dump_free) char *text = json_dumps(tool, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
            if (text == NULL)
                panic(PANIC_NO_MEMORY);
            print_json_text(arena, stdout, text);
        }
    }
    if (!found)
        fprintf(stderr, "posthorn tools: there is no tool named %s\n", wanted);
    return found ? 0 : 1;
}

static bool tool_is_selected(const struct process *process, const struct tool *tool, const struct options *options)
{
    const char *const *names = options_list(process->arena, options->tools);
    const char *const *sets = options_list(process->arena, options->toolsets);
    bool named = names == NULL;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        named = named || strcmp(names[i], tool->name) == 0;
    bool in_set = sets == NULL;
    for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
        in_set = in_set || strcmp(sets[i], tool->toolset) == 0;
    return tool->listed && named && in_set && (!options->read_only || tool->read_only);
}

static const json_t *local_tools(const struct process *process, const struct options *options)
{
    json_t *list = json_in_arena(process->arena, json_array());
    for (size_t i = 0; i < tool_count; i++)
        if (tool_is_selected(process, &tools[i], options))
            json_array_append_new(list, json_loads(tools[i].list_json, 0, NULL));
    return list;
}

int command_tools(const struct process *process, const struct options *options)
{
    if (options->url == NULL)
        return list_tools(process->arena, local_tools(process, options), options->words[0]);
    struct remote remote = { .url = options->url, .key = options->key, .brand = options->brand };
    struct error err = { .code = ERR_NONE };
    const json_t *list;
    if (!remote_list_tools(&remote, process->arena, &list, &err))
        return command_failed(&err);
    return list_tools(process->arena, list, options->words[0]);
}
