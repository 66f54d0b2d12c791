#include "api/tracking/hit_spool.h"

#include "base/panic.h"
#include "base/text.h"
#include "crypto/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 8, READ_MAX_BYTES = HIT_SPOOL_MAX_BYTES + 64 * 1024 };

static const char suffix[] = ".spool";

struct hit_spool {
    struct arena *arena;
    const char *folder;
    pthread_mutex_t lock;
    int fd; /* the file of this process; -1: none */
    size_t size;
};

struct hit_drain {
    struct arena *arena;
    int fd;
    const char *path;
    struct bytes content;
    size_t at;
};

struct hit_spool *hit_spool_new(const char *data_dir)
{
    struct arena *arena = arena_new(0);
    struct hit_spool *spool = arena_alloc(arena, sizeof(*spool));
    spool->arena = arena;
    spool->folder = arena_printf(arena, "%s/hits", data_dir);
    spool->fd = -1;
    pthread_mutex_init(&spool->lock, NULL);
    return spool;
}

/* The file stays for the next process. */
void hit_spool_free(struct hit_spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->fd >= 0)
        close(spool->fd);
    pthread_mutex_destroy(&spool->lock);
    arena_free(spool->arena);
}

/* ---- Records ---- */

/*
 * A record, numbers little-endian: its size without the checksum (u16), time and
 * id (u64), 1 for HEAD (u8), the sizes of address (u8) and agent (u16), the
 * token, the address, the agent; then the checksum (u64, FNV-1a).
 */
enum {
    AT_SIZE = 0,
    AT_TIME = 2,
    AT_ID = 10,
    AT_HEAD = 18,
    AT_ADDRESS_SIZE = 19,
    AT_AGENT_SIZE = 20,
    AT_TOKEN = 22,
    AT_TEXTS = AT_TOKEN + HIT_TOKEN_CHARS,
    CHECKSUM_BYTES = 8,
    RECORD_MAX_BYTES = AT_TEXTS + HIT_ADDRESS_MAX_BYTES + HIT_AGENT_MAX_BYTES + CHECKSUM_BYTES,
};

static void put_uint(unsigned char *at, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get_uint(const unsigned char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | at[i - 1];
    return number;
}

static uint64_t checksum(const unsigned char *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

void hit_record_write(struct buf *out, const struct spooled_hit *hit)
{
    unsigned char record[RECORD_MAX_BYTES];
    size_t address_size = strnlen(hit->address, HIT_ADDRESS_MAX_BYTES);
    size_t agent_size = strnlen(hit->agent, HIT_AGENT_MAX_BYTES);
    size_t size = AT_TEXTS + address_size + agent_size;
    put_uint(record + AT_SIZE, size, 2);
    put_uint(record + AT_TIME, (uint64_t)hit->at_us, 8);
    put_uint(record + AT_ID, (uint64_t)hit->id, 8);
    record[AT_HEAD] = hit->is_head;
    put_uint(record + AT_ADDRESS_SIZE, address_size, 1);
    put_uint(record + AT_AGENT_SIZE, agent_size, 2);
    memcpy(record + AT_TOKEN, hit->token, HIT_TOKEN_CHARS);
    memcpy(record + AT_TEXTS, hit->address, address_size);
    memcpy(record + AT_TEXTS + address_size, hit->agent, agent_size);
    put_uint(record + size, checksum(record, size), CHECKSUM_BYTES);
    buf_add(out, (const char *)record, size + CHECKSUM_BYTES);
}

size_t hit_record_read(struct bytes bytes, struct arena *arena, struct spooled_hit *ret_hit)
{
    const unsigned char *record = bytes.data;
    size_t size = bytes.size >= AT_TEXTS ? (size_t)get_uint(record + AT_SIZE, 2) : 0;
    if (size < AT_TEXTS || size + CHECKSUM_BYTES > bytes.size || get_uint(record + size, CHECKSUM_BYTES) != checksum(record, size))
        return 0;
    size_t address_size = record[AT_ADDRESS_SIZE];
    size_t agent_size = (size_t)get_uint(record + AT_AGENT_SIZE, 2);
    if (AT_TEXTS + address_size + agent_size != size)
        return 0;
    *ret_hit = (struct spooled_hit){
        .at_us = (int64_t)get_uint(record + AT_TIME, 8),
        .id = (int64_t)get_uint(record + AT_ID, 8),
        .is_head = record[AT_HEAD] != 0,
        .address = arena_dup_bytes(arena, (const char *)record + AT_TEXTS, address_size),
        .agent = arena_dup_bytes(arena, (const char *)record + AT_TEXTS + address_size, agent_size),
    };
    memcpy(ret_hit->token, record + AT_TOKEN, HIT_TOKEN_CHARS);
    return size + CHECKSUM_BYTES;
}

/* ---- Appending ---- */

static bool fail_disk(struct error *err, const char *what)
{
    int reason = errno;
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The request could not be stored.");
    return error_because(err, "hit spool: %s: %s", what, strerror(reason));
}

static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* The file gets its name when it is locked, so that no other process drains it. */
static bool make_file(struct hit_spool *spool, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    unsigned char bytes[NAME_BYTES];
    char name[2 * NAME_BYTES + 1];
    random_bytes(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), name);
    const char *made = arena_printf(arena, "%s/%s.new", spool->folder, name);
    if (mkdir(spool->folder, 0700) != 0 && errno != EEXIST)
        return fail_disk(err, "mkdir");
    int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_disk(err, "open");
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(made, arena_printf(arena, "%s/%s%s", spool->folder, name, suffix)) != 0) {
        fail_disk(err, "rename");
        close(fd);
        unlink(made);
        return false;
    }
    sync_folder(spool->folder);
    spool->fd = fd;
    spool->size = 0;
    return true;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Closing releases the lock: the file can be drained. */
static void seal_file(struct hit_spool *spool)
{
    close(spool->fd);
    spool->fd = -1;
    spool->size = 0;
}

/* A part of a failed write is removed again. A file that cannot be shortened is sealed, because nothing behind the part is read. */
static bool append_bytes(struct hit_spool *spool, const struct buf *records, struct error *err)
{
    if (spool->fd < 0 && !make_file(spool, err))
        return false;
    if (spool->size + records->size > HIT_SPOOL_MAX_BYTES) {
        errno = EFBIG;
        return fail_disk(err, "append");
    }
    if (!write_all(spool->fd, records->data, records->size) || fdatasync(spool->fd) != 0) {
        fail_disk(err, "append");
        if (ftruncate(spool->fd, (off_t)spool->size) != 0)
            seal_file(spool);
        return false;
    }
    spool->size += records->size;
    return true;
}

bool hit_spool_append(struct hit_spool *spool, const struct spooled_hit *hits, size_t count, struct error *err)
{
    BUF_SCOPE records;
    buf_init(&records, count * RECORD_MAX_BYTES);
    for (size_t i = 0; i < count; i++)
        hit_record_write(&records, &hits[i]);
    if (records.size == 0)
        return true;
    pthread_mutex_lock(&spool->lock);
    bool ok = append_bytes(spool, &records, err);
    pthread_mutex_unlock(&spool->lock);
    return ok;
}

bool hit_spool_has_own(struct hit_spool *spool)
{
    pthread_mutex_lock(&spool->lock);
    bool has = spool->fd >= 0 && spool->size > 0;
    pthread_mutex_unlock(&spool->lock);
    return has;
}

/* ---- Draining ---- */

/* Opens a file whose process has ended. Its lock is kept, so that one process drains it. */
static int open_unlocked(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool read_content(struct hit_drain *drain)
{
    struct stat status;
    if (fstat(drain->fd, &status) != 0 || status.st_size > READ_MAX_BYTES)
        return false;
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return false;
    size_t got = 0;
    while (got < size) {
        ssize_t count = pread(drain->fd, bytes + got, size - got, (off_t)got);
        if (count <= 0 && errno != EINTR)
            break;
        got += count > 0 ? (size_t)count : 0;
    }
    drain->content = (struct bytes){ bytes, got };
    return got == size;
}

static struct hit_drain *open_drain(const char *folder, const char *name)
{
    struct arena *arena = arena_new(0);
    struct hit_drain *drain = arena_alloc(arena, sizeof(*drain));
    drain->arena = arena;
    drain->path = arena_printf(arena, "%s/%s", folder, name);
    drain->fd = open_unlocked(drain->path);
    if (drain->fd >= 0 && read_content(drain))
        return drain;
    hit_drain_close(drain, false);
    return NULL;
}

static bool is_spool_file(const char *name)
{
    size_t size = strlen(name);
    return size > strlen(suffix) && strcmp(name + size - strlen(suffix), suffix) == 0;
}

static struct hit_drain *find_unlocked(const char *folder)
{
    struct hit_drain *drain = NULL;
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return NULL;
    for (const struct dirent *entry = readdir(entries); entry != NULL && drain == NULL; entry = readdir(entries))
        if (is_spool_file(entry->d_name))
            drain = open_drain(folder, entry->d_name);
    closedir(entries);
    return drain;
}

bool hit_spool_has_files(struct hit_spool *spool)
{
    bool has = false;
    DIR *entries = opendir(spool->folder);
    if (entries == NULL)
        return false;
    for (const struct dirent *entry = readdir(entries); entry != NULL && !has; entry = readdir(entries))
        has = is_spool_file(entry->d_name);
    closedir(entries);
    return has;
}

struct hit_drain *hit_drain_open(struct hit_spool *spool)
{
    struct hit_drain *drain = find_unlocked(spool->folder);
    if (drain != NULL || !hit_spool_has_own(spool))
        return drain;
    pthread_mutex_lock(&spool->lock);
    if (spool->fd >= 0)
        seal_file(spool);
    pthread_mutex_unlock(&spool->lock);
    return find_unlocked(spool->folder);
}

size_t hit_drain_read(struct hit_drain *drain, struct arena *arena, struct spooled_hit *ret_hits, size_t max)
{
    size_t count = 0;
    while (count < max) {
        struct bytes rest = { drain->content.data + drain->at, drain->content.size - drain->at };
        size_t size = hit_record_read(rest, arena, &ret_hits[count]);
        if (size == 0)
            break;
        drain->at += size;
        count++;
    }
    return count;
}

void hit_drain_close(struct hit_drain *drain, bool is_drained)
{
    if (is_drained)
        unlink(drain->path);
    if (drain->fd >= 0)
        close(drain->fd);
    free((void *)(uintptr_t)drain->content.data);
    arena_free(drain->arena);
}
