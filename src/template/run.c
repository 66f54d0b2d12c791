#include "template/template.h"

#include "template/escape.h"
#include "template/filter.h"
#include "template/format.h"
#include "template/value.h"

#include <math.h>
#include <string.h>

/* A running loop. */
struct loop {
    struct template_value list;
    size_t from; /* index of its first item in the list */
    size_t count;
    size_t at; /* current item, from 0 to count - 1 */
    bool is_reversed;
};

/* One evaluation. Arrays that not every template needs are not initialised as a whole. */
struct run {
    const struct template *template;
    struct template_lookup lookup;
    struct template_scratch scratch;
    struct buf *out; /* the output, or the innermost capture */
    struct error *err;
    size_t depth;
    size_t loop_depth;
    size_t capture_depth;
    size_t link_at; /* where the address of the current link begins in the output */
    bool link_is_open;
    int left_iterations;
    bool path_is_known[TEMPLATE_MAX_PATHS];
    struct template_value path_values[TEMPLATE_MAX_PATHS]; /* valid if path_is_known */
    struct template_value stack[TEMPLATE_STACK_MAX];
    struct loop loops[TEMPLATE_MAX_DEPTH];
    struct buf *outer[TEMPLATE_MAX_DEPTH]; /* the output before each capture began */
    struct {
        bool is_set;
        struct template_value value;
    } variables[TEMPLATE_MAX_VARIABLES];
};

static const char *string_at(const struct template *template, uint32_t index, size_t *ret_size)
{
    const unsigned char *at = template->strings + (size_t)index * TEMPLATE_STRING_BYTES;
    *ret_size = template_read_u32(at + 4);
    return template->pool + template_read_u32(at);
}

static struct template_value string_value(const struct template *template, uint32_t index)
{
    size_t size;
    const char *text = string_at(template, index, &size);
    return template_string(text, size);
}

/* ---- Values ---- */

/* Each path is looked up once and cached, because a lookup can read the whole value: `.size` counts characters. So the cost of
 * all lookups is limited by the size of the recipient's values, for any number of loop iterations. */
static struct template_value path_value(struct run *run, uint32_t path)
{
    struct template_value *value = &run->path_values[path];
    if (!run->path_is_known[path]) {
        run->path_is_known[path] = true;
        *value = (struct template_value){ .kind = TEMPLATE_NIL };
        run->lookup.value(run->lookup.context, path, template_path(run->template, path), value);
    }
    return *value;
}

static struct template_value variable_value(struct run *run, struct template_instruction instruction)
{
    if (run->variables[instruction.b].is_set)
        return run->variables[instruction.b].value;
    if (instruction.c > 0)
        return path_value(run, instruction.c - 1);
    return (struct template_value){ .kind = TEMPLATE_NIL };
}

static struct template_value literal_value(enum template_literal literal)
{
    switch (literal) {
    case TEMPLATE_LITERAL_FALSE:
    case TEMPLATE_LITERAL_TRUE:
        return template_bool(literal == TEMPLATE_LITERAL_TRUE);
    case TEMPLATE_LITERAL_EMPTY:
        return (struct template_value){ .kind = TEMPLATE_EMPTY };
    case TEMPLATE_LITERAL_BLANK:
        return (struct template_value){ .kind = TEMPLATE_BLANK };
    case TEMPLATE_LITERAL_NIL:
    case TEMPLATE_LITERAL_COUNT:
        break;
    }
    return (struct template_value){ .kind = TEMPLATE_NIL };
}

static struct template_value number_value(const struct run *run, uint32_t string)
{
    struct template_value text = string_value(run->template, string);
    double number = NAN;
    (void)template_to_number(&text, &number);
    return template_number(number);
}

static struct template_value loop_item(const struct loop *loop)
{
    size_t at = loop->is_reversed ? loop->count - 1 - loop->at : loop->at;
    return template_list_item(&loop->list, loop->from + at);
}

static struct template_value loop_fact(const struct loop *loop, enum template_forloop fact)
{
    int64_t at = (int64_t)loop->at;
    int64_t count = (int64_t)loop->count;
    switch (fact) {
    case TEMPLATE_FORLOOP_INDEX:
        return template_integer(at + 1);
    case TEMPLATE_FORLOOP_INDEX0:
        return template_integer(at);
    case TEMPLATE_FORLOOP_RINDEX:
        return template_integer(count - at);
    case TEMPLATE_FORLOOP_RINDEX0:
        return template_integer(count - at - 1);
    case TEMPLATE_FORLOOP_FIRST:
        return template_bool(at == 0);
    case TEMPLATE_FORLOOP_LAST:
        return template_bool(at + 1 == count);
    case TEMPLATE_FORLOOP_LENGTH:
        return template_integer(count);
    case TEMPLATE_FORLOOP_COUNT:
        break;
    }
    return (struct template_value){ .kind = TEMPLATE_NIL };
}

/* Makes a range of integers. A range with an end that is not a number is empty. */
static bool make_range(struct run *run, struct template_value *first_and_list, const struct template_value *last)
{
    double from;
    double to;
    bool known = template_to_number(first_and_list, &from) && template_to_number(last, &to);
    *first_and_list = (struct template_value){ .kind = TEMPLATE_LIST, .size = 0 };
    if (!known || trunc(to) < trunc(from))
        return true;
    from = trunc(from);
    if (to - from >= TEMPLATE_MAX_ITERATIONS)
        return fail(run->err, ERR_INVALID_REQUEST, NULL, "A range of this template has more than %d numbers.",
                    TEMPLATE_MAX_ITERATIONS);
    size_t count = (size_t)(to - from) + 1;
    struct template_value *items = template_scratch_alloc(&run->scratch, count * sizeof(*items), run->err);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i] = template_number(from + (double)i);
    *first_and_list = (struct template_value){ .kind = TEMPLATE_LIST, .size = count, .items = items };
    return true;
}

static bool run_comparison(struct run *run, enum template_comparison comparison)
{
    const struct template_value *left = &run->stack[run->depth - 2];
    const struct template_value *right = &run->stack[run->depth - 1];
    size_t bytes = (left->kind == TEMPLATE_STRING ? left->size : 0) + (right->kind == TEMPLATE_STRING ? right->size : 0);
    if (template_is_list(left))
        bytes += template_list_size(left) * sizeof(*left);
    if (!template_scratch_work(&run->scratch, bytes, run->err))
        return false;
    bool truth = template_compare(comparison, left, right, &run->scratch.left_operations);
    if (run->scratch.left_operations < 0)
        return template_scratch_work(&run->scratch, 0, run->err);
    run->depth--;
    run->stack[run->depth - 1] = template_bool(truth);
    return true;
}

static bool apply_filter(struct run *run, struct template_instruction instruction)
{
    run->depth -= instruction.b;
    struct template_value *value = &run->stack[run->depth - 1];
    size_t bytes = value->kind == TEMPLATE_STRING ? value->size : 0;
    return template_scratch_work(&run->scratch, bytes, run->err) &&
           template_filter_info(instruction.a)->apply(&run->scratch, value, value + 1, instruction.b, run->err);
}

/* ---- Loops ---- */

/* Evaluates a modifier like Array.prototype.slice of ECMAScript: a negative one counts from the end. Nil gives the fallback. */
static size_t modifier(const struct template_value *value, size_t count, size_t fallback)
{
    double number;
    if (value->kind == TEMPLATE_NIL)
        return fallback;
    if (!template_to_number(value, &number))
        number = 0;
    number = trunc(number);
    if (number < 0)
        number += (double)count;
    if (number < 0)
        return 0;
    return number > (double)count ? count : (size_t)number;
}

static bool count_iteration(struct run *run)
{
    run->left_iterations--;
    if (run->left_iterations >= 0)
        return true;
    return fail(run->err, ERR_INVALID_REQUEST, NULL, "The loops of this template run more than %d times for one recipient.",
                TEMPLATE_MAX_ITERATIONS);
}

static bool begin_loop(struct run *run, struct template_instruction instruction, uint32_t *next)
{
    struct loop loop = { .is_reversed = (instruction.a & TEMPLATE_FOR_REVERSED) != 0 };
    struct template_value limit = { .kind = TEMPLATE_NIL };
    struct template_value offset = { .kind = TEMPLATE_NIL };
    if (instruction.a & TEMPLATE_FOR_LIMIT)
        limit = run->stack[--run->depth];
    if (instruction.a & TEMPLATE_FOR_OFFSET)
        offset = run->stack[--run->depth];
    run->depth--;
    if (!template_to_items(&run->scratch, &run->stack[run->depth], &loop.list, run->err))
        return false;
    size_t size = template_list_size(&loop.list);
    loop.from = modifier(&offset, size, 0);
    loop.count = modifier(&limit, size - loop.from, size - loop.from);
    if (loop.count == 0) {
        *next = instruction.c;
        return true;
    }
    run->loops[run->loop_depth++] = loop;
    return count_iteration(run);
}

/* Continues with the next item, or ends the loop. */
static bool next_item(struct run *run, uint32_t body, uint32_t *next)
{
    struct loop *loop = &run->loops[run->loop_depth - 1];
    loop->at++;
    if (loop->at == loop->count) {
        run->loop_depth--;
        return true;
    }
    *next = body;
    return count_iteration(run);
}

/* ---- Statements ---- */

static bool emit(struct run *run, enum template_escape escape)
{
    struct template_value *value = &run->stack[--run->depth];
    if (!template_to_text(&run->scratch, value, run->err))
        return false;
    template_escape_add(run->out, escape, value->text, value->size);
    return true;
}

static void store(struct run *run, uint16_t variable, struct template_value value)
{
    run->variables[variable].value = value;
    run->variables[variable].is_set = true;
}

/* Each capture has its own buffer, so many small captures also count against the scratch limit. */
static bool begin_capture(struct run *run)
{
    enum { CAPTURE_BYTES = 512 };
    if (template_scratch_alloc(&run->scratch, CAPTURE_BYTES, run->err) == NULL)
        return false;
    run->outer[run->capture_depth++] = run->out;
    run->out = buf_in_arena(run->scratch.arena, run->scratch.left_bytes + 1);
    return true;
}

static bool end_capture(struct run *run, uint16_t variable)
{
    struct buf *captured = run->out;
    run->out = run->outer[--run->capture_depth];
    size_t size = captured->overflowed ? run->scratch.left_bytes + 1 : captured->size;
    char *buffer = template_scratch_alloc(&run->scratch, size, run->err);
    if (buffer == NULL)
        return false;
    memcpy(buffer, buf_text(captured), captured->size);
    store(run, variable, template_string(buffer, captured->size));
    return true;
}

/* The address of a link. Its last `size` bytes of output are replaced when it does not stay. */
static void put_link(struct run *run, unsigned number, bool is_merged, const char *text, size_t size)
{
    struct bytes address = { .data = NULL };
    if (run->lookup.link != NULL)
        address = run->lookup.link(run->lookup.context, number, is_merged, text, size);
    if (is_merged && address.data != NULL)
        run->out->size -= size;
    if (address.data != NULL)
        buf_add(run->out, (const char *)address.data, address.size);
    else if (!is_merged)
        buf_add(run->out, text, size);
}

/* A damaged template can end a link in a capture that begins after it; then nothing is replaced. */
static void end_link(struct run *run, unsigned number)
{
    bool is_whole = run->link_is_open && run->out->size > run->link_at && !run->out->overflowed;
    run->link_is_open = false;
    if (is_whole)
        put_link(run, number, true, run->out->data + run->link_at, run->out->size - run->link_at);
}

/* Runs the operations of links. */
static void step_link(struct run *run, struct template_instruction instruction)
{
    if (instruction.op == TEMPLATE_OP_LINK) {
        size_t size;
        const char *text = string_at(run->template, instruction.c, &size);
        put_link(run, instruction.b, false, text, size);
    } else if (instruction.op == TEMPLATE_OP_LINK_BEGIN) {
        run->link_at = run->out->size;
        run->link_is_open = true;
    } else {
        end_link(run, instruction.b);
    }
}

static bool index_value(struct run *run, struct template_value *value, const struct template_value *key)
{
    if (!template_member_work(&run->scratch, value, run->err))
        return false;
    *value = template_index(value, key);
    return true;
}

/* Runs the operations that combine the two top values into one. */
static bool step_pair(struct run *run, struct template_instruction instruction)
{
    struct template_value *left = &run->stack[run->depth - 2];
    const struct template_value *right = left + 1;
    if (instruction.op == TEMPLATE_OP_COMPARE)
        return run_comparison(run, (enum template_comparison)instruction.a);
    run->depth--;
    if (instruction.op == TEMPLATE_OP_RANGE)
        return make_range(run, left, right);
    if (instruction.op == TEMPLATE_OP_INDEX)
        return index_value(run, left, right);
    if (instruction.op == TEMPLATE_OP_AND)
        *left = template_bool(template_holds(left) && template_holds(right));
    else
        *left = template_bool(template_holds(left) || template_holds(right));
    return true;
}

/* Runs the operations on the value stack. */
static bool step_value(struct run *run, struct template_instruction instruction)
{
    struct template_value *top = &run->stack[run->depth];
    switch ((enum template_op)instruction.op) {
    case TEMPLATE_OP_LOAD:
        *top = path_value(run, instruction.c);
        break;
    case TEMPLATE_OP_CONST:
        *top = string_value(run->template, instruction.c);
        break;
    case TEMPLATE_OP_INTEGER:
        *top = template_integer((int32_t)instruction.c);
        break;
    case TEMPLATE_OP_NUMBER:
        *top = number_value(run, instruction.c);
        break;
    case TEMPLATE_OP_LITERAL:
        *top = literal_value((enum template_literal)instruction.a);
        break;
    case TEMPLATE_OP_VARIABLE:
        *top = variable_value(run, instruction);
        break;
    case TEMPLATE_OP_ITEM:
        *top = loop_item(&run->loops[instruction.b]);
        break;
    case TEMPLATE_OP_FORLOOP:
        *top = loop_fact(&run->loops[instruction.b], (enum template_forloop)instruction.a);
        break;
    case TEMPLATE_OP_MEMBER: {
        struct template_value name = string_value(run->template, instruction.c);
        if (!template_member_work(&run->scratch, &top[-1], run->err))
            return false;
        top[-1] = template_member(&top[-1], name.text, name.size);
        return true;
    }
    case TEMPLATE_OP_NOT:
        top[-1] = template_bool(!template_holds(&top[-1]));
        return true;
    case TEMPLATE_OP_FILTER:
        return apply_filter(run, instruction);
    case TEMPLATE_OP_INDEX:
    case TEMPLATE_OP_RANGE:
    case TEMPLATE_OP_AND:
    case TEMPLATE_OP_OR:
    case TEMPLATE_OP_COMPARE:
        return step_pair(run, instruction);
    case TEMPLATE_OP_END:
    case TEMPLATE_OP_TEXT:
    case TEMPLATE_OP_EMIT:
    case TEMPLATE_OP_STORE:
    case TEMPLATE_OP_JUMP:
    case TEMPLATE_OP_BRANCH:
    case TEMPLATE_OP_FOR:
    case TEMPLATE_OP_NEXT:
    case TEMPLATE_OP_LEAVE:
    case TEMPLATE_OP_CAPTURE:
    case TEMPLATE_OP_CAPTURED:
    case TEMPLATE_OP_LINK:
    case TEMPLATE_OP_LINK_BEGIN:
    case TEMPLATE_OP_LINK_END:
        break;
    }
    run->depth++;
    return true;
}

/* Runs one instruction: output, stores and control flow here, the other operations in step_value. */
static bool run_instruction(struct run *run, struct template_instruction instruction, uint32_t *next)
{
    switch ((enum template_op)instruction.op) {
    case TEMPLATE_OP_TEXT: {
        size_t size;
        const char *text = string_at(run->template, instruction.c, &size);
        buf_add(run->out, text, size);
        return true;
    }
    case TEMPLATE_OP_EMIT:
        return emit(run, (enum template_escape)instruction.a);
    case TEMPLATE_OP_STORE:
        store(run, instruction.b, run->stack[--run->depth]);
        return true;
    case TEMPLATE_OP_JUMP:
        *next = instruction.c;
        return true;
    case TEMPLATE_OP_BRANCH:
        run->depth--;
        if (template_holds(&run->stack[run->depth]) == (instruction.a != 0))
            *next = instruction.c;
        return true;
    case TEMPLATE_OP_FOR:
        return begin_loop(run, instruction, next);
    case TEMPLATE_OP_NEXT:
        return next_item(run, instruction.c, next);
    case TEMPLATE_OP_LEAVE:
        run->loop_depth--;
        *next = instruction.c;
        return true;
    case TEMPLATE_OP_CAPTURE:
        return begin_capture(run);
    case TEMPLATE_OP_CAPTURED:
        return end_capture(run, instruction.b);
    case TEMPLATE_OP_LINK:
    case TEMPLATE_OP_LINK_BEGIN:
    case TEMPLATE_OP_LINK_END:
        step_link(run, instruction);
        return true;
    case TEMPLATE_OP_END:
    case TEMPLATE_OP_LOAD:
    case TEMPLATE_OP_CONST:
    case TEMPLATE_OP_FILTER:
    case TEMPLATE_OP_INTEGER:
    case TEMPLATE_OP_NUMBER:
    case TEMPLATE_OP_LITERAL:
    case TEMPLATE_OP_VARIABLE:
    case TEMPLATE_OP_ITEM:
    case TEMPLATE_OP_FORLOOP:
    case TEMPLATE_OP_MEMBER:
    case TEMPLATE_OP_INDEX:
    case TEMPLATE_OP_RANGE:
    case TEMPLATE_OP_COMPARE:
    case TEMPLATE_OP_AND:
    case TEMPLATE_OP_OR:
    case TEMPLATE_OP_NOT:
        break;
    }
    return step_value(run, instruction);
}

/* Interpreter loop: runs the verified instructions up to END. Stops early when the output has overflowed. */
static bool run_instructions(struct run *run)
{
    const struct buf *output = run->out;
    for (uint32_t at = 0; !output->overflowed;) {
        struct template_instruction instruction = template_read_instruction(run->template->instructions, at);
        if (instruction.op == TEMPLATE_OP_END)
            break;
        at++;
        run->scratch.left_operations--;
        if (run->scratch.left_operations < 0)
            return template_scratch_work(&run->scratch, 0, run->err);
        if (!run_instruction(run, instruction, &at))
            return false;
    }
    return true;
}

static void run_init(struct run *run, const struct template *template, struct template_lookup lookup, struct arena *scratch,
                     struct buf *out, struct error *err)
{
    static const struct template_setting usual = { .now_us = 0 };
    run->template = template;
    run->lookup = lookup;
    run->scratch = (struct template_scratch){
        .arena = scratch,
        .left_bytes = TEMPLATE_MAX_SCRATCH_BYTES,
        .left_operations = TEMPLATE_MAX_OPERATIONS,
        .setting = lookup.setting != NULL ? lookup.setting : &usual,
    };
    run->out = out;
    run->err = err;
    run->depth = run->loop_depth = run->capture_depth = 0;
    run->link_is_open = false;
    run->left_iterations = TEMPLATE_MAX_ITERATIONS;
    memset(run->path_is_known, 0, template->path_count);
    for (uint32_t i = 0; i < template->variable_count; i++)
        run->variables[i].is_set = false;
}

bool template_evaluate(const struct template *template, struct template_lookup lookup, struct arena *scratch_arena, struct buf *out,
                       struct error *err)
{
    if (out->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The output buffer is already full.");
    size_t start = out->size;
    size_t old_max_bytes = out->max_bytes;
    if (old_max_bytes - start > TEMPLATE_MAX_OUTPUT_BYTES)
        out->max_bytes = start + TEMPLATE_MAX_OUTPUT_BYTES;

    struct run run;
    run_init(&run, template, lookup, scratch_arena, out, err);
    bool done = run_instructions(&run);
    if (done && out->overflowed)
        done = fail(err, ERR_INVALID_REQUEST, NULL, "The personalised text is larger than %zu bytes.", out->max_bytes - start);
    out->max_bytes = old_max_bytes;
    if (!done) {
        out->overflowed = false;
        out->size = start;
        if (out->data != NULL)
            out->data[start] = '\0';
    }
    return done;
}
