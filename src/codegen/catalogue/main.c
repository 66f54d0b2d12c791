/*
 * Catalogue generator: reads schemas/ and tools/, checks (lints) the
 * declarations, and writes C tables, texts and documents.
 *
 *     catalogue SOURCE_ROOT OUTPUT_FOLDER
 *
 * writes OUTPUT_FOLDER/catalogue (C, OpenAPI) and OUTPUT_FOLDER/docs/reference.
 * When a lint fails, nothing is written and every reason is on stderr.
 */
#include "model.h"

/* Static, so that a leak checker finds everything reachable at exit. */
static struct catalogue all;

static void lint_declarations(void)
{
    lint_rules(&all);
    lint_errors(&all);
    lint_policies(&all);
    lint_integrations(&all);
    lint_insights(&all);
    lint_clients(&all);
    lint_nodes(&all);
    lint_interface(&all);
    lint_resources(&all);
    lint_views(&all);
    lint_jobs(&all);
    lint_operations(&all);
    lint_types(&all);
    lint_decisions(&all);
    lint_tools(&all);
    lint_counts(&all);
    lint_mcp(&all);
    lint_topics(&all);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: catalogue SOURCE_ROOT OUTPUT_FOLDER\n");
        return 2;
    }
    read_catalogue(&all, arguments[1]);
    lint_declarations();
    if (problem_count() > 0) {
        return 1; /* the next steps need valid declarations */
    }
    make_tool_schemas(&all);
    lint_listed_tools(&all);
    if (problem_count() > 0) {
        return 1;
    }
    const char *folder = text("%s/catalogue", arguments[2]);
    emit_errors(&all, folder);
    emit_policies(&all, folder);
    emit_integrations(&all, folder);
    emit_insights(&all, folder);
    emit_clients(&all, folder);
    emit_nodes(&all, folder);
    emit_operations_header(&all, folder);
    emit_operations(&all, folder);
    emit_jobs(&all, folder);
    emit_tools(&all, folder);
    emit_mcp(&all, folder);
    emit_help(&all, folder);
    emit_docs(&all, text("%s/docs/reference", arguments[2]));
    emit_insight_docs(&all, text("%s/docs/reference", arguments[2]));
    emit_client_docs(&all, text("%s/docs/reference", arguments[2]));
    emit_node_docs(&all, text("%s/docs/reference", arguments[2]));
    emit_commands(&all, text("%s/docs/reference", arguments[2]));
    return problem_count() > 0 ? 1 : 0;
}
