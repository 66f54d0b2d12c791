/*
 * posthorn DOMAIN VERB: an operation of the catalogue against the local
 * installation or, over REST, a running server; one answer, or the rows of a
 * list page after page.
 */
#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/local.h"
#include "cli/operation_help.h"
#include "cli/rest.h"

#include "api/call.h"
#include "base/json_read.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ERROR_MAX_BYTES = 64 * 1024,
    ANSWER_MAX_BYTES = 64 * 1024 * 1024,
    CURSOR_MAX_BYTES = 4096,
    PAUSES_MAX = 20,
    PAUSE_MAX_S = 120
};

/* One command under way. */
struct run {
    const struct options *options;
    const char *name; /* "contacts search", for messages */
    struct arguments arguments;
    struct output output;
    bool is_remote;
    struct local local;
    struct rest rest;
};

struct answer {
    int status;
    const json_t *json;
    const char *text;
    int64_t retry_after_s;
};

static int misused(const struct command_line *line, const struct error *err)
{
    const char *verb = line->op != NULL ? line->op->verb : "";
    fprintf(stderr, "posthorn %s%s%s: %s\n", line->domain, *verb != '\0' ? " " : "", verb, err->message);
    return EXIT_STATUS_MISUSED;
}

/* An error of this side is shown like one of the service. */
static int failed(const struct run *run, const struct error *err)
{
    BUF_SCOPE envelope;
    buf_init(&envelope, ERROR_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &envelope);
    api_write_error(&json, err);
    output_error(&run->output, run->name, buf_text(&envelope));
    return interrupt_came() ? EXIT_STATUS_INTERRUPTED : exit_status_of(error_info(err->code)->http_status);
}

/* ---- One call ---- */

static bool ask_local(struct run *run, struct arena *arena, struct answer *answer)
{
    const struct operation *op = run->arguments.op;
    const json_t *flat = arguments_flat(arena, &run->arguments);
    struct posthorn_reply *reply = local_call(&run->local, op->id, json_compact(arena, flat), run->options->wait);
    *answer = (struct answer){ .status = reply->status, .text = arena_dup_bytes(arena, reply->body, reply->body_bytes) };
    posthorn_reply_free(reply);
    return true;
}

static bool ask_remote(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    struct rest_answer got;
    if (!rest_call(&run->rest, arena, &run->arguments, &got, err))
        return false;
    *answer = (struct answer){ .status = got.status, .text = got.body, .retry_after_s = got.retry_after_s };
    return true;
}

static bool ask(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    if (interrupt_came())
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Interrupted before it was asked.");
    if (!(run->is_remote ? ask_remote(run, arena, answer, err) : ask_local(run, arena, answer)))
        return false;
    struct json_bounds bounds = { .max_bytes = ANSWER_MAX_BYTES };
    if (!json_read(arena, answer->text, strlen(answer->text), bounds, &answer->json, err))
        return false;
    if (answer->retry_after_s == 0)
        answer->retry_after_s = json_get_int(json_object_get(answer->json, "error"), "retryAfter", 0);
    return true;
}

static int refused(const struct run *run, const struct answer *answer)
{
    output_error(&run->output, run->name, answer->text);
    return interrupt_came() ? EXIT_STATUS_INTERRUPTED : exit_status_of(answer->status);
}

static int run_once(struct run *run, struct arena *arena)
{
    struct error err = { .code = ERR_NONE };
    struct answer answer;
    if (!ask(run, arena, &answer, &err))
        return failed(run, &err);
    if (exit_status_of(answer.status) != EXIT_STATUS_DONE)
        return refused(run, &answer);
    output_answer(&run->output, arena, answer.json, answer.text);
    return EXIT_STATUS_DONE;
}

/* ---- Page after page ---- */

static bool asks_to_wait(const struct answer *answer)
{
    return answer->status == 429 && answer->retry_after_s > 0 && answer->retry_after_s <= PAUSE_MAX_S;
}

/* One page; a server that has had too many calls is waited for. */
static bool ask_page(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    for (int pauses = 0;; pauses++) {
        if (!ask(run, arena, answer, err))
            return false;
        if (!asks_to_wait(answer) || pauses == PAUSES_MAX || interrupt_came())
            return true;
        struct progress_bar bar = progress_begin();
        progress_draw(&bar, 0, 0, "Waiting: too many calls");
        interrupt_pause_ms(answer->retry_after_s * 1000);
        progress_end(&bar);
    }
}

/* The way through the pages of a list. */
struct walk {
    char cursor[CURSOR_MAX_BYTES]; /* of the next page; empty before the first and behind the last */
    char earlier[CURSOR_MAX_BYTES];
    size_t pages_since;
    size_t reach;
};

/* Goes on to the next page. A list that leads back to where it was would never end; the cursor kept for that grows old at
 * double the distance each time (Brent), so that circles of any length are noticed. */
static bool next_page(struct walk *walk, const struct answer *answer, struct error *err)
{
    const char *cursor = json_get_text(json_object_get(answer->json, "pagination"), "cursor");
    if (cursor == NULL) {
        walk->cursor[0] = '\0';
        return true;
    }
    if (strlen(cursor) >= CURSOR_MAX_BYTES || *cursor == '\0' || strcmp(cursor, walk->earlier) == 0)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The cursor of the next page is %s.",
                    strcmp(cursor, walk->earlier) == 0 && *cursor != '\0' ? "one that was followed already" : "empty or too long");
    snprintf(walk->cursor, CURSOR_MAX_BYTES, "%s", cursor);
    if (walk->pages_since++ == walk->reach) {
        memcpy(walk->earlier, walk->cursor, sizeof(walk->earlier));
        walk->pages_since = 0;
        walk->reach = 2 * walk->reach + 1;
    }
    return true;
}

/* What was written stays whole: its end says where it stopped. */
static int stop_at(struct run *run, const char *cursor, int status)
{
    output_end(&run->output, *cursor != '\0' ? cursor : NULL);
    bool has_left;
    if (!output_flush(&has_left) && has_left)
        return EXIT_STATUS_DONE;
    return status;
}

static int run_all(struct run *run)
{
    const struct arg_field *field = operation_field(run->arguments.op, "cursor");
    json_t *place = arguments_place(&run->arguments, field->place);
    struct walk walk = { .cursor = "" };
    do {
        ARENA_SCOPE arena = arena_new(0); /* a page at a time, however long the list is */
        struct error err = { .code = ERR_NONE };
        struct answer answer;
        if (interrupt_came())
            return stop_at(run, walk.cursor, EXIT_STATUS_INTERRUPTED);
        if (!ask_page(run, arena, &answer, &err))
            return stop_at(run, walk.cursor, failed(run, &err));
        if (exit_status_of(answer.status) != EXIT_STATUS_DONE)
            return stop_at(run, walk.cursor, refused(run, &answer));
        output_rows(&run->output, arena, json_object_get(answer.json, "data"));
        bool has_left;
        if (!output_flush(&has_left))
            return EXIT_STATUS_DONE; /* whether that is well is judged when the process ends */
        if (!next_page(&walk, &answer, &err))
            return stop_at(run, walk.cursor, failed(run, &err));
        json_object_set_new(place, field->name, json_string(walk.cursor));
        run->arguments.has_body = run->arguments.has_body || field->place == ARG_IN_BODY;
    } while (walk.cursor[0] != '\0');
    output_end(&run->output, NULL);
    return EXIT_STATUS_DONE;
}

/* ---- The command ---- */

static const char *tool_of(const struct operation *op)
{
    for (size_t i = 0; i < tool_count; i++)
        for (size_t at = 0; tools[i].candidates[at] != NULL; at++)
            if (tools[i].candidates[at] == op && tools[i].built)
                return tools[i].name;
    return NULL;
}

static bool check_options(const struct run *run, const struct operation *op, struct error *err)
{
    if (run->options->all && operation_field(op, "cursor") == NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "--all: this command lists nothing.");
    if (run->options->wait && !op->waits)
        return fail(err, ERR_INVALID_REQUEST, NULL, "--wait: nothing goes on here that could be waited for.");
    if (run->options->wait && run->is_remote)
        return fail(err, ERR_INVALID_REQUEST, NULL, "--wait: REST does not tell of the end; leave it out, or --url.");
    if (run->is_remote && op->method == NULL) {
        const char *tool = tool_of(op);
        return fail(err, ERR_INVALID_REQUEST, NULL, "REST does not have this%s%s; leave --url out.",
                    tool != NULL ? ": a server has it as a tool, posthorn call " : "", tool != NULL ? tool : "");
    }
    return true;
}

static bool deletes(const struct operation *op)
{
    return (op->method != NULL && strcmp(op->method, "DELETE") == 0) || strncmp(op->verb, "delete", 6) == 0;
}

/* Only who sits before a terminal is asked. */
static bool agrees(const struct run *run, const struct operation *op)
{
    if (!deletes(op) || run->options->yes || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return true;
    char said[16];
    fprintf(stderr, "posthorn %s: %s Go on? [y/N] ", run->name, op->summary);
    return fgets(said, sizeof(said), stdin) != NULL && (said[0] == 'y' || said[0] == 'Y');
}

static void stop_nothing(void *nothing)
{
    (void)nothing; /* the transfer looks itself whether an interrupt came */
}

static int reach(struct run *run, const struct process *process)
{
    bool is_list = run->options->all;
    int status;
    if (run->is_remote) {
        interrupt_block();
        interrupt_begin(stop_nothing, NULL);
        status = is_list ? run_all(run) : run_once(run, process->arena);
        interrupt_end();
        return status;
    }
    local_open(&run->local, process, run->options);
    status = is_list ? run_all(run) : run_once(run, process->arena);
    local_close(&run->local);
    return status;
}

int command_operation(const struct process *process, const struct options *options)
{
    const struct command_line *line = process->line;
    struct arena *arena = process->arena;
    struct error err = { .code = ERR_NONE };
    if (line->help && line->op == NULL)
        print_domain_help(line->domain);
    else if (line->help)
        print_operation_help(arena, line->op);
    if (line->help)
        return EXIT_STATUS_DONE;

    struct run run = {
        .options = options,
        .name = arena_printf(arena, "%s %s", line->op->domain, line->op->verb),
        .is_remote = options->url != NULL,
        .rest = { options->url, options->key, options->brand, options->idempotency_key },
    };
    if (!output_begin(arena, options->output, options->fields, &run.output, &err) ||
        !arguments_make(arena, line, options->body, &run.arguments, &err))
        return misused(line, &err);
    const struct operation *op = run.arguments.op;
    if (!op->built) {
        fail(&err, ERR_NOT_IMPLEMENTED, NULL, "%s is not built in this version.", op->id);
        return failed(&run, &err);
    }
    if (!check_options(&run, op, &err))
        return misused(line, &err);
    if (!agrees(&run, op)) {
        fprintf(stderr, "posthorn %s: nothing was done\n", run.name);
        return EXIT_STATUS_REFUSED;
    }
    return reach(&run, process);
}
