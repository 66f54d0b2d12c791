#include "base/metric_text.h"

#include <inttypes.h>

void metric_write_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_write(struct buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
    metric_write_head(out, name, type, help);
    buf_printf(out, "%s %" PRIu64 "\n", name, value);
}
