#include "jobs/types/seed_look.h"

#include "base/clock.h"
#include "base/text.h"
#include "net/imap_client.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_MAX_BYTES = 256 * 1024, PATH_MAX_BYTES = 2048, COMMAND_MAX_BYTES = 512, UIDS_READ = 1, COMMAND_LEAST_MS = 1 };

static const char inbox[] = "INBOX";
static const char no_time[] = "The mailbox did not answer in time.";

/* In the order of the search. */
enum folder_class { FOLDER_SPAM, FOLDER_OTHER, FOLDER_ALL, FOLDER_CLASSES };

struct folder {
    char name[SEED_FOLDER_MAX_BYTES + 1];
    enum folder_class class;
    bool has_spam_name;
};

struct folders {
    struct folder items[SEED_FOLDERS_MAX];
    size_t count;
    bool has_spam; /* one is marked as the folder for spam */
};

struct looking {
    struct seed_look *look;
    struct imap_client *client;
    struct buf answer;
    int64_t until_us; /* monotonic */
};

/* ---- Commands ---- */

/* Returns whether it succeeded; sets the problem when it did not. */
static bool run(struct looking *looking, const char *path, const char *command, struct buf *out)
{
    int64_t left_ms = (looking->until_us - clock_monotonic_us()) / US_PER_MS;
    if (left_ms < COMMAND_LEAST_MS) {
        looking->look->problem = no_time;
        return false;
    }
    imap_client_set_timeout(looking->client, left_ms);
    looking->look->problem = imap_client_run(looking->client, path, command, out);
    return looking->look->problem == NULL;
}

/* Looks for the message in a folder; `ret_uid` is 0 when it is not there. */
static bool search(struct looking *looking, const char *folder, int64_t *ret_uid)
{
    BUF_SCOPE path;
    char command[COMMAND_MAX_BYTES];
    buf_init(&path, PATH_MAX_BYTES);
    imap_add_folder(&path, folder);
    snprintf(command, sizeof(command), "UID SEARCH HEADER Message-ID \"%s\"", looking->look->message_id);
    *ret_uid = 0;
    if (!run(looking, buf_text(&path), command, &looking->answer))
        return false;
    (void)imap_read_uids(buf_text(&looking->answer), ret_uid, UIDS_READ);
    return true;
}

static bool fetch_header(struct looking *looking, const char *folder, int64_t uid)
{
    BUF_SCOPE path;
    buf_init(&path, PATH_MAX_BYTES);
    imap_add_folder(&path, folder);
    buf_printf(&path, "/;UID=%lld/;SECTION=HEADER", (long long)uid);
    return run(looking, buf_text(&path), NULL, &looking->look->header);
}

/* ---- Folders ---- */

/* The name behind the last delimiter. */
static const char *last_part(const char *name, char delimiter)
{
    const char *last = delimiter != '\0' ? strrchr(name, delimiter) : NULL;
    return last != NULL ? last + 1 : name;
}

/* For servers without RFC 6154. */
static bool is_spam_name(const char *name, char delimiter)
{
    static const char *const names[] = { "junk", "spam", "bulk", "junk email", "junk e-mail", "bulk mail", "bulk email" };
    const char *part = last_part(name, delimiter);
    bool is_one = false;
    for (size_t i = 0; i < ARRAY_COUNT(names) && !is_one; i++)
        is_one = strcasecmp(part, names[i]) == 0;
    return is_one;
}

static bool has_mark(const char *marks, size_t size, const char *mark)
{
    size_t length = strlen(mark);
    for (size_t i = 0; i + length <= size; i++)
        if (strncasecmp(marks + i, mark, length) == 0 && (i + length == size || marks[i + length] == ' '))
            return true;
    return false;
}

/* A quoted string or an atom. False for a literal and for a name that is too long. */
static bool read_name(const char *at, const char *end, char ret_name[SEED_FOLDER_MAX_BYTES + 1])
{
    size_t size = 0;
    bool is_quoted = at < end && *at == '"';
    if (at == end || *at == '{')
        return false;
    for (at += is_quoted; at < end && (is_quoted ? *at != '"' : *at != ' '); at++) {
        at += is_quoted && *at == '\\' && at + 1 < end;
        if (size == SEED_FOLDER_MAX_BYTES || (unsigned char)*at < ' ')
            return false;
        ret_name[size++] = *at;
    }
    ret_name[size] = '\0';
    return size > 0;
}

static enum folder_class class_of(const char *marks, size_t size)
{
    if (has_mark(marks, size, "\\Junk") || has_mark(marks, size, "\\Trash"))
        return FOLDER_SPAM;
    return has_mark(marks, size, "\\All") ? FOLDER_ALL : FOLDER_OTHER;
}

static bool is_searched(const char *marks, size_t size, const char *name)
{
    return !has_mark(marks, size, "\\Noselect") && !has_mark(marks, size, "\\NonExistent") && !has_mark(marks, size, "\\Sent") &&
           !has_mark(marks, size, "\\Drafts") && strcasecmp(name, inbox) != 0;
}

/* A line such as: * LIST (\HasNoChildren \Junk) "/" "Spam" */
static void read_folder(const char *line, const char *end, struct folders *folders)
{
    static const char prefix[] = "* LIST (";
    struct folder *folder = &folders->items[folders->count];
    if (folders->count == SEED_FOLDERS_MAX || (size_t)(end - line) < sizeof(prefix) ||
        strncasecmp(line, prefix, strlen(prefix)) != 0)
        return;
    const char *marks = line + strlen(prefix);
    const char *close = memchr(marks, ')', (size_t)(end - marks));
    if (close == NULL || end - close < 2)
        return;
    const char *at = close + 2;
    bool has_delimiter = end - at > 3 && at[0] == '"' && at[2] == '"';
    char delimiter = has_delimiter ? at[1] : '\0';
    const char *space = memchr(at + (has_delimiter ? 3 : 0), ' ', (size_t)(end - at) - (has_delimiter ? 3U : 0U));
    size_t size = (size_t)(close - marks);
    if (space == NULL || !read_name(space + 1, end, folder->name) || !is_searched(marks, size, folder->name))
        return;
    folder->class = class_of(marks, size);
    folder->has_spam_name = is_spam_name(folder->name, delimiter);
    folders->has_spam = folders->has_spam || has_mark(marks, size, "\\Junk");
    folders->count++;
}

static void read_folders(const char *answer, struct folders *folders)
{
    *folders = (struct folders){ .count = 0 };
    for (const char *line = answer; *line != '\0';) {
        const char *end = line + strcspn(line, "\r\n");
        read_folder(line, end, folders);
        line = end + strspn(end, "\r\n");
    }
    for (size_t i = 0; i < folders->count; i++)
        if (!folders->has_spam && folders->items[i].has_spam_name)
            folders->items[i].class = FOLDER_SPAM;
}

/* A server without RFC 6154 refuses the first form. */
static bool list_folders(struct looking *looking, struct folders *folders)
{
    bool is_listed = run(looking, "", "LIST \"\" \"*\" RETURN (SPECIAL-USE)", &looking->answer);
    if (!is_listed && imap_client_was_refused(looking->client))
        is_listed = run(looking, "", "LIST \"\" \"*\"", &looking->answer);
    if (is_listed)
        read_folders(buf_text(&looking->answer), folders);
    return is_listed;
}

/* ---- The look ---- */

static bool look_in(struct looking *looking, const char *folder, enum seed_found found, bool *ret_is_there)
{
    int64_t uid;
    if (!search(looking, folder, &uid))
        return false;
    *ret_is_there = uid != 0;
    if (uid == 0)
        return true;
    if (!fetch_header(looking, folder, uid))
        return false;
    looking->look->found = found;
    snprintf(looking->look->folder, sizeof(looking->look->folder), "%s", folder);
    return true;
}

/* A folder that the server lists but does not open is left out. */
static bool look_in_listed(struct looking *looking, const struct folder *folder, bool *ret_is_there)
{
    if (look_in(looking, folder->name, folder->class == FOLDER_SPAM ? SEED_IN_SPAM : SEED_IN_INBOX, ret_is_there))
        return true;
    *ret_is_there = false;
    return folder->class != FOLDER_SPAM && imap_client_was_refused(looking->client);
}

static bool look_everywhere(struct looking *looking)
{
    struct folders folders;
    bool is_there = false;
    if (!look_in(looking, inbox, SEED_IN_INBOX, &is_there))
        return false;
    if (is_there)
        return true;
    if (!list_folders(looking, &folders))
        return false;
    for (enum folder_class class = 0; class < FOLDER_CLASSES; class ++)
        for (size_t i = 0; i < folders.count && !is_there; i++)
            if (folders.items[i].class == class && !look_in_listed(looking, &folders.items[i], &is_there))
                return false;
    if (!is_there)
        looking->look->found = SEED_ABSENT;
    return true;
}

void seed_look_run(struct seed_look *look, int64_t total_ms)
{
    struct looking looking = { .look = look, .until_us = clock_monotonic_us() + total_ms * US_PER_MS };
    look->found = SEED_UNREAD;
    buf_init(&look->header, SEED_HEADER_MAX_BYTES);
    buf_init(&looking.answer, ANSWER_MAX_BYTES);
    looking.client = imap_client_new(NULL, NULL);
    imap_client_use(looking.client, &look->address, total_ms);
    if (!look_everywhere(&looking))
        look->found = SEED_UNREAD;
    else
        look->problem = NULL;
    imap_client_free(looking.client);
    buf_done(&looking.answer);
}

void seed_look_done(struct seed_look *look)
{
    imap_address_done(&look->address);
    buf_done(&look->header);
}
