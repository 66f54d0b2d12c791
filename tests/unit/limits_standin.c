#include "limits_standin.h"

#include "temp_folder.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { CLOCK_BYTES = 16, TRIES = 3000, PAUSE_US = 10000 };

void limits_server_make(struct limits_server *server)
{
    *server = (struct limits_server){ .folder = "/tmp/posthorn-limits-XXXXXX" };
    make_folder(server->folder);
    char path[96];
    snprintf(path, sizeof(path), "%s/clock", server->folder);
    snprintf(server->socket_path, sizeof(server->socket_path), "%s/socket", server->folder);
    snprintf(server->address, sizeof(server->address), "unix://%s", server->socket_path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, CLOCK_BYTES) == 0);
    server->clock = mmap(NULL, CLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(server->clock != MAP_FAILED);
    close(fd);
}

void limits_server_set_clock(struct limits_server *server, int64_t now_us)
{
    __atomic_store_n(&server->clock[1], now_us, __ATOMIC_SEQ_CST);
}

static void set_variables(const struct limits_server *server)
{
    char self[4096] = "";
    char library[4200];
    char clock[96];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = size > 0 ? strrchr(self, '/') : NULL;
    snprintf(library, sizeof(library), "%.*s/posthorn-clock.so", slash != NULL ? (int)(slash - self) : 0, self);
    snprintf(clock, sizeof(clock), "%s/clock", server->folder);
    setenv("LD_PRELOAD", library, 1);
    setenv("POSTHORN_TEST_CLOCK", clock, 1);
}

/* Debian has the server in redis-tools too, under the name of its tool for checking files. */
static void become_server(const struct limits_server *server)
{
    const char *const argv[] = { "redis-server",      "--port",     "0",       "--unixsocket",
                                 server->socket_path, "--save",     "",        "--dir",
                                 server->folder,      "--loglevel", "warning", "--logfile",
                                 "/dev/null",         NULL };
    char *copies[ARRAY_COUNT(argv)] = { NULL };
    for (size_t i = 0; argv[i] != NULL; i++)
        copies[i] = strdup(argv[i]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_variables(server);
    execvp("valkey-server", copies);
    execv("/usr/bin/redis-check-rdb", copies);
    _exit(127);
}

static redisContext *connected(const struct limits_server *server)
{
    redisContext *context = redisConnectUnix(server->socket_path);
    if (context != NULL && context->err == 0)
        return context;
    redisFree(context);
    return NULL;
}

void limits_server_start(struct limits_server *server)
{
    server->pid = fork();
    if (server->pid == 0)
        become_server(server);
    assert_true(server->pid > 0);
    redisContext *context = NULL;
    for (int i = 0; i < TRIES && (context = connected(server)) == NULL; i++)
        usleep(PAUSE_US);
    assert_non_null(context);
    redisFree(context);
}

void limits_server_signal(struct limits_server *server, int number)
{
    assert_int_equal(kill(server->pid, number), 0);
    if (number != SIGKILL)
        return;
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void limits_server_remove(struct limits_server *server)
{
    if (server->pid != 0)
        limits_server_signal(server, SIGKILL);
    munmap(server->clock, CLOCK_BYTES);
    remove_folder(server->folder);
}

long long limits_server_do(const struct limits_server *server, const char *command)
{
    redisContext *context = connected(server);
    assert_non_null(context);
    redisReply *reply = redisCommand(context, command);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    freeReplyObject(reply);
    redisFree(context);
    return number;
}
