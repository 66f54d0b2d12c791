/* A message: the caller queues it, and the run leads on. */
#include "engine/nodes/facts.h"

void step_send_email(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    struct step_record record;
    (void)in;
    step_record_begin(&record, arena);
    *ret_out = (struct step_out){ .kind = STEP_MAIL, .facts_json = step_record_end(&record) };
}
