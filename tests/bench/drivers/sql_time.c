/*
 * sql_time: measures one statement, repeated on one connection. It is not
 * prepared, and its values are in its text. The rows come in the binary format.
 * Prints one line of JSON.
 *
 *   sql_time --database URL --duration-ms 3000 < STATEMENT
 */
#include "measure.h"

#include <getopt.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATEMENT_MAX_BYTES = 64 * 1024, RUNS_MIN = 5 };

static struct options {
    const char *database;
    long duration_ms;
} options = { .duration_ms = 3000 };

static void read_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "database", required_argument, NULL, 'd' },
        { "duration-ms", required_argument, NULL, 't' },
        { 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'd')
            options.database = optarg;
        else if (option == 't')
            options.duration_ms = parse_number("--duration-ms", optarg, 1, 600000);
        else
            die("sql_time: unknown option");
    }
    if (options.database == NULL)
        die("sql_time: --database is missing");
}

static const char *read_statement(void)
{
    static char text[STATEMENT_MAX_BYTES];
    size_t size = fread(text, 1, sizeof(text) - 1, stdin);
    if (size == 0 || size == sizeof(text) - 1)
        die("sql_time: no statement, or one too long");
    text[size] = '\0';
    return text;
}

static PGconn *connect_to(const char *database)
{
    PGconn *pg = PQconnectdb(database);
    if (PQstatus(pg) != CONNECTION_OK)
        die("sql_time: %s", PQerrorMessage(pg));
    PQclear(PQexec(pg, "set search_path to posthorn"));
    return pg;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    const char *statement = read_statement();
    PGconn *pg = connect_to(options.database);
    struct latencies latencies;
    latencies_init(&latencies);
    int rows = 0;
    int64_t end_ns = now_ns() + options.duration_ms * 1000000;
    while (now_ns() < end_ns || latencies.total < RUNS_MIN) {
        int64_t begun_ns = now_ns();
        PGresult *result = PQexecParams(pg, statement, 0, NULL, NULL, NULL, NULL, 1);
        if (PQresultStatus(result) != PGRES_TUPLES_OK)
            die("sql_time: %s", PQerrorMessage(pg));
        rows = PQntuples(result);
        PQclear(result);
        latencies_record(&latencies, now_ns() - begun_ns);
    }
    printf("{\"p50Us\":%ld,\"p99Us\":%ld,\"runs\":%lu,\"rows\":%d}\n", latencies_percentile_us(&latencies, 50),
           latencies_percentile_us(&latencies, 99), (unsigned long)latencies.total, rows);
    PQfinish(pg);
    return 0;
}
