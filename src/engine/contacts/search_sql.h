/*
 * Inside the room: a statement on contacts in the making. Text is appended from
 * fixed fragments only; whatever comes from a caller becomes a parameter.
 */
#pragma once

#include "base/buf.h"
#include "db/db.h"

/* Room for one parameter; a db_field points to it. */
union search_value {
    int64_t number;
    bool truth;
    const char *text;
};

struct search_sql {
    struct arena *arena;
    struct buf *text;
    struct db_field fields[DB_MAX_PARAMS];
    union search_value values[DB_MAX_PARAMS];
    size_t count;
};

void search_sql_init(struct search_sql *sql, struct arena *arena) NONNULL(1, 2);

/* Appends a fragment. `fragment` is a constant of the source. */
void search_sql_add(struct search_sql *sql, const char *fragment) NONNULL(1, 2);

/* Appends $n for a value. The number of parameters is bounded by the bounds of filters: 50 conditions of the caller, 50 of
 * an audience, and fewer than 28 others. */
void search_sql_number(struct search_sql *sql, int64_t value) NONNULL(1);
void search_sql_time(struct search_sql *sql, int64_t time_us) NONNULL(1);
void search_sql_truth(struct search_sql *sql, bool value) NONNULL(1);
void search_sql_text(struct search_sql *sql, const char *value) NONNULL(1, 2);
void search_sql_jsonb(struct search_sql *sql, const char *value) NONNULL(1, 2);
