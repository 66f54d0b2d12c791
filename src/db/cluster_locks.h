/*
 * Internal to db: the locks of a data folder.
 *
 * They are open file description locks: the kernel releases those of a killed
 * process, and a process can test them without taking them. runner.lock has two
 * of them, a byte each:
 *   LOCK_OF_RUNNER  held by the only runner for its life
 *   LOCK_OF_START   held by the process that starts a runner, until that one
 *                   holds its own; so one runner is started, however many
 *                   processes need one
 */
#pragma once

#include "db/cluster_paths.h"

enum lock_byte { LOCK_OF_CLIENTS = 0, LOCK_OF_RUNNER = 0, LOCK_OF_START = 1 };

/* Opens a file of locks, which is created if it does not exist; -1 with errno on failure. The caller closes it. */
int lock_open(const char *path) NONNULL(1);

/* Takes a lock of the file without waiting: F_RDLCK or F_WRLCK. False when another process holds it. */
bool lock_try(int fd, enum lock_byte byte, short type);

/* Whether another process or descriptor holds the lock exclusively. */
bool lock_is_held(int fd, enum lock_byte byte);

/* The same of the runner's lock by its path; false when there is no such file. */
bool lock_has_runner(const char *path) NONNULL(1);
