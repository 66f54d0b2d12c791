#include "model.h"

#include <string.h>

/* ---- The table ---- */

static void emit_clients_header(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "mail_clients.h");
    put_origin(&out, "Mail clients that previews simulate.");
    put(&out,
        "#pragma once\n\n#include <stdbool.h>\n\nenum { MAIL_CLIENT_COUNT = %zu };\n\n"
        "struct mail_client {\n    const char *id;\n    const char *label;\n    const char *category; /* gmail, outlook, apple, "
        "yahoo or other */\n    const char *os;       /* NULL: none */\n    bool is_dark;\n    bool is_default; /* shown when a "
        "caller "
        "names no clients */\n    const char *declaration; /* JSON; the renderer reads it */\n};\n"
        "extern const struct mail_client mail_clients[MAIL_CLIENT_COUNT];\n",
        json_array_size(all->clients));
    output_close(&out);
}

static void put_member(struct output *out, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    put(out, "        .%s = ", name);
    put_c_string(out, value);
    put(out, ",\n");
}

static bool is_dark(const json_t *row)
{
    return strcmp(member_text(row, "scheme"), "dark") == 0;
}

static bool is_default(const json_t *row)
{
    return json_is_true(json_object_get(row, "default"));
}

void emit_clients(const struct catalogue *all, const char *folder)
{
    static const char *const texts[] = { "id", "label", "category", "os", NULL };
    emit_clients_header(all, folder);
    struct output out;
    output_open(&out, folder, "mail_clients.c");
    put_origin(&out, "Mail clients that previews simulate.");
    put(&out, "#include \"catalogue/mail_clients.h\"\n\n#include <stddef.h>\n\n"
              "const struct mail_client mail_clients[MAIL_CLIENT_COUNT] = {\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->clients, i, row) {
        put(&out, "    {\n");
        for (size_t at = 0; texts[at] != NULL; at++) {
            put_member(&out, texts[at], member_text(row, texts[at]));
        }
        put(&out, "        .is_dark = %s,\n        .is_default = %s,\n", is_dark(row) ? "true" : "false",
            is_default(row) ? "true" : "false");
        put_member(&out, "declaration", json_text(row));
        put(&out, "    },\n");
    }
    put(&out, "};\n");
    output_close(&out);
}

/* ---- Texts ---- */

json_t *help_clients(const struct catalogue *all)
{
    json_t *rows = json_array();
    size_t i;
    const json_t *row;
    json_array_foreach (all->clients, i, row) {
        json_t *shown = json_pack("{s:s, s:s, s:s, s:b, s:b}", "id", member_text(row, "id"), "label", member_text(row, "label"),
                                  "category", member_text(row, "category"), "dark", is_dark(row), "default", is_default(row));
        json_array_append_new(rows, shown);
    }
    return rows;
}

const char *client_list(const struct catalogue *all)
{
    const char *list = "";
    size_t i;
    const json_t *row;
    json_array_foreach (all->clients, i, row) {
        list = text("%s- `%s`: %s\n", list, member_text(row, "id"), member_text(row, "label"));
    }
    return list;
}

static const char *bounds_of(const json_t *row)
{
    double block = member_number(row, "styleBlockChars", 0);
    return block > 0 ? text("%.0f characters a block, %.0f in all", block, member_number(row, "styleChars", 0)) : "–";
}

void emit_client_docs(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "clients.md");
    put(&out, "# Mail clients\n\nGenerated from `schemas/clients.json`. Previews simulate these clients; "
              "[the module](../modules/previews.md) describes how. A call that names no clients gets those marked as default.\n\n"
              "| Client | Id | Default | System | Data of caniemail | Engine | Width | Density | Inversion | Style sheets |\n"
              "|---|---|---|---|---|---|---|---|---|---|\n");
    size_t i;
    const json_t *row;
    json_array_foreach (all->clients, i, row) {
        const char *os = member_text(row, "os");
        const char *data = member_text(row, "caniemail");
        put(&out, "| %s | `%s` | %s | %s | %s | %s | %.0f | %.0f | %s | %s |\n", member_text(row, "label"), member_text(row, "id"),
            is_default(row) ? "yes" : "no", os != NULL ? os : "–", data != NULL ? data : "–", member_text(row, "engine"),
            member_number(row, "width", 0), member_number(row, "density", 0), member_text(row, "inversion"), bounds_of(row));
    }
    output_close(&out);
}
