/*
 * Shard: saves its part of each chunk, and its position, in one transaction. New
 * contacts are inserted with COPY. Existing contacts are updated if they differ,
 * by the rules of contacts.h. Two shards never write the same person.
 *
 * A shard belongs to one thread and has a connection of its own.
 */
#pragma once

#include "engine/imports/chunk.h"

struct import_shard {
    struct work work; /* its arena is scratch memory, which each attempt to save a part empties */
    int64_t import_id;
    int64_t shard;
    int64_t validation_id;   /* 0: none */
    int64_t chunks;          /* committed chunks */
    struct text_list fields; /* custom fields of the columns */
};

/* Saves the shard's part of a chunk. Does nothing when the shard has committed this chunk before. A conflict with a concurrent
 * write is retried. Shard 0 stores the rows that failed.
 * Errors: SERVICE_UNAVAILABLE when another worker has advanced the shard's position, and those of the database. */
MUST_CHECK bool import_shard_apply(struct import_shard *shard, const struct import_chunk *chunk, struct error *err)
    NONNULL(1, 2, 3);
