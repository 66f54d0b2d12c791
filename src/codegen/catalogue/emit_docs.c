#include "suggestions.h"
#include "words.h"

#include <ctype.h>
#include <string.h>

static void put_title(struct output *out, const char *title, const char *purpose)
{
    put(out, "<!-- Generated from schemas/ and tools/; edit those instead. -->\n\n# %s\n\n%s\n", title, purpose);
}

/* The anchor of a Markdown heading: D-01 → d-01. */
static const char *anchor_of(const char *id)
{
    char *made = text("%s", id);
    for (char *p = made; *p != '\0'; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return made;
}

/* A table cell must not contain | or a line break. */
static const char *cell(const char *value)
{
    char *made = text("%s", value != NULL ? value : "");
    for (char *p = made; *p != '\0'; p++) {
        if (*p == '|' || *p == '\n') {
            *p = '/';
        }
    }
    return made;
}

/* ---- Errors ---- */

/* The suggestion for programs, and those of the other readers where they differ. */
static void put_suggestions(struct output *out, const struct catalogue *all, const json_t *error)
{
    const char *program = suggestion_for(all, error, READER_PROGRAM);
    const char *assistant = suggestion_for(all, error, READER_ASSISTANT);
    const char *command = suggestion_for(all, error, READER_COMMAND);
    put(out, "%s\n", program);
    if (strcmp(assistant, program) != 0) {
        put(out, "\n- To an assistant: %s\n", assistant);
    }
    if (strcmp(command, program) != 0) {
        put(out, "%s- On the command line: %s\n", strcmp(assistant, program) != 0 ? "" : "\n", command);
    }
}

static void emit_errors_page(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "errors.md");
    put_title(&out, "Errors",
              "Every refusal has the body `{\"error\": {code, type, message, param?, suggestion, docs, retryAfter?, details?}}`. "
              "Branch on `code`; `message` is for people and may change. Over the agent protocol the same body is the text "
              "of a result with `isError`. The suggestion names what its reader has: routes, tools or commands.");
    size_t i;
    const json_t *error;
    json_array_foreach(all->errors, i, error) {
        double status = member_number(error, "status", 0);
        put(&out, "\n## %s\n\n%s, `%s`, %s.\n\n", member_text(error, "code"),
            status > 0 ? text("HTTP %.0f", status) : "Agent protocol only", member_text(error, "type"),
            member_true(error, "retryable") ? "worth a retry" : "not worth a retry");
        put_suggestions(&out, all, error);
    }
    output_close(&out);
}

/* ---- Operations ---- */

/* The ids of a member as links to the page that explains them. */
static void put_citations(struct output *out, const json_t *declaration, const char *member, const char *title, const char *page)
{
    const json_t *ids = json_object_get(declaration, member);
    size_t i;
    const json_t *id;
    json_array_foreach(ids, i, id) {
        const char *name = json_string_value(id);
        put(out, "%s[%s](%s#%s)", i == 0 ? text("- %s: ", title) : ", ", name, page, anchor_of(name));
    }
    if (json_array_size(ids) > 0) {
        put(out, "\n");
    }
}

static void put_rules(struct output *out, const json_t *declaration)
{
    put_citations(out, declaration, "rules", "Rules", "requirements.md");
}

static void put_facts(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const json_t *json = op->json;
    const char *scope = member_text(json, "scope");
    const char *policy = member_text(json, "policy");
    const char *reach = member_text(json, "reach");
    put(out, "- Reach: %s%s\n", reach, member_true(json, "organizationKey") ? ", organization keys only" : "");
    put(out, "- Scope: %s\n", scope != NULL ? scope : "any credential");
    if (policy != NULL) {
        const json_t *rate = json_object_get(json_object_get(all->policies, "rates"), policy);
        put(out, "- Rate: %s, %.0f in %.0f s\n", policy, member_number(rate, "limit", 0), member_number(rate, "windowS", 60));
    }
    put(out, "- Cost: %s\n", price_sentence(all, op));
    put(out, "- Answers: %.0f", member_number(json, "status", 200));
    const json_t *result = json_object_get(json, "result");
    put(out, json_is_string(result) ? " `%s`\n" : "\n", json_is_string(result) ? json_string_value(result) : "");
    if (member_true(json, "idempotencyKey")) {
        put(out, "- Honours Idempotency-Key\n");
    }
    const char *confirmation = member_text(json, "confirmation");
    if (confirmation != NULL) {
        put(out, "- Asks assistants for a confirmation first: `%s`\n", confirmation);
    }
    put(out, "- Work: %s, at most %.0f round trips to the database\n", member_text(json, "mode"), member_number(json, "queries", 0));
    const json_t *errors = json_object_get(json, "errors");
    if (json_array_size(errors) > 0) {
        put(out, "- Specific errors: %s\n", words_of(errors));
    }
    put_citations(out, json, "open", "Left open by the contract", "open-details.md");
    put_rules(out, json);
}

static void put_operation_entry(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const char *route = op->method != NULL ? text("`%s %s`", op->method, op->path) : "reached by tools only";
    const json_t *when = json_object_get(op->json, "when");
    put(out, "\n### %s\n\n%s%s\n\n%s%s\n\n", op->id, route, when != NULL ? text(" when `%s`", json_text(when)) : "",
        member_text(op->json, "summary"), op->built ? "" : " **Not built yet: answers 501.**");
    put_facts(out, all, op);
    const char *arguments = operation_arguments(op);
    if (arguments[0] != '\0') {
        put(out, "\nArguments:\n\n%s", arguments);
    }
}

static void emit_operations_page(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "operations.md");
    put_title(&out, "Operations",
              "All operations of the service, one entry each. A route with several entries uses the first one whose "
              "condition holds. Result shapes are in `schemas/resources`.");
    const char *domain = "";
    for (size_t i = 0; i < all->op_count; i++) {
        if (strcmp(domain, all->ops[i].domain) != 0) {
            domain = all->ops[i].domain;
            put(&out, "\n## %s\n", domain);
        }
        put_operation_entry(&out, all, &all->ops[i]);
    }
    output_close(&out);
}

/* ---- Tools ---- */

static const char *hints_in_words(const struct tool_decl *tool)
{
    const json_t *hints = json_object_get(tool->json, "hints");
    const char *effect = member_true(hints, "readOnly") ? "reads" : member_true(hints, "destructive") ? "destructive" : "writes";
    return text("%s%s%s", effect, member_true(hints, "idempotent") ? ", idempotent" : "",
                member_true(hints, "openWorld") ? ", reaches the outside" : "");
}

static void emit_tools_page(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "tools.md");
    put_title(&out, "Tools",
              "The tools that an assistant sees. A tool runs one operation or chooses one of several; its schemas are derived from "
              "them.");
    put(&out, "\n| Tool | Toolset | Hints | Built |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < all->tool_count; i++) {
        const struct tool_decl *tool = &all->tools[i];
        put(&out, "| %s | %s | %s | %s |\n", tool->name, tool->domain, hints_in_words(tool), tool->built ? "yes" : "no");
    }
    for (size_t i = 0; i < all->tool_count; i++) {
        const struct tool_decl *tool = &all->tools[i];
        put(&out, "\n## %s\n\n%s\n\n", tool->name, tool->description);
        for (size_t at = 0; at < tool->op_count; at++) {
            put(&out, "- runs %s%s%s\n", tool->ops[at]->id,
                tool->choosers[at] == NULL  ? ""
                : tool->choose_by != NULL   ? text(" when `%s` is %s", tool->choose_by, tool->choosers[at])
                                            : text(" when `%s` is given", tool->choosers[at]),
                tool->ops[at]->built ? "" : " (not built yet)");
        }
        const char *instead = member_text(json_object_get(tool->json, "instead"), "text");
        if (instead != NULL) {
            put(&out, "\n%s Instead: %s\n", tool->built ? "Not in tools/list." : "Not available in this version.", instead);
        }
        put_rules(&out, tool->json);
        if (tool->built) {
            put(&out, "\nAs listed:\n\n```json\n%s\n```\n", json_text(tool->list_object));
        }
    }
    output_close(&out);
}

/* ---- Open details ---- */

/* The places that a decision affects: the operations and shapes that name it. */
static const char *uses_of(const struct catalogue *all, const char *id, const json_t *decision)
{
    const char *uses = "";
    for (size_t i = 0; i < all->op_count; i++) {
        if (list_has(json_object_get(all->ops[i].json, "open"), id)) {
            uses = text("%s%s%s", uses, uses[0] != '\0' ? ", " : "", all->ops[i].id);
        }
    }
    const char *name;
    json_t *schema;
    json_object_foreach(all->resources, name, schema) {
        if (list_has(json_object_get(schema, "open"), id)) {
            uses = text("%s%s%s (shape)", uses, uses[0] != '\0' ? ", " : "", name);
        }
    }
    return uses[0] != '\0' ? uses : member_true(decision, "pending") ? "no declaration yet" : "everywhere";
}

static void emit_open_page(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "open-details.md");
    put_title(&out, "Open details", "The contract leaves these details open, or contradicts itself in them. The table gives each decision and the "
                                    "operations and shapes that follow it. Clients should depend on them as little as possible.");
    put(&out, "\n| | Area | Question | Decision | Where |\n| --- | --- | --- | --- | --- |\n");
    const char *id;
    json_t *decision;
    json_object_foreach(all->rules, id, decision) {
        if (member_text(decision, "question") != NULL) {
            put(&out, "| <a id=\"%s\"></a>%s | %s | %s | %s | %s |\n", anchor_of(id), id, cell(member_text(decision, "area")),
                cell(member_text(decision, "question")), cell(member_text(decision, "text")), uses_of(all, id, decision));
        }
    }
    output_close(&out);
}

void emit_docs(const struct catalogue *all, const char *folder)
{
    emit_errors_page(all, folder);
    emit_operations_page(all, folder);
    emit_tools_page(all, folder);
    emit_open_page(all, folder);
}
