#include "db/db_errors.h"

#include <string.h>

/* Every constraint that a caller's request can violate. The drift test checks that each exists. */
const struct db_constraint_error db_constraint_errors[] = {
    { "domains_name", ERR_DOMAIN_ALREADY_EXISTS, "name", "This domain is already connected." },
    { "domains_proven", ERR_DOMAIN_VERIFIED_ELSEWHERE, "name", "Another brand verified this domain at the same time." },
    { "email_groups_name", ERR_EMAIL_GROUP_NAME_CONFLICT, "groupName", "This brand already has an email group with this name." },
};
const size_t db_constraint_error_count = ARRAY_COUNT(db_constraint_errors);

/* Classes of Appendix A of the PostgreSQL manual; the first matching prefix applies. */
static const struct {
    const char *prefix;
    enum error_code code;
    int64_t retry_after_s;
    const char *message;
} states[] = {
    { "40001", ERR_SERVICE_UNAVAILABLE, 1, "The database was busy with a conflicting change. Try again." },
    { "40P01", ERR_SERVICE_UNAVAILABLE, 1, "The database was busy with a conflicting change. Try again." },
    { "55P03", ERR_SERVICE_UNAVAILABLE, 1, "The database was busy with a conflicting change. Try again." },
    { "57014", ERR_SERVICE_UNAVAILABLE, 1, "The operation was stopped before its end, and none of its changes were saved." },
    { "08", ERR_SERVICE_UNAVAILABLE, 1, "The database cannot be reached." },
    { "57P", ERR_SERVICE_UNAVAILABLE, 1, "The database is restarting." },
    { "25P03", ERR_SERVICE_UNAVAILABLE, 1, "The database ended an idle transaction." },
    { "25006", ERR_SERVICE_UNAVAILABLE, 5, "The database is read-only at the moment." },
    { "53", ERR_SERVICE_UNAVAILABLE, 5, "The database is out of resources." },
    { "58", ERR_SERVICE_UNAVAILABLE, 5, "The database has a storage error." },
    { "22021", ERR_INVALID_REQUEST, 0, "A text contains a character that cannot be stored." },
    { "22P05", ERR_INVALID_REQUEST, 0, "A text contains a character that cannot be stored." },
    { "22003", ERR_INVALID_REQUEST, 0, "A number is out of range." },
    { "22008", ERR_INVALID_REQUEST, 0, "A date is out of range." },
};

static const struct db_constraint_error *known_constraint(const char *constraint)
{
    for (size_t i = 0; constraint != NULL && i < db_constraint_error_count; i++) {
        if (strcmp(db_constraint_errors[i].constraint, constraint) == 0)
            return &db_constraint_errors[i];
    }
    return NULL;
}

static bool fail_by_state(struct error *err, const char *sqlstate)
{
    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        if (strncmp(sqlstate, states[i].prefix, strlen(states[i].prefix)) == 0) {
            err->retry_after_s = states[i].retry_after_s;
            return fail(err, states[i].code, NULL, "%s", states[i].message);
        }
    }
    return fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
}

bool db_fail_with_sqlstate(struct error *err, const char *sqlstate, const char *constraint)
{
    const struct db_constraint_error *known = strncmp(sqlstate, "23", 2) == 0 ? known_constraint(constraint) : NULL;
    if (known != NULL)
        fail(err, known->code, known->param, "%s", known->message);
    else
        fail_by_state(err, sqlstate);
    snprintf(err->sqlstate, sizeof(err->sqlstate), "%s", sqlstate);
    return false;
}

/* The part of the server's message that quotes no value. Those about data (class 22) do, such as: invalid input syntax for type
 * bigint: "x". Another language than English has other quotation marks, which are no ASCII. */
static size_t size_without_values(const char *sqlstate, const char *message)
{
    bool is_about_data = strncmp(sqlstate, "22", 2) == 0;
    size_t size = 0;
    while (message[size] != '\0' && !(is_about_data && (message[size] == '"' || (unsigned char)message[size] >= 0x80)))
        size++;
    return size;
}

/* The server's detail and context are left out, because they quote the data. */
bool db_fail_with_result(struct error *err, const PGresult *result, const struct db_statement *statement)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *message = primary != NULL ? primary : "";
    db_fail_with_sqlstate(err, sqlstate != NULL ? sqlstate : "08000", constraint);
    return error_because(err, "%s: %.*s", statement != NULL ? statement->name : "script",
                         (int)size_without_values(err->sqlstate, message), message);
}

bool db_error_is_retryable(const struct error *err)
{
    return strcmp(err->sqlstate, "40001") == 0 || strcmp(err->sqlstate, "40P01") == 0;
}

bool db_error_is_canceled(const struct error *err)
{
    return strcmp(err->sqlstate, "57014") == 0;
}

bool db_error_is_lost(const struct error *err)
{
    return strncmp(err->sqlstate, "08", 2) == 0;
}
