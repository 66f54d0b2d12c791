#include "sender/sender.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "sender/delivery_queue.h"
#include "sender/restore_guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- Starting ---- */

/* Every database has a token key of its own, so its hash identifies the installation. */
static struct journal_location journal_location_of(const struct sender_config *config)
{
    const struct engine *engine = installation_engine(config->installation);
    unsigned char hash[SECRET_HASH_BYTES];
    struct journal_location location = { .data_dir = config->data_dir };
    sha256(engine->token_key, sizeof(engine->token_key), hash);
    memcpy(&location.installation, hash, sizeof(location.installation));
    return location;
}

static void start_threads(struct sender *sender)
{
    delivery_workers_start(sender);
    if (pthread_create(&sender->capture_worker_thread, NULL, capture_worker_run, sender) != 0 ||
        pthread_create(&sender->result_writer_thread, NULL, result_writer_run, sender) != 0 ||
        pthread_create(&sender->refill_thread, NULL, refill_run, sender) != 0)
        panic(PANIC_NO_THREAD);
}

/* Before anything is leased by this sender, or begun by the jobs of its process. */
static bool guard_restore(const struct sender_config *config, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    DB_CONN_SCOPE conn = NULL;
    struct work work = { .engine = installation_engine(config->installation), .arena = arena, .now_us = clock_now_us() };
    if (!installation_connect(config->installation, &conn, err))
        return false;
    work.conn = conn;
    return restore_guard_pass(&work, config->data_dir, err);
}

bool sender_start(const struct sender_config *config, struct sender **ret_sender, struct error *err)
{
    struct journal *journal;
    struct journal_location location = journal_location_of(config);
    if (!guard_restore(config, err) || !journal_open(&location, config->owner, &journal, err))
        return false;
    struct sender *sender = calloc(1, sizeof(*sender));
    if (sender == NULL)
        panic(PANIC_NO_MEMORY);
    sender->config = *config;
    sender->engine = installation_engine(config->installation);
    sender->journal_location = location;
    sender->journal = journal;
    sender->slots = crash_slots_open(config->data_dir, config->owner);
    sender->leases_renewed_us = clock_monotonic_us();
    pthread_mutex_init(&sender->mutex, NULL);
    sender->refill_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sender->refill_fd < 0)
        panic(PANIC_NO_DESCRIPTOR);
    pthread_cond_init(&sender->results_ready, NULL);
    pthread_cond_init(&sender->capture_wanted, NULL);
    start_threads(sender);
    *ret_sender = sender;
    return true;
}

/* ---- Stopping ---- */

static void set_and_wake_all(struct sender *sender, bool *flag)
{
    pthread_mutex_lock(&sender->mutex);
    *flag = true;
    refill_wake(sender);
    pthread_cond_broadcast(&sender->results_ready);
    pthread_cond_broadcast(&sender->capture_wanted);
    pthread_mutex_unlock(&sender->mutex);
}

/* The result writer ends last, since it writes the results of all others. */
static void stop_threads(struct sender *sender)
{
    set_and_wake_all(sender, &sender->is_stopping);
    pthread_join(sender->refill_thread, NULL);
    pthread_join(sender->capture_worker_thread, NULL);
    delivery_workers_stop(sender);
    set_and_wake_all(sender, &sender->workers_ended);
    pthread_join(sender->result_writer_thread, NULL);
    delivery_workers_free(sender);
}

/* Results that the database did not take are lost here. The journal keeps them for the next process. */
static void free_queue(struct sender *sender)
{
    while (sender->queue != NULL) {
        struct queue_item *item = sender->queue;
        sender->queue = item->next;
        arena_free(item->arena);
    }
}

void sender_stop(struct sender *sender)
{
    if (sender == NULL)
        return;
    stop_threads(sender);
    crash_slots_close(sender->slots, sender->is_released);
    if (sender->is_released)
        journal_remove(sender->journal);
    else
        journal_close(sender->journal);
    close(sender->refill_fd);
    pthread_cond_destroy(&sender->results_ready);
    pthread_cond_destroy(&sender->capture_wanted);
    pthread_mutex_destroy(&sender->mutex);
    free_queue(sender);
    free(sender);
}

/* ---- For callers ---- */

bool sender_has_relay(const struct sender *sender)
{
    return sender->config.relays != NULL;
}

bool sender_signs(const struct sender *sender)
{
    return !sender->config.leaves_unsigned;
}
