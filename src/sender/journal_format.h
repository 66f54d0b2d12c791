/*
 * Journal format: the bytes of a journal file. Only journal.c, which writes
 * them, and journal_reader.c, which reads them, include this.
 *
 * A file is a header, then records: a head, and the used part of a body. Numbers
 * have the machine's byte order.
 */
#pragma once

#include "sender/journal.h"

#include <stddef.h>

enum { JOURNAL_PATH_BYTES = 4096, JOURNAL_RELAY_MAX_BYTES = 128 };

struct journal_file_head {
    char magic[8];
    uint64_t installation;
};

struct journal_record_head {
    uint32_t size; /* of the body, in bytes */
    uint32_t check;
};

enum journal_record_kind { JOURNAL_RECORD_DOT = 1, JOURNAL_RECORD_REPLY = 2 };

struct journal_record_body {
    struct journal_key key;
    uint8_t kind;
    uint8_t end;
    uint8_t stage;
    uint8_t unused;
    int32_t code;
    char enhanced[12];
    char relay[JOURNAL_RELAY_MAX_BYTES];
    char text[SMTP_TEXT_MAX_BYTES]; /* the last member: only its used bytes are written */
};

struct journal_record {
    struct journal_record_head head;
    struct journal_record_body body;
};

enum { JOURNAL_RECORD_MIN_BYTES = sizeof(struct journal_record_head) + offsetof(struct journal_record_body, text) };

/* The suffix of the file names OWNER.N.journal. */
extern const char journal_suffix[];

struct journal_file_head journal_make_head(const struct journal_location *location) NONNULL(1);

/* FNV-1a: finds torn records, not forged ones. */
uint32_t journal_checksum(const void *bytes, size_t size) NONNULL(1) PURE;

/* Takes an open file description lock, which ends with its process. False when another process has it. */
bool journal_lock(int fd);

/* Whether another open file description has the lock. Unlike a try to take it, this does not mislead others that ask. */
bool journal_is_locked(int fd);
