#include "smtp/relay_state.h"

#include "base/clock.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_BACKOFF_MS = 1000,
    LONGEST_BACKOFF_MS = 5 * 60 * 1000,
    /* The time to the next try; another loop may have closed a session meanwhile. */
    RETRY_MS = 50,
};

/* ---- Sessions ---- */

bool smtp_relay_open(struct smtp_relay *relay)
{
    pthread_mutex_lock(&relay->set->lock);
    bool has_room = relay->open < relay->settings.connections;
    relay->open += has_room;
    pthread_mutex_unlock(&relay->set->lock);
    return has_room;
}

void smtp_relay_close(struct smtp_relay *relay)
{
    pthread_mutex_lock(&relay->set->lock);
    relay->open--;
    pthread_mutex_unlock(&relay->set->lock);
}

/* ---- Messages ---- */

bool smtp_relay_begin(struct smtp_relay *relay, struct smtp_permit *permit)
{
    if (permit->is_probe) /* a probe has one message only */
        return false;
    pthread_mutex_lock(&relay->set->lock);
    bool had_failed = relay->failures > 0;
    bool is_permitted = !had_failed || (!relay->is_half_open && clock_monotonic_us() >= relay->backoff_until_us);
    if (is_permitted) {
        permit->failure_epoch = relay->failure_epoch;
        permit->is_probe = relay->is_half_open = had_failed;
    }
    pthread_mutex_unlock(&relay->set->lock);
    return is_permitted;
}

/* The caller holds the lock. */
static void end_probe(struct smtp_relay *relay, struct smtp_permit *permit)
{
    if (permit->is_probe)
        relay->is_half_open = false;
    permit->is_probe = false;
}

void smtp_relay_worked(struct smtp_relay *relay, struct smtp_permit *permit, bool accepted)
{
    pthread_mutex_lock(&relay->set->lock);
    relay->accepted += accepted;
    relay->refused += !accepted;
    end_probe(relay, permit);
    /* A message begun before the last failure does not show that the relay has recovered. */
    if (relay->failures > 0 && permit->failure_epoch == relay->failure_epoch) {
        relay->failures = 0;
        relay->trouble[0] = '\0';
    }
    pthread_mutex_unlock(&relay->set->lock);
}

/* Exponential backoff with a jitter of a fifth, so that many senders do not retry at the same time. */
static int64_t backoff_ms(unsigned failures)
{
    int64_t ms = FIRST_BACKOFF_MS;
    for (unsigned i = 1; i < failures && ms < LONGEST_BACKOFF_MS; i++)
        ms *= 2;
    ms = ms < LONGEST_BACKOFF_MS ? ms : LONGEST_BACKOFF_MS;
    return ms - ms / 5 + (int64_t)randombytes_uniform((uint32_t)(ms * 2 / 5) + 1);
}

void smtp_relay_failed(struct smtp_relay *relay, struct smtp_permit *permit, const char *why)
{
    pthread_mutex_lock(&relay->set->lock);
    end_probe(relay, permit);
    if (permit->failure_epoch == relay->failure_epoch) {
        relay->failure_epoch++;
        relay->failures++;
        relay->backoff_until_us = clock_monotonic_us() + backoff_ms(relay->failures) * US_PER_MS;
        snprintf(relay->trouble, sizeof(relay->trouble), "%s", why);
    }
    pthread_mutex_unlock(&relay->set->lock);
}

void smtp_relay_abandon(struct smtp_relay *relay, struct smtp_permit *permit)
{
    if (!permit->is_probe)
        return;
    pthread_mutex_lock(&relay->set->lock);
    end_probe(relay, permit);
    pthread_mutex_unlock(&relay->set->lock);
}

int64_t smtp_relay_ready_us(struct smtp_relay *relay)
{
    int64_t soon_us = clock_monotonic_us() + RETRY_MS * US_PER_MS;
    pthread_mutex_lock(&relay->set->lock);
    int64_t backoff_until_us = relay->failures > 0 ? relay->backoff_until_us : 0;
    pthread_mutex_unlock(&relay->set->lock);
    return backoff_until_us > soon_us ? backoff_until_us : soon_us;
}

/* ---- Recipient domains ---- */

uint64_t smtp_destination_key(const struct smtp_relay *relay, const char *domain, size_t size)
{
    if (relay->settings.per_destination == 0)
        return 0;
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)(relay - relay->set->items); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)domain[i]) * UINT64_C(1099511628211);
    return hash != 0 ? hash : 1;
}

bool smtp_destination_take(struct smtp_relay *relay, uint64_t key)
{
    if (key == 0)
        return true;
    pthread_mutex_lock(&relay->set->lock);
    bool has_room = smtp_destinations_count(relay->set->destinations, key) < relay->settings.per_destination;
    if (has_room)
        smtp_destinations_add(relay->set->destinations, key);
    pthread_mutex_unlock(&relay->set->lock);
    return has_room;
}

void smtp_destination_add(struct smtp_relay *relay, uint64_t key)
{
    if (key == 0)
        return;
    pthread_mutex_lock(&relay->set->lock);
    smtp_destinations_add(relay->set->destinations, key);
    pthread_mutex_unlock(&relay->set->lock);
}

void smtp_destination_end(struct smtp_relay *relay, uint64_t key)
{
    if (key == 0)
        return;
    pthread_mutex_lock(&relay->set->lock);
    smtp_destinations_end(relay->set->destinations, key);
    pthread_mutex_unlock(&relay->set->lock);
}

/* ---- State for reports ---- */

void smtp_relay_look(struct smtp_relays *relays, size_t index, struct smtp_relay_state *ret_state)
{
    const struct smtp_relay *relay = &relays->items[index];
    *ret_state = (struct smtp_relay_state){ .name = relay->settings.name, .connections = relay->settings.connections };
    pthread_mutex_lock(&relays->lock);
    int64_t rests_us = relay->failures > 0 ? relay->backoff_until_us - clock_monotonic_us() : 0;
    ret_state->open = relay->open;
    ret_state->is_resting = rests_us > 0;
    ret_state->rests_for_ms = rests_us > 0 ? rests_us / US_PER_MS + 1 : 0;
    ret_state->accepted = relay->accepted;
    ret_state->refused = relay->refused;
    snprintf(ret_state->trouble, sizeof(ret_state->trouble), "%s", relay->trouble);
    pthread_mutex_unlock(&relays->lock);
}
