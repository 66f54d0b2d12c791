/*
 * Priority of the server's process of a connection. Only a process that is
 * certainly the server's is changed: PostgreSQL tells its number, which means
 * nothing on another machine or in another container.
 */
#include "db/conn.h"

#include "base/scheduling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PATH_BYTES = 64, STAT_BYTES = 256 };

/* The parent of a process (proc(5), stat: the number after the state, behind the name in parentheses); 0 when there is none. */
static pid_t parent_of(pid_t pid)
{
    char path[PATH_BYTES];
    char text[STAT_BYTES];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    int parent = 0;
    return name_end != NULL && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* The process that listens on the other end of a local socket, as this process sees it; 0 when there is none. */
static pid_t listener_of(int socket_fd)
{
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof(peer);
    return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

void conn_lower_priority(struct db_conn *conn)
{
    if (!conn->is_low_due)
        return;
    pid_t pid = PQbackendPID(conn->pg);
    pid_t listener = listener_of(PQsocket(conn->pg));
    bool is_ours = conn->db->is_private && pid > 0 && listener > 0 && parent_of(pid) == listener;
    conn->is_low_due = is_ours && !scheduling_low_process(pid);
}

void db_lower_priority(struct db_conn *conn)
{
    conn->is_low = true;
    conn->is_low_due = conn->pg != NULL;
    conn_lower_priority(conn);
}
