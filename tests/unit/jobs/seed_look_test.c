/* A look into a seed mailbox: the folder is found on servers with and without RFC 6154, and a server that misbehaves is unread. */
#include "base/panic.h"
#include "jobs/types/seed_look.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE_MAX_BYTES = 512, LONG_MS = 60 * 1000, SHORT_MS = 200 };
static const char message_id[] = "token@letters.example";

/* What the server does. */
struct script {
    const char *list;        /* the lines of LIST */
    bool refuses_special;    /* it does not know RETURN (SPECIAL-USE) */
    const char *holds;       /* the folder with the message, as SELECT names it; NULL: none has it */
    bool is_silent;          /* it answers no search */
    const char *refuses;     /* a folder that it does not open */
    bool forgets_completion; /* it closes in the middle of an answer */
};

struct server {
    const struct script *script;
    int listener;
    int port;
    pthread_t thread;
    char selected[LINE_MAX_BYTES];
    char searched[16 * LINE_MAX_BYTES]; /* the folders, in the order of the search */
};

static void say(FILE *out, const char *text)
{
    fputs(text, out);
    fflush(out);
}

static void answer_search(struct server *server, FILE *out, const char *tag)
{
    const char *holds = server->script->holds;
    strncat(server->searched, server->selected, sizeof(server->searched) - strlen(server->searched) - 1);
    strncat(server->searched, " ", sizeof(server->searched) - strlen(server->searched) - 1);
    if (server->script->is_silent)
        return;
    if (server->script->forgets_completion) {
        say(out, "* SEARCH 7\r\n");
        shutdown(fileno(out), SHUT_RDWR);
        return;
    }
    fprintf(out, "* SEARCH%s\r\n%s OK done\r\n", holds != NULL && strcmp(server->selected, holds) == 0 ? " 7" : "", tag);
}

static void answer_fetch(FILE *out, const char *tag)
{
    static const char header[] = "Message-ID: <token@letters.example>\r\n\r\n";
    fprintf(out, "* 7 FETCH (UID 7 BODY[HEADER] {%zu}\r\n%s)\r\n%s OK done\r\n", strlen(header), header, tag);
}

static void answer_line(struct server *server, FILE *out, char *line)
{
    const struct script *script = server->script;
    const char *tag = strtok(line, " ");
    const char *rest = strtok(NULL, "\r\n");
    if (rest == NULL)
        return;
    if (strncmp(rest, "SELECT ", 7) == 0) {
        snprintf(server->selected, sizeof(server->selected), "%s", rest + 7);
        bool is_refused = script->refuses != NULL && strcmp(server->selected, script->refuses) == 0;
        fprintf(out, "%s %s done\r\n", tag, is_refused ? "NO" : "OK");
    } else if (strncmp(rest, "LIST ", 5) == 0) {
        bool is_refused = script->refuses_special && strstr(rest, "RETURN") != NULL;
        fprintf(out, "%s%s %s done\r\n", is_refused ? "" : script->list, tag, is_refused ? "BAD" : "OK");
    } else if (strncmp(rest, "UID SEARCH ", 11) == 0) {
        answer_search(server, out, tag);
    } else if (strncmp(rest, "UID FETCH ", 10) == 0) {
        answer_fetch(out, tag);
    } else {
        fprintf(out, "%s%s OK done\r\n", strcmp(rest, "CAPABILITY") == 0 ? "* CAPABILITY IMAP4rev1\r\n" : "", tag);
    }
    fflush(out);
}

static void serve(struct server *server, int peer)
{
    char line[LINE_MAX_BYTES];
    FILE *in = fdopen(peer, "r");
    FILE *out = fdopen(dup(peer), "w");
    if (in == NULL || out == NULL)
        panic(PANIC_NO_MEMORY);
    say(out, "* OK ready\r\n");
    while (fgets(line, sizeof(line), in) != NULL)
        answer_line(server, out, line);
    fclose(in);
    fclose(out);
}

static void *server_thread(void *context)
{
    struct server *server = context;
    int peer;
    while ((peer = accept(server->listener, NULL, NULL)) >= 0)
        serve(server, peer);
    return NULL;
}

static void server_start(struct server *server, const struct script *script)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    *server = (struct server){ .script = script, .listener = socket(AF_INET, SOCK_STREAM, 0) };
    assert_int_equal(bind(server->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &size), 0);
    server->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, server_thread, server), 0);
}

static void server_stop(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

/* Looks once; the caller ends look and server. */
static void look_with(struct server *server, const struct script *script, int64_t total_ms, struct seed_look *look)
{
    char address[128];
    server_start(server, script);
    snprintf(address, sizeof(address), "imap://user:secret@127.0.0.1:%d/?tls=none", server->port);
    *look = (struct seed_look){ .message_id = message_id };
    assert_true(imap_address_read(address, &look->address));
    seed_look_run(look, total_ms);
}

static void assert_found(const struct script *script, enum seed_found found, const char *folder, const char *searched)
{
    struct server server;
    struct seed_look look;
    look_with(&server, script, LONG_MS, &look);
    server_stop(&server);
    if (look.found != found || strcmp(look.folder, folder) != 0)
        fail_msg("found %d in %s (%s), searched %s", look.found, look.folder, look.problem, server.searched);
    assert_string_equal(server.searched, searched);
    seed_look_done(&look);
}

#define LISTED(marks, name) "* LIST (" marks ") \"/\" " name "\r\n"

static void test_folders_are_known_by_their_marks(void **state)
{
    (void)state;
    const struct script script = {
        .list = LISTED("\\HasNoChildren", "INBOX") LISTED("\\All", "Everything") LISTED("\\HasNoChildren", "Spam")
            LISTED("\\NoSelect", "Parent") LISTED("\\Sent", "Sent") LISTED("\\HasNoChildren \\Junk", "Unwanted"),
        .holds = "Unwanted",
    };
    assert_found(&script, SEED_IN_SPAM, "Unwanted", "INBOX Unwanted ");
    struct script all = script;
    all.holds = "Everything";
    assert_found(&all, SEED_IN_INBOX, "Everything", "INBOX Unwanted Spam Everything ");
    all.holds = NULL;
    assert_found(&all, SEED_ABSENT, "", "INBOX Unwanted Spam Everything ");
    all.holds = "INBOX";
    assert_found(&all, SEED_IN_INBOX, "INBOX", "INBOX ");
}

static void test_folders_without_marks_are_known_by_their_names(void **state)
{
    (void)state;
    const struct script script = {
        .list = LISTED("", "Archive") LISTED("", "\"Mail/Bulk Mail\""),
        .refuses_special = true,
        .holds = "\"Mail/Bulk Mail\"",
    };
    assert_found(&script, SEED_IN_SPAM, "Mail/Bulk Mail", "INBOX \"Mail/Bulk Mail\" ");
}

static void test_odd_lists_are_read(void **state)
{
    (void)state;
    const struct script script = {
        .list = "* LIST\r\n* LIST (\r\n* LIST ()\r\n* LIST () \"/\"\r\n* LIST () NIL Flat\r\n* LIST () \"/\" {3}\r\n* LIST () "
                "\"/\" \"\"\r\n"
                "* LIST (\\Junk \"/\" X\r\n" LISTED("", "\"a \\\"b\\\" \\\\c\"") "* FLAGS ()\r\n",
        .holds = "\"a \\\"b\\\" \\\\c\"",
    };
    assert_found(&script, SEED_IN_INBOX, "a \"b\" \\c", "INBOX Flat \"a \\\"b\\\" \\\\c\" ");
}

/* A folder that cannot be opened is left out, unless it is the one for spam: then nothing is known. */
static void test_a_folder_that_cannot_be_opened(void **state)
{
    (void)state;
    struct script script = {
        .list = LISTED("", "Private") LISTED("", "Open") LISTED("\\Junk", "Junk"),
        .refuses = "Private",
        .holds = "Open",
    };
    struct server server;
    struct seed_look look;
    look_with(&server, &script, LONG_MS, &look);
    server_stop(&server);
    assert_int_equal(look.found, SEED_IN_INBOX);
    seed_look_done(&look);
    script.refuses = "Junk";
    look_with(&server, &script, LONG_MS, &look);
    server_stop(&server);
    assert_int_equal(look.found, SEED_UNREAD);
    assert_non_null(look.problem);
    seed_look_done(&look);
}

static void test_a_server_that_does_not_answer_is_unread(void **state)
{
    (void)state;
    const struct script silent = { .list = "", .is_silent = true };
    const struct script closing = { .list = "", .forgets_completion = true };
    struct server server;
    struct seed_look look;
    look_with(&server, &silent, SHORT_MS, &look);
    server_stop(&server);
    assert_int_equal(look.found, SEED_UNREAD);
    seed_look_done(&look);
    look_with(&server, &closing, LONG_MS, &look);
    server_stop(&server);
    assert_int_equal(look.found, SEED_UNREAD);
    seed_look_done(&look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders_are_known_by_their_marks),
        cmocka_unit_test(test_folders_without_marks_are_known_by_their_names),
        cmocka_unit_test(test_odd_lists_are_read),
        cmocka_unit_test(test_a_folder_that_cannot_be_opened),
        cmocka_unit_test(test_a_server_that_does_not_answer_is_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
