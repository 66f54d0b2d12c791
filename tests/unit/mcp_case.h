/*
 * What the tests of the protocol core share: a provider whose tools answer at
 * once, later, only when told to, or after asking; an HTTP transport that
 * records what it was given; and a stdio client over pipes.
 */
#pragma once

#include "mcp/provider.h"
#include "mcp/server.h"

#include <stdbool.h>

/* ---- The provider ---- */

struct mcp_server *case_server_new(const struct mcp_config *config);
void case_server_free(struct mcp_server *server);

/* Answers the calls of the tool "hold". */
void case_let_go(void);

/* Waits until so many calls of "hold" are held. */
void case_await_held(unsigned count);

/* How often the provider was told that a client lost interest. */
unsigned case_cancelled(void);

/* ---- HTTP ---- */

enum { CASE_MAX_HEADERS = 8 };

struct case_request {
    enum mcp_http_method method;
    const char *body;
    size_t body_size; /* 0: as long as the text */
    const char *headers[CASE_MAX_HEADERS][2];
    bool only_json;
    bool only_stream;
    const char *secret; /* credential */
};

/* A request under way and what came back. */
struct case_reply;

struct case_reply *case_begin(struct mcp_server *server, const struct case_request *request);

/* Waits for finish; gives the status. */
int case_status(struct case_reply *reply);

/* Waits until the text occurs in what was streamed; false after some seconds. */
bool case_streamed(struct case_reply *reply, const char *text);

/* After finish: the body, or the whole stream. */
const char *case_body(struct case_reply *reply);
bool case_is_stream(struct case_reply *reply);
bool case_was_immediate(const struct case_reply *reply);
const char *case_session(struct case_reply *reply);

/* Releases the exchange; before finish that is a client that is gone. */
void case_leave(struct case_reply *reply);
void case_end(struct case_reply *reply);

/* A POST of the older era in `session`, or of 2026-07-28 with its headers; to its end. The text lives until case_forget. */
const char *case_post(struct mcp_server *server, const char *session, const char *body, int *ret_status);
const char *case_post_modern(struct mcp_server *server, const char *method, const char *name, const char *params, int *ret_status);

/* initialize; gives the session id. */
const char *case_initialize(struct mcp_server *server, const char *version, const char *capabilities);
void case_forget(void);

/* ---- stdio ---- */

struct case_stdio;
struct case_stdio *case_stdio_new(struct mcp_server *server);
void case_stdio_send(struct case_stdio *stdio, const char *bytes, size_t size);
void case_stdio_line(struct case_stdio *stdio, const char *line);

/* The next line, without its end; NULL at the end or after some seconds. Valid until the next one. */
const char *case_stdio_next(struct case_stdio *stdio);

/* Ends the input; gives how many milliseconds the server took to return. */
int case_stdio_close(struct case_stdio *stdio);
void case_stdio_free(struct case_stdio *stdio);
