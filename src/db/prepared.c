#include "db/conn.h"

#include "base/panic.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static size_t statement_slot(const struct prepared_set *set, const struct db_statement *statement)
{
    /* Fibonacci hashing distributes neighbouring addresses. */
    uint64_t hash = (uint64_t)(uintptr_t)statement * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 32) & (set->capacity - 1);
    while (set->slots[slot] != NULL && set->slots[slot] != statement)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

bool prepared_has(const struct prepared_set *set, const struct db_statement *statement)
{
    return set->capacity > 0 && set->slots[statement_slot(set, statement)] == statement;
}

static void resize(struct prepared_set *set, size_t capacity, const struct db_statement *without)
{
    struct prepared_set old = *set;
    *set = (struct prepared_set){ .slots = calloc(capacity, sizeof(*set->slots)), .capacity = capacity };
    if (set->slots == NULL)
        panic(PANIC_NO_MEMORY);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i] != NULL && old.slots[i] != without) {
            set->slots[statement_slot(set, old.slots[i])] = old.slots[i];
            set->count++;
        }
    }
    free(old.slots);
}

void prepared_add(struct prepared_set *set, const struct db_statement *statement)
{
    if ((set->count + 1) * 2 > set->capacity)
        resize(set, set->capacity > 0 ? set->capacity * 2 : FIRST_CAPACITY, NULL);
    size_t slot = statement_slot(set, statement);
    if (set->slots[slot] == NULL)
        set->count++;
    set->slots[slot] = statement;
}

/* Removal is rare, so it rebuilds the set and needs no tombstones. */
void prepared_remove(struct prepared_set *set, const struct db_statement *statement)
{
    if (prepared_has(set, statement))
        resize(set, set->capacity, statement);
}

void prepared_clear(struct prepared_set *set)
{
    free(set->slots);
    *set = (struct prepared_set){ 0 };
}
