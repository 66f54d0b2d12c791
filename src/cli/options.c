#include "cli/options.h"

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_type {
    OPTION_TEXT,
    OPTION_TEXTS,  /* a repeated flag appends, comma-separated */
    OPTION_SECRET, /* text that may hold a password */
    OPTION_NUMBER,
    OPTION_NUMBER_OR_OFF,
    OPTION_REAL,
    OPTION_SWITCH,
    OPTION_WEB_ADDRESS,
    OPTION_SERVER,   /* a web address that may end with a slash */
    OPTION_DURATION, /* seconds, written as 90s, 30m, 12h or 7d */
};

struct option {
    const char *flag;
    const char *variable; /* NULL: flag only */
    enum option_type type;
    size_t offset;
    unsigned commands;
    const char *argument;
    const char *help;
};

enum { WEB_ADDRESS_MAX_BYTES = 200 };

enum {
    EVERYWHERE = COMMAND_MCP | COMMAND_SERVE | COMMAND_WORKER | COMMAND_RUNNER | COMMAND_CALL | COMMAND_TOOLS | COMMAND_ADMIN |
                 COMMAND_DOCTOR | COMMAND_STOP | COMMAND_WHY | COMMAND_OPERATION | COMMAND_BOUNCE,
    SERVERS = COMMAND_MCP | COMMAND_SERVE,
    JOBS = COMMAND_SERVE | COMMAND_WORKER | COMMAND_RUNNER | COMMAND_DOCTOR,
    CALLS = COMMAND_CALL | COMMAND_OPERATION,
    FIRST = COMMAND_OPERATION | COMMAND_OPERATION_FIRST,
    REMOTE = CALLS | COMMAND_TOOLS | COMMAND_OPERATION_FIRST,
};

static const struct option table[] = {
    { "--data", "POSTHORN_DATA", OPTION_TEXT, offsetof(struct options, data_dir), EVERYWHERE, "DIR",
      "folder of the installation (default: ~/.local/share/posthorn)" },
    { "--database", "POSTHORN_DATABASE", OPTION_SECRET, offsetof(struct options, database_url), EVERYWHERE, "URL",
      "PostgreSQL to use (default: a private cluster in the data folder)" },
    { "--brand", "POSTHORN_BRAND", OPTION_TEXTS, offsetof(struct options, brand),
      (EVERYWHERE & ~(COMMAND_WORKER | COMMAND_RUNNER)) | COMMAND_OPERATION_FIRST, "ID",
      "brand to work in (default: the first one)" },
    { "--listen", "POSTHORN_LISTEN", OPTION_TEXT, offsetof(struct options, listen), COMMAND_SERVE, "ADDRESS:PORT",
      "where to listen (default: 127.0.0.1:8420)" },
    { "--metrics", "POSTHORN_METRICS", OPTION_TEXT, offsetof(struct options, metrics_listen), COMMAND_SERVE, "ADDRESS:PORT",
      "address of the listener for Prometheus metrics" },
    { "--lmtp", "POSTHORN_LMTP", OPTION_TEXT, offsetof(struct options, lmtp), COMMAND_SERVE, "ADDRESS",
      "receive reports of other mail systems by LMTP: address:port, or the path of a unix socket" },
    { "--imap", "POSTHORN_IMAP", OPTION_SECRET, offsetof(struct options, imap), COMMAND_SERVE, "URLS",
      "mailboxes that receive such reports and nothing else, comma-separated: imaps://user:password@host/MAILBOX[?every=60]" },
    { "--limit-store", "POSTHORN_LIMIT_STORE", OPTION_SECRET, offsetof(struct options, limit_store), COMMAND_SERVE | COMMAND_DOCTOR,
      "URL",
      "Valkey or Redis that counts calls for several servers: redis://[[user]:password@]host[:port][/db] or unix:///PATH[?db=N]" },
    { "--toolsets", "POSTHORN_TOOLSETS", OPTION_TEXT, offsetof(struct options, toolsets), SERVERS | COMMAND_TOOLS, "NAMES",
      "only the tools of these toolsets, comma-separated" },
    { "--tools", "POSTHORN_TOOLS", OPTION_TEXT, offsetof(struct options, tools), SERVERS | COMMAND_TOOLS, "NAMES",
      "only these tools, comma-separated" },
    { "--read-only", "POSTHORN_READ_ONLY", OPTION_SWITCH, offsetof(struct options, read_only), SERVERS | COMMAND_TOOLS, NULL,
      "only tools that change nothing" },
    { "--response-budget", "POSTHORN_RESPONSE_BUDGET", OPTION_NUMBER, offsetof(struct options, response_budget_chars), SERVERS,
      "CHARS", "largest tool result in characters (default: 40000)" },
    { "--picture-budget", "POSTHORN_PICTURE_BUDGET", OPTION_NUMBER, offsetof(struct options, picture_budget_chars), SERVERS,
      "CHARS", "largest picture in a tool result, in characters of base64 (default: 40000)" },
    { "--confirm-above", "POSTHORN_CONFIRM_ABOVE", OPTION_NUMBER_OR_OFF, offsetof(struct options, confirm_above), SERVERS, "N",
      "sends of assistants to more recipients need a confirmation; off: never (default: 1)" },
    { "--allowed-host", "POSTHORN_ALLOWED_HOST", OPTION_TEXT, offsetof(struct options, allowed_hosts), COMMAND_SERVE, "NAMES",
      "further host names that /mcp answers to, comma-separated" },
    { "--allowed-origin", "POSTHORN_ALLOWED_ORIGIN", OPTION_TEXT, offsetof(struct options, allowed_origins), COMMAND_SERVE, "URLS",
      "further web origins that may call /mcp, comma-separated" },
    { "--trusted-proxy", "POSTHORN_TRUSTED_PROXY", OPTION_TEXT, offsetof(struct options, trusted_proxies), COMMAND_SERVE,
      "ADDRESSES", "proxies whose forwarded headers are trusted, comma-separated" },
    { "--connections-per-address", "POSTHORN_CONNECTIONS_PER_ADDRESS", OPTION_NUMBER, offsetof(struct options, max_per_peer),
      COMMAND_SERVE, "N", "connections of one client address; those of proxies are not counted (default: 512)" },
    { "--body-memory", "POSTHORN_BODY_MEMORY", OPTION_NUMBER, offsetof(struct options, body_memory_mib), COMMAND_SERVE, "MIB",
      "memory for the bodies of all requests and their JSON, at least 96; beyond it calls get 503 (default: 128)" },
    { "--threads", "POSTHORN_THREADS", OPTION_NUMBER, offsetof(struct options, threads),
      COMMAND_SERVE | COMMAND_WORKER | COMMAND_RUNNER, "N", "worker threads for jobs (default: 3)" },
    { "--idle", "POSTHORN_IDLE", OPTION_NUMBER, offsetof(struct options, idle_s), EVERYWHERE, "SECONDS",
      "the runner of a private cluster exits after this time without work or clients (default: 300)" },
    { "--import-root", "POSTHORN_IMPORT_ROOT", OPTION_TEXT, offsetof(struct options, import_root), COMMAND_MCP | CALLS, "DIR",
      "folder whose files import_contacts_csv may read by path (default: none)" },
    { "--public-url", "POSTHORN_PUBLIC_URL", OPTION_WEB_ADDRESS, offsetof(struct options, public_url), JOBS | COMMAND_MCP | CALLS,
      "URL", "public address of this server; images of imported designs are then hosted here" },
    { "--docs-url", "POSTHORN_DOCS_URL", OPTION_WEB_ADDRESS, offsetof(struct options, docs_url), SERVERS, "URL",
      "address of documents of your own; errors link to the page errors there (default: /docs of this server)" },
    { "--fetch-allow-loopback", "POSTHORN_FETCH_ALLOW_LOOPBACK", OPTION_SWITCH, offsetof(struct options, fetch_allow_loopback),
      JOBS | COMMAND_MCP | CALLS, NULL, "DANGEROUS, for tests: fetches images from this machine too" },
    { "--render-dir", "POSTHORN_RENDER_DIR", OPTION_TEXT, offsetof(struct options, render_dir), JOBS | COMMAND_MCP | CALLS, "DIR",
      "folder of the HTML renderer (default: that of this installation)" },
    { "--node", "POSTHORN_NODE", OPTION_TEXT, offsetof(struct options, node), JOBS | COMMAND_MCP | CALLS, "PATH",
      "Node.js 22.12 or newer for the HTML renderer (default: that of this installation, else the node of PATH)" },
    { "--dns-servers", "POSTHORN_DNS_SERVERS", OPTION_TEXT, offsetof(struct options, dns_servers),
      JOBS | COMMAND_MCP | CALLS | COMMAND_ADMIN, "ADDRESSES",
      "DNS servers for checking addresses and domains, comma-separated, each with or without a port (default: the system's)" },
    { "--outbox-max", "POSTHORN_OUTBOX_MAX", OPTION_NUMBER, offsetof(struct options, outbox_max_mib),
      COMMAND_SERVE | COMMAND_WORKER | COMMAND_RUNNER, "MIB", "maximum size of the capture outbox (default: 1024)" },
    { "--relay", "POSTHORN_RELAY", OPTION_SECRET, offsetof(struct options, relays), JOBS | COMMAND_MCP | CALLS, "URLS",
      "SMTP relays, comma-separated: smtp://[user:password@]host[:port][?tls=required&connections=10] (default: none)" },
    { "--uncertain", "POSTHORN_UNCERTAIN", OPTION_TEXT, offsetof(struct options, uncertain), JOBS | COMMAND_MCP | CALLS, "WHAT",
      "resend: a message that may have arrived is sent again with the same Message-ID; hold: it is not (default: resend)" },
    { "--retry-after", "POSTHORN_RETRY_AFTER", OPTION_NUMBER, offsetof(struct options, retry_after_s), JOBS | COMMAND_MCP | CALLS,
      "SECONDS", "delay before the first retry of a message that a relay deferred; later delays grow (default: 60)" },
    { "--helo-name", "POSTHORN_HELO_NAME", OPTION_TEXT, offsetof(struct options, helo_name), JOBS | COMMAND_MCP | CALLS, "NAME",
      "name of this host in EHLO (default: its host name)" },
    { "--dkim", "POSTHORN_DKIM", OPTION_TEXT, offsetof(struct options, dkim), JOBS | COMMAND_MCP | CALLS, "WHAT",
      "on: messages are signed with the keys of their domain; off: the relay signs them (default: on)" },
    { "--tracking", "POSTHORN_TRACKING", OPTION_TEXT, offsetof(struct options, tracking), JOBS | COMMAND_MCP | CALLS, "WHAT",
      "on: links and opens are tracked when there is a public URL, of the mail that admin brand tracking names; off: of none "
      "(default: on)" },
    { "--model", "POSTHORN_MODEL", OPTION_TEXT, offsetof(struct options, model), JOBS | COMMAND_MCP | CALLS, "PROVIDER",
      "a model of yours writes designs and edits: anthropic, openai or compatible (default: none; nothing is sent to a provider)" },
    { "--model-name", "POSTHORN_MODEL_NAME", OPTION_TEXT, offsetof(struct options, model_name), JOBS | COMMAND_MCP | CALLS, "NAME",
      "the provider's name of the model" },
    { "--model-url", "POSTHORN_MODEL_URL", OPTION_SERVER, offsetof(struct options, model_url), JOBS | COMMAND_MCP | CALLS, "URL",
      "base address of the model's API, as client libraries take it; a compatible server needs one (default: the provider's)" },
    { "--model-key-file", "POSTHORN_MODEL_KEY_FILE", OPTION_TEXT, offsetof(struct options, model_key_file),
      JOBS | COMMAND_MCP | CALLS, "FILE", "file with the key of the model's API" },
    { "--model-key", "POSTHORN_MODEL_KEY", OPTION_SECRET, offsetof(struct options, model_key), JOBS | COMMAND_MCP | CALLS, "KEY",
      "the key itself; the variable and --model-key-file keep it out of the arguments" },
    { "--embeddings", "POSTHORN_EMBEDDINGS", OPTION_TEXT, offsetof(struct options, embeddings), JOBS | COMMAND_MCP | CALLS,
      "PROVIDER",
      "an embedding model of yours finds images by meaning: openai, or the base address of a server with /embeddings "
      "(default: none; searches are by words)" },
    { "--embeddings-model", "POSTHORN_EMBEDDINGS_MODEL", OPTION_TEXT, offsetof(struct options, embeddings_model),
      JOBS | COMMAND_MCP | CALLS, "NAME", "the provider's name of the embedding model" },
    { "--embeddings-key-file", "POSTHORN_EMBEDDINGS_KEY_FILE", OPTION_TEXT, offsetof(struct options, embeddings_key_file),
      JOBS | COMMAND_MCP | CALLS, "FILE", "file with the key of the embedding model's API" },
    { "--embeddings-key", "POSTHORN_EMBEDDINGS_KEY", OPTION_SECRET, offsetof(struct options, embeddings_key),
      JOBS | COMMAND_MCP | CALLS, "KEY", "the key itself; the variable and --embeddings-key-file keep it out of the arguments" },
    { "--spam", "POSTHORN_SPAM", OPTION_TEXT, offsetof(struct options, spam), JOBS | COMMAND_MCP | CALLS, "FILTER",
      "spam filter of yours that audits ask: spamd:HOST:PORT (SpamAssassin) or rspamd:http://HOST:PORT (default: none)" },
    { "--key-file", "POSTHORN_KEY_FILE", OPTION_TEXT, offsetof(struct options, key_file),
      JOBS | COMMAND_MCP | CALLS | COMMAND_ADMIN, "FILE",
      "master key that seals secrets (default: master.key in the data folder)" },
    { "--log-level", "POSTHORN_LOG_LEVEL", OPTION_TEXT, offsetof(struct options, log_level), EVERYWHERE, "LEVEL",
      "debug, info, warning or error (default: info; mcp and call: warning)" },
    { "--url", "POSTHORN_URL", OPTION_SERVER, offsetof(struct options, url), REMOTE, "URL",
      "a running server instead of the local installation" },
    { "--key", "POSTHORN_KEY", OPTION_SECRET, offsetof(struct options, key), REMOTE, "KEY", "API key for --url" },
    { "--idempotency-key", NULL, OPTION_TEXT, offsetof(struct options, idempotency_key), CALLS | COMMAND_OPERATION_FIRST, "KEY",
      "makes the call safe to repeat for 24 hours" },
    { "--scopes", NULL, OPTION_TEXT, offsetof(struct options, scopes), COMMAND_ADMIN, "NAMES",
      "scopes of a new key (default: all)" },
    { "--name", NULL, OPTION_TEXT, offsetof(struct options, name), COMMAND_ADMIN, "TEXT",
      "name of a new key, report source or integration, or of the user of a new session, or title of a public group" },
    { "--role", NULL, OPTION_TEXT, offsetof(struct options, role), COMMAND_ADMIN, "NAME",
      "role of a new session: admin, or member with access to the brands of --brand (default: admin)" },
    { "--expires", NULL, OPTION_DURATION, offsetof(struct options, expires_s), COMMAND_ADMIN, "TIME",
      "how long a new session lasts, such as 30m, 12h or 7d (default: 24h)" },
    { "--org", NULL, OPTION_TEXT, offsetof(struct options, organization), COMMAND_ADMIN, "ID",
      "organization (default: the first one)" },
    { "--rate-multiplier", NULL, OPTION_REAL, offsetof(struct options, rate_multiplier), COMMAND_ADMIN, "X",
      "multiplies the rate limits of a new key (default: 1)" },
    { "--trust", NULL, OPTION_SWITCH, offsetof(struct options, trust), COMMAND_ADMIN, NULL,
      "skip the DNS check of a domain (verify) or of its new signing keys (rotate)" },
    { "--purpose", NULL, OPTION_TEXT, offsetof(struct options, purpose), COMMAND_ADMIN, "NAME",
      "sending purpose of a new domain: marketing or transactional (default: marketing)" },
    { "--note", NULL, OPTION_TEXT, offsetof(struct options, note), COMMAND_ADMIN, "TEXT", "why a send is approved or rejected" },
    { "--send", NULL, OPTION_TEXT, offsetof(struct options, send), COMMAND_ADMIN, "ID",
      "the only send that restore release releases (default: all)" },
    { "--reason", NULL, OPTION_TEXT, offsetof(struct options, reason), COMMAND_ADMIN, "NAME",
      "reason of a suppression: bounce, complaint, unsubscribe or operator (default: operator)" },
    { "--unsubscribed", NULL, OPTION_SWITCH, offsetof(struct options, unsubscribed), COMMAND_ADMIN, NULL,
      "suppression release ends an unsubscribe too; only for a person who has asked for mail again" },
    { "--to", NULL, OPTION_TEXT, offsetof(struct options, to), COMMAND_ADMIN, "VERSION",
      "version to which automation move moves the open runs: its number or id" },
    { "--dry-run", NULL, OPTION_SWITCH, offsetof(struct options, dry_run), COMMAND_ADMIN, NULL,
      "automation move only counts the runs" },
    { "--topic", NULL, OPTION_TEXT, offsetof(struct options, topic), COMMAND_ADMIN, "ARN",
      "SNS topic of a new report source of SES" },
    { "--public-key", NULL, OPTION_TEXT, offsetof(struct options, public_key), COMMAND_ADMIN, "KEY",
      "verification key of a new report source of SendGrid" },
    { "--secret-file", NULL, OPTION_TEXT, offsetof(struct options, secret_file), COMMAND_ADMIN, "FILE",
      "file with the signing secret of an integration or the password of a mailbox or seed mailbox, - for standard input (default: "
      "the secret "
      "of an integration is made and printed)" },
    { "--tables", NULL, OPTION_TEXT, offsetof(struct options, tables), COMMAND_ADMIN, "NAMES",
      "tables of a new integration of the provider database, comma-separated" },
    { "--columns", NULL, OPTION_TEXT, offsetof(struct options, columns), COMMAND_ADMIN, "NAMES",
      "columns of these tables that become fields of contacts, comma-separated (default: none)" },
    { "--return-path", NULL, OPTION_TEXT, offsetof(struct options, return_path), COMMAND_BOUNCE, "ADDRESS",
      "the address that the message was sent to (default: that of its header fields)" },
    { "--unmatched", NULL, OPTION_SWITCH, offsetof(struct options, unmatched), COMMAND_ADMIN, NULL,
      "only the reports whose message is not known" },
    { "--batch", NULL, OPTION_SWITCH, offsetof(struct options, batch), COMMAND_ADMIN, NULL,
      "read commands from standard input, each a line with a JSON list of words, such as [\"brand\",\"create\",\"Acme\"]; "
      "print a line for each" },
    { "--body", NULL, OPTION_TEXT, offsetof(struct options, body), FIRST, "JSON",
      "the whole body: JSON, @FILE, or - for standard input; flags override its members" },
    { "--output", "POSTHORN_OUTPUT", OPTION_TEXT, offsetof(struct options, output), FIRST, "FORMAT",
      "table, json or jsonl (default: table on a terminal, else json)" },
    { "-o", NULL, OPTION_TEXT, offsetof(struct options, output), COMMAND_OPERATION, "FORMAT", "the same as --output" },
    { "--fields", NULL, OPTION_TEXT, offsetof(struct options, fields), FIRST, "NAMES",
      "only these members, comma-separated; a.b is a member of a member" },
    { "--all", NULL, OPTION_SWITCH, offsetof(struct options, all), FIRST, NULL, "follow a list to its end, page by page" },
    { "--yes", NULL, OPTION_SWITCH, offsetof(struct options, yes), FIRST, NULL, "delete without asking" },
    { "--wait", NULL, OPTION_SWITCH, offsetof(struct options, wait), FIRST, NULL, "wait until the work has ended (local only)" },
};

bool options_tracking_off(const struct options *options)
{
    return options->tracking != NULL && strcmp(options->tracking, "off") == 0;
}

static void *option_target(struct options *options, const struct option *option)
{
    return (char *)options + option->offset;
}

static bool set_number(struct options *options, const struct option *option, const char *value, const char *source,
                       struct error *err)
{
    int64_t number;
    if (!int64_parse(value, &number) || number < 0)
        return fail(err, ERR_INVALID_REQUEST, option->flag, "%s needs a whole number of at least 0.", source);
    *(int64_t *)option_target(options, option) = number;
    return true;
}

/* -1 is off. */
static bool set_number_or_off(struct options *options, const struct option *option, const char *value, const char *source,
                              struct error *err)
{
    if (strcmp(value, "off") != 0)
        return set_number(options, option, value, source, err);
    *(int64_t *)option_target(options, option) = -1;
    return true;
}

static bool set_real(struct options *options, const struct option *option, const char *value, const char *source, struct error *err)
{
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    if (errno != 0 || end == value || *end != '\0' || !(number > 0))
        return fail(err, ERR_INVALID_REQUEST, option->flag, "%s needs a number above 0.", source);
    *(double *)option_target(options, option) = number;
    return true;
}

static bool set_switch(struct options *options, const struct option *option, const char *value, const char *source,
                       struct error *err)
{
    bool on = value == NULL || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    bool off = value != NULL && (strcmp(value, "0") == 0 || strcmp(value, "false") == 0 || *value == '\0');
    if (!on && !off)
        return fail(err, ERR_INVALID_REQUEST, option->flag, "%s must be true or false.", source);
    *(bool *)option_target(options, option) = on;
    return true;
}

static bool set_duration(struct options *options, const struct option *option, const char *value, const char *source,
                         struct error *err)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    enum { DIGITS_MAX = 9 };
    size_t digits = strspn(value, "0123456789");
    char number[DIGITS_MAX + 1] = "";
    if (digits >= 1 && digits <= DIGITS_MAX && strlen(value) == digits + 1)
        memcpy(number, value, digits);
    int64_t count = 0;
    for (size_t i = 0; number[0] != '\0' && i < ARRAY_COUNT(units); i++)
        if (units[i].unit == value[digits] && int64_parse(number, &count))
            count *= units[i].seconds;
    *(int64_t *)option_target(options, option) = count;
    return count > 0 || fail(err, ERR_INVALID_REQUEST, option->flag, "%s needs a time such as 30m, 12h or 7d.", source);
}

/* The address is written into HTML and headers unchanged: http or https, without user, query and fragment. It has no final slash,
 * because paths are appended to it. */
static bool set_web_address(struct options *options, const struct option *option, const char *value, const char *source,
                            struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]";
    const char *host = text_starts_with(value, "https://") ? value + 8 : text_starts_with(value, "http://") ? value + 7 : NULL;
    bool is_plain = host != NULL && (isalnum((unsigned char)*host) || *host == '[') && value[strspn(value, allowed)] == '\0';
    bool may_end_so = option->type == OPTION_SERVER || !is_plain || value[strlen(value) - 1] != '/';
    if (!is_plain || strlen(value) > WEB_ADDRESS_MAX_BYTES || !may_end_so)
        return fail(err, ERR_INVALID_REQUEST, option->flag, "%s needs an address such as https://mail.example.com%s.", source,
                    option->type == OPTION_SERVER ? "" : ", without a slash at its end");
    *(const char **)option_target(options, option) = value;
    return true;
}

static bool set_option(struct options *options, const struct option *option, const char *value, const char *source,
                       struct error *err)
{
    switch (option->type) {
    case OPTION_WEB_ADDRESS:
    case OPTION_SERVER:
        return set_web_address(options, option, value, source, err);
    case OPTION_DURATION:
        return set_duration(options, option, value, source, err);
    case OPTION_TEXT:
    case OPTION_TEXTS:
    case OPTION_SECRET:
        *(const char **)option_target(options, option) = value;
        return true;
    case OPTION_NUMBER:
        return set_number(options, option, value, source, err);
    case OPTION_NUMBER_OR_OFF:
        return set_number_or_off(options, option, value, source, err);
    case OPTION_REAL:
        return set_real(options, option, value, source, err);
    case OPTION_SWITCH:
        return set_switch(options, option, value, source, err);
    }
    return false;
}

static bool read_environment(enum command_bit command, struct options *options, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        const struct option *option = &table[i];
        const char *value = option->variable != NULL ? getenv(option->variable) : NULL;
        bool wanted = value != NULL && *value != '\0' && (option->commands & command) != 0;
        if (wanted && !set_option(options, option, value, option->variable, err))
            return false;
    }
    return true;
}

/* The option that an argument such as --data or --data=DIR names. */
static const struct option *find_option(const char *argument, const char **ret_value)
{
    const char *equals = strchr(argument, '=');
    size_t size = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    *ret_value = equals != NULL ? equals + 1 : NULL;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if (strlen(table[i].flag) == size && memcmp(table[i].flag, argument, size) == 0)
            return &table[i];
    return NULL;
}

/* A secret in the arguments of a process is visible to every user of the machine, so it is overwritten. */
static const char *hide_secret(struct arena *arena, char *argument, const char *value)
{
    const char *taken = arena_dup(arena, value);
    char *shown = argument + (value - argument);
    memset(shown, '*', strlen(shown));
    return taken;
}

static bool read_option_flag(struct arena *arena, enum command_bit command, int argc, char **argv, int *at, struct options *options,
                             struct error *err)
{
    static_assert(ARRAY_COUNT(table) <= OPTIONS_MAX, "a place for each flag");
    const char *argument = argv[*at];
    const char *value;
    const struct option *option = find_option(argument, &value);
    if (option == NULL || (option->commands & command) == 0)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%.100s is not an option of this command; --help lists them.", argument);
    if (value == NULL && option->type != OPTION_SWITCH) {
        if (*at + 1 >= argc)
            return fail(err, ERR_INVALID_REQUEST, option->flag, "%s needs a value.", option->flag);
        value = argv[++*at];
    }
    bool *given = &options->given[option - table];
    if (option->type == OPTION_SECRET)
        value = hide_secret(arena, argv[*at], value);
    if (option->type == OPTION_TEXTS && *given)
        value = arena_printf(arena, "%s,%s", *(const char **)option_target(options, option), value);
    *given = true;
    return set_option(options, option, value, option->flag, err);
}

static bool default_data_dir(struct arena *arena, struct options *options, struct error *err)
{
    if (options->data_dir != NULL && *options->data_dir != '\0')
        return true;
    const char *base = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (base != NULL && *base == '/')
        options->data_dir = arena_printf(arena, "%s/posthorn", base);
    else if (home != NULL && *home == '/')
        options->data_dir = arena_printf(arena, "%s/.local/share/posthorn", home);
    else
        return fail(err, ERR_INVALID_REQUEST, "--data", "Name the data folder with --data: there is no home folder.");
    return true;
}

static void path_free(char **path)
{
    free(*path);
}

/* The runner has another working folder, so it needs the absolute path. */
static bool find_import_root(struct arena *arena, struct options *options, struct error *err)
{
    if (options->import_root == NULL || options->help)
        return true;
    CLEANUP(path_free) char *path = realpath(options->import_root, NULL);
    if (path == NULL)
        return fail(err, ERR_INVALID_REQUEST, "--import-root", "--import-root: %.200s does not exist.", options->import_root);
    options->import_root = arena_dup(arena, path);
    return true;
}

int options_match(enum command_bit command, int argc, char *const *argv)
{
    const char *value;
    const struct option *option = argc > 0 ? find_option(argv[0], &value) : NULL;
    if (option == NULL || (option->commands & command) == 0)
        return 0;
    return value == NULL && option->type != OPTION_SWITCH && argc > 1 ? 2 : 1;
}

const char *options_flag_at(enum command_bit command, size_t at)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if ((table[i].commands & command) != 0 && at-- == 0)
            return table[i].flag;
    return NULL;
}

const char *options_variable(const char *flag)
{
    const char *value;
    const struct option *option = find_option(flag, &value);
    return option != NULL ? option->variable : NULL;
}

bool options_read(struct arena *arena, enum command_bit command, int argc, char **argv, struct options *ret_options,
                  struct error *err)
{
    struct options *options = ret_options;
    *options = (struct options){ .rate_multiplier = 1, .confirm_above = 1 };
    if (!read_environment(command, options, err))
        return false;
    size_t words = 0;
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        if (!only_words && strcmp(argument, "--") == 0) {
            only_words = true;
        } else if (!only_words && (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)) {
            options->help = true;
        } else if (!only_words && argument[0] == '-' && argument[1] != '\0') {
            if (!read_option_flag(arena, command, argc, argv, &i, options, err))
                return false;
        } else if (words + 1 < ARRAY_COUNT(options->words)) {
            options->words[words++] = argument;
        } else {
            return fail(err, ERR_INVALID_REQUEST, NULL, "There are too many arguments.");
        }
    }
    return find_import_root(arena, options, err) && default_data_dir(arena, options, err);
}

void options_print_help(enum command_bit command)
{
    printf("Options (a flag overrides its variable):\n");
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        const struct option *option = &table[i];
        if ((option->commands & command) == 0)
            continue;
        char left[64];
        snprintf(left, sizeof(left), "%s %s", option->flag, option->argument != NULL ? option->argument : "");
        printf("  %-28s %s%s%s%s\n", left, option->help, option->variable != NULL ? " [" : "",
               option->variable != NULL ? option->variable : "", option->variable != NULL ? "]" : "");
    }
}

const char *const *options_list(struct arena *arena, const char *text)
{
    if (text == NULL)
        return NULL;
    const char **items = arena_array(arena, strlen(text) + 2, sizeof(*items));
    size_t count = 0;
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        const char *item = text_trim(arena, arena_dup_bytes(arena, text, size));
        if (*item != '\0')
            items[count++] = item;
        text += size + (text[size] == ',');
    }
    return items;
}
