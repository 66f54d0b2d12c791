/*
 * Inside the room: a statement on contacts in the making. Text is appended from
 * fixed fragments only; whatever comes from a caller becomes a parameter, one
 * for equal values. It lives in the arena it is made in.
 */
#pragma once

#include "base/buf.h"
#include "db/db.h"

/* Room for one parameter; a db_field points to it. */
union search_value {
    int64_t number;
    bool truth;
    const char *text;
    struct text_list list;
};

struct search_sql {
    struct arena *arena;
    struct buf *text;
    struct db_field *fields; /* at most DB_MAX_PARAMS */
    union search_value *values;
    size_t count;
    size_t capacity;
    size_t conditions; /* compiled so far; their bound keeps the parameters below DB_MAX_PARAMS */
};

void search_sql_init(struct search_sql *sql, struct arena *arena) NONNULL(1, 2);

/* Appends a fragment. `fragment` is a constant of the source, or text of this statement. */
void search_sql_add(struct search_sql *sql, const char *fragment) NONNULL(1, 2);

/* Appends $n for a value. */
void search_sql_number(struct search_sql *sql, int64_t value) NONNULL(1);
void search_sql_time(struct search_sql *sql, int64_t time_us) NONNULL(1);
void search_sql_truth(struct search_sql *sql, bool value) NONNULL(1);
void search_sql_text(struct search_sql *sql, const char *value) NONNULL(1, 2);
void search_sql_jsonb(struct search_sql *sql, const char *value) NONNULL(1, 2);
void search_sql_texts(struct search_sql *sql, struct text_list values) NONNULL(1);
void search_sql_jsonbs(struct search_sql *sql, struct text_list values) NONNULL(1);

/* ---- Texts in either case ---- */

/* What stands around a text that is compared with patterns of these parts. ASCII letters are folded by the server's own
 * lower(), which is quick; only where a part has others is Unicode asked for (ICU). */
struct search_fold {
    const char *open;
    const char *close;
};
struct search_fold search_fold_for(struct text_list parts) PURE;

/* Appends $n for LIKE patterns of these parts in lower case, with anything before or behind them. */
void search_sql_patterns(struct search_sql *sql, struct text_list parts, bool any_before, bool any_behind) NONNULL(1);

/* Runs what was made, under no name: its plan is made for its values. `shape` says what it gives. */
MUST_CHECK bool search_sql_run(const struct search_sql *sql, struct db_conn *conn, const struct db_statement *shape,
                               struct db_rows *ret_rows, struct error *err) NONNULL(1, 2, 3, 5);
