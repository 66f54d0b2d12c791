/*
 * A server that falls silent ends its command long before the time of the command. The tests measure no time: libcurl asks about
 * once a second whether the command is to stop, and after many of these questions it is.
 */
#include "fixtures/loopback_server.h"
#include "net/imap_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SILENCE_S = 1, QUESTIONS_MAX = 60, LONG_MS = 3600 * 1000 };

static const char *silent_at; /* the command that the server does not end */

static bool answer(int fd, const char *line)
{
    char text[256];
    char tag[16];
    char command[64];
    if (sscanf(line, "%15s %63[^\r\n]", tag, command) != 2)
        return true;
    if (strncmp(command, "UID FETCH", 9) == 0 && !loopback_say_text(fd, "* 7 FETCH (UID 7 BODY[] {1000}\r\nSubject: "))
        return false;
    if (strncmp(command, silent_at, strlen(silent_at)) == 0)
        return true;
    const char *first = strncmp(command, "CAPABILITY", 10) == 0 ? "* CAPABILITY IMAP4rev1\r\n" : "";
    snprintf(text, sizeof(text), "%s%s OK done\r\n", first, tag);
    return loopback_say_text(fd, text);
}

static bool serve(int fd)
{
    char line[256];
    size_t size = 0;
    if (!loopback_say_text(fd, "* OK ready\r\n"))
        return false;
    while (size < sizeof(line) - 1 && read(fd, line + size, 1) == 1) {
        line[size + 1] = '\0';
        size = line[size] == '\n' ? 0 : size + 1;
        if (size == 0 && !answer(fd, line))
            return false;
    }
    return false;
}

static bool count_question(void *context)
{
    int *count = context;
    return ++*count > QUESTIONS_MAX;
}

static void assert_ends(const char *command, const char *path, const char *request)
{
    struct loopback_server server;
    struct imap_address address;
    BUF_SCOPE out;
    char text[128];
    int questions = 0;
    silent_at = command;
    buf_init(&out, 4096);
    assert_true(loopback_server_start(&server, serve));
    snprintf(text, sizeof(text), "imap://user:secret@127.0.0.1:%u/INBOX?tls=none", server.port);
    assert_true(imap_address_read(text, &address));
    struct imap_client *client = imap_client_new(count_question, &questions);
    imap_client_use(client, &address, LONG_MS);
    imap_client_set_silence(client, SILENCE_S);
    const char *problem = imap_client_run(client, path, request, &out);
    bool was_stopped = imap_client_was_stopped(client);
    imap_client_free(client);
    imap_address_done(&address);
    loopback_server_stop(&server);
    assert_non_null(problem);
    if (was_stopped)
        fail_msg("%s is waited for", command);
}

static void test_a_silent_server_ends_the_command(void **state)
{
    (void)state;
    assert_ends("SELECT", "", "UID SEARCH ALL");
    assert_ends("UID SEARCH", "", "UID SEARCH ALL");
}

static void test_a_message_that_does_not_go_on_ends_the_command(void **state)
{
    (void)state;
    assert_ends("UID FETCH", "/;UID=7", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_server_ends_the_command),
        cmocka_unit_test(test_a_message_that_does_not_go_on_ends_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
