#include "main/program_files.h"

#include "db/cluster_process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program; "." when /proc does not show it. */
static const char *program_folder(struct arena *arena)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
    const char *slash = size > 0 && (size_t)size < sizeof(path) ? memrchr(path, '/', (size_t)size) : NULL;
    return slash != NULL ? arena_dup_bytes(arena, path, (size_t)(slash - path)) : ".";
}

static void free_path(char **path)
{
    free(*path);
}

/* The path of a part, without symbolic links. NULL: the part is in neither tree. */
static const char *find_part(struct arena *arena, const char *folder, const char *name)
{
    /* The installed tree; the build tree, where CMake made links. */
    static const char *const parts_folders[] = { POSTHORN_PARTS_FROM_BIN, "libexec" };
    for (size_t i = 0; i < ARRAY_COUNT(parts_folders); i++) {
        CLEANUP(free_path) char *path = realpath(arena_printf(arena, "%s/%s/%s", folder, parts_folders[i], name), NULL);
        if (path != NULL)
            return arena_dup(arena, path);
    }
    return NULL;
}

void program_files_find(struct arena *arena, const struct options *options, struct program_files *ret_files)
{
    const char *folder = program_folder(arena);
    const char *installed_node = options->node == NULL ? find_part(arena, folder, "node") : NULL;
    const char *other_node = options->node != NULL ? options->node : "node";
    const char *renderer = options->render_dir != NULL ? options->render_dir : find_part(arena, folder, "renderer");
    const char *image_program = find_part(arena, folder, "posthorn-image");
    if (renderer == NULL)
        renderer = arena_printf(arena, "%s/" POSTHORN_PARTS_FROM_BIN "/renderer", folder);
    *ret_files = (struct program_files){
        .node = installed_node != NULL ? installed_node : other_node,
        .renderer_script = arena_printf(arena, "%s/main.mjs", renderer),
        .image_program = image_program != NULL ? image_program : arena_printf(arena, "%s/posthorn-image", folder),
        .node_is_installed = installed_node != NULL,
    };
}

/* "v22.12.0" as 22012000; 0 when it is no version. */
static long version_number(const char *text)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    if (sscanf(text, "%*[v>=]%d.%d.%d", &major, &minor, &patch) < 1)
        return 0;
    return major * 1000000L + minor * 1000L + patch;
}

static const char *node_problem(struct arena *arena, const char *node)
{
    const char *const argv[] = { node, "--version", NULL };
    char *version;
    if (!process_output(arena, argv, &version))
        return arena_printf(arena, "Node.js was not found: %s does not run. Install Node.js %s, or name one with --node.", node,
                            POSTHORN_NODE_VERSION);
    version[strcspn(version, "\n")] = '\0';
    if (version_number(version) >= version_number(POSTHORN_NODE_VERSION))
        return NULL;
    return arena_printf(arena, "%s is Node.js %s, and the renderer needs %s. Name another one with --node.", node, version,
                        POSTHORN_NODE_VERSION);
}

const char *program_files_missing(struct arena *arena, const struct program_files *files)
{
    if (access(files->renderer_script, R_OK) != 0)
        return arena_printf(arena,
                            "The renderer was not found: %s cannot be read. Install Posthorn with cmake --install, or name the "
                            "renderer's folder with --render-dir.",
                            files->renderer_script);
    bool is_path = strchr(files->node, '/') != NULL;
    return is_path && access(files->node, X_OK) == 0 ? NULL : node_problem(arena, files->node);
}

const char *program_files_problem(struct arena *arena, const struct program_files *files)
{
    const char *missing = program_files_missing(arena, files);
    return missing != NULL || files->node_is_installed ? missing : node_problem(arena, files->node);
}
