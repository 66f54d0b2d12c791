/*
 * IMAP client: single commands in a mailbox of another server, by libcurl. The
 * connection is kept from command to command. Every answer is bounded: by the
 * buffer of its caller, by IMAP_ANSWER_MAX_BYTES of lines, and by time.
 *
 * The server is not trusted: an answer may be false, incomplete or endless. A
 * client belongs to one thread at a time. Passwords are never logged.
 */
#pragma once

#include "base/buf.h"
#include "net/imap_address.h"

#include <stddef.h>

enum {
    IMAP_CONNECT_TIMEOUT_S = 20,
    IMAP_ANSWER_MAX_BYTES = 1024 * 1024, /* lines of one answer, without the bytes of a fetched message */
};

struct imap_client;

/* `has_stopped` is asked during commands; true breaks them off. NULL: never. */
struct imap_client *imap_client_new(bool (*has_stopped)(void *context), void *context) RETURNS_NONNULL;
void imap_client_free(struct imap_client *client);

/* The commands that follow are for this mailbox. A command takes at most `command_ms`. The address is borrowed until the next use.
 */
void imap_client_use(struct imap_client *client, const struct imap_address *address, int64_t command_ms) NONNULL(1, 2);

/* A command of the mailbox in use also ends when the server says nothing for `silence_s`, or less than 1 KB a second of a message.
 */
void imap_client_set_silence(struct imap_client *client, int silence_s) NONNULL(1);

/* Sets the longest time of a command anew. */
void imap_client_set_timeout(struct imap_client *client, int64_t command_ms) NONNULL(1);

/* Runs a command, and gives its answer in `out`, which is emptied first. `path` follows the URL of the address: the name of a
 * folder (imap_add_folder), or ";UID=7;SECTION=HEADER" after it. `command` NULL fetches what the path names. Returns why it failed,
 * a constant text; NULL when it did not. */
const char *imap_client_run(struct imap_client *client, const char *path, const char *command, struct buf *out) NONNULL(1, 2, 4);

/* Whether the server answered the last command, the login or the selection of the folder with NO or BAD. */
bool imap_client_was_refused(const struct imap_client *client) NONNULL(1) PURE;

/* Whether the last command was broken off by `has_stopped`. */
bool imap_client_was_stopped(const struct imap_client *client) NONNULL(1) PURE;

const struct imap_address *imap_client_address(const struct imap_client *client) NONNULL(1) PURE;

/* Adds the name of a folder, as LIST gives it, to a path. */
void imap_add_folder(struct buf *path, const char *folder) NONNULL(1, 2);

/* Reads the numbers of "* SEARCH 4 7". Returns how many there are, at most `max`. */
size_t imap_read_uids(const char *answer, int64_t *ret_uids, size_t max) NONNULL(1, 2);
