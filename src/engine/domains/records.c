#include "engine/domains/records.h"

#include "base/text.h"

#include <string.h>

enum { SUGGESTIONS = 4, BOUNCE_PRIORITY = 10 };

/* ---- DKIM records ---- */

static struct domain_record dkim_record(struct arena *arena, const struct domain_row *domain, size_t key)
{
    const char *kind = strcmp(domain->algorithms.items[key], "ed25519-sha256") == 0 ? "ed25519" : "rsa";
    return (struct domain_record){
        .purpose = "dkim",
        .state = domain->used.items[key] ? DOMAIN_RECORD_USED : DOMAIN_RECORD_WAITING,
        .name = arena_printf(arena, "%s._domainkey.%s", domain->selectors.items[key], domain->name),
        .type = "TXT",
        .value = arena_printf(arena, "v=DKIM1; k=%s; p=%s", kind, domain->public_keys.items[key]),
        .key_kind = kind,
        .public_key = domain->public_keys.items[key],
    };
}

/* ---- Suggestions ---- */

static void add_suggestions(struct arena *arena, const char *domain, struct domain_record ret_records[SUGGESTIONS])
{
    const char *bounce = arena_printf(arena, "bounce.%s", domain);
    ret_records[0] = (struct domain_record){
        .purpose = "spf",
        .name = domain,
        .type = "TXT",
        .value = "v=spf1 include:<YOUR-RELAY> ~all",
        .note = "Replace <YOUR-RELAY> by the value that your relay requires, and keep the existing content: a name can have only "
                "one SPF record.",
    };
    ret_records[1] = (struct domain_record){
        .purpose = "dmarc",
        .name = arena_printf(arena, "_dmarc.%s", domain),
        .type = "TXT",
        .value = arena_printf(arena, "v=DMARC1; p=none; rua=mailto:dmarc-reports@%s", domain),
        .note = "Mailbox providers require a DMARC policy (p=none or stricter) for bulk mail. Use p=quarantine when the reports "
                "show only your own mail.",
    };
    ret_records[2] = (struct domain_record){
        .purpose = "bounce",
        .name = bounce,
        .type = "MX",
        .value = "<HOST-THAT-RECEIVES-BOUNCES>",
        .priority = BOUNCE_PRIORITY,
        .note = "Needed only for a separate return path, when bounces are received on this host.",
    };
    ret_records[3] = (struct domain_record){
        .purpose = "bounce",
        .name = bounce,
        .type = "TXT",
        .value = "v=spf1 include:<YOUR-RELAY> -all",
        .note = "The SPF record of the return path.",
    };
    for (size_t i = 0; i < SUGGESTIONS; i++)
        ret_records[i].state = DOMAIN_RECORD_SUGGESTED;
}

/* ---- All records ---- */

char *domain_record_key(struct arena *arena, const struct domain_record *record)
{
    return arena_printf(arena, "%s %s", record->type, record->name);
}

const char *domain_record_state_name(enum domain_record_state state)
{
    static const char *const names[] = { "used", "waiting", "suggested" };
    return names[state];
}

static bool is_published(struct arena *arena, const struct domain_row *domain, const struct domain_record *record)
{
    const char *key = domain_record_key(arena, record);
    for (size_t i = 0; i < domain->published.count; i++)
        if (strcmp(domain->published.items[i], key) == 0)
            return true;
    return false;
}

struct domain_records domain_records_of(struct arena *arena, const struct domain_row *domain)
{
    if (strcmp(domain->kind, "sandbox") == 0)
        return (struct domain_records){ NULL, 0 };
    size_t keys = domain->selectors.count;
    struct domain_record *records = arena_array(arena, keys + SUGGESTIONS, sizeof(*records));
    for (size_t i = 0; i < keys; i++)
        records[i] = dkim_record(arena, domain, i);
    add_suggestions(arena, domain->name, records + keys);
    for (size_t i = 0; i < keys + SUGGESTIONS; i++)
        records[i].is_published = is_published(arena, domain, &records[i]);
    return (struct domain_records){ records, keys + SUGGESTIONS };
}

/* ---- The click host ---- */

/* The host name of the public URL. NULL when it has none: without a URL, or with a numeric address. */
static const char *public_host(const struct work *work)
{
    const char *url = work->engine->public_url;
    const char *slashes = url != NULL ? strstr(url, "://") : NULL;
    if (slashes == NULL)
        return NULL;
    const char *host = text_lower(work->arena, arena_dup_bytes(work->arena, slashes + 3, strcspn(slashes + 3, ":/")));
    bool is_name = host[strspn(host, "0123456789.")] != '\0' && host[0] != '[' && strchr(host, '.') != NULL;
    return is_name ? host : NULL;
}

struct domain_records domain_records_with_click(const struct work *work, const struct domain_row *domain)
{
    struct domain_records records = domain_records_of(work->arena, domain);
    const char *host = public_host(work);
    if (records.count == 0 || host == NULL)
        return records;
    struct domain_record *items = arena_array(work->arena, records.count + 1, sizeof(*items));
    memcpy(items, records.items, records.count * sizeof(*items));
    items[records.count] = (struct domain_record){
        .purpose = "click",
        .state = DOMAIN_RECORD_SUGGESTED,
        .name = arena_printf(work->arena, "click.%s", domain->name),
        .type = "CNAME",
        .value = host,
        .note = "Optional: tracked links of this domain then begin with this name. Publish it when the proxy of the server has a "
                "certificate for it.",
    };
    items[records.count].is_published = is_published(work->arena, domain, &items[records.count]);
    return (struct domain_records){ items, records.count + 1 };
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
