/*
 * One look into a seed mailbox, for tests/bench/benches/placement.mjs:
 *
 *     look_time ADDRESS MESSAGE_ID
 *
 * ADDRESS contains the password. It prints the folder in which the message was
 * found, and ends with 1 when it was not found.
 */
#include "jobs/types/seed_look.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct seed_look look = { .message_id = argc == 3 ? argv[2] : "" };
    if (argc != 3 || !imap_address_read(argv[1], &look.address)) {
        fprintf(stderr, "look_time ADDRESS MESSAGE_ID\n");
        return 2;
    }
    seed_look_run(&look, SEED_LOOK_MS);
    bool is_found = look.found == SEED_IN_INBOX || look.found == SEED_IN_SPAM;
    printf("%s\n", is_found ? look.folder : look.problem != NULL ? look.problem : "not found");
    seed_look_done(&look);
    return is_found ? 0 : 1;
}
