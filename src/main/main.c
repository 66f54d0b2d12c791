/*
 * posthorn: the program. It finds the command and passes the options to it.
 * Each command has a file of its own.
 */
#include "cli/answer.h"
#include "cli/command_line.h"
#include "cli/commands.h"

#include "api/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "crypto/keys.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    enum command_bit bit;
    int (*run)(const struct process *process, const struct options *options);
    const char *usage;
    const char *help;
    size_t words; /* maximum number of arguments that are not options */
    bool quiet;   /* an MCP host or a person reads its standard error: warnings only */
};

static const struct command commands[] = {
    { "mcp", COMMAND_MCP, command_mcp, "mcp [options]", "serve the Model Context Protocol (MCP) on standard input and output", 0,
      true },
    { "serve", COMMAND_SERVE, command_serve, "serve [options]", "serve MCP at /mcp and the REST API under /v1 over HTTP", 0,
      false },
    { "worker", COMMAND_WORKER, command_worker, "worker [options]", "run jobs on a database named with --database", 0, false },
    { "call", COMMAND_CALL, command_call, "call TOOL [JSON] [options]", "call a tool or an operation and print its answer", 2,
      true },
    { "tools", COMMAND_TOOLS, command_tools, "tools [TOOL] [options]", "list the tools, or show one", 1, true },
    { "admin", COMMAND_ADMIN, command_admin, "admin org|brand|key|session|domain create|list|… [options]",
      "manage the installation", 5, true },
    { "why", COMMAND_WHY, command_why, "why EMAIL [SEND_ID]|MESSAGE_ID [options]",
      "explain the decisions about mail to one address, or about one message", 2, true },
    { "bounce", COMMAND_BOUNCE, command_bounce, "bounce [options] < MESSAGE", "record a bounce or complaint that came as mail", 0,
      true },
    { "doctor", COMMAND_DOCTOR, command_doctor, "doctor [options]", "check the installation and print the results", 0, true },
    { "stop", COMMAND_STOP, command_stop, "stop [options]", "stop the background runner of a data folder", 0, true },
    { "runner", COMMAND_RUNNER, command_runner, NULL, "the background process that owns a private cluster and its jobs", 0, false },
};

static void print_help(void)
{
    printf("posthorn %s: self-hosted email design, sending and automation\n\n", POSTHORN_VERSION);
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        if (commands[i].usage != NULL)
            printf("  posthorn %-58s %s\n", commands[i].usage, commands[i].help);
    printf("\nposthorn COMMAND --help lists the options of a command.\n");
    print_domains();
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int command_failed(const struct error *err)
{
    BUF_SCOPE out;
    buf_init(&out, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    api_write_error_for(&json, err, error_info(err->code)->command_suggestion);
    fprintf(stderr, "%s\n", buf_text(&out));
    /* The user of a command is the operator, so the internal cause may be shown. */
    if (err->cause[0] != '\0') {
        struct log_line line;
        log_begin(&line, LOG_WARNING, "command.failed");
        log_operator_error_members(&line, err);
        log_end(&line);
    }
    return 1;
}

static bool set_log_level(const struct options *options, bool quiet)
{
    static const char *const names[] = { "debug", "info", "warning", "error" };
    log_set_level(quiet ? LOG_WARNING : LOG_INFO);
    if (options->log_level == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], options->log_level) == 0) {
            log_set_level((enum log_level)i);
            return true;
        }
    }
    fprintf(stderr, "posthorn: --log-level must be debug, info, warning or error\n");
    return false;
}

/* Tests move the clock with this variable. */
static void set_clock(void)
{
    const char *offset = getenv("POSTHORN_CLOCK_OFFSET_S");
    int64_t seconds;
    if (offset != NULL && int64_parse(offset, &seconds))
        clock_set_offset_us(seconds * US_PER_S);
}

static const char *own_path(struct arena *arena, const char *argv0)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
    return size > 0 && (size_t)size < sizeof(path) ? arena_dup_bytes(arena, path, (size_t)size) : argv0;
}

/* The address of a relay may hold a password, the key of a model is one, and every user can see the arguments of a process. So
 * these options go through the environment. */
static void pass_by_environment(const struct options *options)
{
    const struct {
        const char *variable;
        const char *value;
    } settings[] = {
        { "POSTHORN_RELAY", options->relays },
        { "POSTHORN_UNCERTAIN", options->uncertain },
        { "POSTHORN_DKIM", options->dkim },
        { "POSTHORN_HELO_NAME", options->helo_name },
        { "POSTHORN_KEY_FILE", options->key_file },
        { "POSTHORN_TRACKING", options->tracking },
        { "POSTHORN_MODEL", options->model },
        { "POSTHORN_MODEL_NAME", options->model_name },
        { "POSTHORN_MODEL_URL", options->model_url },
        { "POSTHORN_MODEL_KEY_FILE", options->model_key_file },
        { "POSTHORN_MODEL_KEY", options->model_key },
        { "POSTHORN_EMBEDDINGS", options->embeddings },
        { "POSTHORN_EMBEDDINGS_MODEL", options->embeddings_model },
        { "POSTHORN_EMBEDDINGS_KEY", options->embeddings_key },
        { "POSTHORN_EMBEDDINGS_KEY_FILE", options->embeddings_key_file },
        { "POSTHORN_SPAM", options->spam },
    };
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++)
        if (settings[i].value != NULL && setenv(settings[i].variable, settings[i].value, 1) != 0)
            panic(PANIC_NO_MEMORY);
}

/* The command line of the runner. It reads all other options from the environment, as this process did. */
static const char *const *runner_command(struct arena *arena, const char *program, const struct options *options)
{
    const char **argv = arena_array(arena, 24, sizeof(*argv));
    size_t count = 0;
    argv[count++] = program;
    argv[count++] = "runner";
    argv[count++] = "--data";
    argv[count++] = options->data_dir;
    if (options->idle_s > 0) {
        argv[count++] = "--idle";
        argv[count++] = arena_printf(arena, "%lld", (long long)options->idle_s);
    }
    if (options->render_dir != NULL) {
        argv[count++] = "--render-dir";
        argv[count++] = options->render_dir;
    }
    if (options->public_url != NULL) {
        argv[count++] = "--public-url";
        argv[count++] = options->public_url;
    }
    if (options->fetch_allow_loopback)
        argv[count++] = "--fetch-allow-loopback";
    if (options->node != NULL) {
        argv[count++] = "--node";
        argv[count++] = options->node;
    }
    if (options->retry_after_s > 0) {
        argv[count++] = "--retry-after";
        argv[count++] = arena_printf(arena, "%lld", (long long)options->retry_after_s);
    }
    if (options->dns_servers != NULL) {
        argv[count++] = "--dns-servers";
        argv[count++] = options->dns_servers;
    }
    return argv;
}

/* Runs a command whose options are read. `line` is set for an operation. */
static int run_with_options(const struct command *command, const struct options *options, const struct command_line *line,
                            struct arena *arena, const char *argv0)
{
    if (!set_log_level(options, command->quiet))
        return 2;
    const char *program = own_path(arena, argv0);
    pass_by_environment(options);
    struct process process = {
        .arena = arena,
        .program = program,
        .runner_argv = runner_command(arena, program, options),
        .line = line,
    };
    return command->run(&process, options);
}

static int run_builtin_command(const struct command *command, int argc, char **argv)
{
    ARENA_SCOPE arena = arena_new(0);
    struct options options;
    struct error err = { .code = ERR_NONE };
    if (!options_read(arena, command->bit, argc - 2, argv + 2, &options, &err)) {
        fprintf(stderr, "posthorn %s: %s\n", command->name, err.message);
        return 2;
    }
    if (options.help) {
        printf("posthorn %s\n%s\n\n", command->usage != NULL ? command->usage : command->name, command->help);
        options_print_help(command->bit);
        return 0;
    }
    if (options.words[command->words] != NULL) {
        fprintf(stderr, "posthorn %s: %.60s is an unexpected argument: posthorn %s\n", command->name, options.words[command->words],
                command->usage != NULL ? command->usage : command->name);
        return 2;
    }
    return run_with_options(command, &options, NULL, arena, argv[0]);
}

static int run_operation(int argc, char **argv)
{
    static const struct command command = { .run = command_operation, .bit = COMMAND_OPERATION, .quiet = true };
    ARENA_SCOPE arena = arena_new(0);
    struct options options;
    struct command_line line;
    struct error err = { .code = ERR_NONE };
    if (!command_line_read(arena, argc - 1, argv + 1, &line, &err) ||
        !options_read(arena, command.bit, line.option_count, line.options, &options, &err)) {
        fprintf(stderr, "posthorn %s%s%s: %s\n", argv[1], argc > 2 && argv[2][0] != '-' ? " " : "",
                argc > 2 && argv[2][0] != '-' ? argv[2] : "", err.message);
        return 2;
    }
    return run_with_options(&command, &options, &line, arena, argv[0]);
}

static int run_arguments(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    crypto_start();
    set_clock();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_help();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("posthorn %s\n", POSTHORN_VERSION);
        return 0;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL && command_line_is_domain(argv[1]))
        return run_operation(argc, argv);
    if (command == NULL) {
        fprintf(stderr, "posthorn: %.60s is not a command; posthorn --help lists them\n", argv[1]);
        return 2;
    }
    return run_builtin_command(command, argc, argv);
}

int main(int argc, char **argv)
{
    int status = run_arguments(argc, argv);
    bool reader_left; /* a reader that exits early, such as head, is no error */
    if (status != 0 || output_flush(&reader_left) || reader_left)
        return status;
    fprintf(stderr, "posthorn %s: cannot write the output\n", argv[1]);
    return 1;
}
