/*
 * bare_server: a minimal HTTP server to compare with. It is libmicrohttpd with
 * an epoll pool. Each request gets a fixed reply, or the row of one prepared
 * SELECT over the libpq connection of its pool thread. It parses nothing,
 * authenticates nobody and writes no log.
 *
 * The replies are the bytes of --reply. With --database they are first put
 * into a thousand rows of a table of its own, one of which each request reads.
 * Prints "listening" and serves until SIGTERM.
 */
#include "measure.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <libpq-fe.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLY_MAX_BYTES = 256 * 1024, ROWS = 1000 };

static long port;
static long pool = 2;
static const char *database; /* NULL: fixed replies */

static char reply_bytes[REPLY_MAX_BYTES];
static size_t reply_size;

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },     { "pool", required_argument, NULL, 'n' },
        { "database", required_argument, NULL, 'd' }, { "reply", required_argument, NULL, 'r' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        FILE *file;
        switch (option) {
        case 'p': port = parse_number("--port", optarg, 1, 65535); break;
        case 'n': pool = parse_number("--pool", optarg, 1, 64); break;
        case 'd': database = optarg; break;
        case 'r':
            file = fopen(optarg, "re");
            if (file == NULL)
                die("cannot read %s", optarg);
            reply_size = fread(reply_bytes, 1, sizeof(reply_bytes), file);
            fclose(file);
            break;
        default: exit(2);
        }
    }
    if (port == 0 || reply_size == 0 || reply_size == sizeof(reply_bytes) || optind != argc)
        die("usage: bare_server --port N --reply FILE [--pool N] [--database URL]");
}

/* ---- The database ---- */

static PGconn *connect_to_database(void)
{
    PGconn *connection = PQconnectdb(database);
    if (PQstatus(connection) != CONNECTION_OK)
        die("database: %s", PQerrorMessage(connection));
    return connection;
}

static void run_sql(PGconn *connection, const char *sql, int parameter_count, const char *const *parameters)
{
    PGresult *result = PQexecParams(connection, sql, parameter_count, NULL, parameters, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        die("database: %s", PQerrorMessage(connection));
    PQclear(result);
}

static void create_rows(void)
{
    PGconn *connection = connect_to_database();
    const char *parameters[] = { reply_bytes };
    run_sql(connection, "SET client_min_messages = warning", 0, NULL);
    run_sql(connection, "DROP SCHEMA IF EXISTS bare_server CASCADE", 0, NULL);
    run_sql(connection, "CREATE SCHEMA bare_server", 0, NULL);
    run_sql(connection, "CREATE TABLE bare_server.reply (id bigint PRIMARY KEY, body text NOT NULL)", 0, NULL);
    run_sql(connection, "INSERT INTO bare_server.reply SELECT id, $1 FROM generate_series(0, 999) AS id", 1, parameters);
    run_sql(connection, "VACUUM ANALYZE bare_server.reply", 0, NULL);
    PQfinish(connection);
}

/* The connection of the calling pool thread. The threads live as long as the program. */
static PGconn *thread_connection(void)
{
    static _Thread_local PGconn *connection;
    if (connection == NULL) {
        connection = connect_to_database();
        PQclear(PQprepare(connection, "find_reply", "SELECT body FROM bare_server.reply WHERE id = $1", 1, NULL));
    }
    return connection;
}

static struct MHD_Response *selected_reply(void)
{
    static _Thread_local unsigned counter;
    char id[16];
    snprintf(id, sizeof(id), "%u", counter++ % ROWS);
    const char *parameters[] = { id };
    PGconn *connection = thread_connection();
    PGresult *result = PQexecPrepared(connection, "find_reply", 1, parameters, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        die("database: %s", PQerrorMessage(connection));
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)PQgetlength(result, 0, 0), PQgetvalue(result, 0, 0), MHD_RESPMEM_MUST_COPY);
    PQclear(result);
    return response;
}

/* ---- HTTP ---- */

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **request)
{
    (void)context;
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    static int begun;
    if (*request == NULL) {
        *request = &begun;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response = database != NULL
                                        ? selected_reply()
                                        : MHD_create_response_from_buffer(reply_size, reply_bytes, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    if (database != NULL)
        create_rows();

    /* Blocked before the pool starts, so that its threads inherit it and sigwait below is the only taker. */
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);

    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_THREAD_POOL_SIZE, (unsigned)pool, MHD_OPTION_END);
    if (daemon == NULL)
        die("cannot listen on port %ld", port);
    puts("listening");
    fflush(stdout);

    int signal_number;
    sigwait(&ends, &signal_number);
    MHD_stop_daemon(daemon);
    return 0;
}
