/*
 * Export of designs to email providers, and import from Figma. This version
 * cannot connect other services, so a request is checked and then refused.
 */
#include "engine/emails/emails.h"

#include "base/compiler.h"
#include "mail/address.h"

#include <string.h>
#include <strings.h>

bool email_check_export(const struct work *work, int64_t email_id, const char *provider, const char *sender_email,
                        struct error *err)
{
    struct address sender;
    if (sender_email != NULL && !address_parse(work->arena, sender_email, "senderEmail", &sender, err))
        return false;
    struct email_find_params params = { .brand_id = work->brand_id, .id = email_id };
    struct email_find_row *email;
    if (!sql_email_find(work->conn, work->arena, &params, &email, err))
        return false;
    if (email == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (strcmp(email->status, "ready") != 0 || !email->version_id.set)
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design is %s; only a ready design can be exported.", email->status);
    return fail(err, ERR_INTEGRATION_NOT_CONNECTED, "provider",
                "%.64s is not connected to this brand; this server cannot connect providers yet.", provider);
}

/* ---- Figma ---- */

static const char *skip_prefix(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncasecmp(text, prefix, size) == 0 ? text + size : NULL;
}

/* The path after https://figma.com/ (or www.); NULL for another URL. */
static const char *figma_path(const char *url)
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
static bool is_file_path(const char *path)
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
    const char *end = skip_prefix(at, "%3A");
    if (end == NULL)
        end = *at == '-' || *at == ':' ? at + 1 : NULL;
    if (end == NULL || digits_at(end) == 0)
        return false;
    end += digits_at(end);
    return *end == '\0' || *end == '&' || *end == '#';
}

static bool has_node_id(const char *path)
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
    const char *path = figma_path(url);
    if (path == NULL || !is_file_path(path))
        return fail(err, ERR_FIGMA_URL_INVALID, param, "The URL must be that of a design file: https://www.figma.com/design/….");
    if (!has_node_id(path))
        return fail(err, ERR_FIGMA_URL_INVALID, param, "The URL has no valid node-id; copy the link of one frame.");
    return fail(err, ERR_FIGMA_NOT_CONNECTED, param, "No design tool is connected; this server cannot connect one yet.");
}
