/*
 * Folders of designs ("email groups" on the wire). A design is in one folder or
 * in none. The literal "ungrouped" means no folder.
 */
#pragma once

#include "engine/emails/emails.h"
#include "sql/email_groups.h"

enum { EMAIL_GROUP_NAME_MAX_CHARS = 60 };

extern const char email_ungrouped[];

/* Cleans a name: trims it and removes invisible characters. Errors: INVALID_REQUEST for a blank or reserved name. */
MUST_CHECK bool email_group_clean_name(const struct work *work, const char *name, const char *param, const char **ret_name,
                                       struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Finds a folder, and locks it against deletion until the transaction ends. Errors: EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_group_find(const struct work *work, int64_t group_id, struct email_group_find_row **ret_group,
                                 struct error *err) NONNULL(1, 3, 4);

/* Finds the folder with a name, which email_group_clean_name has returned, and creates it when missing. */
MUST_CHECK bool email_group_ensure(const struct work *work, const char *name, struct opt_int *ret_id, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Chooses the folder of a request. *ret_sets is false when the request names no folder, so that the folder stays unchanged.
 * Errors: INVALID_REQUEST (groupName), EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool email_folder_choose(const struct work *work, const struct email_folder *folder, bool *ret_sets,
                                    struct opt_int *ret_group_id, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Checks the folder of a request without creating it, and gives the one that is named by its id. Errors: as email_folder_choose. */
MUST_CHECK bool email_folder_check(const struct work *work, const struct email_folder *folder, struct opt_int *ret_group_id,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* Writes a page of folders by name. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool email_group_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                                 struct error *err) NONNULL(1, 4, 5);

/* Creates a folder; cleans its name. Errors: INVALID_REQUEST (name), EMAIL_GROUP_NAME_CONFLICT. */
MUST_CHECK bool email_group_create(const struct work *work, const char *name, struct email_group_row **ret_group, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Renames a folder; cleans its name. `group_id` is the public id. Errors: INVALID_REQUEST (name, groupId), EMAIL_GROUP_NOT_FOUND,
 * EMAIL_GROUP_NAME_CONFLICT. */
MUST_CHECK bool email_group_rename(const struct work *work, const char *group_id, const char *name,
                                   struct email_group_row **ret_group, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Deletes a folder. Its designs are then in no folder. `ret_deleted` is false when there is no such folder.
 * Errors: INVALID_REQUEST (groupId) for "ungrouped". */
MUST_CHECK bool email_group_delete(const struct work *work, const char *group_id, bool *ret_deleted, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The resource "emailGroup". */
void email_group_write(const struct work *work, const struct email_group_row *group, struct json_writer *json) NONNULL(1, 2, 3);
