#include "sink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct behaviour behaviour;

bool dice_decide(struct dice *dice, unsigned probability)
{
    if (probability == 0)
        return false;
    dice->state += 0x9e3779b97f4a7c15U;
    uint64_t value = dice->state;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return (value ^ (value >> 31)) % PROBABILITY_ONE < probability;
}

/* ---- Addresses that were put off once ---- */

/* A set of hashes, open addressing; 0 marks a free place. */
static struct {
    pthread_mutex_t lock;
    uint64_t *places;
    size_t capacity;
    size_t used;
} greeted = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t hash_of(const char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325U; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3U;
    return hash | 1;
}

static size_t place_of(const uint64_t *places, size_t capacity, uint64_t hash)
{
    size_t place = (hash >> 8) & (capacity - 1);
    while (places[place] != 0 && places[place] != hash)
        place = (place + 1) & (capacity - 1);
    return place;
}

static void grow(void)
{
    size_t capacity = greeted.capacity == 0 ? 1024 : greeted.capacity * 2;
    uint64_t *places = calloc(capacity, sizeof(*places));
    if (places == NULL)
        abort();
    for (size_t i = 0; i < greeted.capacity; i++)
        if (greeted.places[i] != 0)
            places[place_of(places, capacity, greeted.places[i])] = greeted.places[i];
    free(greeted.places);
    greeted.places = places;
    greeted.capacity = capacity;
}

static bool is_first_attempt(const char *address, size_t size)
{
    uint64_t hash = hash_of(address, size);
    pthread_mutex_lock(&greeted.lock);
    if (2 * (greeted.used + 1) > greeted.capacity)
        grow();
    size_t place = place_of(greeted.places, greeted.capacity, hash);
    bool first = greeted.places[place] == 0;
    greeted.places[place] = hash;
    greeted.used += first;
    pthread_mutex_unlock(&greeted.lock);
    return first;
}

void script_forget(void)
{
    pthread_mutex_lock(&greeted.lock);
    if (greeted.places != NULL)
        memset(greeted.places, 0, greeted.capacity * sizeof(*greeted.places));
    greeted.used = 0;
    pthread_mutex_unlock(&greeted.lock);
}

enum script script_of(const char *address, size_t size)
{
    const char *at = memchr(address, '@', size);
    const char *plus = at == NULL ? NULL : memrchr(address, '+', (size_t)(at - address));
    if (plus == NULL)
        return SCRIPT_ACCEPT;
    static const struct {
        const char *word;
        enum script script;
    } scripts[] = {
        { "550", SCRIPT_UNKNOWN }, { "block", SCRIPT_BLOCK },           { "full", SCRIPT_FULL },
        { "grey", SCRIPT_LATER },  { "5xxdot", SCRIPT_REFUSE_CONTENT },
    };
    size_t length = (size_t)(at - plus) - 1;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        if (strlen(scripts[i].word) != length || memcmp(scripts[i].word, plus + 1, length) != 0)
            continue;
        if (scripts[i].script == SCRIPT_LATER && !is_first_attempt(address, size))
            return SCRIPT_ACCEPT;
        return scripts[i].script;
    }
    return SCRIPT_ACCEPT;
}
