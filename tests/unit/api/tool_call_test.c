/* Mapping of a tool call to an operation: fixed arguments, defaults, choice of the operation, and refusals. */
#include "fixtures/own_fail.h"

#include "api/tool_call.h"
#include "base/json_read.h"

#include <string.h>

/* ---- Hand-made operations and tools ---- */

#define NAMED(argument)                                                                                                            \
    {                                                                                                                              \
        .name = argument, .kind = ARG_TEXT, .place = ARG_IN_BODY, .max_size = 100                                                  \
    }
#define SHAPE(array)                                                                                                               \
    {                                                                                                                              \
        .fields = array, .count = ARRAY_COUNT(array)                                                                               \
    }

static const struct arg_field list_fields[] = { NAMED("limit"), NAMED("cursor"), NAMED("kind") };
static const struct arg_field get_fields[] = { NAMED("sendId") };
static const struct arg_field view_fields[] = { NAMED("view"), NAMED("sendId") };
static const struct arg_shape list_shape = SHAPE(list_fields);
static const struct arg_shape get_shape = SHAPE(get_fields);
static const struct arg_shape view_shape = SHAPE(view_fields);

static const struct operation list_op = { .id = "x.list", .args = &list_shape };
static const struct operation get_op = { .id = "x.get", .args = &get_shape };
static const struct operation view_op = { .id = "x.view", .args = &view_shape };

static const struct tool plain_tool = {
    .name = "list_things",
    .arguments = (const char *const[]){ "limit", "cursor", "idempotencyKey", NULL },
    .candidates = (const struct operation *const[]){ &list_op, NULL },
    .fixed_json = "{\"kind\":\"campaign\"}",
    .default_json = "{\"limit\":10,\"sendId\":\"none\"}",
};

static const struct tool choosing_tool = {
    .name = "get_things",
    .arguments = (const char *const[]){ "view", "sendId", "limit", "idempotencyKey", NULL },
    .candidates = (const struct operation *const[]){ &list_op, &get_op, &view_op, NULL },
    .choose_by = "view",
    .choose_values = (const char *const[]){ "list", "one", "view", NULL },
    .default_json = "{\"view\":\"list\",\"limit\":10}",
};

static const struct operation await_op = { .id = "x.await", .args = &get_shape, .waits = true };

/* One of its operations is waited for. */
static const struct tool patient_tool = {
    .name = "read_things",
    .arguments = (const char *const[]){ "view", "sendId", "limit", "waitSeconds", NULL },
    .candidates = (const struct operation *const[]){ &list_op, &await_op, NULL },
    .choose_by = "view",
    .choose_values = (const char *const[]){ "list", "one", NULL },
};

static const struct tool strict_tool = {
    .name = "control_things",
    .arguments = (const char *const[]){ "action", "sendId", NULL },
    .candidates = (const struct operation *const[]){ &list_op, &get_op, NULL },
    .choose_by = "action",
    .choose_values = (const char *const[]){ "pause", "resume", NULL },
};

/* Only the operation that is chosen by "sendId" takes "view". */
static const struct tool paired_tool = {
    .name = "view_or_list",
    .arguments = (const char *const[]){ "view", "sendId", "limit", NULL },
    .candidates = (const struct operation *const[]){ &view_op, &list_op, NULL },
    .present = (const char *const[]){ "sendId", "", NULL },
};

/* With "sendId" one is read, without it all are listed. */
static const struct tool presence_tool = {
    .name = "list_or_get",
    .arguments = (const char *const[]){ "sendId", "limit", NULL },
    .candidates = (const struct operation *const[]){ &get_op, &list_op, NULL },
    .present = (const char *const[]){ "sendId", "", NULL },
    .default_json = "{\"limit\":10}",
    .aliases = (const char *const[]){ "thing", "sendId", NULL },
};

static const struct tool deleting_tool = {
    .name = "delete_thing",
    .destructive = true,
    .arguments = (const char *const[]){ "sendId", NULL },
    .candidates = (const struct operation *const[]){ &get_op, NULL },
    .aliases = (const char *const[]){ "thing", "sendId", NULL },
};

/* ---- Preparing ---- */

static struct arena *arena; /* one per test */
static struct call *call;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* The arguments as they reach the operation, canonical; NULL when the call carries a refusal. */
static const char *prepared(const struct tool *tool, const char *arguments)
{
    call = arena_alloc(arena, sizeof(*call));
    call->arena = arena;
    json_t *json = arguments != NULL ? json_in_arena(arena, json_loads(arguments, JSON_DECODE_ANY, NULL)) : NULL;
    if (arguments != NULL)
        assert_non_null(json);
    tool_prepare(tool, json, call);
    assert_true(call->input.flat);
    assert_non_null(call->candidates);
    assert_non_null(call->candidates[0]);
    if (call->input.refusal.code != ERR_NONE) {
        /* A refused call must have no effect. */
        assert_null(call->input.body);
        return NULL;
    }
    return json_canonical(arena, call->input.body);
}

static void assert_refused(const struct tool *tool, const char *arguments, const char *param, const char *words)
{
    if (prepared(tool, arguments) != NULL)
        fail_msg("%s was accepted", arguments);
    assert_int_equal(call->input.refusal.code, ERR_INVALID_REQUEST);
    assert_string_equal(call->input.refusal.param, param);
    if (strstr(call->input.refusal.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", call->input.refusal.message, words);
}

static void test_fixed_and_default_arguments(void **state)
{
    (void)state;
    assert_string_equal(prepared(&plain_tool, "{}"), "{\"kind\":\"campaign\",\"limit\":10}");
    assert_string_equal(prepared(&plain_tool, "{\"limit\":3,\"cursor\":\"c\"}"),
                        "{\"cursor\":\"c\",\"kind\":\"campaign\",\"limit\":3}");
    assert_ptr_equal(call->candidates[0], &list_op);
    assert_null(call->idempotency_key);
    /* A given null is given. */
    assert_string_equal(prepared(&plain_tool, "{\"limit\":null}"), "{\"kind\":\"campaign\",\"limit\":null}");
}

/* No arguments are the empty object, with all that the tool adds. */
static void test_no_arguments(void **state)
{
    (void)state;
    assert_string_equal(prepared(&plain_tool, NULL), "{\"kind\":\"campaign\",\"limit\":10}");
    assert_string_equal(prepared(&choosing_tool, NULL), "{\"limit\":10}");
    assert_ptr_equal(call->candidates[0], &list_op);
    assert_null(call->candidates[1]);
    assert_refused(&strict_tool, NULL, "action", "pause, resume");
}

/* The given arguments choose the operation, which gets only the defaults that it declares. */
static void test_presence_picks_the_operation(void **state)
{
    (void)state;
    assert_string_equal(prepared(&presence_tool, "{\"sendId\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_ptr_equal(call->candidates[0], &get_op);
    assert_null(call->candidates[1]);
    assert_string_equal(prepared(&presence_tool, "{}"), "{\"limit\":10}");
    assert_ptr_equal(call->candidates[0], &list_op);
    assert_null(call->candidates[1]);
}

static void test_fixed_arguments_cannot_be_given(void **state)
{
    (void)state;
    assert_refused(&plain_tool, "{\"kind\":\"automation\"}", "kind", "list_things does not accept the argument kind");
}

static void test_unknown_arguments(void **state)
{
    (void)state;
    assert_refused(&plain_tool, "{\"limit\":1,\"verbose\":true}", "verbose", "does not accept the argument verbose");
    assert_refused(&plain_tool, "{\"brandId\":\"brd_1\"}", "brandId", "does not accept the argument");
    /* Known to the operation is not known to the tool. */
    assert_refused(&choosing_tool, "{\"cursor\":\"c\"}", "cursor", "does not accept the argument cursor");
    assert_refused(&plain_tool, "[]", "", "must be an object");
    assert_refused(&plain_tool, "\"limit\"", "", "must be an object");
    assert_refused(&plain_tool, "null", "", "must be an object");
}

static void test_an_argument_chooses(void **state)
{
    (void)state;
    /* The choosing argument is the tool's own … */
    assert_string_equal(prepared(&choosing_tool, "{\"view\":\"one\",\"sendId\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_ptr_equal(call->candidates[0], &get_op);
    assert_null(call->candidates[1]);
    assert_string_equal(prepared(&choosing_tool, "{\"view\":\"list\"}"), "{\"limit\":10}");
    assert_ptr_equal(call->candidates[0], &list_op);
    /* … unless the operation knows it too. */
    assert_string_equal(prepared(&choosing_tool, "{\"view\":\"view\"}"), "{\"view\":\"view\"}");
    assert_ptr_equal(call->candidates[0], &view_op);
}

static void test_choices_are_refused(void **state)
{
    (void)state;
    assert_refused(&choosing_tool, "{\"view\":\"all\"}", "view", "view must be one of: list, one, view.");
    assert_refused(&choosing_tool, "{\"view\":\"\"}", "view", "one of");
    assert_refused(&choosing_tool, "{\"view\":5}", "view", "one of");
    assert_refused(&choosing_tool, "{\"view\":null}", "view", "one of");
    assert_refused(&strict_tool, "{}", "action", "one of: pause, resume.");
    assert_non_null(prepared(&strict_tool, "{\"action\":\"resume\"}"));
    assert_ptr_equal(call->candidates[0], &get_op);
}

/* Without a choice, the arguments decide: the usual choice where it fits, otherwise the first that does. */
static void test_the_choice_follows_from_the_arguments(void **state)
{
    (void)state;
    assert_string_equal(prepared(&choosing_tool, "{\"sendId\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_ptr_equal(call->candidates[0], &get_op);
    assert_string_equal(prepared(&choosing_tool, "{\"limit\":5}"), "{\"limit\":5}");
    assert_ptr_equal(call->candidates[0], &list_op);
    /* Where nothing fits, it is the usual one, and the refusal names the choice that takes the argument. */
    assert_refused(&choosing_tool, "{\"sendId\":\"s\",\"limit\":5}", "sendId", "view list does not accept the argument sendId");
    assert_string_equal(call->input.refusal.suggestion, "Use view one or view for sendId, or leave it out.");
    assert_refused(&strict_tool, "{\"sendId\":\"s\"}", "action", "one of: pause, resume.");
}

/* another spelling means the argument, unless another is given or the tool is destructive. */
static void test_other_names_of_arguments(void **state)
{
    (void)state;
    assert_string_equal(prepared(&presence_tool, "{\"send_id\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_ptr_equal(call->candidates[0], &get_op);
    assert_int_equal(call->input.reading, INPUT_HEALED);
    assert_string_equal(prepared(&deleting_tool, "{\"sendId\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_int_equal(call->input.reading, INPUT_EXACT);
    assert_refused(&deleting_tool, "{\"send_id\":\"s\"}", "send_id", "does not accept the argument send_id");
    assert_string_equal(call->input.refusal.suggestion, "Use sendId.");
    assert_refused(&deleting_tool, "{\"thing\":\"s\"}", "thing", "does not accept");
    assert_string_equal(call->input.refusal.suggestion, "Use sendId.");
    assert_string_equal(prepared(&presence_tool, "{\"thing\":\"s\"}"), "{\"sendId\":\"s\"}");
    assert_refused(&presence_tool, "{\"thing\":\"s\",\"sendId\":\"t\"}", "thing", "does not accept");
    assert_string_equal(call->input.refusal.suggestion, "Leave out thing: sendId is given.");
    assert_refused(&presence_tool, "{\"lmit\":5}", "lmit", "does not accept");
    assert_string_equal(call->input.refusal.suggestion, "Use limit, or one of: sendId.");
    assert_refused(&presence_tool, "{\"brandId\":\"b\"}", "brandId", "does not accept");
    assert_string_equal(call->input.refusal.suggestion, "Leave out brandId; the connection chooses the brand.");
}

/* An argument that goes with another one tells which. */
static void test_an_argument_names_its_partner(void **state)
{
    (void)state;
    assert_string_equal(prepared(&paired_tool, "{\"sendId\":\"s\",\"view\":\"v\"}"), "{\"sendId\":\"s\",\"view\":\"v\"}");
    assert_refused(&paired_tool, "{\"view\":\"v\"}", "view", "view goes with sendId only.");
    assert_string_equal(call->input.refusal.suggestion, "Add sendId, or leave out view.");
    assert_string_equal(prepared(&paired_tool, "{\"limit\":5}"), "{\"limit\":5}");
    assert_refused(&paired_tool, "{\"sendId\":\"s\",\"limit\":5}", "limit", "limit does not go with sendId.");
    assert_string_equal(call->input.refusal.suggestion, "Leave out limit, or leave out sendId.");
}

/* A default applies only when the chosen operation accepts the argument. */
static void test_defaults_are_for_those_who_know_them(void **state)
{
    (void)state;
    assert_string_equal(prepared(&choosing_tool, "{\"view\":\"one\"}"), "{}");
    assert_null(json_object_get(call->input.body, "limit"));
}

static void test_idempotency_keys(void **state)
{
    (void)state;
    assert_string_equal(prepared(&plain_tool, "{\"idempotencyKey\":\"k-1\",\"limit\":1}"), "{\"kind\":\"campaign\",\"limit\":1}");
    assert_string_equal(call->idempotency_key, "k-1");
    assert_refused(&plain_tool, "{\"idempotencyKey\":5}", "idempotencyKey", "must be text");
    assert_refused(&plain_tool, "{\"idempotencyKey\":null}", "idempotencyKey", "must be text");
    assert_refused(&strict_tool, "{\"action\":\"pause\",\"idempotencyKey\":\"k\"}", "idempotencyKey",
                   "does not accept the argument");
}

/* ---- The catalogue ---- */

static void test_waiting(void **state)
{
    (void)state;
    assert_string_equal(prepared(&patient_tool, "{\"view\":\"one\",\"sendId\":\"s\",\"waitSeconds\":50}"), "{\"sendId\":\"s\"}");
    assert_int_equal(call->wait_s, 50);
    assert_string_equal(prepared(&patient_tool, "{\"view\":\"one\"}"), "{}");
    assert_int_equal(call->wait_s, 0);
    assert_refused(&patient_tool, "{\"view\":\"one\",\"waitSeconds\":51}", "waitSeconds", "from 0 to 50");
    assert_refused(&patient_tool, "{\"view\":\"one\",\"waitSeconds\":-1}", "waitSeconds", "from 0 to 50");
    assert_refused(&patient_tool, "{\"view\":\"one\",\"waitSeconds\":\"soon\"}", "waitSeconds", "from 0 to 50");
    assert_string_equal(prepared(&patient_tool, "{\"view\":\"one\",\"waitSeconds\":\"5\"}"), "{}");
    assert_int_equal(call->wait_s, 5);
    assert_refused(&patient_tool, "{\"view\":\"list\",\"waitSeconds\":5}", "waitSeconds",
                   "view list does not accept the argument waitSeconds");
    assert_string_equal(call->input.refusal.suggestion, "Use view one for waitSeconds, or leave it out.");
    assert_refused(&strict_tool, "{\"action\":\"pause\",\"waitSeconds\":5}", "waitSeconds", "does not accept the argument");
}

static void test_finding_tools(void **state)
{
    (void)state;
    assert_null(tool_find(""));
    assert_null(tool_find("no_such_tool"));
    size_t built = 0;
    for (size_t i = 0; i < tool_count; i++) {
        assert_ptr_equal(tool_find(tools[i].name), tools[i].built ? &tools[i] : NULL);
        built += tools[i].built;
    }
    assert_true(built > 0);
    const struct tool *search = tool_find("search_contacts");
    assert_non_null(search);
    assert_string_equal(search->candidates[0]->id, "contacts.search");
}

static void test_finding_operations(void **state)
{
    (void)state;
    const struct operation *const *found = operation_candidates(arena, "contacts.search");
    assert_non_null(found);
    assert_string_equal(found[0]->id, "contacts.search");
    assert_null(found[1]);
    assert_null(operation_candidates(arena, "contacts.searc"));
    assert_null(operation_candidates(arena, ""));
}

/* Every tool of the catalogue can be prepared with nothing, and its constants are JSON. */
static void test_every_tool_can_be_prepared(void **state)
{
    (void)state;
    for (size_t i = 0; i < tool_count; i++) {
        const char *arguments = prepared(&tools[i], "{}");
        if (tools[i].choose_by == NULL || tools[i].default_json != NULL)
            assert_non_null(arguments);
        const char *const constants[] = { tools[i].fixed_json, tools[i].default_json };
        for (size_t j = 0; j < ARRAY_COUNT(constants); j++) {
            json_t *json = constants[j] != NULL ? json_in_arena(arena, json_loads(constants[j], 0, NULL)) : NULL;
            assert_true(constants[j] == NULL || json_is_object(json));
        }
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fixed_and_default_arguments),
        TEST(test_no_arguments),
        TEST(test_fixed_arguments_cannot_be_given),
        TEST(test_presence_picks_the_operation),
        TEST(test_unknown_arguments),
        TEST(test_an_argument_chooses),
        TEST(test_choices_are_refused),
        TEST(test_the_choice_follows_from_the_arguments),
        TEST(test_other_names_of_arguments),
        TEST(test_an_argument_names_its_partner),
        TEST(test_defaults_are_for_those_who_know_them),
        TEST(test_idempotency_keys),
        TEST(test_waiting),
        TEST(test_finding_tools),
        TEST(test_finding_operations),
        TEST(test_every_tool_can_be_prepared),
    };
    return cmocka_run_group_tests_name("api: tool call", tests, NULL, NULL);
}
