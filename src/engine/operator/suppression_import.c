/*
 * Import of suppressed addresses from a CSV file, the export of another service.
 * The file is read in blocks, and rows are committed in portions, so that memory
 * does not grow with the file.
 */
#include "engine/operator/operator_suppressions.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/text.h"
#include "engine/operator/operator_audit.h"
#include "mail/address.h"
#include "sql/operator_suppressions.h"

#include <stdio.h>
#include <string.h>

enum { PORTION_ROWS = 1000, WORD_MAX_CHARS = 40, HASH_HEX_CHARS = 2 * SECRET_HASH_BYTES, NO_COLUMN = -1 };

/* ---- Words of other services ---- */

enum import_reason { IMPORT_BOUNCE, IMPORT_COMPLAINT, IMPORT_UNSUBSCRIBE, IMPORT_OPERATOR, IMPORT_REASONS, IMPORT_NOBODY };

static const char *const reason_names[IMPORT_REASONS] = {
    [IMPORT_BOUNCE] = "bounce",
    [IMPORT_COMPLAINT] = "complaint",
    [IMPORT_UNSUBSCRIBE] = "unsubscribe",
    [IMPORT_OPERATOR] = "operator",
};

/* Letters and digits of a word, in lower case. */
static char *plain_word(struct arena *arena, const char *text)
{
    char *word = arena_alloc(arena, strlen(text) + 1);
    size_t size = 0;
    for (const char *lower = text_lower(arena, text); *lower != '\0'; lower++)
        if ((*lower >= 'a' && *lower <= 'z') || (*lower >= '0' && *lower <= '9'))
            word[size++] = *lower;
    word[size] = '\0';
    return word;
}

static enum import_reason reason_of_name(const char *name)
{
    for (int i = 0; i < IMPORT_REASONS; i++)
        if (strcmp(reason_names[i], name) == 0)
            return (enum import_reason)i;
    return IMPORT_OPERATOR;
}

/* False for any other text, such as the reply of a mail system. */
static bool reason_of_word(const char *word, enum import_reason *ret_reason)
{
    static const struct {
        const char *word;
        enum import_reason reason;
    } words[] = {
        { "bounce", IMPORT_BOUNCE },
        { "bounced", IMPORT_BOUNCE },
        { "hardbounce", IMPORT_BOUNCE },
        { "hard", IMPORT_BOUNCE },
        { "cleaned", IMPORT_BOUNCE },
        { "invalid", IMPORT_BOUNCE },
        { "permanent", IMPORT_BOUNCE },
        { "complaint", IMPORT_COMPLAINT },
        { "complained", IMPORT_COMPLAINT },
        { "spamcomplaint", IMPORT_COMPLAINT },
        { "spamreport", IMPORT_COMPLAINT },
        { "spam", IMPORT_COMPLAINT },
        { "abuse", IMPORT_COMPLAINT },
        { "unsubscribe", IMPORT_UNSUBSCRIBE },
        { "unsubscribed", IMPORT_UNSUBSCRIBE },
        { "optout", IMPORT_UNSUBSCRIBE },
        { "optedout", IMPORT_UNSUBSCRIBE },
        { "manualsuppression", IMPORT_OPERATOR },
        { "manual", IMPORT_OPERATOR },
        { "operator", IMPORT_OPERATOR },
        { "block", IMPORT_NOBODY },
        { "blocked", IMPORT_NOBODY },
        { "soft", IMPORT_NOBODY },
        { "softbounce", IMPORT_NOBODY },
        { "transient", IMPORT_NOBODY },
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (strcmp(words[i].word, word) == 0) {
            *ret_reason = words[i].reason;
            return true;
        }
    return false;
}

/* ---- State ---- */

/* Rows of one reason that are not written yet. */
struct portion {
    const char *hashes[PORTION_ROWS];
    const char *evidences[PORTION_ROWS];
    int64_t times[PORTION_ROWS];
    size_t count;
};

struct refused_row {
    int64_t line;
    const char *message;
};

struct suppression_import {
    const struct work *work;
    struct arena *rows; /* of the waiting rows */
    enum import_reason otherwise;
    int address_at;
    int reason_at;
    int date_at;
    bool has_header;
    size_t waiting;
    struct portion portions[IMPORT_REASONS];
    int64_t suppressed[IMPORT_REASONS];
    int64_t skipped;
    int64_t refused_count;
    struct refused_row refused[SUPPRESSION_IMPORT_SHOWN];
};

static void refuse_row(struct suppression_import *import, int64_t line, const char *message)
{
    if (import->refused_count < SUPPRESSION_IMPORT_SHOWN)
        import->refused[import->refused_count] = (struct refused_row){ line, arena_dup(import->work->arena, message) };
    import->refused_count++;
}

/* ---- Writing ---- */

static bool write_portion(struct suppression_import *import, enum import_reason reason, struct error *err)
{
    struct portion *portion = &import->portions[reason];
    const struct work *work = import->work;
    struct operator_suppressions_import_params params = {
        .brand_id = work->brand_id,
        .address_hashes = { portion->hashes, portion->count },
        .reason = reason_names[reason],
        .evidences = { portion->evidences, portion->count },
        .since = { portion->times, portion->count },
        .now = work->now_us,
    };
    if (portion->count == 0)
        return true;
    import->suppressed[reason] += (int64_t)portion->count;
    portion->count = 0;
    return sql_operator_suppressions_import(work->conn, import->rows, &params, NULL, err);
}

static bool write_portions(struct suppression_import *import, struct error *err)
{
    DB_TX tx = { NULL };
    if (!db_tx_begin(import->work->conn, &tx, err))
        return false;
    for (int i = 0; i < IMPORT_REASONS; i++)
        if (!write_portion(import, (enum import_reason)i, err))
            return false;
    if (!db_tx_commit(&tx, err))
        return false;
    import->waiting = 0;
    arena_reset(import->rows);
    return true;
}

/* ---- Rows ---- */

static const char *cell_text(const struct suppression_import *import, const struct csv_row *row, int column)
{
    if (column == NO_COLUMN || (size_t)column >= row->count || column >= CSV_MAX_CELLS)
        return "";
    return text_trim(import->rows, row->cells[column].text);
}

static int64_t event_time(const struct suppression_import *import, const char *text)
{
    int64_t number;
    int64_t time_us;
    int64_t now_us = import->work->now_us;
    if (int64_parse(text, &number) && number > 0 && number < now_us / US_PER_S)
        return number * US_PER_S;
    return clock_parse_iso(text, &time_us) && time_us < now_us ? time_us : now_us;
}

static enum import_reason row_reason(const struct suppression_import *import, const char *text, const char **ret_evidence)
{
    enum import_reason reason = import->otherwise;
    *ret_evidence = NULL;
    if (strlen(text) <= WORD_MAX_CHARS && reason_of_word(plain_word(import->rows, text), &reason))
        return reason;
    if (*text != '\0')
        *ret_evidence = text_visible(import->rows, text, SUPPRESSION_EVIDENCE_MAX_CHARS);
    return reason;
}

static void keep_row(struct suppression_import *import, const struct csv_row *row)
{
    const struct work *work = import->work;
    struct error why = { .code = ERR_NONE };
    struct address address;
    unsigned char hash[SECRET_HASH_BYTES];
    char *hex = arena_alloc(import->rows, HASH_HEX_CHARS + 1);
    const char *evidence;
    if (!address_parse(import->rows, cell_text(import, row, import->address_at), "address", &address, &why)) {
        refuse_row(import, row->line, why.message);
        return;
    }
    enum import_reason reason = row_reason(import, cell_text(import, row, import->reason_at), &evidence);
    if (reason == IMPORT_NOBODY) {
        import->skipped++;
        return;
    }
    address_hash(work->engine->address_key, address.key, hash);
    hex_encode(hash, sizeof(hash), hex);
    struct portion *portion = &import->portions[reason];
    portion->hashes[portion->count] = hex;
    portion->evidences[portion->count] = evidence;
    portion->times[portion->count++] = event_time(import, cell_text(import, row, import->date_at));
    import->waiting++;
}

/* ---- The header ---- */

static bool is_among(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static bool read_header(struct suppression_import *import, const struct csv_row *row, struct error *err)
{
    static const char *const addresses[] = { "email", "emailaddress", "address", "recipient", "mail" };
    static const char *const reasons[] = { "suppressionreason", "reason", "type", "event", "bouncetype" };
    static const char *const dates[] = { "date", "created", "createdat", "bouncedat", "timestamp", "lastupdatetime", "time" };
    for (size_t i = 0; i < row->count && i < CSV_MAX_CELLS; i++) {
        const char *word = plain_word(import->rows, row->cells[i].text);
        if (import->address_at == NO_COLUMN && is_among(word, addresses, ARRAY_COUNT(addresses)))
            import->address_at = (int)i;
        else if (import->reason_at == NO_COLUMN && is_among(word, reasons, ARRAY_COUNT(reasons)))
            import->reason_at = (int)i;
        else if (import->date_at == NO_COLUMN && is_among(word, dates, ARRAY_COUNT(dates)))
            import->date_at = (int)i;
    }
    import->has_header = true;
    return import->address_at != NO_COLUMN ||
           fail(err, ERR_INVALID_REQUEST, "file", "The first line names no column email or address; nothing was imported.");
}

static bool take_row(struct suppression_import *import, const struct csv_row *row, struct error *err)
{
    if (row->is_blank)
        return true;
    if (row->fault != CSV_FINE) {
        refuse_row(import, row->fault_line, "The line is not well-formed CSV in UTF-8, or it is too long.");
        return true;
    }
    if (!import->has_header)
        return read_header(import, row, err);
    keep_row(import, row);
    return import->waiting < PORTION_ROWS || write_portions(import, err);
}

/* ---- The file ---- */

static void close_file(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
}

/* Detects charset and delimiter, and begins behind the byte order mark. */
static bool begin_reader(struct suppression_import *import, struct csv_reader *reader, const unsigned char *bytes, size_t size,
                         bool is_last, struct error *err)
{
    size_t mark;
    enum charset charset = charset_of_mark(bytes, size, &mark);
    struct buf *text = buf_in_arena(import->work->arena, 4 * CSV_BLOCK_BYTES);
    if (mark == 0)
        charset = charset_guess(bytes, size);
    charset_decode(charset, bytes + mark, size - mark, is_last, text);
    struct csv_dialect dialect = csv_sniff(buf_text(text), text->size, is_last);
    csv_begin(reader, charset, dialect.delimiter, (int64_t)(mark + dialect.skip_bytes), dialect.skip_bytes > 0 ? 2 : 1);
    return size > mark + dialect.skip_bytes || fail(err, ERR_INVALID_REQUEST, "file", "The file is empty.");
}

static bool read_rows(struct suppression_import *import, struct csv_reader *reader, FILE *file, struct error *err)
{
    unsigned char *block = arena_alloc(import->work->arena, CSV_BLOCK_BYTES);
    for (;;) {
        struct csv_row row;
        enum csv_step step = csv_next(reader, &row);
        if (step == CSV_END)
            return import->has_header ||
                   fail(err, ERR_INVALID_REQUEST, "file", "The first line names no column email or address; nothing was imported.");
        if (step == CSV_ROW && !take_row(import, &row, err))
            return false;
        if (step != CSV_NEEDS_INPUT)
            continue;
        size_t size = fread(block, 1, CSV_BLOCK_BYTES, file);
        bool is_last = size < CSV_BLOCK_BYTES;
        size_t fed = csv_feed(reader, block, size, is_last);
        if (ferror(file) || (fed < size && fseeko(file, -(off_t)(size - fed), SEEK_CUR) != 0))
            return fail(err, ERR_INVALID_REQUEST, "file", "The file cannot be read.");
    }
}

static bool import_file(struct suppression_import *import, FILE *file, struct error *err)
{
    unsigned char *block = arena_alloc(import->work->arena, CSV_BLOCK_BYTES);
    size_t size = fread(block, 1, CSV_BLOCK_BYTES, file);
    struct csv_reader *reader = arena_alloc(import->work->arena, sizeof(*reader));
    bool ok = !ferror(file) || fail(err, ERR_INVALID_REQUEST, "file", "The file cannot be read.");
    if (!ok || !begin_reader(import, reader, block, size, size < CSV_BLOCK_BYTES, err))
        return false;
    ok = fseeko(file, reader->offset, SEEK_SET) == 0 || fail(err, ERR_INVALID_REQUEST, "file", "The file cannot be read twice.");
    ok = ok && read_rows(import, reader, file, err) && write_portions(import, err);
    csv_end(reader);
    return ok;
}

static void write_import(const struct suppression_import *import, struct json_writer *json)
{
    json_object_begin(json);
    json_key(json, "suppressed");
    json_object_begin(json);
    for (int i = 0; i < IMPORT_REASONS; i++)
        json_member_int(json, reason_names[i], import->suppressed[i]);
    json_object_end(json);
    json_member_int(json, "skipped", import->skipped);
    json_member_int(json, "refused", import->refused_count);
    json_key(json, "refusedRows");
    json_array_begin(json);
    for (int64_t i = 0; i < import->refused_count && i < SUPPRESSION_IMPORT_SHOWN; i++) {
        json_object_begin(json);
        json_member_int(json, "line", import->refused[i].line);
        json_member_text(json, "message", import->refused[i].message);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

bool operator_import_suppressions(const struct work *work, const char *path, const char *reason, struct json_writer *json,
                                  struct error *err)
{
    ARENA_SCOPE rows = arena_new(0);
    __attribute__((cleanup(close_file))) FILE *file = fopen(path, "rbe");
    struct suppression_import *import = arena_alloc(work->arena, sizeof(*import));
    import->work = work;
    import->rows = rows;
    import->address_at = import->reason_at = import->date_at = NO_COLUMN;
    DB_TX tx = { NULL };
    if (!operator_check_suppression_reason(reason, err))
        return false;
    if (file == NULL)
        return fail(err, ERR_INVALID_REQUEST, "file", "The file cannot be opened.");
    import->otherwise = reason_of_name(reason);
    if (!import_file(import, file, err) || !db_tx_begin(work->conn, &tx, err) ||
        !operator_commit(work, &tx, "admin.suppression.import", work_id(work, ID_BRAND, work->brand_id), err))
        return false;
    write_import(import, json);
    return true;
}
