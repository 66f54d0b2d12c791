/*
 * posthorn admin seed: the mailboxes at mail providers in which placement tests
 * look for their messages.
 */
#include "base/text.h"
#include "engine/operator/operator_seeds.h"
#include "main/admin.h"
#include "net/imap_address.h"

#include <string.h>

/* The address of the mailbox, when the user of the server is one and no other is given. */
static bool choose_email(struct admin *admin, const char *user, const char **ret_email, struct error *err)
{
    const char *given = admin->options->words[4];
    *ret_email = given != NULL ? given : user;
    return given != NULL || strchr(user, '@') != NULL ||
           fail(err, ERR_INVALID_REQUEST, "email",
                "The user of the server is not an email address; name the address of the mailbox "
                "as a third word.");
}

static bool read_address(struct admin *admin, struct seed_mailbox *seed, struct error *err)
{
    struct imap_address address;
    bool is_read = imap_address_read(admin->value, &address) && !address.has_folder;
    bool has_password = address.password != NULL;
    const char *user = is_read ? arena_dup(admin->work.arena, address.user) : NULL;
    imap_address_done(&address);
    if (!is_read)
        return fail(err, ERR_INVALID_REQUEST, "address", "The address must be of the form imaps://user@host, without a folder.");
    if (has_password)
        return fail(err, ERR_INVALID_REQUEST, "address",
                    "The address must not contain the password; give it in the file of --secret-file.");
    return choose_email(admin, user, &seed->email, err);
}

/* Without --org all organizations use the mailbox. */
static bool choose_owner(struct admin *admin, int64_t *ret_id, struct error *err)
{
    *ret_id = 0;
    return admin->options->organization == NULL || find_organization(admin, admin->options->organization, ret_id, err);
}

bool admin_seed_add(struct admin *admin, struct error *err)
{
    struct seed_mailbox seed = { .provider = admin->argument, .address = admin->value };
    return need_argument(admin, "provider", err) && need_value(admin, "address", err) && read_address(admin, &seed, err) &&
           admin_read_password(admin, &seed.password, err) && choose_owner(admin, &seed.organization_id, err) &&
           operator_add_seed(&admin->work, &seed, &admin->json, err);
}

bool admin_seed_list(struct admin *admin, struct error *err)
{
    return seeds_write(&admin->work, &admin->json, err);
}

bool admin_seed_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "seed", err) && operator_remove_seed(&admin->work, admin->argument, &admin->json, err);
}
