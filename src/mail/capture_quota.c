#include "mail/capture_quota.h"

#include "base/panic.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct capture_owner {
    char name[CAPTURE_OWNER_MAX_BYTES + 1];
    struct capture_amount stored;
    struct capture_amount pending;
};

/* ---- Owners ---- */

static int compare_owners(const void *left, const void *right)
{
    const struct capture_owner *a = left;
    const struct capture_owner *b = right;
    return strcmp(a->name, b->name);
}

/* Finds the owner, or adds it. An owner stays until the quota ends. */
static struct capture_owner *owner_named(struct capture_quota *quota, const char *name)
{
    struct capture_owner key = { .name = "" };
    snprintf(key.name, sizeof(key.name), "%s", name);
    struct capture_owner *const *found = tfind(&key, &quota->owners, compare_owners);
    if (found != NULL)
        return *found;
    struct capture_owner *owner = malloc(sizeof(*owner));
    if (owner == NULL)
        panic(PANIC_NO_MEMORY);
    *owner = key;
    if (tsearch(owner, &quota->owners, compare_owners) == NULL)
        panic(PANIC_NO_MEMORY);
    return owner;
}

void capture_quota_init(struct capture_quota *quota, struct capture_amount bound)
{
    *quota = (struct capture_quota){ .bound = bound };
}

void capture_quota_done(struct capture_quota *quota)
{
    tdestroy(quota->owners, free);
    quota->owners = NULL;
}

/* ---- Counting ---- */

static void add(struct capture_amount *room, struct capture_amount more)
{
    room->messages += more.messages;
    room->bytes += more.bytes;
}

static void subtract(struct capture_amount *room, struct capture_amount less)
{
    room->messages -= less.messages;
    room->bytes -= less.bytes;
}

static void forget_stored(const void *node, VISIT visit, void *unused)
{
    struct capture_owner *const *owner = node;
    (void)unused;
    if (visit == preorder || visit == leaf)
        (*owner)->stored = (struct capture_amount){ .messages = 0 };
}

void capture_quota_begin_count(struct capture_quota *quota)
{
    quota->stored = (struct capture_amount){ .messages = 0 };
    twalk_r(quota->owners, forget_stored, NULL);
}

static void count_stored(struct capture_quota *quota, const char *owner, struct capture_amount more)
{
    add(&quota->stored, more);
    if (owner != NULL)
        add(&owner_named(quota, owner)->stored, more);
}

void capture_quota_count(struct capture_quota *quota, const char *owner, uint64_t bytes)
{
    count_stored(quota, owner, (struct capture_amount){ .messages = 1, .bytes = bytes });
}

/* ---- Reserving ---- */

/* Whether an owner's share is within three quarters of what the others leave of the bound. */
static bool is_fair(uint64_t own, uint64_t others, uint64_t bound)
{
    uint64_t left = bound > others ? bound - others : 0;
    return own <= left - left / 4;
}

static bool has_room(const struct capture_quota *quota, struct capture_amount more)
{
    return quota->stored.messages + quota->pending.messages + more.messages <= quota->bound.messages &&
           quota->stored.bytes + quota->pending.bytes + more.bytes <= quota->bound.bytes;
}

static bool is_in_share_of(const struct capture_quota *quota, const struct capture_owner *owner, struct capture_amount more)
{
    struct capture_amount own = owner->stored;
    struct capture_amount others = quota->stored;
    add(&own, owner->pending);
    add(&others, quota->pending);
    subtract(&others, own);
    add(&own, more);
    return is_fair(own.messages, others.messages, quota->bound.messages) &&
           is_fair(own.bytes, others.bytes, quota->bound.bytes);
}

bool capture_quota_reserve(struct capture_quota *quota, const char *owner, struct capture_amount more)
{
    struct capture_owner *known = owner != NULL ? owner_named(quota, owner) : NULL;
    if (!has_room(quota, more) || (known != NULL && !is_in_share_of(quota, known, more)))
        return false;
    add(&quota->pending, more);
    if (known != NULL)
        add(&known->pending, more);
    return true;
}

void capture_quota_complete(struct capture_quota *quota, const char *owner, struct capture_amount reserved, bool is_stored)
{
    subtract(&quota->pending, reserved);
    if (owner != NULL)
        subtract(&owner_named(quota, owner)->pending, reserved);
    if (is_stored)
        count_stored(quota, owner, reserved);
}
