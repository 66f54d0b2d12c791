/*
 * Prints what the reader of reports finds in each file: a line of JSON for each argument. With --times N, reads all files N times
 * and prints the processor time of one round.
 */
#include "base/json_write.h"
#include "base/text.h"
#include "inbound/report_class.h"
#include "mail/mime_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Valid until the next call. */
static struct bytes read_file(const char *path)
{
    static unsigned char bytes[MIME_MESSAGE_MAX_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        exit(1);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return (struct bytes){ bytes, size };
}

static void print_report(const char *path, const struct mail_report *report)
{
    BUF_SCOPE out;
    struct json_writer json;
    const char *slash = strrchr(path, '/');
    buf_init(&out, 64 * 1024);
    json_writer_init(&json, &out);
    json_object_begin(&json);
    json_member_text(&json, "file", slash != NULL ? slash + 1 : path);
    json_member_text(&json, "kind", mail_report_kind_name(report->kind));
    json_member_text(&json, "class", report->kind == MAIL_REPORT_FAILED ? bounce_class_name(report_class(report)) : "");
    json_member_int(&json, "code", report->code);
    json_member_text(&json, "enhanced", report->enhanced);
    json_member_text_if(&json, "recipient", report->recipient);
    json_member_text_if(&json, "diagnostic", report->diagnostic);
    json_member_text_if(&json, "messageId", report->message_id_count > 0 ? report->message_ids[0] : NULL);
    json_object_end(&json);
    printf("%s\n", buf_text(&out));
}

static void print_files(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct mail_report report;
        mail_report_read(arena, read_file(paths[i]), &report);
        print_report(paths[i], &report);
    }
}

/* The files are read from disk each time, as another program reads them. */
static void time_files(long times, int count, char **paths)
{
    clock_t start = clock();
    for (long round = 0; round < times; round++) {
        for (int i = 0; i < count; i++) {
            ARENA_SCOPE arena = arena_new(0);
            struct mail_report report;
            mail_report_read(arena, read_file(paths[i]), &report);
            (void)report_class(&report);
        }
    }
    printf("{\"files\":%d,\"secondsPerRound\":%.6f}\n", count, (double)(clock() - start) / CLOCKS_PER_SEC / (double)times);
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "--times") == 0)
        time_files(strtol(argv[2], NULL, 10), argc - 3, argv + 3);
    else
        print_files(argc - 1, argv + 1);
    return 0;
}
