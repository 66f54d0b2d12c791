/*
 * Writes a journal as a sender leaves it that was killed: tests/sizes lets the runner recover it.
 *
 *     journal_driver DATA_DIR OWNER BRAND_ID SEND_ID MESSAGES
 *
 * Every message has a dot record and a reply record. It writes as many as the journal takes and prints their number. The
 * installation is that of a journal which is in the folder already.
 */
#include "sender/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INSTALLATION_OFFSET = 8 }; /* behind the magic bytes of a file */

static bool read_installation(const char *data_dir, uint64_t *ret_installation)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/journal", data_dir);
    DIR *dir = opendir(folder);
    const struct dirent *each;
    bool found = false;
    while (dir != NULL && !found && (each = readdir(dir)) != NULL) {
        int fd = strstr(each->d_name, ".journal") != NULL ? openat(dirfd(dir), each->d_name, O_RDONLY | O_CLOEXEC) : -1;
        found = fd >= 0 &&
                pread(fd, ret_installation, sizeof(*ret_installation), INSTALLATION_OFFSET) == (ssize_t)sizeof(*ret_installation);
        if (fd >= 0)
            close(fd);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

/* Until all are written or the journal is full; gives how many. */
static int64_t write_messages(struct journal *journal, struct journal_key key, int64_t count)
{
    struct smtp_outcome outcome = {
        .end = SMTP_REPLIED,
        .stage = SMTP_STAGE_FINAL,
        .code = 250,
        .enhanced = "2.0.0",
        .text = "Ok: queued",
        .relay = "127.0.0.1:25",
    };
    for (key.ordinal = 1; key.ordinal <= count; key.ordinal++) {
        struct journal_mark mark = { 0 };
        if (!journal_add_dot(journal, &key, &mark) || !journal_add_reply(journal, &key, &outcome, &mark))
            break;
    }
    return key.ordinal - 1;
}

int main(int argc, char **argv)
{
    struct journal_location location = { .data_dir = argc == 6 ? argv[1] : "" };
    struct journal *journal;
    struct error err = { .code = ERR_NONE };
    if (argc != 6 || !read_installation(argv[1], &location.installation) || !journal_open(&location, argv[2], &journal, &err)) {
        fprintf(stderr, "journal_driver DATA_DIR OWNER BRAND_ID SEND_ID MESSAGES: %s\n", err.message);
        return 2;
    }
    struct journal_key key = { .brand_id = atoll(argv[3]), .send_id = atoll(argv[4]) };
    printf("%lld\n", (long long)write_messages(journal, key, atoll(argv[5])));
    journal_close(journal);
    return 0;
}
