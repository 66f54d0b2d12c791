/*
 * Fuzzes addresses. Besides not crashing: an accepted address holds no byte
 * that a header or an SMTP command would act on, keeps the limits, and its wire
 * form and its merge key are accepted again with the same key.
 */
#include "fuzz.h"
#include "mail/address.h"

#include <string.h>

static void check_bytes(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        require(*at > ' ' && *at != 0x7F && strchr("<>()[],;:\\\"", *at) == NULL);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct address address;
    const char *text = arena_dup_bytes(arena, data, size);
    if (!address_parse(arena, text, "email", &address, &err)) {
        require(err.code == ERR_INVALID_REQUEST && err.message[0] != '\0');
        return 0;
    }
    check_bytes(address.mailbox);
    check_bytes(address.key);
    require(strlen(address.mailbox) <= ADDRESS_MAX_BYTES && strlen(address.local) <= ADDRESS_LOCAL_MAX_BYTES);
    require(strchr(address.mailbox, '@') == strrchr(address.mailbox, '@'));

    struct address again;
    require(address_parse(arena, address.mailbox, "email", &again, &err));
    require(strcmp(again.key, address.key) == 0 && strcmp(again.mailbox, address.mailbox) == 0);
    /* Lower case may be longer in bytes than what it was made of, so only a key within the limits is an address. */
    if (strcspn(address.key, "@") <= ADDRESS_LOCAL_MAX_BYTES && strlen(address.key) <= ADDRESS_MAX_BYTES) {
        require(address_parse(arena, address.key, "email", &again, &err));
        require(strcmp(again.key, address.key) == 0);
    }
    return 0;
}
