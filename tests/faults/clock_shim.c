/*
 * A wall clock that a test moves, for a program under LD_PRELOAD: what it reads
 * as CLOCK_REALTIME is shifted by the seconds (a 64-bit number) that stand in
 * the file named by POSTHORN_TEST_CLOCK; CLOCK_MONOTONIC is not. A second
 * number, where there is one but 0, is the time itself in microseconds, at which
 * the clock then stands still.
 *
 * The kernel is not fooled: a wait until a moment of the wall clock lasts too
 * long by the shift, as a wait does during which the clock is set back. A
 * program passes that waits by the monotonic clock only.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct test_clock {
    int64_t shift_s;
    int64_t stands_at_us; /* behind the end of a file that has only the first, a page is zero */
};

static const volatile struct test_clock *shift;

__attribute__((constructor)) static void find_shift(void)
{
    const char *path = getenv("POSTHORN_TEST_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *page = mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED)
        shift = page;
}

static struct timespec moved(struct timespec now)
{
    int64_t still_us = shift->stands_at_us;
    if (still_us != 0)
        return (struct timespec){ .tv_sec = still_us / 1000000, .tv_nsec = still_us % 1000000 * 1000 };
    now.tv_sec += shift->shift_s;
    return now;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && shift != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *now = moved(*now);
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec exact;
    int status = clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){ .tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000 };
    return status;
}

time_t time(time_t *ret_now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (ret_now != NULL)
        *ret_now = exact.tv_sec;
    return exact.tv_sec;
}
