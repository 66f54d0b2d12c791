#include "render/image.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "render/child.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 256, ANSWER_MS = 5000, PREFIX_BYTES = 4 };

struct image_checker {
    char *program;
    struct child child;
};

/* The request and the answer for one image. */
struct image_query {
    unsigned char prefix[PREFIX_BYTES];
    const unsigned char *bytes;
    size_t size;
    size_t sent; /* including the prefix */
    char answer[ANSWER_BYTES];
    size_t answer_size;
};

struct image_checker *image_checker_new(const char *program)
{
    struct image_checker *checker = calloc(1, sizeof(*checker));
    if (checker == NULL || (checker->program = strdup(program)) == NULL)
        panic(PANIC_NO_MEMORY);
    checker->child = CHILD_NONE;
    return checker;
}

void image_checker_free(struct image_checker *checker)
{
    if (checker == NULL)
        return;
    child_stop(&checker->child);
    free(checker->program);
    free(checker);
}

void image_checker_cleanup(struct image_checker **checker)
{
    image_checker_free(*checker);
}

static bool checker_ensure_started(struct image_checker *checker, struct error *err)
{
    if (checker->child.pid != 0 && !child_has_ended(&checker->child))
        return true;
    child_stop(&checker->child);
    const char *const arguments[] = { checker->program, NULL };
    const struct child_program program = { .arguments = arguments, .script_path = checker->program };
    return child_start(&program, &checker->child, err);
}

/* ---- One query ---- */

static bool send_query_bytes(int fd, struct image_query *image_query)
{
    bool in_prefix = image_query->sent < PREFIX_BYTES;
    const unsigned char *from =
        in_prefix ? image_query->prefix + image_query->sent : image_query->bytes + (image_query->sent - PREFIX_BYTES);
    size_t left = in_prefix ? PREFIX_BYTES - image_query->sent : image_query->size + PREFIX_BYTES - image_query->sent;
    ssize_t count = send(fd, from, left, MSG_NOSIGNAL);
    if (count > 0)
        image_query->sent += (size_t)count;
    return count >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool receive_answer(int fd, struct image_query *image_query)
{
    size_t left = sizeof(image_query->answer) - 1 - image_query->answer_size;
    ssize_t count = left > 0 ? read(fd, image_query->answer + image_query->answer_size, left) : 0;
    if (count > 0)
        image_query->answer_size += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool is_answered(const struct image_query *image_query)
{
    return image_query->answer_size > 0 && image_query->answer[image_query->answer_size - 1] == '\n';
}

/* False: the process died or took too long. */
static bool exchange_query(const struct child *child, struct image_query *image_query)
{
    int64_t until_us = clock_monotonic_us() + ANSWER_MS * US_PER_MS;
    while (!is_answered(image_query)) {
        bool all_sent = image_query->sent == image_query->size + PREFIX_BYTES;
        struct pollfd streams[] = {
            { .fd = child->out_fd, .events = POLLIN },
            { .fd = all_sent ? -1 : child->in_fd, .events = POLLOUT },
        };
        int64_t left_us = until_us - clock_monotonic_us();
        int ready = poll(streams, ARRAY_COUNT(streams), left_us > 0 ? (int)(left_us / US_PER_MS) : 0);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (streams[1].revents != 0 && !send_query_bytes(child->in_fd, image_query))
            return false;
        if (streams[0].revents != 0 && !receive_answer(child->out_fd, image_query))
            return false;
    }
    image_query->answer[image_query->answer_size - 1] = '\0';
    return true;
}

/* ---- The answer ---- */

static bool reject_file(struct image_facts *facts, const char *problem)
{
    *facts = (struct image_facts){ .type = IMAGE_NONE };
    snprintf(facts->problem, sizeof(facts->problem), "%.*s", IMAGE_PROBLEM_BYTES - 1, problem);
    utf8_drop_malformed(facts->problem);
    return true;
}

/* Reads the next number of the line; 0, which is never valid, when it is missing or out of range. */
static int64_t take_fact(char **at)
{
    char *text = *at;
    char *end = text + strcspn(text, " ");
    *at = *end != '\0' ? end + 1 : end;
    *end = '\0';
    int64_t number;
    return int64_parse(text, &number) && number > 0 && number <= UINT32_MAX ? number : 0;
}

static bool read_facts(char *answer, struct image_facts *ret_facts)
{
    static const struct {
        const char *name;
        enum image_type type;
    } types[] = {
        { "jpeg ", IMAGE_JPEG }, { "png ", IMAGE_PNG }, { "gif ", IMAGE_GIF }, { "webp ", IMAGE_WEBP }, { "avif ", IMAGE_AVIF },
    };
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (!text_starts_with(answer, types[i].name))
            continue;
        char *at = answer + strlen(types[i].name);
        *ret_facts = (struct image_facts){ .type = types[i].type };
        ret_facts->width = take_fact(&at);
        ret_facts->height = take_fact(&at);
        ret_facts->frames = take_fact(&at);
        return ret_facts->width > 0 && ret_facts->height > 0 && ret_facts->frames > 0;
    }
    return false;
}

/* Refuses decompression bombs: small files that need gigabytes in a viewer. */
static bool check_image_bounds(struct image_facts *facts)
{
    int64_t pixels;
    int64_t all_pixels;
    if (facts->frames > IMAGE_MAX_FRAMES)
        return reject_file(facts, "it has more than 300 frames");
    if (__builtin_mul_overflow(facts->width, facts->height, &pixels) || pixels > IMAGE_MAX_PIXELS)
        return reject_file(facts, "it has more than 40 million pixels");
    if (__builtin_mul_overflow(pixels, facts->frames, &all_pixels) || all_pixels > IMAGE_MAX_ALL_PIXELS)
        return reject_file(facts, "its frames have more than 100 million pixels together");
    return true;
}

bool image_check(struct image_checker *checker, const void *bytes, size_t size, struct image_facts *ret_facts, struct error *err)
{
    if (size > IMAGE_MAX_BYTES)
        return reject_file(ret_facts, "it is larger than 15 MB");
    if (!checker_ensure_started(checker, err))
        return false;
    struct image_query image_query = {
        .prefix = { (unsigned char)(size >> 24), (unsigned char)(size >> 16), (unsigned char)(size >> 8), (unsigned char)size },
        .bytes = bytes,
        .size = size,
    };
    bool is_answer = exchange_query(&checker->child, &image_query);
    if (is_answer && text_starts_with(image_query.answer, "- "))
        return reject_file(ret_facts, image_query.answer + 2);
    if (is_answer && read_facts(image_query.answer, ret_facts))
        return check_image_bounds(ret_facts);
    child_stop(&checker->child); /* it died or gave a malformed answer */
    return reject_file(ret_facts, "it cannot be read");
}
