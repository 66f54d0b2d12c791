#include "http/credentials.h"

#include <string.h>

static const char session_cookie[] = "__session";

/* The value of one cookie of a Cookie header (RFC 6265 §4.2.1), NULL when absent. */
static const char *cookie_value(struct arena *arena, const char *cookies, const char *name)
{
    size_t name_size = strlen(name);
    for (const char *at = cookies; *at != '\0';) {
        at += strspn(at, "; \t");
        size_t size = strcspn(at, ";");
        if (size > name_size && at[name_size] == '=' && memcmp(at, name, name_size) == 0)
            return arena_dup_bytes(arena, at + name_size + 1, size - name_size - 1);
        at += size;
    }
    return NULL;
}

struct credentials credentials_read(struct arena *arena, const struct header_values *headers, bool with_session)
{
    const char *brand = headers->values[HEADER_X_BRAND_ID];
    bool has_brand = brand != NULL && brand[strspn(brand, " \t")] != '\0'; /* an empty header is as none */
    struct credentials credentials = { .kind = CREDENTIAL_NONE, .brand = has_brand ? brand : NULL };
    const char *authorization = headers->values[HEADER_AUTHORIZATION];
    const char *cookies = headers->values[HEADER_COOKIE];
    if (authorization != NULL) {
        const char *token = bearer_token(authorization);
        credentials.kind = CREDENTIAL_API_KEY;
        credentials.secret = token != NULL ? token : ""; /* another scheme is a malformed key, not an absent one */
    } else if (headers->values[HEADER_X_API_KEY] != NULL) {
        credentials.kind = CREDENTIAL_API_KEY;
        credentials.secret = headers->values[HEADER_X_API_KEY];
    } else if (with_session && cookies != NULL) {
        credentials.secret = cookie_value(arena, cookies, session_cookie);
        credentials.kind = credentials.secret != NULL ? CREDENTIAL_SESSION : CREDENTIAL_NONE;
    }
    return credentials;
}
