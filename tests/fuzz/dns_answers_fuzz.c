/*
 * Fuzzes answers of the DNS and the records that domains publish. The first byte
 * chooses: a message with TXT or MX records, or lines that are the texts of a
 * name. Besides not crashing: the texts of a message are no larger than it; the
 * order of texts does not matter; a second copy of a record that must be alone
 * unmakes it; and the records that we propose for a domain are found when they
 * are published, in the strings that we propose.
 */
#include "base/text.h"
#include "engine/domains/records.h"
#include "fuzz.h"
#include "mail/dns_auth_records.h"
#include "net/dns_answers.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX_BYTES = 65535, LINES_MAX = 64, HEADER_BYTES = 12, PUBLISHED_MAX_BYTES = 16 * 1024 };

/* ---- Texts of a name ---- */

static const char key_text[] = "MCowBQYDK2VwAyEA";

static struct text_list reversed(struct arena *arena, struct text_list texts)
{
    const char **items = arena_array(arena, texts.count, sizeof(*items));
    for (size_t i = 0; i < texts.count; i++)
        items[i] = texts.items[texts.count - 1 - i];
    return (struct text_list){ items, texts.count };
}

static struct text_list twice(struct arena *arena, struct text_list texts)
{
    const char **items = arena_array(arena, 2 * texts.count, sizeof(*items));
    for (size_t i = 0; i < 2 * texts.count; i++)
        items[i] = texts.items[i % texts.count];
    return (struct text_list){ items, 2 * texts.count };
}

static struct text_list with_other_key(struct arena *arena, struct text_list texts)
{
    const char **items = arena_array(arena, texts.count + 1, sizeof(*items));
    for (size_t i = 0; i < texts.count; i++)
        items[i] = texts.items[i];
    items[texts.count] = "v=DKIM1; k=ed25519; p=other";
    return (struct text_list){ items, texts.count + 1 };
}

static void check_texts(struct arena *arena, struct text_list texts)
{
    struct text_list other_order = reversed(arena, texts);
    struct text_list doubled = twice(arena, texts);
    bool has_key = dns_auth_has_dkim_key(texts, "ed25519", key_text);
    require(dns_auth_has_spf(texts) == dns_auth_has_spf(other_order) && !dns_auth_has_spf(doubled));
    require(dns_auth_has_dmarc(texts) == dns_auth_has_dmarc(other_order) && !dns_auth_has_dmarc(doubled));
    require(dns_auth_has_dkim_key(other_order, "ed25519", key_text) == has_key);
    require(dns_auth_has_dkim_key(doubled, "ed25519", key_text) == has_key);
    require(!dns_auth_has_dkim_key(with_other_key(arena, texts), "ed25519", key_text));
    require(!has_key || !dns_auth_has_dkim_key(texts, "rsa", key_text));
}

static struct text_list lines_of(struct arena *arena, const unsigned char *data, size_t size)
{
    const char **items = arena_array(arena, LINES_MAX, sizeof(*items));
    size_t count = 0;
    char *text = arena_dup_bytes(arena, data, size);
    for (char *line; count < LINES_MAX && (line = strsep(&text, "\n")) != NULL;)
        items[count++] = line;
    return (struct text_list){ items, count };
}

/* ---- A message ---- */

static void check_message(struct arena *arena, const unsigned char *data, size_t size)
{
    struct text_list texts = { NULL, 0 };
    struct text_list hosts = { NULL, 0 };
    struct text_list aliases = { NULL, 0 };
    size_t total = 0;
    require(dns_read_aliases(arena, data, (int)size, &aliases) || aliases.count == 0);
    for (size_t i = 0; i < aliases.count; i++)
        require(strlen(aliases.items[i]) < 4 * 256);
    if (!dns_read_texts(arena, data, (int)size, &texts))
        require(texts.count == 0);
    for (size_t i = 0; i < texts.count; i++)
        total += strlen(texts.items[i]) + 1;
    require(total <= size);
    check_texts(arena, texts);
    if (!dns_read_mail_hosts(arena, data, (int)size, &hosts))
        require(hosts.count == 0);
    for (size_t i = 0; i < hosts.count; i++)
        require(hosts.items[i][0] != '\0' && strlen(hosts.items[i]) < 4 * 256);
}

/* ---- Our own records ---- */

/* A message that publishes a text under the name "a", in strings as a server sends them (RFC 1035 §3.3.14). */
static struct buf *publish(struct arena *arena, const char *value)
{
    static const unsigned char head[] = { 0, 1,  0x84, 0, 0,    1,  0, 1,  0, 0, 0, 0, 1, 'a', 0,
                                          0, 16, 0,    1, 0xC0, 12, 0, 16, 0, 1, 0, 0, 1, 0 };
    struct buf *message = buf_in_arena(arena, MESSAGE_MAX_BYTES);
    struct text_list strings = domain_txt_strings(arena, value);
    size_t size = strlen(value) + strings.count;
    buf_add(message, head, sizeof(head));
    buf_add_char(message, (char)(size >> 8));
    buf_add_char(message, (char)(size & 0xFF));
    for (size_t i = 0; i < strings.count; i++) {
        require(strlen(strings.items[i]) <= TXT_STRING_MAX_BYTES);
        buf_add_char(message, (char)strlen(strings.items[i]));
        buf_add_text(message, strings.items[i]);
    }
    return message;
}

static void check_record(struct arena *arena, const struct domain_record *record)
{
    struct text_list found;
    const struct buf *message = publish(arena, record->value);
    require(dns_read_texts(arena, (const unsigned char *)message->data, (int)message->size, &found) && found.count == 1);
    require(strcmp(found.items[0], record->value) == 0);
    if (record->key_kind != NULL)
        require(dns_auth_has_dkim_key(found, record->key_kind, record->public_key));
    else if (strcmp(record->purpose, "dmarc") == 0)
        require(dns_auth_has_dmarc(found));
    else if (strcmp(record->type, "TXT") == 0)
        require(dns_auth_has_spf(found));
}

/* The name and the keys of a domain are letters, digits, dots and base64. */
static void check_proposed(struct arena *arena, const unsigned char *data, size_t size)
{
    const char *name = "example.org";
    const char *key = base64_encode(arena, data, size);
    const char *const selectors[] = { "one", "two" };
    const char *const algorithms[] = { "ed25519-sha256", "rsa-sha256" };
    const char *const keys[] = { key, key };
    const bool used[] = { true, false };
    const struct domain_row domain = {
        .name = name,
        .kind = "domain",
        .selectors = { selectors, ARRAY_COUNT(selectors) },
        .algorithms = { algorithms, ARRAY_COUNT(algorithms) },
        .public_keys = { keys, ARRAY_COUNT(keys) },
        .used = { used, ARRAY_COUNT(used) },
    };
    struct domain_records records = domain_records_of(arena, &domain);
    for (size_t i = 0; i < records.count; i++)
        if (strcmp(records.items[i].type, "TXT") == 0)
            check_record(arena, &records.items[i]);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0 || size > MESSAGE_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    unsigned char *message = malloc(size); /* ends where the message ends */
    require(message != NULL);
    memcpy(message, data + 1, size - 1);
    if (data[0] == 'm')
        check_message(arena, message, size - 1);
    else if (data[0] == 'p' && size <= PUBLISHED_MAX_BYTES)
        check_proposed(arena, message, size - 1);
    else
        check_texts(arena, lines_of(arena, message, size - 1));
    free(message);
    return 0;
}
