/*
 * Judging hits as those of a person, of a proxy that loads pictures, or of a
 * machine. A hit is judged together with the other hits of its recipient, so the
 * judgement does not depend on the order or the number of the passes. A pass is
 * one transaction: it writes judgements, events and all figures.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/hits/hit_rules.h"

enum {
    JUDGE_RECIPIENTS = 500, /* of a pass; each may change two events */
    JUDGE_HITS = 4000,      /* of a pass over all hits */
};

/* What is left after a pass. */
struct judge_left {
    bool is_done;        /* no hit waits or is being stored, and all hits agree with the rules */
    int64_t next_due_us; /* when the next pass has something to do */
};

/* Judges some hits of the brand of `work` in the open transaction. Hits that are old enough and not judged yet come first. When
 * there are none, hits that were judged by older rules are judged again, recipient by recipient. When it is done, no hits of the
 * brand are stored until the transaction ends. Only the job of the brand may call this. */
MUST_CHECK bool hits_judge(const struct work *work, const struct hit_rules *rules, struct judge_left *ret_left, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Enqueues the job of each brand that has hits to judge. Erases addresses that are older than HITS_KEEP_ADDRESS_DAYS, up to a
 * limit. For a call once a minute. */
MUST_CHECK bool hits_tend(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err) NONNULL(1, 2, 4);
