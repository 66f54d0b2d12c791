#include "base/guard.h"

#include "base/unwind.h"

struct guarded_run {
    bool (*run)(void *context, struct error *err);
    void *context;
    struct error *err;
    bool ok;
};

static void run_guarded(void *argument)
{
    struct guarded_run *guarded = argument;
    guarded->ok = guarded->run(guarded->context, guarded->err);
}

bool guard_run(bool (*run)(void *context, struct error *err), void *context, const char *subject, struct error *err)
{
    struct guarded_run guarded = { .run = run, .context = context, .err = err };
    if (unwind_catch(run_guarded, &guarded))
        return guarded.ok;
    error_clear(err);
    return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "This %s needs more memory than one %s may use.", subject, subject);
}
