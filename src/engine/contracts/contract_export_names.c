/* Names and patterns that the exports share. */
#include "engine/contracts/contract_export.h"

#include "base/text.h"

#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

const char contract_date_pattern[] =
    "^(?:(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29|"
    "(?!0000)\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8])))"
    "T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)$";

const char *contract_format_name(enum contract_format format)
{
    static const char *const names[] = {
        [CONTRACT_TS] = "ts", [CONTRACT_ZOD] = "zod", [CONTRACT_JSON_SCHEMA] = "jsonschema", [CONTRACT_SKILL] = "skill"
    };
    return names[format];
}

/* Letters and digits of identifiers; a connector such as _ separates words. */
static bool is_of_word(ucs4_t point)
{
    return uc_is_property_id_continue(point) && uc_is_alnum(point);
}

static void add_point(struct buf *name, ucs4_t point)
{
    uint8_t bytes[6];
    int size = u8_uctomb(bytes, point, sizeof(bytes));
    if (size > 0)
        buf_add(name, bytes, (size_t)size);
}

const char *contract_payload_name(const struct work *work, const char *title)
{
    enum { NAME_MAX_BYTES = 2000 };
    struct buf *name = buf_in_arena(work->arena, NAME_MAX_BYTES);
    const uint8_t *at = (const uint8_t *)title;
    bool begins_word = true;
    for (ucs4_t point; (at = u8_next(&point, at)) != NULL;) {
        bool is_letter = is_of_word(point);
        if (is_letter && name->size == 0 && !uc_is_property_id_start(point))
            buf_add_text(name, "Event"); /* a name does not begin with a digit */
        if (is_letter)
            add_point(name, begins_word ? uc_toupper(point) : point);
        begins_word = !is_letter;
    }
    buf_add_text(name, "Payload");
    return buf_text(name);
}
