/*
 * Designs that would go to or come from another service. Nothing can be
 * connected in this version, so what is asked is checked and then refused.
 */
#include "engine/emails/emails.h"

#include "base/compiler.h"

#include <string.h>
#include <strings.h>

bool email_check_export(const struct work *work, int64_t email_id, const char *provider, struct error *err)
{
    struct email_find_params params = { .brand_id = work->brand_id, .id = email_id };
    struct email_find_row *email;
    if (!sql_email_find(work->conn, work->arena, &params, &email, err))
        return false;
    if (email == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (strcmp(email->status, "ready") != 0 || !email->version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design is %s; only one that is ready can be exported.",
                    email->status);
    return fail(err, ERR_INTEGRATION_NOT_CONNECTED, "provider",
                "%.64s is not connected to this brand; this server cannot connect providers yet.", provider);
}

/* ---- The design tool ---- */

static const char *skip_prefix(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncasecmp(text, prefix, size) == 0 ? text + size : NULL;
}

/* Behind https://figma.com/ (or www.), else NULL. */
static const char *path_of(const char *url)
{
    static const char *const sites[] = { "https://figma.com/", "https://www.figma.com/" };
    for (size_t i = 0; i < ARRAY_COUNT(sites); i++) {
        const char *path = skip_prefix(url, sites[i]);
        if (path != NULL)
            return path;
    }
    return NULL;
}

/* file/KEY/…, design/KEY/… or proto/KEY/… */
static bool names_file(const char *path)
{
    static const char *const kinds[] = { "file/", "design/", "proto/" };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const char *key = skip_prefix(path, kinds[i]);
        if (key != NULL)
            return strcspn(key, "/?#") > 0;
    }
    return false;
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* 12-34, 12:34 or 12%3A34, at the end or before the next parameter. */
static bool is_node_id(const char *text)
{
    size_t size = digits_at(text);
    if (size == 0)
        return false;
    const char *at = text + size;
    const char *behind = skip_prefix(at, "%3A");
    if (behind == NULL)
        behind = *at == '-' || *at == ':' ? at + 1 : NULL;
    if (behind == NULL || digits_at(behind) == 0)
        return false;
    behind += digits_at(behind);
    return *behind == '\0' || *behind == '&' || *behind == '#';
}

static bool names_node(const char *path)
{
    static const char name[] = "node-id=";
    const char *query = strchr(path, '?');
    for (const char *at = query; at != NULL; at = strpbrk(at + 1, "&#")) {
        if (*at == '#')
            return false;
        const char *value = skip_prefix(at + 1, name);
        if (value != NULL)
            return is_node_id(value);
    }
    return false;
}

bool email_check_figma(const char *url, const char *param, struct error *err)
{
    const char *path = path_of(url);
    if (path == NULL || !names_file(path))
        return fail(err, ERR_FIGMA_URL_INVALID, param, "This is no address of a design file: https://www.figma.com/design/….");
    if (!names_node(path))
        return fail(err, ERR_FIGMA_URL_INVALID, param, "The address names no frame; copy the link of one frame, with its node-id.");
    return fail(err, ERR_FIGMA_NOT_CONNECTED, param, "No design tool is connected; this server cannot connect one yet.");
}
