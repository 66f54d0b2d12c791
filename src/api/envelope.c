/* Error envelope and request ids. */
#include "api/call.h"
#include "base/text.h"
#include "crypto/keys.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>

enum { DOCS_MAX_BYTES = 512 };

/* Where the page `errors` is published. */
static const char *_Atomic docs_url = POSTHORN_DOCS_URL;

void api_set_docs_url(const char *url)
{
    atomic_store_explicit(&docs_url, url, memory_order_release);
}

void api_write_error(struct json_writer *json, const struct error *err)
{
    api_write_error_for(json, err, error_info(err->code)->suggestion);
}

void api_write_error_for(struct json_writer *json, const struct error *err, const char *otherwise)
{
    const struct error_info *info = error_info(err->code);
    json_object_begin(json);
    json_key(json, "error");
    json_object_begin(json);
    json_member_text(json, "code", info->name);
    json_member_text(json, "type", info->type);
    json_member_text(json, "message", err->message);
    if (err->param[0] != '\0')
        json_member_text(json, "param", err->param);
    json_member_text(json, "suggestion", err->suggestion[0] != '\0' ? err->suggestion : otherwise);
    json_key(json, "docs");
    BUF_SCOPE docs;
    buf_init(&docs, DOCS_MAX_BYTES);
    buf_printf(&docs, "%s/errors#%s", atomic_load_explicit(&docs_url, memory_order_acquire), info->name);
    json_text(json, buf_text(&docs));
    if (err->retry_after_s > 0)
        json_member_int(json, "retryAfter", err->retry_after_s);
    if (err->details_json != NULL)
        json_member_raw(json, "details", err->details_json);
    json_object_end(json);
    json_object_end(json);
}

static const char *suggestion_of_code(enum error_code code, bool (*sees)(const void *who, const char *tool), const void *who)
{
    const struct error_info *info = error_info(code);
    bool sees_all = true;
    for (const char *const *tool = info->suggested_tools; sees != NULL && *tool != NULL; tool++)
        sees_all = sees_all && sees(who, *tool);
    return sees_all ? info->tool_suggestion : info->plain_suggestion;
}

const char *api_tool_suggestion(struct arena *arena, const struct error *err, bool (*sees)(const void *who, const char *tool),
                                const void *who)
{
    const char *words = suggestion_of_code(err->advice[0] != ERR_NONE ? err->advice[0] : err->code, sees, who);
    if (err->advice[1] == ERR_NONE)
        return words;
    return arena_printf(arena, "%s %s", words, suggestion_of_code(err->advice[1], sees, who));
}

/* An id is a keyed hash of a counter: unguessable and unique like a random one, without a system call each. */
static unsigned char id_key[crypto_shorthash_siphashx24_KEYBYTES];
static _Atomic uint64_t id_counter;
static pthread_once_t id_once = PTHREAD_ONCE_INIT;

static void make_id_key(void)
{
    random_bytes(id_key, sizeof(id_key));
}

char *api_request_id(struct arena *arena)
{
    pthread_once(&id_once, make_id_key);
    uint64_t count = atomic_fetch_add_explicit(&id_counter, 1, memory_order_relaxed);
    unsigned char bytes[crypto_shorthash_siphashx24_BYTES];
    crypto_shorthash_siphashx24(bytes, (const unsigned char *)&count, sizeof(count), id_key);

    static const char prefix[] = "req_";
    char *text = arena_alloc(arena, sizeof(prefix) + 2 * sizeof(bytes));
    memcpy(text, prefix, sizeof(prefix) - 1);
    hex_encode(bytes, sizeof(bytes), text + sizeof(prefix) - 1);
    return text;
}
