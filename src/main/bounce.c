/*
 * posthorn bounce: records a report of another mail system from standard input.
 * It serves as the pipe transport of a mail server, so its exit status is one of
 * sysexits.h: a message that could not be recorded is kept by the mail server
 * and delivered again.
 */
#include "cli/commands.h"

#include "api/service.h"
#include "base/buf.h"
#include "inbound/receive.h"
#include "mail/mime_reader.h"

#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, END_MS = 1000 };

/* False when it is empty or too large. */
static bool read_message(struct buf *message)
{
    ssize_t size = 0;
    char *room;
    while ((room = buf_room(message, READ_BYTES)) != NULL && (size = read(STDIN_FILENO, room, READ_BYTES)) > 0)
        buf_grown(message, (size_t)size);
    return size == 0 && message->size > 0 && message->size <= MIME_MESSAGE_MAX_BYTES;
}

static int record(const struct process *process, const struct options *options, const struct buf *message)
{
    struct api_config config = {
        .installation = {
            .data_dir = options->data_dir,
            .database_url = options->database_url,
            .runner_argv = process->runner_argv,
            .application_name = "posthorn bounce",
        },
    };
    const struct inbound_mail mail = {
        .message = { (const unsigned char *)buf_text(message), message->size },
        .return_path = options->return_path,
        .source = "command",
    };
    struct api *api = api_new(&config);
    struct error err = { .code = ERR_NONE };
    const char *answer;
    bool recorded = inbound_receive(api, process->arena, &mail, &answer, &err);
    if (recorded)
        printf("%s\n", answer);
    else
        command_failed(&err);
    api_free(api, END_MS);
    if (recorded)
        return EX_OK;
    return err.code == ERR_INVALID_REQUEST || err.code == ERR_PAYLOAD_TOO_LARGE ? EX_DATAERR : EX_TEMPFAIL;
}

int command_bounce(const struct process *process, const struct options *options)
{
    BUF_SCOPE message;
    buf_init(&message, MIME_MESSAGE_MAX_BYTES + READ_BYTES + 1);
    if (!read_message(&message)) {
        fprintf(stderr, "posthorn bounce: standard input must be a message of 1 to %d bytes\n", MIME_MESSAGE_MAX_BYTES);
        return EX_DATAERR;
    }
    return record(process, options, &message);
}
