/*
 * Metric text: figures in the text format of Prometheus, version 0.0.4.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

/* The head of a metric. Its values follow. `type`: counter or gauge; `help`: one line. */
void metric_write_head(struct buf *out, const char *name, const char *type, const char *help) NONNULL(1, 2, 3, 4);

/* A metric with one value. */
void metric_write(struct buf *out, const char *name, const char *type, const char *help, uint64_t value) NONNULL(1, 2, 3, 4);
