#include "models/models.h"

#include "base/panic.h"
#include "base/text.h"
#include "models/config_text.h"
#include "models/provider.h"

#include <stdlib.h>

static bool check_provider(const struct model_config *config, const struct provider *provider, struct error *err)
{
    if (provider == NULL)
        return fail(err, ERR_INVALID_REQUEST, "--model", "--model is anthropic, openai or compatible.");
    if (config->url == NULL && provider->url == NULL)
        return fail(err, ERR_INVALID_REQUEST, "--model-url", "--model compatible needs the address of its server: --model-url.");
    if (config->key == NULL && provider->needs_key)
        return fail(err, ERR_INVALID_REQUEST, "--model-key-file",
                    "--model %s needs a key: --model-key-file, POSTHORN_MODEL_KEY or posthorn admin model set.", provider->name);
    return true;
}

static bool check_texts(const struct model_config *config, struct error *err)
{
    if (config->name == NULL || !text_is_word(config->name, MODEL_NAME_MAX_CHARS))
        return fail(err, ERR_INVALID_REQUEST, "--model-name", "--model-name needs the provider's name of the model.");
    if (config->key != NULL && !text_is_word(config->key, MODEL_KEY_MAX_BYTES))
        return fail(err, ERR_INVALID_REQUEST, "--model-key", "The key of the model must be one word of printable ASCII.");
    return true;
}

static struct model *model_of(const struct model_config *config, const struct provider *provider)
{
    struct model *model = calloc(1, sizeof(*model));
    if (model == NULL)
        panic(PANIC_NO_MEMORY);
    model->provider = provider;
    model->url = config_url(config->url != NULL ? config->url : provider->url, provider->path);
    model->name = config_joined(config->name, "", "");
    model->engine = config_joined(provider->name, "/", config->name);
    model->total_ms = config->total_ms > 0 ? config->total_ms : MODEL_TOTAL_MS;
    if (config->key != NULL)
        model->key_header = config_joined(provider->key_header, config->key, "");
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
    config_free_secret(model->key_header);
    free(model->url);
    free(model->name);
    free(model->engine);
    free(model);
}

const char *model_engine(const struct model *model)
{
    return model->engine;
}
