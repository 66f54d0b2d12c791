#include "cli/operation_help.h"

#include "cli/commands.h"
#include "cli/exit_status.h"

#include <stdio.h>
#include <string.h>

enum { LINE_CHARS = 100 };

/* Prints text, wrapped to lines that are indented by `indent` blanks. */
static void print_wrapped(const char *text, size_t indent)
{
    size_t column = indent;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > indent && column + word > LINE_CHARS) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        }
        printf("%s%.*s", column > indent ? " " : "", (int)word, text);
        column += word + 1;
        text += word;
        text += strspn(text, " ");
    }
    printf("\n");
}

/* ---- Domains ---- */

void print_domains(void)
{
    printf("\nEvery operation of the service is a command, locally or on a server (--url, --key):\n\n  ");
    size_t column = 2;
    for (size_t i = 0; i < operation_count; i++) {
        const char *domain = operations[i].domain;
        bool is_new = command_line_reaches(&operations[i]);
        for (size_t at = 0; at < i; at++)
            is_new = is_new && strcmp(operations[at].domain, domain) != 0;
        if (!is_new)
            continue;
        if (column + strlen(domain) + 1 > LINE_CHARS) {
            printf("\n  ");
            column = 2;
        }
        printf("%s ", domain);
        column += strlen(domain) + 1;
    }
    printf("\n\nposthorn DOMAIN --help lists its verbs, posthorn DOMAIN VERB --help their arguments.\n");
}

static void print_verb(const struct operation *op)
{
    char left[80];
    snprintf(left, sizeof(left), "%s%s%s", op->verb, *op->operands != '\0' ? " " : "", op->operands);
    printf("  %-34s %s%s%s\n", left, op->summary, op->method == NULL ? " (local only)" : "", op->built ? "" : " (not built yet)");
}

void print_domain_help(const char *domain)
{
    size_t hidden = 0;
    size_t shown = 0;
    printf("posthorn %s VERB [OPERANDS] [--flags]\n\n", domain);
    for (size_t i = 0; i < operation_count; i++) {
        if (strcmp(operations[i].domain, domain) != 0)
            continue;
        if (!command_line_reaches(&operations[i])) {
            hidden++;
            continue;
        }
        print_verb(&operations[i]);
        shown++;
    }
    if (hidden > 0)
        printf("  %s need a signed-in administrator over REST; locally use posthorn admin --help.\n",
               shown > 0 ? "Further verbs" : "All verbs");
    if (shown == 0)
        return;
    printf("\nposthorn %s VERB --help lists its flags.\n\n", domain);
    options_print_help(COMMAND_OPERATION);
    printf("\n");
    print_exit_statuses();
}

/* ---- One operation ---- */

static void print_fields(struct arena *arena, const struct arg_shape *shape, const char *prefix, size_t indent)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct arg_field *field = &shape->fields[i];
        const char *flag = *prefix == '\0' ? command_line_flag_name(arena, field) : field->flag;
        const char *name = arena_printf(arena, "%s%s", prefix, flag);
        if (field->place == ARG_IN_PATH)
            printf("%*s%s (%s)\n%*s", (int)indent, "", field->name, field->words, (int)indent + 6, "");
        else
            printf("%*s--%s (%s)\n%*s", (int)indent, "", name, field->words, (int)indent + 6, "");
        print_wrapped(field->description, indent + 6);
        if (field->kind == ARG_OBJECT)
            print_fields(arena, field->object, arena_printf(arena, "%s.", name), indent + 2);
    }
}

static void print_items(struct arena *arena, const struct arg_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct arg_field *field = &shape->fields[i];
        if (field->kind != ARG_OBJECT_LIST)
            continue;
        printf("\nMembers of an object in --%s:\n", command_line_flag_name(arena, field));
        for (size_t at = 0; at < field->object->count; at++) {
            const struct arg_field *member = &field->object->fields[at];
            printf("  %s (%s): ", member->name, member->words);
            print_wrapped(member->description, 6);
        }
    }
}

static void print_facts(const struct operation *op)
{
    if (op->method != NULL)
        printf("REST: %s %s\n", op->method, op->path);
    else
        printf("Local only: assistants use it as a tool; it is not available over REST.\n");
    printf("Scope: %s. Cost: %s\n", op->scope != NULL ? op->scope : "any credential", op->cost);
    if (op->policy != NULL && op->policy->limit > 0)
        printf("Rate: %d calls in %d s.\n", op->policy->limit, op->policy->window_s);
}

void print_operation_help(struct arena *arena, const struct operation *op)
{
    printf("posthorn %s %s%s%s [--flags]\n%s%s\n\n", op->domain, op->verb, *op->operands != '\0' ? " " : "", op->operands,
           op->summary, op->built ? "" : " Not built yet: returns NOT_IMPLEMENTED.");
    print_facts(op);
    if (op->args->count > 0) {
        printf("\nArguments:\n");
        print_fields(arena, op->args, "", 2);
        print_items(arena, op->args);
    }
    printf("\n");
    options_print_help(COMMAND_OPERATION_FIRST);
    printf("\nposthorn %s --help lists all options and the exit statuses.\n", op->domain);
}
