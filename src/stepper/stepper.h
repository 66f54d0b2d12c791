/*
 * Stepper: steps the runs of automations. Each process that runs jobs has one,
 * beside the sender: a thread with a database connection of its own. It steps
 * brands in turns, a transaction at a time (engine/runs/step_batch.h), and waits
 * for a notification on the channel posthorn_step, for the time of the next step,
 * or for a second, whichever comes first. Any number of steppers may share a
 * database: a run that one has locked is left out by the others.
 *
 * The commit of a transaction is the only effect of a step, so a process that is
 * killed leaves nothing behind but its slot file, which counts the crash
 * (stepper/suspect_runs.h). docs/modules/automations-running.md describes it.
 */
#pragma once

#include "engine/core/installation.h"

struct stepper;

/* Starts the thread. `installation` is borrowed. The folder has the slot file (stepper/slot_file.h). */
struct stepper *stepper_start(struct installation *installation, const char *data_dir) NONNULL(1, 2) RETURNS_NONNULL;

/* Lets the running transaction end, then stops the thread. NULL is allowed. */
void stepper_stop(struct stepper *stepper);
