/*
 * CSV and charsets. Every text is read in blocks of several sizes, down to one byte,
 * and must give the same rows. Reading from the offset of any row must give the same
 * remaining rows.
 */
#include "fixtures/base_case.h"

#include "base/arena.h"
#include "base/charset.h"
#include "base/csv.h"

#include <stdlib.h>
#include <string.h>

static struct arena *arena; /* one per test */

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

struct input {
    const char *bytes;
    size_t size;
    enum charset charset;
    char delimiter;
};

/* Line ends within a cell are shown as / and \, so that a line of the text is a row. */
static void add_cell(struct buf *out, char before, const char *text)
{
    buf_add_char(out, before);
    for (const char *at = text; *at != '\0'; at++)
        buf_add_char(out, *at == '\n' ? '/' : *at == '\r' ? '\\' : *at);
}

/* Rows as text: "line:cell|cell" and "line!fault@line", a row a line; with the offset of each row's end in `ret_ends`. */
static const char *rows_of(const struct input *input, size_t block, int64_t offset, int64_t line, int64_t *ret_ends,
                           size_t *ret_count)
{
    static const char *const faults[] = { "", "nul", "not text", "quote", "after quote", "cell", "row" };
    struct buf *out = buf_in_arena(arena, 64 << 20);
    struct csv_reader reader;
    struct csv_row row;
    size_t fed = (size_t)offset;
    *ret_count = 0;
    csv_begin(&reader, input->charset, input->delimiter, offset, line);
    for (enum csv_step step; (step = csv_next(&reader, &row)) != CSV_END;) {
        if (step == CSV_NEEDS_INPUT) {
            size_t size = input->size - fed < block ? input->size - fed : block;
            size_t taken = csv_feed(&reader, (const unsigned char *)input->bytes + fed, size, fed + size == input->size);
            /* A character that was cut is fed again with more behind it. */
            while (taken == 0 && fed + size < input->size) {
                size++;
                taken = csv_feed(&reader, (const unsigned char *)input->bytes + fed, size, fed + size == input->size);
            }
            fed += taken;
            continue;
        }
        buf_printf(out, "%lld", (long long)row.line);
        if (row.fault != CSV_FINE)
            buf_printf(out, "!%s@%lld", faults[row.fault], (long long)row.fault_line);
        else if (row.is_blank)
            buf_add_text(out, " blank");
        for (size_t i = 0; row.fault == CSV_FINE && !row.is_blank && i < row.count; i++)
            add_cell(out, i == 0 ? ':' : '|', row.cells[i].text);
        buf_add_char(out, '\n');
        if (ret_ends != NULL)
            ret_ends[*ret_count] = reader.offset;
        (*ret_count)++;
    }
    csv_end(&reader);
    return buf_text(out);
}

static void assert_rows(const struct input *input, const char *expected)
{
    static const size_t blocks[] = { 1, 2, 3, 7, 64, CSV_BLOCK_BYTES };
    int64_t ends[256] = { 0 };
    size_t count;
    for (size_t i = 0; i < ARRAY_COUNT(blocks); i++)
        assert_string_equal(rows_of(input, blocks[i], 0, 1, ends, &count), expected);
    /* From the end of each row: the rest, numbered on. */
    const char *rest = expected;
    for (size_t row = 0; row < count; row++) {
        rest = strchr(rest, '\n') + 1;
        size_t ignored;
        int64_t line = *rest != '\0' ? strtoll(rest, NULL, 10) : 1;
        assert_string_equal(rows_of(input, 5, ends[row], line, NULL, &ignored), rest);
    }
    if (count > 0)
        assert_int_equal(ends[count - 1], input->size);
}

static void assert_text_rows(const char *text, char delimiter, const char *expected)
{
    assert_rows(&(struct input){ text, strlen(text), CHARSET_UTF8, delimiter }, expected);
}

/* ---- RFC 4180 and its neighbours ---- */

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *rows;
    } cases[] = {
        { "", "" },
        { "a", "1:a\n" },
        { "a\n", "1:a\n" },
        { "a,b\r\nc,d\r\n", "1:a|b\n2:c|d\n" },
        { "a,b\rc,d\r", "1:a|b\n2:c|d\n" },
        { "a\n\nb", "1:a\n2 blank\n3:b\n" },
        { "a\r\n\r\nb", "1:a\n2 blank\n3:b\n" },
        { "  \nb", "1 blank\n2:b\n" },
        { ",", "1:|\n" },
        { "a,,c,", "1:a||c|\n" },
        { "\"a\",\"b,c\"", "1:a|b,c\n" },
        { "\"a \"\"b\"\" c\"", "1:a \"b\" c\n" },
        { "\"\"", "1:\n" },
        { "\"\"\"\"", "1:\"\n" },
        { "\"a\nb\",c\nd", "1:a/b|c\n3:d\n" },
        { "\"a\r\nb\rc\",d\ne", "1:a\\/b\\c|d\n4:e\n" },
        { "a\"b,c\"\"d", "1:a\"b|c\"\"d\n" },
        { "=HYPERLINK(1),@b", "1:=HYPERLINK(1)|@b\n" },
        { "m\xc3\xbcller,\xf0\x9f\x98\x80", "1:m\xc3\xbcller|\xf0\x9f\x98\x80\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_text_rows(cases[i].text, ',', cases[i].rows);
    assert_text_rows("a;b,c;d", ';', "1:a|b,c|d\n");
    assert_text_rows("a\tb", '\t', "1:a|b\n");
}

/* A fault is its row's own; the rows behind it are read. */
static void test_faults(void **state)
{
    (void)state;
    assert_text_rows("\"a\"b,c\nd", ',', "1!after quote@1\n2:d\n");
    assert_text_rows("\"a\nb\" c,d\ne", ',', "1!after quote@2\n3:e\n");
    assert_text_rows("a\nb,\"c\nd,e\nf", ',', "1:a\n2!quote@2\n3:d|e\n4:f\n");
    assert_text_rows("\"x\ny\",\"c\nd\n", ',', "1!quote@2\n3:d\n");
    assert_text_rows("a\n\"", ',', "1:a\n2!quote@2\n");
    assert_text_rows("a\nb\xff\nc", ',', "1:a\n2!not text@2\n3:c\n");
    assert_rows(&(struct input){ "a\0b\nc\n\"d\0\"\n", 11, CHARSET_UTF8, ',' }, "1!nul@1\n2:c\n3!nul@3\n");
}

static char *repeated(char byte, size_t count)
{
    char *text = arena_alloc(arena, count + 1);
    memset(text, byte, count);
    return text;
}

static void test_bounds(void **state)
{
    (void)state;
    size_t count;
    const char *long_cell = arena_printf(arena, "a\n%s\nb", repeated('x', CSV_CELL_MAX_BYTES + 1));
    const char *fitting = arena_printf(arena, "\"%s\"", repeated('x', CSV_CELL_MAX_BYTES));
    const char *never = arena_printf(arena, "a\n\"b\n%s\nc", repeated('x', CSV_CELL_MAX_BYTES + 1));
    const char *long_row = arena_printf(arena, "a\n%s\r\nb", repeated(',', 2 * CSV_ROW_MAX_BYTES));
    const char *open_line = arena_printf(arena, "a\n\"b%s\nc", repeated('x', CSV_BLOCK_BYTES + 1));
    const char *open_row = arena_printf(arena, "a\n\"b%s\nc", repeated('x', CSV_ROW_MAX_BYTES + 1));
    const char *wide = arena_printf(arena, "%s\nb", repeated(',', CSV_MAX_CELLS + 100));
    const struct {
        const char *text;
        const char *rows;
    } cases[] = {
        { long_cell, "1:a\n2!cell@2\n3:b\n" },        { fitting, arena_printf(arena, "1:%s\n", repeated('x', CSV_CELL_MAX_BYTES)) },
        { never, "1:a\n2!quote@2\n3!cell@3\n4:c\n" }, { long_row, "1:a\n2!row@2\n3:b\n" },
        { open_line, "1:a\n2!quote@2\n3:c\n" }, /* an_open_quote_ends_with_its_line */
        { open_row, "1:a\n2!row@2\n3:c\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct input input = { cases[i].text, strlen(cases[i].text), CHARSET_UTF8, ',' };
        assert_string_equal(rows_of(&input, CSV_BLOCK_BYTES, 0, 1, NULL, &count), cases[i].rows);
        assert_string_equal(rows_of(&input, 1000, 0, 1, NULL, &count), cases[i].rows);
    }

    struct csv_reader reader;
    struct csv_row row;
    csv_begin(&reader, CHARSET_UTF8, ',', 0, 1);
    csv_feed(&reader, (const unsigned char *)wide, strlen(wide), true);
    assert_int_equal(csv_next(&reader, &row), CSV_ROW);
    assert_int_equal(row.count, CSV_MAX_CELLS + 101);
    assert_int_equal(row.fault, CSV_FINE);
    csv_end(&reader);
}

static const char *repeated_text(const char *text, size_t count)
{
    struct buf *out = buf_in_arena(arena, strlen(text) * count + 1);
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, text);
    return buf_text(out);
}

/* Line ends within the quotes of an overlong row do not end it, wherever the blocks end: an_overlong_row_ends_with_its_last_cell.
 */
static void test_overlong_rows(void **state)
{
    (void)state;
    enum { CELLS = 40, CELL = 30000 };
    static const size_t blocks[] = { CSV_BLOCK_BYTES, 100003, 65537, 40001 };
    size_t count;
    const char *one_cell = arena_printf(arena, "\"\r\n\"\"%s\",", repeated('x', CELL));
    const char *lines = repeated_text(one_cell, CELLS); /* of 41 lines, with the last cell still empty */
    const char *far = repeated('x', CSV_CELL_MAX_BYTES + 1);
    const struct {
        const char *text;
        const char *rows;
    } cases[] = {
        { arena_printf(arena, "a\n%s\nb", lines), "1:a\n2!row@2\n43:b\n" },
        { arena_printf(arena, "a\n%s\r\nb", lines), "1:a\n2!row@2\n43:b\n" },
        { arena_printf(arena, "a\n%s\"q\n\"%s\"\n\"b\"", lines, repeated('y', CSV_BLOCK_BYTES)), "1:a\n2!row@2\n44:b\n" },
        { arena_printf(arena, "a\n%s\"c\nd\n%s\ne", lines, far), "1:a\n2!row@2\n43:d\n44!cell@44\n45:e\n" },
        { arena_printf(arena, "a\n%s\"c%s\nd\n", lines, repeated('y', 2 * CSV_BLOCK_BYTES)), "1:a\n2!row@2\n43:d\n" },
        { arena_printf(arena, "a\n%s\n\"b\"", repeated_text("\"\",", CSV_ROW_MAX_BYTES)), "1:a\n2!row@2\n3:b\n" },
        { arena_printf(arena, "a\nx%s,c\nb", repeated('"', CSV_ROW_MAX_BYTES)), "1:a\n2!row@2\n3:b\n" },
        { arena_printf(arena, "a\n%s", lines), "1:a\n2!row@2\n" },
        /* The first text is dropped where the quote begins. */
        { arena_printf(arena, "a\nx%s\"\nb\"", repeated('y', 5 * CSV_BLOCK_BYTES - 3)), "1:a\n2!row@2\n3:b\"\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct input input = { cases[i].text, strlen(cases[i].text), CHARSET_UTF8, ',' };
        for (size_t block = 0; block < ARRAY_COUNT(blocks); block++) {
            int64_t ends[8];
            assert_string_equal(rows_of(&input, blocks[block], 0, 1, ends, &count), cases[i].rows);
            assert_int_equal(ends[count - 1], input.size);
        }
    }
}

/* A reader holds at most one row in memory, also for a line that never ends. */
static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct csv_reader reader;
    struct csv_row row;
    const unsigned char *block = (const unsigned char *)repeated('x', CSV_BLOCK_BYTES);
    csv_begin(&reader, CHARSET_WINDOWS_1252, ',', 0, 1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(csv_feed(&reader, block, CSV_BLOCK_BYTES, false), CSV_BLOCK_BYTES);
        assert_int_equal(csv_next(&reader, &row), CSV_NEEDS_INPUT);
        assert_false(reader.text.overflowed);
        assert_true(reader.text.size <= CSV_ROW_MAX_BYTES + CSV_BLOCK_BYTES);
    }
    csv_feed(&reader, block, 0, true);
    assert_int_equal(csv_next(&reader, &row), CSV_ROW);
    assert_int_equal(row.fault, CSV_ROW_LONG);
    assert_int_equal(csv_next(&reader, &row), CSV_END);
    assert_int_equal(reader.offset, 100 * CSV_BLOCK_BYTES);
    csv_end(&reader);
}

/* ---- Charsets ---- */

static void test_charsets_are_read(void **state)
{
    (void)state;
    static const char utf16le[] = "m\0\xfc\0,\0\x3d\xd8\x00\xde\r\0\n\0b\0";
    static const char utf16be[] = "\0m\0\xfc\0,\xd8\x3d\xde\x00\0\r\0\n\0b";
    static const char windows[] = "m\xfcller,\x80\r\nb\x9d";
    assert_rows(&(struct input){ utf16le, sizeof(utf16le) - 1, CHARSET_UTF16LE, ',' }, "1:m\xc3\xbc|\xf0\x9f\x98\x80\n2:b\n");
    assert_rows(&(struct input){ utf16be, sizeof(utf16be) - 1, CHARSET_UTF16BE, ',' }, "1:m\xc3\xbc|\xf0\x9f\x98\x80\n2:b\n");
    assert_rows(&(struct input){ windows, sizeof(windows) - 1, CHARSET_WINDOWS_1252, ',' },
                "1:m\xc3\xbcller|\xe2\x82\xac\n2!not text@2\n");
    /* Half a pair. */
    assert_rows(&(struct input){ "\x3d\xd8,\0\n\0b\0", 8, CHARSET_UTF16LE, ',' }, "1!not text@1\n2:b\n");
}

static void test_charsets_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        enum charset charset;
    } cases[] = {
        { "email\na@b.c", 11, CHARSET_UTF8 },    { "n\xc3\xbc", 3, CHARSET_UTF8 },          { "n\xfc\nb", 4, CHARSET_WINDOWS_1252 },
        { "n\xfc", 2, CHARSET_WINDOWS_1252 },    { "n\xfc\nm\xc3\xbc\n", 7, CHARSET_UTF8 }, /* mixed: the odd line is a fault of its
                                                                                               own */
        { "abc\nm\xc3", 6, CHARSET_UTF8 },                                                  /* cut */
        { "e\0m\0a\0\n\0", 8, CHARSET_UTF16LE }, { "\0e\0m\0a\0\n", 8, CHARSET_UTF16BE },   { "ab\0cdefghi", 10, CHARSET_UTF8 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_int_equal(charset_guess((const unsigned char *)cases[i].bytes, cases[i].size), cases[i].charset);
    size_t mark;
    assert_int_equal(charset_of_mark((const unsigned char *)"\xef\xbb\xbf"
                                                            "a",
                                     4, &mark),
                     CHARSET_UTF8);
    assert_int_equal(mark, 3);
    assert_int_equal(charset_of_mark((const unsigned char *)"\xff\xfe"
                                                            "a",
                                     4, &mark),
                     CHARSET_UTF16LE);
    assert_int_equal(mark, 2);
    assert_int_equal(charset_of_mark((const unsigned char *)"\xfe\xff", 2, &mark), CHARSET_UTF16BE);
    assert_int_equal(charset_of_mark((const unsigned char *)"\xef\xbb", 2, &mark), CHARSET_UTF8);
    assert_int_equal(mark, 0);
    for (enum charset charset = CHARSET_UTF8; charset <= CHARSET_WINDOWS_1252; charset++)
        assert_int_equal(charset_from_name(charset_name(charset)), charset);
}

/* ---- Delimiters ---- */

static void test_delimiters_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        char delimiter;
        size_t skip;
    } cases[] = {
        { "email\na@b.c\n", ',', 0 },
        { "email,name\na,b\n", ',', 0 },
        { "email;name\na;b\n", ';', 0 },
        { "email\tname\na\tb\n", '\t', 0 },
        { "email|name\na|b\n", '|', 0 },
        { "Name, Vorname;Email\nA, B;c\nD;e\n", ';', 0 },
        { "email;price\na;1,5\nb;2,5\n", ';', 0 },
        { "\"a,b\";c\n\"d,e\";f\n", ';', 0 },
        { "sep=;\nemail;name\n", ';', 6 },
        { "SEP=|\r\nemail|name\n", '|', 7 },
        { "sep=\tx\n", '\t', 0 },
        { "", ',', 0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct csv_dialect found = csv_sniff(cases[i].text, strlen(cases[i].text), true);
        assert_int_equal(found.delimiter, cases[i].delimiter);
        assert_int_equal(found.skip_bytes, cases[i].skip);
    }
}

/* ---- Writing ---- */

static const char *written(void (*write)(struct buf *, const char *), const char *text)
{
    struct buf *out = buf_in_arena(arena, 1000);
    write(out, text);
    return buf_text(out);
}

static void test_cells_are_written(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "a", "a,b", "a;b", "say \"x\"", "two\nlines", " b", "=1+1", "m\xc3\xbc" };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const char *cell = written(csv_write_cell, texts[i]);
        struct csv_reader reader;
        struct csv_row row;
        csv_begin(&reader, CHARSET_UTF8, ',', 0, 1);
        csv_feed(&reader, (const unsigned char *)cell, strlen(cell), true);
        if (texts[i][0] == '\0')
            assert_int_equal(csv_next(&reader, &row), CSV_END);
        else
            assert_int_equal(csv_next(&reader, &row), CSV_ROW);
        if (texts[i][0] != '\0')
            assert_string_equal(row.cells[0].text, texts[i]);
        csv_end(&reader);
    }
    assert_string_equal(written(csv_write_safe_cell, "=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
    assert_string_equal(written(csv_write_safe_cell, "+A1"), "'+A1");
    assert_string_equal(written(csv_write_safe_cell, "-cmd|x"), "\"'-cmd|x\"");
    assert_string_equal(written(csv_write_safe_cell, "@x"), "'@x");
    assert_string_equal(written(csv_write_safe_cell, "\t=x"), "\"'\t=x\"");
    assert_string_equal(written(csv_write_safe_cell, "-12.5"), "-12.5");
    assert_string_equal(written(csv_write_safe_cell, "+49 30 1234"), "+49 30 1234");
    assert_string_equal(written(csv_write_safe_cell, "a=b"), "a=b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overlong_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_charsets_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_charsets_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_delimiters_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cells_are_written, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
