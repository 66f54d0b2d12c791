#include "designer/brief_body.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "designer/brief_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    TEXT_MAX_BYTES = 128 * 1024,
    BODY_MAX_CHARS = 19000,
    HEADING_MAX_CHARS = 200,
    POINT_MAX_CHARS = 1000,
    POINTS_MAX = 40,
    STEPS_MAX = 12,
    STATS_MAX = 4,
    COLUMNS_MAX = 6,
    ROWS_MAX = 100,
    CELLS_MAX = 8,
    TERM_MAX_BYTES = 60,
    FIGURE_MAX_BYTES = 12,
    LABEL_MAX_CHARS = 80,
    QUOTE_MAX_CHARS = 2000,
};

/* ---- Blocks ---- */

void set_text(struct arena *arena, json_t *object, const char *name, const char *text, size_t max_points)
{
    bool changed = false;
    if (text == NULL || *text == '\0')
        return;
    const char *safe = safe_template(arena, cut_line(arena, text, max_points), &changed);
    if (*safe != '\0')
        json_object_set_new(object, name, json_string(safe));
}

static void set_body_text(struct body *body, json_t *object, const char *name, const char *text, size_t max_points)
{
    const char *safe = text != NULL ? safe_template(body->arena, text, &body->has_mistake) : NULL;
    set_text(body->arena, object, name, safe, max_points);
}

static json_t *new_block(struct body *body, const char *type)
{
    return json_in_arena(body->arena, json_pack("{ss}", "type", type));
}

static void flush_text(struct body *body);

static void push(struct body *body, json_t *block)
{
    if (json_array_size(body->blocks) < BODY_BLOCKS_MAX)
        json_array_append(body->blocks, block);
}

static bool is_full(const struct body *body)
{
    return json_array_size(body->blocks) >= BODY_BLOCKS_MAX - 4;
}

/* A heading whose block has no member for it is a column of its own. */
static void flush_heading(struct body *body)
{
    if (body->heading == NULL)
        return;
    json_t *item = json_in_arena(body->arena, json_object());
    set_body_text(body, item, "heading", body->heading, HEADING_MAX_CHARS);
    body->heading = NULL;
    if (json_object_get(item, "heading") != NULL)
        push(body, json_in_arena(body->arena, json_pack("{ss ss s[O]}", "type", "columns", "variant", "plain", "items", item)));
}

/* A list under a heading, which its block has no member for. */
static void flush_before(struct body *body)
{
    flush_text(body);
    flush_heading(body);
}

static void flush_text(struct body *body)
{
    const char *text = arena_dup(body->arena, buf_text(body->text));
    buf_clear(body->text);
    if (*text == '\0')
        return;
    json_t *block = new_block(body, "text");
    set_body_text(body, block, "heading", body->heading, HEADING_MAX_CHARS);
    set_body_text(body, block, "body", text, BODY_MAX_CHARS);
    body->heading = NULL;
    if (json_object_get(block, "body") != NULL)
        push(body, block);
}

static void add_paragraph(struct body *body, const char *text)
{
    if (*text == '\0')
        return;
    if (body->text->size + strlen(text) > BODY_MAX_CHARS)
        flush_text(body);
    if (body->text->size > 0)
        buf_add_text(body->text, "\n\n");
    buf_add_text(body->text, link_addresses(body->arena, text));
}

static void flush_paragraph(struct body *body)
{
    const char *text = text_trim(body->arena, buf_text(body->paragraph));
    buf_clear(body->paragraph);
    if (*text != '\0' && body->edit != NULL)
        text = body->edit(body->context, text);
    if (text != NULL)
        add_paragraph(body, text);
}

/* ---- Lists ---- */

/* Splits "**Term**: text" and "Term – text". False: the point has no term. */
static bool split_point(struct body *body, const char *point, const char **ret_term, const char **ret_text)
{
    static const char marks[] = ":** |**: |: | – | — | - ";
    size_t size;
    const char *at = find_phrase(point, marks, &size);
    size_t address;
    const char *link = find_address(point, &address);
    if (at == NULL || at - point > TERM_MAX_BYTES || at[size] == '\0' || (link != NULL && link < at))
        return false;
    size_t skip = text_starts_with(point, "**") ? 2 : 0;
    size_t end = (size_t)(at - point);
    end -= end >= 4 && strncmp(point + end - 2, "**", 2) == 0 ? 2 : 0;
    *ret_term = end > skip ? line_of(body->arena, point + skip, end - skip) : "";
    *ret_text = line_of(body->arena, at + size, strlen(at + size));
    return **ret_term != '\0' && strpbrk(*ret_term, "*[]{}") == NULL && !isdigit((unsigned char)(*ret_term)[0]);
}

/* The bytes of a name without the marks and the word "for" behind it. */
static size_t name_size(const char *text, size_t size)
{
    for (;;) {
        bool is_dash = size >= 3 && (strncmp(text + size - 3, "–", 3) == 0 || strncmp(text + size - 3, "—", 3) == 0);
        if (is_dash)
            size -= 3;
        else if (size > 0 && strchr(" :-(,*|", text[size - 1]) != NULL)
            size--;
        else if (size >= 4 && strncasecmp(text + size - 4, " for", 4) == 0)
            size -= 4;
        else
            return size;
    }
}

/* The price before, and the words behind both prices. */
static const char *read_old_price(struct body *body, json_t *item, const char *rest)
{
    size_t size;
    const char *was = find_phrase(rest, "was |instead of |statt |au lieu de |en lugar de |antes ", &size);
    const char *price = was != NULL ? find_price(was, &size) : NULL;
    if (price != NULL) {
        set_text(body->arena, item, "was", line_of(body->arena, price, size), TERM_MAX_BYTES);
        rest = price + size;
    }
    rest += strspn(rest, " :-,;.()*");
    return text_starts_with(rest, "– ") || text_starts_with(rest, "— ") ? rest + strlen("– ") : rest;
}

/* A product: a name before a price. */
static json_t *product_of(struct body *body, const char *point)
{
    size_t size;
    const char *price = find_price(point, &size);
    size_t skip = strspn(point, "* ");
    size_t name = price != NULL ? name_size(point, (size_t)(price - point)) : 0;
    if (name <= skip || name > 2 * TERM_MAX_BYTES)
        return NULL;
    json_t *item = json_in_arena(body->arena, json_object());
    set_body_text(body, item, "name", line_of(body->arena, point + skip, name - skip), HEADING_MAX_CHARS);
    set_text(body->arena, item, "price", line_of(body->arena, price, size), TERM_MAX_BYTES);
    const char *rest = read_old_price(body, item, price + size);
    const char *link = find_address(point, &size);
    if (link != NULL)
        set_text(body->arena, item, "href", line_of(body->arena, link, size), 2048);
    else
        set_body_text(body, item, "text", line_of(body->arena, rest, strlen(rest)), POINT_MAX_CHARS);
    return json_object_get(item, "name") != NULL ? item : NULL;
}

/* A figure with its meaning: "4,000 members". */
static json_t *figure_of(struct body *body, const char *point)
{
    size_t size = strcspn(point, " ");
    if (!isdigit((unsigned char)*point) || size > FIGURE_MAX_BYTES || point[size] == '\0' || strlen(point) > TERM_MAX_BYTES ||
        strpbrk(point, "*[{:") != NULL)
        return NULL;
    size += strcspn(point + size, "0123456789") > 2 || point[size + 1] != '%' ? 0 : 2;
    json_t *item = json_in_arena(body->arena, json_object());
    set_text(body->arena, item, "value", line_of(body->arena, point, size), FIGURE_MAX_BYTES * 2);
    set_body_text(body, item, "label", line_of(body->arena, point + size, strlen(point + size)), TERM_MAX_BYTES * 2);
    return json_object_get(item, "label") != NULL ? item : NULL;
}

static json_t *term_of(struct body *body, const char *point)
{
    const char *term;
    const char *text;
    if (!split_point(body, point, &term, &text))
        return NULL;
    json_t *item = json_in_arena(body->arena, json_object());
    set_body_text(body, item, "heading", term, HEADING_MAX_CHARS);
    set_body_text(body, item, "text", text, POINT_MAX_CHARS);
    return json_object_get(item, "heading") != NULL && json_object_get(item, "text") != NULL ? item : NULL;
}

static json_t *step_of(struct body *body, const char *point)
{
    json_t *item = term_of(body, point);
    if (item != NULL || strlen(point) > 2 * TERM_MAX_BYTES || strpbrk(point, "*[") != NULL)
        return item;
    item = json_in_arena(body->arena, json_object());
    set_body_text(body, item, "heading", point, HEADING_MAX_CHARS);
    return json_object_get(item, "heading") != NULL ? item : NULL;
}

/* All points as items of one kind; NULL when one of them is none. */
static json_t *items_of(struct body *body, json_t *(*read)(struct body *body, const char *point), size_t least, size_t most)
{
    json_t *items = json_in_arena(body->arena, json_array());
    size_t count = json_array_size(body->points);
    if (count < least || count > most)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        json_t *item = read(body, json_string_value(json_array_get(body->points, i)));
        if (item == NULL)
            return NULL;
        json_array_append(items, item);
    }
    return items;
}

static bool push_items(struct body *body, const char *type, json_t *items)
{
    if (items == NULL)
        return false;
    json_t *block = new_block(body, type);
    json_object_set(block, "items", items);
    push(body, block);
    return true;
}

static void push_list(struct body *body)
{
    json_t *block = new_block(body, "list");
    json_t *items = json_in_arena(body->arena, json_array());
    for (size_t i = 0; i < json_array_size(body->points); i++) {
        const char *point = link_addresses(body->arena, json_string_value(json_array_get(body->points, i)));
        const char *safe = safe_template(body->arena, cut_line(body->arena, point, POINT_MAX_CHARS), &body->has_mistake);
        if (*safe != '\0')
            json_array_append_new(items, json_string(safe));
    }
    if (!text_equal(body->style, "bullet"))
        json_object_set_new(block, "style", json_string(body->style));
    json_object_set(block, "items", items);
    if (json_array_size(items) > 0)
        push(body, block);
}

static void flush_points(struct body *body)
{
    bool is_numbered = text_equal(body->style, "number");
    if (json_array_size(body->points) == 0)
        return;
    flush_before(body);
    bool is_pushed = is_numbered ? push_items(body, "steps", items_of(body, step_of, 2, STEPS_MAX))
                                 : push_items(body, "products", items_of(body, product_of, 1, 24)) ||
                                       push_items(body, "stats", items_of(body, figure_of, 2, STATS_MAX)) ||
                                       push_items(body, "columns", items_of(body, term_of, 2, COLUMNS_MAX));
    if (!is_pushed)
        push_list(body);
    json_array_clear(body->points);
}

/* ---- Quotations and tables ---- */

static void flush_quotation(struct body *body)
{
    const char *text = arena_dup(body->arena, buf_text(body->quotation));
    size_t size;
    buf_clear(body->quotation);
    if (*text == '\0')
        return;
    flush_before(body);
    json_t *block = new_block(body, "quote");
    const char *author = find_phrase(text, "\n— |\n– |\n-- |\n- | — ", &size);
    const char *words = author != NULL ? arena_printf(body->arena, "%.*s", (int)(author - text), text) : text;
    set_body_text(body, block, "text", words, QUOTE_MAX_CHARS);
    if (author != NULL) {
        const char *name = author + size;
        size_t comma = strcspn(name, ",\n");
        set_body_text(body, block, "author", line_of(body->arena, name, comma), 120);
        if (name[comma] == ',')
            set_body_text(body, block, "role", line_of(body->arena, name + comma + 1, strlen(name + comma + 1)), 120);
    }
    if (json_object_get(block, "text") != NULL)
        push(body, block);
}

static bool is_rule_row(const json_t *row)
{
    for (size_t i = 0; i < json_array_size(row); i++) {
        const char *cell = json_string_value(json_array_get(row, i));
        if (strspn(cell, ":- ") != strlen(cell) || *cell == '\0')
            return false;
    }
    return json_array_size(row) > 0;
}

/* The cells of a row, as many as the table has columns. */
static json_t *cells_of(struct body *body, const json_t *row, size_t count)
{
    json_t *cells = json_in_arena(body->arena, json_array());
    for (size_t i = 0; i < count; i++) {
        const char *cell = json_string_value(json_array_get(row, i));
        json_array_append_new(cells, json_string(safe_template(body->arena, cut_line(body->arena, cell != NULL ? cell : "", 120),
                                                               &body->has_mistake)));
    }
    return cells;
}

static void flush_rows(struct body *body)
{
    size_t count = json_array_size(json_array_get(body->rows, 0));
    if (count == 0)
        return;
    flush_before(body);
    json_t *block = new_block(body, "table");
    json_t *rows = json_in_arena(body->arena, json_array());
    count = count > CELLS_MAX ? CELLS_MAX : count;
    for (size_t i = 1; i < json_array_size(body->rows) && i <= ROWS_MAX; i++)
        if (!is_rule_row(json_array_get(body->rows, i)))
            json_array_append(rows, cells_of(body, json_array_get(body->rows, i), count));
    json_object_set(block, "columns", cells_of(body, json_array_get(body->rows, 0), count));
    json_object_set(block, "rows", rows);
    if (json_array_size(rows) > 0)
        push(body, block);
    json_array_clear(body->rows);
}

static void flush(struct body *body)
{
    flush_paragraph(body);
    flush_points(body);
    flush_quotation(body);
    flush_rows(body);
}

/* ---- Lines ---- */

static bool read_heading(struct body *body, const char *line)
{
    size_t level = strspn(line, "#");
    if (level == 0 || level > 6 || line[level] != ' ')
        return false;
    flush(body);
    flush_text(body);
    flush_heading(body);
    const char *text = line_of(body->arena, line + level, strlen(line + level));
    if (body->title == NULL && json_array_size(body->blocks) == 0 && (level == 1 || body->edit == NULL))
        body->title = text;
    else
        body->heading = *text != '\0' ? text : NULL;
    return true;
}

static bool read_point(struct body *body, const char *line)
{
    size_t number = strspn(line, "0123456789");
    size_t size = text_starts_with(line, "- ") || text_starts_with(line, "* ") || text_starts_with(line, "+ ") ? 2
                  : text_starts_with(line, "• ")                                                               ? 4
                  : number > 0 && number <= 2 && (line[number] == '.' || line[number] == ')') && line[number + 1] == ' '
                      ? number + 2
                      : 0;
    const char *style = number > 0 ? "number" : "bullet";
    if (size == 0 || is_full(body))
        return false;
    if (json_array_size(body->points) == 0 || !text_equal(style, body->style))
        flush(body);
    flush_paragraph(body);
    if (json_array_size(body->points) == POINTS_MAX)
        flush_points(body);
    body->style = style;
    const char *point = line_of(body->arena, line + size, strlen(line + size));
    if (*point != '\0')
        json_array_append_new(body->points, json_string(point));
    return true;
}

static bool read_quotation(struct body *body, const char *line)
{
    if (*line != '>' || is_full(body))
        return false;
    if (body->quotation->size == 0)
        flush(body);
    else
        buf_add_char(body->quotation, '\n');
    buf_add_text(body->quotation, text_trim(body->arena, line + 1));
    return true;
}

static bool read_row(struct body *body, const char *line)
{
    size_t size = strlen(line);
    if (*line != '|' || size < 3 || line[size - 1] != '|' || is_full(body))
        return false;
    if (json_array_size(body->rows) == 0)
        flush(body);
    json_t *row = json_in_arena(body->arena, json_array());
    for (const char *cell = line + 1; *cell != '\0';) {
        size_t width = strcspn(cell, "|");
        json_array_append_new(row, json_string(line_of(body->arena, cell, width)));
        cell += width + (cell[width] == '|');
    }
    json_array_append(body->rows, row);
    return true;
}

/* ![alt](source) and [label](address) alone on a line. */
static bool read_link_line(struct body *body, const char *line)
{
    bool is_picture = *line == '!';
    const char *open = strstr(line, "](");
    size_t length = strlen(line);
    if (line[is_picture] != '[' || open == NULL || length == 0 || line[length - 1] != ')' || is_full(body))
        return false;
    const char *label = line_of(body->arena, line + 1 + is_picture, (size_t)(open - line) - 1 - is_picture);
    const char *target = line_of(body->arena, open + 2, length - (size_t)(open + 2 - line) - 1);
    size_t size;
    const char *address = find_address(target, &size);
    bool is_tag = text_starts_with(target, "{{") && strpbrk(target, "()") == NULL;
    if ((!is_tag && (address != target || target[size] != '\0')) || strstr(label, "](") != NULL ||
        utf8_length(label) > LABEL_MAX_CHARS || (*label == '\0' && !is_picture))
        return false;
    flush(body);
    flush_before(body);
    bool has_mistake = false;
    const char *safe = safe_template(body->arena, target, &has_mistake);
    if (has_mistake)
        return true;
    json_t *block = new_block(body, is_picture ? "image" : "button");
    set_body_text(body, block, is_picture ? "alt" : "label", label, LABEL_MAX_CHARS);
    json_object_set_new(block, is_picture ? "src" : "href", json_string(safe));
    if (is_picture || json_object_get(block, "label") != NULL)
        push(body, block);
    return true;
}

static bool read_rule(struct body *body, const char *line)
{
    if (strlen(line) < 3 ||
        (strspn(line, "-") != strlen(line) && strspn(line, "*") != strlen(line) && strspn(line, "_") != strlen(line)))
        return false;
    flush(body);
    flush_before(body);
    if (!is_full(body) && json_array_size(body->blocks) > 0)
        push(body, new_block(body, "divider"));
    return true;
}

static void read_line(struct body *body, const char *line)
{
    if (*line == '\0') {
        flush_paragraph(body);
        flush_quotation(body);
        flush_rows(body);
        return;
    }
    if (read_heading(body, line) || read_rule(body, line) || read_point(body, line) || read_quotation(body, line) ||
        read_row(body, line) || read_link_line(body, line))
        return;
    flush_points(body);
    flush_quotation(body);
    flush_rows(body);
    if (body->paragraph->size > 0)
        buf_add_char(body->paragraph, '\n');
    buf_add_text(body->paragraph, line);
}

void body_init(struct body *body, struct arena *arena)
{
    *body = (struct body){
        .arena = arena,
        .blocks = json_in_arena(arena, json_array()),
        .points = json_in_arena(arena, json_array()),
        .rows = json_in_arena(arena, json_array()),
        .style = "bullet",
        .paragraph = buf_in_arena(arena, TEXT_MAX_BYTES),
        .quotation = buf_in_arena(arena, TEXT_MAX_BYTES),
        .text = buf_in_arena(arena, TEXT_MAX_BYTES),
    };
}

void body_read(struct body *body, const char *markdown)
{
    while (*markdown != '\0') {
        size_t size = strcspn(markdown, "\n");
        read_line(body, text_trim(body->arena, arena_printf(body->arena, "%.*s", (int)size, markdown)));
        markdown += size + (markdown[size] == '\n');
    }
    flush(body);
    flush_before(body);
}
