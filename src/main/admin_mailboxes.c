/*
 * posthorn admin mailbox: the mailboxes that posthorn serve polls by IMAP for
 * reports of other mail systems.
 */
#include "engine/operator/operator_mailboxes.h"
#include "main/admin.h"
#include "net/imap_address.h"

#include <stddef.h>

static bool check_address(const char *text, struct error *err)
{
    struct imap_address address;
    bool is_read = imap_address_read(text, &address) && address.has_folder;
    bool has_password = address.password != NULL;
    imap_address_done(&address);
    if (!is_read)
        return fail(err, ERR_INVALID_REQUEST, "address", "The address must be of the form imaps://user@host/MAILBOX?every=60.");
    return !has_password || fail(err, ERR_INVALID_REQUEST, "address",
                                 "The address must not contain the password; give it in the file of --secret-file.");
}

bool admin_mailbox_add(struct admin *admin, struct error *err)
{
    const char *password;
    return need_argument(admin, "address", err) && check_address(admin->argument, err) &&
           admin_read_password(admin, &password, err) &&
           operator_add_mailbox(&admin->work, admin->argument, password, &admin->json, err);
}

bool admin_mailbox_list(struct admin *admin, struct error *err)
{
    return mailboxes_write(&admin->work, &admin->json, err);
}

bool admin_mailbox_rotate(struct admin *admin, struct error *err)
{
    const char *password;
    return need_argument(admin, "mailbox", err) && admin_read_password(admin, &password, err) &&
           operator_rotate_mailbox(&admin->work, admin->argument, password, &admin->json, err);
}

bool admin_mailbox_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "mailbox", err) && operator_remove_mailbox(&admin->work, admin->argument, &admin->json, err);
}
