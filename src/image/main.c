/*
 * posthorn-image: a sandboxed subprocess that inspects untrusted images.
 *
 * Standard input has, for each image, four bytes of size (big-endian) and the
 * bytes of the image. Standard output has one line per image:
 * "png 640 480 1" (type, width, height, frames), or "- " and the problem.
 *
 * Before it reads the first byte it limits its memory and time, and enters
 * seccomp strict mode, which allows only reading, writing and exiting. So even an
 * exploited bug of the inspection could only give a wrong result. The workers
 * start it with further restrictions (render/child.h). It ends at the end of its
 * input.
 */
#include "image/inspect.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1 /* sanitizers need more memory and other system calls */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

enum {
    IMAGE_MAX_BYTES = 16 * 1000 * 1000,
    MEMORY_BYTES = 64 * 1024 * 1024,
    CPU_SECONDS = 20, /* for all images of the process; an inspection takes milliseconds */
    LINE_BYTES = 128,
};

static const char *const kind_names[] = {
    [IMAGE_KIND_NONE] = "-",  [IMAGE_KIND_JPEG] = "jpeg", [IMAGE_KIND_PNG] = "png",
    [IMAGE_KIND_GIF] = "gif", [IMAGE_KIND_WEBP] = "webp", [IMAGE_KIND_AVIF] = "avif",
};

static unsigned char image[IMAGE_MAX_BYTES];

/* Strict mode forbids exit_group, which exit() uses; SYS_exit ends the only thread. */
static void exit_process(int status)
{
    syscall(SYS_exit, status);
}

static bool read_exactly(unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = read(STDIN_FILENO, bytes, size);
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

static bool write_exactly(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = write(STDOUT_FILENO, bytes, size);
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

static bool write_result(const struct image_header *header)
{
    char line[LINE_BYTES];
    if (header->kind == IMAGE_KIND_NONE)
        snprintf(line, sizeof(line), "- %s\n", header->problem);
    else
        snprintf(line, sizeof(line), "%s %llu %llu %llu\n", kind_names[header->kind], (unsigned long long)header->width,
                 (unsigned long long)header->height, (unsigned long long)header->frames);
    return write_exactly(line, strlen(line));
}

static void confine(void)
{
    const struct rlimit memory = { .rlim_cur = MEMORY_BYTES, .rlim_max = MEMORY_BYTES };
    const struct rlimit time = { .rlim_cur = CPU_SECONDS, .rlim_max = CPU_SECONDS };
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
    setrlimit(RLIMIT_CPU, &time);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
#ifndef HAS_SANITIZER
    setrlimit(RLIMIT_AS, &memory);
    /* If the kernel has no seccomp (EINVAL), the bounds above and those of child.h still apply. */
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
#else
    (void)memory;
#endif
}

int main(void)
{
    unsigned char prefix[4];
    confine();
    while (read_exactly(prefix, sizeof(prefix))) {
        size_t size = (size_t)prefix[0] << 24 | (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];
        if (size > sizeof(image) || !read_exactly(image, size))
            break;
        struct image_header header = image_inspect(image, size);
        if (!write_result(&header))
            break;
    }
    exit_process(0);
    return 0;
}
