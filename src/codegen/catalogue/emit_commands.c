#include "words.h"

#include <string.h>

/* The guide for all commands; tests/integration/cli/commands.test.mjs checks it against the command line. */
static const char guide[] =
    "Every operation is a command, generated from its declaration: `posthorn DOMAIN VERB [OPERANDS] [--flags]`. Operands are the\n"
    "parameters of its path; every other argument is a flag (`--scheduled-at`, or `--scheduledAt`). `posthorn DOMAIN --help` lists "
    "the\n"
    "verbs of a domain, `posthorn DOMAIN VERB --help` the flags of one with their types, bounds and defaults.\n"
    "\n"
    "```\n"
    "posthorn contacts search --filters "
    "'{\"logic\":\"and\",\"filters\":[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"pro\"}]}' --limit 10\n"
    "posthorn contacts search --all --output jsonl --fields email,firstName > people.jsonl\n"
    "posthorn emails import --content @design.html --title Spring\n"
    "posthorn sends create --body @send.json --scheduled-at 2030-05-01T09:00:00Z\n"
    "POSTHORN_KEY=$(cat key) posthorn email-groups delete grp_… --yes --url https://mail.example.com\n"
    "```\n"
    "\n"
    "## Values\n"
    "\n"
    "- A text, an object or a list of objects may come from a file (`@FILE`) or from standard input (`-`); `@@` starts a text with "
    "`@`.\n"
    "- `--count` is true, `--no-count` and `--count=false` are false. `--no-first-name` gives null where null is allowed.\n"
    "- A list is given by repeating its flag, by commas, or as JSON.\n"
    "- A member of a declared object has a flag of its own: `--source.kind html`. It adds to the object that its flag or `--body` "
    "gave.\n"
    "- `--body` takes the whole body as JSON; flags override its members.\n"
    "- A flag that is also an option, such as `--url` of `brands create`, is refused: `--body.url` (or `--query.brand`) is the "
    "argument.\n"
    "- A negative number, or a value that looks like an option, is joined to its flag: `--version=-1`.\n"
    "\n"
    "## Output\n"
    "\n"
    "A table on a terminal, else JSON exactly as REST answers it; `--output table|json|jsonl` chooses. `--fields a,b.c` selects "
    "columns.\n"
    "`--all` follows the cursor of a list to its end, a page at a time, and `--limit` is then the size of a page; it waits when "
    "the server\n"
    "asks it to (429), ends quietly when the reader of its output exits, and on an interrupt closes its JSON with the cursor where "
    "it stopped.\n"
    "On a terminal, deleting asks for confirmation unless `--yes` is given.\n"
    "\n"
    "## Local installation or server\n"
    "\n"
    "Commands use the local installation, or with `--url` and `--key` (`POSTHORN_URL`, `POSTHORN_KEY`) a running server over REST; "
    "the variable keeps\n"
    "a key out of the shell's history. A POST that honours idempotency keys gets one automatically, so it is repeated when the "
    "connection\n"
    "is lost; `--idempotency-key` names another. `--wait` waits until the work has ended (local only).\n"
    "\n"
    "## Exit status\n"
    "\n"
    "| | |\n"
    "| --- | --- |\n"
    "| 0 | success, or the reader of the output has exited |\n"
    "| 1 | refused, or failed |\n"
    "| 2 | the command line is invalid; no call was made |\n"
    "| 3 | not found |\n"
    "| 4 | the key is missing, invalid or lacks permission |\n"
    "| 5 | try again later: no answer, too many calls, or the service is unavailable |\n"
    "| 6 | not implemented in this version |\n"
    "| 130 | interrupted |\n";

static bool is_command(const struct op_decl *op)
{
    return strcmp(member_text(op->json, "reach"), "session") != 0;
}

static void put_command(struct output *out, const struct op_decl *op)
{
    const char *operands = command_operands(op);
    put(out, "| `%s %s%s%s` | %s%s%s |\n", command_domain(op), command_verb(op), operands[0] != '\0' ? " " : "", operands,
        member_text(op->json, "summary"), op->method == NULL ? " Local only." : "", op->built ? "" : " **Not built yet.**");
}

void emit_commands(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "command-line.md");
    put(&out, "<!-- Generated from schemas/ by src/codegen/catalogue/emit_commands.c; edit those instead. -->\n\n# Command line\n\n%s\n", guide);
    put(&out, "## Commands\n\nOperations that need a signed-in administrator are commands of `posthorn admin`.\n\n| Command | |\n| "
              "--- | --- |\n");
    for (size_t i = 0; i < all->op_count; i++) {
        if (is_command(&all->ops[i])) {
            put_command(&out, &all->ops[i]);
        }
    }
    output_close(&out);
}
