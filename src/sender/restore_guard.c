#include "sender/restore_guard.h"

#include "base/log.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "engine/core/restore_holds.h"
#include "sender/generation_file.h"

#include <string.h>
#include <unistd.h>

static int64_t random_folder(void)
{
    uint64_t number;
    random_bytes(&number, sizeof(number));
    return (int64_t)(number >> 2) + 1;
}

static bool is_of_installation(const struct work *work, const struct generation_file *file)
{
    return file->is_original && text_equal(file->installation, work->engine->name);
}

/* A folder without a file of its own gets a number. */
static bool register_folder(const struct work *work, int folder_fd, struct generation_file *file, struct error *err)
{
    if (is_of_installation(work, file))
        return true;
    *file = (struct generation_file){ true, work->engine->name, random_folder(), 0 };
    return generation_file_write(folder_fd, file, err);
}

static enum restore_finding judge(const struct work *work, const struct generation_file *file, const struct restore_find_row *known)
{
    if (file->generation > 0 && (!known->generation.set || known->generation.value < file->generation))
        return RESTORE_OF_DATABASE;
    bool can_tell = known->generation.set;
    bool was_away = known->last_moved_at.set && work->now_us - known->last_moved_at.value >= RESTORE_AWAY_US;
    return !can_tell && was_away ? RESTORE_UNCLEAR : RESTORE_NOT_FOUND;
}

static bool move_database(const struct work *work, struct generation_file *file, enum restore_finding *ret_finding,
                          int64_t *ret_held, struct error *err)
{
    struct restore_find_params find = { .folder = file->folder };
    struct restore_find_row *known;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !sql_restore_find(work->conn, work->arena, &find, &known, err))
        return false;
    *ret_finding = judge(work, file, known);
    struct restore_hold_params hold = { .now = work->now_us };
    if (*ret_finding != RESTORE_NOT_FOUND && !sql_restore_hold(work->conn, work->arena, &hold, ret_held, err))
        return false;
    bool is_ahead = known->generation.set && known->generation.value > file->generation;
    file->generation = (is_ahead ? known->generation.value : file->generation) + 1;
    struct restore_move_params move = { .folder = file->folder, .generation = file->generation, .now = work->now_us };
    return sql_restore_move(work->conn, work->arena, &move, NULL, err) && db_tx_commit(&tx, err);
}

bool restore_guard_check(const struct work *work, const char *data_dir, enum restore_finding *ret_finding, int64_t *ret_held,
                         struct error *err)
{
    int folder_fd;
    struct generation_file file;
    *ret_held = 0;
    if (!generation_folder_lock(data_dir, &folder_fd, err))
        return false;
    bool ok = generation_file_read(work->arena, folder_fd, &file, err) && register_folder(work, folder_fd, &file, err) &&
              move_database(work, &file, ret_finding, ret_held, err) && generation_file_write(folder_fd, &file, err);
    close(folder_fd);
    return ok;
}

bool restore_guard_pass(const struct work *work, const char *data_dir, struct error *err)
{
    enum restore_finding finding;
    int64_t held;
    if (!restore_guard_check(work, data_dir, &finding, &held, err))
        return false;
    const char *why = finding == RESTORE_OF_DATABASE ? "The database is older than this data folder, so it was restored."
                                                     : "The data folder is new or a copy, and the database was not used for long.";
    if (held > 0)
        log_event(LOG_WARNING, "restore.held",
                  "%s %lld sends may have gone out already and are held. See posthorn admin restore status.", why, (long long)held);
    return true;
}
