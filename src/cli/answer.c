#include "cli/answer.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/visible.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 256 * 1024 * 1024 };

static size_t terminal_width(void)
{
    struct winsize window;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

bool output_begin(struct arena *arena, const char *format, const char *fields, struct output *ret_output, struct error *err)
{
    struct output *output = ret_output;
    *output = (struct output){ .fields = options_list(arena, fields), .is_terminal = isatty(STDOUT_FILENO) == 1 };
    output->table = (struct table){
        .arena = arena,
        .fields = output->fields,
        .terminal_width = output->is_terminal ? terminal_width() : 0,
    };
    output->format = output->is_terminal ? OUTPUT_TABLE : OUTPUT_JSON;
    if (format == NULL)
        return true;
    static const char *const names[] = { [OUTPUT_TABLE] = "table", [OUTPUT_JSON] = "json", [OUTPUT_JSON_LINES] = "jsonl" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], format) == 0) {
            output->format = (enum output_format)i;
            return true;
        }
    }
    return fail(err, ERR_INVALID_REQUEST, NULL, "--output must be table, json or jsonl.");
}

/* ---- JSON ---- */

/* Only the requested members, under the requested names. */
static const json_t *select_fields(const struct output *output, struct arena *arena, const json_t *row)
{
    if (output->fields == NULL || !json_is_object(row))
        return row;
    json_t *picked = json_in_arena(arena, json_object());
    for (size_t i = 0; output->fields[i] != NULL; i++) {
        const json_t *value = json_at_path(row, output->fields[i]);
        if (value != NULL)
            json_object_set(picked, output->fields[i], json_for_iteration(value));
    }
    return picked;
}

static void print_text(const struct output *output, struct arena *arena, const char *json)
{
    fputs(output->is_terminal ? visible_json(arena, json) : json, stdout);
}

static void print_json(const struct output *output, struct arena *arena, const json_t *row)
{
    print_text(output, arena, json_compact(arena, select_fields(output, arena, row)));
}

static void print_lines(const struct output *output, struct arena *arena, const json_t *rows)
{
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        print_json(output, arena, row);
        putchar('\n');
    }
}

/* A list whose rows have only the requested members; the other members of the answer stay. */
static void print_picked_list(const struct output *output, struct arena *arena, const json_t *answer)
{
    json_t *made = json_in_arena(arena, json_copy(json_for_iteration(answer)));
    json_t *picked = json_array();
    size_t i;
    const json_t *row;
    json_array_foreach (json_object_get(answer, "data"), i, row) {
        json_array_append(picked, json_for_iteration(select_fields(output, arena, row)));
    }
    json_object_set_new(made, "data", picked);
    print_text(output, arena, json_compact(arena, made));
}

/* ---- Tables ---- */

static void print_table(struct output *output, struct arena *arena, const json_t *rows)
{
    BUF_SCOPE text;
    buf_init(&text, TEXT_MAX_BYTES);
    table_rows(&output->table, arena, rows, &text);
    fputs(buf_text(&text), stdout);
}

static void print_resource(const struct output *output, struct arena *arena, const json_t *resource)
{
    BUF_SCOPE text;
    buf_init(&text, TEXT_MAX_BYTES);
    table_resource(&output->table, arena, resource, &text);
    fputs(buf_text(&text), stdout);
}

/* Notes for a person at a terminal. */
static void print_table_notes(const struct output *output)
{
    if (!output->is_terminal)
        return;
    if (output->rows == 0)
        fprintf(stderr, "(none)\n");
    if (output->table.hidden_count > 0)
        fprintf(stderr, "(%zu more columns: --fields NAMES, or --output json)\n", output->table.hidden_count);
}

/* A list, then all other members of the answer except the pagination. */
static void print_list(struct output *output, struct arena *arena, const json_t *answer)
{
    const json_t *rows = json_object_get(answer, "data");
    json_t *rest = json_in_arena(arena, json_copy(json_for_iteration(answer)));
    json_object_del(rest, "data");
    json_object_del(rest, "pagination");
    output->rows = json_array_size(rows);
    print_table(output, arena, rows);
    print_table_notes(output);
    if (json_object_size(rest) > 0 && output->fields == NULL) {
        putchar('\n');
        print_resource(output, arena, rest);
    }
    const json_t *pagination = json_object_get(answer, "pagination");
    if (output->is_terminal && json_get_bool(pagination, "hasMore", false))
        fprintf(stderr, "(more follow: --all, or --cursor '%s')\n", cell_text(arena, json_object_get(pagination, "cursor")));
}

/* ---- Complete answers ---- */

void output_answer(struct output *output, struct arena *arena, const json_t *answer, const char *text)
{
    const json_t *rows = json_object_get(answer, "data");
    bool is_list = json_is_array(rows);
    switch (output->format) {
    case OUTPUT_TABLE:
        if (is_list)
            print_list(output, arena, answer);
        else
            print_resource(output, arena, answer);
        return;
    case OUTPUT_JSON:
        if (output->fields == NULL)
            print_text(output, arena, text);
        else if (is_list)
            print_picked_list(output, arena, answer);
        else
            print_json(output, arena, answer);
        putchar('\n');
        return;
    case OUTPUT_JSON_LINES:
        if (is_list) {
            print_lines(output, arena, rows);
        } else {
            print_json(output, arena, answer);
            putchar('\n');
        }
        return;
    }
}

/* ---- Lists, page by page ---- */

void output_rows(struct output *output, struct arena *arena, const json_t *rows)
{
    size_t i;
    const json_t *row;
    switch (output->format) {
    case OUTPUT_TABLE:
        print_table(output, arena, rows);
        break;
    case OUTPUT_JSON_LINES:
        print_lines(output, arena, rows);
        break;
    case OUTPUT_JSON:
        if (!output->has_begun)
            fputs("{\"data\":[", stdout);
        json_array_foreach (rows, i, row) {
            if (output->rows + i > 0)
                fputs(",\n", stdout);
            print_json(output, arena, row);
        }
        break;
    }
    output->has_begun = true;
    output->rows += json_array_size(rows);
}

void output_end(struct output *output, const char *cursor)
{
    if (output->format == OUTPUT_TABLE)
        print_table_notes(output);
    if (output->format != OUTPUT_JSON || !output->has_begun)
        return;
    BUF_SCOPE text;
    buf_init(&text, TEXT_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &text);
    json_object_begin(&json);
    json_member_text(&json, "cursor", cursor);
    json_member_bool(&json, "hasMore", cursor != NULL);
    json_object_end(&json);
    printf("],\"pagination\":%s}\n", buf_text(&text));
}

/* ---- Errors ---- */

static void add_detail(struct arena *arena, const char *name, const json_t *value)
{
    if (value != NULL && !json_is_null(value))
        fprintf(stderr, "  %s: %s\n", name, cell_text(arena, value));
}

/* A server suggests what a program can do. A person at the command line reads the same in commands. */
static const char *suggest_commands(struct arena *arena, const json_t *whole, const char *envelope)
{
    json_t *error = json_object_get(whole, "error");
    const struct error_info *info = error_info(error_code_from_name(json_get_text(error, "code"), ERR_NONE));
    if (!text_equal(json_get_text(error, "suggestion"), info->suggestion))
        return envelope;
    json_object_set_new(error, "suggestion", json_string(info->command_suggestion));
    return json_compact(arena, whole);
}

void output_error(const struct output *output, const char *command, const char *envelope)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error ignored = { .code = ERR_NONE };
    const json_t *whole = NULL;
    struct json_bounds bounds = { .max_bytes = strlen(envelope) };
    const json_t *error =
        json_read(arena, envelope, strlen(envelope), bounds, &whole, &ignored) ? json_object_get(whole, "error") : NULL;
    if (error != NULL)
        envelope = suggest_commands(arena, whole, envelope);
    if (output->format != OUTPUT_TABLE || error == NULL) {
        print_json_text(arena, stderr, envelope);
        return;
    }
    fprintf(stderr, "posthorn %s: %s\n", command, cell_text(arena, json_object_get(error, "message")));
    add_detail(arena, "code", json_object_get(error, "code"));
    add_detail(arena, "param", json_object_get(error, "param"));
    add_detail(arena, "retry after (s)", json_object_get(error, "retryAfter"));
    add_detail(arena, "details", json_object_get(error, "details"));
    add_detail(arena, "suggestion", json_object_get(error, "suggestion"));
}

bool output_flush(bool *ret_left)
{
    bool arrived = fflush(stdout) == 0 && ferror(stdout) == 0;
    /* The pipe itself is checked, because errno may come from a later call than the failed write. */
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    *ret_left = !arrived && poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
    return arrived;
}
