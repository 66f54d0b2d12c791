/* Search of templates over the compiled gallery: the trial of queries in fixtures/template_queries.json, with and without the table
 * of concepts. It needs no database. */
#include "fixtures/temp_folder.h"

#include "base/json_read.h"
#include "engine/templates/template_search.h"

#include <stdio.h>
#include <string.h>

enum { TRIAL_MAX_BYTES = 1 << 20, WITHIN = 3 };

/* What was measured, less two queries for changes of the gallery. */
enum { WORDS_AT_LEAST = 33, NEEDS_AT_LEAST = 43, UNSEEN_AT_LEAST = 30, UNSEEN_GAIN_AT_LEAST = 11 };

static struct arena *arena;

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

static const json_t *read_trial(void)
{
    char *text = arena_alloc(arena, TRIAL_MAX_BYTES);
    FILE *file = fopen(POSTHORN_SOURCE_DIR "/tests/unit/fixtures/template_queries.json", "r");
    assert_non_null(file);
    size_t size = fread(text, 1, TRIAL_MAX_BYTES, file);
    fclose(file);
    struct error err = { .code = ERR_NONE };
    const json_t *trial;
    assert_ok(json_read(arena, text, size, (struct json_bounds){ .max_bytes = TRIAL_MAX_BYTES }, &trial, &err), &err);
    return json_object_get(trial, "sets");
}

static bool is_wanted(const json_t *row, const char *id)
{
    size_t i;
    const json_t *wanted;
    json_array_foreach (json_for_iteration(json_object_get(row, "wanted")), i, wanted)
        if (strcmp(json_string_value(wanted), id) == 0)
            return true;
    return false;
}

static bool hits(const json_t *row, bool with_concepts)
{
    const struct gallery_template **best = arena_array(arena, gallery_template_count + 1, sizeof(*best));
    const char *query = json_get_text(row, "query");
    size_t count = template_rank(arena, query, with_concepts, best);
    for (size_t i = 0; i < count && i < WITHIN; i++)
        if (is_wanted(row, best[i]->id))
            return true;
    if (with_concepts)
        print_message("  not within %d: %s (first: %s)\n", WITHIN, query, count > 0 ? best[0]->id : "nothing");
    return false;
}

static int count_hits(const json_t *rows, bool with_concepts)
{
    int count = 0;
    size_t i;
    const json_t *row;
    json_array_foreach (json_for_iteration(rows), i, row)
        count += hits(row, with_concepts);
    return count;
}

static int play_set(const char *name, int *ret_plain)
{
    const json_t *rows = json_object_get(read_trial(), name);
    assert_true(json_array_size(rows) >= 30);
    *ret_plain = count_hits(rows, false);
    int found = count_hits(rows, true);
    print_message("%s: %d of %zu queries have a wanted template within %d; %d without concepts\n", name, found,
                  json_array_size(rows), WITHIN, *ret_plain);
    return found;
}

static void test_trial(void **state) /* */
{
    (void)state;
    int plain;
    assert_true(play_set("words", &plain) >= WORDS_AT_LEAST);
    assert_true(play_set("needs", &plain) >= NEEDS_AT_LEAST);
    int unseen = play_set("unseen", &plain);
    assert_true(unseen >= UNSEEN_AT_LEAST);
    assert_true(unseen - plain >= UNSEEN_GAIN_AT_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_trial, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
