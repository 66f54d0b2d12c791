#include "model.h"

#include "source_lines.h"

#include <stdlib.h>
#include <string.h>

static const char file_name[] = "schemas/jobs.json";

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (items == NULL) {
        perror("catalogue");
        exit(1);
    }
    return items;
}

static void read_members(struct job_decl *job)
{
    json_t *payload = json_object_get(job->json, "payload");
    job->members = zeroed(json_object_size(payload), sizeof(*job->members));
    const char *name;
    json_t *declared;
    json_object_foreach(payload, name, declared) {
        job->members[job->member_count++] = (struct payload_decl){
            .json = declared,
            .where = text("%s.%s", job->where, name),
            .name = name,
            .c_name = snake_case(name),
        };
    }
}

void read_jobs(struct catalogue *all, json_t *file)
{
    all->jobs = zeroed(json_array_size(file), sizeof(*all->jobs));
    size_t i;
    json_t *declared;
    json_array_foreach(file, i, declared) {
        const char *name = member_text(declared, "name");
        const char *place = text("%s:%d", file_name, line_of_item(all, file_name, i));
        if (name == NULL) {
            problem(place, "a job has no name");
            continue;
        }
        struct job_decl *job = &all->jobs[all->job_count++];
        job->json = declared;
        job->where = text("%s: %s", place, name);
        job->name = name;
        read_members(job);
    }
}

const struct job_decl *find_job(const struct catalogue *all, const char *name)
{
    for (size_t i = 0; i < all->job_count; i++) {
        if (strcmp(all->jobs[i].name, name) == 0) {
            return &all->jobs[i];
        }
    }
    return NULL;
}
