#include "engine/domains/records.h"

#include "base/text.h"
#include "sql/domain_keys.h"

#include <string.h>

enum { SUGGESTIONS = 4 };

static const char *key_value(struct arena *arena, const struct domain_keys_published_row *key)
{
    const char *kind = strcmp(key->algorithm, "ed25519-sha256") == 0 ? "ed25519" : "rsa";
    return arena_printf(arena, "v=DKIM1; k=%s; p=%s", kind, base64_encode(arena, key->public_key.data, key->public_key.size));
}

static void suggest(struct arena *arena, const char *domain, struct domain_record ret_records[SUGGESTIONS])
{
    const char *bounce = arena_printf(arena, "bounce.%s", domain);
    ret_records[0] = (struct domain_record){
        "spf",
        "suggested",
        domain,
        "TXT",
        "v=spf1 include:<YOUR-RELAY> ~all",
        "Put what your relay asks for in place of <YOUR-RELAY>, and keep what the record has already: a name has one SPF record.",
    };
    ret_records[1] = (struct domain_record){
        "dmarc",
        "suggested",
        arena_printf(arena, "_dmarc.%s", domain),
        "TXT",
        arena_printf(arena, "v=DMARC1; p=none; rua=mailto:dmarc-reports@%s", domain),
        "Receivers of bulk mail want a policy of at least none; raise it to quarantine when the reports show only your own mail.",
    };
    ret_records[2] = (struct domain_record){
        "bounce",
        "suggested",
        bounce,
        "MX",
        "10 <HOST-THAT-RECEIVES-BOUNCES>",
        "For a return path of its own, once bounces are received here.",
    };
    ret_records[3] = (struct domain_record){
        "bounce", "suggested", bounce, "TXT", "v=spf1 include:<YOUR-RELAY> -all", "The SPF record of that return path.",
    };
}

bool domain_records_list(const struct work *work, int64_t domain_id, const char *domain, struct domain_records *ret_records,
                         struct error *err)
{
    struct domain_keys_published_params params = { .brand_id = work->brand_id, .domain_id = domain_id };
    struct domain_keys_published_row *keys;
    size_t count;
    if (!sql_domain_keys_published(work->conn, work->arena, &params, &keys, &count, err))
        return false;
    struct domain_record *records = arena_array(work->arena, count + SUGGESTIONS, sizeof(*records));
    for (size_t i = 0; i < count; i++) {
        records[i] = (struct domain_record){
            .purpose = "dkim",
            .state = keys[i].used_from.set ? "used" : "waiting",
            .name = arena_printf(work->arena, "%s._domainkey.%s", keys[i].selector, domain),
            .type = "TXT",
            .value = key_value(work->arena, &keys[i]),
        };
    }
    suggest(work->arena, domain, records + count);
    *ret_records = (struct domain_records){ records, count + SUGGESTIONS };
    return true;
}

struct text_list domain_txt_strings(struct arena *arena, const char *value)
{
    size_t size = strlen(value);
    size_t count = size / TXT_STRING_MAX_BYTES + (size % TXT_STRING_MAX_BYTES != 0);
    const char **strings = arena_array(arena, count + 1, sizeof(*strings));
    for (size_t i = 0; i < count; i++) {
        size_t at = i * TXT_STRING_MAX_BYTES;
        size_t left = size - at;
        strings[i] = arena_dup_bytes(arena, value + at, left < TXT_STRING_MAX_BYTES ? left : TXT_STRING_MAX_BYTES);
    }
    return (struct text_list){ strings, count };
}
