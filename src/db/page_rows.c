/*
 * Page rows: receives the rows of a statement one by one (single-row mode of
 * libpq), so that the memory of a page does not depend on the width of its rows.
 */
#include "db/pipeline.h"

#include <string.h>

enum { FIRST_ROWS = 16 };

struct page_reader {
    struct arena *arena;
    struct db_call *call;
    size_t capacity;
    size_t bytes;
};

static size_t row_bytes(const PGresult *row)
{
    size_t bytes = 0;
    for (int column = 0; column < PQnfields(row); column++)
        bytes += (size_t)PQgetlength(row, 0, column);
    return bytes;
}

static void append_row(struct page_reader *reader, const void *row)
{
    struct db_rows *rows = &reader->call->rows;
    size_t row_size = reader->call->statement->row_size;
    if (rows->count == reader->capacity) {
        reader->capacity = reader->capacity > 0 ? 2 * reader->capacity : FIRST_ROWS;
        void *larger = arena_array(reader->arena, reader->capacity, row_size);
        if (rows->count > 0)
            memcpy(larger, rows->rows, rows->count * row_size);
        rows->rows = larger;
    }
    memcpy((char *)rows->rows + rows->count++ * row_size, row, row_size);
}

/* Owns the result. A page without this row is complete when it has another one. */
static void take_row(struct page_reader *reader, PGresult *taken)
{
    PG_RESULT_SCOPE row = taken;
    struct db_call *call = reader->call;
    struct db_rows decoded;
    reader->bytes += row_bytes(row);
    call->rows.is_cut = call->rows.is_cut || (call->rows.count > 0 && reader->bytes > DB_PAGE_MAX_BYTES);
    if (call->rows.is_cut || call->error.code != ERR_NONE)
        return;
    if (db_decode(reader->arena, call->statement, TAKE_PTR(row), &decoded, &call->error))
        append_row(reader, decoded.rows);
}

PGresult *pipeline_take_page(struct db_conn *conn, struct arena *arena, struct db_call *call)
{
    struct page_reader reader = { .arena = arena, .call = call };
    call->rows = (struct db_rows){ .rows = NULL };
    /* Fails for a statement that is not executed because an earlier one failed; its result has no rows. */
    (void)PQsetSingleRowMode(conn->pg);
    PG_RESULT_SCOPE last = NULL;
    PGresult *result;
    while ((result = conn_take_result(conn)) != NULL) {
        if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
            take_row(&reader, result);
        } else {
            PQclear(last);
            last = result;
        }
    }
    return TAKE_PTR(last);
}
