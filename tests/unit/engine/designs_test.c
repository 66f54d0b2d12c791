/*
 * Designs after their creation: changes, versions, copies, folders and deletions, also
 * by two concurrent callers. Also the compiled gallery: each of its templates becomes
 * a design.
 */
#include "fixtures/engine_fixture.h"

#include "engine/emails/design_edits.h"
#include "engine/emails/groups.h"
#include "engine/templates/gallery.h"

#include <pthread.h>

static const char html[] = "<!DOCTYPE html><html><head></head><body><p>Hi {{ firstName }}</p></body></html>";

static int64_t make_design(void)
{
    return design_of(html, "Hi {{ firstName }}");
}

/* A second caller of the same brand, in its own transaction. */
static struct db_conn *other_conn;

static struct work other_work(struct arena *of_thread)
{
    struct work other = work;
    other.arena = of_thread;
    other.conn = other_conn;
    return other;
}

static int designs_begin(void **state)
{
    struct error err = { .code = ERR_NONE };
    if (world_begin(state) != 0)
        return -1;
    return installation_connect(installation, &other_conn, &err) ? 0 : -1;
}

static int designs_end(void **state)
{
    db_disconnect(other_conn);
    return world_end(state);
}

/* ---- Changes ---- */

static void test_the_subject_stands_on_the_latest_version(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_find_row *email;
    int64_t id = make_design();
    struct email_change first = { .subject_line = { .set = true, .value = "First" } };
    struct email_change second = { .subject_line = { .set = true, .value = "Second" } };
    assert_ok(email_change(&work, id, &first, &email, &err), &err);
    int64_t first_version = email->version_id.value;
    struct email_version_name one = { .number = { .set = true, .value = 1 } };
    assert_ok(email_restore(&work, id, &one, &email, &err), &err);
    assert_string_equal(email->subject_line, "First");
    assert_ok(email_change(&work, id, &second, &email, &err), &err);
    assert_int_equal(number_of("select count(*) from email_versions"), 2);

    struct email_find_params old = { .brand_id = work.brand_id, .id = id, .version_id = { .set = true, .value = first_version } };
    assert_ok(sql_email_find(conn, arena, &old, &email, &err), &err);
    assert_string_equal(email->subject_line, "First");
    assert_ok(email_restore(&work, id, &one, &email, &err), &err);
    assert_string_equal(email->subject_line, "First");
    assert_int_equal(number_of("select max(version)::bigint from email_versions"), 3);
}

static void test_a_failed_design_is_ready_again(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_find_row *email;
    int64_t id = make_design();
    run_sql("update emails set status = 'failed'");
    struct email_version_name one = { .number = { .set = true, .value = 1 } };
    assert_ok(email_restore(&work, id, &one, &email, &err), &err);
    assert_string_equal(email->status, "ready");
}

/* A list holds a design that is generated at its creation, even after a later change by a person. */
static void test_lists_hold_what_is_generated(void **state) /* */
{
    (void)state;
    make_design();
    run_sql("update emails set status = 'generating', updated_at = created_at + interval '1 hour'");
    assert_int_equal(number_of("select count(*) from emails where listed_at = created_at"), 1);
    run_sql("update emails set status = 'ready'");
    assert_int_equal(number_of("select count(*) from emails where listed_at = updated_at and updated_at > created_at"), 1);
    run_sql("update emails set status = 'generating'; update emails set status = 'failed'");
    assert_int_equal(number_of("select count(*) from emails where listed_at = updated_at"), 1);
}

/* ---- Walks under edits ---- */

static const json_t *list(bool by_created, const char *cursor)
{
    struct error err = { .code = ERR_NONE };
    struct email_filter filter = { .by_created = by_created };
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    json_writer_init(&json, out);
    assert_ok(email_list(&work, &filter, 2, cursor, &json, &err), &err);
    const json_t *page;
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &page, &err), &err);
    return page;
}

/* Walks the list two at a time and edits every row it reads; gives how many rows it saw. */
static size_t walk_and_edit(bool by_created, size_t at_most)
{
    size_t seen = 0;
    const char *cursor = NULL;
    do {
        const json_t *page = list(by_created, cursor);
        const json_t *rows = json_object_get(page, "data");
        for (size_t i = 0; i < json_array_size(rows); i++) {
            struct error err = { .code = ERR_NONE };
            struct email_find_row *email;
            struct email_change change = { .title = "Edited" };
            int64_t id = id_decode(&work.engine->ids, ID_EMAIL, json_get_text(json_array_get(rows, i), "emailId"));
            work.now_us += US_PER_S;
            assert_ok(email_change(&work, id, &change, &email, &err), &err);
        }
        seen += json_array_size(rows);
        cursor = json_get_text(json_object_get(page, "pagination"), "cursor");
    } while (cursor != NULL && seen < at_most);
    assert_null(cursor);
    return seen;
}

static void test_walks_that_edit(void **state) /* */
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        make_design();
        work.now_us += US_PER_S;
    }
    /* What was edited went to the front, behind the reader. */
    assert_int_equal(walk_and_edit(true, 100), 7);
    assert_int_equal(walk_and_edit(false, 100), 7);
    assert_int_equal(number_of("select count(*) from emails where title = 'Edited'"), 7);
}

/* ---- Versions ---- */

static void test_versions_shown_are_bounded(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t id = make_design();
    run_sql("insert into email_versions (brand_id, email_id, version, html, plain_text, html_code, text_code, created_at)"
            " select v.brand_id, v.email_id, n, v.html, v.plain_text, v.html_code, v.text_code, v.created_at"
            "   from email_versions v, generate_series(2, 150) n");
    struct email_find_long_params params = {
        .brand_id = work.brand_id, .email_id = id, .with_versions = true, .max_versions = EMAIL_VERSIONS_SHOWN
    };
    struct email_find_long_row *more;
    assert_ok(sql_email_find_long(conn, arena, &params, &more, &err), &err);
    assert_int_equal(more->version_ids.count, EMAIL_VERSIONS_SHOWN);
    assert_int_equal(more->version_numbers.items[0], 150);
    struct email_find_row *email;
    struct email_version_name one = { .number = { .set = true, .value = 1 } };
    assert_ok(email_restore(&work, id, &one, &email, &err), &err);
    assert_int_equal(number_of("select max(version)::bigint from email_versions"), 151);
}

/* ---- Copies ---- */

static void test_a_clone_is_exact(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t id = make_design();
    run_sql("update email_versions set links = '[1]', paths = '{a.b}', report = '{\"htmlBytes\":7}', preview_text = 'Soon',"
            " subject_line = 'Subject'; update emails set title = repeat('t', 200)");
    struct email_copy copy = { .email_id = work_id(&work, ID_EMAIL, id) };
    struct email_find_row *clone;
    assert_ok(email_clone(&work, &copy, &clone, &err), &err);
    assert_int_not_equal(clone->id, id);
    assert_int_equal(strlen(clone->title), EMAIL_TITLE_MAX_CHARS);
    assert_int_equal(strncmp(clone->title, "Copy of tt", 10), 0);
    assert_int_equal(number_of("select count(distinct (html, plain_text, html_code, text_code, preview_text, links::text, paths,"
                               " report::text, subject_line, version)) from email_versions"),
                     1);
    assert_int_equal(number_of("select count(*) from email_versions"), 2);
    assert_int_equal(number_of("select count(distinct email_id) from email_versions"), 2);
}

/* ---- Two callers meet ---- */

static int64_t the_email;
static int64_t the_group;

struct meeting {
    bool (*act)(const struct work *caller, struct error *err);
    bool ok;
    struct error err;
};

static void act_in_transaction(const struct work *caller, struct meeting *renderer)
{
    struct error ignored = { .code = ERR_NONE };
    DB_TX tx;
    renderer->ok =
        db_tx_begin(caller->conn, &tx, &ignored) && renderer->act(caller, &renderer->err) && db_tx_commit(&tx, &renderer->err);
}

static void *act_of_other(void *data)
{
    ARENA_SCOPE of_thread = arena_new(0);
    struct work other = other_work(of_thread);
    act_in_transaction(&other, data);
    return NULL;
}

/* The first has done its work and not committed yet when the second comes; true when the second had to wait for it. */
static bool meet(struct meeting *first, struct meeting *second)
{
    struct error err = { .code = ERR_NONE };
    pthread_t thread;
    bool waited = false;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    first->ok = first->act(&work, &first->err);
    assert_int_equal(pthread_create(&thread, NULL, act_of_other, second), 0);
    int64_t until_us = clock_monotonic_us() + 60 * US_PER_S;
    while (!waited && clock_monotonic_us() < until_us)
        waited = number_of("select count(*) from pg_locks where not granted") > 0;
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return waited;
}

static bool restore_first(const struct work *caller, struct error *err)
{
    struct email_version_name one = { .number = { .set = true, .value = 1 } };
    struct email_find_row *email;
    return email_restore(caller, the_email, &one, &email, err);
}

static void test_two_restores_make_two_versions(void **state) /* */
{
    (void)state;
    the_email = make_design();
    struct meeting first = { .act = restore_first };
    struct meeting second = { .act = restore_first };
    assert_true(meet(&first, &second));
    assert_true(first.ok && second.ok);
    assert_int_equal(number_of("select count(*) from email_versions where version in (1, 2, 3)"), 3);
    assert_int_equal(number_of("select v.version::bigint from emails e join email_versions v on v.id = e.latest_version_id"), 3);
}

static void test_an_edit_of_an_older_version_is_not_saved(void **state) /* D-148 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_edit_source source;
    struct email_edited edited;
    struct email_find_row *email;
    int64_t id = make_design();
    assert_ok(email_check_edit(&work, id, &err), &err);
    assert_ok(email_read_edit_source(&work, id, &source, &err), &err);
    assert_string_equal(source.html, html);
    assert_ok(email_prepare_edit(&work, prepared("<p>Bye</p>", "Bye"), &edited, &err), &err);
    assert_ok(email_save_edit(&work, id, source.version_id, &edited, &email, &err), &err);
    assert_non_null(email);
    assert_int_equal(number_of("select count(*) from email_versions where version = 2 and html = '<p>Bye</p>'"), 1);

    assert_ok(email_save_edit(&work, id, source.version_id, &edited, &email, &err), &err);
    assert_null(email);
    assert_int_equal(number_of("select count(*) from email_versions"), 2);
}

static void test_an_edit_that_does_not_compile_names_the_replacements(void **state) /* D-148 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_edited edited;
    assert_false(email_prepare_edit(&work, prepared("<p>{% if a %}Bye</p>", "Bye"), &edited, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "replacements");
}

static int deletions;

static bool delete_it(const struct work *caller, struct error *err)
{
    struct email_deletion deletion;
    if (!email_delete(caller, the_email, &deletion, err))
        return false;
    assert_true(deletion.deleted_at.set);
    deletions += deletion.deleted;
    return true;
}

static void test_two_deletions_delete_once(void **state) /* */
{
    (void)state;
    the_email = make_design();
    deletions = 0;
    struct meeting first = { .act = delete_it };
    struct meeting second = { .act = delete_it };
    assert_true(meet(&first, &second));
    assert_true(first.ok && second.ok);
    assert_int_equal(deletions, 1);
}

static void make_group(void)
{
    struct error err = { .code = ERR_NONE };
    struct email_group_row *group;
    assert_ok(email_group_create(&work, "Letters", &group, &err), &err);
    the_group = group->id;
}

static bool put_into_group(const struct work *caller, struct error *err)
{
    struct email_change change = { .folder.group_id = { .set = true, .value = work_id(caller, ID_GROUP, the_group) } };
    struct email_find_row *email;
    return email_change(caller, the_email, &change, &email, err);
}

static bool clone_it(const struct work *caller, struct error *err)
{
    struct email_copy copy = { .email_id = work_id(caller, ID_EMAIL, the_email) };
    struct email_find_row *email;
    return email_clone(caller, &copy, &email, err);
}

static bool delete_group(const struct work *caller, struct error *err)
{
    bool deleted;
    return email_group_delete(caller, work_id(caller, ID_GROUP, the_group), &deleted, err) && deleted;
}

/* When a folder is deleted while other callers use it, no design is left in the deleted folder. */
static void test_no_design_is_left_in_a_deleted_folder(void **state) /* */
{
    (void)state;
    static const char lost[] = "select count(*) from emails e where e.group_id is not null and not exists"
                               " (select 1 from email_groups g where g.id = e.group_id)";
    bool (*const uses[])(const struct work *caller, struct error *err) = { put_into_group, clone_it };
    for (size_t i = 0; i < ARRAY_COUNT(uses); i++) {
        struct error err = { .code = ERR_NONE };
        run_sql("delete from emails");
        the_email = make_design();

        make_group();
        assert_ok(put_into_group(&work, &err), &err);
        struct meeting user = { .act = uses[i] };
        struct meeting deleter = { .act = delete_group };
        assert_true(meet(&user, &deleter));
        assert_true(user.ok && deleter.ok);
        assert_int_equal(number_of(lost), 0);

        make_group();
        /* A clone inherits the folder; a moved design comes from another folder. */
        if (uses[i] == clone_it)
            assert_ok(put_into_group(&work, &err), &err);
        user = (struct meeting){ .act = uses[i] };
        deleter = (struct meeting){ .act = delete_group };
        assert_true(meet(&deleter, &user));
        assert_true(deleter.ok);
        assert_int_equal(user.ok, uses[i] == clone_it);
        assert_int_equal(number_of(lost), 0);
    }
}

/* ---- The gallery that is compiled in ---- */

static void assert_category(const char *category)
{
    static const char *const known[] = { "welcome",          "newsletter",       "promotional",      "product-launch",
                                         "product-update",   "cart-abandonment", "event-invitation", "event-reminder",
                                         "feedback-request", "re-engagement",    "referral",         "business",
                                         "internal",         "general" };
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (strcmp(known[i], category) == 0)
            return;
    fail_msg("%s is no category of the contract", category);
}

static void test_every_template_becomes_a_design(void **state) /* */
{
    (void)state;
    assert_true(gallery_template_count >= 2);
    for (size_t i = 0; i < gallery_template_count; i++) {
        const struct gallery_template *template = &gallery_templates[i];
        struct error err = { .code = ERR_NONE };
        struct email_copy copy = { .email_id = template->id };
        struct email_find_row *email;
        assert_category(template->category);
        assert_ok(email_clone(&work, &copy, &email, &err), &err);
        assert_string_equal(email->title, template->title);
        assert_string_equal(email->subject_line, template->subject_line);
        assert_ok(email_check_subject(&work, template->subject_line, &err), &err);
        assert_ptr_equal(gallery_find_template(template->id), template);
    }
    assert_int_equal(number_of("select count(*) from emails"), gallery_template_count);
}

static void test_sequences_hold_what_they_promise(void **state) /* */
{
    (void)state;
    assert_true(gallery_flow_count >= 1);
    for (size_t i = 0; i < gallery_flow_count; i++) {
        const struct gallery_flow *flow = &gallery_flows[i];
        struct error err = { .code = ERR_NONE };
        assert_true(flow->step_count >= 1 && flow->step_count <= GALLERY_STEPS_MAX);
        for (size_t j = 0; j < flow->step_count; j++) {
            assert_int_equal(flow->steps[j].order, j + 1);
            assert_true(j == 0 || flow->steps[j].day_offset >= flow->steps[j - 1].day_offset);
            assert_ok(email_check_subject(&work, flow->steps[j].subject, &err), &err);
            assert_ptr_equal(gallery_find_template(flow->steps[j].template->id), flow->steps[j].template);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_subject_stands_on_the_latest_version),
        TEST(test_a_failed_design_is_ready_again),
        TEST(test_lists_hold_what_is_generated),
        TEST(test_walks_that_edit),
        TEST(test_versions_shown_are_bounded),
        TEST(test_a_clone_is_exact),
        TEST(test_two_restores_make_two_versions),
        TEST(test_an_edit_of_an_older_version_is_not_saved),
        TEST(test_an_edit_that_does_not_compile_names_the_replacements),
        TEST(test_two_deletions_delete_once),
        TEST(test_no_design_is_left_in_a_deleted_folder),
        TEST(test_every_template_becomes_a_design),
        TEST(test_sequences_hold_what_they_promise),
    };
    return cmocka_run_group_tests_name("engine_designs", tests, designs_begin, designs_end);
}
