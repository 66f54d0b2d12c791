/*
 * The secrets that admin commands take. They are read from a file or from
 * standard input, never from the command line, where other users of the machine
 * see them.
 */
#include "base/text.h"
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

bool admin_read_secret(struct admin *admin, const char **ret_secret, struct error *err)
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

bool admin_read_password(struct admin *admin, const char **ret_password, struct error *err)
{
    if (!admin_read_secret(admin, ret_password, err))
        return false;
    return *ret_password != NULL ||
           fail(err, ERR_INVALID_REQUEST, "secret", "Name the file of the password with --secret-file, or - for standard input.");
}
