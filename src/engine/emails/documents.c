#include "engine/emails/documents.h"

#include "base/json_read.h"
#include "base/text.h"
#include "designer/change.h"

#include <string.h>

enum { STORED_MAX_BYTES = 2 * DOCUMENT_MAX_BYTES };

static bool read_stored(struct arena *arena, const char *stored, const json_t **ret_document, struct error *err)
{
    struct error why = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = STORED_MAX_BYTES };
    if (json_read(arena, stored, strlen(stored), bounds, ret_document, &why))
        return true;
    fail(err, ERR_INTERNAL_ERROR, NULL, "The document of this design cannot be read.");
    return error_because(err, "%s", why.message);
}

/* The document with this subject. A subject that documents do not take leaves the document as it is. */
static const json_t *with_subject(struct arena *arena, const json_t *document, const char *subject_line)
{
    int64_t serial = 0;
    struct error ignored = { .code = ERR_NONE };
    struct document_change change;
    json_t *subject = subject_line != NULL ? json_string(subject_line) : json_null();
    const json_t *operations = json_in_arena(arena, json_pack("[{ss s{so}}]", "op", "meta", "values", "subjectLine", subject));
    return document_change(arena, document, operations, &serial, &change, &ignored) ? change.document : document;
}

bool email_read_document(const struct work *work, const char *stored, const char *subject_line, const json_t **ret_document,
                         struct error *err)
{
    *ret_document = NULL;
    if (stored == NULL)
        return true;
    if (!read_stored(work->arena, stored, ret_document, err))
        return false;
    if (!text_equal(json_get_text(*ret_document, "subjectLine"), subject_line))
        *ret_document = with_subject(work->arena, *ret_document, subject_line);
    return true;
}
