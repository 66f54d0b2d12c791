/*
 * Feeds every file of the folders and files named on the command line to a
 * fuzz entry, so that a corpus is replayed in the ordinary test run by any
 * compiler. Linked with one *_fuzz.c. Says how many inputs it fed; none at all
 * is a failure.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT_MAX_BYTES = 4 * 1024 * 1024 };

/* Feeds one file from memory of exactly its size, so that a sanitizer sees one byte too far. */
static size_t feed_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || size > INPUT_MAX_BYTES || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t feed(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        fprintf(stderr, "replay: no such file: %s\n", path);
        exit(1);
    }
    if (!S_ISDIR(status.st_mode))
        return feed_file(path, (size_t)status.st_size);
    size_t count = 0;
    DIR *folder = opendir(path);
    const struct dirent *entry = folder != NULL ? readdir(folder) : NULL;
    while (entry != NULL) {
        char inner[4096];
        int length = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && (size_t)length < sizeof(inner))
            count += feed(inner);
        entry = readdir(folder);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

int main(int count, char **paths)
{
    size_t inputs = 0;
    for (int i = 1; i < count; i++)
        inputs += feed(paths[i]);
    printf("%zu inputs replayed\n", inputs);
    return inputs > 0 ? 0 : 1;
}
