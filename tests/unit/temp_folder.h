/*
 * For unit tests: a folder of their own under /tmp, and a check that fails with
 * the words of the error.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Fails the test with the error's own words. */
#define assert_ok(call, err)                                                                                                       \
    do {                                                                                                                           \
        (err)->code = ERR_NONE;                                                                                                    \
        if (!(call))                                                                                                               \
            fail_msg("%s: %s [%s] %s", #call, (err)->message, (err)->sqlstate, (err)->cause);                                      \
    } while (0)

static inline int temp_folder_remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void remove_folder(const char *path)
{
    nftw(path, temp_folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new folder of mode 0700; its name is written over `template`, which ends in XXXXXX. */
static inline char *make_folder(char *template)
{
    char *path = mkdtemp(template);
    assert_non_null(path);
    return path;
}
