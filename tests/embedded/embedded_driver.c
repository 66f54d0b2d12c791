/*
 * The embedding API as a transport of the test cases: a call a line on standard
 * input, an answer a line on standard output.
 *
 *     embedded_driver DATA_DIR RUNNER [BRAND]
 */
#include "posthorn.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static void answer(const struct posthorn_reply *reply)
{
    printf("{\"ok\":%s,\"status\":%d,\"body\":%s}\n", reply->ok ? "true" : "false", reply->status, reply->body);
    fflush(stdout);
}

static void make_call(struct posthorn *posthorn, const char *line)
{
    json_t *request = json_loads(line, 0, NULL);
    char *arguments = json_dumps(json_object_get(request, "arguments"), 0);
    struct posthorn_call call = {
        .struct_size = sizeof(call),
        .name = json_string_value(json_object_get(request, "name")),
        .arguments = arguments,
        .idempotency_key = json_string_value(json_object_get(request, "idempotencyKey")),
    };
    struct posthorn_reply *reply = posthorn_call(posthorn, &call);
    answer(reply);
    posthorn_reply_free(reply);
    free(arguments);
    json_decref(request);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *const runner[] = { argv[2], "runner", "--data", argv[1], NULL };
    struct posthorn_options options = {
        .struct_size = sizeof(options),
        .data_dir = argv[1],
        .brand_id = argc > 3 ? argv[3] : NULL,
        .runner_argv = runner,
    };
    struct posthorn *posthorn = posthorn_open(&options);
    if (posthorn == NULL)
        return 1;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0)
        make_call(posthorn, line);
    free(line);
    posthorn_close(posthorn);
    return 0;
}
