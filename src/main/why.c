/*
 * posthorn why EMAIL [SEND_ID], posthorn why MESSAGE_ID: explains the decisions
 * about mail to one address, or about one message, as one JSON object
 * (engine/sends/explain.h).
 */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/core/installation.h"
#include "engine/operator/operator.h"
#include "engine/sends/explain.h"

#include <stdio.h>

enum { OUTPUT_MAX_BYTES = 16 * 1024 * 1024 };

/* A Message-ID names brand, send and recipient, so it is the only operand. */
static bool write_message_decisions(struct work *work, const struct message_origin *origin, const struct options *options,
                                    struct json_writer *json, struct error *err)
{
    const char *brand = work_id(work, ID_BRAND, origin->brand_id);
    if (options->words[1] != NULL)
        return fail(err, ERR_INVALID_REQUEST, "sendId", "A Message-ID names its send. Leave SEND_ID out.");
    if (options->brand != NULL && !text_equal(options->brand, brand))
        return fail(err, ERR_BRAND_NOT_FOUND, "brand", "This message belongs to the brand %s.", brand);
    return operator_find_brand(work, brand, &work->brand_id, &work->organization_id, err) &&
           send_why_message(work, origin, json, err);
}

static bool write_address_decisions(struct work *work, const struct options *options, struct json_writer *json, struct error *err)
{
    const char *send = options->words[1];
    int64_t send_id = send != NULL ? id_decode(&work->engine->ids, ID_SEND, send) : 0;
    if (send != NULL && send_id == 0)
        return fail(err, ERR_SEND_NOT_FOUND, "sendId", "%.60s is not the id of a send.", send);
    return operator_find_brand(work, options->brand, &work->brand_id, &work->organization_id, err) &&
           send_why(work, options->words[0], send_id, json, err);
}

static bool write_decisions(struct work *work, struct installation *installation, const struct options *options,
                            struct json_writer *json, struct error *err)
{
    struct message_origin origin;
    DB_CONN_SCOPE conn = NULL;
    if (options->words[0] == NULL)
        return fail(err, ERR_INVALID_REQUEST, "email", "Name the address: posthorn why EMAIL [SEND_ID], or why MESSAGE_ID.");
    if (!installation_connect(installation, &conn, err))
        return false;
    work->conn = conn;
    if (message_id_open(work->engine, work->arena, options->words[0], &origin))
        return write_message_decisions(work, &origin, options, json, err);
    return write_address_decisions(work, options, json, err);
}

int command_why(const struct process *process, const struct options *options)
{
    struct installation_config config = {
        .data_dir = options->data_dir,
        .database_url = options->database_url,
        .runner_argv = process->runner_argv,
        .application_name = "posthorn why",
    };
    struct installation *installation = installation_new(&config);
    struct work work = { .engine = installation_engine(installation), .arena = process->arena, .now_us = clock_now_us() };
    BUF_SCOPE out;
    buf_init(&out, OUTPUT_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &out);

    struct error err = { .code = ERR_NONE };
    bool ok = write_decisions(&work, installation, options, &json, &err);
    installation_free(installation);
    if (!ok)
        return command_failed(&err);
    printf("%s\n", buf_text(&out));
    return 0;
}
