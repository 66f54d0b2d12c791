#include "lint.h"
#include "payloads.h"

#include <ctype.h>

enum { PAYLOAD_MAX_BYTES = 16 * 1024 * 1024 };

/* Names of C functions and constants are made of it. */
static bool is_job_name(const char *name)
{
    bool good = islower((unsigned char)name[0]);
    for (const char *p = name; *p != '\0'; p++) {
        good = good && (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_');
    }
    return good;
}

static void lint_default(const struct payload_decl *member)
{
    const json_t *value = json_object_get(member->json, "default");
    if (value == NULL) {
        return;
    }
    const char *type = member_text(member->json, "type");
    bool fits = payload_may_default(member) && ((type[0] == 's' && json_is_string(value)) ||
                                                (type[0] == 'i' && json_is_integer(value)) ||
                                                (type[0] == 'b' && json_is_boolean(value)));
    if (!fits) {
        problem(member->where, "cannot have this default");
    }
    if (member_true(member->json, "optional")) {
        problem(member->where, "is optional and has a default; one of them is enough");
    }
}

static void lint_member(const struct payload_decl *member)
{
    static const char *const known[] = { "type=s", "items=o", "free=b", "optional=b", "default=sib", "description=s", NULL };
    lint_members(member->json, known, member->where);
    lint_text(member->json, "description", member->where);
    if (payload_type_of(member).kind == NULL) {
        const char *type = member_text(member->json, "type");
        problem(member->where, "has the unknown type %s; a payload has integer, boolean, string, array of string, free array",
                type != NULL ? type : "(none)");
    }
    if (!is_camel_case(member->name)) {
        problem(member->where, "is not camelCase");
    }
    if (is_c_keyword(member->c_name)) {
        problem(member->where, "is a word of C");
    }
    lint_default(member);
}

static void lint_job(const struct catalogue *all, const struct job_decl *job)
{
    static const char *const known[] = { "name=s", "summary=s", "maxBytes=i", "network=b", "quality=b", "payload=o", NULL };
    lint_members(job->json, known, job->where);
    lint_text(job->json, "summary", job->where);
    if (!is_job_name(job->name)) {
        problem(job->where, "name must be lower-case words joined by _");
    }
    if (member_true(job->json, "network") && member_true(job->json, "quality")) {
        problem(job->where, "has the workers of network or those of quality");
    }
    if (find_job(all, job->name) != job) {
        problem(job->where, "declared twice");
    }
    double bytes = member_number(job->json, "maxBytes", 0);
    if (bytes < 1 || bytes > PAYLOAD_MAX_BYTES) {
        problem(job->where, "needs maxBytes, at most %d", PAYLOAD_MAX_BYTES);
    }
    if (json_object_get(job->json, "payload") == NULL) {
        problem(job->where, "has no payload");
    }
    for (size_t i = 0; i < job->member_count; i++) {
        lint_member(&job->members[i]);
    }
}

void lint_jobs(const struct catalogue *all)
{
    for (size_t i = 0; i < all->job_count; i++) {
        lint_job(all, &all->jobs[i]);
    }
}
