/*
 * Documents by a model: the answer as a document, with a footer, and the
 * warnings about it.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "models/conversation.h"
#include "models/prompts.h"
#include "models/schemas.h"

enum { FOOTER_ADDRESS_MAX_CHARS = 300 };

struct writing {
    struct arena *arena;
    const struct brief *brief;
    enum absence absence;
    int64_t *serial;
    const json_t *document;
};

static bool refuse_html(const json_t *blocks, struct error *err)
{
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (text_equal(json_get_text(json_array_get(blocks, i), "type"), "html")) {
            fail(err, ERR_INVALID_REQUEST, NULL, "Blocks of the type html are not allowed here. Use another type.");
            return error_set_param(err, "blocks.%zu.type", i);
        }
    return true;
}

/* Adds the footer, which the law asks for, when the model has left it out. */
static void add_footer(const struct writing *writing, json_t *document)
{
    json_t *blocks = json_object_get(document, "blocks");
    const char *address = writing->brief->brand.address;
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (text_equal(json_get_text(json_array_get(blocks, i), "type"), "footer"))
            return;
    if (!json_is_array(blocks) || json_array_size(blocks) >= DOCUMENT_BLOCKS_MAX)
        return;
    json_t *footer = json_object();
    json_object_set_new(footer, "type", json_string("footer"));
    if (address != NULL)
        json_object_set_new(footer, "address", json_string(text_visible(writing->arena, address, FOOTER_ADDRESS_MAX_CHARS)));
    json_array_append_new(blocks, footer);
}

static bool take_document(void *context, const json_t *object, struct error *err)
{
    struct writing *writing = context;
    json_t *given = answer_without_absent(writing->arena, object, writing->absence);
    int64_t serial = *writing->serial;
    if (!refuse_html(json_object_get(given, "blocks"), err))
        return false;
    add_footer(writing, given);
    if (!document_read(writing->arena, given, &serial, &writing->document, err))
        return false;
    *writing->serial = serial;
    return true;
}

bool model_write_document(struct arena *arena, const struct model *model, const struct brief *brief, int64_t *serial,
                          struct model_design *ret_design, struct model_usage *ret_usage, struct error *err)
{
    enum absence absence = model->provider->absence;
    struct writing writing = { .arena = arena, .brief = brief, .absence = absence, .serial = serial };
    struct conversation conversation = {
        .model = model,
        .schema_name = "email_document",
        .schema = schema_of_document(arena, absence),
        .rules = prompt_for_document,
        .prompt = prompt_brief(arena, brief),
        .take = take_document,
        .context = &writing,
        .usage = ret_usage,
    };
    if (!conversation_hold(arena, &conversation, err))
        return false;
    ret_design->document = writing.document;
    ret_design->warnings = document_find_inventions(arena, writing.document, brief);
    return true;
}
