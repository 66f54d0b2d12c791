#include "smtp/relay_state.h"

#include "base/clock.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_REST_MS = 1000,
    LONGEST_REST_MS = 5 * 60 * 1000,
    /* How soon to look again for what another loop may have given back. */
    LOOK_AGAIN_MS = 50,
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

bool smtp_relay_begin(struct smtp_relay *relay, struct smtp_turn *turn)
{
    if (turn->is_probe) /* it has its message */
        return false;
    pthread_mutex_lock(&relay->set->lock);
    bool recovers = relay->failures > 0;
    bool may = !recovers || (!relay->is_half_open && clock_monotonic_us() >= relay->backoff_until_us);
    if (may) {
        turn->failure_epoch = relay->failure_epoch;
        turn->is_probe = relay->is_half_open = recovers;
    }
    pthread_mutex_unlock(&relay->set->lock);
    return may;
}

/* With the lock: whoever tried the relay does no longer. */
static void end_probe(struct smtp_relay *relay, struct smtp_turn *turn)
{
    if (turn->is_probe)
        relay->is_half_open = false;
    turn->is_probe = false;
}

void smtp_relay_worked(struct smtp_relay *relay, struct smtp_turn *turn, bool accepted)
{
    pthread_mutex_lock(&relay->set->lock);
    relay->accepted += accepted;
    relay->refused += !accepted;
    end_probe(relay, turn);
    /* What began before a rest says nothing about how the relay does since. */
    if (relay->failures > 0 && turn->failure_epoch == relay->failure_epoch) {
        relay->failures = 0;
        relay->trouble[0] = '\0';
    }
    pthread_mutex_unlock(&relay->set->lock);
}

/* Doubles from failure to failure, give or take a fifth, so that many senders do not come back at once. */
static int64_t rest_ms(unsigned failures)
{
    int64_t ms = FIRST_REST_MS;
    for (unsigned i = 1; i < failures && ms < LONGEST_REST_MS; i++)
        ms *= 2;
    ms = ms < LONGEST_REST_MS ? ms : LONGEST_REST_MS;
    return ms - ms / 5 + (int64_t)randombytes_uniform((uint32_t)(ms * 2 / 5) + 1);
}

void smtp_relay_failed(struct smtp_relay *relay, struct smtp_turn *turn, const char *why)
{
    pthread_mutex_lock(&relay->set->lock);
    end_probe(relay, turn);
    if (turn->failure_epoch == relay->failure_epoch) {
        relay->failure_epoch++;
        relay->failures++;
        relay->backoff_until_us = clock_monotonic_us() + rest_ms(relay->failures) * US_PER_MS;
        snprintf(relay->trouble, sizeof(relay->trouble), "%s", why);
    }
    pthread_mutex_unlock(&relay->set->lock);
}

void smtp_relay_abandon(struct smtp_relay *relay, struct smtp_turn *turn)
{
    if (!turn->is_probe)
        return;
    pthread_mutex_lock(&relay->set->lock);
    end_probe(relay, turn);
    pthread_mutex_unlock(&relay->set->lock);
}

int64_t smtp_relay_ready_us(struct smtp_relay *relay)
{
    int64_t soon_us = clock_monotonic_us() + LOOK_AGAIN_MS * US_PER_MS;
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

/* ---- Looking ---- */

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
