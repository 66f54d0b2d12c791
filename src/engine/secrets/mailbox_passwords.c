#include "engine/secrets/mailbox_passwords.h"

#include <string.h>

/* The associated data of a sealed password. */
static const char *sealing_identity(struct arena *arena, const struct mailbox_secret *mailbox)
{
    return arena_printf(arena, "%lld %s", (long long)mailbox->id, mailbox->address);
}

/* IMAP quotes a password, so control characters cannot be sent. */
static bool check_password(const char *password, struct error *err)
{
    size_t size = strlen(password);
    bool has_control = false;
    for (size_t i = 0; i < size; i++)
        has_control = has_control || (unsigned char)password[i] < ' ' || password[i] == 0x7f;
    if (size == 0 || size > MAILBOX_PASSWORD_MAX_BYTES || has_control)
        return fail(err, ERR_INVALID_REQUEST, "secret", "The password has 1 to %d bytes, without control characters.",
                    MAILBOX_PASSWORD_MAX_BYTES);
    return true;
}

bool mailbox_password_seal(const struct work *work, const struct mailbox_secret *mailbox, const char *password,
                           struct bytes *ret_sealed, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    if (!check_password(password, err) || !secrets_sealing(work, secrets, &ring, err))
        return false;
    const struct bytes bytes = { (const unsigned char *)password, strlen(password) };
    *ret_sealed = seal(work->arena, ring, mailbox->purpose, sealing_identity(work->arena, mailbox), bytes);
    return true;
}

bool mailbox_password_open(const struct work *work, struct arena *secrets, const struct mailbox_secret *mailbox,
                           struct bytes sealed, const char **ret_password, struct error *err)
{
    struct seal_ring *ring;
    struct bytes password;
    if (!secrets_opening(work, secrets, &ring, err) ||
        !seal_open(secrets, ring, mailbox->purpose, sealing_identity(secrets, mailbox), sealed, &password, err))
        return false;
    *ret_password = arena_dup_bytes(secrets, (const char *)password.data, password.size);
    return true;
}

bool mailbox_password_reseal(const struct reseal *reseal, const struct mailbox_secret *mailbox, struct bytes sealed,
                             struct bytes *ret_sealed, struct error *err)
{
    return reseal_secret(reseal, mailbox->purpose, sealing_identity(reseal->arena, mailbox), sealed, ret_sealed, err);
}
