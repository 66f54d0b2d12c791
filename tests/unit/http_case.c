#include "http_case.h"

#include <time.h>

struct http_server *server;
unsigned port;
struct answer answer;
struct client client;

static struct api *api;
static struct mcp_server *mcp;

void pause_ms(long ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
}

void start_with(const struct http_server_config *config)
{
    struct error err = { .code = ERR_NONE };
    api = standin_api_new();
    mcp = standin_mcp_new();
    if (!http_server_start(config, api, mcp, &server, &err))
        fail_msg("%s: %s", err.param, err.message);
    port = http_server_port(server);
}

int start_server(void **state)
{
    (void)state;
    const struct http_server_config config = { .listen = "127.0.0.1:0", .metrics_listen = "127.0.0.1:0" };
    start_with(&config);
    return 0;
}

int stop_server(void **state)
{
    (void)state;
    http_server_stop(server, 500);
    server = NULL;
    standin_mcp_free(mcp);
    standin_api_free(api);
    return standin_mcp_alive() == 0 ? 0 : -1;
}

void ask(const char *method, const char *target, const char *lines, const char *body)
{
    client_ask(port, method, target, lines, body, &answer);
}

void assert_status(int status)
{
    if (answer.status != status)
        fail_msg("status %d instead of %d: %s%s", answer.status, status, answer.head, answer.body);
}

void assert_has(const char *text)
{
    if (strstr(answer.body, text) == NULL)
        fail_msg("%s is not in %s", text, answer.body);
}
