/*
 * posthorn DOMAIN VERB: calls an operation of the catalogue on the local
 * installation or, over REST, on a running server. Prints one answer, or the
 * rows of a list page by page.
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

/* One running command. */
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

static int report_misuse(const struct command_line *line, const struct error *err)
{
    const char *verb = line->op != NULL ? line->op->verb : "";
    fprintf(stderr, "posthorn %s%s%s: %s\n", line->domain, *verb != '\0' ? " " : "", verb, err->message);
    return EXIT_STATUS_MISUSED;
}

/* An error of the client is shown like an error of the service. */
static int report_failure(const struct run *run, const struct error *err)
{
    BUF_SCOPE envelope;
    buf_init(&envelope, ERROR_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &envelope);
    api_write_error_for(&json, err, error_info(err->code)->command_suggestion);
    output_error(&run->output, run->name, buf_text(&envelope));
    return interrupt_received() ? EXIT_STATUS_INTERRUPTED : exit_status_of(error_info(err->code)->http_status);
}

/* ---- One call ---- */

static bool call_local_operation(struct run *run, struct arena *arena, struct answer *answer)
{
    const struct operation *op = run->arguments.op;
    const json_t *flat = arguments_flat(arena, &run->arguments);
    struct posthorn_reply *reply = local_call(&run->local, op->id, json_compact(arena, flat), run->options->wait);
    *answer = (struct answer){ .status = reply->status, .text = arena_dup_bytes(arena, reply->body, reply->body_bytes) };
    posthorn_reply_free(reply);
    return true;
}

static bool call_remote_operation(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    struct rest_answer got;
    if (!rest_call(&run->rest, arena, &run->arguments, &got, err))
        return false;
    *answer = (struct answer){ .status = got.status, .text = got.body, .retry_after_s = got.retry_after_s };
    return true;
}

static bool call_operation(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    if (interrupt_received())
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Interrupted before the call was made.");
    if (!(run->is_remote ? call_remote_operation(run, arena, answer, err) : call_local_operation(run, arena, answer)))
        return false;
    struct json_bounds bounds = { .max_bytes = ANSWER_MAX_BYTES };
    if (!json_read(arena, answer->text, strlen(answer->text), bounds, &answer->json, err))
        return false;
    if (answer->retry_after_s == 0)
        answer->retry_after_s = json_get_int(json_object_get(answer->json, "error"), "retryAfter", 0);
    return true;
}

static int report_refusal(const struct run *run, const struct answer *answer)
{
    output_error(&run->output, run->name, answer->text);
    return interrupt_received() ? EXIT_STATUS_INTERRUPTED : exit_status_of(answer->status);
}

static int print_one_answer(struct run *run, struct arena *arena)
{
    struct error err = { .code = ERR_NONE };
    struct answer answer;
    if (!call_operation(run, arena, &answer, &err))
        return report_failure(run, &err);
    if (exit_status_of(answer.status) != EXIT_STATUS_DONE)
        return report_refusal(run, &answer);
    output_answer(&run->output, arena, answer.json, answer.text);
    return EXIT_STATUS_DONE;
}

/* ---- Page by page ---- */

static bool asks_to_wait(const struct answer *answer)
{
    return answer->status == 429 && answer->retry_after_s > 0 && answer->retry_after_s <= PAUSE_MAX_S;
}

/* Gets one page. Waits and retries when the server refuses because of its rate limit. */
static bool call_page(struct run *run, struct arena *arena, struct answer *answer, struct error *err)
{
    for (int pauses = 0;; pauses++) {
        if (!call_operation(run, arena, answer, err))
            return false;
        if (!asks_to_wait(answer) || pauses == PAUSES_MAX || interrupt_received())
            return true;
        struct progress_bar bar = progress_begin();
        progress_draw(&bar, 0, 0, "Waiting: too many calls");
        interrupt_pause_ms(answer->retry_after_s * 1000);
        progress_end(&bar);
    }
}

/* The position in the pages of a list. */
struct page_walk {
    char cursor[CURSOR_MAX_BYTES]; /* of the next page; empty before the first page and after the last */
    char earlier[CURSOR_MAX_BYTES];
    size_t pages_since;
    size_t reach;
};

/* Moves to the next page. A list whose cursors form a cycle would never end. An earlier cursor is kept for comparison, and
 * replaced after twice as many pages each time (Brent's cycle detection), so that cycles of any length are found. */
static bool next_page(struct page_walk *page_walk, const struct answer *answer, struct error *err)
{
    const char *cursor = json_get_text(json_object_get(answer->json, "pagination"), "cursor");
    if (cursor == NULL) {
        page_walk->cursor[0] = '\0';
        return true;
    }
    if (strlen(cursor) >= CURSOR_MAX_BYTES || *cursor == '\0' || strcmp(cursor, page_walk->earlier) == 0)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The cursor of the next page is %s.",
                    strcmp(cursor, page_walk->earlier) == 0 && *cursor != '\0' ? "a repeated one" : "empty or too long");
    snprintf(page_walk->cursor, CURSOR_MAX_BYTES, "%s", cursor);
    if (page_walk->pages_since++ == page_walk->reach) {
        memcpy(page_walk->earlier, page_walk->cursor, sizeof(page_walk->earlier));
        page_walk->pages_since = 0;
        page_walk->reach = 2 * page_walk->reach + 1;
    }
    return true;
}

/* Completes the output: its end holds the cursor where the list stopped. */
static int stop_at(struct run *run, const char *cursor, int status)
{
    output_end(&run->output, *cursor != '\0' ? cursor : NULL);
    bool has_left;
    if (!output_flush(&has_left) && has_left)
        return EXIT_STATUS_DONE;
    return status;
}

static int print_all_pages(struct run *run)
{
    const struct arg_field *field = operation_field(run->arguments.op, "cursor");
    json_t *place = arguments_place(&run->arguments, field->place);
    struct page_walk page_walk = { .cursor = "" };
    do {
        ARENA_SCOPE arena = arena_new(0); /* memory of one page */
        struct error err = { .code = ERR_NONE };
        struct answer answer;
        if (interrupt_received())
            return stop_at(run, page_walk.cursor, EXIT_STATUS_INTERRUPTED);
        if (!call_page(run, arena, &answer, &err))
            return stop_at(run, page_walk.cursor, report_failure(run, &err));
        if (exit_status_of(answer.status) != EXIT_STATUS_DONE)
            return stop_at(run, page_walk.cursor, report_refusal(run, &answer));
        output_rows(&run->output, arena, json_object_get(answer.json, "data"));
        bool has_left;
        if (!output_flush(&has_left))
            return EXIT_STATUS_DONE; /* main checks the output when the process ends */
        if (!next_page(&page_walk, &answer, &err))
            return stop_at(run, page_walk.cursor, report_failure(run, &err));
        json_object_set_new(place, field->name, json_string(page_walk.cursor));
        run->arguments.has_body = run->arguments.has_body || field->place == ARG_IN_BODY;
    } while (page_walk.cursor[0] != '\0');
    output_end(&run->output, NULL);
    return EXIT_STATUS_DONE;
}

/* ---- The command ---- */

static const char *tool_name_of(const struct operation *op)
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
        return fail(err, ERR_INVALID_REQUEST, NULL, "--all: this command does not return a list.");
    if (run->options->wait && !op->waits)
        return fail(err, ERR_INVALID_REQUEST, NULL, "--wait: this command has nothing to wait for.");
    if (run->options->wait && run->is_remote)
        return fail(err, ERR_INVALID_REQUEST, NULL, "--wait is not available over REST; leave out --wait or --url.");
    if (run->is_remote && op->method == NULL) {
        const char *tool = tool_name_of(op);
        return fail(err, ERR_INVALID_REQUEST, NULL, "This is not available over REST%s%s; leave --url out.",
                    tool != NULL ? ", but as a tool: posthorn call " : "", tool != NULL ? tool : "");
    }
    return true;
}

static bool is_deletion(const struct operation *op)
{
    return (op->method != NULL && strcmp(op->method, "DELETE") == 0) || strncmp(op->verb, "delete", 6) == 0;
}

/* Only a person at a terminal is asked. */
static bool user_agrees(const struct run *run, const struct operation *op)
{
    if (!is_deletion(op) || run->options->yes || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return true;
    char said[16];
    fprintf(stderr, "posthorn %s: %s Continue? [y/N] ", run->name, op->summary);
    return fgets(said, sizeof(said), stdin) != NULL && (said[0] == 'y' || said[0] == 'Y');
}

static void stop_nothing(void *nothing)
{
    (void)nothing; /* the transfer checks interrupt_received itself */
}

static int run_and_close(struct run *run, const struct process *process)
{
    bool is_list = run->options->all;
    int status;
    if (run->is_remote) {
        interrupt_block();
        interrupt_begin(stop_nothing, NULL);
        status = is_list ? print_all_pages(run) : print_one_answer(run, process->arena);
        interrupt_end();
        return status;
    }
    local_open(&run->local, process, run->options);
    status = is_list ? print_all_pages(run) : print_one_answer(run, process->arena);
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
        return report_misuse(line, &err);
    const struct operation *op = run.arguments.op;
    if (!op->built) {
        fail(&err, ERR_NOT_IMPLEMENTED, NULL, "%s is not implemented in this version.", op->id);
        return report_failure(&run, &err);
    }
    if (!check_options(&run, op, &err))
        return report_misuse(line, &err);
    if (!user_agrees(&run, op)) {
        fprintf(stderr, "posthorn %s: nothing was done\n", run.name);
        return EXIT_STATUS_REFUSED;
    }
    return run_and_close(&run, process);
}
