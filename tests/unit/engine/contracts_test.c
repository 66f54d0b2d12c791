/* Payload contracts: what a tree may declare, what a check of a payload finds, and what the hash covers. */
#include "fixtures/own_fail.h"

#include "base/json_read.h"
#include "engine/contracts/contract.h"
#include "engine/payloads/payloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena *arena; /* one per test */
static struct work work;
static struct error err;
static struct contract_check result;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    work = (struct work){ .arena = arena };
    err = (struct error){ .code = ERR_NONE };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#define EMAIL "{'key': 'email', 'type': 'string', 'required': true}"

/* JSON with ' for ". */
static const json_t *json_of(const char *text)
{
    char *copy = arena_dup(arena, text);
    for (char *at = copy; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
    const json_t *json;
    if (!json_read(arena, copy, strlen(copy), (struct json_bounds){ .max_bytes = 1 << 24 }, &json, &err))
        fail_msg("%s: %s", text, err.message);
    return json;
}

/* A contract of email and these fields. */
static struct contract read_contract(const char *fields, bool is_stored)
{
    struct contract contract;
    const char *all = arena_printf(arena, "[" EMAIL "%s%s]", fields[0] != '\0' ? "," : "", fields);
    if (!contract_read(&work, json_of(all), "fields", is_stored, &contract, &err))
        fail_msg("%s: %s %s", fields, err.param, err.message);
    return contract;
}

static void assert_refused(const char *fields, bool is_stored, enum error_code code, const char *param)
{
    struct contract contract;
    err = (struct error){ .code = ERR_NONE };
    if (contract_read(&work, json_of(fields), "fields", is_stored, &contract, &err))
        fail_msg("%s was accepted", fields);
    if (strcmp(err.param, param) != 0)
        fail_msg("%s: param %s, not %s (%s)", fields, err.param, param, err.message);
    assert_int_equal(err.code, code);
}

/* ---- Reading ---- */

static void test_faults_have_their_path(void **state) /* */
{
    (void)state;
    static const char *const rows[][2] = {
        { "{}", "fields" },
        { "[1]", "fields.0" },
        { "[{'type': 'string', 'required': true}]", "fields.0.key" },
        { "[{'key': 'a.b', 'type': 'string', 'required': true}]", "fields.0.key" },
        { "[{'key': 'a\\u0001', 'type': 'string', 'required': true}]", "fields.0.key" },
        { "[{'key': '__proto__', 'type': 'string', 'required': true}]", "fields.0.key" },
        { "[" EMAIL ", {'key': 'plan', 'type': 'number', 'required': true}]", "fields.1.type" },
        { "[" EMAIL ", {'key': 'plan', 'type': 'unknown', 'required': true}]", "fields.1.type" },
        { "[" EMAIL ", {'key': 'plan', 'type': 'string'}]", "fields.1.required" },
        { "[" EMAIL ", {'key': 'plan', 'type': 'string', 'required': 'yes'}]", "fields.1.required" },
        { "[" EMAIL ", {'key': 'plan', 'type': 'string', 'required': true, 'fallback': 1}]", "fields.1.fallback" },
        { "[" EMAIL ", {'key': 'n', 'type': 'int', 'required': false, 'fallbackValue': 'x'}]", "fields.1.fallbackValue" },
        { "[" EMAIL ", {'key': 'n', 'type': 'int', 'required': false, 'fallbackValue': 1.5}]", "fields.1.fallbackValue" },
        { "[" EMAIL ", {'key': 'n', 'type': 'int', 'required': false, 'fallbackValue': [1]}]", "fields.1.fallbackValue" },
        { "[" EMAIL ", {'key': 'd', 'type': 'date', 'required': false, 'fallbackValue': '2026-11-21'}]", "fields.1.fallbackValue" },
        { "[" EMAIL ", {'key': 'o', 'type': 'array', 'required': false, 'itemType': 'int', 'fallbackValue': 1}]",
          "fields.1.fallbackValue" },
        { "[" EMAIL ", {'key': 'e', 'type': 'enum', 'required': false}]", "fields.1.enumValues" },
        { "[" EMAIL ", {'key': 'e', 'type': 'enum', 'required': false, 'enumValues': ['a', 'b', 'a']}]", "fields.1.enumValues" },
        { "[" EMAIL ", {'key': 'e', 'type': 'enum', 'required': false, 'enumValues': ['a', 1]}]", "fields.1.enumValues" },
        { "[" EMAIL ", {'key': 's', 'type': 'string', 'required': false, 'enumValues': ['a']}]", "fields.1.enumValues" },
        { "[" EMAIL ", {'key': 's', 'type': 'string', 'required': false, 'children': [" EMAIL "]}]", "fields.1.children" },
        { "[" EMAIL ", {'key': 's', 'type': 'object', 'required': false, 'children': 1}]", "fields.1.children" },
        { "[" EMAIL ", {'key': 's', 'type': 'object', 'required': false, 'itemType': 'int'}]", "fields.1.itemType" },
        { "[" EMAIL ", {'key': 's', 'type': 'array', 'required': false, 'itemType': 'object'}]", "fields.1.itemType" },
        { "[" EMAIL ", {'key': 's', 'type': 'array', 'required': false, 'itemType': 'int', 'children': [" EMAIL "]}]",
          "fields.1.itemType" },
        { "[" EMAIL ", {'key': 'o', 'type': 'object', 'required': true, 'children': [{'key': 'p', 'type': 'array',"
          " 'required': true, 'children': [" EMAIL ", {'key': 'x', 'type': 'what', 'required': true}]}]}]",
          "fields.1.children.0.children.1.type" },
        { "[" EMAIL ", {'key': 'o', 'type': 'array', 'required': true, 'children': [{'key': 'p', 'type': 'int',"
          " 'required': false, 'fallbackValue': 1}]}]",
          "fields.1.children.0.fallbackValue" },
        { "[" EMAIL ", {'key': 'x', 'type': 'int', 'required': true}, {'key': 'y', 'type': 'int', 'required': true},"
          " {'key': 'x', 'type': 'string', 'required': true}]",
          "fields.3.key" },
        { "[" EMAIL ", {'key': 'x', 'type': 'int', 'required': true, 'description': 5}]", "fields.1.description" },
        { "[" EMAIL ", {'key': 'x', 'type': 'int', 'required': true, 'exampleValue': {}}]", "fields.1.exampleValue" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        assert_refused(rows[i][0], false, ERR_INVALID_REQUEST, rows[i][1]);
        assert_refused(rows[i][0], true, ERR_INVALID_REQUEST, rows[i][1]);
    }
}

static void test_the_address_is_required(void **state) /* */
{
    (void)state;
    static const char *const rows[] = {
        "[]",
        "[{'key': 'plan', 'type': 'string', 'required': true}]",
        "[{'key': 'email', 'type': 'string', 'required': false}]",
        "[{'key': 'email', 'type': 'date', 'required': true}]",
        "[{'key': 'o', 'type': 'object', 'required': true, 'children': [" EMAIL "]}]",
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_refused(rows[i], i % 2 == 0, ERR_PAYLOAD_SCHEMA_EMAIL_REQUIRED, "fields");
    struct contract contract;
    assert_false(contract_read(&work, NULL, "payloadSchema", false, &contract, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_SCHEMA_EMAIL_REQUIRED);
}

static void test_only_a_schema_has_unknown_types(void **state) /* */
{
    (void)state;
    static const char fields[] =
        "{'key': 'o', 'type': 'object', 'required': true}, {'key': 'l', 'type': 'array', 'required': false}";
    struct contract derived = read_contract(fields, false);
    assert_true(contract_has_unknown(&derived));
    assert_false(contract_has_unknown(&(struct contract){ .count = 1, .fields = derived.fields }));
    assert_non_null(strstr(contract_fields_json(&work, &derived, false), "\"key\":\"o\",\"type\":\"unknown\""));
    assert_non_null(strstr(contract_fields_json(&work, &derived, true), "\"key\":\"o\",\"type\":\"object\""));
    assert_refused("[" EMAIL ", {'key': 'o', 'type': 'object', 'required': true, 'children': []}]", true, ERR_INVALID_REQUEST,
                   "fields.1.children");
    assert_refused("[" EMAIL ", {'key': 'o', 'type': 'array', 'required': true}]", true, ERR_INVALID_REQUEST, "fields.1.children");
}

/* A chain of `depth` levels. */
static const char *nested(unsigned depth)
{
    const char *fields = "{'key': 'x', 'type': 'int', 'required': false}";
    for (unsigned i = 1; i < depth; i++)
        fields = arena_printf(arena, "{'key': 'x', 'type': 'object', 'required': false, 'children': [%s]}", fields);
    return fields;
}

static const char *many(size_t count)
{
    struct buf *text = buf_in_arena(arena, 1 << 20);
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%s{'key': 'k%zu', 'type': 'int', 'required': false}", i > 0 ? "," : "", i);
    return buf_text(text);
}

static void test_trees_are_bounded(void **state)
{
    (void)state;
    read_contract(nested(CONTRACT_MAX_DEPTH), true);
    struct contract too_deep;
    const char *deep = arena_printf(arena, "[" EMAIL ",%s]", nested(CONTRACT_MAX_DEPTH + 1));
    assert_false(contract_read(&work, json_of(deep), "fields", true, &too_deep, &err));
    assert_non_null(strstr(err.param, "fields.1.children.0.children.0.children.0")); /* the path is cut at its bound */
    read_contract(many(CONTRACT_FIELDS_MAX - 1), true);
    assert_refused(arena_printf(arena, "[" EMAIL ",%s]", many(CONTRACT_FIELDS_MAX)), true, ERR_INVALID_REQUEST, "fields");
}

static void test_paths_find_fields(void **state)
{
    (void)state;
    bool is_open;
    struct contract contract = read_contract("{'key': 'order', 'type': 'object', 'required': true, 'children': ["
                                             "{'key': 'total', 'type': 'float', 'required': true}]},"
                                             "{'key': 'meta', 'type': 'object', 'required': false},"
                                             "{'key': 'items', 'type': 'array', 'required': false, 'children': [" EMAIL "]}",
                                             false);
    assert_int_equal(contract_find(&contract, "order.total", &is_open)->type, CONTRACT_FLOAT);
    assert_false(is_open);
    assert_int_equal(contract_find(&contract, "items", &is_open)->type, CONTRACT_ARRAY);
    assert_null(contract_find(&contract, "order.tax", &is_open));
    assert_null(contract_find(&contract, "items.email", &is_open));
    assert_null(contract_find(&contract, "email.x", &is_open));
    assert_null(contract_find(&contract, "", &is_open));
    assert_false(is_open);
    assert_non_null(contract_find(&contract, "meta.any.thing", &is_open));
    assert_true(is_open);
}

/* ---- Checking ---- */

/* The findings as text: code field expected actual. */
static const char *findings_text(const struct contract_finding *findings, size_t count)
{
    struct buf *text = buf_in_arena(arena, 1 << 16);
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%s%s %s %s %s", i > 0 ? "; " : "", findings[i].code, findings[i].field,
                   findings[i].expected_type == NULL ? "-" : findings[i].expected_type,
                   findings[i].actual_type == NULL ? "-" : findings[i].actual_type);
    return buf_text(text);
}

static void assert_errors(const struct contract *contract, const char *payload, const char *expected)
{
    contract_check(&work, contract, json_of(payload), &result);
    const char *found = findings_text(result.errors, result.error_count);
    if (strcmp(found, expected) != 0)
        fail_msg("%s:\nfound    %s\nexpected %s", payload, found, expected);
}

static void test_types(void **state) /* */
{
    (void)state;
    struct contract contract =
        read_contract("{'key': 'i', 'type': 'int', 'required': false}, {'key': 'f', 'type': 'float', 'required': "
                      "false}, {'key': 'b', 'type': 'boolean', 'required': false}, {'key': 'd', 'type': 'date', "
                      "'required': false}, {'key': 'e', 'type': 'enum', 'required': false, 'enumValues': "
                      "['x', 'y']}, {'key': 'o', 'type': 'object', 'required': false, 'children': [{'key': "
                      "'n', 'type': 'int', 'required': true}]}, {'key': 'l', 'type': 'array', 'required': "
                      "false, 'itemType': 'int'}, {'key': 'm', 'type': 'array', 'required': false, "
                      "'children': [{'key': 'sku', 'type': 'string', 'required': true}]}",
                      true);
    static const char *const rows[][2] = {
        { "{'email': 'a'}", "" },
        { "{'email': 1}", "invalid_type email string int" },
        { "{}", "missing_required email string -" },
        { "{'email': null}", "missing_required email string -" },
        { "{'email': 'a', 'i': 5}", "" },
        { "{'email': 'a', 'i': 5.0}", "" },
        { "{'email': 'a', 'i': 5.5}", "invalid_type i int float" },
        { "{'email': 'a', 'i': '5'}", "invalid_type i int string" },
        { "{'email': 'a', 'i': null}", "" },
        { "{'email': 'a', 'f': 5}", "" },
        { "{'email': 'a', 'f': 5.5}", "" },
        { "{'email': 'a', 'f': true}", "invalid_type f float boolean" },
        { "{'email': 'a', 'b': false}", "" },
        { "{'email': 'a', 'b': 0}", "invalid_type b boolean int" },
        { "{'email': 'a', 'd': '2026-11-21T09:30:00Z'}", "" },
        { "{'email': 'a', 'd': '2024-02-29T09:30:00.123+05:30'}", "" },
        { "{'email': 'a', 'd': '2026-02-29T09:30:00Z'}", "invalid_type d date string" },
        { "{'email': 'a', 'd': '2026-11-21'}", "invalid_type d date string" },
        { "{'email': 'a', 'd': '2026-11-21 09:30:00Z'}", "invalid_type d date string" },
        { "{'email': 'a', 'd': '2026-11-21T09:30:00z'}", "invalid_type d date string" },
        { "{'email': 'a', 'd': 1795253400}", "invalid_type d date int" },
        { "{'email': 'a', 'e': 'y'}", "" },
        { "{'email': 'a', 'e': 'z'}", "invalid_type e enum string" },
        { "{'email': 'a', 'e': {}}", "invalid_type e enum object" },
        { "{'email': 'a', 'o': {'n': 1}}", "" },
        { "{'email': 'a', 'o': {}}", "missing_required o.n int -" },
        { "{'email': 'a', 'o': []}", "invalid_type o object array" },
        { "{'email': 'a', 'l': [1, 2]}", "" },
        { "{'email': 'a', 'l': [1, 'x', null]}", "invalid_type l.1 int string; invalid_type l.2 int null" },
        { "{'email': 'a', 'l': {}}", "invalid_type l array object" },
        { "{'email': 'a', 'm': []}", "" },
        { "{'email': 'a', 'm': [{'sku': 'A1'}, {'sku': 2}, {}, 3]}",
          "invalid_type m.1.sku string int; missing_required m.2.sku string -; invalid_type m.3 object int" },
        { "{'email': 'a', 'other': 1}", "" },
        { "[]", "payload_not_object  object array" },
        { "null", "payload_not_object  object null" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_errors(&contract, rows[i][0], rows[i][1]);
}

static void test_enforcement_of_undeclared_keys(void **state) /* */
{
    (void)state;
    struct contract contract =
        read_contract("{'key': 'o', 'type': 'object', 'required': false, 'children': [{'key': 'n', 'type': 'int',"
                      " 'required': false}]}, {'key': 'm', 'type': 'array', 'required': false, 'children': "
                      "[{'key': 'n', 'type': 'int', 'required': false}]}, {'key': 'free', 'type': 'object', "
                      "'required': false}",
                      false);
    static const char payload[] = "{'email':'a','o':{'n':1,'x':2},'m':[{'n':1,'y':3}],'z':{'w':1},'free':{'any':1}}";

    contract.enforcement = CONTRACT_OFF;
    assert_errors(&contract, payload, "");
    assert_string_equal(findings_text(result.warnings, result.warning_count),
                        "unexpected_key o.x - -; unexpected_key m.0.y - -; unexpected_key z - -");
    assert_true(json_equal(result.payload, json_of(payload)));
    assert_int_equal(result.pruned.count, 0);

    contract.enforcement = CONTRACT_PRUNE;
    assert_errors(&contract, payload, "");
    assert_true(json_equal(result.payload, json_of("{'email':'a','o':{'n':1},'m':[{'n':1}],'free':{'any':1}}")));
    assert_int_equal(result.pruned.count, 3);
    assert_string_equal(result.pruned.items[0], "o.x");
    assert_string_equal(result.pruned.items[1], "m.0.y");
    assert_string_equal(result.pruned.items[2], "z");

    contract.enforcement = CONTRACT_STRICT;
    assert_errors(&contract, payload, "unexpected_key o.x - -; unexpected_key m.0.y - -; unexpected_key z - -");
    assert_int_equal(result.warning_count, 0);
}

static void test_fallbacks(void **state) /* */
{
    (void)state;
    struct contract contract = read_contract("{'key': 'plan', 'type': 'string', 'required': false, 'fallbackValue': 'free'},"
                                             "{'key': 'order', 'type': 'object', 'required': false, 'children': ["
                                             "  {'key': 'total', 'type': 'float', 'required': false, 'fallbackValue': 0.5},"
                                             "  {'key': 'tax', 'type': 'int', 'required': false}]}",
                                             true);
    contract_check(&work, &contract, json_of("{'email': 'a', 'plan': null, 'order': {'tax': 2}}"), &result);
    assert_true(json_equal(result.fallbacks, json_of("{'plan': 'free', 'order': {'total': 0.5}}")));
    assert_true(json_equal(contract_merge_fallbacks(&work, result.payload, result.fallbacks),
                           json_of("{'email': 'a', 'plan': 'free', 'order': {'tax': 2, 'total': 0.5}}")));
    contract_check(&work, &contract, json_of("{'email': 'a', 'plan': 'pro'}"), &result);
    assert_true(json_equal(result.fallbacks, json_of("{'order': {'total': 0.5}}")));
    contract_check(&work, &contract, json_of("{'email': 'a', 'plan': 'pro', 'order': {'total': 1}}"), &result);
    assert_int_equal(json_object_size(result.fallbacks), 0);
}

static void test_payloads_are_bounded(void **state)
{
    (void)state;
    struct contract contract = read_contract("", true);
    struct buf *text = buf_in_arena(arena, 1 << 20);
    buf_add_text(text, "{'email': 'a'");
    for (int i = 1; i < PAYLOAD_MAX_KEYS; i++)
        buf_printf(text, ", 'k%d': 1", i);
    assert_errors(&contract, arena_printf(arena, "%s}", buf_text(text)), "");
    assert_int_equal(result.warning_count, CONTRACT_FINDINGS_MAX);
    assert_errors(&contract, arena_printf(arena, "%s, 'more': 1}", buf_text(text)), "payload_too_large  - -");
    assert_null(result.payload);

    const char *deep = "1";
    for (int i = 1; i < PAYLOAD_MAX_DEPTH; i++)
        deep = arena_printf(arena, "[%s]", deep);
    assert_errors(&contract, arena_printf(arena, "{'email': 'a', 'x': %s}", deep), "");
    assert_errors(&contract, arena_printf(arena, "{'email': 'a', 'x': [%s]}", deep), "payload_too_large  - -");

    char *long_text = arena_alloc(arena, PAYLOAD_MAX_BYTES + 1);
    memset(long_text, 'x', PAYLOAD_MAX_BYTES);
    assert_errors(&contract, arena_printf(arena, "{'email': '%s'}", long_text), "payload_too_large  - -");
    long_text[PAYLOAD_MAX_BYTES - strlen("{'email':''}")] = '\0';
    assert_errors(&contract, arena_printf(arena, "{'email':'%s'}", long_text), "");
}

/* Many items that all lack the required fields give a bounded number of findings. */
static void test_findings_are_bounded(void **state)
{
    (void)state;
    struct contract contract = read_contract("{'key': 'm', 'type': 'array', 'required': false, 'children': ["
                                             "{'key': 'n', 'type': 'int', 'required': true}]}",
                                             true);
    struct buf *text = buf_in_arena(arena, 1 << 20);
    buf_add_text(text, "{'email': 'a', 'm': [{}");
    for (int i = 0; i < 20000; i++)
        buf_add_text(text, ",{}");
    buf_add_text(text, "]}");
    contract_check(&work, &contract, json_of(buf_text(text)), &result);
    assert_int_equal(result.error_count, CONTRACT_FINDINGS_MAX);
}

/* neither a finding nor a message has a value of the payload. */
static void test_findings_hold_no_value(void **state)
{
    (void)state;
    struct contract contract = read_contract("{'key': 'e', 'type': 'enum', 'required': false, 'enumValues': ['x']},"
                                             "{'key': 'd', 'type': 'date', 'required': false},"
                                             "{'key': 'i', 'type': 'int', 'required': false}",
                                             true);
    contract.enforcement = CONTRACT_STRICT;
    contract_check(&work, &contract, json_of("{'email':['MARKER'],'e':'MARKER','d':'MARKER','i':'MARKER','u':'MARKER'}"), &result);
    assert_int_equal(result.error_count, 5);
    for (size_t i = 0; i < result.error_count; i++) {
        assert_null(strstr(result.errors[i].message, "MARKER"));
        assert_null(strstr(result.errors[i].field, "MARKER"));
    }
}

/* ---- Hash ---- */

static const char *hash_of(const char *fields)
{
    unsigned char hash[CONTRACT_HASH_BYTES];
    struct contract contract = read_contract(fields, true);
    contract_hash(&work, &contract, hash);
    return arena_dup_bytes(arena, hash, sizeof(hash));
}

static void test_the_hash_covers_what_decides(void **state) /* */
{
    (void)state;
    const char *base = hash_of("{'key': 'a', 'type': 'int', 'required': false}, {'key': 'b', 'type': 'string', 'required': true}");
    static const char *const same[] = {
        "{'key': 'b', 'type': 'string', 'required': true}, {'key': 'a', 'type': 'int', 'required': false}",
        "{'key': 'a', 'type': 'int', 'required': false, 'description': 'x', 'exampleValue': 3},"
        "{'key': 'b', 'type': 'string', 'required': true, 'fallbackValue': null}",
    };
    static const char *const others[] = {
        "{'key': 'a', 'type': 'int', 'required': true}, {'key': 'b', 'type': 'string', 'required': true}",
        "{'key': 'a', 'type': 'float', 'required': false}, {'key': 'b', 'type': 'string', 'required': true}",
        "{'key': 'a', 'type': 'int', 'required': false, 'fallbackValue': 1}, {'key': 'b', 'type': 'string', 'required': true}",
        "{'key': 'c', 'type': 'int', 'required': false}, {'key': 'b', 'type': 'string', 'required': true}",
        "{'key': 'a', 'type': 'int', 'required': false}",
    };
    for (size_t i = 0; i < ARRAY_COUNT(same); i++)
        assert_memory_equal(base, hash_of(same[i]), CONTRACT_HASH_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        assert_memory_not_equal(base, hash_of(others[i]), CONTRACT_HASH_BYTES);
}

static void test_what_is_written_reads_the_same(void **state)
{
    (void)state;
    static const char fields[] = "{'key': 'e', 'type': 'enum', 'required': false, 'enumValues': ['x', 'y'], 'fallbackValue': 'y'},"
                                 "{'key': 'l', 'type': 'array', 'required': true, 'itemType': 'date', 'description': 'Days'},"
                                 "{'key': 'o', 'type': 'object', 'required': true, 'children': [{'key': 'f', 'type': 'float', "
                                 "'required': false, 'exampleValue': 1.5}]}";
    struct contract contract = read_contract(fields, true);
    const json_t *written = json_of(contract_fields_json(&work, &contract, false));
    assert_true(json_equal(written, json_of(arena_printf(arena, "[" EMAIL ",%s]", fields))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_have_their_path),
        TEST(test_the_address_is_required),
        TEST(test_only_a_schema_has_unknown_types),
        TEST(test_trees_are_bounded),
        TEST(test_paths_find_fields),
        TEST(test_types),
        TEST(test_enforcement_of_undeclared_keys),
        TEST(test_fallbacks),
        TEST(test_payloads_are_bounded),
        TEST(test_findings_are_bounded),
        TEST(test_findings_hold_no_value),
        TEST(test_the_hash_covers_what_decides),
        TEST(test_what_is_written_reads_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
