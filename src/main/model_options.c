#include "main/model_options.h"

#include "base/text.h"
#include "engine/core/installation.h"
#include "engine/secrets/model_keys.h"
#include "models/embeddings.h"
#include "models/models.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert((int)EMBEDDINGS_KEY_MAX_BYTES == (int)MODEL_KEY_MAX_BYTES, "both keys are read alike");

const char *design_engine_of_options(struct arena *arena, const struct options *options)
{
    bool is_named = options->model != NULL && options->model_name != NULL;
    return is_named ? arena_printf(arena, "%s/%s", options->model, options->model_name) : "composer";
}

/* ---- Keys ---- */

/* Where an option has a key. */
struct key_source {
    const char *option; /* that names the file */
    const char *path;   /* NULL: none */
    const char *key;    /* of the variable; NULL: none */
    const char *server; /* that gets the key; NULL: none */
    struct installation *installation;
};

static bool refuse_key_file(const struct key_source *source, const char *message, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, source->option, "The file of %s %s.", source->option, message);
}

static bool read_key(struct arena *arena, const struct key_source *source, FILE *file, const char **ret_key, struct error *err)
{
    char *bytes = arena_alloc(arena, MODEL_KEY_MAX_BYTES + 2);
    size_t size = fread(bytes, 1, MODEL_KEY_MAX_BYTES + 1, file);
    bytes[size] = '\0';
    if (ferror(file) || strlen(bytes) != size)
        return refuse_key_file(source, "could not be read as a text", err);
    *ret_key = text_trim(arena, bytes);
    explicit_bzero(bytes, size);
    return **ret_key != '\0' || refuse_key_file(source, "is empty", err);
}

/* The key that the installation has sealed for the server; NULL: none. */
static bool find_sealed_key(struct arena *arena, const struct key_source *source, const char **ret_key, struct error *err)
{
    DB_CONN_SCOPE conn = NULL;
    if (!installation_connect(source->installation, &conn, err))
        return false;
    struct work work = { .engine = installation_engine(source->installation), .arena = arena, .conn = conn };
    return model_key_find(&work, arena, source->server, ret_key, err);
}

/* The key of the file; else that of the variable; else the sealed one. */
static bool find_key(struct arena *arena, const struct key_source *source, const char **ret_key, struct error *err)
{
    *ret_key = source->key;
    if (source->path == NULL)
        return source->key != NULL || source->server == NULL || find_sealed_key(arena, source, ret_key, err);
    FILE *file = fopen(source->path, "re");
    if (file == NULL)
        return refuse_key_file(source, "could not be opened", err);
    bool is_read = read_key(arena, source, file, ret_key, err);
    (void)fclose(file);
    return is_read;
}

/* ---- Models ---- */

bool model_of_options(struct installation *installation, const struct options *options, struct model **ret_model, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct key_source source = {
        .option = "--model-key-file",
        .path = options->model_key_file,
        .key = options->model_key,
        .server = options->model != NULL && options->model_url != NULL ? options->model_url : options->model,
        .installation = installation,
    };
    struct model_config config = { .provider = options->model, .url = options->model_url, .name = options->model_name };
    return find_key(arena, &source, &config.key, err) && model_new(&config, ret_model, err);
}

bool embeddings_of_options(struct installation *installation, const struct options *options, struct embeddings **ret_embeddings,
                           struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct key_source source = {
        .option = "--embeddings-key-file",
        .path = options->embeddings_key_file,
        .key = options->embeddings_key,
        .server = options->embeddings,
        .installation = installation,
    };
    struct embeddings_config config = { .provider = options->embeddings, .name = options->embeddings_model };
    return find_key(arena, &source, &config.key, err) && embeddings_new(&config, ret_embeddings, err);
}
