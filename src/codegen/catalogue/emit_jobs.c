#include "payloads.h"

#include <string.h>

/* ---- jobs.h: the enum, the payloads, their encoders and decoders ---- */

static void put_payload(struct output *out, const struct job_decl *job)
{
    put(out, "/* ---- %s: %s ---- */\n\nstruct %s_payload {\n", job->name, member_text(job->json, "summary"), job->name);
    for (size_t i = 0; i < job->member_count; i++) {
        const struct payload_decl *member = &job->members[i];
        struct payload_type type = payload_type_of(member);
        bool optional = member_true(member->json, "optional");
        put(out, "    %s%s; /* %s%s */\n", optional ? type.c_type_optional : type.c_type, member->c_name,
            optional ? "Optional. " : "", member_text(member->json, "description"));
    }
    put(out, job->member_count == 0 ? "    char no_members;\n};\n\n" : "};\n\n");
}

static void put_codec(struct output *out, const struct job_decl *job)
{
    const char *index = text("JOB_%s", upper_case(job->name));
    put(out,
        "/* A new job with this payload. */\n"
        "static inline struct new_job %s_job(struct arena *arena, const struct %s_payload *payload)\n{\n"
        "    return job_payload_encode(arena, &job_declarations[%s], payload);\n}\n\n",
        job->name, job->name, index);
    put(out,
        "/* The payload of a job's row. */\n"
        "static inline bool %s_payload_decode(struct arena *arena, const char *json, const struct %s_payload **ret_payload,\n"
        "                                     struct error *err)\n{\n"
        "    const void *payload;\n"
        "    bool ok = job_payload_decode(arena, &job_declarations[%s], json, &payload, err);\n"
        "    *ret_payload = ok ? payload : NULL;\n"
        "    return ok;\n}\n\n",
        job->name, job->name, index);
}

static void emit_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "jobs.h");
    put_origin(&out, "Jobs: their indices, their payloads and how they are enqueued.");
    put(&out, "#pragma once\n\n#include \"engine/core/job_payload.h\"\n\nenum job_index {\n");
    for (size_t i = 0; i < all->job_count; i++) {
        put(&out, "    JOB_%s,\n", upper_case(all->jobs[i].name));
    }
    put(&out, "    JOB_TYPE_COUNT,\n};\n\nextern const struct job_declaration job_declarations[];\n\n");
    for (size_t i = 0; i < all->job_count; i++) {
        put_payload(&out, &all->jobs[i]);
        put_codec(&out, &all->jobs[i]);
    }
    output_close(&out);
}

/* ---- jobs.c: the members of each payload ---- */

static void put_default(struct output *out, const json_t *value)
{
    if (value == NULL) {
        return;
    }
    put(out, ", .has_default = true");
    if (json_is_string(value)) {
        put(out, ", .default_text = ");
        put_c_string(out, json_string_value(value));
    } else {
        put(out, ", .default_number = %lld", json_is_true(value) ? 1 : (long long)json_integer_value(value));
    }
}

static void put_members(struct output *out, const struct job_decl *job)
{
    if (job->member_count == 0) {
        return;
    }
    put(out, "static const struct payload_member %s_members[] = {\n", job->name);
    for (size_t i = 0; i < job->member_count; i++) {
        const struct payload_decl *member = &job->members[i];
        put(out, "    { .name = \"%s\", .kind = %s, .offset = offsetof(struct %s_payload, %s)", member->name,
            payload_type_of(member).kind, job->name, member->c_name);
        put(out, member_true(member->json, "optional") ? ", .optional = true" : "");
        put_default(out, json_object_get(member->json, "default"));
        put(out, " },\n");
    }
    put(out, "};\n\n");
}

static const char *pool_of(const struct job_decl *job)
{
    if (member_true(job->json, "quality")) {
        return "quality";
    }
    return member_true(job->json, "network") ? "network" : "work";
}

static void emit_declarations(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "jobs.c");
    put_origin(&out, "The declared jobs and the members of their payloads.");
    put(&out, "#include \"catalogue/jobs.h\"\n\n#include <stddef.h>\n\n");
    for (size_t i = 0; i < all->job_count; i++) {
        put_members(&out, &all->jobs[i]);
    }
    put(&out, "const struct job_declaration job_declarations[] = {\n");
    for (size_t i = 0; i < all->job_count; i++) {
        const struct job_decl *job = &all->jobs[i];
        put(&out, "    [JOB_%s] = { .name = \"%s\", .payload_size = sizeof(struct %s_payload), .max_bytes = %.0f,\n",
            upper_case(job->name), job->name, job->name, member_number(job->json, "maxBytes", 0));
        put(&out, "      .members = %s, .member_count = %zu, .pool = \"%s\" },\n",
            job->member_count > 0 ? text("%s_members", job->name) : "NULL", job->member_count, pool_of(job));
    }
    put(&out, "};\n");
    output_close(&out);
}

/* ---- job_types.h and job_types.c: the implementations ---- */

static void emit_types_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "job_types.h");
    put_origin(&out, "The implementations that the declared jobs must have; a missing one is a link error.");
    put(&out, "#pragma once\n\n#include \"catalogue/jobs.h\"\n#include \"jobs/jobs.h\"\n\n");
    for (size_t i = 0; i < all->job_count; i++) {
        put(&out, "extern const struct job_type job_%s; /* %s */\n", all->jobs[i].name, member_text(all->jobs[i].json, "summary"));
    }
    put(&out, "\n/* By enum job_index. */\nextern const struct job_type *const job_types[];\n");
    output_close(&out);
}

static void emit_types(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "job_types.c");
    put_origin(&out, "The implementation of each declared job.");
    put(&out, "#include \"catalogue/job_types.h\"\n\nconst struct job_type *const job_types[] = {\n");
    for (size_t i = 0; i < all->job_count; i++) {
        put(&out, "    [JOB_%s] = &job_%s,\n", upper_case(all->jobs[i].name), all->jobs[i].name);
    }
    put(&out, "};\n");
    output_close(&out);
}

void emit_jobs(const struct catalogue *all, const char *folder)
{
    emit_header(all, folder);
    emit_declarations(all, folder);
    emit_types_header(all, folder);
    emit_types(all, folder);
}
