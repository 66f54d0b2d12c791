#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_fail(struct error *err, enum error_code code, const char *param, const char *file, int line, const char *format, ...)
{
    err->code = code;
    err->file = file;
    err->line = line;
    err->suggestion[0] = '\0';
    error_advise(err, ERR_NONE, ERR_NONE);
    snprintf(err->param, sizeof(err->param), "%s", param != NULL ? param : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    va_end(arguments);
    /* Truncation may split a character, but responses and log lines must be UTF-8. */
    utf8_drop_malformed(err->param);
    utf8_drop_malformed(err->message);
}

bool error_because(struct error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->cause, sizeof(err->cause), format, arguments);
    va_end(arguments);
    utf8_drop_malformed(err->cause);
    return false;
}

bool error_with_details(struct error *err, const char *details_json)
{
    err->details_json = details_json;
    return false;
}

bool error_suggest(struct error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->suggestion, sizeof(err->suggestion), format, arguments);
    va_end(arguments);
    utf8_drop_malformed(err->suggestion);
    return false;
}

bool error_advise(struct error *err, enum error_code first, enum error_code second)
{
    err->advice[0] = first;
    err->advice[1] = second;
    return false;
}

bool error_set_param(struct error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->param, sizeof(err->param), format, arguments);
    va_end(arguments);
    utf8_drop_malformed(err->param);
    return false;
}

void error_param_prefix(struct error *err, const char *prefix)
{
    char joined[ERROR_PARAM_MAX_BYTES * 2];
    const char *dot = err->param[0] != '\0' ? "." : "";
    snprintf(joined, sizeof(joined), "%s%s%s", prefix, dot, err->param);
    snprintf(err->param, sizeof(err->param), "%.*s", (int)sizeof(err->param) - 1, joined);
    utf8_drop_malformed(err->param);
}

void error_clear(struct error *err)
{
    *err = (struct error){ .code = ERR_NONE };
}

enum error_code error_code_from_name(const char *name, enum error_code otherwise)
{
    for (int code = ERR_NONE + 1; name != NULL && code < ERROR_CODE_COUNT; code++)
        if (strcmp(error_info((enum error_code)code)->name, name) == 0)
            return (enum error_code)code;
    return otherwise;
}
