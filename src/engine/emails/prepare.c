#include "base/json_read.h"
#include "engine/emails/emails.h"
#include "engine/tracking/link_table.h"
#include "template/template.h"

#include <string.h>

static bool compile_content(struct arena *arena, enum template_kind kind, const char *source, struct template_links *links,
                            struct bytes *ret_code, struct error *err)
{
    if (template_compile_links(arena, kind, source, strlen(source), links, ret_code, err))
        return true;
    error_param_prefix(err, "content");
    return false;
}

static bool has_path(const char *const *paths, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

static size_t add_template_paths(const struct template *template, const char **paths, size_t count)
{
    for (size_t i = 0; i < template_path_count(template); i++) {
        const char *path = template_path(template, i);
        if (template_path_is_listed(template, i) && !has_path(paths, count, path))
            paths[count++] = path;
    }
    return count;
}

static bool collect_paths(struct arena *arena, struct email_content *content, struct error *err)
{
    struct template html;
    struct template text;
    if (!template_load(content->html_code, &html, err) || !template_load(content->text_code, &text, err))
        return false;
    const char **paths = arena_array(arena, template_path_count(&html) + template_path_count(&text) + 1, sizeof(*paths));
    size_t count = add_template_paths(&html, paths, 0);
    count = add_template_paths(&text, paths, count);
    content->paths = (struct text_list){ paths, count };
    return true;
}

bool email_compile(struct arena *arena, struct email_content *content, struct error *err)
{
    struct template_links links = { .count = 0 };
    if (!compile_content(arena, TEMPLATE_HTML, content->html, &links, &content->html_code, err) ||
        !compile_content(arena, TEMPLATE_TEXT, content->text, &links, &content->text_code, err))
        return false;
    content->link_table_json = link_table_write(arena, &links);
    return collect_paths(arena, content, err);
}

bool email_prepare(struct arena *arena, const json_t *prepared, struct email_content *ret_content, struct error *err)
{
    const json_t *links = json_object_get(prepared, "links");
    *ret_content = (struct email_content){
        .html = json_get_text(prepared, "html"),
        .text = json_get_text(prepared, "text"),
        .title = json_get_text(prepared, "title"),
        .preview_text = json_get_text(prepared, "previewText"),
        .report = json_object_get(prepared, "report"),
    };
    if (ret_content->html == NULL || ret_content->text == NULL || links == NULL || ret_content->report == NULL) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "The renderer returned an incomplete result.");
        return error_because(err, "prepare: html, text, links or report is missing");
    }
    if (ret_content->preview_text != NULL && ret_content->preview_text[0] == '\0')
        ret_content->preview_text = NULL;
    ret_content->links_json = json_compact(arena, links);
    return email_compile(arena, ret_content, err);
}

/* ---- Stored versions ---- */

/* The links of a version that cannot be compiled any more are not tracked. */
static bool number_links(const struct work *work, const struct email_unnumbered_row *version, struct error *err)
{
    struct email_content content = { .html = version->html, .text = version->plain_text };
    struct error ignored = { .code = ERR_NONE };
    struct email_set_links_params params = {
        .brand_id = work->brand_id,
        .id = version->id,
        .html_code = version->html_code,
        .text_code = version->text_code,
        .link_table = "[]",
    };
    if (email_compile(work->arena, &content, &ignored)) {
        params.html_code = content.html_code;
        params.text_code = content.text_code;
        params.link_table = content.link_table_json;
    }
    return sql_email_set_links(work->conn, work->arena, &params, NULL, err);
}

bool email_number_links(const struct work *work, size_t *ret_numbered, int64_t *ret_left, struct error *err)
{
    struct email_unnumbered_params params = { .brand_id = work->brand_id, .limit = EMAIL_NUMBERED_A_ROUND };
    struct email_unnumbered_row *versions;
    struct email_unnumbered_left_params left = { .brand_id = work->brand_id };
    struct email_unnumbered_left_row *row;
    if (!sql_email_unnumbered(work->conn, work->arena, &params, &versions, ret_numbered, err))
        return false;
    for (size_t i = 0; i < *ret_numbered; i++)
        if (!number_links(work, &versions[i], err))
            return false;
    if (!sql_email_unnumbered_left(work->conn, work->arena, &left, &row, err))
        return false;
    *ret_left = row->count;
    return true;
}
