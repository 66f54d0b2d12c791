#include "engine/quality/checks.h"

#include "base/text.h"

#include <string.h>

#include "engine/quality/check_table.h"

const struct quality_check *const quality_checks = all_checks;

static const char *const engine_names[CHECK_ENGINES] = {
    [CHECK_ENGINE_STATIC] = "static",
    [CHECK_ENGINE_BROWSER] = "browser",
    [CHECK_ENGINE_LINKS] = "links",
    [CHECK_ENGINE_SPAM] = "spam",
    [CHECK_ENGINE_AUTHENTICATION] = "authentication",
};

static const char *const category_names[CATEGORIES] = {
    [CATEGORY_ACCESSIBILITY] = "accessibility",
    [CATEGORY_CONTENT] = "content",
    [CATEGORY_LINKS] = "links",
    [CATEGORY_DELIVERABILITY] = "deliverability",
    [CATEGORY_COMPATIBILITY] = "compatibility",
};

static const char *const severity_names[SEVERITIES] = {
    [SEVERITY_DECLARED] = "",   [SEVERITY_INFO] = "info",       [SEVERITY_WARNING] = "warning",
    [SEVERITY_ERROR] = "error", [SEVERITY_BLOCKER] = "blocker",
};

const struct quality_check *quality_check_find(const char *id)
{
    for (const struct quality_check *check = quality_checks; check->id != NULL; check++) {
        if (text_equal(check->id, id))
            return check;
    }
    return NULL;
}

const char *check_engine_name(enum check_engine engine)
{
    return engine_names[engine];
}

const char *check_category_name(enum check_category category)
{
    return category_names[category];
}

const char *check_severity_name(enum check_severity severity)
{
    return severity_names[severity];
}

bool check_category_read(const char *name, enum check_category *ret_category)
{
    for (enum check_category category = 0; category < CATEGORIES; category++) {
        if (text_equal(category_names[category], name)) {
            *ret_category = category;
            return true;
        }
    }
    return false;
}

bool check_severity_read(const char *name, enum check_severity *ret_severity)
{
    for (enum check_severity severity = SEVERITY_INFO; severity < SEVERITIES; severity++) {
        if (text_equal(severity_names[severity], name)) {
            *ret_severity = severity;
            return true;
        }
    }
    return false;
}
