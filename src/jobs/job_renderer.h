/*
 * Job renderer: the renderer as the organization of a job uses it.
 */
#pragma once

#include "jobs/jobs.h"
#include "render/renderer.h"

static inline struct renderer_caller job_renderer(const struct job *job)
{
    return renderer_for(job->services->renderer, job->work.organization_id);
}
