/*
 * SQL builder for statements on contacts. The text consists of fixed fragments
 * only; every value from a caller becomes a parameter, so SQL injection is not
 * possible. Equal values share one parameter. The statement is allocated in the
 * arena passed to search_sql_init. A statement that needs more than DB_MAX_PARAMS
 * parameters or more text than its bound is marked as too large, as a buffer is;
 * search_sql_fits reports it.
 */
#pragma once

#include "base/buf.h"
#include "db/db.h"

/* The value of one parameter; a db_field points to it. */
union search_value {
    int64_t number;
    bool boolean;
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
    size_t conditions;   /* compiled so far */
    bool lacks_params;   /* a value beyond DB_MAX_PARAMS was left out */
    bool ignores_case;   /* set by the caller: equals and in compare texts without case */
    bool has_exact_text; /* a condition compares a text by equals or in */
};

void search_sql_init(struct search_sql *sql, struct arena *arena) NONNULL(1, 2);

/* Appends a fragment. `fragment` is a constant of the source, or text of this statement. */
void search_sql_add(struct search_sql *sql, const char *fragment) NONNULL(1, 2);

/* Appends $n for a value. */
void search_sql_number(struct search_sql *sql, int64_t value) NONNULL(1);
void search_sql_time(struct search_sql *sql, int64_t time_us) NONNULL(1);
void search_sql_boolean(struct search_sql *sql, bool value) NONNULL(1);
void search_sql_text(struct search_sql *sql, const char *value) NONNULL(1, 2);
void search_sql_jsonb(struct search_sql *sql, const char *value) NONNULL(1, 2);
void search_sql_texts(struct search_sql *sql, struct text_list values) NONNULL(1);
void search_sql_jsonbs(struct search_sql *sql, struct text_list values) NONNULL(1);

/* Checks that nothing was left out of the statement. Errors: INVALID_REQUEST with `param`. */
MUST_CHECK bool search_sql_fits(const struct search_sql *sql, const char *param, struct error *err) NONNULL(1, 2, 3);

/* ---- Case-insensitive texts ---- */

/* The SQL before and after a text that is compared with patterns of these parts. For ASCII parts the server's own fast lower()
 * folds case. Other parts need Unicode case folding (ICU). */
struct search_fold {
    const char *open;
    const char *close;
};
struct search_fold search_fold_for(struct text_list parts) PURE;

/* Appends $n for LIKE patterns of these parts in lower case, with a wildcard before or after them. */
void search_sql_patterns(struct search_sql *sql, struct text_list parts, bool any_before, bool any_after) NONNULL(1);

/* Runs the statement without a name, so that PostgreSQL plans it for these values. `shape` describes its result.
 * Errors: INVALID_REQUEST with param filters when it is too large, and those of the database. */
MUST_CHECK bool search_sql_run(const struct search_sql *sql, struct db_conn *conn, const struct db_statement *shape,
                               struct db_rows *ret_rows, struct error *err) NONNULL(1, 2, 3, 5);
