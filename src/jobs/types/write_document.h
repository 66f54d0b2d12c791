/*
 * Writing of the document of a brief, for the job of a generation. It is the
 * only place that chooses what writes: the composer.
 */
#pragma once

#include "designer/brief.h"
#include "jobs/jobs.h"

struct written_document {
    const json_t *document; /* canonical */
    int64_t block_serial;   /* of its last block id */
    const char *made_by;    /* as versions have it */
    struct text_list warnings;
    struct opt_int tokens_in; /* of a model */
    struct opt_int tokens_out;
};

/* Writes the document of a new design. Safe to repeat; no transaction is open. Everything belongs to the arena of the job.
 * Errors: EMAIL_GENERATION_FAILED. */
MUST_CHECK bool write_document(struct job *job, const struct brief *brief, struct written_document *ret_written, struct error *err)
    NONNULL(1, 2, 3, 4);
