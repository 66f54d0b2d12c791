#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file = -1;

void record_open(const char *path)
{
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
        perror(path);
        exit(1);
    }
}

bool record_is_on(void)
{
    return file >= 0;
}

void record_add(struct record *record, uint64_t at_ns, uint64_t session, const char *recipient, const char *message_id,
                bool replied)
{
    enum { RECORD_BYTES = ADDRESS_BYTES + MESSAGE_ID_BYTES + 64 };
    if (record->capacity - record->size < RECORD_BYTES) {
        record->capacity = record->capacity * 2 + RECORD_BYTES;
        record->bytes = realloc(record->bytes, record->capacity);
        if (record->bytes == NULL)
            abort();
    }
    int added = snprintf(record->bytes + record->size, RECORD_BYTES, "%llu %llu %s %s %s\n", (unsigned long long)at_ns,
                         (unsigned long long)session, recipient, *message_id == '\0' ? "-" : message_id, replied ? "250" : "-");
    record->size += (size_t)added;
}

void record_write(struct record *record)
{
    if (record->size == 0)
        return;
    ssize_t written = write(file, record->bytes, record->size);
    if (written != (ssize_t)record->size) {
        fprintf(stderr, "posthorn-sink: cannot record: %s\n", written < 0 ? strerror(errno) : "the disk is full");
        exit(1);
    }
    record->size = 0;
}
