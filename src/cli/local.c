#include "cli/local.h"

#include "cli/interrupt.h"

/* A person at a terminal decides how long to wait. */
static const long long max_wait_s = 24LL * 3600;

static const char call_token[] = "call";

static void stop_calls(void *posthorn)
{
    posthorn_cancel(posthorn, call_token);
}

void local_open(struct local *local, const struct process *process, const struct options *options)
{
    struct posthorn_options open = {
        .struct_size = sizeof(open),
        .data_dir = options->data_dir,
        .database_url = options->database_url,
        .brand_id = options->brand,
        .runner_argv = process->runner_argv,
        .public_url = options->public_url,
        .import_root = options->import_root,
        .job_wait_ms = max_wait_s * 1000,
    };
    *local = (struct local){ .bar = progress_begin(), .idempotency_key = options->idempotency_key };
    interrupt_block();
    local->posthorn = posthorn_open(&open);
    interrupt_begin(stop_calls, local->posthorn);
}

struct posthorn_reply *local_call(struct local *local, const char *name, const char *arguments, bool waits)
{
    struct posthorn_call call = {
        .struct_size = sizeof(call),
        .name = name,
        .arguments = arguments,
        .idempotency_key = local->idempotency_key,
        .wait_s = waits ? max_wait_s : 0,
        .token = call_token,
        .progress = progress_draw,
        .context = &local->bar,
    };
    struct posthorn_reply *reply = posthorn_call(local->posthorn, &call);
    progress_end(&local->bar);
    local->bar.is_drawn = false;
    return reply;
}

void local_close(struct local *local)
{
    interrupt_end();
    posthorn_close(local->posthorn);
}
