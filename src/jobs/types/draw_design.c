#include "jobs/types/draw_design.h"

#include "base/json_read.h"
#include "designer/sources.h"
#include "designer/theme.h"
#include "jobs/job_renderer.h"

static const char *look_of(struct arena *arena, const struct email_edit_source *source, const json_t *document)
{
    const json_t *brand = source->email_design != NULL ? theme_read_design(arena, source->email_design) : NULL;
    return json_compact(arena, theme_look(arena, json_object_get(document, "theme"), brand));
}

static const char *brand_of(struct arena *arena, const struct email_edit_source *source)
{
    return json_compact(arena,
                        json_in_arena(arena, json_pack("{ss* ss*}", "locale", source->locale, "timeZone", source->time_zone)));
}

/* Compiles the templates before and after the pictures, which are the slowest part, have other addresses. */
static bool host_pictures(struct job *job, const json_t *prepared, const char *public_url, struct drawn_design *drawn,
                          struct error *err)
{
    struct imported_assets *images = &drawn->images;
    if (!import_assets(job, public_url, prepared, images, err))
        return false;
    if (images->prepared == prepared)
        return true;
    drawn->document = document_with_sources(job->work.arena, drawn->document, images->addresses);
    return email_prepare(job->work.arena, images->prepared, &drawn->content, err);
}

bool draw_design(struct job *job, const struct email_edit_source *source, const json_t *document, const char *public_url,
                 const char *param, struct drawn_design *ret_drawn, struct error *err)
{
    struct arena *arena = job->work.arena;
    const json_t *prepared;
    *ret_drawn = (struct drawn_design){ .document = document };
    if (job_renew(job, err) &&
        renderer_draw_document(job_renderer(job), arena, json_compact(arena, document), look_of(arena, source, document),
                               brand_of(arena, source), &prepared, err) &&
        email_prepare(arena, prepared, &ret_drawn->content, err) && host_pictures(job, prepared, public_url, ret_drawn, err)) {
        ret_drawn->content.images = ret_drawn->images.report;
        return true;
    }
    if (err->param[0] != '\0')
        error_set_param(err, "%s", param);
    return false;
}
