#include "engine/provider_reports/provider_events.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { DEPTH_MAX = 20 };

bool provider_json_read(struct arena *arena, const char *body, const json_t **ret_json, struct error *err)
{
    const struct json_bounds bounds = { .max_bytes = strlen(body),
                                        .max_depth = DEPTH_MAX,
                                        .max_tree_bytes = PROVIDER_TREE_MAX_BYTES };
    return json_read(arena, body, strlen(body), bounds, ret_json, err);
}

const char *provider_text(struct arena *arena, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL || *text == '\0')
        return NULL;
    char *shown = text_visible(arena, text, REPORT_DIAGNOSTIC_MAX_BYTES);
    if (strlen(shown) > REPORT_DIAGNOSTIC_MAX_BYTES) {
        shown[REPORT_DIAGNOSTIC_MAX_BYTES] = '\0';
        utf8_drop_malformed(shown);
    }
    return shown;
}

int64_t provider_time(const char *text, int64_t now_us)
{
    int64_t time_us;
    return text != NULL && clock_parse_iso(text, &time_us) && time_us > 0 && time_us < now_us ? time_us : now_us;
}

enum bounce_class provider_bounce_class(const char *diagnostic)
{
    static const char *const full[] = { "4.2.2", "5.2.2", "mailbox full", "mailbox is full", "over quota", "quota exceeded" };
    static const char *const gone[] = { "5.1.1", "5.1.2",        "5.1.3",        "5.1.6",         "5.1.10",
                                        "5.2.1", "user unknown", "no such user", "does not exist" };
    for (size_t i = 0; diagnostic != NULL && i < ARRAY_COUNT(full); i++)
        if (strcasestr(diagnostic, full[i]) != NULL)
            return BOUNCE_MAILBOX_FULL;
    for (size_t i = 0; diagnostic != NULL && i < ARRAY_COUNT(gone); i++)
        if (strcasestr(diagnostic, gone[i]) != NULL)
            return BOUNCE_HARD;
    return BOUNCE_REFUSED;
}
