#include "models/embeddings.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/panic.h"
#include "base/text.h"
#include "models/config_text.h"
#include "models/endpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 200,
    REQUEST_MAX_BYTES = 512 * 1024,
    ANSWER_MAX_BYTES = 8 * 1024 * 1024,
    DIMENSIONS_MIN = 2,
};

struct embeddings {
    char *url; /* with the path */
    char *name;
    char *key_header; /* NULL: no key */
    char *engine;
};

/* ---- Configuration ---- */

static const char openai_url[] = "https://api.openai.com/v1";

static bool is_openai(const char *provider)
{
    return strcmp(provider, "openai") == 0;
}

static bool is_address(const char *text)
{
    return (text_starts_with(text, "http://") || text_starts_with(text, "https://")) &&
           text_is_word(text, ENDPOINT_URL_MAX_BYTES - sizeof("/embeddings"));
}

static bool check_config(const struct embeddings_config *config, struct error *err)
{
    if (!is_openai(config->provider) && !is_address(config->provider))
        return fail(err, ERR_INVALID_REQUEST, "--embeddings", "--embeddings is openai or the base address of a server.");
    if (config->name == NULL || !text_is_word(config->name, NAME_MAX_BYTES))
        return fail(err, ERR_INVALID_REQUEST, "--embeddings-model",
                    "--embeddings-model needs the provider's name of the embedding model.");
    if (config->key == NULL && is_openai(config->provider))
        return fail(err, ERR_INVALID_REQUEST, "--embeddings-key-file",
                    "--embeddings openai needs a key: --embeddings-key-file, POSTHORN_EMBEDDINGS_KEY or posthorn admin model set.");
    if (config->key != NULL && !text_is_word(config->key, EMBEDDINGS_KEY_MAX_BYTES))
        return fail(err, ERR_INVALID_REQUEST, "--embeddings-key",
                    "The key of the embedding model must be one word of printable ASCII.");
    return true;
}

bool embeddings_new(const struct embeddings_config *config, struct embeddings **ret_embeddings, struct error *err)
{
    *ret_embeddings = NULL;
    if (config->provider == NULL)
        return config->name == NULL || fail(err, ERR_INVALID_REQUEST, "--embeddings", "--embeddings-model needs --embeddings.");
    if (!check_config(config, err))
        return false;
    struct embeddings *embeddings = calloc(1, sizeof(*embeddings));
    if (embeddings == NULL)
        panic(PANIC_NO_MEMORY);
    embeddings->url = config_url(is_openai(config->provider) ? openai_url : config->provider, "/embeddings");
    embeddings->name = config_joined(config->name, "", "");
    embeddings->engine = config_joined(is_openai(config->provider) ? "openai" : "compatible", "/", config->name);
    if (config->key != NULL)
        embeddings->key_header = config_joined("authorization: Bearer ", config->key, "");
    *ret_embeddings = embeddings;
    return true;
}

void embeddings_free(struct embeddings *embeddings)
{
    if (embeddings == NULL)
        return;
    config_free_secret(embeddings->key_header);
    free(embeddings->url);
    free(embeddings->name);
    free(embeddings->engine);
    free(embeddings);
}

const char *embeddings_engine(const struct embeddings *embeddings)
{
    return embeddings->engine;
}

/* ---- The request ---- */

/* A text without what would be cut in the middle of a character. */
static const char *cut_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text);
    if (size <= EMBEDDINGS_TEXT_MAX_BYTES)
        return text;
    size = EMBEDDINGS_TEXT_MAX_BYTES;
    while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
        size--;
    return arena_dup_bytes(arena, text, size);
}

static const char *write_request(struct arena *arena, const struct embeddings *embeddings, struct text_list texts)
{
    struct buf *out = buf_in_arena(arena, REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "model", embeddings->name);
    json_member_text(&json, "encoding_format", "float");
    json_key(&json, "input");
    json_array_begin(&json);
    for (size_t i = 0; i < texts.count; i++)
        json_text(&json, cut_text(arena, texts.items[i]));
    json_array_end(&json);
    json_object_end(&json);
    return buf_text(out);
}

static bool post(struct arena *arena, const struct embeddings *embeddings, const char *body, int64_t total_ms,
                 struct endpoint_answer *ret_answer, struct error *err)
{
    const char *const headers[] = { embeddings->key_header, NULL };
    struct endpoint_request request = {
        .url = embeddings->url,
        .headers = headers,
        .body = body,
        .until_us = clock_monotonic_us() + total_ms * US_PER_MS,
        .max_bytes = ANSWER_MAX_BYTES,
    };
    if (!endpoint_post(arena, &request, ret_answer, err))
        return false;
    if (ret_answer->status == 200)
        return true;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The embedding model answered %d.", ret_answer->status);
}

/* ---- The answer ---- */

/* The number of a vector that is the farthest from 0; 0 when there is none, or one is not a finite number. */
static double largest_number(const json_t *numbers)
{
    double largest = 0;
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        const json_t *number = json_array_get(numbers, i);
        double size = fabs(json_number_value(number));
        if (!json_is_number(number) || !isfinite(size))
            return 0;
        largest = fmax(largest, size);
    }
    return largest;
}

/* Reads one vector and makes it of length one. It is first divided by its largest number, whose square may be out of range. */
static bool read_vector(const json_t *numbers, size_t dimensions, float *vector)
{
    double largest = largest_number(numbers);
    double square = 0;
    if (json_array_size(numbers) != dimensions || largest <= 0)
        return false;
    for (size_t i = 0; i < dimensions; i++) {
        double value = json_number_value(json_array_get(numbers, i)) / largest;
        vector[i] = (float)value;
        square += value * value;
    }
    for (size_t i = 0; i < dimensions; i++)
        vector[i] = (float)(vector[i] / sqrt(square));
    return true;
}

/* Each entry has the place of its text. A server that leaves it out keeps the order. */
static bool read_entries(const json_t *data, size_t count, size_t dimensions, float *vectors, bool *seen)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(data, i);
        int64_t place = json_get_int(entry, "index", (int64_t)i);
        if (place < 0 || (size_t)place >= count || seen[place])
            return false;
        seen[place] = true;
        if (!read_vector(json_object_get(entry, "embedding"), dimensions, vectors + (size_t)place * dimensions))
            return false;
    }
    return true;
}

static bool read_answer(struct arena *arena, const json_t *json, size_t count, struct embedded_texts *embedded)
{
    const json_t *data = json_object_get(json, "data");
    const json_t *tokens = json_object_get(json_object_get(json, "usage"), "prompt_tokens");
    size_t dimensions = json_array_size(json_object_get(json_array_get(data, 0), "embedding"));
    if (json_array_size(data) != count || dimensions < DIMENSIONS_MIN || dimensions > EMBEDDINGS_DIMENSIONS_MAX)
        return false;
    float *vectors = arena_array(arena, count * dimensions, sizeof(*vectors));
    bool *seen = arena_array(arena, count, sizeof(*seen));
    *embedded = (struct embedded_texts){ .vectors = vectors, .count = count, .dimensions = dimensions };
    if (json_is_integer(tokens) && json_integer_value(tokens) >= 0)
        embedded->tokens_in = (struct opt_int){ true, json_integer_value(tokens) };
    return read_entries(data, count, dimensions, vectors, seen);
}

bool embeddings_make(struct arena *arena, const struct embeddings *embeddings, struct text_list texts, int64_t total_ms,
                     struct embedded_texts *ret_embedded, struct error *err)
{
    struct endpoint_answer answer;
    if (!post(arena, embeddings, write_request(arena, embeddings, texts), total_ms, &answer, err))
        return false;
    return read_answer(arena, answer.json, texts.count, ret_embedded) ||
           fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The embedding model gave no vectors for the texts.");
}
