/*
 * posthorn admin integration: the connections at which providers send events of
 * persons, customers and rows. Secrets are read from a file or from standard
 * input, never from the command line, where other users of the machine see them.
 */
#include "base/text.h"
#include "engine/operator/operator_integrations.h"
#include "main/admin.h"

#include <stdio.h>
#include <string.h>

enum { SECRET_FILE_MAX_BYTES = 4096 };

static bool read_secret_from(struct arena *arena, FILE *file, const char **ret_secret, struct error *err)
{
    char *bytes = arena_alloc(arena, SECRET_FILE_MAX_BYTES);
    size_t size = fread(bytes, 1, SECRET_FILE_MAX_BYTES - 1, file);
    if (ferror(file))
        return fail(err, ERR_INVALID_REQUEST, "secret", "The secret could not be read.");
    if (memchr(bytes, '\0', size) != NULL || fgetc(file) != EOF)
        return fail(err, ERR_INVALID_REQUEST, "secret", "The file of the secret must be one line of text.");
    bytes[size] = '\0';
    *ret_secret = text_trim(arena, bytes);
    return **ret_secret != '\0' || fail(err, ERR_INVALID_REQUEST, "secret", "The file of the secret is empty.");
}

/* The secret of --secret-file; NULL without it. */
static bool read_secret(struct admin *admin, const char **ret_secret, struct error *err)
{
    const char *path = admin->options->secret_file;
    *ret_secret = NULL;
    if (path == NULL)
        return true;
    if (strcmp(path, "-") == 0)
        return read_secret_from(admin->work.arena, stdin, ret_secret, err);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return fail(err, ERR_INVALID_REQUEST, "secret", "The file of the secret could not be opened.");
    bool is_read = read_secret_from(admin->work.arena, file, ret_secret, err);
    (void)fclose(file);
    return is_read;
}

/* The names of a comma-separated option. */
static struct text_list names_of(struct arena *arena, const char *option)
{
    const char *const *names = options_list(arena, option);
    size_t count = 0;
    while (names != NULL && names[count] != NULL)
        count++;
    return (struct text_list){ names, count };
}

bool admin_integration_add(struct admin *admin, struct error *err)
{
    struct arena *arena = admin->work.arena;
    struct integration_connection connection = {
        .provider = admin->argument,
        .name = admin->options->name,
        .tables = names_of(arena, admin->options->tables),
        .columns = names_of(arena, admin->options->columns),
    };
    return need_argument(admin, "provider", err) && choose_brand(admin, err) && read_secret(admin, &connection.secret, err) &&
           operator_add_integration(&admin->work, &connection, &admin->json, err);
}

bool admin_integration_list(struct admin *admin, struct error *err)
{
    return choose_brand(admin, err) && integration_connections_write(&admin->work, &admin->json, err);
}

bool admin_integration_rotate(struct admin *admin, struct error *err)
{
    const char *secret;
    return need_argument(admin, "connection", err) && choose_brand(admin, err) && read_secret(admin, &secret, err) &&
           operator_rotate_integration(&admin->work, admin->argument, secret, &admin->json, err);
}

bool admin_integration_revoke(struct admin *admin, struct error *err)
{
    return need_argument(admin, "connection", err) && choose_brand(admin, err) &&
           operator_revoke_integration(&admin->work, admin->argument, &admin->json, err);
}
