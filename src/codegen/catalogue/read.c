#include "model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 512 };

/* Reads one file below the root. Errors are reported, and the result is then an empty value of the type. */
static json_t *read_json(const struct catalogue *all, const char *name, json_type wanted)
{
    json_error_t fault;
    json_t *value = json_load_file(text("%s/%s", all->root, name), JSON_REJECT_DUPLICATES, &fault);
    if (value == NULL) {
        problem(name, "line %d: %s", fault.line, fault.text);
    } else if (json_typeof(value) != wanted) {
        problem(name, "must hold %s", wanted == JSON_ARRAY ? "an array" : "an object");
        json_decref(value);
        value = NULL;
    }
    if (value == NULL) {
        value = wanted == JSON_ARRAY ? json_array() : json_object();
    }
    return keep(value);
}

static int is_not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The names in a folder below the root, sorted, so that the output does not depend on the file system. */
static size_t list_folder(const struct catalogue *all, const char *folder, const char *names[MAX_FILES])
{
    struct dirent **entries = NULL;
    int found = scandir(text("%s/%s", all->root, folder), &entries, is_not_hidden, alphasort);
    if (found < 0) {
        problem(folder, "%s", strerror(errno));
        return 0;
    }
    size_t count = 0;
    for (int i = 0; i < found; i++) {
        if (count < MAX_FILES) {
            names[count++] = text("%s", entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    return count;
}

static bool ends_with_json(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static const char *without_json(const char *name)
{
    return text("%.*s", (int)strlen(name) - 5, name);
}

static void *grow_array(void *items, size_t count, size_t item_size)
{
    void *bigger = realloc(items, (count + 1) * item_size);
    if (bigger == NULL) {
        perror("catalogue");
        exit(1);
    }
    memset((char *)bigger + count * item_size, 0, item_size);
    return bigger;
}

static void split_route(struct op_decl *op)
{
    const json_t *route = json_object_get(op->json, "route");
    if (json_is_null(route)) {
        return;
    }
    const char *whole = json_string_value(route);
    const char *space = whole != NULL ? strchr(whole, ' ') : NULL;
    if (space == NULL) {
        problem(op->where, "route must be \"METHOD /path\", or null when only tools use it");
        return;
    }
    op->method = text("%.*s", (int)(space - whole), whole);
    op->path = space + 1;
}

static void add_op(struct catalogue *all, const char *file, json_t *declaration)
{
    const char *id = member_text(declaration, "id");
    if (id == NULL) {
        problem(text("schemas/operations/%s", file), "an operation has no id");
        return;
    }
    all->ops = grow_array(all->ops, all->op_count, sizeof(*all->ops));
    struct op_decl *op = &all->ops[all->op_count++];
    op->json = declaration;
    op->where = text("schemas/operations/%s: %s", file, id);
    op->domain = without_json(file);
    op->id = id;
    op->c_name = snake_case(id);
    op->built = member_true(declaration, "built");
    split_route(op);
    resolve_params(op);
}

static void read_operations(struct catalogue *all)
{
    const char *names[MAX_FILES];
    size_t count = list_folder(all, "schemas/operations", names);
    for (size_t i = 0; i < count; i++) {
        if (!ends_with_json(names[i])) {
            continue;
        }
        json_t *file = read_json(all, text("schemas/operations/%s", names[i]), JSON_ARRAY);
        size_t at;
        json_t *declaration;
        json_array_foreach(file, at, declaration) {
            add_op(all, names[i], declaration);
        }
    }
}

static void read_resources(struct catalogue *all)
{
    const char *names[MAX_FILES];
    size_t count = list_folder(all, "schemas/resources", names);
    all->resources = keep(json_object());
    for (size_t i = 0; i < count; i++) {
        if (ends_with_json(names[i])) {
            json_t *schema = read_json(all, text("schemas/resources/%s", names[i]), JSON_OBJECT);
            json_object_set(all->resources, without_json(names[i]), schema);
        }
    }
}

/* Types of nodes are in the order of their names. */
static void read_nodes(struct catalogue *all)
{
    const char *names[MAX_FILES];
    size_t count = list_folder(all, "schemas/nodes", names);
    all->nodes = keep(json_array());
    all->node_shapes = keep(json_object());
    for (size_t i = 0; i < count; i++) {
        if (!ends_with_json(names[i])) {
            continue;
        }
        json_t *file = read_json(all, text("schemas/nodes/%s", names[i]), JSON_OBJECT);
        if (strcmp(names[i], "shared.json") == 0) {
            all->node_shapes = file;
        } else {
            json_array_append(all->nodes, file);
        }
        const char *type = member_text(file, "type");
        if (strcmp(names[i], "shared.json") != 0 && (type == NULL || strcmp(type, without_json(names[i])) != 0)) {
            problem(text("schemas/nodes/%s", names[i]), "type must be the name of the file");
        }
    }
    add_node_resource(all);
}

const struct op_decl *find_op(const struct catalogue *all, const char *id)
{
    for (size_t i = 0; i < all->op_count; i++) {
        if (strcmp(all->ops[i].id, id) == 0) {
            return &all->ops[i];
        }
    }
    return NULL;
}

static void add_tool_op(const struct catalogue *all, struct tool_decl *tool, const char *id, const char *chooser)
{
    const struct op_decl *op = id != NULL ? find_op(all, id) : NULL;
    if (op == NULL) {
        problem(tool->where, "runs the unknown operation %s", id != NULL ? id : "(not a text)");
        return;
    }
    tool->ops = grow_array(tool->ops, tool->op_count, sizeof(*tool->ops));
    tool->choosers = grow_array(tool->choosers, tool->op_count, sizeof(*tool->choosers));
    tool->ops[tool->op_count] = op;
    tool->choosers[tool->op_count] = chooser;
    tool->op_count++;
    tool->built = tool->built || op->built;
}

static void add_tool_ops_of_map(const struct catalogue *all, struct tool_decl *tool, json_t *map)
{
    const char *chooser;
    json_t *id;
    json_object_foreach(map, chooser, id) {
        add_tool_op(all, tool, json_string_value(id), chooser);
    }
}

/* Resolves the operations of a tool: `run` names them; `chooseBy` maps the values or the presence of an argument to them. */
static void resolve_tool_ops(const struct catalogue *all, struct tool_decl *tool)
{
    const json_t *run = json_object_get(tool->json, "run");
    const json_t *choose = json_object_get(tool->json, "chooseBy");
    if ((run != NULL) == (choose != NULL)) {
        problem(tool->where, "needs either run or chooseBy");
        return;
    }
    if (json_is_string(run)) {
        add_tool_op(all, tool, json_string_value(run), NULL);
    }
    size_t i;
    const json_t *id;
    json_array_foreach(run, i, id) {
        add_tool_op(all, tool, json_string_value(id), NULL);
    }
    tool->choose_by = member_text(choose, "argument");
    if (tool->choose_by != NULL) {
        add_tool_ops_of_map(all, tool, json_object_get(choose, "values"));
    } else if (choose != NULL) {
        add_tool_ops_of_map(all, tool, json_object_get(choose, "present"));
        add_tool_op(all, tool, member_text(choose, "otherwise"), NULL);
    }
    if (tool->op_count == 0) {
        problem(tool->where, "runs no operation");
    }
}

const struct tool_decl *find_tool(const struct catalogue *all, const char *name)
{
    for (size_t i = 0; name != NULL && i < all->tool_count; i++) {
        if (strcmp(all->tools[i].name, name) == 0) {
            return &all->tools[i];
        }
    }
    return NULL;
}

/* A tool that needs a provider is not listed as long as none of its category can be connected. */
static bool is_usable(const struct catalogue *all, const struct tool_decl *tool)
{
    const char *needed = member_text(json_object_get(tool->json, "needs"), "integration");
    size_t i;
    const json_t *provider;
    json_array_foreach(all->integrations, i, provider) {
        const char *category = member_text(provider, "category");
        if (needed != NULL && category != NULL && strcmp(category, needed) == 0) {
            return true;
        }
    }
    return needed == NULL;
}

static void add_tool(struct catalogue *all, const char *domain, const char *file)
{
    json_t *declaration = read_json(all, text("tools/%s/%s", domain, file), JSON_OBJECT);
    all->tools = grow_array(all->tools, all->tool_count, sizeof(*all->tools));
    struct tool_decl *tool = &all->tools[all->tool_count++];
    tool->json = declaration;
    tool->where = text("tools/%s/%s", domain, file);
    tool->domain = domain;
    tool->name = member_text(declaration, "name");
    if (tool->name == NULL || strcmp(tool->name, without_json(file)) != 0) {
        problem(tool->where, "name must be the name of the file");
        tool->name = without_json(file);
    }
    resolve_tool_ops(all, tool);
    tool->listed = tool->built && is_usable(all, tool);
}

static void read_tools(struct catalogue *all)
{
    const char *domains[MAX_FILES];
    size_t domain_count = list_folder(all, "tools", domains);
    for (size_t i = 0; i < domain_count; i++) {
        if (ends_with_json(domains[i])) {
            continue;
        }
        const char *files[MAX_FILES];
        size_t count = list_folder(all, text("tools/%s", domains[i]), files);
        for (size_t at = 0; at < count; at++) {
            if (ends_with_json(files[at])) {
                add_tool(all, domains[i], files[at]);
            }
        }
    }
}

static void read_rule_file(struct catalogue *all)
{
    all->rule_file = read_json(all, "schemas/rules.json", JSON_OBJECT);
    all->rules = keep(json_object());
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(all->rule_file, "rules"), i, entry) {
        const char *id = member_text(entry, "id");
        if (id != NULL) {
            json_object_set(all->rules, id, entry);
        }
    }
}

void read_catalogue(struct catalogue *all, const char *root)
{
    *all = (struct catalogue){ .root = root };
    all->errors = read_json(all, "schemas/errors.json", JSON_ARRAY);
    all->policies = read_json(all, "schemas/policies.json", JSON_OBJECT);
    all->integrations = read_json(all, "schemas/integrations.json", JSON_ARRAY);
    all->insights = read_json(all, "schemas/insights.json", JSON_ARRAY);
    all->clients = read_json(all, "schemas/clients.json", JSON_ARRAY);
    all->interface = read_json(all, "schemas/interface.json", JSON_OBJECT);
    read_rule_file(all);
    read_jobs(all, read_json(all, "schemas/jobs.json", JSON_ARRAY));
    read_operations(all);
    read_resources(all);
    read_nodes(all);
    read_tools(all);
    all->mcp = read_json(all, "tools/mcp.json", JSON_OBJECT);
    all->topics = read_json(all, "tools/topics.json", JSON_ARRAY);
}
