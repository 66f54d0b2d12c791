#include "models/models.h"

#include "base/panic.h"
#include "base/text.h"
#include "models/endpoint.h"
#include "models/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Printable ASCII without spaces: the text goes into a header or an address. */
static bool is_printable(const char *text, size_t max_bytes)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return size > 0 && size <= max_bytes;
}

static bool check_provider(const struct model_config *config, const struct provider *provider, struct error *err)
{
    if (provider == NULL)
        return fail(err, ERR_INVALID_REQUEST, "--model", "--model is anthropic, openai or compatible.");
    if (config->url == NULL && provider->url == NULL)
        return fail(err, ERR_INVALID_REQUEST, "--model-url", "--model compatible needs the address of its server: --model-url.");
    if (config->key == NULL && provider->needs_key)
        return fail(err, ERR_INVALID_REQUEST, "--model-key-file", "--model %s needs a key: --model-key-file or POSTHORN_MODEL_KEY.",
                    provider->name);
    return true;
}

static bool check_texts(const struct model_config *config, struct error *err)
{
    if (config->name == NULL || !is_printable(config->name, MODEL_NAME_MAX_CHARS))
        return fail(err, ERR_INVALID_REQUEST, "--model-name", "--model-name needs the provider's name of the model.");
    if (config->key != NULL && !is_printable(config->key, MODEL_KEY_MAX_BYTES))
        return fail(err, ERR_INVALID_REQUEST, "--model-key", "The key of the model must be one word of printable ASCII.");
    return true;
}

static char *joined(const char *first, const char *second, const char *third)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", first, second, third) < 0)
        panic(PANIC_NO_MEMORY);
    return text;
}

static char *base_url(const char *url)
{
    size_t size = strlen(url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    char *base = strndup(url, size);
    if (base == NULL)
        panic(PANIC_NO_MEMORY);
    return base;
}

static struct model *model_of(const struct model_config *config, const struct provider *provider)
{
    struct model *model = calloc(1, sizeof(*model));
    if (model == NULL)
        panic(PANIC_NO_MEMORY);
    char *base = base_url(config->url != NULL ? config->url : provider->url);
    model->provider = provider;
    model->url = joined(base, provider->path, "");
    model->name = joined(config->name, "", "");
    model->engine = joined(provider->name, "/", config->name);
    model->total_ms = config->total_ms > 0 ? config->total_ms : MODEL_TOTAL_MS;
    if (config->key != NULL)
        model->key_header = joined(provider->key_header, config->key, "");
    free(base);
    return model;
}

bool model_new(const struct model_config *config, struct model **ret_model, struct error *err)
{
    *ret_model = NULL;
    bool has_more = config->url != NULL || config->name != NULL;
    if (config->provider == NULL)
        return !has_more || fail(err, ERR_INVALID_REQUEST, "--model", "--model-url and --model-name need --model.");
    const struct provider *provider = provider_find(config->provider);
    if (!check_provider(config, provider, err) || !check_texts(config, err))
        return false;
    *ret_model = model_of(config, provider);
    return true;
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    if (model->key_header != NULL)
        explicit_bzero(model->key_header, strlen(model->key_header));
    free(model->key_header);
    free(model->url);
    free(model->name);
    free(model->engine);
    free(model);
}

const char *model_engine(const struct model *model)
{
    return model->engine;
}
