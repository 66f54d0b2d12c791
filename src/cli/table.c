#include "cli/table.h"

#include "base/json_read.h"
#include "cli/visible.h"

#include <string.h>

enum {
    GAP = 2,
    NARROWEST = 20,      /* width of an id, which is useless when it is cut */
    NARROWEST_ASKED = 8, /* of requested columns, which are cut rather than hidden */
    CELL_MAX_BYTES = 8 * 1024 * 1024,
};

/* ---- Cells ---- */

static bool is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static bool is_plain_list(const json_t *value)
{
    size_t i;
    const json_t *item;
    json_array_foreach (value, i, item) {
        if (!is_scalar(item))
            return false;
    }
    return json_is_array(value);
}

static void append_value(struct arena *arena, struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        visible_add(out, json_string_value(value));
    } else if (is_plain_list(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            buf_add_text(out, i > 0 ? ", " : "");
            append_value(arena, out, json_array_get(value, i));
        }
    } else if (value != NULL && !json_is_null(value)) {
        visible_add(out, json_compact(arena, value));
    }
}

const char *cell_text(struct arena *arena, const json_t *value)
{
    struct buf *text = buf_in_arena(arena, CELL_MAX_BYTES);
    append_value(arena, text, value);
    return buf_text(text);
}

const json_t *json_at_path(const json_t *object, const char *path)
{
    const json_t *whole = json_object_get(object, path);
    const char *dot = strchr(path, '.');
    if (whole != NULL || dot == NULL)
        return whole;
    return json_at_path(json_object_getn(object, path, (size_t)(dot - path)), dot + 1);
}

/* Adds a cell. `is_cut`: it is cut with an ellipsis to its width. It is padded unless it is the last. */
static void append_cell(struct buf *out, const char *text, size_t width, bool is_cut, bool is_last)
{
    size_t columns = text_columns(text);
    if (is_cut && columns > width) {
        size_t used = 0;
        for (size_t left = strlen(text); left > 0;) {
            ucs4_t point;
            size_t size = character_at(text, left, &point);
            if (used + character_columns(point) + 1 > width)
                break;
            buf_add(out, text, size);
            used += character_columns(point);
            text += size;
            left -= size;
        }
        buf_add_text(out, "…");
        columns = used + 1;
    } else {
        buf_add_text(out, text);
    }
    for (size_t i = columns; i < width + GAP && !is_last; i++)
        buf_add_char(out, ' ');
}

/* ---- Columns ---- */

static void append_column(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return;
    if (table->column_count < TABLE_MAX_COLUMNS)
        table->columns[table->column_count++] = (struct column){ .name = arena_dup(table->arena, name) };
}

static bool is_scalar_everywhere(const json_t *rows, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        const json_t *value = json_object_get(row, name);
        if (value != NULL && !is_scalar(value))
            return false;
    }
    return true;
}

static void choose_columns(struct table *table, const json_t *rows)
{
    for (size_t i = 0; table->fields != NULL && table->fields[i] != NULL; i++)
        append_column(table, table->fields[i]);
    if (table->fields != NULL)
        return;
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        const char *name;
        json_t *value;
        json_object_foreach (json_for_iteration(row), name, value) {
            if (is_scalar_everywhere(rows, name))
                append_column(table, name);
        }
    }
}

static void measure(struct table *table, struct arena *scratch, const json_t *rows)
{
    for (size_t at = 0; at < table->column_count; at++) {
        struct column *column = &table->columns[at];
        column->width = text_columns(visible_text(scratch, column->name));
        size_t i;
        const json_t *row;
        json_array_foreach (rows, i, row) {
            size_t columns = text_columns(cell_text(scratch, json_at_path(row, column->name)));
            column->width = columns > column->width ? columns : column->width;
        }
    }
}

static size_t total_width(const struct table *table, size_t widest)
{
    size_t total = 0;
    for (size_t i = 0; i < table->column_count; i++)
        total += (table->columns[i].width < widest ? table->columns[i].width : widest) + (i > 0 ? GAP : 0);
    return total;
}

static bool is_empty_everywhere(struct arena *scratch, const json_t *rows, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        if (*cell_text(scratch, json_at_path(row, name)) != '\0')
            return false;
    }
    return true;
}

static void hide_empty_columns(struct table *table, struct arena *scratch, const json_t *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (!is_empty_everywhere(scratch, rows, table->columns[i].name))
            table->columns[kept++] = table->columns[i];
    table->hidden_count += table->column_count - kept;
    table->column_count = kept;
}

/* Fits the columns to the terminal. Columns that were not requested are hidden first: the empty ones, then the last ones. Then
 * the widest are cut. */
static void fit_columns(struct table *table, struct arena *scratch, const json_t *rows)
{
    size_t available = table->terminal_width;
    bool was_requested = table->fields != NULL;
    if (available == 0 || total_width(table, SIZE_MAX) <= available)
        return;
    if (!was_requested)
        hide_empty_columns(table, scratch, rows);
    while (table->column_count > 1 && total_width(table, was_requested ? NARROWEST_ASKED : NARROWEST) > available) {
        table->column_count--;
        table->hidden_count++;
    }
    size_t widest = available;
    while (widest > 1 && total_width(table, widest) > available)
        widest--;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].width > widest)
            table->columns[i].width = widest;
}

/* ---- Lines ---- */

static void append_head(struct table *table, struct arena *scratch, const json_t *rows, struct buf *out)
{
    choose_columns(table, rows);
    measure(table, scratch, rows);
    fit_columns(table, scratch, rows);
    table->has_head = true;
    for (size_t i = 0; i < table->column_count; i++)
        append_cell(out, visible_text(scratch, table->columns[i].name), table->columns[i].width, table->terminal_width > 0,
                    i + 1 == table->column_count);
    if (table->column_count > 0)
        buf_add_char(out, '\n');
}

/* Adds a row without blanks after its last non-empty cell. */
static void append_row(const struct table *table, struct arena *scratch, const json_t *row, struct buf *out)
{
    const char *cells[TABLE_MAX_COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        cells[i] = cell_text(scratch, json_at_path(row, table->columns[i].name));
        count = *cells[i] != '\0' ? i + 1 : count;
    }
    for (size_t i = 0; i < count; i++)
        append_cell(out, cells[i], table->columns[i].width, table->terminal_width > 0, i + 1 == count);
}

void table_rows(struct table *table, struct arena *scratch, const json_t *rows, struct buf *out)
{
    if (json_array_size(rows) == 0)
        return;
    if (!table->has_head)
        append_head(table, scratch, rows, out);
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        append_row(table, scratch, row, out);
        if (table->column_count == 0)
            append_value(scratch, out, row);
        buf_add_char(out, '\n');
    }
}

/* ---- Resources ---- */

struct line {
    const char *name;
    const json_t *value;
};

struct lines {
    struct line *items;
    size_t count;
    size_t capacity;
};

static void append_member_line(struct arena *arena, struct lines *lines, const char *name, const json_t *value)
{
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity > 0 ? 2 * lines->capacity : 32;
        struct line *items = arena_array(arena, capacity, sizeof(*items));
        if (lines->count > 0)
            memcpy(items, lines->items, lines->count * sizeof(*items));
        lines->items = items;
        lines->capacity = capacity;
    }
    lines->items[lines->count++] = (struct line){ visible_text(arena, name), value };
}

static void append_members(struct arena *arena, struct lines *lines, const char *prefix, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(object), name, value) {
        const char *path = arena_printf(arena, "%s%s%s", prefix, *prefix != '\0' ? "." : "", name);
        if (json_object_size(value) > 0)
            append_members(arena, lines, path, value);
        else
            append_member_line(arena, lines, path, value);
    }
}

void table_resource(const struct table *table, struct arena *scratch, const json_t *resource, struct buf *out)
{
    struct lines lines = { .items = NULL };
    if (table->fields == NULL)
        append_members(scratch, &lines, "", resource);
    for (size_t i = 0; table->fields != NULL && table->fields[i] != NULL; i++)
        append_member_line(scratch, &lines, table->fields[i], json_at_path(resource, table->fields[i]));

    size_t width = 0;
    for (size_t i = 0; i < lines.count; i++) {
        size_t columns = text_columns(lines.items[i].name);
        width = columns > width ? columns : width;
    }
    bool is_cut = table->terminal_width > width + GAP + NARROWEST_ASKED;
    for (size_t i = 0; i < lines.count; i++) {
        const char *text = cell_text(scratch, lines.items[i].value);
        append_cell(out, lines.items[i].name, width, false, *text == '\0');
        append_cell(out, text, is_cut ? table->terminal_width - width - GAP : 0, is_cut, true);
        buf_add_char(out, '\n');
    }
}
