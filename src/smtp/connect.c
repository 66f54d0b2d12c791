#include "smtp/connect.h"

#include "base/clock.h"
#include "base/panic.h"
#include "smtp/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* A TLS record (RFC 8446 §5.1). One write has at most one record, so that it is done as a whole or not at all. */
enum { TLS_RECORD_BYTES = 16384 };

/* ---- Replies of the relay while libcurl connects ---- */

static bool line_is(const char *line, size_t size, const char *keyword)
{
    size_t keyword_size = strlen(keyword);
    bool ends = size == keyword_size || (size > keyword_size && strchr(" =\r\n", line[keyword_size]) != NULL);
    return size >= keyword_size && ends && strncasecmp(line, keyword, keyword_size) == 0;
}

/* `keyword`: a line of the reply to EHLO (RFC 5321 §4.1.1.1). */
static void add_extension(struct smtp_extensions *extensions, const char *keyword, size_t size)
{
    extensions->pipelining |= line_is(keyword, size, "PIPELINING");
    extensions->size |= line_is(keyword, size, "SIZE");
    extensions->smtputf8 |= line_is(keyword, size, "SMTPUTF8");
    extensions->login |= line_is(keyword, size, "AUTH");
}

static size_t on_server_line(char *line, size_t one, size_t size, void *context)
{
    enum { CODE_AND_DASH = 4 };
    struct smtp_session *session = context;
    const char *bytes = line;
    size_t left = size;
    (void)one;
    smtp_event_loop_set_deadline(session, (int64_t)session->relay->settings.timeout_s * 1000);
    if (smtp_reply_parse(&session->parser, &bytes, &left) == SMTP_REPLY_MALFORMED)
        return 0;
    if (size < CODE_AND_DASH)
        return size;
    if (strncmp(line, "220", 3) == 0) {
        /* The greeting, or the start of TLS, which discards the extensions offered in the clear (RFC 3207 §4.2). */
        session->greetings += line[3] != '-';
        session->has_ehlo_line = false;
        session->extensions = (struct smtp_extensions){ .login = false };
    } else if (strncmp(line, "250", 3) == 0) {
        if (session->has_ehlo_line)
            add_extension(&session->extensions, line + CODE_AND_DASH, size - CODE_AND_DASH);
        session->has_ehlo_line = true;
    }
    return size;
}

static const char *connect_error_text(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "its host name cannot be resolved";
    case CURLE_COULDNT_CONNECT:
        return "it cannot be reached";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "its certificate is not trusted";
    case CURLE_SSL_CACERT_BADFILE:
        return "the file of trusted certificates cannot be used";
    case CURLE_USE_SSL_FAILED:
        return "it does not offer STARTTLS";
    case CURLE_SSL_CONNECT_ERROR:
        return "the TLS handshake failed";
    case CURLE_LOGIN_DENIED:
        return "it refused the log-in";
    case CURLE_OPERATION_TIMEDOUT:
        return "it took too long";
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_WRITE_ERROR:
        return "its reply is not valid SMTP";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
        return "it closed the connection";
    default:
        return "the session could not be started";
    }
}

/* ---- The multi handle in the loop's epoll ---- */

static int on_socket(CURL *curl, curl_socket_t fd, int what, void *context, void *assigned)
{
    struct smtp_event_loop *loop = context;
    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    uint32_t events = ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0);
    struct epoll_event event = { .events = events, .data.u64 = smtp_watch_curl(fd) };
    if (assigned == NULL)
        curl_multi_assign(loop->multi, fd, loop);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    struct smtp_event_loop *loop = context;
    (void)multi;
    loop->curl_due_us = timeout_ms < 0 ? INT64_MAX : timeout_ms == 0 ? 0 : clock_monotonic_us() + timeout_ms * US_PER_MS;
    return 0;
}

static void init_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        panic(PANIC_NO_MEMORY);
}

void smtp_connect_init(struct smtp_event_loop *loop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    loop->multi = curl_multi_init();
    if (loop->multi == NULL)
        panic(PANIC_NO_MEMORY);
    loop->curl_due_us = INT64_MAX;
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)SMTP_MAX_RELAYS * SMTP_MAX_CONNECTIONS);
}

void smtp_connect_done(struct smtp_event_loop *loop)
{
    curl_multi_cleanup(loop->multi);
}

static void set_tls(CURL *curl, const struct smtp_settings *settings)
{
    static const long levels[] = {
        [SMTP_TLS_IF_OFFERED] = CURLUSESSL_TRY,
        [SMTP_TLS_REQUIRED] = CURLUSESSL_ALL,
        [SMTP_TLS_NEVER] = CURLUSESSL_NONE,
        [SMTP_TLS_AT_ONCE] = CURLUSESSL_ALL,
    };
    curl_easy_setopt(curl, CURLOPT_USE_SSL, levels[settings->tls]);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (settings->ca_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, settings->ca_file);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (settings->takes_any_certificate) {
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

/* libcurl takes the name for EHLO from the path of the URL. */
static void set_address(CURL *curl, const struct smtp_settings *settings, const char *helo_name)
{
    char port[8];
    char path[300];
    CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    snprintf(port, sizeof(port), "%d", settings->port);
    snprintf(path, sizeof(path), "/%s", helo_name);
    curl_url_set(url, CURLUPART_SCHEME, settings->tls == SMTP_TLS_AT_ONCE ? "smtps" : "smtp", 0);
    curl_url_set(url, CURLUPART_HOST, settings->host, 0);
    curl_url_set(url, CURLUPART_PORT, port, 0);
    curl_url_set(url, CURLUPART_PATH, path, CURLU_URLENCODE);
    char *text = NULL;
    if (curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK)
        curl_easy_setopt(curl, CURLOPT_URL, text); /* copied */
    curl_free(text);
    curl_url_cleanup(url);
}

void smtp_connect_begin(struct smtp_session *session)
{
    const struct smtp_settings *settings = &session->relay->settings;
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        panic(PANIC_NO_MEMORY);
    session->curl = curl;
    session->fd = -1;
    session->greetings = 0;
    session->extensions = (struct smtp_extensions){ .login = false };
    smtp_reply_parser_init(&session->parser);
    session->parser.reply = (struct smtp_reply){ .code = 0 };
    set_address(curl, settings, session->loop->helo_name);
    set_tls(curl, settings);
    if (settings->user != NULL) {
        curl_easy_setopt(curl, CURLOPT_USERNAME, settings->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, settings->password);
    }
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server that does not respond */
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_server_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, session);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, session);
    curl_multi_add_handle(session->loop->multi, curl);
}

void smtp_connect_end(struct smtp_session *session)
{
    if (session->curl == NULL)
        return;
    if (session->fd >= 0)
        epoll_ctl(session->loop->epoll_fd, EPOLL_CTL_DEL, session->fd, NULL);
    curl_multi_remove_handle(session->loop->multi, session->curl);
    curl_easy_cleanup(session->curl);
    session->curl = NULL;
    session->fd = -1;
}

/* ---- The result of connecting ---- */

/* Adds the relay's reply to the reason, if it refused. */
static void report_unreachable(struct smtp_session *session, const char *why)
{
    const struct smtp_reply *reply = &session->parser.reply;
    char text[SMTP_TROUBLE_MAX_BYTES];
    /* A server may repeat its input, which may have been the password. */
    bool may_echo = session->relay->settings.user != NULL && session->extensions.login;
    if (reply->code >= 400 && may_echo)
        snprintf(text, sizeof(text), "%s: %d %s", why, reply->code, reply->enhanced);
    else if (reply->code >= 400)
        smtp_reply_describe(reply, why, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s", why);
    smtp_session_unreachable(session, text);
}

static void on_connect_result(struct smtp_session *session, CURLcode code)
{
    const struct smtp_settings *settings = &session->relay->settings;
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (code != CURLE_OK)
        return report_unreachable(session, connect_error_text(code));
    /* libcurl continues without a log-in if the relay does not offer one. */
    if (settings->user != NULL && !session->extensions.login)
        return report_unreachable(session, "it does not offer AUTH");
    if (curl_easy_getinfo(session->curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
        return report_unreachable(session, "it closed the connection");
    session->fd = fd;
    session->is_encrypted = settings->tls == SMTP_TLS_AT_ONCE || session->greetings > 1;
    smtp_reply_parser_init(&session->parser);
    smtp_session_connected(session);
}

static void collect_results(struct smtp_event_loop *loop)
{
    int waiting;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(loop->multi, &waiting)) != NULL) {
        struct smtp_session *session = NULL;
        CURLcode code = message->data.result;
        if (message->msg == CURLMSG_DONE && curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &session) == CURLE_OK)
            on_connect_result(session, code);
    }
}

void smtp_connect_socket_ready(struct smtp_event_loop *loop, int fd, uint32_t epoll_events)
{
    int running;
    int events = ((epoll_events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                 ((epoll_events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) | ((epoll_events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(loop->multi, fd, events, &running);
    collect_results(loop);
}

void smtp_connect_time_passed(struct smtp_event_loop *loop)
{
    int running;
    loop->curl_due_us = INT64_MAX;
    curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect_results(loop);
}

/* ---- Bytes ---- */

static enum smtp_wire outcome_of(CURLcode code, size_t moved)
{
    if (code == CURLE_AGAIN)
        return SMTP_WIRE_BUSY;
    return code == CURLE_OK && moved > 0 ? SMTP_WIRE_MOVED : SMTP_WIRE_LOST;
}

enum smtp_wire smtp_connect_write(struct smtp_session *session, const char *bytes, size_t size, size_t *ret_moved)
{
    size_t some = session->is_encrypted && size > TLS_RECORD_BYTES ? TLS_RECORD_BYTES : size;
    *ret_moved = 0;
    CURLcode code = curl_easy_send(session->curl, bytes, some, ret_moved);
    return outcome_of(code, *ret_moved);
}

enum smtp_wire smtp_connect_read(struct smtp_session *session, char *ret_bytes, size_t size, size_t *ret_moved)
{
    *ret_moved = 0;
    CURLcode code = curl_easy_recv(session->curl, ret_bytes, size, ret_moved);
    return outcome_of(code, *ret_moved);
}
