#include "sender/lease_expiry.h"

#include "sender/journal_reader.h"
#include "sql/leasing.h"

#include <string.h>

static bool contains(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

/* Of the processes that are gone now: those that were gone at the last pass, and whose journal is not left to recovery. */
static struct text_list expired_owners(const struct text_list *before, const struct text_list *now,
                                       const struct text_list *recoverable, struct arena *arena)
{
    const char **owners = arena_array(arena, now->count + 1, sizeof(*owners));
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++)
        if (contains(before, now->items[i]) && !contains(recoverable, now->items[i]))
            owners[count++] = now->items[i];
    return (struct text_list){ owners, count };
}

static bool find_gone_owners(struct db_conn *conn, struct arena *arena, struct text_list *ret_gone, struct error *err)
{
    struct delivery_gone_owners_row *rows;
    size_t count;
    if (!sql_delivery_gone_owners(conn, arena, &rows, &count, err))
        return false;
    const char **owners = arena_array(arena, count + 1, sizeof(*owners));
    for (size_t i = 0; i < count; i++)
        owners[i] = rows[i].owner;
    *ret_gone = (struct text_list){ owners, count };
    return true;
}

/* The folder is read after the database, so that the journal of a process that has just ended is found. */
bool lease_expiry_pass(struct lease_expiry *expiry, const struct journal_location *location, struct db_conn *conn,
                       struct error *err)
{
    struct arena *arena = arena_new(0);
    struct text_list gone = { NULL, 0 };
    bool done = find_gone_owners(conn, arena, &gone, err);
    if (done && gone.count > 0) {
        struct text_list recoverable = journal_stale_owners(location, arena);
        struct delivery_expire_leases_params params = { expired_owners(&expiry->gone, &gone, &recoverable, arena) };
        done = params.owners.count == 0 || sql_delivery_expire_leases(conn, arena, &params, NULL, err);
    }
    lease_expiry_end(expiry);
    *expiry = (struct lease_expiry){ arena, gone };
    return done;
}

void lease_expiry_end(struct lease_expiry *expiry)
{
    arena_free(expiry->arena);
    *expiry = (struct lease_expiry){ .arena = NULL };
}
