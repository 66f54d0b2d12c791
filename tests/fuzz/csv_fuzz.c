/*
 * Fuzzes CSV. The first byte says in which charset and blocks the rest is read.
 * Besides not crashing: reading in blocks gives the rows of reading at once,
 * offsets rise to the end, and reading from any row's offset gives that row.
 */
#include "base/arena.h"
#include "base/csv.h"
#include "fuzz.h"

#include <string.h>

enum { ROWS_KEPT = 16, UNIT_BYTES = 4, BLOCK_STEP_BYTES = 16, BLOCKS_MAX = 256 };

struct seen {
    int64_t offset; /* where the row begins */
    int64_t line;
    enum csv_fault fault;
    size_t count;
    uint64_t sum; /* of its cells */
};

static uint64_t sum_of(const struct csv_row *row)
{
    uint64_t sum = 14695981039346656037U;
    for (size_t i = 0; i < row->count && i < CSV_MAX_CELLS && row->fault == CSV_FINE; i++) {
        require(strlen(row->cells[i].text) == row->cells[i].size && row->cells[i].size <= CSV_CELL_MAX_BYTES);
        for (const char *at = row->cells[i].text; *at != '\0'; at++)
            sum = (sum ^ (unsigned char)*at) * 1099511628211U;
        sum = (sum ^ 256) * 1099511628211U;
    }
    return sum;
}

static size_t read_rows(enum charset charset, const unsigned char *data, size_t size, size_t block, int64_t offset, int64_t line,
                        struct seen *ret_seen, size_t max)
{
    struct csv_reader reader;
    struct csv_row row;
    size_t fed = (size_t)offset;
    size_t count = 0;
    csv_begin(&reader, charset, ',', offset, line);
    int64_t before = offset;
    for (enum csv_step step; count < max && (step = csv_next(&reader, &row)) != CSV_END;) {
        if (step == CSV_NEEDS_INPUT) {
            size_t wanted = size - fed < block ? size - fed : block;
            fed += csv_feed(&reader, data + fed, wanted, fed + wanted == size);
            continue;
        }
        require(reader.offset > before && reader.offset <= (int64_t)size && reader.line > row.line);
        ret_seen[count++] = (struct seen){ before, row.line, row.fault, row.count, sum_of(&row) };
        before = reader.offset;
    }
    csv_end(&reader);
    return count;
}

static void check_same(const struct seen *left, const struct seen *right)
{
    require(left->offset == right->offset && left->line == right->line && left->fault == right->fault &&
            left->count == right->count && left->sum == right->sum);
}

/* The reader begins an incomplete row again with each block, so a long text has longer blocks than the first byte says. */
static size_t block_size(unsigned char first, size_t size)
{
    size_t block = UNIT_BYTES + (size_t)(first >> 2) * BLOCK_STEP_BYTES;
    size_t least = size / BLOCKS_MAX / UNIT_BYTES * UNIT_BYTES;
    return block > least ? block : least;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct seen at_once[ROWS_KEPT];
    static struct seen in_blocks[ROWS_KEPT];
    if (size == 0)
        return 0;
    enum charset charset = (enum charset)(data[0] & 3);
    size_t block = block_size(data[0], size);
    data++;
    size--;
    size_t rows = read_rows(charset, data, size, CSV_BLOCK_BYTES, 0, 1, at_once, ROWS_KEPT);
    require(read_rows(charset, data, size, block, 0, 1, in_blocks, ROWS_KEPT) == rows);
    for (size_t i = 0; i < rows; i++)
        check_same(&at_once[i], &in_blocks[i]);
    for (size_t i = 0; i < rows; i++) {
        struct seen one;
        require(read_rows(charset, data, size, block, at_once[i].offset, at_once[i].line, &one, 1) == 1);
        check_same(&one, &at_once[i]);
    }
    size_t mark;
    (void)charset_of_mark(data, size, &mark);
    (void)charset_guess(data, size);
    struct csv_dialect dialect = csv_sniff((const char *)data, size, true);
    require(dialect.skip_bytes <= size);
    return 0;
}
