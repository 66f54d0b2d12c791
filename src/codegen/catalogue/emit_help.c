#include "suggestions.h"
#include "words.h"

#include <string.h>

/* ---- The body of GET /v1/help ---- */

static json_t *help_scopes(const struct catalogue *all)
{
    json_t *rows = json_array();
    const char *name;
    json_t *scope;
    json_object_foreach(json_object_get(all->policies, "scopes"), name, scope) {
        json_array_append_new(rows, json_pack("{s:s, s:O}", "scope", name, "satisfies", json_object_get(scope, "implies")));
    }
    return rows;
}

static json_t *help_prices(const struct catalogue *all)
{
    json_t *rows = json_array();
    const char *name;
    json_t *price;
    json_object_foreach(json_object_get(all->policies, "prices"), name, price) {
        json_t *row = json_pack("{s:s, s:I, s:O}", "operation", name, "cost", (json_int_t)member_number(price, "credits", 0), "kind",
                                json_object_get(price, "kind"));
        if (member_text(price, "unit") != NULL) {
            json_object_set(row, "unit", json_object_get(price, "unit"));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *help_rates(const struct catalogue *all)
{
    json_t *rows = json_array();
    const char *name;
    json_t *rate;
    json_object_foreach(json_object_get(all->policies, "rates"), name, rate) {
        json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:o}", "policy", name, "limit", (int)member_number(rate, "limit", 0),
                                              "windowSeconds", (int)member_number(rate, "windowS", 60), "routes",
                                              routes_of_policy(all, name)));
    }
    return rows;
}

static json_t *help_endpoint(const struct catalogue *all, size_t at)
{
    const struct op_decl *op = &all->ops[at];
    bool available = false;
    for (size_t i = 0; i < all->op_count; i++) {
        available = available || (all->ops[i].built && is_same_route(&all->ops[i], op));
    }
    return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b}", "method", op->method, "path", op->path, "summary",
                     member_text(op->json, "summary"), "scope", member_text(op->json, "scope"), "policy",
                     member_text(op->json, "policy"), "available", available);
}

static json_t *help_endpoints(const struct catalogue *all)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < all->op_count; i++) {
        if (is_main_of_route(all, i)) {
            json_array_append_new(rows, help_endpoint(all, i));
        }
    }
    return rows;
}

static json_t *help_error(const struct catalogue *all, const json_t *error)
{
    json_t *row = json_deep_copy(error);
    json_object_set_new(row, "suggestion", json_string(suggestion_for(all, error, READER_PROGRAM)));
    json_object_del(row, "mcp");
    json_object_del(row, "command");
    return row;
}

static json_t *help_errors(const struct catalogue *all)
{
    json_t *rows = json_array();
    size_t i;
    const json_t *error;
    json_array_foreach(all->errors, i, error) {
        if (member_number(error, "status", 0) > 0) {
            json_array_append_new(rows, help_error(all, error));
        }
    }
    return rows;
}

/* ---- Topics ---- */

static const char *topic_text(const struct catalogue *all, const json_t *topic)
{
    const char *page = text("# %s\n\n%s\n", member_text(topic, "title"), member_text(topic, "text"));
    const char *append = member_text(topic, "append");
    if (append == NULL) {
        return page;
    }
    if (strcmp(append, "prices") == 0) {
        return text("%s\n%s", page, price_list(all));
    }
    if (strcmp(append, "clients") == 0) {
        return text("%s\nClients of test_email_rendering:\n%s", page, client_list(all));
    }
    if (strcmp(append, "nodes") == 0) {
        return text("%s%s", page, node_list(all));
    }
    return text("%s\n%s", page, strcmp(append, "rates") == 0 ? rate_list(all) : error_list(all));
}

static void put_topics(struct output *out, const struct catalogue *all)
{
    put(out, "const struct help_topic help_topics[] = {\n");
    size_t i;
    const json_t *topic;
    json_array_foreach(all->topics, i, topic) {
        put(out, "    { \"%s\", \"%s\",\n    ", member_text(topic, "name"), member_text(topic, "title"));
        put_c_string(out, topic_text(all, topic));
        put(out, ",\n    (const char *const[]){ ");
        size_t at;
        const json_t *tool;
        json_array_foreach(json_object_get(topic, "tools"), at, tool) {
            put(out, "\"%s\", ", json_string_value(tool));
        }
        put(out, "NULL } },\n");
    }
    put(out, "};\nconst size_t help_topic_count = %zu;\n\n", json_array_size(all->topics));
}

static void emit_texts_header(const char *folder)
{
    struct output out;
    output_open(&out, folder, "texts.h");
    put_origin(&out, "Topics of the help tool. api/catalogue.h declares the other texts.");
    put(&out, "#pragma once\n\n#include <stddef.h>\n\n"
              "/* In the order of enum capabilities_get_topic: help_topics[topic - 1]. */\n"
              "struct help_topic {\n    const char *name;\n    const char *title;\n    const char *text; /* Markdown */\n"
              "    const char *const *tools; /* names of its tools, NULL-terminated */\n};\n"
              "extern const struct help_topic help_topics[];\nextern const size_t help_topic_count;\n");
    output_close(&out);
}

void emit_help(const struct catalogue *all, const char *folder)
{
    emit_texts_header(folder);
    json_t *help = keep(json_pack("{s:o, s:{s:o}, s:o, s:o, s:o, s:o}", "scopes", help_scopes(all), "credits", "operations",
                                  help_prices(all), "rateLimits", help_rates(all), "endpoints", help_endpoints(all), "clients",
                                  help_clients(all), "errors", help_errors(all)));
    struct output out;
    output_open(&out, folder, "texts.c");
    put_origin(&out, "Texts generated at build time: help, topics and the OpenAPI document.");
    put(&out, "#include \"catalogue/texts.h\"\n\n#include \"api/catalogue.h\"\n\n");
    put_topics(&out, all);
    put(&out, "const char catalogue_help_json[] =\n    ");
    put_c_string(&out, json_text(help));
    put(&out, ";\n\nconst char catalogue_openapi_json[] =\n    ");
    put_c_string(&out, json_text(openapi_document(all)));
    put(&out, ";\n");
    output_close(&out);

    struct output file;
    output_open(&file, folder, "openapi.json");
    put(&file, "%s\n", json_text(openapi_document(all)));
    output_close(&file);
}
