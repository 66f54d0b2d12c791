/*
 * spam_time: measures the spam check alone. It asks a spam filter about one message
 * again and again, and prints the microseconds of each check and the score.
 *
 *   spam_time --filter spamd:127.0.0.1:783 --file mail.eml --count 20
 */
#include "base/clock.h"
#include "measure.h"
#include "spam/spam.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_MAX_BYTES = 16 * 1024 * 1024, COUNT_MAX = 100000 };

static struct bytes read_message(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned char *data = arena_alloc(arena, MESSAGE_MAX_BYTES);
    if (file == NULL)
        die("%s cannot be opened", path);
    size_t size = fread(data, 1, MESSAGE_MAX_BYTES, file);
    (void)fclose(file);
    return (struct bytes){ data, size };
}

static double check(struct spam_filter *filter, struct bytes message)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct spam_verdict verdict;
    const struct spam_patience patience = { .until_us = clock_monotonic_us() + SPAM_CHECK_MS * US_PER_MS };
    if (!spam_check(filter, arena, message, patience, &verdict, &err))
        die("%s", err.message);
    return verdict.score;
}

struct request {
    const char *filter;
    const char *file;
    long count;
};

static struct request read_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        { "filter", required_argument, NULL, 'f' },
        { "file", required_argument, NULL, 'm' },
        { "count", required_argument, NULL, 'n' },
        { NULL, 0, NULL, 0 },
    };
    struct request request = { .count = 1 };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'f')
            request.filter = optarg;
        else if (option == 'm')
            request.file = optarg;
        else if (option == 'n')
            request.count = parse_number("--count", optarg, 1, COUNT_MAX);
    }
    if (request.filter == NULL || request.file == NULL)
        die("usage: spam_time --filter FILTER --file FILE --count COUNT");
    return request;
}

int main(int argc, char **argv)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct spam_filter *filter = NULL;
    struct request request = read_arguments(argc, argv);
    struct bytes message = read_message(arena, request.file);
    if (!spam_filter_new(request.filter, &filter, &err))
        die("%s", err.message);
    double score = check(filter, message); /* the version is asked for once */
    int64_t started_ns = now_ns();
    for (long i = 0; i < request.count; i++)
        check(filter, message);
    printf("{\"us\": %.1f, \"score\": %.1f}\n", (double)(now_ns() - started_ns) / 1000 / (double)request.count, score);
    spam_filter_free(filter);
    return 0;
}
