/*
 * posthorn admin mailbox: the mailboxes that posthorn serve polls by IMAP for
 * reports of other mail systems.
 */
#include "engine/operator/operator_mailboxes.h"
#include "inbound/imap_address.h"
#include "main/admin.h"

#include <stddef.h>

static bool check_address(const char *text, struct error *err)
{
    struct imap_address address;
    bool is_read = imap_address_read(text, &address);
    bool has_password = address.password != NULL;
    imap_address_done(&address);
    if (!is_read)
        return fail(err, ERR_INVALID_REQUEST, "address", "The address must be of the form imaps://user@host/MAILBOX?every=60.");
    return !has_password || fail(err, ERR_INVALID_REQUEST, "address",
                                 "The address must not contain the password; give it in the file of --secret-file.");
}

/* The password of --secret-file, which must be given. */
static bool read_password(struct admin *admin, const char **ret_password, struct error *err)
{
    if (!admin_read_secret(admin, ret_password, err))
        return false;
    return *ret_password != NULL ||
           fail(err, ERR_INVALID_REQUEST, "secret", "Name the file of the password with --secret-file, or - for standard input.");
}

bool admin_mailbox_add(struct admin *admin, struct error *err)
{
    const char *password;
    return need_argument(admin, "address", err) && check_address(admin->argument, err) && read_password(admin, &password, err) &&
           operator_add_mailbox(&admin->work, admin->argument, password, &admin->json, err);
}

bool admin_mailbox_list(struct admin *admin, struct error *err)
{
    return mailboxes_write(&admin->work, &admin->json, err);
}

bool admin_mailbox_rotate(struct admin *admin, struct error *err)
{
    const char *password;
    return need_argument(admin, "mailbox", err) && read_password(admin, &password, err) &&
           operator_rotate_mailbox(&admin->work, admin->argument, password, &admin->json, err);
}

bool admin_mailbox_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "mailbox", err) && operator_remove_mailbox(&admin->work, admin->argument, &admin->json, err);
}
