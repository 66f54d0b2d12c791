#include "api/limits/limit_connection.h"

#include "base/clock.h"
#include "base/panic.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Script of the sliding window. A window is a hash from second to calls. It
 * holds only the seconds that count (LIMIT_SLOTS). When the clock went back,
 * the call counts in the newest second.
 */
static const char script[] = "local now = tonumber(redis.call('TIME')[1]) "
                             "local limit, slots = tonumber(ARGV[1]), tonumber(ARGV[2]) "
                             "local all = redis.call('HGETALL', KEYS[1]) "
                             "local newest = now "
                             "for i = 1, #all, 2 do newest = math.max(newest, tonumber(all[i])) end "
                             "local counted, oldest, admitted = 0, nil, 0 "
                             "for i = 1, #all, 2 do "
                             "  local second = tonumber(all[i]) "
                             "  if second <= newest - slots then redis.call('HDEL', KEYS[1], all[i]) "
                             "  else counted = counted + tonumber(all[i + 1]) oldest = math.min(oldest or second, second) end "
                             "end "
                             "if counted < limit then "
                             "  redis.call('HINCRBY', KEYS[1], string.format('%d', newest), 1) "
                             "  redis.call('EXPIRE', KEYS[1], newest - now + slots + 1) "
                             "  counted, admitted, oldest = counted + 1, 1, oldest or newest "
                             "end "
                             "return {admitted, counted, oldest and oldest + slots or newest + slots - 1, now}";

static void free_reply(redisReply **reply)
{
    if (*reply != NULL)
        freeReplyObject(*reply);
}
#define REPLY_SCOPE CLEANUP(free_reply) redisReply *

static struct timeval time_limit(int ms)
{
    return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * US_PER_MS };
}

static void describe_failure(const redisContext *context, const redisReply *reply, char ret_why[LIMIT_WHY_BYTES])
{
    const char *why = "out of memory";
    if (reply != NULL)
        why = reply->type == REDIS_REPLY_ERROR ? reply->str : "an unexpected answer";
    else if (context != NULL && context->err == REDIS_ERR_IO && errno == EAGAIN)
        why = "no answer in time";
    else if (context != NULL)
        why = context->errstr;
    snprintf(ret_why, LIMIT_WHY_BYTES, "%s", why);
}

/* ---- Connecting ---- */

/* Logs in, selects the database and loads the script in one round trip. */
static bool set_up_session(struct limit_connection *connection, const struct limit_address *address, char ret_why[LIMIT_WHY_BYTES])
{
    redisContext *context = connection->context;
    int asked = 0;
    if (address->password != NULL && address->user != NULL)
        asked += redisAppendCommand(context, "AUTH %s %s", address->user, address->password) == REDIS_OK;
    else if (address->password != NULL)
        asked += redisAppendCommand(context, "AUTH %s", address->password) == REDIS_OK;
    if (address->database != 0)
        asked += redisAppendCommand(context, "SELECT %d", address->database) == REDIS_OK;
    asked += redisAppendCommand(context, "SCRIPT LOAD %s", script) == REDIS_OK;
    for (; asked > 0; asked--) {
        REPLY_SCOPE reply = NULL;
        int expected = asked > 1 ? REDIS_REPLY_STATUS : REDIS_REPLY_STRING;
        if (redisGetReply(context, (void **)&reply) != REDIS_OK || reply->type != expected) {
            describe_failure(context, reply, ret_why);
            return false;
        }
        if (expected == REDIS_REPLY_STRING)
            snprintf(connection->script_hash, sizeof(connection->script_hash), "%s", reply->str);
    }
    return true;
}

struct limit_connection *limit_connect(const struct limit_address *address, const char *host, char ret_why[LIMIT_WHY_BYTES])
{
    redisContext *context = address->host != NULL ? redisConnectWithTimeout(host != NULL ? host : address->host, address->port,
                                                                            time_limit(LIMIT_CONNECT_MS))
                                                  : redisConnectUnixWithTimeout(address->socket_path, time_limit(LIMIT_CONNECT_MS));
    bool connected = context != NULL && context->err == 0 && redisSetTimeout(context, time_limit(LIMIT_ANSWER_MS)) == REDIS_OK;
    if (!connected) {
        describe_failure(context, NULL, ret_why);
        if (context != NULL)
            redisFree(context);
        return NULL;
    }
    /* Subprocesses must not inherit the socket. */
    fcntl(context->fd, F_SETFD, FD_CLOEXEC);
    struct limit_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL)
        panic(PANIC_NO_MEMORY);
    connection->context = context;
    if (set_up_session(connection, address, ret_why))
        return connection;
    limit_disconnect(connection);
    return NULL;
}

void limit_disconnect(struct limit_connection *connection)
{
    if (connection == NULL)
        return;
    redisFree(connection->context);
    free(connection);
}

void limit_peer(const struct limit_connection *connection, char ret_host[LIMIT_HOST_BYTES])
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    ret_host[0] = '\0';
    if (getpeername(connection->context->fd, (struct sockaddr *)&peer, &size) == 0 && peer.ss_family != AF_UNIX &&
        getnameinfo((struct sockaddr *)&peer, size, ret_host, LIMIT_HOST_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        ret_host[0] = '\0';
}

/* ---- Counting ---- */

static bool is_count(const redisReply *reply)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 4)
        return false;
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    return true;
}

enum limit_asked limit_ask(struct limit_connection *connection, const char *window, int64_t limit, struct limit_count *ret_count,
                           char ret_why[LIMIT_WHY_BYTES])
{
    redisContext *context = connection->context;
    REPLY_SCOPE reply =
        redisCommand(context, "EVALSHA %s 1 %s %lld %d", connection->script_hash, window, (long long)limit, LIMIT_SLOTS);
    /* The server's script cache was flushed. */
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        freeReplyObject(reply);
        reply = redisCommand(context, "EVAL %s 1 %s %lld %d", script, window, (long long)limit, LIMIT_SLOTS);
    }
    if (is_count(reply)) {
        *ret_count = (struct limit_count){
            .admitted = reply->element[0]->integer == 1,
            .counted = reply->element[1]->integer,
            .reset_s = reply->element[2]->integer,
            .now_s = reply->element[3]->integer,
        };
        return LIMIT_ANSWERED;
    }
    bool reset = context->err == REDIS_ERR_IO && (errno == ECONNRESET || errno == EPIPE);
    describe_failure(context, reply, ret_why);
    return reply == NULL && (context->err == REDIS_ERR_EOF || reset) ? LIMIT_CLOSED : LIMIT_FAILED;
}

/* ---- Server version ---- */

/* Reads the value of a line "name:value" of INFO. */
static bool info_line(const char *info, const char *name, char *ret_text, size_t size)
{
    const char *line = strstr(info, name);
    if (line == NULL)
        return false;
    line += strlen(name);
    snprintf(ret_text, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    return true;
}

void limit_server(struct limit_connection *connection, char *ret_text, size_t size)
{
    char version[32];
    REPLY_SCOPE reply = redisCommand(connection->context, "INFO server");
    ret_text[0] = '\0';
    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        return;
    /* Valkey also reports a redis_version, for old clients. */
    if (info_line(reply->str, "\nvalkey_version:", version, sizeof(version)))
        snprintf(ret_text, size, "valkey %s", version);
    else if (info_line(reply->str, "\nredis_version:", version, sizeof(version)))
        snprintf(ret_text, size, "redis %s", version);
}
