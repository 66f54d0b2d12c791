#include "payloads.h"

#include "lint.h"

static const struct payload_type no_type = { NULL, NULL, NULL };

/* A list of texts, or a list that only the engine looks into. */
static struct payload_type type_of_array(const json_t *declared)
{
    static const struct payload_type texts = { "PAYLOAD_TEXTS", "struct text_list ", "struct text_list " };
    static const struct payload_type list = { "PAYLOAD_LIST", "const json_t *", "const json_t *" };
    static const char *const only_string[] = { "string", NULL };
    const json_t *items = json_object_get(declared, "items");
    if (member_true(declared, "free")) {
        return items == NULL ? list : no_type;
    }
    return is_one_of(member_text(items, "type"), only_string) ? texts : no_type;
}

struct payload_type payload_type_of(const struct payload_decl *member)
{
    static const struct {
        const char *const names[2];
        struct payload_type type;
    } types[] = {
        { { "integer", NULL }, { "PAYLOAD_INTEGER", "int64_t ", "struct opt_int " } },
        { { "boolean", NULL }, { "PAYLOAD_BOOLEAN", "bool ", "struct opt_bool " } },
        { { "string", NULL }, { "PAYLOAD_TEXT", "const char *", "const char *" } },
    };
    static const char *const array[] = { "array", NULL };
    const char *type = member_text(member->json, "type");
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (is_one_of(type, types[i].names)) {
            return types[i].type;
        }
    }
    return is_one_of(type, array) ? type_of_array(member->json) : no_type;
}

bool payload_may_default(const struct payload_decl *member)
{
    static const char *const plain[] = { "integer", "boolean", "string", NULL };
    return is_one_of(member_text(member->json, "type"), plain);
}
