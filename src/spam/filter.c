#include "spam/filter.h"

#include "base/text.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void spam_init_libcurl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

void spam_record_failure(struct error *err, const char *file, int line, const char *format, ...)
{
    char reason[ERROR_MESSAGE_MAX_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    error_fail(err, ERR_SERVICE_UNAVAILABLE, NULL, file, line, "The spam filter gave no answer: %s.", reason);
}

const char *spam_connection_problem(int code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "its name cannot be resolved";
    case CURLE_COULDNT_CONNECT:
        return "it cannot be reached";
    case CURLE_OPERATION_TIMEDOUT:
        return "it took too long";
    case CURLE_ABORTED_BY_CALLBACK:
        return "the call was stopped";
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return "its answer was cut short";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "its certificate cannot be trusted";
    default:
        return "its answer is not valid";
    }
}

bool spam_is_stopped(const struct spam_patience *patience)
{
    return patience->should_stop != NULL && patience->should_stop(patience->context);
}

const char *spam_text(struct arena *arena, const char *text, size_t max_chars)
{
    char *copy = arena_dup(arena, text);
    utf8_drop_malformed(copy);
    return text_trim(arena, text_visible(arena, copy, max_chars));
}

bool spam_is_rule_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t size = strspn(text, allowed);
    return size > 0 && text[size] == '\0' && size < SPAM_NAME_MAX_BYTES;
}

bool spam_is_score(double score)
{
    return score > -SPAM_SCORE_MAX && score < SPAM_SCORE_MAX; /* false for a NaN */
}
