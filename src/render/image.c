#include "render/image.h"

#include "base/clock.h"
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

/* What is sent and read for one image. */
struct question {
    unsigned char prefix[PREFIX_BYTES];
    const unsigned char *bytes;
    size_t size;
    size_t sent; /* prefix included */
    char answer[ANSWER_BYTES];
    size_t answer_size;
};

struct image_checker *image_checker_new(const char *program)
{
    struct image_checker *checker = calloc(1, sizeof(*checker));
    if (checker == NULL || (checker->program = strdup(program)) == NULL)
        abort();
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

static bool ensure_started(struct image_checker *checker, struct error *err)
{
    if (checker->child.pid != 0 && !child_has_ended(&checker->child))
        return true;
    child_stop(&checker->child);
    const char *const arguments[] = { checker->program, NULL };
    const struct child_program program = { .arguments = arguments, .script_path = checker->program };
    return child_start(&program, &checker->child, err);
}

/* ---- One question ---- */

static bool send_some(int fd, struct question *question)
{
    bool in_prefix = question->sent < PREFIX_BYTES;
    const unsigned char *from = in_prefix ? question->prefix + question->sent : question->bytes + (question->sent - PREFIX_BYTES);
    size_t left = in_prefix ? PREFIX_BYTES - question->sent : question->size + PREFIX_BYTES - question->sent;
    ssize_t count = send(fd, from, left, MSG_NOSIGNAL);
    if (count > 0)
        question->sent += (size_t)count;
    return count >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool receive_some(int fd, struct question *question)
{
    size_t left = sizeof(question->answer) - 1 - question->answer_size;
    ssize_t count = left > 0 ? read(fd, question->answer + question->answer_size, left) : 0;
    if (count > 0)
        question->answer_size += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool is_answered(const struct question *question)
{
    return question->answer_size > 0 && question->answer[question->answer_size - 1] == '\n';
}

/* False: the process died or takes too long. */
static bool ask(const struct child *child, struct question *question)
{
    int64_t until_us = clock_monotonic_us() + ANSWER_MS * US_PER_MS;
    while (!is_answered(question)) {
        bool all_sent = question->sent == question->size + PREFIX_BYTES;
        struct pollfd streams[] = {
            { .fd = child->out_fd, .events = POLLIN },
            { .fd = all_sent ? -1 : child->in_fd, .events = POLLOUT },
        };
        int64_t left_us = until_us - clock_monotonic_us();
        int ready = poll(streams, ARRAY_COUNT(streams), left_us > 0 ? (int)(left_us / US_PER_MS) : 0);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (streams[1].revents != 0 && !send_some(child->in_fd, question))
            return false;
        if (streams[0].revents != 0 && !receive_some(child->out_fd, question))
            return false;
    }
    question->answer[question->answer_size - 1] = '\0';
    return true;
}

/* ---- What the answer means ---- */

static bool refuse(struct image_facts *facts, const char *problem)
{
    *facts = (struct image_facts){ .type = IMAGE_NONE };
    snprintf(facts->problem, sizeof(facts->problem), "%.*s", IMAGE_PROBLEM_BYTES - 1, problem);
    utf8_drop_malformed(facts->problem);
    return true;
}

/* The next number of the line; 0, which no image has, when there is none of a sane size. */
static int64_t take_number(char **at)
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
        ret_facts->width = take_number(&at);
        ret_facts->height = take_number(&at);
        ret_facts->frames = take_number(&at);
        return ret_facts->width > 0 && ret_facts->height > 0 && ret_facts->frames > 0;
    }
    return false;
}

/* An image of few bytes can cost its viewers gigabytes; such are not passed on. */
static bool check_bounds(struct image_facts *facts)
{
    int64_t pixels;
    int64_t all_pixels;
    if (facts->frames > IMAGE_MAX_FRAMES)
        return refuse(facts, "it has more than 300 frames");
    if (__builtin_mul_overflow(facts->width, facts->height, &pixels) || pixels > IMAGE_MAX_PIXELS)
        return refuse(facts, "it has more than 40 million pixels");
    if (__builtin_mul_overflow(pixels, facts->frames, &all_pixels) || all_pixels > IMAGE_MAX_ALL_PIXELS)
        return refuse(facts, "its frames have more than 100 million pixels together");
    return true;
}

bool image_check(struct image_checker *checker, const void *bytes, size_t size, struct image_facts *ret_facts, struct error *err)
{
    if (size > IMAGE_MAX_BYTES)
        return refuse(ret_facts, "it is larger than 15 MB");
    if (!ensure_started(checker, err))
        return false;
    struct question question = {
        .prefix = { (unsigned char)(size >> 24), (unsigned char)(size >> 16), (unsigned char)(size >> 8), (unsigned char)size },
        .bytes = bytes,
        .size = size,
    };
    bool is_answer = ask(&checker->child, &question);
    if (is_answer && text_starts_with(question.answer, "- "))
        return refuse(ret_facts, question.answer + 2);
    if (is_answer && read_facts(question.answer, ret_facts))
        return check_bounds(ret_facts);
    child_stop(&checker->child); /* it died, or does not know what it says */
    return refuse(ret_facts, "it cannot be read");
}
