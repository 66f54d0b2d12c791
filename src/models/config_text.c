#include "models/config_text.h"

#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *config_joined(const char *first, const char *second, const char *third)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", first, second, third) < 0)
        panic(PANIC_NO_MEMORY);
    return text;
}

char *config_url(const char *base, const char *path)
{
    char *text = NULL;
    size_t size = strlen(base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    if (asprintf(&text, "%.*s%s", (int)size, base, path) < 0)
        panic(PANIC_NO_MEMORY);
    return text;
}

void config_free_secret(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}
