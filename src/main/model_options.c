#include "main/model_options.h"

#include "base/text.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>

const char *design_engine_of_options(struct arena *arena, const struct options *options)
{
    bool is_named = options->model != NULL && options->model_name != NULL;
    return is_named ? arena_printf(arena, "%s/%s", options->model, options->model_name) : "composer";
}

static bool refuse_key_file(struct error *err, const char *message)
{
    return fail(err, ERR_INVALID_REQUEST, "--model-key-file", "%s", message);
}

static bool read_key(struct arena *arena, FILE *file, const char **ret_key, struct error *err)
{
    char *bytes = arena_alloc(arena, MODEL_KEY_MAX_BYTES + 2);
    size_t size = fread(bytes, 1, MODEL_KEY_MAX_BYTES + 1, file);
    bytes[size] = '\0';
    if (ferror(file) || strlen(bytes) != size)
        return refuse_key_file(err, "The file of --model-key-file could not be read as a text.");
    *ret_key = text_trim(arena, bytes);
    explicit_bzero(bytes, size);
    return **ret_key != '\0' || refuse_key_file(err, "The file of --model-key-file is empty.");
}

/* The key of the file, which comes before the variable. */
static bool find_key(struct arena *arena, const struct options *options, const char **ret_key, struct error *err)
{
    *ret_key = options->model_key;
    if (options->model_key_file == NULL)
        return true;
    FILE *file = fopen(options->model_key_file, "re");
    if (file == NULL)
        return refuse_key_file(err, "The file of --model-key-file could not be opened.");
    bool is_read = read_key(arena, file, ret_key, err);
    (void)fclose(file);
    return is_read;
}

bool model_of_options(const struct options *options, struct model **ret_model, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct model_config config = { .provider = options->model, .url = options->model_url, .name = options->model_name };
    return find_key(arena, options, &config.key, err) && model_new(&config, ret_model, err);
}
