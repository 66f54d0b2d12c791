/* Designs: storing the reply of the renderer, folders, pages of lists, and the preview text. */
#include "fixtures/engine_fixture.h"

#include "engine/compose/preheader.h"
#include "engine/emails/groups.h"
#include "sql/emails.h"

static const char html[] = "<!DOCTYPE html><html><head></head><body><p>Hi {{ firstName }} of {{ company.name }}</p></body></html>";

/* ---- Preparing ---- */

static void test_prepare_compiles_and_collects_paths(void **state)
{
    (void)state;
    struct error err;
    struct email_content content;
    assert_ok(email_prepare(arena, prepared(html, "Hi {{ firstName }}, {{ city }}"), &content, &err), &err);
    assert_int_equal(content.paths.count, 3);
    assert_string_equal(content.paths.items[0], "firstName");
    assert_string_equal(content.paths.items[1], "company.name");
    assert_string_equal(content.paths.items[2], "city");
    assert_true(content.html_code.size > 0 && content.text_code.size > 0);
    assert_null(content.preview_text);
}

static void test_prepare_names_the_place_of_a_fault(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_content content;
    const char *broken = "<!DOCTYPE html><html><head></head><body>\n<p style=\"color: {{ colour }}\">Hi</p></body></html>";
    assert_false(email_prepare(arena, prepared(broken, "Hi"), &content, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "content");
    assert_non_null(strstr(err.message, "Line 2"));
}

static void test_prepare_refuses_another_shape(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct email_content content;
    const json_t *half = json_in_arena(arena, json_pack("{s:s}", "html", html));
    assert_false(email_prepare(arena, half, &content, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
}

/* ---- Saving ---- */

static struct email_saved save(const struct email_import *import)
{
    struct error err;
    struct email_content content;
    struct email_saved saved;
    assert_ok(email_prepare(arena, prepared(html, "Hi"), &content, &err), &err);
    assert_ok(email_save_import(&work, import, &content, &saved, &err), &err);
    return saved;
}

static void test_titles(void **state) /* */
{
    (void)state;
    struct email_import named = { .title = "  My \u200bletter " };
    assert_string_equal(save(&named).title, "My letter");
    struct email_import own = { .title = NULL };
    assert_string_equal(save(&own).title, "A title");
    struct email_import blank = { .title = " \u200b " };
    assert_string_equal(save(&blank).title, "Imported email");
}

static struct email_folder folder_by_id(int64_t id)
{
    return (struct email_folder){ .group_id = { .set = true, .value = work_id(&work, ID_GROUP, id) } };
}

static void assert_folder_refused(struct email_folder named, enum error_code code, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct opt_int ignored;
    assert_false(email_folder_check(&work, &named, &ignored, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.param, param);
}

static void test_groups(void **state) /* */
{
    (void)state;
    struct email_import named = { .group_name = "News" };
    struct email_saved first = save(&named);
    struct email_saved second = save(&named);
    assert_int_equal(first.group_id.value, second.group_id.value);
    assert_int_equal(number_of("select count(*) from email_groups"), 1);

    struct email_import by_id = { .group_id = first.group_id.value };
    assert_string_equal(save(&by_id).group_name, "News");
    struct email_folder both = folder_by_id(first.group_id.value);
    both.group_name = "News";
    assert_folder_refused(both, ERR_INVALID_REQUEST, "groupName");
    assert_folder_refused((struct email_folder){ .group_name = "ungrouped" }, ERR_INVALID_REQUEST, "groupName");
    assert_folder_refused(folder_by_id(999999), ERR_EMAIL_GROUP_NOT_FOUND, "groupId");
    struct error err = { .code = ERR_NONE };
    assert_false(email_check_subject(&work, "Hi {{ first name }}", &err));
    assert_string_equal(err.param, "subjectLine");

    /* The folder may go between the request and its job. */
    struct email_content content;
    struct email_saved saved;
    run_sql("delete from email_groups");
    assert_ok(email_prepare(arena, prepared(html, "Hi"), &content, &err), &err);
    assert_false(email_save_import(&work, &by_id, &content, &saved, &err));
    assert_int_equal(err.code, ERR_EMAIL_GROUP_NOT_FOUND);
    assert_int_equal(number_of("select count(*) from emails where group_id is null"), 0);
}

/* ---- Lists ---- */

static const json_t *list(const struct email_filter *filter, int64_t limit, const char *cursor)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer writer;
    json_writer_init(&writer, out);
    assert_ok(email_list(&work, filter, limit, cursor, &writer, &err), &err);
    const json_t *json;
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &json, &err), &err);
    return json;
}

static size_t rows_of(const json_t *page)
{
    return json_array_size(json_object_get(page, "data"));
}

static const char *title_of(const json_t *page, size_t index)
{
    return json_get_text(json_array_get(json_object_get(page, "data"), index), "title");
}

static const char *cursor_of(const json_t *page)
{
    return json_get_text(json_object_get(page, "pagination"), "cursor");
}

static void make_designs(int count)
{
    for (int i = 1; i <= count; i++) {
        struct email_import import = { .title = arena_printf(arena, "Design %d", i) };
        save(&import);
        work.now_us += US_PER_S;
    }
}

static void test_lists_walk_newest_first(void **state) /* */
{
    (void)state;
    make_designs(5);
    struct email_filter all = { .by_created = false };
    const json_t *first = list(&all, 2, NULL);
    assert_int_equal(rows_of(first), 2);
    assert_string_equal(title_of(first, 0), "Design 5");
    run_sql("delete from emails where title = 'Design 4'"); /* rows already read may go */
    const json_t *second = list(&all, 2, cursor_of(first));
    assert_string_equal(title_of(second, 0), "Design 3");
    const json_t *third = list(&all, 2, cursor_of(second));
    assert_int_equal(rows_of(third), 1);
    assert_null(cursor_of(third));
    assert_string_equal(title_of(third, 0), "Design 1");
}

static void test_edits_move_a_row_by_update_only(void **state) /* */
{
    (void)state;
    make_designs(4);
    struct email_filter by_created = { .by_created = true };
    struct email_filter by_updated = { .by_created = false };
    const json_t *first = list(&by_created, 2, NULL);
    run_sql("update emails set updated_at = updated_at + interval '1 day' where title = 'Design 1'");
    assert_string_equal(title_of(list(&by_updated, 1, NULL), 0), "Design 1");
    const json_t *second = list(&by_created, 2, cursor_of(first));
    assert_string_equal(title_of(second, 0), "Design 2");
    assert_string_equal(title_of(second, 1), "Design 1");
}

static void test_list_filters(void **state) /* */
{
    (void)state;
    struct email_import grouped = { .title = "Grouped", .group_name = "News" };
    struct email_saved saved = save(&grouped);
    make_designs(2);
    run_sql("update emails set status = 'failed' where title = 'Design 1'");
    struct email_filter in_group = { .group_id = work_id(&work, ID_GROUP, saved.group_id.value) };
    struct email_filter loose = { .group_id = "ungrouped" };
    struct email_filter failed = { .status = "failed" };
    struct email_filter nowhere = { .group_id = "grp_nonsense" };
    assert_int_equal(rows_of(list(&in_group, 10, NULL)), 1);
    assert_int_equal(rows_of(list(&loose, 10, NULL)), 2);
    assert_int_equal(rows_of(list(&failed, 10, NULL)), 1);
    assert_int_equal(rows_of(list(&nowhere, 10, NULL)), 0);

    struct email_filter all = { .status = NULL };
    const char *cursor = cursor_of(list(&all, 1, NULL));
    struct error err = { .code = ERR_NONE };
    struct json_writer writer;
    json_writer_init(&writer, buf_in_arena(arena, 1 << 16));
    assert_false(email_list(&work, &loose, 1, cursor, &writer, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "cursor");
}

static void test_versions(void **state) /* */
{
    (void)state;
    struct error err;
    struct email_import import = { .title = "Versions" };
    struct email_saved saved = save(&import);
    struct email_find_params params = { .brand_id = work.brand_id, .id = saved.id };
    struct email_find_row *row;
    assert_ok(sql_email_find(conn, arena, &params, &row, &err), &err);
    struct email_find_long_params both = {
        .brand_id = work.brand_id,
        .email_id = saved.id,
        .version_id = row->version_id.value,
        .with_versions = true,
        .with_html = true,
        .max_versions = EMAIL_VERSIONS_SHOWN,
    };
    struct email_find_long_row *more;
    assert_ok(sql_email_find_long(conn, arena, &both, &more, &err), &err);
    assert_int_equal(more->version_ids.count, 1);
    assert_int_equal(more->version_numbers.items[0], 1);
    assert_string_equal(more->html, html);
    both.with_versions = both.with_html = false;
    assert_ok(sql_email_find_long(conn, arena, &both, &more, &err), &err);
    assert_null(more->html);
    assert_null(more->version_ids.items);

    params =
        (struct email_find_params){ .brand_id = work.brand_id, .id = saved.id, .version_id = { .set = true, .value = 987654 } };
    assert_ok(sql_email_find(conn, arena, &params, &row, &err), &err);
    assert_false(row->version_id.set);
}

/* ---- The preview text ---- */

static void test_preview_goes_behind_the_body_tag(void **state)
{
    (void)state;
    const char *source =
        "<html><head><style>a>b{} /* <body> */</style><!-- <body> --></head><body title=\"a>b\">Text</body></html>";
    char *changed = email_html_with_preview(arena, source, "A & {{ b | default: 'c' }}");
    char *body = strstr(changed, "<body title=\"a>b\"><div style=\"display:none");
    assert_non_null(body);
    assert_non_null(strstr(body, ">A &amp; {{ b | default: 'c' }}&zwnj;&nbsp;"));
    assert_non_null(strstr(body, "</div>Text</body></html>"));
    assert_int_equal(body - changed, strstr(source, "<body title") - source);
    assert_string_equal(email_html_with_preview(arena, "<p>Bare</p>", "A"), "<p>Bare</p>");
}

/* The body with the new preview text and what is behind it. */
static const char *behind_preview(const char *body)
{
    const char *whole = email_html_with_preview(arena, arena_printf(arena, "<html><body>%s</body></html>", body), "New");
    const char *filler = strstr(whole, "&zwnj;");
    assert_non_null(filler);
    return strstr(filler, "</div>") + strlen("</div>");
}

/* the preview text of the send is the only one. */
static void test_preview_replaces_that_of_the_design(void **state)
{
    (void)state;
    /* As MJML, React Email and people write it. */
    static const char *const preheaders[] = {
        "<div style=\"display:none;font-size:1px;max-height:0px;opacity:0;overflow:hidden;\">Old</div>",
        "<div style=\"display: NONE;overflow:hidden\" data-skip-in-text=\"true\">Old<div> \xc2\xa0</div></div>",
        "<span class=\"a>b\" style=\"color:#fff; max-height: 0\">Old <b>one</b><br /></span>",
        "<p style=\"visibility:hidden\">Old</p>",
        "<p style=\"opacity:0\">Old</p>",
    };
    for (size_t i = 0; i < ARRAY_COUNT(preheaders); i++) {
        const char *body = arena_printf(
            arena, "<!--[if mso]><p>%0200d</p><![endif]--><table><tr><td>%s<p>Text</p></td></tr></table>", 0, preheaders[i]);
        const char *expected = arena_printf(
            arena, "<!--[if mso]><p>%0200d</p><![endif]--><table><tr><td><p>Text</p></td></tr></table></body></html>", 0);
        assert_string_equal(behind_preview(body), expected);
    }
    /* The tags of templates stay in pairs. */
    assert_string_equal(behind_preview("<p style=\"display:none\">{% if a %}Old {{ b }}{% endif %}</p>Text"),
                        "{% if a %}{% endif %}Text</body></html>");
}

static void test_preview_leaves_the_rest(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "Text",
        "<p style=\"opacity:0.5;max-height:0.5px\">Text</p>",
        "<p data-style=\"display:none\">Text</p>",
        "<div style=\"display:none\" class=\"phone\"><a href=\"https://example.com/\">Menu</a></div><p>Text</p>",
        "<img style=\"display:none\" src=\"https://example.com/a.png\" /><p>Text</p>",
        "<!-- <p style=\"display:none\">a</p> --><p>Text</p>",
        "<p style=\"display:none\">It does not end",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++)
        assert_string_equal(behind_preview(bodies[i]), arena_printf(arena, "%s</body></html>", bodies[i]));
    /* Behind visible text a hidden element is not a preheader. */
    const char *late = arena_printf(arena, "<p>%0121d</p><p style=\"display:none\">Variant</p>", 0);
    assert_string_equal(behind_preview(late), arena_printf(arena, "%s</body></html>", late));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_prepare_compiles_and_collects_paths),
        TEST(test_prepare_names_the_place_of_a_fault),
        TEST(test_prepare_refuses_another_shape),
        TEST(test_titles),
        TEST(test_groups),
        TEST(test_lists_walk_newest_first),
        TEST(test_edits_move_a_row_by_update_only),
        TEST(test_list_filters),
        TEST(test_versions),
        TEST(test_preview_goes_behind_the_body_tag),
        TEST(test_preview_replaces_that_of_the_design),
        TEST(test_preview_leaves_the_rest),
    };
    return cmocka_run_group_tests_name("engine_emails", tests, world_begin, world_end);
}
