#include "http/endpoints/routes.h"

#include "base/panic.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUTE_MAX_SEGMENTS = 16,
    ROUTE_MAX_METHODS = 8,
    ROUTE_ALLOW_BYTES = 64,
};

struct node {
    const char *segment; /* without braces for a parameter */
    bool is_parameter;
    struct node *children; /* static ones first */
    struct node *sibling;
    const struct route *methods[ROUTE_MAX_METHODS];
    size_t method_count;
    char allow[ROUTE_ALLOW_BYTES];
};

struct route_table {
    struct node root;
};

struct segment {
    const char *text;
    size_t size;
};

/* ---- Building ---- */

static bool next_segment(const char **at, const char *end, struct segment *ret_segment)
{
    if (*at >= end || **at != '/')
        return false;
    const char *start = *at + 1;
    const char *stop = memchr(start, '/', (size_t)(end - start));
    if (stop == NULL)
        stop = end;
    *ret_segment = (struct segment){ start, (size_t)(stop - start) };
    *at = stop;
    return true;
}

/* Two routes may use different names for a parameter. They share the node and keep the first name. */
static struct node *child_of(struct arena *arena, struct node *parent, struct segment segment)
{
    bool is_parameter = segment.size > 2 && segment.text[0] == '{';
    struct node **link = &parent->children;
    while (*link != NULL) {
        struct node *child = *link;
        bool same_text = strlen(child->segment) == segment.size && memcmp(child->segment, segment.text, segment.size) == 0;
        if (child->is_parameter == is_parameter && (is_parameter || same_text))
            return child;
        if (child->is_parameter)
            break; /* static segments go before it */
        link = &child->sibling;
    }
    struct node *child = arena_alloc(arena, sizeof(*child));
    child->is_parameter = is_parameter;
    child->segment = is_parameter ? arena_dup_bytes(arena, segment.text + 1, segment.size - 2)
                                  : arena_dup_bytes(arena, segment.text, segment.size);
    child->sibling = *link;
    *link = child;
    return child;
}

static void add_route(struct arena *arena, struct node *root, const struct route *route)
{
    struct node *node = root;
    const char *at = route->path;
    const char *end = at + strlen(at);
    struct segment segment;
    while (next_segment(&at, end, &segment))
        node = child_of(arena, node, segment);

    for (size_t i = 0; i < node->method_count; i++) {
        if (strcmp(node->methods[i]->method, route->method) == 0)
            panic("two routes have the same method and path");
    }
    if (node->method_count == ROUTE_MAX_METHODS)
        panic("a path has too many methods");
    node->methods[node->method_count++] = route;
}

static bool node_has(const struct node *node, const char *method)
{
    for (size_t i = 0; i < node->method_count; i++) {
        if (strcmp(node->methods[i]->method, method) == 0)
            return true;
    }
    return false;
}

/* In alphabetical order, so that the header is the same at every start. */
static void write_allow(struct arena *arena, struct node *node)
{
    static const char *const methods[] = { "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT" };
    const char *allow = "";
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        bool served = strcmp(methods[i], "HEAD") == 0      ? node_has(node, "GET")
                      : strcmp(methods[i], "OPTIONS") == 0 ? node->method_count > 0
                                                           : node_has(node, methods[i]);
        if (served)
            allow = arena_printf(arena, "%s%s%s", allow, allow[0] != '\0' ? ", " : "", methods[i]);
    }
    snprintf(node->allow, sizeof(node->allow), "%s", allow);
    for (struct node *child = node->children; child != NULL; child = child->sibling)
        write_allow(arena, child);
}

struct route_table *route_table_new(struct arena *arena, const struct route *rows, size_t count)
{
    struct route_table *table = arena_alloc(arena, sizeof(*table));
    for (size_t i = 0; i < count; i++)
        add_route(arena, &table->root, &rows[i]);
    write_allow(arena, &table->root);
    return table;
}

/* ---- Matching ---- */

struct path_walk {
    const char *segments[ROUTE_MAX_SEGMENTS];
    size_t segment_count;
    struct name_value *parameters;
    size_t parameter_count;
};

static bool cut_segments(struct arena *arena, const char *path, size_t path_size, struct path_walk *path_walk)
{
    const char *at = path;
    const char *end = path + path_size;
    struct segment segment;
    while (next_segment(&at, end, &segment)) {
        if (path_walk->segment_count == ROUTE_MAX_SEGMENTS || segment.size == 0)
            return false;
        const char *text = memchr(segment.text, '%', segment.size) != NULL ? percent_decode(arena, segment.text, segment.size)
                                                                           : arena_dup_bytes(arena, segment.text, segment.size);
        if (text == NULL)
            return false;
        path_walk->segments[path_walk->segment_count++] = text;
    }
    return at == end;
}

/* Finds the first node, static before parameter, that matches the rest of the path. */
static const struct node *find_node(const struct node *node, struct path_walk *path_walk, size_t depth)
{
    if (depth == path_walk->segment_count)
        return node->method_count > 0 ? node : NULL;
    for (const struct node *child = node->children; child != NULL; child = child->sibling) {
        if (!child->is_parameter && strcmp(child->segment, path_walk->segments[depth]) != 0)
            continue;
        if (child->is_parameter && path_walk->parameter_count == ROUTE_MAX_PARAMETERS)
            return NULL;
        size_t before = path_walk->parameter_count;
        if (child->is_parameter)
            path_walk->parameters[path_walk->parameter_count++] = (struct name_value){ child->segment, path_walk->segments[depth] };
        const struct node *found = find_node(child, path_walk, depth + 1);
        if (found != NULL)
            return found;
        path_walk->parameter_count = before;
    }
    return NULL;
}

struct route_match route_match(const struct route_table *table, struct arena *arena, const char *method, const char *path,
                               size_t path_size)
{
    struct path_walk path_walk = { .parameters = arena_array(arena, ROUTE_MAX_PARAMETERS, sizeof(struct name_value)) };
    struct route_match match = { .path_known = false };
    if (!cut_segments(arena, path, path_size, &path_walk))
        return match;
    const struct node *node = find_node(&table->root, &path_walk, 0);
    if (node == NULL)
        return match;

    match.path_known = true;
    match.allow = node->allow;
    match.parameters = (struct name_value_list){ path_walk.parameters, path_walk.parameter_count };
    const char *served = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (size_t i = 0; i < node->method_count; i++) {
        if (strcmp(node->methods[i]->method, served) == 0)
            match.route = node->methods[i];
    }
    return match;
}
