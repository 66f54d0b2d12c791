/*
 * A shard saves its part of each chunk, in a transaction of its
 * own together with its place. Contacts that are new are copied in, contacts
 * that are known are changed where they differ, by the rules of every other save
 * of contacts. Two shards never touch the same person.
 *
 * A shard belongs to one thread and has a connection of its own.
 */
#pragma once

#include "engine/imports/chunk.h"

struct import_shard {
    struct work work; /* its arena is the shard's scratch */
    int64_t import_id;
    int64_t shard;
    int64_t validation_id; /* 0: none */
    int64_t chunks;        /* that it has gone through */
};

/* Saves the shard's part of a chunk; nothing when the shard has been through it before. What others change meanwhile is met by
 * trying again. Shard 0 keeps the rows that failed.
 * Errors: SERVICE_UNAVAILABLE when another worker has gone on from the shard's place, and those of the database. */
MUST_CHECK bool import_shard_apply(struct import_shard *shard, const struct import_chunk *chunk, struct error *err)
    NONNULL(1, 2, 3);
