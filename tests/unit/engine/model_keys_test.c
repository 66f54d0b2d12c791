/*
 * Keys of models: sealed for one server, sealed anew with a new master key, and in no output.
 */
#include "fixtures/engine_fixture.h"

#include "engine/operator/operator.h"
#include "engine/operator/operator_models.h"

#include <unistd.h>

static const char local[] = "http://127.0.0.1:11434/v1";

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from model_keys; delete from sealing_keys; delete from domain_keys; delete from audit_log");
    unlink(work.engine->key_file);
    return failed;
}

static struct json_writer *writer(void)
{
    struct json_writer *json = arena_alloc(arena, sizeof(*json));
    json_writer_init(json, buf_in_arena(arena, 64 * 1024));
    return json;
}

static void set(const char *server, const char *key)
{
    struct error err;
    assert_ok(operator_set_model_key(&work, server, key, writer(), &err), &err);
}

static const char *found(const char *server)
{
    struct error err;
    const char *key;
    assert_ok(model_key_find(&work, arena, server, &key, &err), &err);
    return key;
}

static const char *refused(const char *server, const char *key)
{
    static struct error err;
    err = (struct error){ .code = ERR_NONE };
    assert_false(operator_set_model_key(&work, server, key, writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    return err.param;
}

static void test_keys_are_sealed(void **state)
{
    (void)state;
    struct error err;
    struct json_writer *json = writer();
    set("openai", "the-secret");
    set("http://127.0.0.1:11434/v1/", "another");
    assert_string_equal(found("openai"), "the-secret");
    assert_string_equal(found(local), "another"); /* slashes at the end do not count */
    assert_null(found("anthropic"));
    set("openai", "the-next");
    assert_string_equal(found("openai"), "the-next");
    assert_int_equal(number_of("select count(*) from model_keys where position('the-next'::bytea in key) > 0"), 0);
    assert_int_equal(number_of("select count(*) from audit_log where operation = 'admin.model.set'"), 3);
    assert_ok(model_keys_write(&work, json, &err), &err);
    assert_non_null(strstr(buf_text(json->out), local));
    assert_null(strstr(buf_text(json->out), "the-"));
    assert_ok(operator_remove_model_key(&work, "openai", writer(), &err), &err);
    assert_null(found("openai"));
    assert_false(operator_remove_model_key(&work, "openai", writer(), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* A key that is moved to another server does not open there. */
static void test_a_key_belongs_to_its_server(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    const char *key;
    set("openai", "the-secret");
    run_sql("update model_keys set server = 'https://evil.example'");
    assert_false(model_key_find(&work, arena, "https://evil.example", &key, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

static void test_bad_servers_and_keys(void **state)
{
    (void)state;
    assert_string_equal(refused("compatible", "k"), "server");
    assert_string_equal(refused("ftp://a.example", "k"), "server");
    assert_string_equal(refused("https://a b.example", "k"), "server");
    assert_string_equal(refused("openai", ""), "secret");
    assert_string_equal(refused("openai", "two words"), "secret");
    for (int i = 0; i < MODEL_KEYS_MAX; i++)
        set(arena_printf(arena, "https://m%d.example", i), "k");
    assert_string_equal(refused("openai", "k"), "server");
    set("https://m3.example", "replaced");
    assert_string_equal(found("https://m3.example"), "replaced");
}

/* Every key is sealed anew with the newest master key, once. */
static void test_keys_are_sealed_anew(void **state)
{
    (void)state;
    struct error err;
    int key_id;
    int64_t count;
    set("openai", "the-secret");
    set(local, "another");
    assert_ok(operator_add_master_key(&work, &key_id, &err), &err);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(number_of("select count(*) from model_keys where get_byte(key, 1) = 2"), 2);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_string_equal(found("openai"), "the-secret");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keys_are_sealed, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_a_key_belongs_to_its_server, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_bad_servers_and_keys, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_keys_are_sealed_anew, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
