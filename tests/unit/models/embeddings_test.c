/* Embeddings: which configurations are refused. The integration tests ask scripted servers. */
#include "models/embeddings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The option that is refused; NULL: none. */
static const char *refused(struct embeddings_config config, struct error *err)
{
    struct embeddings *embeddings;
    if (embeddings_new(&config, &embeddings, err)) {
        embeddings_free(embeddings);
        return NULL;
    }
    assert_null(embeddings);
    assert_int_equal(err->code, ERR_INVALID_REQUEST);
    return err->param;
}

static void test_configurations(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    static const char local[] = "http://127.0.0.1:11434/v1/";
    assert_null(refused((struct embeddings_config){ .provider = NULL }, &err));
    assert_null(refused((struct embeddings_config){ .provider = local, .name = "nomic" }, &err));
    assert_null(refused((struct embeddings_config){ .provider = "openai", .name = "small", .key = "k" }, &err));
    assert_string_equal(refused((struct embeddings_config){ .name = "nomic" }, &err), "--embeddings");
    assert_string_equal(refused((struct embeddings_config){ .provider = "anthropic", .name = "n", .key = "k" }, &err),
                        "--embeddings");
    assert_string_equal(refused((struct embeddings_config){ .provider = "http://a b/", .name = "n" }, &err), "--embeddings");
    assert_string_equal(refused((struct embeddings_config){ .provider = local }, &err), "--embeddings-model");
    assert_string_equal(refused((struct embeddings_config){ .provider = local, .name = "a b" }, &err), "--embeddings-model");
    assert_string_equal(refused((struct embeddings_config){ .provider = "openai", .name = "n" }, &err), "--embeddings-key-file");
    assert_string_equal(refused((struct embeddings_config){ .provider = local, .name = "n", .key = "a\nb" }, &err),
                        "--embeddings-key");
    assert_null(strstr(err.message, "a\nb"));
}

static void test_the_name_of_a_model(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct embeddings *embeddings;
    struct embeddings_config config = { .provider = "https://vectors.example/v1", .name = "nomic", .key = "k" };
    assert_true(embeddings_new(&config, &embeddings, &err));
    assert_string_equal(embeddings_engine(embeddings), "compatible/nomic");
    embeddings_free(embeddings);
    embeddings_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_the_name_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
