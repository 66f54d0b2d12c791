#include "template/zone.h"

#include "base/buf.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ZONE_FILE_MAX_BYTES = 64 * 1024,
    ZONE_HEADER_BYTES = 44,
    ZONE_TYPE_BYTES = 6,
    ZONE_LEAP_BYTES_V1 = 8,
};

struct template_zone {
    size_t count;
    const unsigned char *times; /* big-endian, 8 bytes each */
    const unsigned char *kinds; /* the number of the type from each time on */
    const unsigned char *types;
    size_t type_count;
};

static int64_t read_big_endian(const unsigned char *at, int bytes)
{
    uint64_t value = at[0] >= 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* The counts of a header (RFC 8536 §3.1), in the order of the file. */
struct zone_counts {
    size_t is_utc, is_standard, leaps, times, types, characters;
};

static bool read_zone_header(const unsigned char *at, size_t size, struct zone_counts *ret_counts)
{
    if (size < ZONE_HEADER_BYTES || memcmp(at, "TZif", 4) != 0)
        return false;
    size_t counts[6];
    for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
        counts[i] = (size_t)read_big_endian(at + 20 + 4 * i, 4);
        if (counts[i] > ZONE_FILE_MAX_BYTES)
            return false;
    }
    *ret_counts = (struct zone_counts){ counts[0], counts[1], counts[2], counts[3], counts[4], counts[5] };
    return true;
}

/* Parses the second block of the file, with times of 8 bytes. The first block, with 4 bytes, is for old readers. */
static bool parse_zone_file(const unsigned char *data, size_t size, struct template_zone *zone)
{
    struct zone_counts old;
    struct zone_counts counts;
    if (!read_zone_header(data, size, &old) || data[4] < '2')
        return false;
    size_t skipped = ZONE_HEADER_BYTES + old.times * 5 + old.types * ZONE_TYPE_BYTES + old.characters +
                     old.leaps * ZONE_LEAP_BYTES_V1 + old.is_standard + old.is_utc;
    if (skipped > size || !read_zone_header(data + skipped, size - skipped, &counts))
        return false;
    size_t needed = ZONE_HEADER_BYTES + counts.times * 9 + counts.types * ZONE_TYPE_BYTES;
    if (counts.types == 0 || needed > size - skipped)
        return false;
    zone->count = counts.times;
    zone->times = data + skipped + ZONE_HEADER_BYTES;
    zone->kinds = zone->times + counts.times * 8;
    zone->types = zone->kinds + counts.times;
    zone->type_count = counts.types;
    for (size_t i = 0; i < counts.times; i++)
        if (zone->kinds[i] >= counts.types)
            return false;
    return true;
}

const struct template_zone *template_zone_parse(struct arena *arena, struct bytes file)
{
    struct template_zone *zone = arena_alloc(arena, sizeof(*zone));
    return parse_zone_file(file.data, file.size, zone) ? zone : NULL;
}

/* Time zone names are words separated by slashes. Other names are refused, because they could leave the folder (path traversal). */
static bool is_zone_name(const char *name)
{
    enum { LONGEST = 64 };
    size_t size = strlen(name);
    bool is_plain = name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/")] == '\0';
    return is_plain && size > 0 && size <= LONGEST && name[0] != '/' && strstr(name, "//") == NULL;
}

static void close_zone_file(const int *file)
{
    if (*file >= 0)
        close(*file);
}

const struct template_zone *template_zone_load(struct arena *arena, const char *name)
{
    if (!is_zone_name(name))
        return NULL;
    CLEANUP(close_zone_file) int file = open(arena_printf(arena, "/usr/share/zoneinfo/%s", name), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat about;
    if (fstat(file, &about) != 0 || about.st_size <= 0 || about.st_size > ZONE_FILE_MAX_BYTES)
        return NULL;
    unsigned char *data = arena_alloc(arena, (size_t)about.st_size);
    ssize_t size = read(file, data, (size_t)about.st_size);
    return size > 0 ? template_zone_parse(arena, (struct bytes){ data, (size_t)size }) : NULL;
}

int64_t template_zone_offset_s(const struct template_zone *zone, int64_t at_s)
{
    if (zone == NULL)
        return 0;
    size_t from = 0;
    size_t to = zone->count; /* the first change after the time */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (read_big_endian(zone->times + middle * 8, 8) <= at_s)
            from = middle + 1;
        else
            to = middle;
    }
    size_t type = from > 0 ? zone->kinds[from - 1] : 0;
    return read_big_endian(zone->types + type * ZONE_TYPE_BYTES, 4);
}

/* The offsets of the days around a local time are those before and after a change. */
int64_t template_zone_time_us(const struct template_zone *zone, int64_t local_us, enum template_zone_choice choice)
{
    static const int64_t second_us = 1000 * 1000;
    static const int64_t day_us = 86400 * second_us;
    int64_t before = template_zone_offset_s(zone, (local_us - day_us) / second_us) * second_us;
    int64_t after = template_zone_offset_s(zone, (local_us + day_us) / second_us) * second_us;
    bool is_before = template_zone_offset_s(zone, (local_us - before) / second_us) * second_us == before;
    bool is_after = template_zone_offset_s(zone, (local_us - after) / second_us) * second_us == after;
    bool is_twice = is_before && is_after;
    if (is_twice && choice == ZONE_SECOND)
        return local_us - after;
    return local_us - (is_before || !is_after ? before : after);
}
